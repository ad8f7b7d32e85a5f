"""Tells whether a later cell has changed what an answer reaches: the names, objects and modules at its check cell.

A checkpoint notes, at the check cell, everything that the answer reaches: the names that its code may look up, and
what lies behind them, each object with what it holds. After the last cell the same is read once more. What cannot be
looked into (a generator, an object of an extension module) counts as changed: grading in place then costs time, and
nothing else. The submission's code can deceive this module, but only about which of its own two states is graded.
"""

from __future__ import annotations

import builtins
import dis
import enum
import functools
import os
import random
import sys
import types
import zlib
from collections import deque
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy
import torch

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from . import wire

MOST_OBJECTS = 5000  # that one answer reaches: lessons' answers reach fewer than 300
MOST_BYTES = 2**22  # of tensors and arrays that are compared by content, for each answer: 1 ms
MOST_CHANGES, MOST_NAME = 20, 100  # that are named for one answer, and characters of a name
DEFINED, REDEFINED, DELETED, CHANGED = DID = "defined", "redefined", "deleted", "changed"  # what a later cell did
MISSING = object()  # in place of what a name meant when it meant nothing
OWN = frozenset(("_", "__", "___", "In", "Out", "exit", "quit", "get_ipython"))  # names that IPython sets itself
LEAVES = (
    *(type(None), bool, int, float, complex, str, bytes, range, slice, type(...), type(NotImplemented)),
    *(types.CodeType, types.GenericAlias, types.UnionType, types.GetSetDescriptorType, types.MemberDescriptorType),
    *(types.MethodDescriptorType, types.WrapperDescriptorType, types.ClassMethodDescriptorType),
    *(torch.dtype, torch.device, torch.layout, torch.memory_format, torch.Size, numpy.dtype, enum.Enum),
)
# in the dicts of classes and modules: what Python makes when it is asked for it, and what no answer looks at
UNSEEN = {"__dict__", "__weakref__", "__annotations__", "__annotate_func__", "__annotations_cache__", "_abc_impl"}
UNSEEN |= {"__builtins__", "__spec__", "__loader__"}
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

    def __init__(self, names: dict[str, Any], exercise: str, answer: object) -> None:
        self.names = names
        self.all = dict(names)
        self.known: dict[str, Any] = {}  # what the variables meant that code may look up
        self.states: dict[int, tuple[Any, str, State]] = {}  # by id: an object, the name that leads to it, its state
        # modules and classes of libraries, and names of other code, by id: each with the name that leads to it, and
        # what was in it
        self.outer: dict[int, tuple[Any, str, dict[str, Any]]] = {}
        self.variables: set[str] = set()  # that code looks up
        self.texts: set[str] = set()  # constants in code that may be names: for getattr and globals()
        self.attributes: set[str] = set()  # names in code, of whatever they are
        self.is_whole = True  # whether all could be looked into
        self.bytes = 0
        self.waiting: deque[tuple[Any, str]] = deque([(answer, exercise)])
        for shared in (torch.Tensor, torch.nn.Module, builtins):  # used without being named
            self._visit_outer(shared, shared.__name__)
        try:
            self._reach()
        except Exception:  # an object's own code may raise anything
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
            for name in self.attributes & sys.modules.keys():  # a function may import it
                if not self._is_known(sys.modules[name]):
                    self.waiting.append((sys.modules[name], name))
            for owner, root, seen in list(self.outer.values()):
                for name in self.attributes - seen.keys():
                    seen[name] = value = _names_in(owner).get(name, MISSING)
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
        self.outer.setdefault(id(owner), (owner, root, dict(vars(owner)) if isinstance(owner, type) else {}))

    def _visit(self, thing: Any, root: str) -> None:
        kind = type(thing)
        if issubclass(kind, LEAVES) or self._is_known(thing):
            return
        if len(self.states) >= MOST_OBJECTS:
            raise Unknown
        if issubclass(kind, types.ModuleType) and not self._is_own(vars(thing)):
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
        self.waiting += [(ref, root) for ref in state.refs]

    def _read(self, code: types.CodeType) -> None:
        """Note the names in a function's code, and in that of the functions in it."""
        self.variables.update(variables_of(code))
        self.attributes.update(code.co_names)
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
        return vars(sys.modules.get(str(names.get("__name__")), object)) is not names

    def _is_own_class(self, kind: type) -> bool:
        module = vars(kind).get("__module__")
        if module is None or module == self.names.get("__name__"):
            return module is not None
        return module not in sys.modules or self._is_own(vars(sys.modules[module]))

    def _state(self, thing: Any) -> State:
        """What an object holds. Raises Unknown, or whatever the object's own code raises."""
        kind = type(thing)
        if issubclass(kind, torch.Tensor):
            return self._state_of_tensor(thing)
        if issubclass(kind, numpy.ndarray | numpy.generic):
            if thing.dtype.hasobject:
                raise Unknown
            return State((), (thing.shape, thing.dtype.str, self._sum(numpy.ascontiguousarray(thing))))
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
        return State((type(tensor), tensor.__dict__, grad), (facts, version, content))

    def _sum(self, array: numpy.ndarray) -> int:
        """A checksum of an array's bytes. Raises Unknown beyond MOST_BYTES."""
        if self.bytes + array.nbytes > MOST_BYTES:
            raise Unknown
        self.bytes += array.nbytes
        return zlib.crc32(array.tobytes())

    # --- what has changed -------------------------------------------------------------------------

    def changes(self, by: dict[str, str]) -> wire.Message:
        """What has changed of all this since: "apart" says whether anything has, or may have.

        "names" lists [name, what a later cell did to it, this cell or ""], as far as this is certain. `by` tells which
        cell was the last to give a name another meaning. "moved" says whether any name of the notebook's means
        something else now, though the answer need not reach it.
        """
        now = self.names
        other = {n for n, value in self.known.items() if now.get(n, MISSING) is not value}
        redefined = {n for n in other if self.known[n] is not MISSING or n in vars(builtins)}
        changed = self._changed_inside() - redefined
        did = {n: DEFINED for n in other - redefined} | dict.fromkeys(changed, CHANGED)
        did |= {n: REDEFINED if n in now else DELETED for n in redefined}
        certain = sorted(did.keys() - (self.texts - self.variables))[:MOST_CHANGES]
        moved = (n for n, value in self.all.items() if n not in OWN and now.get(n, MISSING) is not value)
        return {
            "apart": bool(redefined or changed or self.around != self._around() or not self.is_whole),
            "names": [[n, did[n], by.get(n, "") if n in other else ""] for n in certain if len(n) <= MOST_NAME],
            "moved": any(not name.startswith("_i") for name in moved),
        }

    def _around(self) -> list[object]:
        """What code may read of the process: its files and its environment."""
        return [read() for names, read in READ.items() if self.attributes & names]

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
            for name, value in seen.items():
                now = _names_in(owner).get(name, MISSING)
                is_imported_late = value is MISSING and isinstance(now, types.ModuleType)
                if now is not value and not is_imported_late and name not in UNSEEN:
                    found.add(root)
        return found


class Checkpoints:
    """The checkpoints of a notebook's exercises, and which cell was the last to give a name another meaning."""

    def __init__(self, names: dict[str, Any]) -> None:
        self.names = names
        self.made: dict[str, Checkpoint | None] = {}  # None: it was not defined at its check cell
        self.by: dict[str, str] = {}
        self.before: dict[str, Any] = {}

    def make(self, exercise: str, answers: dict[str, Any]) -> None:
        """Make the checkpoint of an exercise, at its check cell."""
        is_there = exercise in answers
        self.made[exercise] = Checkpoint(self.names, exercise, answers[exercise]) if is_there else None
        self.before = dict(self.names)

    def after(self, cell: str) -> None:
        """Note which names mean something else after a cell than before. Before the first checkpoint nobody asks."""
        if self.made:
            now, before = self.names, self.before
            self.by.update(dict.fromkeys((n for n in now if now[n] is not before.get(n, MISSING)), cell))
            self.by.update(dict.fromkeys((n for n in before if n not in now), cell))
            self.before = dict(now)

    def compared(self) -> wire.Message:
        """What later cells have changed, by exercise."""
        found = {name: point.changes(self.by) for name, point in self.made.items() if point}
        for name in self.made.keys() - found.keys():
            late = [[name, DEFINED, self.by.get(name, "")]] if name in self.names else []
            found[name] = {"apart": False, "names": late, "moved": False}
        return {"ok": True, "worlds": found}


def variables_of(code: types.CodeType) -> set[str]:
    """The names that code looks up as variables outside itself; other names in it are of attributes and modules."""
    found, more = set[str](), 0
    for opcode, argument in zip(code.co_code[::2], code.co_code[1::2], strict=True):
        number = more | argument
        more = number << 8 if opcode == dis.EXTENDED_ARG else 0
        if opcode in LOADS:
            found.add(code.co_names[number >> LOADS[opcode]])
    return found


def _state_of_function(function: types.FunctionType) -> State:
    """What a function holds. Of a library's, too: one that a decorator has made holds the notebook's."""
    cells = tuple(cell.cell_contents for cell in function.__closure__ or () if not _is_empty(cell))
    return State((function.__code__, function.__defaults__, function.__kwdefaults__, function.__dict__, *cells))


def _state_of_container(thing: Any) -> State:
    """What a dict, a list or another object written in Python holds. Raises Unknown if there may be more."""
    kind = type(thing)
    base = next((one for one in CONTAINERS if issubclass(kind, one)), object)
    slots = tuple(_slots_of(kind))
    has_dict = isinstance(getattr(thing, "__dict__", None), dict)
    room = base.__basicsize__ + POINTER * (len(slots) + has_dict + (kind.__weakrefoffset__ > 0))
    if kind.__module__ != "collections" and (kind.__basicsize__ > room or (base is object and kind.__itemsize__)):
        raise Unknown  # only its own code in C can see all that it holds
    parts = () if base is object else CONTAINERS[base](thing)
    own = (kind, thing.__dict__) if has_dict else (kind,)
    return State((*own, *(slot.__get__(thing) for slot in slots if _is_set(slot, thing)), *parts))


def _items(shown: Any) -> tuple[Any, ...]:
    """The keys and values of a dict, or of what shows one, one after another."""
    pairs = dict.items(shown) if isinstance(shown, dict) else shown.items()
    return tuple(part for key, value in pairs if key.__class__ is not str or key not in UNSEEN for part in (key, value))


def _names_in(owner: Any) -> Any:
    """What a module, a class or a dict of names has, by name."""
    return owner if isinstance(owner, dict) else vars(owner)


def _slots_of(kind: type) -> Iterator[types.MemberDescriptorType]:
    """The slots of a class written in Python, with those of its bases."""
    for base in type.mro(kind):
        if "__slots__" in vars(base):
            yield from (one for one in vars(base).values() if isinstance(one, types.MemberDescriptorType))


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
    """The folder that code is in and the files there, each with its size and the time when it was changed."""
    try:
        with os.scandir() as entries:
            listed = sorted((one.name, one.stat().st_size, one.stat().st_mtime_ns) for one in entries)
    except OSError:
        return None
    return os.getcwd(), listed


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
    type: lambda kind: State((*type.mro(kind)[1:], *_items(vars(kind)))),
    types.ModuleType: lambda module: State(_items(vars(module))),
    types.MappingProxyType: lambda shown: State(_items(shown)),
    types.BuiltinFunctionType: lambda function: State((function.__self__,)),
    types.MethodType: lambda method: State((method.__self__, method.__func__)),
    staticmethod: lambda method: State((method.__func__,)),
    classmethod: lambda method: State((method.__func__,)),
    property: lambda shown: State((shown.fget, shown.fset, shown.fdel)),
    functools.partial: lambda partial: State((partial.func, partial.args, partial.keywords)),
    torch.Generator: lambda generator: State((), bytes(generator.get_state().numpy())),
    random.Random: lambda generator: State((), hash(generator.getstate())),
}
# by the names by which code reads it
READ: dict[frozenset[str], Callable[[], object]] = {
    frozenset(("open", "load", "read_text", "read_bytes", "loadtxt", "fromfile", "exists", "listdir", "Path")): _files,
    frozenset(("environ", "getenv")): lambda: dict(os.environ),
}
