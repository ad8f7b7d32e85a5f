import ctypes
import os

libc = ctypes.CDLL(None, use_errno=True)
done = libc.process_vm_writev(os.getppid(), None, 0, None, 0, 0)
print("through: done" if done != -1 else f"held: {os.strerror(ctypes.get_errno())}")
