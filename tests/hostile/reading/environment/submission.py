import ctypes
import os

text = repr(os.environ)
pointer, number = ctypes.POINTER(ctypes.c_char_p).in_dll(ctypes.CDLL(None), "environ"), 0
while pointer and pointer[number]:
    text, number = text + repr(pointer[number]), number + 1
found = [name for name in ("SECRET", "TOKEN", "PASSWORD", "AUTOGRADER", "USER", "SSH") if name in text]
print("through:" if found else "held: nothing in", found or sorted(os.environ))
