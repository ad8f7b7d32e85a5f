"""Runs commands of the kit and of nbgrader in processes of their own that need not start: forks of a warm one.

Each worker has one such process, which has imported torch, the kit and nbgrader, and started a sandbox for all. A
command gets its own folder, environment, arguments and output, ends with its own exit code, and leaves nothing behind.
What a command does when it really starts, and its pools of processes, are for tests that start it, as
`small_course.real` does.
"""

import atexit
import contextlib
import json
import os
import socket
import subprocess
import sys
import tempfile
import traceback
from pathlib import Path

TESTS = Path(__file__).resolve().parent.parent
SECONDS = 300
_running = None


def run(place, program, *arguments):
    """Run `autograder` or `nbgrader` in a folder; returns a subprocess.CompletedProcess with text."""
    global _running
    if _running is None:
        _running = _Server()
        atexit.register(_running.close)
    return _running.run(place, program, *map(str, arguments))


class _Server:
    def __init__(self):
        self.socket, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        command = [sys.executable, __file__, str(theirs.fileno())]
        folders = os.pathsep.join(map(str, (TESTS.parent, TESTS, TESTS / "support")))
        self.process = subprocess.Popen(
            command, pass_fds=[theirs.fileno()], cwd=TESTS.parent, env={**os.environ, "PYTHONPATH": folders}
        )
        theirs.close()
        self.socket.settimeout(SECONDS)

    def run(self, place, program, *arguments):
        environment = {**os.environ, "PYTHONPATH": str(TESTS.parent)}
        with tempfile.TemporaryFile() as asked, tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
            about = {"place": str(place), "command": [program, *arguments], "environment": environment}
            asked.write(json.dumps(about).encode())
            asked.flush()
            socket.send_fds(self.socket, [b"run"], [asked.fileno(), out.fileno(), err.fileno()])
            code = int(self.socket.recv(100))
            said = []
            for file in (out, err):
                file.seek(0)
                said.append(file.read().decode())
        return subprocess.CompletedProcess([program, *arguments], code, *said)

    def close(self):
        self.socket.close()
        self.process.wait()


# --- in the warm process --------------------------------------------------------------------------


def serve(control):
    """Fork one process for each command that comes, and answer with its exit code; end when nobody asks any more."""
    import gc

    import nbgrader.apps.nbgraderapp  # noqa: F401
    import torch.fx.experimental.symbolic_shapes  # noqa: F401

    import autograder.batch.run
    import autograder.grading.grader
    import autograder.mistakes.diagnosis
    import autograder.nbgrader.preprocessors
    import autograder.report.class_report  # noqa: F401
    from autograder.sandbox.parent import WarmParent

    gc.freeze()
    with WarmParent() as sandbox:
        while True:
            data, files, _, _ = socket.recv_fds(control, 10, 3)
            if not data:
                return
            sandbox.start()
            clean, ours = os.pipe()
            pid = os.fork()
            if not pid:
                control.close()
                _command(sandbox, ours, *files)
            os.close(ours)
            for file in files:
                os.close(file)
            _, status = os.waitpid(pid, 0)
            if not os.read(clean, 1):
                sandbox.close()  # who knows what it left there
            os.close(clean)
            control.send(str(os.waitstatus_to_exitcode(status)).encode())


def _command(sandbox, clean, asked, out, err):
    """What the forked process does, until it ends."""
    from types import SimpleNamespace

    import one_process
    from nbgrader.apps import nbgraderapp

    code, process = 1, sandbox.process
    try:
        os.lseek(asked, 0, os.SEEK_SET)
        with open(asked, encoding="utf-8", closefd=False) as file:
            about = json.load(file)
        os.dup2(out, 1)
        os.dup2(err, 2)
        os.environ.clear()
        os.environ.update(about["environment"])
        os.chdir(about["place"])
        sys.argv = about["command"]
        with one_process.kit(SimpleNamespace(parent=sandbox)) as kit:
            code = kit(about["place"], *sys.argv[1:]) if sys.argv[0] == "autograder" else nbgraderapp.main() or 0
    except SystemExit as ended:
        code = ended.code if isinstance(ended.code, int) else int(ended.code is not None)
    except BaseException:
        traceback.print_exc()
    finally:
        with contextlib.suppress(Exception):
            sys.stdout.flush()
            sys.stderr.flush()
        if sandbox.process is process and sandbox.latest is None:
            os.write(clean, b"x")
        os._exit(code)


if __name__ == "__main__":
    serve(socket.socket(fileno=int(sys.argv[1])))
