"""Limits of the shell that are lower than what the sandbox sets, and what the sandbox's parent is told."""

import json
import os
import resource
import socket
import subprocess
import sys
import threading

import pytest
from conftest import ROOT

from autograder.sandbox import jail
from autograder.sandbox.inside import parent

ENVIRONMENT = {**os.environ, "PYTHONPATH": str(ROOT)}
RUN = """
import resource, sys
for kind, most in ((resource.RLIMIT_FSIZE, 2**20), (resource.RLIMIT_NOFILE, 128), (resource.RLIMIT_CPU, 200)):
    resource.setrlimit(kind, (most, most))
from autograder.sandbox import jail
from autograder.sandbox.parent import WarmParent
print(*jail.lowered(), sep="\\n")
with WarmParent() as warm:
    child = warm.fork()
    print("locked in")
"""
LOCK = """
import resource, sys
kind, most = getattr(resource, sys.argv[1]), int(sys.argv[2])
resource.setrlimit(kind, (most, most))
from autograder.sandbox.inside import lockdown
lockdown._limit(kind, 2**40)
assert resource.getrlimit(kind) == (most, most)
lockdown._limit(kind, 7)
assert resource.getrlimit(kind) == (7, 7)
"""


def python(code, *arguments):
    command = [sys.executable, "-c", code, *map(str, arguments)]
    return subprocess.run(command, env=ENVIRONMENT, capture_output=True, text=True, timeout=500)


@pytest.mark.slow("it starts sandboxes of its own")
def test_lower_hard_limits_count_and_are_named():
    """Before, it was "could not be locked in: ValueError: not allowed to raise maximum limit"."""
    done = python(RUN)
    assert done.returncode == 0, done.stderr
    time, size, files, said = done.stdout.splitlines()
    assert "`ulimit -Hf` is 1024 here, so submissions get fewer than their 65536 kB in a file" in size
    assert "`ulimit -Ht` is 200 here" in time and "`ulimit -Hn` is 128 here" in files and said == "locked in"


LIMITS = {name for name in dir(resource) if name.startswith("RLIMIT_")}
SET = ("CORE", "AS", "CPU", "FSIZE", "NOFILE", "NPROC", "SIGPENDING", "MEMLOCK", "MSGQUEUE")


@pytest.mark.parametrize("kind", sorted(LIMITS & {f"RLIMIT_{name}" for name in SET}))
def test_no_limit_is_set_above_what_is_allowed(kind):
    done = python(LOCK, kind, 2**34 if kind == "RLIMIT_AS" else 100)
    assert done.returncode == 0, done.stderr


def test_no_limit_is_named_where_none_is_lower():
    usual = resource.getrlimit(resource.RLIMIT_FSIZE)[1]
    assert usual != resource.RLIM_INFINITY or not any("-Hf" in said for said in jail.lowered())


def test_a_limit_on_files_is_named_with_the_error(tmp_path):
    """SQLite calls it a disk I/O error."""
    code = (
        "import resource; resource.setrlimit(resource.RLIMIT_FSIZE, (150_000, 150_000));"
        "from autograder import cli; print(cli.sentence(OSError(27, 'File too large', 'x')))"
    )
    done = python(code)
    assert done.stdout.startswith("File too large (x). Finished work is kept: files may have at most 146 kB here")
    assert "(`ulimit -Hf`): raise that and run the same command again." in done.stdout


def test_settings_of_any_length_arrive():
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    settings = {"secret": [[number, "ä\n" * 3] for number in range(40_000)]}
    sender = threading.Thread(target=parent.send_settings, args=(ours, settings))
    sender.start()
    assert parent.receive_settings(theirs) == json.loads(json.dumps(settings))
    sender.join()
    ours.close()
    with pytest.raises(EOFError):
        parent.receive_settings(theirs)


@pytest.mark.parametrize("level", ["full", "unsafe"])
def test_the_command_line_holds_no_settings(level):
    command = " ".join(jail.command(jail.Limits(), 9, level=level))
    inside = command[command.index(" -c ") :]
    assert "bpf" not in inside and "secret" not in inside and len(inside) < 300
