import os
import socket
try:
    socket.socket(socket.AF_UNIX).connect("@unix@")
    print("through: done")
except OSError as error:
    print("held:", error)
