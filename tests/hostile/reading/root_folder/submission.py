import os

try:
    print("through:", os.listdir("/"))
except (OSError, ImportError) as error:
    print("held:", error)
