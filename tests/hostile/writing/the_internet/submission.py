import os
import socket
try:
    socket.socket(socket.AF_INET6, socket.SOCK_STREAM).close()
    print("through: a socket")
except OSError as error:
    print("held:", error)
