import ctypes
import mmap
import platform
import threading
import time

print("on", platform.machine())
threading.Thread(target=time.sleep, args=(3600,), daemon=True).start()  # which lives on where one thread is ended
page = mmap.mmap(-1, 4096, flags=mmap.MAP_PRIVATE, prot=mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC)
page.write(bytes.fromhex("b8390000400f05c3"))
run = ctypes.CFUNCTYPE(ctypes.c_long)(ctypes.addressof(ctypes.c_char.from_buffer(page)))
print("through:", run())
