from mangling import code, running, write

CODE = '''\
from IPython.display import HTML, display
display(HTML("<script>alert('through')</script><img src=x onerror=alert(1)><form action=//e.example><style>*{display:none}"))
'''


def make(place, notebook):
    notebook["cells"].append(code(CODE))
    return write(place, running(notebook))
