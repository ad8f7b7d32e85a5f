import ctypes
import os

libc = ctypes.CDLL(None, use_errno=True)
buffer = ctypes.create_string_buffer(4096)
for name, done in (
    ("syslog", libc.klogctl(3, buffer, 4096)), ("perf_event_open", libc.syscall(298, buffer, 0, -1, -1, 0)),
    ("bpf", libc.syscall(321, 0, buffer, 128)), ("userfaultfd", libc.syscall(323, 0)), ("kcmp", libc.syscall(312, os.getpid(), os.getppid(), 0, 0, 0)),
):
    print(f"{'through' if done >= 0 else 'held'}: {name}", os.strerror(ctypes.get_errno()))
