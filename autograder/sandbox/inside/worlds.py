"""Tells whether a later cell has changed what an answer reaches: the names, objects and modules at its check cell.

A checkpoint notes, at the check cell, everything that the answer reaches: the names that its code may look up, and
what lies behind them, each object with what it holds. After the last cell the same is read once more. What cannot be
looked into (a generator, an object of an extension module) counts as changed: grading in place then costs time, and
nothing else. What a name meant can be given back to it (`Checkpoints.enter`); what an object was cannot, so a child
that runs no further serves such an exercise. The submission's code can deceive this module, but only about which of
its own states is graded.
"""

from __future__ import annotations

import builtins
import contextlib
import dis
import enum
import functools
import importlib
import inspect
import math
import operator
import os
import random
import signal
import sys
import threading
import types
import zlib
from collections import deque
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy

from . import no_dynamo
from .later import is_loaded, torch

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from . import wire

MOST_OBJECTS = 5000  # that one answer reaches: lessons' answers reach fewer than 300
MOST_BYTES = 2**22  # of tensors and arrays that are compared by content, for each answer: 1 ms
MOST_ITEMS = 100_000  # of one list, dict or set: reading them takes 2 ms
MOST_FILES = 1000  # that are looked at, in all folders
SECONDS = 1.0  # that an object's own code may take at one check cell, or at the comparison
MOST_CHANGES, MOST_NAME = 20, 100  # that are named for one answer, and characters of a name
# what a later cell did; "patched": it changed a library, below what an answer names
DEFINED, REDEFINED, DELETED, CHANGED, PATCHED = DID = "defined", "redefined", "deleted", "changed", "patched"
MISSING = object()  # in place of what a name meant when it meant nothing
OWN = frozenset(("_", "__", "___", "In", "Out", "exit", "quit", "get_ipython"))  # names that IPython sets itself
LEAVES = (
    *(type(None), bool, int, float, complex, str, bytes, range, slice, type(...), type(NotImplemented)),
    *(types.CodeType, types.GenericAlias, types.UnionType, types.GetSetDescriptorType, types.MemberDescriptorType),
    *(types.MethodDescriptorType, types.WrapperDescriptorType, types.ClassMethodDescriptorType),
    *(numpy.dtype, enum.Enum),
)
PLAIN = frozenset(LEAVES)
BUILT_IN = frozenset(vars(builtins))
# the ids of functions with which code may look up whatever it likes
REACH_ANY = {id(one) for one in (eval, exec, compile, globals, __import__, importlib.import_module, importlib.reload)}
REACH_ANY |= {id(one) for one in (sys._getframe, inspect.currentframe, inspect.stack)}
DYNAMIC = {"__globals__", "f_globals", "f_locals", "f_back", "gi_frame", "get_ipython", "user_ns", "user_global_ns"}
DYNAMIC |= {"import_module", "_getframe", "currentframe"}
# in the dicts of classes and modules: what Python makes when it is asked for it, and what no answer looks at
UNSEEN = {"__dict__", "__weakref__", "__annotations__", "__annotate_func__", "__annotations_cache__", "_abc_impl"}
UNSEEN |= {"__builtins__", "__spec__", "__loader__", "__slotnames__"}
IMPORT = dis.opmap["IMPORT_NAME"]
# opcodes that look up a variable, each with the bits of its argument that are no part of the name's number
LOADS = {dis.opmap["LOAD_GLOBAL"]: 1, dis.opmap["LOAD_NAME"]: 0}
LOADS |= {dis.opmap[name]: 0 for name in ("LOAD_FROM_DICT_OR_GLOBALS",) if name in dis.opmap}
POINTER = 8  # bytes that a dict, weak references or a slot take in an object


class State(NamedTuple):
    """What an object holds: other objects, compared by identity, and plain values."""

    refs: tuple[Any, ...]
    facts: object = None


class Unknown(Exception):
    """It cannot be told what an object holds."""


class Checkpoint:
    """What the answer to an exercise reaches, as it was when this was made."""

    def __init__(self, names: dict[str, Any], roots: dict[str, Any], libraries: Libraries) -> None:
        self.names = names
        self.libraries, self.of_libraries = libraries, libraries.look()
        self.all = dict(names)
        self.known: dict[str, Any] = {}  # what the variables meant that code may look up
        self.states: dict[int, tuple[Any, str, State]] = {}  # by id: an object, the name that leads to it, its state
        # modules and classes of libraries, and names of other code, by id: each with the name that leads to it, and
        # what was in it
        self.outer: dict[int, tuple[Any, str, dict[str, Any]]] = {}
        self.variables: set[str] = set()  # that code looks up
        self.imports: dict[str, Any] = {}  # the modules that code imports, as `sys.modules` had them
        self.texts: set[str] = set()  # constants in code that may be names: for getattr and globals()
        self.attributes: set[str] = set()  # names in code, of whatever they are
        self.is_whole = True  # whether all could be looked into
        self.bytes = 0
        self.waiting: deque[tuple[Any, str]] = deque((answer, name) for name, answer in roots.items())
        for shared in _shared():
            self._visit_outer(shared, shared.__name__)
        try:
            with at_most(SECONDS):
                self._reach()
        except (Exception, TooLong):  # an object's own code may raise anything
            self.is_whole = False
        self.around = self._around()

    # --- what is reached --------------------------------------------------------------------------

    def _reach(self) -> None:
        while self.waiting:
            while self.waiting:
                self._visit(*self.waiting.popleft())
            for name in (self.variables | self.texts) - self.known.keys() - OWN:
                self.known[name] = value = self.names.get(name, MISSING)
                if value is not MISSING:
                    self.waiting.append((value, name))
                elif id(vars(builtins).get(name)) in REACH_ANY:
                    self.is_whole = False
            for name in self.attributes & sys.modules.keys():  # a function may import it
                if not self._is_known(sys.modules[name]):
                    self.waiting.append((sys.modules[name], name))
            for owner, root, seen in list(self.outer.values()):
                has = _names_in(owner)
                for name in self.attributes - seen.keys():
                    seen[name] = value = has.get(name, MISSING)
                    if isinstance(owner, dict) or self._leads_on(value):
                        self.waiting.append((value, root))

    def _is_known(self, thing: object) -> bool:
        return id(thing) in self.states or id(thing) in self.outer

    def _leads_on(self, value: object) -> bool:
        """Whether what a library holds is looked into: not its own functions and objects."""
        if isinstance(value, types.FunctionType):
            return self._is_own(value.__globals__)
        return isinstance(value, types.ModuleType | type)

    def _visit_outer(self, owner: Any, root: str) -> None:
        """Note a module or class of a library, or the names of other code of the submission's.

        Of a class all that it has counts, else what code asks for.
        """
        self.outer.setdefault(id(owner), (owner, root, dict(dict_of_class(owner)) if isinstance(owner, type) else {}))

    def _visit(self, thing: Any, root: str) -> None:
        kind = type(thing)
        if issubclass(kind, _leaves()) or self._is_known(thing):
            return
        if id(thing) in REACH_ANY:
            self.is_whole = False
            return
        if len(self.states) >= MOST_OBJECTS:
            raise Unknown
        if issubclass(kind, types.ModuleType) and not self._is_own(dict_of(thing)):
            self._visit_outer(thing, root)
            return
        if issubclass(kind, type) and not self._is_own_class(thing):
            for base in type.mro(thing):
                self._visit_outer(base, root)
            return
        if issubclass(kind, types.FunctionType) and self._is_own(thing.__globals__):
            self._read(thing.__code__)
            if thing.__globals__ is not self.names:  # of another module, or code that was executed
                self._visit_outer(thing.__globals__, root)
        try:
            state = self._state(thing)
        except Unknown:
            self.is_whole = False
            return
        self.states[id(thing)] = thing, root, state
        self.waiting += [(ref, root) for ref in state.refs if type(ref) not in _plain()]

    def _read(self, code: types.CodeType) -> None:
        """Note the names in a function's code, and in that of the functions in it."""
        variables, imports = looked_up_by(code)
        self.variables.update(variables)
        self.imports |= {name: sys.modules.get(name, MISSING) for name in imports - self.imports.keys()}
        self.attributes.update(code.co_names)
        if not DYNAMIC.isdisjoint(code.co_names) or {"sys", "modules"} <= self.attributes:
            self.is_whole = False
        for part in code.co_consts:
            if isinstance(part, types.CodeType):
                self._read(part)
            elif isinstance(part, str) and part.isidentifier():
                self.texts.add(part)
                self.attributes.add(part)

    def _is_own(self, names: dict[str, Any]) -> bool:
        """Whether these are the names of the notebook, of a module that it has written, or of code that it runs."""
        if names is self.names:
            return True
        if isinstance(file := names.get("__file__"), str):
            return os.path.abspath(file).startswith(os.getcwd() + os.sep)
        module = sys.modules.get(str(names.get("__name__")))
        return not issubclass(type(module), types.ModuleType) or dict_of(module) is not names

    def _is_own_class(self, kind: type) -> bool:
        name = dict_of_class(kind).get("__module__")
        if name is None or name == self.names.get("__name__"):
            return name is not None
        module = sys.modules.get(name) if type(name) is str else None
        return not issubclass(type(module), types.ModuleType) or self._is_own(dict_of(module))

    def _state(self, thing: Any) -> State:
        """What an object holds. Raises Unknown, or whatever the object's own code raises."""
        kind = type(thing)
        if issubclass(kind, torch.Tensor):
            return self._state_of_tensor(thing)
        if issubclass(kind, numpy.ndarray | numpy.generic):
            if thing.dtype.hasobject:
                raise Unknown
            return State((), (thing.shape, thing.dtype.str, self._sum(numpy.ascontiguousarray(thing))))
        if issubclass(kind, torch.Generator):
            return State((), bytes(thing.get_state().numpy()))
        for base, state_of in STATES.items():
            if issubclass(kind, base):
                return state_of(thing)
        return _state_of_container(thing)

    def _state_of_tensor(self, tensor: torch.Tensor) -> State:
        if tensor.layout != torch.strided or tensor.is_quantized:
            raise Unknown
        with torch._C.DisableTorchFunctionSubclass():
            size = tensor.numel() * tensor.element_size()
            facts = tuple(tensor.shape), tensor.stride(), str(tensor.dtype), str(tensor.device), tensor.requires_grad
            version = 0 if tensor.is_inference() else tensor._version
            content = None
            if tensor.device.type != "meta":
                if self.bytes + size > MOST_BYTES:
                    raise Unknown
                flat = tensor.detach().cpu().resolve_conj().resolve_neg().contiguous().reshape(-1)
                content = self._sum(flat.view(torch.uint8).numpy())
            grad = tensor.grad if tensor.is_leaf else None
        return State((type(tensor), dict_of(tensor), grad), (facts, version, content))

    def _sum(self, array: numpy.ndarray) -> int:
        """A checksum of an array's bytes. Raises Unknown beyond MOST_BYTES."""
        if self.bytes + array.nbytes > MOST_BYTES:
            raise Unknown
        self.bytes += array.nbytes
        return zlib.crc32(array.tobytes())

    # --- what has changed -------------------------------------------------------------------------

    def changes(self, by: dict[str, str], of_libraries: int) -> wire.Message:
        """What has changed of all this since: "apart" says whether any object has, or may have.

        "names" lists [name, what a later cell did to it, this cell or ""], as far as this is certain. `by` tells which
        cell was the last to give a name another meaning, `of_libraries` in which state these are. "moved" says
        whether any name of the notebook's means something else now, though the answer need not reach it.
        """
        now = self.names
        other = {n for n, value in self.known.items() if now.get(n, MISSING) is not value}
        redefined = {n for n in other if self.known[n] is not MISSING or n in vars(builtins)}
        try:
            with at_most(SECONDS):
                changed = self._changed_inside() - redefined
        except TooLong:
            changed, self.is_whole = set[str](), False
        libraries = self.libraries.between(self.of_libraries, of_libraries)
        did = {n: DEFINED for n in other - redefined} | dict.fromkeys(changed, CHANGED)
        did |= {n: REDEFINED if n in now else DELETED for n in redefined}
        did |= dict.fromkeys(libraries if not changed else (), PATCHED)
        certain = sorted(did.keys() - (self.texts - self.variables))[:MOST_CHANGES]
        moved = {n for n, value in self.all.items() if n not in OWN and now.get(n, MISSING) is not value}
        moved |= (BUILT_IN & now.keys()) - self.all.keys()
        return {
            "apart": bool(changed or libraries or self._imports_others() or self.around != self._around())
            or not self.is_whole,
            "names": [[n, did[n], by.get(n, "") if n in other else ""] for n in certain if len(n) <= MOST_NAME],
            "moved": any(not name.startswith("_i") for name in moved),
        }

    def _imports_others(self) -> bool:
        """Whether an import in the code finds another module now; that it has been made meanwhile changes nothing."""
        return any(before is not MISSING and sys.modules.get(n) is not before for n, before in self.imports.items())

    def _around(self) -> list[object]:
        """What code may read of the process: its files, if only to import them, and its environment."""
        imports = MISSING in self.imports.values()
        return [read() for names, read in READ.items() if self.attributes & names or (imports and read is _files)]

    def give_names(self, last: dict[str, Any]) -> None:
        """Let all names mean what they meant here. What was not defined yet is as it is in the end, in `last`."""
        hidden = BUILT_IN - self.all.keys()  # defined later, a name would hide Python's own
        given = {n: value for n, value in last.items() if n not in hidden} | self.all
        self.names.clear()
        self.names.update(given)

    def _changed_inside(self) -> set[str]:
        """The names that lead to objects which hold something else now."""
        found = set[str]()
        self.bytes = 0
        for thing, root, before in self.states.values():
            try:
                now = self._state(thing)
            except Exception:
                now = State((MISSING,))
            if not _are_same(before.refs, now.refs) or before.facts != now.facts:
                found.add(root)
        for owner, root, seen in self.outer.values():
            has = _names_in(owner)
            for name, value in seen.items():
                now = has.get(name, MISSING)
                if now is value:
                    continue
                is_imported_late = value is MISSING and issubclass(type(now), types.ModuleType)
                if not is_imported_late and name not in UNSEEN:
                    found.add(root)
        return found


class Libraries:
    """What the libraries have that answers use below the names in their code, and settings of the whole process.

    Each state that was seen has a number; usually there is one. Reading all takes 1 ms, so after the first time that is
    done in the end, and in between only if what is patched most differs.
    """

    def __init__(self) -> None:
        self.owners = _owners()
        self.often = [self.owners.index(owner) for owner in _patched_often()]
        self.seen: list[tuple[list[dict[str, Any]], tuple[object, ...]]] = []

    def look(self, closely: bool = False) -> int:
        """The number of the state that they are in."""
        settings = _settings()
        if self.seen and not closely:
            before, others = self.seen[-1]
            are_same = all(_has_same(before[place], self.owners[place]) for place in self.often)
            if are_same and _are_same_settings(others, settings):
                return len(self.seen) - 1
        for number, (before, others) in reversed(list(enumerate(self.seen))):
            if _are_same_settings(others, settings) and all(map(_has_same, before, self.owners)):
                return number
        self.seen.append(([dict(dict_of(owner)) for owner in self.owners], settings))
        return len(self.seen) - 1

    def between(self, one: int, other: int) -> set[str]:
        """What differs between two states, by short names: "Tensor", "torch"."""
        (before, settings), (after, others) = self.seen[one], self.seen[other]
        if one == other:
            return set()
        found = set[str]() if _are_same_settings(settings, others) else {"torch"}
        differ = (o for o, x, y in zip(self.owners, before, after, strict=True) if not _are_same_names(x, y))
        return found | {str(owner.__name__).partition(".")[0] for owner in differ}


def settle() -> None:
    """Let libraries change once what they change by themselves when it is first used: classes of optimizers."""
    _owners()
    if not is_loaded():
        return
    for kind in vars(torch.optim).values():
        if isinstance(kind, type) and issubclass(kind, torch.optim.Optimizer):
            with contextlib.suppress(Exception):  # one that takes no such parameter
                make: Any = kind
                make([torch.nn.Parameter(torch.zeros(1, 1))])
    _owners()


class Checkpoints:
    """The checkpoints of a notebook's exercises, and which cell was the last to give a name another meaning."""

    def __init__(self, names: dict[str, Any]) -> None:
        self.names = names
        self.libraries = Libraries()
        self.made: dict[str, Checkpoint | None] = {}  # None: it was not defined at its check cell
        self.by: dict[str, str] = {}
        self.before: dict[str, Any] = {}
        self.last: dict[str, Any] | None = None  # what names mean after the last cell

    def make(self, exercise: str, answers: dict[str, Any], also: Iterable[str] = ()) -> None:
        """Make the checkpoint of an exercise, at its check cell; its checks ask for other names, too: `also`.

        The first one counts: where an answer is tried again with other code, names go back to what they first meant.
        """
        if exercise in self.made:
            return
        others = {name: {**self.names, **answers}.get(name) for name in also}
        roots = {exercise: answers[exercise], **others} if exercise in answers else {}
        self.made[exercise] = Checkpoint(self.names, roots, self.libraries) if roots else None
        self.before = dict(self.names)

    def enter(self, exercise: str) -> None:
        """Let all names mean what they meant at the check cell of an exercise; "" for what they mean in the end.

        No cell may run after this but those that try other code for the same exercise.
        """
        self.last = dict(self.names) if self.last is None else self.last
        if point := self.made.get(exercise):
            point.give_names(self.last)
        else:
            self.names.clear()
            self.names.update(self.last)

    def after(self, cell: str) -> None:
        """Note which names mean something else after a cell than before. Before the first checkpoint nobody asks."""
        if self.made:
            now, before = self.names, self.before
            self.by.update(dict.fromkeys((n for n in now if now[n] is not before.get(n, MISSING)), cell))
            self.by.update(dict.fromkeys((n for n in before if n not in now), cell))
            self.before = dict(now)

    def compared(self) -> wire.Message:
        """What later cells have changed, by exercise."""
        of_libraries = self.libraries.look(closely=True)
        found = {name: point.changes(self.by, of_libraries) for name, point in self.made.items() if point}
        for name in self.made.keys() - found.keys():
            late = [[name, DEFINED, self.by.get(name, "")]] if name in self.names else []
            found[name] = {"apart": False, "names": late, "moved": False}
        return {"ok": True, "worlds": found}


class TooLong(BaseException):
    """An object's own code took too long. No Exception, so that this code does not catch it."""


@contextlib.contextmanager
def at_most(seconds: float) -> Iterator[None]:
    """Raise TooLong in the body after so many seconds. An alarm that is set already goes off later, if at all."""
    if threading.current_thread() is not threading.main_thread():
        yield  # signals reach the main thread alone
        return

    def stop(*given: object) -> None:
        raise TooLong

    handler = signal.signal(signal.SIGALRM, stop)
    waiting, again = signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, handler if handler is not None else signal.SIG_DFL)
        signal.setitimer(signal.ITIMER_REAL, waiting, again)


def looked_up_by(code: types.CodeType) -> tuple[set[str], set[str]]:
    """The names that code looks up as variables outside itself, and those of modules that it imports.

    Other names in it are of attributes.
    """
    found, imports, more = set[str](), set[str](), 0
    for opcode, argument in zip(code.co_code[::2], code.co_code[1::2], strict=True):
        number = more | argument
        more = number << 8 if opcode == dis.EXTENDED_ARG else 0
        if opcode in LOADS:
            found.add(code.co_names[number >> LOADS[opcode]])
        elif opcode == IMPORT:
            imports.add(code.co_names[number])
    return found, imports


@functools.cache
def _owners() -> list[Any]:
    """The modules that answers use, with the classes that they have of their own and the bases of these."""
    if not is_loaded():
        return [numpy, math, builtins]
    import torch.optim

    shown = (torch.nn, torch.optim, torch)
    classes = {kind for module in shown for kind in dict_of(module).values() if isinstance(kind, type)}
    bases = {base for kind in classes for base in type.mro(kind)}
    return [*_libraries(), *sorted((kind for kind in bases if _is_of_torch(kind)), key=id)]


def _is_of_torch(kind: type) -> bool:
    """Whether a class can be changed, as one in Python can, and is torch's."""
    module = dict_of_class(kind).get("__module__")
    return kind in _shared() or (isinstance(module, str) and module.startswith(("torch.nn.", "torch.optim.")))


def _has_same(before: dict[str, Any], owner: Any) -> bool:
    """Whether a module or a class has what it had."""
    return _are_same_names(before, dict_of(owner))


def _are_same_names(before: Any, now: Any) -> bool:
    """Whether names mean the same; a module that was imported meanwhile does not count."""
    if len(now) == len(before) and all(map(operator.is_, before.values(), now.values())):
        return True
    pairs = ((n, before.get(n, MISSING), now.get(n, MISSING)) for n in before.keys() | now.keys())
    return all(n in UNSEEN or _is_torchs_own(was, means) for n, was, means in pairs if was is not means)


def _is_torchs_own(was: object, means: object) -> bool:
    """Whether torch itself gave a name another meaning, as it does in many functions when they are first called.

    It imports modules, among them torch._dynamo, which wraps functions that it does not compile: `torch.manual_seed`.
    """
    if issubclass(type(means), types.ModuleType):
        return was is MISSING or type(was) is no_dynamo.StandIn
    if not is_loaded() or type(means) is not types.FunctionType or means.__code__ is not _uncompiled():
        return False
    return any(not _is_empty(cell) and cell.cell_contents is was for cell in means.__closure__ or ())


def _saved_by() -> object:
    """The hooks that are called for each tensor that is kept for gradients, or None."""
    autograd: Any = vars(torch._C)["_autograd"]
    return autograd._top_saved_tensors_default_hooks(True)


def _settings() -> tuple[object, ...]:
    """The settings of the process that no check sets itself: those of torch, if it is there, then the others."""
    return (
        _settings_of_torch() if is_loaded() else None,
        *(id(signal.getsignal(signal.SIGALRM)), signal.getitimer(signal.ITIMER_REAL)[0] > 0),
        *(sys.getrecursionlimit(), id(sys.gettrace()), id(sys.getprofile()), sorted(numpy.geterr().items())),
    )


def _are_same_settings(before: tuple[object, ...], now: tuple[object, ...]) -> bool:
    """Whether two of `_settings` are the same; that torch was imported meanwhile changes nothing."""
    (torchs, *others), (torchs_now, *others_now) = before, now
    return others == others_now and (torchs is None or torchs_now is None or torchs == torchs_now)


def _settings_of_torch() -> tuple[object, ...]:
    import torch.overrides
    from torch.utils._device import DeviceContext

    of_modules = vars(torch.nn.modules.module).items()
    hooks = [tuple(held) for name, held in of_modules if name.startswith("_global_") and isinstance(held, dict)]
    modes = [id(mode) for mode in torch.overrides._get_current_function_mode_stack() if type(mode) is not DeviceContext]
    return (
        *(hooks, modes, torch._C._len_torch_dispatch_stack(), torch.is_inference_mode_enabled()),
        *(torch.are_deterministic_algorithms_enabled(), _saved_by() is None),
    )


def _state_of_function(function: types.FunctionType) -> State:
    """What a function holds. Of a library's, too: one that a decorator has made holds the notebook's."""
    cells = tuple(cell.cell_contents for cell in function.__closure__ or () if not _is_empty(cell))
    return State((function.__code__, function.__defaults__, function.__kwdefaults__, function.__dict__, *cells))


def _state_of_container(thing: Any) -> State:
    """What a dict, a list or another object written in Python holds. Raises Unknown if there may be more."""
    kind = type(thing)
    base = next((one for one in CONTAINERS if issubclass(kind, one)), object)
    slots = tuple(_slots_of(kind))
    own_dict = dict_of(thing)
    has_dict = own_dict is not None
    room = base.__basicsize__ + POINTER * (len(slots) + has_dict + (kind.__weakrefoffset__ > 0))
    if kind.__module__ != "collections" and (kind.__basicsize__ > room or (base is object and kind.__itemsize__)):
        raise Unknown  # only its own code in C can see all that it holds
    if base is not object and vars(base)["__len__"](thing) > MOST_ITEMS:
        raise Unknown
    parts = () if base is object else CONTAINERS[base](thing)
    own = (kind, own_dict) if has_dict else (kind,)
    return State((*own, *(slot.__get__(thing) for slot in slots if _is_set(slot, thing)), *parts))


def _items(shown: Any) -> tuple[Any, ...]:
    """The keys and values of a dict, or of what shows one, one after another."""
    pairs = dict.items(shown) if isinstance(shown, dict) else shown.items()
    return tuple(part for key, value in pairs if key.__class__ is not str or key not in UNSEEN for part in (key, value))


def _names_in(owner: Any) -> Any:
    """What a module, a class or a dict of names has, by name."""
    return owner if issubclass(type(owner), dict) else dict_of(owner)


def dict_of(thing: Any) -> Any:
    """The dict of a class, a module or another object, without asking its own code; None if it has none."""
    kind = type(thing)
    if issubclass(kind, type):
        return dict_of_class(thing)
    for base in type.mro(kind):
        found = dict_of_class(base).get("__dict__")
        if type(found) in (types.GetSetDescriptorType, types.MemberDescriptorType):
            return found.__get__(thing)
    return None


def _slots_of(kind: type) -> Iterator[types.MemberDescriptorType]:
    """The slots of a class written in Python, with those of its bases."""
    for base in type.mro(kind):
        if "__slots__" in dict_of_class(base):
            yield from (one for one in dict_of_class(base).values() if type(one) is types.MemberDescriptorType)


def _is_set(slot: types.MemberDescriptorType, thing: object) -> bool:
    try:
        slot.__get__(thing)
    except AttributeError:
        return False
    return True


def _is_empty(cell: types.CellType) -> bool:
    try:
        _ = cell.cell_contents
    except ValueError:
        return True
    return False


def _are_same(one: tuple[Any, ...], other: tuple[Any, ...]) -> bool:
    """Whether two tuples hold the same objects; small values count by what they are."""
    return len(one) == len(other) and all(a is b or _is_equal(a, b) for a, b in zip(one, other, strict=True))


def _is_equal(one: Any, other: Any) -> bool:
    """Whether two plain values are the same, though not the same object: reading a number makes a new one."""
    return type(one) is type(other) and type(one) in (int, float, str, bytes, bool) and one == other


def _files() -> object:
    """The folder that code is in and the files below it, each with its size and the time when it was changed.

    If there are too many, nothing is equal to it.
    """
    found = []
    for folder, folders, files in os.walk("."):
        for name in folders + files:
            with contextlib.suppress(OSError):
                status = os.lstat(os.path.join(folder, name))
                found.append((folder, name, 0 if name in folders else (status.st_size, status.st_mtime_ns)))
        if len(found) > MOST_FILES:
            return math.nan
    try:
        return os.getcwd(), sorted(found, key=str)
    except OSError:
        return None


@functools.cache
def _uncompiled() -> types.CodeType:
    """The code of what torch wraps functions in by itself."""
    import torch._compile

    return torch._compile._disable_dynamo(lambda: None).__code__


@functools.cache
def _libraries() -> tuple[Any, ...]:
    import torch.nn.init
    import torch.nn.modules.module

    return (
        *(torch, torch.nn, torch.nn.functional, torch.nn.init, torch.linalg, torch.special, torch.fft),
        *(torch.functional, torch.nn.modules.module, torch.optim, numpy, math, builtins),
    )


def _patched_often() -> tuple[Any, ...]:
    often = (torch.nn.functional, torch.Tensor, torch.nn.Module, torch.nn.Linear) if is_loaded() else ()
    return tuple(owner for owner in often if owner in _owners())  # which may have been asked for before torch came


def _shared() -> tuple[Any, ...]:
    """What is used without being named."""
    return (torch.Tensor, torch.nn.Module, builtins) if is_loaded() else (builtins,)


def _leaves() -> tuple[type, ...]:
    """The types of values in which nothing else lies."""
    return _with_torchs() if is_loaded() else LEAVES


def _plain() -> frozenset[type]:
    """The same, to look up a type itself."""
    return _plain_with_torchs() if is_loaded() else PLAIN


@functools.cache
def _plain_with_torchs() -> frozenset[type]:
    return frozenset(_with_torchs())


@functools.cache
def _with_torchs() -> tuple[type, ...]:
    return *LEAVES, torch.dtype, torch.device, torch.layout, torch.memory_format, torch.Size


dict_of_class: Callable[[type], Any] = type.__dict__["__dict__"].__get__  # a metaclass may show another one
CONTAINERS: dict[type, Callable[[Any], tuple[Any, ...]]] = {
    dict: _items,
    list: lambda many: tuple(list.__iter__(many)),
    tuple: lambda many: tuple(tuple.__iter__(many)),
    deque: lambda many: tuple(deque.__iter__(many)),
    set: lambda many: tuple(sorted(set.__iter__(many), key=id)),
    frozenset: lambda many: tuple(sorted(frozenset.__iter__(many), key=id)),
}
STATES: dict[type, Callable[[Any], State]] = {
    types.FunctionType: _state_of_function,
    type: lambda kind: State((type(kind), *type.mro(kind)[1:], *_items(dict_of_class(kind)))),
    types.ModuleType: lambda module: State(_items(dict_of(module))),
    types.MappingProxyType: lambda shown: State(_items(shown)),
    types.BuiltinFunctionType: lambda function: State((function.__self__,)),
    types.MethodType: lambda method: State((method.__self__, method.__func__)),
    staticmethod: lambda method: State((method.__func__,)),
    classmethod: lambda method: State((method.__func__,)),
    property: lambda shown: State((shown.fget, shown.fset, shown.fdel)),
    functools.partial: lambda partial: State((partial.func, partial.args, partial.keywords)),
    random.Random: lambda generator: State((), hash(generator.getstate())),
}
# by the names by which code reads it
READ: dict[frozenset[str], Callable[[], object]] = {
    frozenset(
        (
            *("open", "load", "loads", "read", "read_text", "read_bytes", "read_csv", "read_json", "read_table"),
            *("loadtxt", "genfromtxt", "fromfile", "from_file", "memmap", "imread", "safe_open", "safe_load"),
            *("exists", "isfile", "is_file", "isdir", "is_dir", "listdir", "scandir", "walk", "glob", "iglob", "rglob"),
            *("iterdir", "stat", "getsize", "getmtime", "Path", "getcwd", "connect", "run_path", "FileInput"),
        )
    ): _files,
    frozenset(("environ", "getenv", "environb", "expandvars")): lambda: dict(os.environ),
}
