import os

try:
    print("through:", open("@secret@").read())
except (OSError, ImportError) as error:
    print("held:", error)
