try:
    print("through:", open("@secret@").read())
except OSError as error:
    print("held:", error)
