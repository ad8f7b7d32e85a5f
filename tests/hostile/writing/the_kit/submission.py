import os
import sys
try:
    path = next(m.__file__ for n, m in sys.modules.items() if n.endswith("inside.child")); open(path, "r+").close()
    print("through: done")
except OSError as error:
    print("held:", error)
