import os

try:
    os.kill(os.getppid(), 9)
    print("through: done")
except OSError as error:
    print("held:", error)
