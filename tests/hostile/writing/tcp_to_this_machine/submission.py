import os
import socket
try:
    socket.create_connection(("127.0.0.1", @tcp@), 2).close()
    print("through: done")
except OSError as error:
    print("held:", error)
