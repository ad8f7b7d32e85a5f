from mangling import code, running, write

CODE = '''\
from IPython.display import SVG, display
display(SVG("<svg xmlns='http://www.w3.org/2000/svg' onload='alert(1)'><script>alert(1)</script><a href='javascript:alert(1)'/></svg>"))
'''


def make(place, notebook):
    notebook["cells"].append(code(CODE))
    return write(place, running(notebook))
