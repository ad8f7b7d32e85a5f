import os
import socket

try:
    sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM, 0, os.dup(3))
    sock.setblocking(False)
    data, descriptors, _, _ = socket.recv_fds(sock, 100, 10)
    print("through:", data, descriptors)
except OSError as error:
    print("held:", error)
