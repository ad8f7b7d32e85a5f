import os

try:
    os.execv("/does/not/exist", ["x"])
    print("through: tried")
except PermissionError as error:
    print("held:", error)
