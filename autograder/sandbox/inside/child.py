"""The child: serves one submission over its socket once it is locked down. Everything it sends is untrusted."""

from __future__ import annotations

import os
import sys
import tempfile
import time
import warnings
from typing import TYPE_CHECKING

import IPython.core.completer  # noqa: F401  imported once here, not in each child
import numpy  # noqa: F401
import tqdm.auto  # noqa: F401

from . import abilities, no_dynamo, unavailable, wire, worlds
from . import shell as shells
from .handlers import RequestHandler, place_in, watching
from .later import is_loaded, torch

if TYPE_CHECKING:
    import socket

_shell: shells.Shell


def warm_up(torch_too: bool = True) -> None:
    """Import torch, if it is wanted, and make the shell of which each child gets a copy. No thread may start here."""
    global _shell
    if torch_too:
        _import_torch()
    no_dynamo.put()
    abilities.set_up()
    _shell = shells.Shell.instance()
    _shell.enable_pictures()
    worlds.settle()
    _shell.run_one("pass", "nothing")  # IPython's work for its first cell, which each child would repeat


def _import_torch() -> None:
    """Import torch, what only it is used by here, and what it would import later."""
    import torch.fx.experimental.symbolic_shapes  # else the first operation on meta imports it
    import torch.optim
    import torch.testing  # noqa: F401

    from . import candidates, compiling, launches, stubs, training, unavailable_of_torch  # noqa: F401

    watching()


def say_hello(sock: socket.socket, problem: str | None = None) -> None:
    """Send the first frame: whether the lock is in place, and if not, why; else what torch can't do behind it.

    Nothing is sent to a child before, so nothing of a submission has run.
    """
    lacks = abilities.lacking() if problem is None else {}
    wire.send_frame(sock, {"n": 0, "ok": problem is None, "message": problem, "lacks": lacks})


class Line:
    """The child's end of the wire. It answers each request once: with a reply, or with a question about it.

    A question gets its answer as the next request, so the other side is never sent anything that it does not wait for.
    """

    def __init__(self, sock: socket.socket) -> None:
        self.sock = sock
        self.number = 0  # of the request that was received last

    def receive(self) -> tuple[wire.Message, wire.Tensors]:
        request, tensors = wire.receive_frame(self.sock)
        self.number = request["n"]
        return request, tensors

    def send(self, reply: wire.Message, tensors: wire.Tensors | None = None) -> None:
        wire.send_frame(self.sock, {**reply, "n": self.number}, tensors or ())

    def ask(self, question: wire.Message, tensors: wire.Tensors) -> tuple[wire.Message, wire.Tensors]:
        """Send a question in place of a reply; returns its answer and the tensors of that."""
        self.send({"ok": True, "question": question}, tensors)
        return self.receive()


def serve(sock: socket.socket) -> None:
    """Answer requests until the socket closes: `cell`, `bind`, `worlds`, `enter`, and those of RequestHandler."""
    say_hello(sock)
    line = Line(sock)
    unavailable.install()
    tempfile.tempdir = None
    sys.argv = ["notebook"]  # for argparse; a notebook should not see the parent's arguments
    sys.path.insert(0, "")  # as in a notebook, which may import modules that it has written
    os.environ["MPLCONFIGDIR"] = os.getcwd()
    os.environ["TRITON_INTERPRET"] = "1"  # as `launches` has it: Triton, not imported yet, compiles no kernel
    shell = _shell
    names: set[str] = set()
    level = False
    checkpoints = worlds.Checkpoints(shell.user_ns)
    bench = RequestHandler(
        shell.user_ns, lambda error: place_in(error, names.__contains__), unavailable.sentence_for, _level, line.ask
    )
    while True:
        try:
            request, tensors = line.receive()
        except wire.Closed:
            return
        except KeyboardInterrupt:
            continue  # an interrupt that came too late: the request had just ended
        out: wire.Tensors = []
        try:
            if request["op"] == "cell":
                level = False
                reply = _run_cell(shell, bench, request, names)
                checkpoints.after(request["name"])
            elif request["op"] == "bind":
                bench.bind(request["name"])
                checkpoints.make(request["name"], bench.bound, request.get("also", ()))
                reply = {"ok": True}
            elif request["op"] == "enter":
                checkpoints.enter(request["name"])
                reply = {"ok": True}
            elif request["op"] == "worlds":
                reply = checkpoints.compared()
            else:
                if not level:
                    _level()
                level = True
                reply, out = bench.handle(request, tensors)
        except KeyboardInterrupt as stopped:
            where = place_in(stopped, names.__contains__)
            reply, out = {"ok": False, "error": {"type": "KeyboardInterrupt", "message": "", "where": where}}, []
        except BaseException as error:  # SystemExit and GeneratorExit count as errors like others
            reply, out = {"ok": False, "error": bench.describe(error)}, []
        try:
            line.send(reply, out)
        except KeyboardInterrupt:
            return  # half a frame may have been sent: the trusted side starts a fresh child
        except wire.Closed:
            return
        except Exception as error:
            line.send({"ok": False, "error": bench.describe(error)})


def _run_cell(shell: shells.Shell, bench: RequestHandler, request: wire.Message, names: set[str]) -> wire.Message:
    names.add(request["name"])
    started = time.monotonic()
    outputs, error = shell.run_one(request["source"], request["name"])
    reply = {"ok": True, "outputs": outputs, "seconds": time.monotonic() - started}
    if error is not None:
        reply["error"] = bench.describe(error)
    return reply


def _level() -> None:
    """Reset process-wide settings that cells and answers may have changed, so that no answer affects another."""
    formatter = _shell.display_formatter
    if formatter.active_types != ["text/plain"]:  # draw no pictures that nobody sees
        formatter.active_types = ["text/plain"]
    warnings.simplefilter("ignore")  # nobody reads them, and as errors they would cost points
    if not is_loaded():
        return
    torch.set_default_dtype(torch.float32)
    torch.set_default_device(None)
    torch.set_grad_enabled(True)
    torch.autograd.set_detect_anomaly(False)
    torch.set_autocast_enabled("cpu", False)
    torch.set_float32_matmul_precision("highest")
