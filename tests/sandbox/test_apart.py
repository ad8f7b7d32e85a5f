"""Two sandboxes that run at once: nothing that one does to the kernel's objects tells the other one a bit."""

import pytest

from autograder.sandbox import jail
from autograder.sandbox.parent import WarmParent

POLLS = 6
# What both know: a file that is shown to both, and how to ask the kernel for something.
COMMON = """
import ctypes, fcntl, mmap, os, signal, struct, threading, time
libc = ctypes.CDLL(None, use_errno=True)
libc.mmap.restype = ctypes.c_void_p
shared = os.open(os.__file__, os.O_RDONLY)
word = libc.mmap(None, ctypes.c_size_t(4096), mmap.PROT_READ, mmap.MAP_PRIVATE, shared, ctypes.c_long(0))

def futex(operation, value):
    return libc.syscall(202, ctypes.c_void_p(word), operation, value, struct.pack("qq", 1, 0))

def lock(command, kind):
    return struct.unpack("hhqqi4x", fcntl.fcntl(shared, command, struct.pack("hhqqi4x", kind, 0, 0, 1, 0)))[0]

def attempt(function, *args):
    try:
        return function(*args)
    except OSError as error:
        return error.strerror
"""
# Each way: how one says something and takes it back, and what the other one sees of it.
WAYS = {
    "flock": """
def say(): attempt(fcntl.flock, shared, fcntl.LOCK_EX)
def take_back(): attempt(fcntl.flock, shared, fcntl.LOCK_UN)
def look(): return attempt(fcntl.flock, shared, fcntl.LOCK_EX | fcntl.LOCK_NB), take_back()
""",
    "record locks": """
def say(): attempt(lock, fcntl.F_SETLK, fcntl.F_RDLCK)
def take_back(): attempt(lock, fcntl.F_SETLK, fcntl.F_UNLCK)
def look(): return attempt(lock, fcntl.F_GETLK, fcntl.F_WRLCK)
""",
    "locks of open files": """
def say(): attempt(lock, 37, fcntl.F_RDLCK)
def take_back(): attempt(lock, 37, fcntl.F_UNLCK)
def look(): return attempt(lock, 36, fcntl.F_WRLCK)
""",
    "futexes": """
def say():
    value = ctypes.c_int.from_address(word).value
    threading.Thread(target=futex, args=(0, value), daemon=True).start()
    time.sleep(0.05)
def take_back(): futex(1, 1)
def look(): return futex(1, 1)
""",
    "times of devices": """
def say(): attempt(os.utime, "/dev/null")
def take_back(): pass
def look(last=[None]):
    now, before = os.stat("/dev/null").st_mtime_ns, last[0]
    last[0] = now
    return before not in (None, now)
""",
}


@pytest.fixture(scope="module")
def two():
    with WarmParent(jail.Limits(cpu_seconds=60)) as one, WarmParent(jail.Limits(cpu_seconds=60)) as other:
        one.launch(), other.launch()
        yield one, other


@pytest.mark.parametrize("way", WAYS)
def test_one_sandbox_tells_the_other_nothing(two, way):
    """What one sees is the same whatever the other one says."""
    children = [parent.fork() for parent in two]

    def run(child, source):
        reply, _ = child.request({"op": "cell", "source": source, "name": "cell 1"}, seconds=30)
        assert "error" not in reply, reply
        return "".join(output.get("text", "") for output in reply["outputs"])

    try:
        for child in children:
            run(child, COMMON + WAYS[way])
        saying, looking = children
        run(looking, "look()")
        seen = []
        for _ in range(POLLS):
            silent = run(looking, "print(look())")
            run(saying, "say()")
            seen.append((silent, run(looking, "print(look())")))
            run(saying, "take_back()")
            run(looking, "look()")
    finally:
        for child in children:
            child.kill()
    assert any(said == silent for silent, said in seen), seen


def test_who_asks_for_a_lock_gets_it_and_goes_on(two):
    """A child is alone in its folder: a database, a file's times and a lock work there."""
    child = two[0].fork()
    source = """
import fcntl, os, sqlite3, threading
with sqlite3.connect("my.db") as base:
    base.execute("create table numbers (n)")
    base.executemany("insert into numbers values (?)", [(1,), (2,)])
print(sqlite3.connect("my.db").execute("select sum(n) from numbers").fetchone())
open("one", "w").close()
os.utime("one")
with open("file", "w") as file: fcntl.flock(file, fcntl.LOCK_EX), fcntl.lockf(file, fcntl.LOCK_EX)
import sqlite3.dbapi2, pathlib
sqlite3.connect(":memory:").execute("create table t (n)")
sqlite3.connect(pathlib.Path("my other.db"), timeout=1).execute("create table t (n)")
threads = [threading.Thread(target=print, args=("thread",)) for _ in range(2)]
for thread in threads: thread.start()
for thread in threads: thread.join()
"""
    try:
        reply, _ = child.request({"op": "cell", "source": source, "name": "cell 1"}, seconds=30)
    finally:
        child.kill()
    assert "error" not in reply and reply["outputs"][0]["text"] == "(3,)\nthread\nthread\n", reply
