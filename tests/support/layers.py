"""Sandboxes without some of their layers, made by changing the command that starts them: the kit has no switch for it.

`held_by` says which layers stop which attempt. Any one of them is enough: `test_layers.py` tries all combinations.
"""

import json
import os
import socket
from unittest import mock

from autograder.sandbox import jail
from autograder.sandbox.child import Child
from autograder.sandbox.inside import lockdown
from autograder.sandbox.parent import WarmParent

OF_PARENTS = ("bubblewrap", "another user", "undumpable")  # set when a warm parent starts
OF_CHILDREN = ("Landlock", "system calls", "limits")  # set by each child for itself
LAYERS = OF_PARENTS + OF_CHILDREN

# Runs in the warm parent before it starts: a child is told over its socket which layers to leave out.
CHILD = """
import os, resource, types
def settle(lock, work, usual=parent._settle):
    off = os.read(parent.SOCKET, 1000).decode().split(",")
    if "Landlock" in off:
        lockdown.landlock = lambda *paths: None
    if "system calls" in off:
        lockdown.load_filter = lambda bpf: None
    if "limits" in off:
        lockdown.resource = types.SimpleNamespace(**{**vars(resource), "setrlimit": lambda *limit: None})
    usual(lock, work)
parent._settle = settle
"""
DUMPABLE = "lockdown.PR_SET_DUMPABLE = 0\n"


class Leaky(WarmParent):
    """A warm parent without the layers `off` (of OF_PARENTS), whose children may lack others."""

    def __init__(self, limits, off=()):
        super().__init__(limits, level="unsafe" if "bubblewrap" in off else "full")
        self.off = off
        usual, all_settings = jail.command, jail.settings

        def command(*arguments):
            *command, start, control = usual(*arguments)
            before, after = start.split("import parent; ")
            start = f"{before}import lockdown, parent\n{DUMPABLE if 'undumpable' in off else ''}{CHILD}\n{after}"
            return [*command, start, control]

        def settings(*arguments):
            return {**all_settings(*arguments), **({"uid": None} if "another user" in off else {})}

        with mock.patch.object(jail, "command", command), mock.patch.object(jail, "settings", settings):
            self.start()

    def fork(self, off=()):
        """A child without the layers `off` (of OF_CHILDREN)."""
        ours, theirs = socket.socketpair()
        socket.send_fds(self.control, [json.dumps({"op": "fork"}).encode()], [theirs.fileno()])
        _, descriptors = self._answer(30.0)
        theirs.close()
        ours.sendall(",".join(off).encode() or b"-")
        return Child(self, ours, descriptors[0]).greeted()


# --- the attempts, and the layers that stop them ----------------------------------------------------

PROBES = """
import ctypes, fcntl, mmap, os, socket, subprocess, sys, threading, time
libc = ctypes.CDLL(None, use_errno=True)
results = {}

def probe(what):
    def run(function):
        try:
            results[what] = "held" if function() == -1 else "through"
        except (OSError, RuntimeError, MemoryError, subprocess.SubprocessError):
            results[what] = "held"
    return run

@probe("reading what others handed in, graders, solutions, the gradebook")
def _(): open("@secret@").read()

@probe("changing them")
def _(): open("@precious@", "a").close()

@probe("reading /proc of its own sandbox")
def _(): open("/proc/self/maps").read(10)

@probe("TCP to the machine")
def _(): socket.create_connection(("127.0.0.1", @tcp@), 2).close()

@probe("UDP to the machine")
def _(): socket.socket(socket.AF_INET, socket.SOCK_DGRAM).sendto(b"x", ("127.0.0.1", @udp@))

@probe("sockets in the machine's files")
def _(): socket.socket(socket.AF_UNIX).connect("@unix@")

@probe("abstract sockets")
def _(): socket.socket(socket.AF_UNIX).connect("\\0@abstract@")

@probe("signals to processes of the machine")
def _(): os.kill(@victim@, 0)

@probe("signals to the warm parent")
def _(): os.kill(os.getppid(), 0)

@probe("the warm parent's memory")
def _():
    there = (ctypes.c_size_t * 2)(ctypes.addressof(ctypes.c_char.in_dll(libc, "environ")), 8)
    mine = ctypes.create_string_buffer(8)
    here = (ctypes.c_size_t * 2)(ctypes.addressof(mine), 8)
    return libc.process_vm_readv(os.getppid(), here, 1, there, 1, 0)

@probe("other programs")
def _(): subprocess.run([sys.executable, "-S", "-c", ""], check=True)

@probe("processes that outlive it")
def _(): os.fork() or os._exit(0)

@probe("memory without a file, keyrings, io_uring and the like")
def _(): os.memfd_create("x")

@probe("shared memory without a file")
def _(): mmap.mmap(-1, 4096)

@probe("more memory than it was given")
def _(): mmap.mmap(-1, 8 * 2**30, flags=mmap.MAP_PRIVATE)

@probe("larger files")
def _(): os.ftruncate(os.open("large", os.O_CREAT | os.O_RDWR), 2**24)

@probe("more of the disk")
def _():
    for number in range(40):
        open(f"file {number}", "wb").write(bytes(2**20))

@probe("being root, whatever it gets past")
def _(): return 0 if os.getuid() == 0 else -1

@probe("mounts")
def _():
    os.mkdir("mounted")
    done = libc.mount(b"x", b"mounted", b"tmpfs", 0, None)
    libc.umount2(b"mounted", 2)
    return done

@probe("namespaces of its own, in which it would be root")
def _(): return libc.unshare(0x10000000)

@probe("more threads")
def _():
    if os.getuid() == 0:  # only memory limits root's threads; met inside a new one, Python waits for it
        threading.stack_size(2**28)
    for _ in range(200):
        threading.Thread(target=time.sleep, args=(60,), daemon=True).start()
"""

ROOT_ONLY = {"mounts", "being root, whatever it gets past"}  # an ordinary user may not do this anyway


def of_parents():
    """The sets of layers of OF_PARENTS to leave out when a warm parent is started.

    Without bubblewrap there is no other user either, since the environment may lie where only root can read it. And a
    root process with all its rights may trace an undumpable one.
    """
    user = {"another user"}
    choices = [user, user | {"undumpable"}, user | {"bubblewrap", "undumpable"}]
    return [set(), {"undumpable"}, *choices] if os.geteuid() == 0 else [*choices, user | {"bubblewrap"}]


def held_by(root=None, version=None):
    """For each attempt, the layers that stop it, each by itself.

    `root`: whether the grader is root; `version`: the kernel's version of Landlock. By default, those of this process
    and this machine.
    """
    root = os.geteuid() == 0 if root is None else root
    version = lockdown.landlock_version() if version is None else version
    tcp = {"Landlock"} if version >= 4 else set()
    scopes = {"Landlock"} if version >= 6 else set()
    user = {"another user"} if root else set()
    table = {
        "reading what others handed in, graders, solutions, the gradebook": {"bubblewrap", "Landlock"},
        "changing them": {"bubblewrap", "Landlock"},
        "reading /proc of its own sandbox": {"Landlock"},
        "TCP to the machine": {"bubblewrap", "system calls"} | tcp,
        "UDP to the machine": {"bubblewrap", "system calls"},
        "sockets in the machine's files": {"bubblewrap", "system calls"},
        "abstract sockets": {"bubblewrap", "system calls"} | scopes,
        "signals to processes of the machine": {"bubblewrap", "system calls"} | scopes,
        "signals to the warm parent": {"system calls"} | scopes,
        # a change of the user makes a process undumpable
        "the warm parent's memory": {"undumpable", "system calls", "Landlock"} | user,
        "other programs": {"system calls", "Landlock"},
        "processes that outlive it": {"system calls"},
        "memory without a file, keyrings, io_uring and the like": {"system calls"},
        "shared memory without a file": {"system calls"},
        "more memory than it was given": {"limits"},
        "larger files": {"limits"},
        "more of the disk": {"bubblewrap"},
        "more threads": {"limits"},
        "being root, whatever it gets past": {"another user"},
        "mounts": {"bubblewrap", "system calls", "Landlock"},
        "namespaces of its own, in which it would be root": {"system calls"} | (set() if root else {"bubblewrap"}),
    }
    return {what: layers for what, layers in table.items() if root or what not in ROOT_ONLY}
