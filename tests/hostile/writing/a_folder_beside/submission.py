import os

try:
    os.symlink("/", "@precious@.link")
    print("through: done")
except OSError as error:
    print("held:", error)
