import os

try:
    os.kill(-1, 15)
    print("through: done")
except OSError as error:
    print("held:", error)
