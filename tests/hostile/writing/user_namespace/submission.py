import ctypes
import errno
import os
import platform

NEW_USER, CHILD = 0x10000000, 17
libc = ctypes.CDLL(None, use_errno=True)
done = libc.unshare(NEW_USER)
if done == -1 and ctypes.get_errno() == errno.EINVAL:  # not for a process with threads, but for a new one
    done = libc.syscall({"x86_64": 56, "aarch64": 220}[platform.machine()], NEW_USER | CHILD, 0, 0, 0, 0)
    if done == 0:
        os._exit(0)
print("through: done" if done != -1 else f"held: {os.strerror(ctypes.get_errno())}")
