import os
import sys
try:
    os.posix_spawn(sys.executable, ["python", "-S", "-c", ""], {})
    print("through: done")
except OSError as error:
    print("held:", error)
