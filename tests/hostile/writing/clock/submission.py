import ctypes
import os

libc = ctypes.CDLL(None, use_errno=True)
done = libc.settimeofday(ctypes.create_string_buffer(16), None)
print("through: done" if done != -1 else f"held: {os.strerror(ctypes.get_errno())}")
