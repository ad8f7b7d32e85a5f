import ctypes
import os

libc = ctypes.CDLL(None, use_errno=True)
done = -1 if libc.syscall(58) == -1 else os._exit(0)
print("through: done" if done != -1 else f"held: {os.strerror(ctypes.get_errno())}")
