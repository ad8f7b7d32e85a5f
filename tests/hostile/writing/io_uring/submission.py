import ctypes
import os

libc = ctypes.CDLL(None, use_errno=True)
done = libc.syscall(425, 1, ctypes.create_string_buffer(120))
print("through: done" if done != -1 else f"held: {os.strerror(ctypes.get_errno())}")
