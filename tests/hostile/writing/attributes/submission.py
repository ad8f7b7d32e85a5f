import os

try:
    os.utime("@precious@", (1, 1))
    print("through: done")
except OSError as error:
    print("held:", error)
