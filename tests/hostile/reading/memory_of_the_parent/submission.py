import os

try:
    print("through:", open(f"/proc/{os.getppid()}/mem", "rb").fileno())
except (OSError, ImportError) as error:
    print("held:", error)
