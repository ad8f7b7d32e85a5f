import os

try:
    print("through:", os.listdir("@home@"))
except (OSError, ImportError) as error:
    print("held:", error)
