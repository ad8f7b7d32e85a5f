import os
import socket
try:
    socket.socket(socket.AF_INET, socket.SOCK_DGRAM).sendto(b"score", ("127.0.0.1", @udp@))
    print("through: done")
except OSError as error:
    print("held:", error)
