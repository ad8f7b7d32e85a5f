import os

try:
    print("through:", os.listdir("/etc"))
except (OSError, ImportError) as error:
    print("held:", error)
