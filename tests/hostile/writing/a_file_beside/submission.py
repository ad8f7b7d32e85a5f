import os

try:
    open("@precious@.new", "w").close()
    print("through: done")
except OSError as error:
    print("held:", error)
