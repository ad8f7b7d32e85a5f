import os

try:
    print("through:", open("@project@/autograder/reference/qkv.py").read())
except (OSError, ImportError) as error:
    print("held:", error)
