"""Handles what is unavailable to code while it is graded: one sentence says so, and the rest of the notebook runs on.

The kernel enforces the lock, and nothing here is part of it. This module explains its bare "Operation not permitted",
and lets code go on where it can (an uncompiled function, a loader without workers). `install()` is called in a child.
"""

from __future__ import annotations

import asyncio
import asyncio.selector_events
import builtins
import dis
import errno
import fcntl
import functools
import getpass
import importlib.abc
import importlib.machinery
import io
import multiprocessing.process
import multiprocessing.synchronize
import os
import pdb
import re
import socket
import sqlite3
import sqlite3.dbapi2
import subprocess
import sys
import types
import urllib.parse
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any

import IPython
import IPython.core.debugger
from IPython.core.error import UsageError

from . import later
from .later import is_loaded, torch

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator
    from typing import NoReturn

ON = "; the rest of it runs on."
RUNS_ON = f"while this notebook is graded{ON}"
NO_NETWORK = f"There is no network {RUNS_ON}"
NO_PROCESS = f"No other program or process can be started {RUNS_ON}"
NO_WORKERS = f"A DataLoader gets no worker processes {RUNS_ON}"
NO_COMPILER = f"torch.compile leaves code uncompiled {RUNS_ON}"
NO_INPUT = f"Nobody can answer input() {RUNS_ON}"
NO_DEBUGGER = f"Nobody can use a debugger {RUNS_ON}"
FEW_THREADS = f"No more than a few threads can run {RUNS_ON}"
NO_EXIT = f"exit() does nothing {RUNS_ON}"
NO_GPU = f"There is no GPU {RUNS_ON}"
NO_FILE = f"The only files are the notebook's own, in its own folder, {RUNS_ON}"
NO_MODULE = "There is no module `{}` " + RUNS_ON
NO_MAGIC = "There is no magic `{}` " + RUNS_ON
NO_PLATFORM = "`{}` is there on {} alone, and not " + RUNS_ON
NOT_INSTALLED = "is not installed where this was graded"
NOT_ALLOWED = f"The system allows only what computing needs {RUNS_ON}"

# names that a service puts into its notebooks, without an import
OF_PLATFORMS = {
    **dict.fromkeys(("dbutils", "spark", "sc", "sqlContext", "displayHTML"), "Databricks"),
    **dict.fromkeys(("mssparkutils", "notebookutils"), "Microsoft Fabric"),
}
ASKS_FOR_GPU = {"is_available", "device_count", "is_cuda", "list_physical_devices", "gpu_device_name"}
OF_GPU = re.compile(r"\b(?:cuda|gpu)", re.IGNORECASE)
NO_MAGIC_ERRORS = re.compile(r"agic (?:function )?`(%{1,2}\w{1,60})` not found")
NO_GPU_ERRORS = re.compile(r"not compiled with CUDA|NVIDIA driver|No CUDA GPUs")  # torch's own words
FEW_THREADS_ERRORS = re.compile(r"can't start new thread|Resource temporarily unavailable")
NO_FILE_ERRORS = re.compile(r"open file failed|Parent directory .* does not exist")
REFUSED = (errno.EPERM, errno.EACCES, errno.EROFS)

_messages: list[str] = []
_ever: set[str] = set()
_why_not: dict[str, str] = {}  # why a name has no value, as a clause; "*" is for any, from a star import


def tell(sentence: str) -> None:
    """Put this sentence at the end of the running cell's outputs."""
    _ever.add(sentence)
    if sentence not in _messages:
        _messages.append(sentence)


def pop_messages() -> list[str]:
    """The sentences since the last call, which are then forgotten."""
    messages = list(_messages)
    _messages.clear()
    return messages


def has_messages() -> bool:
    """Whether there has been any sentence so far."""
    return bool(_ever)


def refuse(sentence: str, error: Exception | None = None) -> NoReturn:
    """Raise an error with this sentence; `sentence_for` finds the sentence even if the error is wrapped."""
    error = error or PermissionError(errno.EPERM, sentence)
    error.lacking = sentence  # pyright: ignore[reportAttributeAccessIssue]  # ours
    raise error


def sentence_for(error: BaseException | None) -> str | None:
    """The sentence about an error that was caused by something unavailable here, else None."""
    if error is None:
        return None
    try:
        for link in _chain(error):
            sentence = link.__dict__.get("lacking") or _of_natural(link)
            if sentence:
                return str(sentence)[:500]
    except Exception:  # the student's exception class may misbehave
        pass
    return None


def _chain(error: BaseException) -> list[BaseException]:
    """An exception with the exceptions that caused it or were being handled when it was raised."""
    links = [error]
    for link in links:
        later = (link.__cause__, link.__context__)
        links += [e for e in later if e is not None and not any(e is known for known in links)]
        if len(links) > 50:
            break
    return links


def _of_natural(error: BaseException) -> str | None:
    """The sentence about an error that Python, torch or the kernel raised by itself, or None."""
    if isinstance(error, NameError):
        return _of_name(error)
    if isinstance(error, UsageError) and (magic := NO_MAGIC_ERRORS.search(str(error)[:200])):
        return NO_MAGIC.format(magic[1])
    if isinstance(error, ModuleNotFoundError) and error.name:
        return NO_MODULE.format(error.name[:100])
    if isinstance(error, OSError):
        not_there = error.errno in (errno.ENOENT, errno.EACCES, errno.EROFS)
        return NO_FILE if not_there else NOT_ALLOWED if error.errno == errno.EPERM else None
    if isinstance(error, (AssertionError, RuntimeError)):
        message = str(error)[:1000]
        known = {NO_GPU: NO_GPU_ERRORS, NO_FILE: NO_FILE_ERRORS, FEW_THREADS: FEW_THREADS_ERRORS}
        return next((sentence for sentence, words in known.items() if words.search(message)), None)
    return None


# --- names that have no value, and why ----------------------------------------------------------------


def _of_name(error: NameError) -> str | None:
    """The sentence about a name without a value, if there is a reason, which then is what the error says."""
    name = error.name
    if isinstance(error, UnboundLocalError) or not isinstance(name, str):
        return None
    of_platform = NO_PLATFORM.format(name, OF_PLATFORMS[name]) if name in OF_PLATFORMS else ""
    clause = _why_not.get(name) or (_why_not.get("*") or "").replace("*", name) or of_platform
    if clause:
        error.args = (clause,)
    return clause or None


def note_names(code: types.CodeType, error: BaseException, sentence: str, defined: Collection[str]) -> None:
    """Note why names have no value that a statement would have given one, if this sentence is about its error."""
    missing = error.name if isinstance(error, ModuleNotFoundError) else None
    for name, module in _names_of(code):
        if name in defined:
            continue
        if missing and module and module.partition(".")[0] == missing.partition(".")[0]:
            own = name == missing
            clause = f"`{name}` {NOT_INSTALLED}" if own else f"`{name}` comes from `{missing}`, which {NOT_INSTALLED}"
        else:
            clause = f"`{name}` has no value, since {_clause(sentence, missing)}"
        _why_not[name] = clause[:500]


def _clause(sentence: str, missing: str | None) -> str:
    if missing:
        return f"`{missing[:100]}` {NOT_INSTALLED}"
    clause = sentence.removesuffix(ON).removesuffix(".")
    return clause[:1].lower() + clause[1:]


def _names_of(code: types.CodeType) -> Iterator[tuple[str, str]]:
    """The global names to which a statement gives a value, each with the module that it imports it from, if it does."""
    module = ""
    for step in dis.get_instructions(code):
        if step.opname == "IMPORT_NAME":
            module = str(step.argval)
        elif step.opname in ("STORE_NAME", "STORE_GLOBAL"):
            yield str(step.argval), module
        elif step.opname == "IMPORT_STAR" or (step.opname == "CALL_INTRINSIC_1" and "STAR" in step.argrepr):
            yield "*", module
        elif step.opname in ("LOAD_NAME", "LOAD_GLOBAL"):
            module = ""  # it is more than an import


def note_removed(names: Collection[str], modules: Collection[str], source: str, cell: str) -> None:
    """Note that a cell has removed names, those of `modules` among them."""
    by = " by `%reset`" if re.search(r"^[ \t]*%reset\b", source, re.MULTILINE) else ""
    for name in names:
        again = "import it" if name in modules else "define it"
        _why_not[name] = f"`{name}` was removed{by} in {cell}: {again} again below that"


def wants_gpu(code: types.CodeType, error: BaseException) -> bool:
    """Whether a statement of a cell has raised an error itself, by `assert` or `raise`, since there is no GPU."""
    last = error.__traceback__
    while last is not None and last.tb_next is not None:
        last = last.tb_next
    if last is None or last.tb_frame.f_code is not code or (is_loaded() and torch.cuda.is_available()):
        return False
    raises = any(step.offset == last.tb_lasti and step.opname == "RAISE_VARARGS" for step in dis.get_instructions(code))
    said = [const for const in code.co_consts if isinstance(const, str)]
    return raises and bool(ASKS_FOR_GPU.intersection(code.co_names) or any(map(OF_GPU.search, said)))


# --- explanations of what the lock refuses, and stand-ins -------------------------------------------


def install() -> None:
    """Install explanations and stand-ins. Only for a child: its parent starts processes and uses sockets."""
    for name in ("getaddrinfo", "gethostbyname", "gethostbyname_ex", "gethostbyaddr"):
        _put_into_words(socket, name, NO_NETWORK)
    _put_into_words(socket.socket, "__init__", NO_NETWORK)
    for name in ("fork", "forkpty", "execv", "execve", "posix_spawn", "posix_spawnp"):
        _put_into_words(os, name, NO_PROCESS)
    _put_into_words(subprocess.Popen, "__init__", NO_PROCESS)
    _put_into_words(multiprocessing.process.BaseProcess, "start", NO_PROCESS)
    _put_into_words(multiprocessing.synchronize.SemLock, "__init__", NO_PROCESS)  # used by pools and queues
    asyncio.create_subprocess_exec = asyncio.create_subprocess_shell = no_process
    asyncio.selector_events.BaseSelectorEventLoop._make_self_pipe = _wake_by_pipe  # pyright: ignore[reportAttributeAccessIssue]  # a private one
    os.system = no_program
    os.utime = _with_its_times
    fcntl.flock, fcntl.lockf = _granted(fcntl.flock), _granted(fcntl.lockf)
    sqlite3.connect = sqlite3.dbapi2.connect = _without_locks
    builtins.input = getpass.getpass = no_input
    _install_hand_in()
    sys.breakpointhook = pdb.set_trace = no_debugger
    IPython.core.debugger.set_trace = IPython.core.debugger.Pdb.set_trace = no_debugger
    IPython.embed = no_debugger  # pyright: ignore[reportAttributeAccessIssue]
    ThreadPoolExecutor._adjust_thread_count = _with_those_that_run
    if is_loaded():
        _install_for_torch()
    else:
        sys.meta_path.insert(0, _WhenTorchComes())


def _install_for_torch() -> None:
    """The same for what torch offers."""
    from . import no_dynamo, unavailable_of_torch

    no_dynamo.put()
    unavailable_of_torch.install(uncompiled, functools.partial(tell, NO_WORKERS))


class _WhenTorchComes(importlib.abc.MetaPathFinder):
    """Finds torch as others do, and has stand-ins installed each time it is imported, which code may do at any time.

    It stays: code may only ask whether torch can be found, or import it again after that has failed.
    """

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> importlib.machinery.ModuleSpec | None:
        if name != "torch":
            return None
        others = (finder for finder in sys.meta_path if finder is not self)
        spec = next(filter(None, (finder.find_spec(name, path, target) for finder in others)), None)
        if spec and spec.loader:
            execute = spec.loader.exec_module

            def and_install(module: types.ModuleType) -> None:
                execute(module)
                if later.is_torch(module):  # and no file of that name
                    later.note(module)
                    _install_for_torch()

            spec.loader.exec_module = and_install
        return spec


def _install_hand_in() -> None:
    """Let the calls that hand a notebook in do nothing: they are in cells of students', before or behind their code."""
    module = sys.modules["hand_in"] = types.ModuleType("hand_in")
    for name in ("hand_in", "ask"):
        setattr(module, name, _not_now)
        setattr(builtins, name, _not_now)  # as if the cell that imports it had run


def _not_now(*args: Any, **kwargs: Any) -> None:
    """Nothing is handed in while it is graded."""


def _put_into_words(owner: Any, name: str, sentence: str) -> None:
    """Let `owner.name` raise an error with this sentence if the system refuses the call."""
    real = getattr(owner, name)

    @functools.wraps(real)
    def asking(*args: Any, **kwargs: Any) -> Any:
        try:
            return real(*args, **kwargs)
        except OSError as error:
            if error.errno not in REFUSED and not isinstance(error, (socket.gaierror, socket.herror)):
                raise
        if sentence == NO_NETWORK:
            tell(sentence)  # even if the code handles the error: unlike processes, a network is never incidental
        refuse(sentence)

    setattr(owner, name, asking)


async def no_process(*args: Any, **kwargs: Any) -> NoReturn:
    refuse(NO_PROCESS)


def no_program(command: Any, _system: Callable[[Any], int] = os.system) -> int:
    """Replaces os.system, which raises no error when it fails."""
    status = _system(command)
    if status == 127 << 8:  # the status of a command that was not found
        tell(NO_PROCESS)
    return status


def _with_its_times(path: Any, *args: Any, _utime: Any = os.utime, **kwargs: Any) -> None:
    """Replaces os.utime, which is refused: a file that can be written keeps its times, without an error."""
    try:
        _utime(path, *args, **kwargs)
    except PermissionError:
        try:
            os.close(os.open(path, os.O_WRONLY))  # os.access would not ask Landlock
        except (IsADirectoryError, TypeError):  # TypeError: it is a descriptor
            if not os.access(path, os.W_OK):
                raise


def _granted(lock: Any) -> Any:
    """Replaces fcntl's locks, which are refused: on a file opened for writing, which no one else uses, they succeed."""

    @functools.wraps(lock)
    def locking(file: Any, *args: Any) -> None:
        try:
            lock(file, *args)
        except PermissionError:
            if fcntl.fcntl(file, fcntl.F_GETFL) & os.O_ACCMODE == os.O_RDONLY:
                raise

    return locking


def _without_locks(
    database: Any, *args: Any, _connect: Any = sqlite3.connect, uri: bool = False, **kwargs: Any
) -> sqlite3.Connection:
    """Replaces sqlite3.connect: no one else uses the database, so it needs no locks."""
    if not uri and database not in ("", ":memory:"):
        database, uri = f"file:{urllib.parse.quote(os.fsencode(database))}?vfs=unix-none", True
    return _connect(database, *args, uri=uri, **kwargs)


def no_input(*args: Any, **kwargs: Any) -> NoReturn:
    refuse(NO_INPUT, EOFError(NO_INPUT))


def no_debugger(*args: Any, **kwargs: Any) -> None:
    tell(NO_DEBUGGER)


def uncompiled(model: Any = None, **options: Any) -> Any:
    """Replaces torch.compile: returns the same function or module, since no compiler can be started."""
    tell(NO_COMPILER)
    return (lambda model: model) if model is None else model


_adjust_thread_count = ThreadPoolExecutor._adjust_thread_count


def _with_those_that_run(self: ThreadPoolExecutor) -> None:
    """If a pool can start no further thread, those that it has do the work."""
    try:
        _adjust_thread_count(self)
    except RuntimeError:
        if not self._threads:
            raise


class _PipeEnd(io.FileIO):
    recv, send = io.FileIO.read, io.FileIO.write


def _wake_by_pipe(loop: Any) -> None:
    """Let asyncio's event loop wake itself up by a pipe, since socket pairs are refused."""
    reading, writing = os.pipe()
    os.set_blocking(reading, False)
    os.set_blocking(writing, False)
    loop._ssock, loop._csock = _PipeEnd(reading, "rb"), _PipeEnd(writing, "wb")
    loop._internal_fds += 1
    loop._add_reader(reading, loop._read_from_self)
