"""Arrays of NumPy's on the wire: they arrive as they are, and a header that lies is refused."""

import re

import numpy as np
import pytest
import torch
from fuzzing import received

from autograder.sandbox import replies
from autograder.sandbox.inside import arrays, wire
from autograder.sandbox.parent import WarmParent

X = np.arange(24.0).reshape(2, 3, 4)
BITS = [
    torch.zeros(2, dtype=torch.int64),
    torch.zeros(2, dtype=torch.float64),
    torch.tensor([0, 1], dtype=torch.uint8),
    torch.zeros(3, dtype=torch.int64),
    torch.zeros((), dtype=torch.int64),
]


def sent(value, layout=False):
    """The value after its way over the wire, frames and all."""
    tensors = []
    made = wire.encoded({"value": wire.pack(value, tensors)}, tensors)
    data = wire.HEADER.pack(wire.MAGIC, len(made.text), len(made.blob)) + made.text + made.blob
    message, tensors = received(data)
    return wire.unpack(message["value"], tensors, layout=layout)


def same(one, other):
    return type(one) is type(other) and (one.dtype, one.shape, one.tobytes()) == (
        other.dtype,
        other.shape,
        other.tobytes(),
    )


@pytest.mark.parametrize("shape", [(), (0,), (3, 0, 2), (5,), (2, 3)])
@pytest.mark.parametrize("name", arrays.NAMES)
def test_numeric_arrays_and_scalars_arrive_as_they_are(name, shape):
    numbers = np.asarray(np.random.default_rng(0).normal(size=shape) * 9)
    array = np.asarray(numbers > 0 if name == "bool" else numbers.clip(0)).astype(name)
    assert same(sent(array), array)
    assert same(sent(array.astype(array.dtype.newbyteorder("S"))), array), "in this machine's byte order"
    scalar = array.dtype.type(3)
    assert same(sent([scalar])[0], scalar)


def test_what_is_no_finite_number_arrives_too():
    odd = np.array([np.nan, np.inf, -np.inf, -0.0, 5e-324])
    pairs = odd[1:].view(complex)
    assert same(sent(odd), odd) and same(sent(pairs), pairs)
    assert sent(complex(1, -np.inf)) == complex(1, -np.inf) and type(sent(2j)) is complex


VIEWS = {
    "transposed": X.T,
    "of Fortran's order": np.asfortranarray(X),
    "every second": X[:, ::2],
    "reversed": X[::-1, :, ::-1],
    "a column": X[..., 0],
    "a slice of one row": X[:1].T,
}


@pytest.mark.parametrize("kind", VIEWS)
def test_an_input_keeps_its_layout_and_shares_no_memory(kind):
    view, found = VIEWS[kind], sent(VIEWS[kind], layout=True)
    long = [n > 1 for n in view.shape]
    assert np.array_equal(found, view)
    assert [s for s, is_long in zip(found.strides, long, strict=True) if is_long] == [
        s for s, is_long in zip(view.strides, long, strict=True) if is_long
    ]
    found += 1
    assert X.ravel().tolist() == list(range(24))


@pytest.mark.parametrize(
    "view", [np.broadcast_to(X[0], (5, 3, 4)), np.lib.stride_tricks.sliding_window_view(np.arange(5.0), 3)]
)
def test_a_view_whose_entries_overlap_arrives_as_a_copy(view):
    found = sent(view, layout=True)
    assert np.array_equal(found, view) and found.flags.c_contiguous and found.flags.writeable


@pytest.mark.parametrize(
    "value, says",
    [
        (np.array([object()]), "an array of dtype object"),
        (np.array(["a"]), "an array of dtype <U1"),
        (np.zeros(2, [("a", "f8")]), "an array of dtype [('a', '<f8')]"),
        (np.array(["2020"], "M8[D]"), "an array of dtype datetime64[D]"),
        (np.array([1], np.longdouble), f"an array of dtype {np.dtype(np.longdouble)}"),
        (np.longdouble(1), "something of type longdouble"),
        (np.ma.masked_array([1.0, 2.0], [0, 1]), "a masked array"),
        (np.broadcast_to(np.zeros(1), (10**9,)), "an array of 1000000000 elements, too large to send"),
        (np.zeros([1] * 20), "an array of 20 dimensions"),
        (np.zeros((0, 2**41)), "an array of shape (0, 2199023255552)"),
        (torch.zeros([1] * 20), "a tensor of 20 dimensions"),
        (torch.zeros(0, 2**41), "a tensor of shape (0, 2199023255552)"),
        ({1, 2}, "something of type set"),
    ],
)
def test_what_holds_other_things_than_numbers_does_not_travel(value, says):
    """What is used of it in place of the value says what it was."""
    (found,) = sent([value])
    assert type(found) is wire.Opaque and found.in_words == says
    for use in (lambda: found @ X, lambda: X + found, lambda: found.shape, lambda: len(found), lambda: found < 3):
        with pytest.raises(wire.WireError, match="does not reach the grader"):
            use()
    with pytest.raises(wire.NotCarried, match="^holds " + re.escape(says)):
        wire.pack([value], [], whole=True)


class Mine(np.ndarray):
    """An array that claims and refuses what it can."""

    dtype = property(lambda self: np.dtype(object))
    size, ndim, shape, strides, flags, itemsize = 1, 99, (2**70,), None, None, 0

    def refuse(self, *args, **kwargs):
        raise OSError

    tobytes = copy = view = reshape = astype = __len__ = __getitem__ = __array__ = __array_ufunc__ = refuse


def test_a_subclass_arrives_as_a_plain_array():
    assert same(sent(np.arange(2.0).view(Mine)), np.arange(2.0))
    assert sent(np.broadcast_to(np.zeros(1), 2**40).view(Mine)).name.endswith("too large to send")
    assert same(sent(np.arange(2.0).view(np.recarray)), np.arange(2.0))


def test_a_boolean_is_a_0_or_a_1():
    """What any other byte is depends on who looks, and in how many."""
    bytes_of = bytes([0, 1, 2, 255])
    for odd in (np.frombuffer(bytes_of, bool), torch.frombuffer(bytearray(bytes_of), dtype=torch.bool)):
        found = sent(odd)
        assert np.asarray(found).tobytes() == bytes([0, 1, 1, 1]) and type(found) is type(odd)
    with pytest.raises(wire.WireError, match="neither True nor False"):
        received(frame('{"0":{"dtype":"BOOL","shape":[4],"data_offsets":[0,4]}}', bytes_of))


@pytest.mark.parametrize(
    "node",
    [
        {"array": 0, "dtype": "object"},
        {"array": 0, "dtype": "O"},
        {"array": 0, "dtype": "<f8"},
        {"array": 0, "dtype": "float64, (2,)i8"},
        {"array": 0, "dtype": ["float64"]},
        {"array": 0, "dtype": {"names": ["a"]}},
        {"array": 0, "dtype": None},
        {"array": 0},
        {"array": True, "dtype": "float64"},
        {"array": -1, "dtype": "float64"},
        {"array": 9, "dtype": "float64"},
        {"array": "0", "dtype": "float64"},
        {"array": 0, "dtype": "float32"},  # not as many bytes
        {"array": 1, "dtype": "float64"},  # no integers
        {"array": 2, "dtype": "bool"},  # no booleans
        {"array": 3, "dtype": "complex128"},  # one half too many
        {"array": 4, "dtype": "complex128"},
        {"scalar": [0], "dtype": "object"},
        {"scalar": [0], "dtype": ["float64"]},
        {"scalar": [0, 0], "dtype": "float64"},
        {"scalar": [0], "dtype": "complex128"},
        {"scalar": [], "dtype": "float64"},
        {"scalar": [2**70], "dtype": "int64"},
        {"scalar": [300], "dtype": "int8"},
        {"scalar": [1.5], "dtype": "float64"},
        {"scalar": ["1"], "dtype": "float64"},
        {"scalar": [[0]], "dtype": "float64"},
        {"scalar": {"0": 0}, "dtype": "float64"},
        {"scalar": 0, "dtype": "float64"},
        {"scalar": [0]},
        {"complex": [1.0]},
        {"complex": [1, 2]},
        {"complex": ["1", 2.0]},
        {"complex": [1.0, {"value": 1.0}]},
        {"complex": {"value": 1.0}},
    ],
)
def test_a_forged_header_is_refused(node):
    with pytest.raises(wire.WireError):
        wire.unpack(node, BITS)


def frame(header, data=b""):
    """A frame whose tensors have this header."""
    text, header = b'{"value":{"array":0,"dtype":"float64"}}', header.encode()
    blob = len(header).to_bytes(8, "little") + header + data
    return wire.HEADER.pack(wire.MAGIC, len(text), len(blob)) + text + blob


@pytest.mark.parametrize(
    "shape, size",
    [
        ([2], 8),  # too few bytes
        ([1], 24),  # too many
        ([2**62], 8),
        ([2**32, 2**32], 0),  # a product that is 0 in 64 bits
        ([2**63, 2], 0),
        ([0, 2**50], 0),
        ([-1], 8),
        ([1.0], 8),
        ([0] * 20, 0),
    ],
)
def test_a_shape_that_does_not_fit_its_bytes_is_refused(shape, size):
    header = f'{{"0":{{"dtype":"I64","shape":{shape},"data_offsets":[0,{size}]}}}}'
    with pytest.raises(wire.WireError):
        received(frame(header, bytes(size)))


@pytest.mark.parametrize("shape", [[0, 2**39, 2**39], [0, 2**39]])
def test_an_empty_array_of_a_huge_shape_is_refused_or_empty(shape):
    try:
        message, tensors = received(frame(f'{{"0":{{"dtype":"I64","shape":{shape},"data_offsets":[0,0]}}}}'))
        found = wire.unpack(message["value"], tensors)
    except wire.WireError:
        return
    assert found.size == 0 and found.nbytes == 0


def test_an_array_that_is_named_many_times_takes_no_more_memory():
    bits = torch.zeros(2**17, dtype=torch.int64)
    found = wire.unpack({"list": [{"array": 0, "dtype": "float64"}] * 10_000}, [bits])
    assert all(np.shares_memory(one, found[0]) for one in found[1:3])


def test_arrays_count_as_numbers_in_an_answer():
    """As tensors do, whatever a number takes."""
    for dtype in ("uint8", "float64"):
        tensors = []
        wire.pack(np.zeros(replies.MAX_NUMBERS, dtype), tensors)
        assert replies.bounded(tensors) is tensors
        wire.pack(np.zeros(1, dtype), tensors)
        with pytest.raises(wire.WireError, match="many times as many"):
            replies.bounded(tensors)


@pytest.fixture(scope="module")
def child():
    with WarmParent() as parent:
        child = parent.fork()
        yield child
        child.kill()


def test_it_goes_through_the_sandbox_and_what_changed_is_seen(child):
    source = "import numpy as np\ndef f(x):\n    x[0] += 1\n    return x.T, x.dtype.byteorder, np.float32(2), x.strides"
    child.request({"op": "cell", "source": source, "name": "cell 1"})
    for x, changed in (
        (X[:, ::2], [0]),
        (X.astype(">f4"), [0]),
        (np.zeros((2, 1)) * np.nan, []),
        (np.empty((1, 0)), []),
    ):
        tensors = []
        call = {"op": "call", "target": "f", "args": wire.pack((x,), tensors), "kwargs": wire.pack({}, tensors)}
        reply, answer = child.request(call, tensors)
        made = replies.call(reply, answer, [x])
        value, order, two, strides = made.value
        assert reply["changed"] == changed and made.changed is bool(changed)
        assert np.array_equal(value.T[1:], x[1:], equal_nan=True) and value.dtype.name == x.dtype.name
        assert order == "=" and type(two) is np.float32 and (x.dtype.byteorder == ">" or strides == x.strides)
