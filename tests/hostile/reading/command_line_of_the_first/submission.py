import os

try:
    print("through:", open("/proc/1/cmdline").read()[:30])
except (OSError, ImportError) as error:
    print("held:", error)
