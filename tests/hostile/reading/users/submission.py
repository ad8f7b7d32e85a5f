import os

try:
    print("through:", open("/etc/passwd").read()[:30])
except (OSError, ImportError) as error:
    print("held:", error)
