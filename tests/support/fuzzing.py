"""The fuzzers' mutations: of notebooks, as students could mangle them, and of frames, as a hostile child could send.

Hypothesis draws a mutation as plain data, `(kind, place, value)`, so that a failure shrinks to the mutation behind it.
"""

import copy
import json
import socket

import torch
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from safetensors.torch import save as tensors_to_bytes

from autograder.sandbox.inside import wire

DEEP = "@deep@"  # becomes many nested brackets when JSON is written
BIG = "@big@"  # becomes an integer too long for Python to read

VALUES = [
    *(None, True, False, 0, -1, 1, 3, 4, 5, 2**31, 2**63, 10**30, 0.5, 1e308, float("nan"), float("inf"), -0.0),
    *(
        "",
        "x",
        "\0",
        "\ud800",
        "a\nb",
        "../../etc/passwd",
        "\x1b[31m\x1b]8;;x\x07",
        "\u202e",
        "<script>alert(1)</script>",
    ),
    *("code", "markdown", "raw", "setup", "attention", "attention-solution", "SelfAttention", "100", "NaN", DEEP, BIG),
    *([], {}, [[]], [None], ["a", 3], {"": ""}, {"nbgrader": None}, {"nbgrader": {"grade_id": []}}, [{}], [[], {}]),
]
KEYS = ["cell_type", "metadata", "source", "id", "outputs", "execution_count", "attachments"]
CLAIMS = ["grade_id", "grade", "points", "locked", "solution", "cell_type", "checksum", "schema_version", "task"]


def quick(examples, stable=True):
    """Settings for hypothesis: no deadline, no database; `stable` runs draw the same examples every time."""
    return settings(
        max_examples=examples,
        derandomize=stable,
        deadline=None,
        database=None,
        print_blob=True,
        suppress_health_check=list(HealthCheck),
    )


# --- notebooks ------------------------------------------------------------------------------------

_place = st.integers(0, 199)
_value = st.one_of(st.sampled_from(VALUES), st.text(max_size=20), st.integers(), st.floats())
_kinds = st.sampled_from(
    ["drop", "double", "swap", "reverse", "empty", "retype", "key", "lose", "claim", "unclaim", "top", "cell", "edit"]
)
notebook_mutations = st.lists(st.tuples(_kinds, _place, _place, _value), max_size=8)

_text_kinds = st.sampled_from(["flip", "cut", "insert", "repeat-key", "encode", "bom"])
text_mutations = st.lists(st.tuples(_text_kinds, st.floats(0, 1), st.integers(0, 255)), max_size=3)


def mangled(notebook, mutations, of_text=()):
    """The bytes of a mutated copy of a notebook."""
    notebook = json.loads(json.dumps(notebook))
    for mutation in copy.deepcopy(mutations):  # their values are inserted, and may then be changed in place
        _mangle(notebook, *mutation)
    escaped = len(mutations) % 2 == 1
    data = _written(notebook, 5000, ensure_ascii=escaped).encode("utf-8", "surrogatepass")
    for mutation in of_text:
        data = _mangle_text(data, *mutation)
    return data


def _written(tree, depth, **options):
    """JSON that also holds what Python's own writer would not produce."""
    text = json.dumps(tree, **options)
    return text.replace(f'"{DEEP}"', "[" * depth + "]" * depth).replace(f'"{BIG}"', "9" * 5000)


def _mangle(notebook, kind, place, other, value):
    cells = notebook.get("cells")
    if kind == "top":
        notebook[["cells", "nbformat", "nbformat_minor", "metadata", "extra"][place % 5]] = value
        return
    if not isinstance(cells, list) or not cells:
        return
    place, other = place % len(cells), other % len(cells)
    cell = cells[place]
    if kind == "drop":
        del cells[place]
    elif kind == "double":
        cells.insert(other, copy.deepcopy(cell))
    elif kind == "swap":
        cells[place], cells[other] = cells[other], cells[place]
    elif kind == "reverse":
        cells.reverse()
    elif kind == "empty":
        cells.clear()
    elif kind == "cell":
        cells[place] = value
    elif isinstance(cell, dict):
        _mangle_cell(cell, kind, other, value)


def _mangle_cell(cell, kind, other, value):
    if kind == "retype":
        cell["cell_type"] = value
    elif kind == "edit":
        cell["source"] = str(value)
    elif kind == "key":
        cell[KEYS[other % len(KEYS)]] = value
    elif kind == "lose":
        cell.pop(KEYS[other % len(KEYS)], None)
    elif isinstance(cell.get("metadata"), dict):
        if kind == "unclaim":
            cell["metadata"].pop("nbgrader", None)
        elif isinstance(cell["metadata"].setdefault("nbgrader", {}), dict):
            cell["metadata"]["nbgrader"][CLAIMS[other % len(CLAIMS)]] = value


def _mangle_text(data, kind, where, number):
    place = int(where * len(data))
    if kind == "flip":
        return data[:place] + bytes([number]) + data[place + 1 :]
    if kind == "cut":
        return data[:place]
    if kind == "insert":
        return (
            data[:place] + [b"NaN", b"Infinity", b"\xff", b"\xed\xa0\x80", b"\\ud800", b'"'][number % 6] + data[place:]
        )
    if kind == "repeat-key":
        key = [b'"cells": 3', b'"cells": []', b'"nbformat": 3', b'"nbformat": "4"'][number % 4]
        return data.rstrip(b"}") + b", " + key + b"}" if number % 2 else data.replace(b"{", b"{" + key + b", ", 1)
    if kind == "encode":
        return data.decode("utf-8", "replace").encode(["utf-16", "utf-32", "latin-1", "utf-7"][number % 4], "replace")
    return b"\xef\xbb\xbf" + data


# --- the wire -------------------------------------------------------------------------------------

_reply_kinds = st.sampled_from(
    ["node", "lose", "add", "tag", "number", "tensor", "tensors", "frame", "bytes", "blob", "cut", "close", "silence"]
    + ["twice", "early", "again", "dribble"]
)
_tags = st.sampled_from(
    ["tensor", "meta", "value", "list", "tuple", "dict", "float", "dtype", "opaque", "handle", "grad"]
)
reply_mutations = st.tuples(_reply_kinds, st.integers(0, 10**6), st.one_of(_value, _tags), st.integers(0, 10**6))


class Mutator:
    """Mutates replies: `plan` maps a reply's number, counted over all children, to its mutation."""

    def __init__(self, plan):
        self.plan = plan
        self.seen = 0
        self.mutated = 0
        self.earlier = b""

    def __call__(self, message, tensors):
        """(the bytes of the reply, whether the connection is closed after them)."""
        self.seen += 1
        whole = frame(message, tensors)
        mutation = self.plan.get(self.seen)
        if mutation is None:
            self.earlier = whole
            return whole, False
        self.mutated += 1
        made = self._mutate(whole, message, list(tensors), *mutation)
        self.earlier = whole
        return made, mutation[0] in ("close", "cut") and mutation[1] % 2 == 0

    def _mutate(self, whole, message, tensors, kind, place, value, number):
        value = copy.deepcopy(value)  # it is inserted, and may then be changed in place
        if kind == "silence":
            return b""
        if kind in ("close", "cut"):
            return whole[: place % len(whole)]
        if kind == "twice":
            return whole + whole
        if kind == "early":
            return whole + frame({**message, "n": message["n"] + 1}, tensors)
        if kind == "again":
            return self.earlier
        if kind == "dribble":
            return whole
        if kind == "bytes":
            place %= len(whole)
            return whole[:place] + bytes([number % 256]) + whole[place + 1 :]
        if kind == "number":
            return frame({**message, "n": value}, tensors)
        if kind == "frame":
            return mangled_header(whole, place, number)
        if kind == "blob":
            return frame(message, tensors, blob=_mangled_blob(tensors, place, value, number))
        if kind in ("tensor", "tensors"):
            return frame(message, _mangled_tensors(tensors, place, number))
        return frame(mangled_tree(message, kind, place, value, number), tensors)


def frame(message, tensors=(), blob=None):
    """The bytes of a frame, without the limits and checks of `send_frame`."""
    text = _written(message, 900).encode()
    if blob is None:
        blob = tensors_to_bytes({str(i): t.contiguous().clone() for i, t in enumerate(tensors)}) if tensors else b""
    return wire.HEADER.pack(wire.MAGIC, len(text), len(blob)) + text + blob


def mangled_header(whole, place, number):
    """A frame whose header lies."""
    magic, text, blob = wire.HEADER.unpack(whole[: wire.HEADER.size])
    lengths = [0, 1, text, blob, wire.MAX_JSON, wire.MAX_JSON + 1, 2**32 - 1, number]
    header = [
        (b"AGK2", text, blob),
        (magic, lengths[number % 8], blob),
        (magic, text, [*lengths, wire.MAX_TENSORS, wire.MAX_TENSORS + 1, 2**64 - 1][number % 11]),
    ][place % 3]
    return wire.HEADER.pack(*header) + whole[wire.HEADER.size :]


def mangled_tree(message, kind, place, value, number):
    """A copy of a JSON tree with one node replaced, removed, or added."""
    message = copy.deepcopy(message)
    spots = list(_spots(message))
    holder, key = spots[place % len(spots)]
    if kind == "lose":
        del holder[key]
    elif kind == "add" and isinstance(holder, dict):
        holder[value if isinstance(value, str) else "value"] = VALUES[number % len(VALUES)]
    elif kind == "add":
        holder.insert(key, value)
    elif kind == "tag":
        holder[key] = {str(value): VALUES[number % len(VALUES)]}
    else:
        holder[key] = value
    return message


def _spots(tree):
    """Every (container, key) in a tree of lists and dicts."""
    items = tree.items() if isinstance(tree, dict) else enumerate(tree)
    for key, child in items:
        yield tree, key
        if isinstance(child, (dict, list)):
            yield from _spots(child)


def _mangled_tensors(tensors, place, number):
    if not tensors:
        return [torch.zeros(number % 5, 3)]
    place %= len(tensors)
    it = tensors[place]
    dtypes = [*wire.DTYPES.values(), torch.complex64, torch.float8_e4m3fn, torch.uint16]
    made = [
        lambda: it.to(dtypes[number % len(dtypes)]),
        lambda: it.flatten(),
        lambda: it.unsqueeze(0),
        lambda: it.reshape([1] * (number % 70) + list(it.shape)),
        lambda: it[..., :0] if it.dim() else it,
        lambda: (
            torch.full_like(it, [float("nan"), float("inf"), 1e38, -1][number % 4])
            if it.is_floating_point()
            else it * 2
        ),
        lambda: torch.zeros(0, 2**40, dtype=it.dtype),
        lambda: it.transpose(0, -1) if it.dim() > 1 else it,
        lambda: it.new_zeros(()),
    ][number % 9]
    return tensors[:place] + ([] if number % 10 == 9 else [made()]) + tensors[place + 1 :]


def _mangled_blob(tensors, place, value, number):
    """Bytes of a safetensors file whose header lies."""
    blob = tensors_to_bytes({str(i): t.contiguous().clone() for i, t in enumerate(tensors)} or {"0": torch.zeros(3)})
    length = int.from_bytes(blob[:8], "little")
    header, data = json.loads(blob[8 : 8 + length]), blob[8 + length :]
    if number % 4 == 0:
        length = [0, 1, length + 1, 2**31, 2**63, 2**64 - 1][place % 6]
        return length.to_bytes(8, "little") + blob[8:]
    if number % 4 == 1:
        return blob[: place % len(blob)]
    kind = ["node", "lose", "tag", "add"][number // 4 % 4]
    text = json.dumps(mangled_tree(header, kind, place, value, number // 16)).encode("utf-8", "replace")
    return len(text).to_bytes(8, "little") + text + data


class Line:
    """A connection to a child without a process, a thread or a clock: what is sent to it is answered at once.

    `answer(message, tensors)` returns the bytes of the reply, and whether the connection is closed after them. Reading
    from an open connection that has nothing to read times out at once.
    """

    def __init__(self, answer, step=2**20):
        self.answer = answer
        self.step = step
        self.received = b""
        self.waiting, self.place = b"", 0  # what is sent, and how much of it has been read
        self.closed = False

    def settimeout(self, seconds):
        pass

    def send(self, data):
        if self.closed:
            raise BrokenPipeError
        self.received += bytes(data)
        if len(self.received) >= wire.HEADER.size:
            _, text, blob = wire.HEADER.unpack(self.received[: wire.HEADER.size])
            if len(self.received) == wire.HEADER.size + text + blob:
                request = wire.receive_frame(_Bytes(self.received))
                self.received = b""
                more, self.closed = self.answer(*request)
                self.waiting, self.place = self.waiting[self.place :] + more, 0
        return len(data)

    def recv(self, length, flags=0):
        part = self.waiting[self.place : self.place + min(length, self.step)]
        if not part and not self.closed:
            raise TimeoutError
        if not (flags and flags & socket.MSG_PEEK):  # asked of millions of bytes, one by one
            self.place += len(part)
        return part

    def close(self):
        self.closed = True
        self.waiting, self.place = b"", 0


class _Bytes:
    """Bytes that can be received as from a socket."""

    def __init__(self, data):
        self.data = data

    def settimeout(self, seconds):
        pass

    def recv(self, length):
        part, self.data = self.data[:length], self.data[length:]
        return part


def received(data):
    """What `receive_frame` returns for these bytes, after which the connection is closed."""
    return wire.receive_frame(_Bytes(data))
