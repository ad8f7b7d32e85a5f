import os

try:
    print("through:", (os.link("@secret@", "@secret@.2"), open("@secret@.2").read(), os.unlink("@secret@.2")))
except (OSError, ImportError) as error:
    print("held:", error)
