import os

try:
    print("through:", os.listdir("/proc")[0])
except (OSError, ImportError) as error:
    print("held:", error)
