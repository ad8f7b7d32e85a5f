import ctypes
import os

libc = ctypes.CDLL(None, use_errno=True)
done = libc.syscall(248, b"user", b"hostile", b"x", 1, -3)
print("through: done" if done != -1 else f"held: {os.strerror(ctypes.get_errno())}")
