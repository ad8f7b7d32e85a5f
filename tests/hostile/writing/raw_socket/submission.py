import os
import socket
try:
    socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, 0).close()
    print("through: done")
except OSError as error:
    print("held:", error)
