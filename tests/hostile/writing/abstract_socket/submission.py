import os
import socket
try:
    socket.socket(socket.AF_UNIX).connect("\0@abstract@")
    print("through: done")
except OSError as error:
    print("held:", error)
