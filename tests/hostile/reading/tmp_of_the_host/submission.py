import os

try:
    print("through:", os.listdir("@host_tmp@")[0])
except (OSError, ImportError) as error:
    print("held:", error)
