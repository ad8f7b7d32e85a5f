from mangling import code, running, write

CODE = '''\
import base64, struct
from IPython.display import display
head = b"\\x89PNG\\r\\n\\x1a\\n" + struct.pack("!I4sII", 13, b"IHDR", 2**31 - 1, 2**31 - 1) + bytes([8, 6, 0, 0, 0])
for data in (base64.b64encode(head).decode(), "iVBORw0KGgo\\" onerror=\\"alert(1)", "data:text/html,<script>alert(1)</script>"):
    display({"image/png": data, "text/plain": "a picture"}, raw=True)
    display({"image/jpeg": data, "image/gif": data, "text/plain": "a picture"}, raw=True)
'''


def make(place, notebook):
    notebook["cells"].append(code(CODE))
    return write(place, running(notebook))
