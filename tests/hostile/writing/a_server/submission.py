import os
import socket
try:
    socket.create_server(("127.0.0.1", 0)).close()
    print("through: done")
except OSError as error:
    print("held:", error)
