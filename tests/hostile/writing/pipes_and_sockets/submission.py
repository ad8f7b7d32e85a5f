import os

try:
    os.mkfifo("pipe")
    print("through: done")
except OSError as error:
    print("held:", error)
