import os

try:
    os.kill(@victim@, 9)
    print("through: done")
except OSError as error:
    print("held:", error)
