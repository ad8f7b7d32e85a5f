import os

try:
    os.chmod("@precious@", 0o777)
    print("through: done")
except OSError as error:
    print("held:", error)
