import ctypes
import os
import struct

class Program(ctypes.Structure):
    _fields_ = [("length", ctypes.c_ushort), ("filter", ctypes.c_char_p)]

program = Program(1, struct.pack("=HBBI", 6, 0, 0, 0x7FFF0000))

libc = ctypes.CDLL(None, use_errno=True)
done = libc.prctl(22, 2, ctypes.byref(program), 0, 0)
print("through: done" if done != -1 else f"held: {os.strerror(ctypes.get_errno())}")
