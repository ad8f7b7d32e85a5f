"""The wire between the trusted process and the sandbox: size-limited frames of JSON and safetensors, never pickle.

A frame consists of `AGK1`, the length of its JSON (uint32), the length of its tensors (uint64), the JSON, and the
tensors as one safetensors file. A value is sent as a tagged tree, in which tensors are indices into that file:

    {"tensor": 0, ...}  {"list": [...]}  {"tuple": [...]}  {"dict": [[key, node], ...]}  {"value": 1}
    {"float": "nan"}  {"complex": [node, node]}  {"dtype": "float32"}  {"opaque": "Foo"}
    {"array": 0, "dtype": "float64", ...}  {"scalar": [0], "dtype": "float64"}  {"handle": 3}  {"generator": 7}

An array of NumPy's is the index of a tensor with its bits, a scalar of NumPy's is its bits themselves (arrays.py).
A handle is the number of an object that the sandbox has built; a generator is a new torch.Generator with that seed.
Only the trusted side sends these: without a table of objects, `unpack` refuses them.
"""

from __future__ import annotations

import json
import math
import struct
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy

from . import arrays
from .later import is_loaded, torch

if TYPE_CHECKING:
    import socket
    from collections.abc import Iterable, Sequence
    from typing import NoReturn

    Input = torch.Tensor | numpy.ndarray[Any, Any]  # what a call may change in place

_ENCODER = json.JSONEncoder(allow_nan=False, ensure_ascii=False, separators=(",", ":"))

Message = dict[str, Any]  # a request or a reply, as in the JSON
Node = dict[str, Any]  # a node of the tree that encodes a value
Tensors = list[Any]  # tensors, or in a process without torch arrays with their bits: `arrays.Bits`

MAGIC = b"AGK1"
HEADER = struct.Struct("!4sIQ")
MAX_JSON = 8 * 2**20
MAX_TENSORS = 64 * 2**20
MAX_NODES = 20_000
MAX_DEPTH = 30
MAX_RANK = 16
MAX_SIZE = 2**40  # of one dimension: products of sizes, which torch computes for empty tensors too, must not overflow
MAX_STRING = 10_000
MAX_INT = 2**63
MAX_VALUE = MAX_TENSORS - 2**20  # bytes of a value's tensors: the rest is for their index
CARRIED = (
    "tensors, NumPy arrays of numbers, numbers, texts, None, dtypes of torch's, and lists, tuples and dicts of these"
)
MAX_INDEX = 2 * 2**20  # bytes in which a frame may list its tensors: room for MAX_NODES of them
SHORT_NAMES = {  # of the dtypes that travel, as safetensors has them
    **{"float64": "F64", "float32": "F32", "float16": "F16", "bfloat16": "BF16", "int64": "I64", "int32": "I32"},
    **{"int16": "I16", "int8": "I8", "uint8": "U8", "bool": "BOOL"},
}
# the dtypes of arrays with the same bits, by these names
BITS_OF = {short: numpy.dtype("int16" if short == "BF16" else name) for name, short in SHORT_NAMES.items()}
if TYPE_CHECKING:
    DTYPES: dict[str, torch.dtype]
    DTYPE_NAMES: dict[torch.dtype, str]


def __getattr__(name: str) -> Any:
    """What names torch's types, made when it is first asked for: the dtypes that travel, by name, and their names."""
    if name == "DTYPES":
        globals()[name] = {short: getattr(torch, short) for short in SHORT_NAMES}
    elif name == "DTYPE_NAMES":
        globals()[name] = {dtype: short for short, dtype in _dtypes().items()}
    elif name == "Input":  # what a call may change in place
        return torch.Tensor | numpy.ndarray[Any, Any]
    else:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return globals()[name]


def _dtypes() -> dict[str, torch.dtype]:
    return globals().get("DTYPES") or __getattr__("DTYPES")


def _dtype_names() -> dict[torch.dtype, str]:
    return globals().get("DTYPE_NAMES") or __getattr__("DTYPE_NAMES")


def name_of(carried: arrays.Bits) -> str | None:
    """The name of the dtype of a tensor, or of an array that stands for one; None if it does not travel."""
    if isinstance(carried, numpy.ndarray):
        return carried.dtype.name if carried.dtype.name in SHORT_NAMES else None
    return _dtype_names().get(carried.dtype)


class WireError(Exception):
    """The other side sent something that is not a valid frame or value."""


class Closed(WireError):
    """The other side has closed the connection."""


class Late(WireError):
    """The other side did not answer by the deadline."""


class NotCarried(TypeError):
    """What was to be sent cannot be, or holds what cannot; the message is "is" or "holds", and words on that."""


class Opaque:
    """A value that cannot be sent: only the name of its type is known, or words on it that begin with an article.

    Whatever else is asked of it raises WireError, so that whoever returned it is told what it is.
    """

    def __init__(self, name: str) -> None:
        self.name = name

    def __repr__(self) -> str:
        return f"<{self.name}>"

    @property
    def in_words(self) -> str:
        """What it is, to be read within a sentence."""
        return self.name if self.name.startswith(("a ", "an ")) else f"something of type {self.name}"

    def refusal(self) -> WireError:
        """What is raised if a check uses it."""
        return WireError(f"{self.in_words} does not reach the grader, only {CARRIED} do")

    def __getattr__(self, name: str) -> NoReturn:
        if name.startswith("__"):  # Python, copy and pickle ask whether it has them
            raise AttributeError(name)
        raise self.refusal()


def _refuse_use(opaque: Opaque, *_: object) -> NoReturn:
    raise opaque.refusal()


for _name in (
    *("bool", "len", "iter", "getitem", "contains", "call", "float", "int", "index", "complex", "round"),
    *(f"{side}{name}" for name in ("add", "sub", "mul", "matmul", "truediv", "floordiv", "mod") for side in ("", "r")),
    *(f"{side}{name}" for name in ("divmod", "pow", "and", "or", "xor") for side in ("", "r")),
    *("neg", "pos", "abs", "invert", "lt", "le", "gt", "ge"),
):
    setattr(Opaque, f"__{_name}__", _refuse_use)


class Handle:
    """Stands for the object with this number on the other side, as an argument of a call."""

    def __init__(self, number: int) -> None:
        self.number = number


class Generator:
    """Stands for a new `torch.Generator` with this seed on the other side, as an argument of a call.

    >>> submission.function("toss").sample(3, generator=Generator(1)).shape
    torch.Size([3])
    """

    def __init__(self, seed: int) -> None:
        self.seed = seed


# --- frames ---------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Encoded:
    """A message and its tensors in the form in which they are sent; it can be sent many times."""

    text: bytes
    blob: bytes

    def numbered(self, number: int) -> Encoded:
        """The same message with a `number`, which pairs a request with its reply."""
        return Encoded(b'%s,"n":%d}' % (self.text[:-1], number), self.blob)


def encoded(message: Message, tensors: Sequence[Any] = ()) -> Encoded:
    """Encode `message` (a dict for JSON) and a list of tensors. Raises WireError if they are too large."""
    text = _ENCODER.encode(message).encode("utf-8", "replace")  # an error's message may contain lone surrogates
    blob = tensors_to_bytes(tensors) if tensors else b""
    if len(text) > MAX_JSON or len(blob) > MAX_TENSORS:
        raise WireError(f"the message is too large: {len(text)} bytes of JSON, {len(blob)} of tensors")
    return Encoded(text, blob)


def send_frame(
    sock: socket.socket, message: Message, tensors: Sequence[Any] = (), deadline: float | None = None
) -> None:
    """Send a message and its tensors. `deadline`: a `time.monotonic()` value, or None."""
    send(sock, encoded(message, tensors), deadline)


def send(sock: socket.socket, made: Encoded, deadline: float | None = None) -> None:
    """Send an Encoded. Raises Late or Closed."""
    data = memoryview(HEADER.pack(MAGIC, len(made.text), len(made.blob)) + made.text + made.blob)
    while data:
        _set_timeout(sock, deadline)
        try:
            data = data[sock.send(data) :]
        except TimeoutError:
            raise Late("it does not read its requests") from None
        except OSError:
            raise Closed("the connection is closed") from None


def receive_frame(sock: socket.socket, deadline: float | None = None) -> tuple[Message, Tensors]:
    """Receive one frame: `(message, tensors)`. Raises Late, Closed or WireError; never reads beyond the limits."""
    magic, json_length, blob_length = HEADER.unpack(_read(sock, HEADER.size, deadline))
    if magic != MAGIC:
        raise WireError("a frame does not start as frames do")
    if json_length > MAX_JSON or blob_length > MAX_TENSORS:
        raise WireError(f"a frame announces {json_length} bytes of JSON and {blob_length} of tensors: too many")
    rest = _read(sock, json_length + blob_length, deadline)
    blob = rest[json_length:]
    message = _parsed(rest[:json_length])
    if not blob:
        return message, []
    if int.from_bytes(blob[:8], "little") > MAX_INDEX:  # a million empty tensors would fit and take a gigabyte
        raise WireError("a frame has too many tensors")
    try:
        by_name = loaded(blob)
        tensors = [by_name[str(i)] for i in range(len(by_name))]
    except Exception:  # any error of the parser, or a missing index
        raise WireError("a frame's tensors cannot be read") from None
    names = [name_of(tensor) for tensor in tensors]
    if None in names:  # `pack` sends no others
        raise WireError("a frame has a tensor of a dtype that does not travel")
    if not all(_is_clear(tensor) for tensor, name in zip(tensors, names, strict=True) if name == "bool"):
        raise WireError("a frame has a boolean that is neither True nor False")
    if len(tensors) > MAX_NODES or not all(_is_possible(tensor.shape) for tensor in tensors):
        raise WireError("a frame has too many tensors, or one of an impossible shape")
    return message, tensors


def _parsed(data: bytes) -> Message:
    """The object in a frame's JSON, parsed as strictly as `encoded` writes it: UTF-8, no NaN, no lone surrogates."""
    try:
        text = data.decode()
        message = json.loads(text, parse_constant=_refuse)
        if "\\u" in text:  # an escape can stand for a lone surrogate, which cannot be encoded when written out
            json.dumps(message, ensure_ascii=False).encode()
    except (ValueError, RecursionError):
        raise WireError("a frame's JSON cannot be read") from None
    if not isinstance(message, dict):
        raise WireError("a frame's JSON is not an object")
    return message


def _refuse(constant: str) -> NoReturn:
    raise ValueError(f"{constant} is not JSON")


def _is_possible(shape: Any) -> bool:
    """Whether a tensor, even an empty one, may have this shape."""
    return len(shape) <= MAX_RANK and all(type(n) is int and 0 <= n < MAX_SIZE for n in shape)


def _is_clear(booleans: arrays.Bits) -> bool:
    """Whether each is a 0 or a 1: any other byte is True for one operation and another number for the next."""
    held = booleans if isinstance(booleans, numpy.ndarray) else booleans.numpy()
    return not held.size or int(held.view(numpy.uint8).max()) <= 1


def loaded(blob: bytes) -> dict[str, Any]:
    """The tensors in a safetensors file, by name; without torch arrays that may be written to. Raises any error.

    What NumPy has no dtype for is an error then, but for bfloat16, whose bits are an array of integers: nobody looks at
    them, and nothing that comes in a frame has torch imported.
    """
    if is_loaded():
        from safetensors.torch import load

        return load(blob)
    from safetensors import deserialize

    return {name: _array_in(**sent) for name, sent in deserialize(blob)}


def _array_in(dtype: str, shape: Sequence[int], data: bytes) -> numpy.ndarray[Any, Any]:
    """One of the tensors in a safetensors file, as an array. Raises KeyError for a dtype that does not travel."""
    return numpy.frombuffer(bytearray(data), BITS_OF[dtype]).reshape(shape)


def _shape_in_words(shape: Sequence[int]) -> str:
    return f"{len(shape)} dimensions" if len(shape) > MAX_RANK else f"shape {tuple(shape)}"


def tensors_to_bytes(tensors: Sequence[Any]) -> bytes:
    """A safetensors file of contiguous CPU tensors, named "0", "1" and so on.

    It is made here because for small tensors safetensors' own `save` takes ten times as long as all else on the wire.
    """
    index: dict[str, Any] = {}
    parts, end = [], 0
    for number, tensor in enumerate(tensors):
        name = name_of(tensor)
        if isinstance(tensor, numpy.ndarray):
            data = tensor.tobytes()
        else:  # numpy knows no bfloat16
            data = (tensor.view(torch.int16) if name == "bfloat16" else tensor).numpy().tobytes()
        parts.append(data)
        start, end = end, end + len(data)
        index[str(number)] = {
            "dtype": SHORT_NAMES[name or ""],
            "shape": list(tensor.shape),
            "data_offsets": [start, end],
        }
    header = json.dumps(index).encode()
    header += b" " * (-len(header) % 8)
    return b"".join([len(header).to_bytes(8, "little"), header, *parts])


def size_of(tensors: Iterable[Any]) -> int:
    """The number of bytes that the elements of some tensors take."""
    return sum(tensor.nbytes for tensor in tensors)


def _read(sock: socket.socket, length: int, deadline: float | None) -> bytes:
    chunks = []
    while length:
        _set_timeout(sock, deadline)
        try:
            chunk = sock.recv(min(length, 2**20))
        except TimeoutError:
            raise Late("it did not answer in time") from None
        except OSError:
            raise Closed("the connection is closed") from None
        if not chunk:
            raise Closed("the connection is closed")
        chunks.append(chunk)
        length -= len(chunk)
    return b"".join(chunks)


def _set_timeout(sock: socket.socket, deadline: float | None) -> None:
    if deadline is None:
        sock.settimeout(None)
        return
    left = deadline - time.monotonic()
    if left <= 0:
        raise Late("it did not answer in time")
    sock.settimeout(left)


# --- values ---------------------------------------------------------------------------------------


def pack(value: object, tensors: Tensors, whole: bool = False) -> Node:
    """Turn a value into a tree for JSON; its tensors are appended to the list `tensors`.

    A tensor keeps its dtype, its `requires_grad` and, if it is not contiguous, its strides; an array of NumPy's keeps
    the same, but arrives in this machine's byte order and as a plain `ndarray`, and a scalar of NumPy's stays one. What
    cannot be sent (other types, sparse or complex tensors, arrays of what are no numbers, and whatever is over the size
    limit) becomes `{"opaque": type name}`, or, if the `whole` value must arrive, raises NotCarried. Raises WireError
    for a value of too many parts and, if it must arrive whole, for an Opaque in it.
    """
    return _Packer(tensors, whole).node(value, 0)


class _Packer:
    def __init__(self, tensors: Tensors, whole: bool) -> None:
        self.tensors = tensors
        self.whole = whole
        self.nodes = 0
        self.bytes = 0

    def node(self, value: object, depth: int) -> Node:
        """The node of a value. Raises WireError and NotCarried."""
        node = self._node(value, depth)
        if self.whole and "opaque" in node:
            verb = "holds" if depth else "is"
            raise (
                value.refusal()
                if isinstance(value, Opaque)
                else NotCarried(f"{verb} {Opaque(node['opaque']).in_words}")
            )
        return node

    def _node(self, value: object, depth: int) -> Node:
        self.nodes += 1
        if depth > MAX_DEPTH or self.nodes > MAX_NODES:
            if self.whole:
                raise NotCarried("is nested too deeply, or has too many parts")
            raise WireError("a value is nested too deeply or has too many parts")
        if isinstance(value, torch.Tensor):
            return self.tensor(value)
        if isinstance(value, numpy.ndarray):
            return self.array(value)
        if isinstance(value, numpy.generic) and arrays.travels(value):
            return {"scalar": arrays.scalar_bits(value), "dtype": arrays.name_of(value)}
        if value is None or isinstance(value, bool):
            return {"value": value}
        if isinstance(value, str):
            return self.text(value)
        if isinstance(value, int):
            return {"value": int(value)} if abs(value) < MAX_INT else {"opaque": "an int of over 64 bits"}
        if isinstance(value, float):
            return {"value": float(value)} if math.isfinite(value) else {"float": str(float(value))}
        if isinstance(value, complex):
            return {"complex": [self.node(value.real, depth + 1), self.node(value.imag, depth + 1)]}
        if isinstance(value, torch.dtype):
            return {"dtype": _dtype_names()[value]} if value in _dtype_names() else {"opaque": str(value)}
        if isinstance(value, list):
            return {"list": [self.node(v, depth + 1) for v in value]}
        if isinstance(value, tuple):
            return {"tuple": [self.node(v, depth + 1) for v in value]}
        if isinstance(value, dict):
            if not all(_is_key(key) for key in value):
                return {"opaque": "a dict whose keys are no texts"}
            return {"dict": [[key, self.node(v, depth + 1)] for key, v in value.items()]}
        if isinstance(value, Opaque):
            return {"opaque": value.name}
        if isinstance(value, Handle):
            return {"handle": value.number}
        if isinstance(value, Generator):
            return {"generator": value.seed}
        return {"opaque": type(value).__name__[:100]}

    def text(self, value: str) -> Node:
        if len(value) > MAX_STRING:
            return {"opaque": f"a str of {len(value)} characters"}
        return {"value": str(value)} if encodable(value) == value else {"opaque": "a str with half characters"}

    def tensor(self, value: torch.Tensor) -> Node:
        if value.layout is not torch.strided or value.dtype not in _dtype_names():
            return {"opaque": f"a tensor of {value.dtype}, {value.layout}"}
        on_meta = value.device.type == "meta"
        if not on_meta and self.is_too_much(value.numel() * value.element_size()):
            return {"opaque": f"a tensor of {value.numel()} elements, too large to send"}
        if not _is_possible(value.shape):
            return {"opaque": f"a tensor of {_shape_in_words(value.shape)}"}
        if on_meta:
            return {"meta": list(value.shape), "dtype": _dtype_names()[value.dtype]}
        node: Node = {"tensor": len(self.tensors)}
        if value.requires_grad:
            node["grad"] = True
        if not value.is_contiguous() and 0 not in value.stride():
            node["stride"] = list(value.stride())
        plain = value.detach()
        if type(plain) is not torch.Tensor:
            plain = plain.as_subclass(torch.Tensor)
        if plain.is_neg():
            plain = plain.resolve_neg()
        # a copy: a receiver in this process (see `proxies.Local`) must not share memory with the owner
        plain = plain.cpu().clone(memory_format=torch.contiguous_format)
        self.tensors.append(arrays.clear(plain) if plain.dtype is torch.bool else plain)
        return node

    def array(self, value: numpy.ndarray[Any, Any]) -> Node:
        if isinstance(value, numpy.ma.MaskedArray):  # what it hides would arrive as numbers
            return {"opaque": "a masked array"}
        value = arrays.plain(value)
        if not arrays.travels(value):
            return {"opaque": f"an array of dtype {value.dtype}"[:100]}
        if self.is_too_much(value.size * value.dtype.itemsize):
            return {"opaque": f"an array of {value.size} elements, too large to send"}
        if not _is_possible(value.shape):
            return {"opaque": f"an array of {_shape_in_words(value.shape)}"}
        node: Node = {"array": len(self.tensors), "dtype": arrays.name_of(value)}
        if strides := arrays.strides_of(value):
            node["stride"] = strides
        self.tensors.append(arrays.bits_of(value))
        return node

    def is_too_much(self, more: int) -> bool:
        """Count bytes: whether all are too many for a frame. A view can be small in memory and huge when copied."""
        self.bytes += more
        return self.bytes > MAX_VALUE


def encodable(text: str) -> str:
    """The text with question marks for lone surrogates, which Python's strings can hold and UTF-8 cannot."""
    return text.encode("utf-8", "replace").decode()


def _is_key(key: object) -> bool:
    return isinstance(key, str) and len(key) <= MAX_STRING and encodable(key) == key


def unpack(node: Any, tensors: Sequence[Any], layout: bool = False, objects: dict[int, Any] | None = None) -> Any:
    """The value of a tree made by `pack`. With `layout`, tensors get their strides and `requires_grad` back.

    `objects` maps the numbers of handles to their objects; without it, handles and generators are refused.
    Raises WireError for anything that `pack` would not have made.
    """
    try:
        return _unpack(node, tensors, layout, 0, [MAX_NODES], objects)
    except (KeyError, TypeError, ValueError, IndexError, OverflowError, RuntimeError) as error:
        raise WireError(f"a value cannot be read ({type(error).__name__})") from None


def _unpack(
    node: Any,
    tensors: Sequence[Any],
    layout: bool,
    depth: int,
    nodes_left: list[int],
    objects: dict[int, Any] | None,
) -> Any:
    nodes_left[0] -= 1
    if depth > MAX_DEPTH or nodes_left[0] < 0:
        raise WireError("a value is nested too deeply or has too many parts")

    def children(items: Any) -> list[Any]:
        if not isinstance(items, list):
            raise WireError("a value's parts are not a list")
        return [_unpack(item, tensors, layout, depth + 1, nodes_left, objects) for item in items]

    if not is_loaded() and not layout and objects is None and _is_torchs(node):
        return Opaque("a thing of torch's, which this course does not use")  # to import it here would take too much
    if "tensor" in node:
        tensor = arrays.tensor_of(_sent(node["tensor"], tensors))
        return _with_layout(tensor, node) if layout else tensor
    if "array" in node:
        return _array(_sent(node["array"], tensors), node, layout)
    if "scalar" in node:
        return arrays.scalar_of(node["scalar"], node["dtype"])
    if "meta" in node:
        shape = node["meta"]
        if not _is_possible(shape):
            raise WireError("a tensor on meta has an impossible shape")
        return torch.empty(shape, dtype=_dtypes()[node["dtype"]], device="meta")
    if "value" in node:
        return _plain(node["value"])
    if "list" in node:
        return children(node["list"])
    if "tuple" in node:
        return tuple(children(node["tuple"]))
    if "dict" in node:
        keys = [key for key, _ in node["dict"]]
        if not all(isinstance(key, str) and len(key) <= MAX_STRING for key in keys):
            raise WireError("a key is not a string, or too long")
        return dict(zip(keys, children([child for _, child in node["dict"]]), strict=True))
    if "float" in node:
        return float(node["float"])
    if "complex" in node:
        return _complex(children(node["complex"]))
    if "dtype" in node:
        return _dtypes()[node["dtype"]]
    if "opaque" in node:
        return Opaque(str(node["opaque"])[:200])
    if "handle" in node and objects is not None:
        return objects[node["handle"]]
    if "generator" in node and objects is not None:
        return torch.Generator().manual_seed(node["generator"])
    raise WireError("a value has no known tag")


def _is_torchs(node: Any) -> bool:
    """Whether a node is of a tensor or of a dtype of torch's."""
    if not isinstance(node, dict):
        return False
    return "tensor" in node or "meta" in node or ("dtype" in node and "array" not in node and "scalar" not in node)


def _plain(value: Any) -> Any:
    """The value, if it is one that `pack` sends unchanged. Raises WireError."""
    if value is not None and not isinstance(value, (bool, int, float, str)):
        raise WireError("a plain value is not plain")
    if isinstance(value, str) and len(value) > MAX_STRING:
        raise WireError("a string is too long")
    if isinstance(value, int) and abs(value) >= MAX_INT or isinstance(value, float) and not math.isfinite(value):
        raise WireError("a number is too large")
    return value


def _sent(index: Any, tensors: Sequence[Any]) -> arrays.Bits:
    """The tensor of that number. Raises WireError."""
    if type(index) is not int or not 0 <= index < len(tensors):
        raise WireError("a value names a tensor that was not sent")
    return tensors[index]


def _array(bits: arrays.Bits, node: Node, layout: bool) -> Any:
    """The array with these bits. Raises what `arrays.array_of` raises."""
    array = arrays.array_of(bits, node["dtype"])
    if not layout:
        return array
    return arrays.with_strides(array, node["stride"]) if "stride" in node else array.copy()


def _complex(parts: list[Any]) -> complex:
    real, imaginary = parts
    if type(real) is not float or type(imaginary) is not float:
        raise WireError("the parts of a complex number are not numbers")
    return complex(real, imaginary)


def _with_layout(tensor: torch.Tensor, node: Node) -> torch.Tensor:
    if "stride" in node:
        strided = torch.empty_strided(tensor.shape, node["stride"], dtype=tensor.dtype)
        tensor = strided.copy_(tensor)
    else:
        tensor = tensor.clone()
    return tensor.requires_grad_(True) if node.get("grad") else tensor
