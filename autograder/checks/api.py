"""The tools for writing checks: the marks, comparisons that explain what is wrong, and inputs drawn from the seed.

docs/checks.md is made from the docstrings here; tests/checks/test_api.py runs their examples with that page's code.

Checks that several exercises share are methods of a class, the family; an exercise extends it:

    class TestEncoderHead(HeadChecks):
        layout = Layout(...)
        points = {"test_gradients": 1}  # differs from the family
        sentences = {"test_values": "The output is …"}
        test_output = None  # leaves out a check that does not fit

A check takes `submission`, `draw` or both, and nothing else: pytest collects it, but `runner` calls it.
"""

from __future__ import annotations

import contextlib
import functools
import hashlib
import math
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
import pytest

from ..sandbox.inside import wire
from ..sandbox.inside.later import torch
from ..verdict import CATEGORIES, NOT_READ
from . import numeric, source_text
from .numeric import ARRAY, NUMBER, TENSOR, largest
from .proxies import StudentError, Submission, sentence_start

if TYPE_CHECKING:
    from .numeric import Right

Test = TypeVar("Test", bound=Callable[..., None])

# Relative to the reference's largest value: far above rounding errors, far below the effect of any mistake.
TOLERANCE = {"float64": 1e-9, "float32": 1e-4, "float16": 2e-2, "bfloat16": 1e-1}  # by the names of dtypes

LITTLE = 0.01  # of the largest value: a wrong value that is nearer may lack digits or a small term
HUGE = 1e4  # the largest score or logit that the lessons promise
HUGE_TOLERANCE = 2e-2  # of `close` where scores are `HUGE`: they carry a rounding error of a few 1e-3 in float32

# Relative to the reference's largest value: a change that no rounding hides, and one that is no change.
CLEAR, STILL = 1e-3, 1e-6

# How often, at most, a check may reject a right answer for what was drawn by chance. An exercise has a few such
# comparisons, and together they stay below one in a million.
CHANCE = 1e-8

MOST_NUMBERS = 12  # in an error message that should say which numbers are wrong


class CheckFailed(AssertionError):
    """The submission behaves wrongly; the message is one or two sentences for the student.

    >>> total = submission.function("softmax")(draw.normal(5)).sum()
    >>> if abs(total - 1) > 1e-5:
    ...     raise CheckFailed("The weights do not sum to 1.")
    """


class GateFailed(CheckFailed):
    """An easier case is wrong already, so the check's own question was not asked; the message says what is wrong."""


FAILURES = (CheckFailed, StudentError, wire.WireError)  # how a check may fail by what a submission does


@contextlib.contextmanager
def gate() -> Iterator[None]:
    """Mark an easy case that a check tries before its own question: `@gate()` or `with gate():`.

    The student then reads once what is wrong with the easy case, and not again under each check that depends on it. A
    case that several checks share is an `easy_case`.

    >>> with gate():
    ...     close(submission.function("softmax")(torch.zeros(2)), torch.full((2,), 0.5), "the weights of equal scores")
    """
    # what fails inside is a GateFailed
    try:
        yield
    except CheckFailed as failure:
        raise GateFailed(str(failure)) from None


def check(category: str, points: float, witnessed: bool = False, decides: bool = False) -> Callable[[Test], Test]:
    """Mark a function as a check of the kind `category`, such as "values"; its docstring is what the student reads.

    If only the student's own process can know the answer, it is `witnessed` and should carry few points. If the
    statement says that whoever fails this gets nothing, it `decides`: no price of a mistake gives points back.

    >>> @check("values", points=2)
    ... def test_sum(submission, draw):
    ...     '''The weights sum to 1.'''
    ...     weights = submission.function("softmax")(draw.normal(3, 5))
    ...     close(weights.sum(-1), torch.ones(3), "the sum of the weights")
    """
    if category not in CATEGORIES:
        raise ValueError(f"unknown category {category!r}")

    def mark(test: Test) -> Test:
        test = pytest.mark.category(category)(pytest.mark.points(points)(test))
        test = pytest.mark.decides(test) if decides else test
        return pytest.mark.witnessed(test) if witnessed else test

    return mark


class Draw:
    """Random inputs, as the `draw` of a check: the same ones for every submission, and others with the next seed.

    >>> x = draw.normal(3, 5)
    >>> x.equal(Draw(seed=2, name="softmax/test_sum").normal(3, 5))  # another seed
    False
    """

    def __init__(self, seed: int, name: str) -> None:
        """`name` is that of an exercise and of one of its checks, with a slash between them."""
        self.seed, self.exercise = seed, name.split("/")[0]
        self.digest = hashlib.sha256(f"{seed}/{name}".encode()).digest()

    @functools.cached_property
    def generator(self) -> torch.Generator:
        """What all but arrays is drawn from."""
        return torch.Generator().manual_seed(int.from_bytes(self.digest[:7], "big"))

    @functools.cached_property
    def of_arrays(self) -> np.random.Generator:
        """What arrays are drawn from: NumPy's own, so that they need no torch."""
        return np.random.Generator(np.random.PCG64(int.from_bytes(self.digest, "big")))

    def normal(
        self, *shape: int, dtype: torch.dtype | None = None, scale: float = 1.0, grad: bool = False
    ) -> torch.Tensor:
        """Normal numbers with mean 0 and standard deviation `scale`, in float32; with `grad`, they require a gradient.

        >>> draw.normal(3, 5, dtype=torch.float64, grad=True).requires_grad
        True
        """
        values = torch.randn(shape, generator=self.generator, dtype=torch.float64)
        values = (values if scale == 1 else values * scale).to(dtype or torch.float32)
        return values.requires_grad_() if grad else values

    def array(self, *shape: int, dtype: Any = "float64", scale: float = 1.0) -> numeric.Array:
        """Normal numbers like `normal`, as an array of NumPy's; of a complex dtype, both parts are such numbers.

        >>> draw.array(3, 5, dtype=np.float32).dtype
        dtype('float32')
        """
        is_complex = np.dtype(dtype).kind == "c"
        values = scale * self.of_arrays.standard_normal((*shape, 2) if is_complex else shape)
        return (values.view(np.complex128)[..., 0] if is_complex else np.asarray(values)).astype(dtype)

    def mask(self, *shape: int) -> torch.Tensor:
        """A boolean mask: True with probability 2/3, and with at least one True and one False in every row.

        >>> mask = draw.mask(3, 5)
        >>> mask.any(-1), mask.all(-1)
        (tensor([True, True, True]), tensor([False, False, False]))
        """
        mask = torch.rand(shape, generator=self.generator) < 2 / 3
        first, second = self.integer(0, shape[-1] - 1), self.integer(0, shape[-1] - 1)
        second = (first + 1) % shape[-1] if first == second else second
        mask[..., first], mask[..., second] = True, False
        return mask

    def integer(self, low: int, high: int) -> int:
        """A whole number from `low` to `high`, both included.

        >>> 5 <= draw.integer(5, 9) <= 9
        True
        """
        return int(torch.randint(low, high + 1, (), generator=self.generator))

    def state(self, shapes: Mapping[str, Sequence[int]], dtype: torch.dtype | None = None) -> dict[str, torch.Tensor]:
        """Weights by name for `Proxy.load`, in float32, scaled so that values stay of order one.

        `shapes` maps names to shapes.

        >>> scale = submission.build("Scale", 3)
        >>> scale.load(draw.state({"factor": (3,)}))
        """
        return {
            name: self.normal(*shape, dtype=dtype, scale=max(1, shape[-1]) ** -0.5) for name, shape in shapes.items()
        }


def pair(value: Any, what: str = "`(output, weights)`") -> Sequence[Any]:
    """The two parts of a pair. Raises CheckFailed for anything else.

    >>> output, weights = pair(submission.function("attend")(draw.normal(2, 3), draw.normal(3, 4)))
    >>> pair(output)
    Traceback (most recent call last):
    CheckFailed: It should return the pair `(output, weights)`, but it returned a single tensor of shape (2, 4).
    """
    if not isinstance(value, (tuple, list)) or len(value) != 2:
        raise CheckFailed(f"It should return the pair {what}, but it returned {kind_of(value)}.")
    return value


def tensor(value: Any, what: str = "the output") -> torch.Tensor:
    """The value, if it is a tensor. Raises CheckFailed for anything else.

    >>> tensor(3.0, "the loss")
    Traceback (most recent call last):
    CheckFailed: The loss should be a tensor, but it is a float.
    """
    if not isinstance(value, torch.Tensor):
        raise CheckFailed(f"{sentence_start(what)} should be a tensor, but it is {kind_of(value)}.")
    return value


def array(value: Any, what: str = "the output") -> numeric.Array:
    """The value, if it is an array of NumPy's. Raises CheckFailed for anything else.

    >>> array(np.zeros(3), "the residual").shape
    (3,)
    >>> array([1.0, 2.0], "the residual")
    Traceback (most recent call last):
    CheckFailed: The residual should be a NumPy array, but it is a list of 2 parts.
    """
    if not isinstance(value, np.ndarray):
        of = " of plain numbers" if isinstance(value, wire.Opaque) else ""  # which may be an array of something else
        raise CheckFailed(f"{sentence_start(what)} should be a NumPy array{of}, but it is {kind_of(value)}.")
    return value


def shape(value: Any, expected: Sequence[int], what: str = "the output", kind: str = TENSOR) -> None:
    """Raises CheckFailed unless the value is a tensor of the expected shape that holds numbers, not one on `meta`.

    With the `kind` "array", it must be an array of NumPy's.

    >>> shape(torch.zeros(2, 3), (3, 2))
    Traceback (most recent call last):
    CheckFailed: The shape of the output should be (3, 2), but it is (2, 3).
    >>> shape(np.zeros((3, 2)), (3, 2), "Q", kind="array")
    """
    shaped(value, expected, what, kind)
    if kind == TENSOR and value.device.type == "meta":
        raise CheckFailed(
            f"{sentence_start(what)} is on the device `meta`, which holds no numbers, but the inputs are not."
        )


def shaped(value: Any, expected: Sequence[int], what: str = "the output", kind: str = TENSOR) -> None:
    """Raises CheckFailed unless the value is a tensor, or an array, of the expected shape, on whatever device."""
    if kind not in (TENSOR, ARRAY):
        raise ValueError(f"{kind!r} is no kind: {TENSOR!r} or {ARRAY!r}")
    got = tuple((array if kind == ARRAY else tensor)(value, what).shape)
    if got != tuple(expected):
        raise CheckFailed(f"The shape of {what} should be {tuple(expected)}, but it is {got}.")


def close(
    value: Any,
    expected: Right,
    what: str = "the output",
    tolerance: float | None = None,
    dtype: Any = None,
) -> None:
    """Raises CheckFailed unless the value equals `expected`, the right result in float64, within rounding.

    It must be what `expected` is: a tensor, an array of NumPy's or, for an array without dimensions or a plain number,
    any number. `tolerance` is relative to the largest expected value; by default it is that of `dtype`, or of float32.
    The value must have the `dtype` that is given: give one only in a check of dtypes.

    >>> x = draw.normal(5)
    >>> close(submission.function("softmax")(x), torch.softmax(x.double(), -1), "the weights")
    >>> close(x + torch.tensor([1.0, 0, 0, 0, 0]), x.double())
    Traceback (most recent call last):
    CheckFailed: The shape of the output is right, but 20% of the values are wrong.
    >>> close(np.float32(0.5), 0.5, "the norm")
    >>> close(x, x.double().numpy())
    Traceback (most recent call last):
    CheckFailed: The output should be a NumPy array, but it is a single tensor of shape (5,).
    >>> close(x, [1.0, 0.0, 0.0, 0.0, 0.0])
    Traceback (most recent call last):
    TypeError: close() compares with a tensor, an array or a number, but the right value is a list of 5 parts.
    """
    # the message has no number that follows from a right value: students could hand in a table of them
    kind = _kind_of_right(expected, "close")
    if kind == NUMBER:
        if not numeric.is_number(value):
            raise CheckFailed(f"{sentence_start(what)} should be a single number, but it is {kind_of(value)}.")
    else:
        shape(value, np.shape(expected), what, kind)
    _require_dtype(value, expected, what, dtype)
    precision = "float32" if dtype is None else numeric.real_name_of(dtype)
    _require_values(numeric.wide(value), numeric.wide(expected), what, tolerance, precision, kind)


def _kind_of_right(expected: Any, asked: str) -> str:
    """The kind of a right value. Raises TypeError for what is none."""
    try:
        return numeric.form_of(expected)
    except TypeError:
        raise TypeError(
            f"{asked}() compares with a tensor, an array or a number, but the right value is {kind_of(expected)}."
        ) from None


def _require_dtype(value: Any, expected: Right, what: str, dtype: Any) -> None:
    """Raises CheckFailed unless a value has the dtype, if one is given, and is fit to be compared with `expected`."""
    got = numeric.dtype_of(value)
    if dtype is not None and name_of(got) != name_of(dtype):
        raise CheckFailed(f"The dtype of {what} should be the input's, {name_of(dtype)}, but it is {name_of(got)}.")
    is_number = numeric.is_number(value)  # a whole number may stand for itself, an array of them should be floating
    is_floating = got.is_floating_point if isinstance(got, torch.dtype) else got.kind in "fc" or is_number
    if not is_floating:
        raise CheckFailed(f"The dtype of {what} should be a floating one, but it is {name_of(got)}.")
    if isinstance(got, np.dtype) and got.kind == "c" and not numeric.is_complex(numeric.wide(expected)):
        raise CheckFailed(f"The dtype of {what} should be a real one, but it is {name_of(got)}.")


@numeric.in_silence
def _require_values(value: Any, expected: Any, what: str, tolerance: float | None, precision: str, kind: str) -> None:
    """Raises CheckFailed unless tensors or arrays of one shape, both `numeric.wide`, are equal within rounding."""
    if math.prod(expected.shape) == 0:
        return
    error = largest(value - expected)
    if not math.isfinite(error) and not numeric.all_finite(value):
        bad = "NaN" if (value != value).any() else "inf"
        raise CheckFailed(f"{sentence_start(what)} is {bad}." if kind == NUMBER else f"There is {bad} in {what}.")
    if error <= _allowed(expected, tolerance, precision):
        return
    size = largest(expected)
    if kind == NUMBER:
        raise CheckFailed(f"{sentence_start(what)} is wrong{f', by less than {LITTLE:.0%}' * (error < LITTLE * size)}.")
    tolerance = TOLERANCE[precision] if tolerance is None else tolerance
    wrong = abs(value - expected) > tolerance * max(size, 1e-3)
    share = float(wrong.sum()) / math.prod(wrong.shape)
    little = f", by less than {LITTLE:.0%} of the largest one" if error < LITTLE * size else ""
    raise CheckFailed(f"The shape of {what} is right, but {max(share, 0.01):.0%} of the values are wrong{little}.")


def allowed(expected: Right, tolerance: float | None = None, dtype: torch.dtype | None = None) -> float:
    """The largest error that `close` accepts."""
    return _allowed(numeric.wide(expected), tolerance, "float32" if dtype is None else numeric.real_name_of(dtype))


def _allowed(expected: Any, tolerance: float | None, precision: str) -> float:
    tolerance = TOLERANCE[precision] if tolerance is None else tolerance
    least = {"float64": 1e-12, "float32": 1e-6}.get(precision, 1e-3)
    return tolerance * largest(expected) + least


@numeric.in_silence
def reacts(before: wire.Input, after: wire.Input, right_before: wire.Input, right_after: wire.Input, says: str) -> None:
    """Raises CheckFailed(`says`) if an output (…, d) stays the same, though what it depends on has changed.

    Give the output before and after the change, and both right outputs, of which only clear changes count.

    >>> before, after = draw.normal(2, 3), draw.normal(2, 3)
    >>> reacts(before, after, before.double(), after.double(), "The output does not depend on the keys.")
    >>> reacts(before, before, before.double(), after.double(), "The output does not depend on the keys.")
    Traceback (most recent call last):
    CheckFailed: The output does not depend on the keys.
    """
    # Only outputs with clearly changing right values are looked at: a softmax of random scores leaves some weights so
    # small that a right answer does not change either. So no right answer is rejected by chance: one that did not
    # change here would be off by `CLEAR`, which is more than `close` accepts.
    for got in (before, after):
        shape(got, right_before.shape, kind=_kind_of_right(right_before, "reacts"))
    was, now, expected, changed = (np.asarray(numeric.wide(one)) for one in (before, after, right_before, right_after))
    size = largest(expected)
    should = np.atleast_1d(abs(changed - expected)).max(-1) > CLEAR * size
    changes = np.atleast_1d(abs(now - was)).max(-1) > STILL * size
    if (should & ~changes).any():
        raise CheckFailed(says)


def pattern(value: Any, expected: wire.Input, what: str = "the mask") -> None:
    """Raises CheckFailed unless the value is a tensor or an array that is True (or not 0) exactly where `expected` is.

    >>> pattern(submission.function("past")(3), torch.ones(3, 3).tril().bool())
    >>> pattern(torch.ones(3, 3), torch.ones(3, 3).tril().bool())
    Traceback (most recent call last):
    CheckFailed: The shape of the mask is right, but 33% of the entries are wrong: the first is the one at (0, 1).
    """
    shape(value, expected.shape, what, _kind_of_right(expected, "pattern"))
    wrong = np.asarray((value != 0) != expected)
    if wrong.any():
        place = tuple(np.argwhere(wrong)[0].tolist())
        raise CheckFailed(
            f"The shape of {what} is right, but {max(float(wrong.mean()), 0.01):.0%} of the entries are wrong:"
            f" the first is the one at {place}."
        )


def boolean(value: Any, expected: wire.Input, what: str = "the mask") -> None:
    """Raises CheckFailed unless the value is the boolean tensor or array `expected`: a `pattern` whose dtype counts.

    >>> boolean(submission.function("past")(3), torch.ones(3, 3).tril().bool())
    Traceback (most recent call last):
    CheckFailed: The dtype of the mask should be bool, but it is float32.
    """
    pattern(value, expected, what)
    if name_of(value.dtype) != "bool":
        raise CheckFailed(f"The dtype of {what} should be bool, but it is {name_of(value.dtype)}.")


def surprise(count: torch.Tensor, total: int, chance: torch.Tensor) -> torch.Tensor:
    """How implausible each `count` is of `total` independent draws, all of that probability: 0 or above.

    By Chernoff's bound, a share is as far from p as q, on the same side, with a probability of at most
    exp(-total · KL(q, p)). The surprise is -log of that.
    """
    share = count.double() / max(total, 1)
    apart = torch.xlogy(share, share / chance) + torch.xlogy(1 - share, (1 - share) / (1 - chance))
    return total * apart.nan_to_num(0.0)


def plausible(count: int, total: int, chance: float) -> bool:
    """Whether a `count` out of `total` independent draws may have come by chance; False for it once in 1 / `CHANCE`."""
    least = math.log(2 / CHANCE)  # too many or too few
    return surprise(torch.tensor(count), total, torch.tensor(chance, dtype=torch.float64)).item() <= least


def frequencies(counts: torch.Tensor, chances: torch.Tensor, what: str, names: Sequence[str]) -> None:
    """Raises CheckFailed unless `counts` (n,) are plausible for independent draws with probabilities `chances` (n,).

    `what` says what was drawn, `names` (n) what the outcomes are. Right draws are rejected less than twice in 10^8.

    >>> tosses = submission.function("toss").sample(1000, seed=1)
    >>> frequencies(torch.bincount(tosses), torch.tensor([0.5, 0.5]), "tosses", ["heads", "tails"])
    >>> frequencies(torch.tensor([100, 400, 500]), torch.ones(3) / 3, "draws", ["red", "green", "blue"])
    Traceback (most recent call last):
    CheckFailed: Of 1000 draws, 10.0% were red: too rarely to be chance.
    """
    # By the `surprise` of each outcome, right draws are rejected less than once in 1 / `CHANCE`. Counts that are
    # implausibly close to the expected ones, see `evenness`, are rejected at that limit as well.
    total = int(counts.sum())
    share, chances = counts.double() / max(total, 1), chances.double()
    found = surprise(counts, total, chances)
    worst = int(found.argmax())
    if found[worst] > math.log(2 * len(chances) / CHANCE):
        often = "too often" if share[worst] > chances[worst] else "too rarely"
        raise CheckFailed(f"Of {total} {what}, {share[worst]:.1%} were {names[worst]}: {often} to be chance.")
    if evenness(counts, chances) < math.log(CHANCE):
        raise CheckFailed(f"{total} {what} came as often as expected, more evenly than by chance.")


def evenness(counts: torch.Tensor, chances: torch.Tensor) -> float:
    """An upper bound of log P(X² ≤ x): x is the chi-squared statistic of these counts, X² that of right draws.

    The counts of N draws are distributed like independent Poisson variables C_i with means N·p_i, given that their sum
    is N. So for any r ≥ 0, as in Chernoff's bound,
    P(X² ≤ x) ≤ exp(r·x) · Π E exp(-r·(C_i - N·p_i)²/(N·p_i)) / P(Poisson(N) = N).
    """
    total, counts, chances = int(counts.sum()), counts[chances > 0].double(), chances[chances > 0].double()
    expected, many = (total * chances).unique(return_inverse=True)
    x = ((counts - total * chances).square() / (total * chances)).sum().item()
    rate = max(0.0, (len(counts) - 1) / max(x, 1e-9) - 1) / 2  # the best rate if the counts were normal
    n, expected = torch.arange(total + 1, dtype=torch.float64), expected[:, None]
    poisson = torch.xlogy(n, expected) - expected - (n + 1).lgamma()
    means = (poisson - rate * (n - expected).square() / expected).logsumexp(1)
    return rate * x + means[many].sum().item() - poisson_at_its_mean(total)


def poisson_at_its_mean(mean: float) -> float:
    """log P(Poisson(mean) = mean)."""
    return mean * math.log(mean) - mean - math.lgamma(mean + 1)


def gradient(
    value: Any, expected: torch.Tensor, what: str, dtype: torch.dtype | None = None, tolerance: float | None = None
) -> None:
    """Raises CheckFailed unless a gradient exists and equals the right one; a missing gradient counts as zero.

    >>> x = draw.normal(4, 3, grad=True)
    >>> got = submission.build("Scale", 3).gradients(x, upstream=torch.ones(4, 3))
    >>> gradient(got.inputs[0], torch.ones(4, 3), "the input")
    >>> gradient(None, torch.ones(4, 3), "the input")
    Traceback (most recent call last):
    CheckFailed: No gradient reaches the input: the output does not depend on it, or was detached.
    """
    if value is None:
        if expected.count_nonzero() > 0:
            raise CheckFailed(f"No gradient reaches {what}: the output does not depend on it, or was detached.")
        return
    close(value, expected, f"the gradient of {what}", tolerance=tolerance, dtype=dtype)


def parameters(got: Mapping[str, torch.Tensor], expected: Mapping[str, tuple[int, ...]]) -> None:
    """Raises CheckFailed unless a module has exactly the parameters `expected`, given as shapes by name.

    >>> parameters(submission.build("Scale", 3).parameters(), {"factor": (3,), "bias": (3,)})
    Traceback (most recent call last):
    CheckFailed: The module has no bias.
    """
    wrong = {
        "has no": sorted(set(expected) - set(got)),
        "should not have": sorted(set(got) - set(expected)),
        "has another shape of": sorted(n for n in set(got) & set(expected) if tuple(got[n].shape) != expected[n]),
    }
    if any(wrong.values()):
        parts = [f"{what} {', '.join(names)[:300]}" for what, names in wrong.items() if names]
        raise CheckFailed(f"The module {'; it '.join(parts)}.")


def refuses(error: StudentError | None, what: str, *words: str | int) -> None:
    """Raises CheckFailed unless `error` (from `Proxy.error`) is a ValueError whose message contains all `words`.

    Numbers among the words must appear as numbers of their own, and the message may hold at most twelve.

    >>> softmax = submission.function("softmax")
    >>> refuses(softmax.error(torch.tensor(1.0)), "a single number", "dimension", 0)
    >>> refuses(softmax.error(draw.normal(2)), "a vector")
    Traceback (most recent call last):
    CheckFailed: A vector should raise a ValueError, but it was accepted.
    """
    # a message with more numbers than MOST_NUMBERS does not say which of them are wrong
    if error is None:
        raise CheckFailed(f"{sentence_start(what)} should raise a ValueError, but it was accepted.")
    if not error.is_value_error:
        raise CheckFailed(f"{sentence_start(what)} should raise a ValueError. {error.sentence()}")
    said = re.findall(r"\d+", error.message)
    missing = [str(word) for word in words if str(word) not in (said if isinstance(word, int) else error.message)]
    if missing:
        says = error.message[:200]
        raise CheckFailed(f"The ValueError for {what} should say {' and '.join(missing)}; it says {says!r}.")
    if len(said) > MOST_NUMBERS and any(isinstance(word, int) for word in words):
        raise CheckFailed(f"The ValueError for {what} holds {len(said)} numbers, so it does not say which are wrong.")


def unchanged(submission: Submission) -> None:
    """Raises CheckFailed if the last call changed one of its inputs, a tensor or an array (witnessed).

    >>> twice = submission.function("double")(draw.normal(3))
    >>> unchanged(submission)
    Traceback (most recent call last):
    CheckFailed: It changed one of its inputs in place; the caller still needs it as it was.
    """
    if submission.last.changed:
        raise CheckFailed("It changed one of its inputs in place; the caller still needs it as it was.")


def not_read(submission: Submission, name: str) -> CheckFailed:
    """What a check raises if the text of an answer cannot be read: nothing else is said of it, and no mistake named."""
    submission.note("not read", True)  # as no mistake is
    return CheckFailed(f"{NOT_READ} of `{name}` was found.")


def does_without(submission: Submission, name: str, forbidden: Iterable[str]) -> None:
    """Raises CheckFailed if the text of the function `name`, or of a helper, uses one of the `forbidden` names.

    >>> does_without(submission, "softmax", ["logsumexp"])
    >>> does_without(submission, "softmax", ["exp"])
    Traceback (most recent call last):
    CheckFailed: It uses `scores.exp`, itself or in a helper.
    """
    try:
        found = source_text.reaches(submission.source(name), frozenset(forbidden))
    except source_text.NoDefinition:
        raise not_read(submission, name) from None
    if found:
        calls = ", ".join(f"`{call}`" for call in found[:5])
        raise CheckFailed(f"It uses {calls}, itself or in a helper.")


def on_meta(value: Any, expected_shape: Sequence[int], what: str = "the output") -> None:
    """Raises CheckFailed unless the value is a tensor of that shape on `meta`, the device for tests without a GPU.

    >>> on_meta(submission.function("softmax").on("meta", draw.normal(3)), (3,))
    >>> on_meta(torch.zeros(3), (3,))
    Traceback (most recent call last):
    CheckFailed: The device of the output should be the inputs', but it is cpu.
    """
    shaped(value, expected_shape, what)
    if value.device.type != "meta":
        raise CheckFailed(f"The device of {what} should be the inputs', but it is {value.device.type}.")


def on_cuda(submission: Submission) -> None:
    """Skips the check where there is no GPU.

    >>> @check("device", points=0)
    ... def test_cuda(submission, draw):
    ...     '''On a GPU the weights are the same.'''
    ...     on_cuda(submission)
    ...     x = draw.normal(3)
    ...     weights = submission.function("softmax").on("cuda", x)
    ...     stayed_on_cuda(submission)
    ...     close(weights, torch.softmax(x.double(), -1))
    >>> test_cuda(submission, draw)
    """
    if "cuda" not in submission.devices():
        pytest.skip("no GPU on this machine")


def stayed_on_cuda(submission: Submission, what: str = "The output is", where: str = "where the input is") -> None:
    """Raises CheckFailed unless all tensors that the last call returned are on the GPU.

    >>> weights = submission.function("softmax")(draw.normal(3))
    >>> stayed_on_cuda(submission, "The weights are")
    Traceback (most recent call last):
    CheckFailed: The weights are not on the GPU, where the input is.
    """
    if submission.last.devices != ["cuda"]:
        raise CheckFailed(f"{what} not on the GPU, {where}.")


def name_of(dtype: Any) -> str:
    """The short name of a dtype of torch's or NumPy's, for a message.

    >>> name_of(torch.float32), name_of(np.float32)
    ('float32', 'float32')
    """
    return wire.DTYPE_NAMES.get(dtype, str(dtype)) if isinstance(dtype, torch.dtype) else np.dtype(dtype).name


def kind_of(value: object) -> str:
    """A few words that describe a value, for a message.

    >>> kind_of((1, 2)), kind_of(torch.zeros(2, 3)), kind_of(None)
    ('a tuple of 2 parts', 'a single tensor of shape (2, 3)', 'None')
    >>> kind_of(np.zeros(2)), kind_of(np.float32(2))
    ('a single NumPy array of shape (2,)', 'a NumPy number (float32)')
    """
    if value is None:
        return "None"
    if isinstance(value, torch.Tensor):
        return f"a single tensor of shape {tuple(value.shape)}"
    if isinstance(value, np.ndarray):
        return f"a single NumPy array of shape {value.shape}"
    if isinstance(value, np.generic):
        return "a NumPy truth value (bool)" if isinstance(value, np.bool_) else f"a NumPy number ({value.dtype.name})"
    if isinstance(value, (tuple, list)):
        return f"a {type(value).__name__} of {len(value)} parts"
    if isinstance(value, wire.Opaque):
        return value.in_words
    return f"a {type(value).__name__}"


def number(value: Any) -> Any:
    """The value of a tensor or an array with one element as a plain number; anything else as it is."""
    if isinstance(value, (np.ndarray, np.generic)):
        return value.item() if value.size == 1 else value
    return value.item() if isinstance(value, torch.Tensor) and value.numel() == 1 else value


def length(value: Any) -> int | None:
    """The length of a list, a tuple, or a tensor or an array (n,); None for anything else."""
    is_row = isinstance(value, torch.Tensor) and value.dim() == 1 and value.device.type != "meta"
    is_row = is_row or (isinstance(value, np.ndarray) and value.ndim == 1)
    return len(value) if is_row or isinstance(value, (list, tuple)) else None


def numbers(value: Any, many: int) -> list[Any]:
    """The parts of a list, a tuple, or a tensor or an array (n,) of length `many`, as plain numbers.

    Raises CheckFailed.

    >>> numbers(torch.tensor([1, 2]), 2)
    [1, 2]
    >>> numbers([1, 2, 3], 2)
    Traceback (most recent call last):
    CheckFailed: There should be 2 numbers in a row, but it returned a list of 3 parts.
    """
    # the length is checked first, so an answer of millions is never turned into a list
    if length(value) != many:
        raise CheckFailed(f"There should be {many} numbers in a row, but it returned {kind_of(value)}.")
    return [number(one) for one in (value.tolist() if isinstance(value, (torch.Tensor, np.ndarray)) else value)]
