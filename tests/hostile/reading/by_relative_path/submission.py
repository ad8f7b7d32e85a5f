import os

try:
    print("through:", open("../" * 40 + "@secret@"[1:]).read())
except (OSError, ImportError) as error:
    print("held:", error)
