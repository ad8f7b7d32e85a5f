import ctypes
import os
import struct

libc = ctypes.CDLL(None, use_errno=True)
how = struct.pack("=QQQ", 0, 0, 0)
descriptor = libc.syscall(437, -100, b"@secret@", how, len(how))
if descriptor >= 0:
    print("through:", os.read(descriptor, 100))
else:
    print("held:", os.strerror(ctypes.get_errno()))
handle = ctypes.create_string_buffer(struct.pack("=Ii", 8, 1) + bytes(8))
if libc.open_by_handle_at(-100, handle, 0) < 0:
    print("held:", os.strerror(ctypes.get_errno()))
