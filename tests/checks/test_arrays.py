"""Checks with arrays of NumPy's: what they pass, what they compare, and what cannot be passed."""

import re
from pathlib import Path

import numpy as np
import pytest
import torch
from conftest import ROOT

from autograder import checks
from autograder.checks import (
    CheckFailed,
    Draw,
    StudentError,
    Submission,
    array,
    boolean,
    check,
    close,
    kind_of,
    numbers,
    pattern,
    reacts,
    shape,
    tensor,
    unchanged,
)
from autograder.checks.proxies import Local, NotPassed
from autograder.checks.runner import Graders
from autograder.sandbox.inside import wire

CODE = """
import numpy as np


def norm(x):
    return np.sqrt((x * x).sum())


def double(x):
    x *= 2
    return x


def back(*args, **kwargs):
    return (args, kwargs)


def ragged(x):
    return np.array([x, [x]], dtype=object)


class Basis:
    def __init__(self, rows):
        self.rows = rows

    def coefficients(self, x):
        return self.rows @ x
"""


def submission(code=CODE):
    namespace = {"__name__": "student"}
    exec(code, namespace)
    return Submission(Local(namespace, code))


@pytest.fixture
def draw():
    return Draw(1, "norm/test_x")


def says(function, *args, **kwargs):
    """What the failure of a comparison says."""
    with pytest.raises(CheckFailed) as failure:
        function(*args, **kwargs)
    return str(failure.value)


# --- through a proxy ------------------------------------------------------------------------------


def test_arrays_go_to_functions_and_methods_and_come_back(draw):
    ours, x = submission(), draw.array(3)
    args, kwargs = ours.function("back")(x, [np.float32(2), {"a": x > 0}], order=np.int8(3))
    assert np.array_equal(args[0], x) and type(args[1][0]) is np.float32 and args[1][1]["a"].dtype == bool
    assert type(kwargs["order"]) is np.int8
    close(ours.function("norm")(x), np.linalg.norm(x), "the norm", tolerance=1e-12)
    basis = ours.build("Basis", np.eye(3)[::-1])
    close(basis.method("coefficients")(x), x[::-1])
    assert np.array_equal(basis.attribute("rows"), np.eye(3)[::-1])


def test_an_array_that_is_changed_in_place_is_seen_and_the_checks_own_stays_as_it_is(draw):
    ours, x = submission(), draw.array(2, 3)
    before = x.copy()
    for view in (x, x.T, x[:, ::2], np.asfortranarray(x)):
        close(ours.function("double")(view), 2 * view)
        assert says(unchanged, ours).startswith("It changed one of its inputs in place")
    ours.function("back")(x)
    unchanged(ours)
    assert np.array_equal(x, before)


def test_inputs_are_drawn_as_arrays_and_differ_with_the_seed(draw):
    x, z = draw.array(400, 5, dtype=np.float32, scale=3.0), draw.array(400, dtype=np.complex64)
    assert (x.dtype, x.shape, z.dtype, z.shape) == (np.float32, (400, 5), np.complex64, (400,))
    assert 2.8 < x.std() < 3.2 and 0.9 < z.real.std() < 1.1 and 0.9 < z.imag.std() < 1.1
    assert not np.array_equal(x, Draw(2, "norm/test_x").array(400, 5, dtype=np.float32))
    assert np.array_equal(x, Draw(1, "norm/test_x").array(400, 5, dtype=np.float32, scale=3.0))


# --- comparisons ----------------------------------------------------------------------------------

RIGHT = [
    (np.arange(3.0), np.arange(3.0)),
    (np.arange(3, dtype=np.float32)[::-1], np.arange(3.0)[::-1]),
    (np.array([1 + 2j]), np.array([1 + 2j])),
    (np.array([1.0]), np.array([1 + 0j])),
    (np.zeros((0, 2)), np.zeros((0, 2))),
    (np.float32(0.5), 0.5),
    (0.5, np.float64(0.5)),
    (np.array(0.5), 0.5),
    (2, 2.0),
    (np.int64(2), np.array(2.0)),
    (1 + 2j, 1 + 2j),
]


@pytest.mark.parametrize("value, expected", RIGHT)
def test_what_is_right_is_accepted(value, expected):
    close(value, expected)


X = np.array([1.0, 2.0, 4.0])
WRONG = {
    "The output should be a NumPy array, but it is a single tensor of shape (3,).": (torch.from_numpy(X), X),
    "The output should be a NumPy array, but it is a list of 3 parts.": (X.tolist(), X),
    "The output should be a NumPy array of plain numbers, but it is an array of dtype object.": (
        wire.Opaque("an array of dtype object"),
        X,
    ),
    "The output should be a tensor, but it is a single NumPy array of shape (3,).": (X, torch.from_numpy(X)),
    "The output should be a tensor, but it is a NumPy number (float64).": (X[0], torch.tensor(1.0)),
    "The shape of the output should be (3,), but it is (1, 3).": (X[None], X),
    "The dtype of the output should be a floating one, but it is int64.": (X.astype(int), X),
    "The dtype of the output should be a real one, but it is complex128.": (X + 0j, X),
    "There is NaN in the output.": (X * np.nan, X),
    "The shape of the output is right, but 33% of the values are wrong.": (X + [0, 0, 1], X),
    "The shape of the output is right, but 67% of the values are wrong.": (X + [0, 1j, 1j], X + 0j),
    "The output should be a single number, but it is a single NumPy array of shape (1,).": (X[:1], 1.0),
    "The output should be a single number, but it is a single tensor of shape ().": (torch.tensor(1.0), 1.0),
    "The output should be a single number, but it is a bool.": (True, 1.0),
    "The output should be a single number, but it is a NumPy truth value (bool).": (np.True_, 1.0),
    "The output should be a single number, but it is None.": (None, X[0]),
    "The output is wrong.": (np.float64(2.0), 1.0),
    "The output is wrong, by less than 1%.": (1.005, np.float64(1.0)),
    "The output is inf.": (np.inf, 1.0),
}


@pytest.mark.parametrize("sentence", WRONG)
def test_what_is_wrong_is_said_in_a_sentence(sentence):
    assert says(close, *WRONG[sentence]) == sentence


def test_a_dtype_of_numpys_counts_where_it_is_asked_for():
    half = X.astype(np.float16)
    close(half + np.float16(0.01), X, dtype=np.float16)
    close(np.float32(1.0), 1.0, dtype="float32")
    close((X + 1e-5j).astype(np.complex64), X + 0j, dtype=np.complex64)
    assert "should be the input's, float32, but it is float64" in says(close, X, X, dtype=np.float32)
    assert "should be the input's, float32, but it is float64" in says(close, 1.0, 1.0, dtype=np.float32)
    assert "33% of the values" in says(close, X + [0, 0, 1e-7], X, dtype=float)


@pytest.mark.parametrize("right", [[1.0], "1", None, np.array(["a"]), np.array([object()]), True])
def test_a_right_value_that_is_none_is_the_checks_bug(right):
    with pytest.raises(TypeError, match="compares with a tensor, an array or a number"):
        close(X, right)


def test_the_other_comparisons_take_arrays():
    shape(X, (3,), "R", kind="array")
    shape(torch.zeros(3), (3,))
    assert says(shape, X, (3,), "R") == "R should be a tensor, but it is a single NumPy array of shape (3,)."
    assert says(shape, X, (2,), "R", kind="array") == "The shape of R should be (2,), but it is (3,)."
    with pytest.raises(ValueError, match="'matrix' is no kind"):
        shape(X, (3,), kind="matrix")
    assert array(X) is X and "a single NumPy array" in says(tensor, X)
    triangle = np.tri(3, dtype=bool)
    pattern(triangle.astype(int), triangle)
    boolean(triangle, triangle)
    assert "the first is the one at (0, 1)" in says(pattern, np.ones((3, 3)), triangle)
    assert "should be bool, but it is int64" in says(boolean, triangle.astype(int), triangle)
    assert "should be a tensor, but" in says(pattern, triangle, torch.from_numpy(triangle))
    reacts(X[None], X[None] + 1, X[None], X[None] + 1, "It does not react.")
    assert says(reacts, X[None], X[None], X[None], X[None] + 1, "It does not react.") == "It does not react."
    assert numbers(X, 3) == [1.0, 2.0, 4.0] and numbers([np.int64(2), np.array([3])], 2) == [2, 3]
    assert kind_of(np.float32(1)) == "a NumPy number (float32)"


# --- what cannot be passed, or come back ----------------------------------------------------------


@pytest.mark.parametrize(
    "args, kwargs, what",
    [
        ([X, {1, 2}], {}, "Argument 2 of `back` is something of type set."),
        ([X], {"order": print}, "`order` of `back` is something of type builtin_function_or_method."),
        ([[X, b"x"]], {}, "Argument 1 of `back` holds something of type bytes."),
        ([{1: X}], {}, "Argument 1 of `back` is a dict whose keys are no texts."),
        ([np.array([None])], {}, "Argument 1 of `back` is an array of dtype object."),
        (
            [np.broadcast_to(X, (10**8, 3))],
            {},
            "Argument 1 of `back` is an array of 300000000 elements, too large to send.",
        ),
        ([[[]] * 30_000], {}, "Argument 1 of `back` is nested too deeply, or has too many parts."),
        ([2**70], {}, "Argument 1 of `back` is an int of over 64 bits."),
        ([torch.ones(2, dtype=torch.complex64)], {}, "Argument 1 of `back` is a tensor of torch.complex64"),
    ],
)
def test_what_cannot_be_passed_is_refused_at_the_call(args, kwargs, what):
    ours = submission()
    with pytest.raises(NotPassed) as refusal:
        ours.function("back")(*args, **kwargs)
    assert str(refusal.value).startswith(what) and "A check can pass tensors, NumPy arrays of numbers" in str(
        refusal.value
    )
    close(ours.function("back")(X)[0][0], X)


def test_each_way_to_pass_something_refuses():
    ours = submission()
    basis = ours.build("Basis", X)
    for call in (
        lambda: ours.build("Basis", {1}),
        lambda: ours.build_seeded(1, "Basis", {1}),
        lambda: ours.torch_module("Linear", in_features={1}),
        lambda: basis.method("coefficients")({1}),
        lambda: basis.do({1}),
        lambda: ours.function("norm").error({1}),
        lambda: ours.function("norm").refused([basis]),
        lambda: ours.function("norm").gradients(X, upstream={1}),
    ):
        with pytest.raises(NotPassed):
            call()
    many = [np.zeros(2**22)] * 3  # each of them fits
    with pytest.raises(NotPassed, match="too large to send"):
        ours.function("norm")(many)


def graded(*tests, code=CODE):
    """The run of checks of an exercise called norm."""
    for test in tests:
        test.__doc__ = test.__doc__ or "It is right."
    module = type(pytest)("checks")
    module.__dict__.update({test.__name__: test for test in tests})
    return Graders({"norm": module}).run("norm", submission(code).transport, 1)


@pytest.mark.filterwarnings("error")
def test_what_a_check_computes_with_an_odd_answer_raises_no_warning():
    @check("values", points=1)
    def test_scaled(submission):
        close(submission.function("norm")(np.zeros(2)) / 1e200, 0.0)

    run = graded(test_scaled, code="import numpy as np\ndef norm(x):\n    return np.float16(2)")
    assert not run.unjudged, run.unjudged


def test_what_a_check_passes_wrongly_is_its_own_bug_and_named():
    @check("values", points=1)
    def test_set(submission):
        submission.function("norm")({1, 2})

    run = graded(test_set)
    told = run.unjudged["test_set"]
    assert told.startswith(f"test_set ended with NotPassed (checks/{Path(__file__).name}, line ")
    assert told.partition("): ")[2].startswith(
        "Argument 1 of `norm` is something of type set. A check can pass tensors"
    )
    assert "This check has a bug" in run.checks[0].message and "Your code" not in run.checks[0].message


def test_what_a_student_returns_that_cannot_be_carried_is_said_to_the_student(draw):
    @check("values", points=1)
    def test_closed(submission):
        close(submission.function("ragged")(1.0), X)

    @check("values", points=1)
    def test_computed(submission):
        close(submission.function("ragged")(1.0) @ X, X)

    @check("values", points=1)
    def test_passed_on(submission):
        submission.function("norm")(submission.function("ragged")(1.0))

    run = graded(test_closed, test_computed, test_passed_on)
    assert not run.unjudged
    closed, computed, passed_on = (check.reason for check in run.checks)
    assert closed == "The output should be a NumPy array of plain numbers, but it is an array of dtype object."
    assert computed == passed_on
    assert computed.startswith(
        "What your code returned cannot be used: an array of dtype object does not reach the grader"
    )
    assert not any("Opaque" in check.message for check in run.checks)


def test_an_error_of_numpys_is_the_students():
    with pytest.raises(StudentError, match="matmul"):
        submission().build("Basis", np.eye(3)).method("coefficients")(np.zeros(2))


def test_the_pages_example_runs(draw):
    page = (ROOT / "docs" / "checks.md").read_text(encoding="utf-8")
    example = re.search(r"^```python a check with arrays\n(.*?)^```$", page, re.MULTILINE | re.DOTALL)[1]
    names = {name: getattr(checks, name) for name in checks.__all__} | {"np": np}
    exec(example, names)
    names["test_norm"](submission(), draw)
    with pytest.raises(CheckFailed):
        names["test_norm"](submission(CODE.replace("np.sqrt(", "np.abs(")), draw)


def test_tensors_without_dimensions_are_compared_as_others_are():
    pattern(torch.tensor(True), torch.tensor(True))
    reacts(torch.tensor(1.0), torch.tensor(2.0), torch.tensor(1.0), torch.tensor(2.0), "It stays.")
    with pytest.raises(CheckFailed, match=r"the first is the one at \(\)"):
        pattern(torch.tensor(True), torch.tensor(False))
    with pytest.raises(CheckFailed, match=r"It stays\."):
        reacts(torch.tensor(1.0), torch.tensor(1.0), torch.tensor(1.0), torch.tensor(2.0), "It stays.")


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("odd", [np.inf, np.nan, 1.7e308])
@pytest.mark.parametrize("form", [np.array, torch.from_numpy])
def test_numbers_that_are_none_raise_no_warning(odd, form):
    """Nobody could do anything about one, in the console of whoever grades."""
    right = form(np.arange(4.0))
    came = form(np.array([odd, -odd, odd, 1.0]))
    for expected in (right, form(np.full(4, -1.7e308))):
        with pytest.raises(CheckFailed):
            close(came, expected)
    with pytest.raises(CheckFailed):
        reacts(came, came, right, right + 1, "It stays.")
    with pytest.raises(CheckFailed):
        reacts(came, -came, right[:3], right[:3], "It stays.")
    reacts(came, -came, right, right, "It stays.")
