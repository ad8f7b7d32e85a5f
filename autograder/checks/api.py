"""The tools for writing checks: the marks, comparisons that explain what is wrong, and inputs drawn from the seed.

Example:

    @check("values", points=2)
    def test_weights_sum_to_one(submission, draw):
        '''The weights of every query sum to 1.'''
        attention = submission.function("attention")
        q, k, v = draw.normal(2, 5, 4), draw.normal(2, 7, 4), draw.normal(2, 7, 6)
        output, weights = pair(attention(q, k, v))
        close(weights, reference.attention(q, k, v)[1], "the weights")

Checks that several exercises share are methods of a class, the family; an exercise extends it:

    class TestEncoderHead(HeadChecks):
        layout = Layout(...)
        points = {"test_gradients": 1}  # differs from the family
        sentences = {"test_values": "The output is …"}
        test_output = None  # leaves out a check that does not fit

A check takes `submission`, `draw` or both, and nothing else: pytest collects it, but `runner` calls it.
"""

import contextlib
import hashlib
import math
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, TypeVar

import pytest
import torch

from ..sandbox.inside import wire
from ..verdict import CATEGORIES
from . import source_text
from .proxies import StudentError, Submission, largest, sentence_start

Test = TypeVar("Test", bound=Callable[..., None])

# Relative to the reference's largest value: far above rounding errors, far below the effect of any mistake.
TOLERANCE = {torch.float64: 1e-9, torch.float32: 1e-4, torch.float16: 2e-2, torch.bfloat16: 1e-1}

LITTLE = 0.01  # of the largest value: a wrong value that is nearer may lack digits or a small term
HUGE = 1e4  # the largest score or logit that the lessons promise
HUGE_TOLERANCE = 2e-2  # scores of 1e4 carry a rounding error of a few 1e-3 in float32

# Relative to the reference's largest value: a change that no rounding hides, and one that is no change.
CLEAR, STILL = 1e-3, 1e-6

# How often, at most, a check may reject a right answer for what was drawn by chance. An exercise has a few such
# comparisons, and together they stay below one in a million.
CHANCE = 1e-8

MOST_NUMBERS = 12  # in an error message that should say which numbers are wrong


class CheckFailed(AssertionError):
    """The submission behaves wrongly; the message is one or two sentences for the student."""


class GateFailed(CheckFailed):
    """An easier case is wrong already, so the check's own question was not asked; the message says what is wrong."""


@contextlib.contextmanager
def gate() -> Iterator[None]:
    """Turns a CheckFailed into a GateFailed: for the easy cases that a check tries before its own question.

    Use it as `with gate():` or as the decorator `@gate()`, and `gates.easy_case` for a case that several checks of an
    exercise share. What failed there is reported once, in its own words, and not under the sentence of each check that
    depends on it.
    """
    try:
        yield
    except CheckFailed as failure:
        raise GateFailed(str(failure)) from None


def check(category: str, points: float, witnessed: bool = False) -> Callable[[Test], Test]:
    """Mark a test as a graded check. `witnessed`: only the student's process can tell, so it carries few points."""
    if category not in CATEGORIES:
        raise ValueError(f"unknown category {category!r}")

    def mark(test: Test) -> Test:
        test = pytest.mark.category(category)(pytest.mark.points(points)(test))
        return pytest.mark.witnessed(test) if witnessed else test

    return mark


class Draw:
    """Random inputs from one seed: with the same seed, a check draws the same inputs for every submission."""

    def __init__(self, seed: int, name: str) -> None:
        """`name` is that of an exercise and of one of its checks, with a slash between them."""
        self.seed, self.exercise = seed, name.split("/")[0]
        digest = hashlib.sha256(f"{seed}/{name}".encode()).digest()
        self.generator = torch.Generator().manual_seed(int.from_bytes(digest[:7], "big"))

    def normal(
        self, *shape: int, dtype: torch.dtype = torch.float32, scale: float = 1.0, grad: bool = False
    ) -> torch.Tensor:
        """Normal numbers with mean 0 and standard deviation `scale`, in the given shape."""
        values = torch.randn(shape, generator=self.generator, dtype=torch.float64)
        values = (values if scale == 1 else values * scale).to(dtype)
        return values.requires_grad_() if grad else values

    def mask(self, *shape: int) -> torch.Tensor:
        """A boolean mask: True with probability 2/3, at least one True and one False in every row."""
        mask = torch.rand(shape, generator=self.generator) < 2 / 3
        first, second = self.integer(0, shape[-1] - 1), self.integer(0, shape[-1] - 1)
        second = (first + 1) % shape[-1] if first == second else second
        mask[..., first], mask[..., second] = True, False
        return mask

    def integer(self, low: int, high: int) -> int:
        """A whole number from `low` to `high`, both included."""
        return int(torch.randint(low, high + 1, (), generator=self.generator))

    def state(self, shapes: Mapping[str, Sequence[int]], dtype: torch.dtype = torch.float32) -> dict[str, torch.Tensor]:
        """Weights by name for `Proxy.load`, scaled so that values stay of order one. `shapes` maps names to shapes."""
        return {
            name: self.normal(*shape, dtype=dtype, scale=max(1, shape[-1]) ** -0.5) for name, shape in shapes.items()
        }


def pair(value: Any, what: str = "`(output, weights)`") -> Sequence[Any]:
    """The two parts of a pair. Raises CheckFailed for anything else."""
    if not isinstance(value, (tuple, list)) or len(value) != 2:
        raise CheckFailed(f"It should return the pair {what}, but it returned {kind_of(value)}.")
    return value


def tensor(value: Any, what: str = "the output") -> torch.Tensor:
    """The value, if it is a tensor. Raises CheckFailed for anything else."""
    if not isinstance(value, torch.Tensor):
        raise CheckFailed(f"{sentence_start(what)} should be a tensor, but it is {kind_of(value)}.")
    return value


def shape(value: Any, expected: Sequence[int], what: str = "the output") -> None:
    """Raises CheckFailed unless the value is a tensor of the expected shape that holds numbers, not one on `meta`."""
    shaped(value, expected, what)
    if value.device.type == "meta":
        raise CheckFailed(
            f"{sentence_start(what)} is on the device `meta`, which holds no numbers, but the inputs are not."
        )


def shaped(value: Any, expected: Sequence[int], what: str = "the output") -> None:
    """Raises CheckFailed unless the value is a tensor of the expected shape, on whatever device."""
    got = tuple(tensor(value, what).shape)
    if got != tuple(expected):
        raise CheckFailed(f"The shape of {what} should be {tuple(expected)}, but it is {got}.")


def close(
    value: Any,
    expected: torch.Tensor,
    what: str = "the output",
    tolerance: float | None = None,
    dtype: torch.dtype | None = None,
) -> None:
    """Raises CheckFailed unless the value equals the reference within rounding.

    `expected` is the reference in float64. `dtype` is the one that the value must have; give it in checks that are
    about dtypes, since elsewhere another dtype should cost nothing. It sets the tolerance (without it, that of
    float32), which is relative to the reference's largest value.

    The message has no number that follows from a right value: students could hand in a table of them.
    """
    shape(value, expected.shape, what)
    if dtype is not None and value.dtype != dtype:
        got = name_of(value.dtype)
        raise CheckFailed(f"The dtype of {what} should be the input's, {name_of(dtype)}, but it is {got}.")
    if not value.dtype.is_floating_point:
        raise CheckFailed(f"The dtype of {what} should be a floating one, but it is {name_of(value.dtype)}.")
    dtype = dtype or torch.float32
    expected = expected.detach().double()
    if expected.numel() == 0:
        return
    error = largest(value.double() - expected)
    if not math.isfinite(error) and not torch.isfinite(value).all():
        bad = "NaN" if torch.isnan(value).any() else "inf"
        raise CheckFailed(f"There is {bad} in {what}.")
    size = largest(expected)
    if error > allowed(expected, tolerance, dtype):
        tolerance = TOLERANCE[dtype] if tolerance is None else tolerance
        share = ((value.double() - expected).abs() > tolerance * max(size, 1e-3)).double().mean().item()
        little = f", by less than {LITTLE:.0%} of the largest one" if error < LITTLE * size else ""
        raise CheckFailed(f"The shape of {what} is right, but {max(share, 0.01):.0%} of the values are wrong{little}.")


def allowed(expected: torch.Tensor, tolerance: float | None = None, dtype: torch.dtype | None = None) -> float:
    """The largest error that `close` accepts."""
    dtype = dtype or torch.float32
    tolerance = TOLERANCE[dtype] if tolerance is None else tolerance
    least = 1e-12 if dtype is torch.float64 else 1e-6 if dtype is torch.float32 else 1e-3
    return tolerance * largest(expected.detach().double()) + least


def reacts(
    before: torch.Tensor, after: torch.Tensor, right_before: torch.Tensor, right_after: torch.Tensor, says: str
) -> None:
    """Raises CheckFailed(`says`) if an output (…, d) stays the same, though what it depends on has changed.

    Only outputs with clearly changing right values are looked at: a softmax of random scores leaves some weights so
    small that a right answer does not change either. So no right answer is rejected by chance: one that did not change
    here would be off by `CLEAR`, which is more than `close` accepts.
    """
    for got in (before, after):
        shape(got, right_before.shape)
    size = largest(right_before.detach())
    should = (right_after - right_before).detach().abs().amax(-1) > CLEAR * size
    changes = (after.detach().double() - before.detach().double()).abs().amax(-1) > STILL * size
    if (should & ~changes).any():
        raise CheckFailed(says)


def pattern(value: Any, expected: torch.Tensor, what: str = "the mask") -> None:
    """Raises CheckFailed unless the value is a tensor that is True (or not 0) exactly where `expected` is."""
    shape(value, expected.shape, what)
    wrong = (value != 0) != expected
    if wrong.any():
        place = tuple(wrong.nonzero()[0].tolist())
        raise CheckFailed(
            f"The shape of {what} is right, but {max(wrong.double().mean().item(), 0.01):.0%} of the entries are wrong:"
            f" the first is the one at {place}."
        )


def boolean(value: Any, expected: torch.Tensor, what: str = "the mask") -> None:
    """Raises CheckFailed unless the value is the boolean tensor `expected`."""
    pattern(value, expected, what)
    if value.dtype != torch.bool:
        raise CheckFailed(f"The dtype of {what} should be bool, but it is {name_of(value.dtype)}.")


def dropped(got: Any, weights: torch.Tensor, p: float, seen_twice: torch.Tensor | None = None) -> None:
    """Raises CheckFailed unless `got` is `weights` after dropout: each entry 0 with probability p, else divided by 1-p.

    Both are (b, t, t), and all b items hold the same weights. `seen_twice` holds the same weights as revealed by other
    features; if given, it must equal `got`, which it would not if outputs or values were dropped instead. With at least
    500 nonzero weights and p = 1/4, a right answer is rejected less than once in 10^8, by `plausible`; any other
    coincidence is rarer.
    """
    shape(got, weights.shape, "the weights that the output reveals")
    got, weights = got.detach().double(), weights.detach()
    if (got - weights).abs().max() < 1e-4:
        raise CheckFailed("In train mode no weight was dropped.")
    if seen_twice is not None and (got - seen_twice.double()).abs().max() > 1e-4:
        raise CheckFailed("Features that should come out alike do not: dropout belongs on the weights only.")
    kept = got.abs() > 0.5 * weights
    right = torch.where(kept, weights / (1 - p), 0.0)
    close(got, right, "the weights after dropout", dtype=torch.float64, tolerance=1e-4)
    some = kept[weights > 0]
    if not plausible(int(some.sum()), some.numel(), 1 - p):
        raise CheckFailed(f"With dropout {p}, {some.double().mean().item():.0%} of the weights were kept.")
    if any(torch.equal(kept[0], other) for other in kept[1:]):
        raise CheckFailed("The same weights were dropped in each sequence of the batch.")


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

    `what` says what was drawn; `names` (n) are the names of the outcomes. By the `surprise` of each outcome, right
    draws are rejected less than once in 1 / `CHANCE`. Counts that are implausibly close to the expected ones, see
    `evenness`, are rejected at that limit as well.
    """
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
    """Raises CheckFailed unless a gradient exists and equals the reference's; a missing one counts as zero."""
    if value is None:
        if expected.count_nonzero() > 0:
            raise CheckFailed(f"No gradient reaches {what}: the output does not depend on it, or was detached.")
        return
    close(value, expected, f"the gradient of {what}", tolerance=tolerance, dtype=dtype)


def parameters(got: Mapping[str, torch.Tensor], expected: Mapping[str, tuple[int, ...]]) -> None:
    """Raises CheckFailed unless a module has exactly the parameters `expected`, given as shapes by name."""
    wrong = {
        "has no": sorted(set(expected) - set(got)),
        "should not have": sorted(set(got) - set(expected)),
        "has another shape of": sorted(n for n in set(got) & set(expected) if tuple(got[n].shape) != expected[n]),
    }
    if any(wrong.values()):
        parts = [f"{what} {', '.join(names)[:300]}" for what, names in wrong.items() if names]
        raise CheckFailed(f"The module {'; it '.join(parts)}.")


def refuses(error: StudentError | None, what: str, *words: str | int) -> None:
    """Raises CheckFailed unless `error` (from `Proxy.error`) is a ValueError and its message contains all `words`.

    A number must appear as a number of its own, among at most `MOST_NUMBERS`: a message with more does not say which
    numbers are wrong.
    """
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
    """Raises CheckFailed if the last call changed one of its input tensors (witnessed)."""
    if submission.last.changed:
        raise CheckFailed("It changed one of its inputs in place; the caller still needs that tensor as it was.")


def does_without(submission: Submission, name: str, forbidden: Iterable[str]) -> None:
    """Raises CheckFailed if the text that defines the function `name` reaches one of the `forbidden` names."""
    try:
        found = source_text.reaches(submission.source(name), frozenset(forbidden))
    except source_text.NoDefinition:
        raise CheckFailed(f"No readable definition of `{name}` was found.") from None
    if found:
        calls = ", ".join(f"`{call}`" for call in found[:5])
        raise CheckFailed(f"It uses {calls}, itself or in a helper.")


def on_meta(value: Any, expected_shape: Sequence[int], what: str = "the output") -> None:
    """Raises CheckFailed unless the value is a tensor on `meta` of that shape."""
    shaped(value, expected_shape, what)
    if value.device.type != "meta":
        raise CheckFailed(f"The device of {what} should be the inputs', but it is {value.device.type}.")


def on_cuda(submission: Submission) -> None:
    """Skips the check where there is no GPU."""
    if "cuda" not in submission.devices():
        pytest.skip("no GPU on this machine")


def stayed_on_cuda(submission: Submission, what: str = "The output is", where: str = "where the input is") -> None:
    """Raises CheckFailed unless all tensors that the last call returned are on the GPU."""
    if submission.last.devices != ["cuda"]:
        raise CheckFailed(f"{what} not on the GPU, {where}.")


def name_of(dtype: torch.dtype) -> str:
    """The short name of a dtype: "float32" for torch.float32."""
    return wire.DTYPE_NAMES.get(dtype, str(dtype))


def kind_of(value: object) -> str:
    """A few words that describe a value."""
    if value is None:
        return "None"
    if isinstance(value, torch.Tensor):
        return f"a single tensor of shape {tuple(value.shape)}"
    if isinstance(value, (tuple, list)):
        return f"a {type(value).__name__} of {len(value)} parts"
    if isinstance(value, wire.Opaque):
        return f"something of type {value.name}"
    return f"a {type(value).__name__}"


def number(value: Any) -> Any:
    """The value of a tensor with one element as a plain number; anything else as it is."""
    return value.item() if isinstance(value, torch.Tensor) and value.numel() == 1 else value


def length(value: Any) -> int | None:
    """The length of a list, a tuple or a tensor (n,); None for anything else."""
    is_row = isinstance(value, torch.Tensor) and value.dim() == 1 and value.device.type != "meta"
    return len(value) if is_row or isinstance(value, (list, tuple)) else None


def numbers(value: Any, many: int) -> list[Any]:
    """The parts of a list, a tuple or a tensor (n,) of length `many`; those that are numbers become plain numbers.

    The length is checked first, so an answer of millions is never turned into a list. Raises CheckFailed.
    """
    if length(value) != many:
        raise CheckFailed(f"There should be {many} numbers in a row, but it returned {kind_of(value)}.")
    return [number(one) for one in (value.tolist() if isinstance(value, torch.Tensor) else value)]
