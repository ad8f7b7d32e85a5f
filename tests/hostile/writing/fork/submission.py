import os

try:
    pid = os.fork() or os._exit(0)
    print("through: done")
except OSError as error:
    print("held:", error)
