import os

try:
    print("through:", open("@project@/autograder/misconceptions/attention.py").read())
except (OSError, ImportError) as error:
    print("held:", error)
