import os

try:
    print("through:", open(os.open("@secret@"[1:], os.O_RDONLY, dir_fd=os.open("/", os.O_PATH))).read())
except (OSError, ImportError) as error:
    print("held:", error)
