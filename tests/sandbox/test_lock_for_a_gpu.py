"""The lock of a sandbox that may use a GPU: a little wider, which shows without a GPU, too. test_gpu.py needs one."""

import pytest
import torch

from autograder.errors import ChildGone
from autograder.sandbox.inside.refusals import MixedDevices
from autograder.sandbox.inside.watching import OneDevice
from autograder.sandbox.jail import Limits
from autograder.sandbox.parent import WarmParent

SOCKETS = """
import socket, threading
kinds = {"CUDA's": (1, 5), "to send": (1, 2), "a stream": (1, 1), "TCP": (2, 1), "UDP": (2, 2), "a pair": None}
for name, kind in kinds.items():
    try:
        made = socket.socket(*kind) if kind else socket.socketpair()
        made.bind("\\0name")
        made.listen()
        print(name, "listens")
        for use in (lambda: made.connect("\\0name"), made.accept, lambda: made.send(b"x")):
            try:
                use()
                print("through")
            except OSError as error:
                print(error.errno)
    except OSError:
        print(name, "refused")
try:
    socket.socket(1, 5).bind("here")
    print("through")
except OSError:
    print("no file")
"""
NAMES = """
import threading
open(f"/proc/self/task/{threading.get_native_id()}/comm", "w").write("named")
print("named")
for path in ("/proc/sys/kernel/hostname", "/proc/self/oom_score_adj", "/proc/1/comm"):
    try:
        open(path, "w").write("0")
        print("through", path)
    except OSError:
        pass
"""


@pytest.fixture(scope="module")
def parent():
    with WarmParent(Limits(memory=700 * 2**20), device="cuda") as parent:
        yield parent


def said_by(child, source):
    reply, _ = child.request({"op": "cell", "source": source, "name": "cell 1"})
    return "".join(part for output in reply["outputs"] for part in output.get("text", ""))


def test_the_one_socket_that_cuda_needs_reaches_nothing(parent):
    child = parent.fork()
    said = said_by(child, SOCKETS).splitlines()
    child.kill()
    # refused to connect and to accept, and not connected
    assert said[:4] == ["CUDA's listens", "1", "1", "107"]
    assert said[4:9] == [f"{name} refused" for name in ("to send", "a stream", "TCP", "UDP", "a pair")]
    assert said[9] == "no file"


def test_it_names_its_threads_and_writes_nothing_else_in_proc(parent):
    child = parent.fork()
    said = said_by(child, NAMES)
    child.kill()
    assert said.startswith("named") and "through" not in said


RESERVED = """
import mmap
print("reserved", len(mmap.mmap(-1, 2**36, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS, prot=0)))
for size in (600, 800):
    try:
        print("own", len(bytearray(size * 2**20)) // 2**20)
    except MemoryError:
        print("held", size)
"""
TAKE = """
import ctypes, mmap, threading, time
def take(after=0, keep=0):
    time.sleep(after)
    x = mmap.mmap(-1, 2**30)
    for place in range(0, len(x), 4096):
        x[place] = 1
    time.sleep(keep)
"""
# what no limit counts: shared memory, also where the first thread has ended, or under a name that is no text; memory
# that may no longer be written, and the tables of pages that were only read
UNLIMITED = {
    "shared": TAKE + "take()",
    "shared, by another thread": TAKE
    + """
threading.Thread(target=take, args=(0.2, 60)).start()
ctypes.CDLL(None).syscall({"x86_64": 60, "aarch64": 93}[__import__("platform").machine()], 0)
""",
    "shared, under a name that is no text": TAKE
    + """
open(f"/proc/self/task/{threading.get_native_id()}/comm", "wb").write(b"\\xff")
take()
""",
    "written and then only to be read": """
import ctypes
libc = ctypes.CDLL(None)
libc.mmap.restype = ctypes.c_void_p
libc.mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t, *[ctypes.c_int] * 3, ctypes.c_long]
for _ in range(12):
    at = libc.mmap(None, 100 * 2**20, 3, 0x22, -1, 0)
    ctypes.memset(at, 1, 100 * 2**20)
    libc.mprotect(ctypes.c_void_p(at), ctypes.c_size_t(100 * 2**20), 1)
""",
    "tables of pages": """
import mmap, numpy
x = mmap.mmap(-1, 500 * 2**30, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | 0x4000, prot=mmap.PROT_READ)
numpy.frombuffer(x, "u1")[:: 2**21].sum()
""",
}
GROWS = """
import ctypes
libc = ctypes.CDLL(None, use_errno=True)
libc.mmap.restype = ctypes.c_void_p
print(libc.mmap(None, ctypes.c_size_t(2**20), 3, 0x122, -1, 0) == 2**64 - 1, ctypes.get_errno())
"""
SIGNALS = """
import fcntl, struct
for number in (0x8901, 0x8902, 0x5452, 0x8901 + 2**32):
    try:
        fcntl.ioctl(3, number, struct.pack("i", 1))
        print("through", number)
    except (OSError, OverflowError):
        pass
print("done")
"""


def test_addresses_may_be_reserved_and_memory_of_its_own_has_the_usual_limit(parent):
    child = parent.fork()
    assert said_by(child, RESERVED) == f"reserved {2**36}\nown 600\nheld 800\n"
    child.kill()


@pytest.mark.drawn(2, "ways past a limit of memory")
@pytest.mark.parametrize("kind", UNLIMITED)
def test_memory_that_no_limit_counts_is_watched(parent, kind):
    child = parent.fork()
    with pytest.raises(ChildGone, match="it took more than 700 MiB of memory"):
        said_by(child, UNLIMITED[kind])
    assert not child.unexplained
    again = parent.fork()
    assert said_by(again, "print(len(bytearray(b'x') * 2**28))") == f"{2**28}\n"
    again.kill()


def test_no_stack_grows_by_itself_and_no_descriptor_has_an_owner_who_gets_signals(parent):
    child = parent.fork()
    assert said_by(child, GROWS) == "True 1\n"
    assert said_by(child, SIGNALS) == "done\n"
    child.kill()


@pytest.mark.parametrize("join", [torch.stack, torch.hstack, lambda some: torch.cat([one[None] for one in some])])
def test_numbers_on_two_devices_are_not_joined_and_may_be_added(join):
    here, there = torch.tensor(1.0), torch.ones((), device="meta")
    with OneDevice():
        assert (there + here).device.type == "meta"
        with pytest.raises(MixedDevices, match="different devices"):
            join([there, here])
