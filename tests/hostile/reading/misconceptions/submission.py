import os

try:
    print("through:", open("@project@/autograder/exercises/attention/mistakes.py").read())
except (OSError, ImportError) as error:
    print("held:", error)
