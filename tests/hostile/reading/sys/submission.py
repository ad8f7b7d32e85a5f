import os

try:
    print("through:", os.listdir("/sys/class/net"))
except (OSError, ImportError) as error:
    print("held:", error)
