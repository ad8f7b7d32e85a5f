import ctypes
import os

libc = ctypes.CDLL(None, use_errno=True)
done = libc.memfd_create(b"x", 0)
print("through: done" if done != -1 else f"held: {os.strerror(ctypes.get_errno())}")
