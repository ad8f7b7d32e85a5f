import os

try:
    print("through:", open("@project@/autograder/exercises/reference/qkv.py").read())
except (OSError, ImportError) as error:
    print("held:", error)
