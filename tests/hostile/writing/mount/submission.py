import ctypes
import os

libc = ctypes.CDLL(None, use_errno=True)
done = libc.mount(b"x", b".", b"tmpfs", 0, None)
libc.umount2(b".", 2)
print("through: done" if done != -1 else f"held: {os.strerror(ctypes.get_errno())}")
