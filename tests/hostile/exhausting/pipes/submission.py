import fcntl
import os

kept = 0
try:
    while kept < 2**30:
        reader, writer = os.pipe()
        os.set_blocking(writer, False)
        try:
            fcntl.fcntl(writer, 1031, 2**20)
        except OSError:
            pass
        kept += os.write(writer, bytes(2**20))
except OSError as error:
    print("held:", error, "little:", kept < 2**24)
