import os

try:
    print("through:", (os.symlink("@secret@", "link"), open("link").read()))
except (OSError, ImportError) as error:
    print("held:", error)
