import ctypes
import os

libc = ctypes.CDLL(None, use_errno=True)
done = libc.unshare(0x10000000)
print("through: done" if done != -1 else f"held: {os.strerror(ctypes.get_errno())}")
