import os

try:
    open("@precious@", "w").write("nothing")
    print("through: done")
except OSError as error:
    print("held:", error)
