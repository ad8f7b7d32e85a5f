import ctypes
import os

libc = ctypes.CDLL(None, use_errno=True)
done = libc.reboot(0x0)
print("through: done" if done != -1 else f"held: {os.strerror(ctypes.get_errno())}")
