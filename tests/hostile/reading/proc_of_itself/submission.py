import os

try:
    print("through:", open("/proc/self/maps").read()[:50])
except (OSError, ImportError) as error:
    print("held:", error)
