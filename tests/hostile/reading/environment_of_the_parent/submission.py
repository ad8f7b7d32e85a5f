import os

try:
    print("through:", open(f"/proc/{os.getppid()}/environ").read()[:30] or 1)
except (OSError, ImportError) as error:
    print("held:", error)
