import ctypes
import os

libc = ctypes.CDLL(None, use_errno=True)
done = libc.syscall(56, 17, 0, 0, 0, 0)
if done == 0:
    os._exit(0)
print("through: done" if done != -1 else f"held: {os.strerror(ctypes.get_errno())}")
