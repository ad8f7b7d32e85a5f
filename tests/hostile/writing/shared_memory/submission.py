import os

try:
    open("/dev/shm/hostile", "w").write("x"); os.unlink("/dev/shm/hostile")
    print("through: done")
except OSError as error:
    print("held:", error)
