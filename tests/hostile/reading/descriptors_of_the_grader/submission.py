import os

try:
    print("through:", os.listdir("/proc/@grader@/fd"))
except (OSError, ImportError) as error:
    print("held:", error)
