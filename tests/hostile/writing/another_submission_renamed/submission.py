import os

try:
    os.rename("@precious@", "@precious@.old")
    print("through: done")
except OSError as error:
    print("held:", error)
