import os

try:
    os.unlink("@precious@")
    print("through: done")
except OSError as error:
    print("held:", error)
