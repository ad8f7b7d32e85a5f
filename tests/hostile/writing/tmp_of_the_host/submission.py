import os

try:
    open("@unix@.txt", "w").write("I was here")
    print("through: done")
except OSError as error:
    print("held:", error)
