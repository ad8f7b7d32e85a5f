import os
import fcntl
try:
    (reader, writer) = os.pipe()
    fcntl.fcntl(reader, fcntl.F_SETOWN, @victim@)
    fcntl.fcntl(reader, 10, 9)
    fcntl.fcntl(reader, fcntl.F_SETFL, os.O_ASYNC)
    os.write(writer, b"x")
    print("through: done")
except OSError as error:
    print("held:", error)
