import os

try:
    print("through:", open("/proc/self/fd/3"))
except (OSError, ImportError) as error:
    print("held:", error)
