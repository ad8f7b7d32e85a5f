import os

try:
    print("through:", open("@project@/autograder/graders/test_attention.py").read())
except (OSError, ImportError) as error:
    print("held:", error)
