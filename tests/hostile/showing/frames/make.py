from mangling import code, running, write

CODE = '''\
from IPython.display import IFrame, HTML, display
display(IFrame("https://evil.example/", 10, 10), HTML("<object data='//e.example'></object><embed src='//e.example'>"))
'''


def make(place, notebook):
    notebook["cells"].append(code(CODE))
    return write(place, running(notebook))
