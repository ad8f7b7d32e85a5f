"""The child: serves one submission over its socket, after the lock. Everything it says is untrusted."""

from __future__ import annotations

import ctypes
import os
import sys
import tempfile
import time
import warnings
from typing import TYPE_CHECKING

import IPython.core.completer  # noqa: F401  imported here, once, and not by every child
import numpy  # noqa: F401
import torch
import torch.fx.experimental.symbolic_shapes  # noqa: F401  the first operation on meta would import it
import torch.optim
import torch.testing  # noqa: F401
import tqdm.auto  # noqa: F401

from . import no_dynamo, unavailable, wire
from . import shell as shells
from .handlers import RequestHandler, place_in

if TYPE_CHECKING:
    import socket

_shell: shells.Shell


def warm_up() -> None:
    """Make the shell that every child gets a copy of. No torch operation runs and no thread starts here."""
    global _shell
    no_dynamo.put()
    _know_the_processor()
    _shell = shells.Shell.instance()
    _shell.enable_pictures()
    _shell.run_one("pass", "nothing")  # what IPython does for its first cell, each child would do anew


def _know_the_processor() -> None:
    """Let torch's cpuinfo read what processor this is: half precision needs it, and a child may not read it."""
    library = ctypes.CDLL(os.path.join(os.path.dirname(torch.__file__), "lib", "libtorch_cpu.so"))
    if hasattr(library, "cpuinfo_initialize"):
        library.cpuinfo_initialize()


def say_hello(sock: socket.socket, problem: str | None = None) -> None:
    """The first frame: the lock is in place, or why it is not. Nothing is sent to a child before it."""
    wire.send_frame(sock, {"n": 0, "ok": problem is None, "message": problem})


def serve(sock: socket.socket) -> None:
    """Answer requests until the socket closes: `cell`, `bind`, and what the workbench knows."""
    say_hello(sock)
    unavailable.install()
    tempfile.tempdir = None
    sys.argv = ["notebook"]  # for argparse; the parent's are none of a notebook's business
    sys.path.insert(0, "")  # as in a notebook: for modules that it writes itself
    os.environ["MPLCONFIGDIR"] = os.getcwd()
    shell = _shell
    names: set[str] = set()
    level = False
    bench = RequestHandler(
        shell.user_ns, lambda error: place_in(error, names.__contains__), unavailable.sentence_for, _level
    )
    while True:
        try:
            request, tensors = wire.receive_frame(sock)
        except wire.Closed:
            return
        except KeyboardInterrupt:
            continue  # an interrupt that came too late, for a cell that had just ended
        out: wire.Tensors = []
        try:
            if request["op"] == "cell":
                level = False
                reply = _run_cell(shell, bench, request, names)
            elif request["op"] == "bind":
                bench.bind(request["name"])
                reply = {"ok": True}
            else:
                if not level:
                    _level()
                level = True
                reply, out = bench.handle(request, tensors)
        except KeyboardInterrupt:
            reply, out = {"ok": False, "error": {"type": "KeyboardInterrupt", "message": "", "where": None}}, []
        except BaseException as error:  # SystemExit, GeneratorExit: an error like others
            reply, out = {"ok": False, "error": bench.describe(error)}, []
        reply["n"] = request["n"]
        try:
            wire.send_frame(sock, reply, out)
        except KeyboardInterrupt:
            return  # half a frame may be out: the head starts a fresh child
        except wire.Closed:
            return
        except Exception as error:
            wire.send_frame(sock, {"n": request["n"], "ok": False, "error": bench.describe(error)})


def _run_cell(shell: shells.Shell, bench: RequestHandler, request: wire.Message, names: set[str]) -> wire.Message:
    names.add(request["name"])
    started = time.monotonic()
    outputs, error = shell.run_one(request["source"], request["name"])
    reply = {"ok": True, "outputs": outputs, "seconds": time.monotonic() - started}
    if error is not None:
        reply["error"] = bench.describe(error)
    return reply


def _level() -> None:
    """Undo what was set for the whole process, by cells and by answers: each answer is judged by its own code."""
    formatter = _shell.display_formatter
    if formatter.active_types != ["text/plain"]:  # no picture is drawn that nobody sees
        formatter.active_types = ["text/plain"]
    warnings.simplefilter("ignore")  # nobody reads them, and turned into errors they would cost points
    torch.set_default_dtype(torch.float32)
    torch.set_default_device(None)
    torch.set_grad_enabled(True)
    torch.autograd.set_detect_anomaly(False)
    torch.set_autocast_enabled("cpu", False)
    torch.set_float32_matmul_precision("highest")
