import os
import socket

from mangling import NAME


def make(place, notebook):
    folder = os.open(place, os.O_RDONLY)
    with socket.socket(socket.AF_UNIX) as it:
        it.bind(f"/proc/self/fd/{folder}/{NAME}")
    os.close(folder)
    return place / NAME
