import ctypes
import os

libc = ctypes.CDLL(None, use_errno=True)
done = libc.syscall(129, os.getppid(), 0, ctypes.create_string_buffer(b"\0" * 8 + b"\xff" * 4 + b"\0" * 116))
print("through: done" if done != -1 else f"held: {os.strerror(ctypes.get_errno())}")
