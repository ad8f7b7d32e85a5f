import os

try:
    print("through:", os.listdir("@project@/solutions"))
except (OSError, ImportError) as error:
    print("held:", error)
