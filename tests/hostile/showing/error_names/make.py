from mangling import code, running, write

CODE = '''\
class Evil(Exception):
    pass
Evil.__name__ = Evil.__qualname__ = "<script>alert(1)</script>"
def _("<img src=x onerror=alert(1)>"): pass  # a syntax error that quotes its line
'''


def make(place, notebook):
    notebook["cells"].append(code(CODE))
    return write(place, running(notebook))
