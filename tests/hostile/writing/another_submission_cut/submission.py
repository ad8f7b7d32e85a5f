import os

try:
    os.truncate("@precious@", 0)
    print("through: done")
except OSError as error:
    print("held:", error)
