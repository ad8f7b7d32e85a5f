import os

try:
    os.setuid(0)
    print("through: done")
except OSError as error:
    print("held:", error)
