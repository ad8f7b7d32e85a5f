import os

try:
    print("through:", open("@precious@").read())
except (OSError, ImportError) as error:
    print("held:", error)
