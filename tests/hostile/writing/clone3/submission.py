import ctypes
import os

libc = ctypes.CDLL(None, use_errno=True)
done = libc.syscall(435, ctypes.create_string_buffer(88), 88)
if done == 0:
    os._exit(0)
print("through: done" if done != -1 else f"held: {os.strerror(ctypes.get_errno())}")
