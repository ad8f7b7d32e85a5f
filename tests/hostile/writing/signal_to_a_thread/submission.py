import ctypes
import os

libc = ctypes.CDLL(None, use_errno=True)
done = libc.syscall(234, os.getppid(), os.getppid(), 0)
print("through: done" if done != -1 else f"held: {os.strerror(ctypes.get_errno())}")
