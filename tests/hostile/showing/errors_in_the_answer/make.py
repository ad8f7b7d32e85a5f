from conftest import cell_of
from mangling import running, write

ANSWER = """
class Evil(Exception):
    pass

Evil.__name__ = "`<script>alert(1)</script>`"

def attention(query, key, value, mask=None):
    raise Evil("`<img src=x onerror=alert(1)>` [a](javascript:alert(1))")
"""


def make(place, notebook):
    cell_of(notebook, "attention-solution")["source"] = ANSWER
    return write(place, running(notebook))
