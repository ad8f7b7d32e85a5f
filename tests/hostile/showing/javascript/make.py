from mangling import code, running, write

CODE = '''\
from IPython.display import Javascript, display
display(Javascript("alert('through')"))
for kind in ("text/html", "application/javascript", "image/svg+xml", "text/latex", "text/markdown", "application/pdf"):
    display({kind: "<script>alert('through')</script>", "text/plain": "<script>alert(2)</script>"}, raw=True)
'''


def make(place, notebook):
    notebook["cells"].append(code(CODE))
    return write(place, running(notebook))
