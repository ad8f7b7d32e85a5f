"""Finds the first step of attention at which an answer goes wrong, in small cases in which later steps do nothing.

With keys of 0 all scores are equal, and only the values and their average count. In the usual case the scores count as
well: there are fewer tokens than features, so the weights can be read off the output. One head and an output projection
that changes nothing come before several heads and a random projection.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple, TypeAlias

from ..sandbox.inside.later import torch
from .api import FAILURES, CheckFailed, close
from .numeric import largest

Weights: TypeAlias = dict[str, Any]  # tensors by name

NEAR = 1e-3  # how near to a number a weight has to be that is read off an output in float32
HIDDEN = 1e-9  # a right weight below this is 0
EVEN = 1e-3  # logarithms of weights that differ by less are the same
TELLING = 2  # tokens that say that a mask is the wrong way round: one may be another mistake's work
SAYS = {
    "nothing": "Every token gets 0: look at what happens to the values, and to the weights that average them.",
    "size": "With equal scores each token gets {:.3g} times the average of the values that it may see: look at what"
    " multiplies the weights, the values or the output.",
    "values": "With equal scores each token should get the average of the values that it may see, but it gets something"
    " else: look at how the values are made, averaged and put together.",
    "mask": "A token gets something from tokens that it must not see: look at the mask.",
    "sign": "The mask is the wrong way round: tokens get what they must not see, and nothing of what they may see.",
    "unseen": "With equal scores a token gets nothing from another one that it may see: look at the mask, or at what"
    " else leaves tokens out.",
    "softmax": "The weights of a token do not sum to 1, or some are below 0: look at how scores become weights.",
    "scale": "The weights are those of scores {:.3g} times as large as they should be: look at the scale.",
    "order": "Each value gets the weight of another token's key: keys and values do not come in the same order.",
    "scores": "The weights do not fit the scores: look at how queries and keys are made and multiplied, and at what"
    " happens to their products.",
    "even": "Each token gets the plain average of the values that it may see, whatever the scores: look at whether the"
    " weights of the softmax are used, and at what makes all scores equal.",
    "heads": "With one head the output is right, with several it is not: look at how heads are cut, scaled"
    " and put together.",
    "projection": "Without the last projection the output would be right: look at that projection.",
}


class Case(NamedTuple):
    """A small call: the student's and the right output, (…, t, w), and the values (…, s, w) to be mixed, s < w.

    >>> weights, values = torch.tensor([[0.25, 0.75]]), draw.normal(2, 3)
    >>> steps.Case(weights @ values, weights @ values, values).is_right
    True
    """

    got: Any
    right: torch.Tensor
    values: torch.Tensor

    @property
    def is_right(self) -> bool:
        try:
            close(self.got, self.right)
        except CheckFailed:
            return False
        return True

    @property
    def has_numbers(self) -> bool:
        """Whether a tensor came, without NaN and infinity."""
        return isinstance(self.got, torch.Tensor) and bool(self.got.isfinite().all())

    @property
    def got_any(self) -> bool:
        """Whether something came that is not 0."""
        return not isinstance(self.got, torch.Tensor) or bool(self.got.any())

    def weights(self) -> torch.Tensor | None:
        """The weights (…, t, s) with which the values were mixed; None if the output is not a mixture of them."""
        if not isinstance(self.got, torch.Tensor) or self.got.shape != self.right.shape:
            return None
        got, values = self.got.double(), self.values.double()
        if not got.isfinite().all():
            return None
        weights = got @ torch.linalg.pinv(values)
        return weights if torch.allclose(weights @ values, got, atol=NEAR * largest(got)) else None

    def factor(self) -> float | None:
        """How many times too large all weights are; None if that differs: then it need not be the weights' fault."""
        weights, right = self.weights(), self.right_weights()
        if weights is None:
            return None
        times = (weights * right).sum() / (right * right).sum()
        return times.item() if torch.allclose(weights, times * right, atol=NEAR * max(1.0, abs(times.item()))) else None

    def right_weights(self) -> torch.Tensor:
        return self.right.double() @ torch.linalg.pinv(self.values.double())

    def is_masked_the_other_way(self) -> bool:
        """Whether tokens get all that they must not see, and nothing of what they may see.

        It goes by the tokens from which some are hidden, and some are not: at least TELLING. What becomes of one that
        may see all depends on the number that hides: NaN, or the mean of all.
        """
        if not isinstance(self.got, torch.Tensor) or self.got.shape != self.right.shape:
            return False
        hidden = self.right_weights().abs() <= HIDDEN
        telling = hidden.any(-1) & ~hidden.all(-1)
        if telling.sum() < TELLING or not self.got[telling].isfinite().all():
            return False
        weights = self._replace(got=torch.where(telling[..., None], self.got, 0.0)).weights()
        if weights is None:
            return False
        weights, hidden = weights[telling], hidden[telling]
        whole = ((weights.sum(-1) - 1).abs() < NEAR).all()
        return bool(whole and (weights[hidden] > NEAR).all() and (weights[~hidden].abs() < NEAR).all())


class Step(NamedTuple):
    """A step of attention, a key of `SAYS`, and what is wrong there."""

    name: str
    says: str


def first_wrong(
    even: Callable[[], Case], usual: Callable[[], Case], *later: tuple[str, Callable[[], Case]]
) -> Step | None:
    """The first step of attention that is wrong; None if none is, or if a case ends with an error.

    `even` makes a case with equal scores, `usual` one with different ones. `later` are steps by name, each with a case
    in which it counts. It says nothing about NaN and infinity, nor about an output that is not a tensor.

    >>> def case(scores):
    ...     values = draw.normal(3, 4)
    ...     output, _ = submission.function("attend")(2 * scores, values)  # as code with a wrong scale would
    ...     return steps.Case(output, torch.softmax(scores, -1) @ values, values)
    >>> steps.first_wrong(lambda: case(torch.zeros(3, 3)), lambda: case(draw.normal(3, 3))).says
    'The weights are those of scores 2 times as large as they should be: look at the scale.'
    """
    try:
        if not (case := even()).is_right:
            if case.is_masked_the_other_way():
                return _step("sign")
            return _of_average(case, usual) if case.has_numbers else None
        if not (case := usual()).is_right:
            found = _of_weights(case)
            # what looks like a factor may be one of this case alone
            return _step("scores") if found and found.name == "scale" and _of_weights(usual()) != found else found
        for name, make in later:
            if not (case := make()).is_right:
                return _of_mask(case) if name == "mask" else _step(name)
        return None
    except FAILURES:
        return None


def first_wrong_of_layers(
    case: Callable[[Weights], Case], draw: Callable[[], Weights], key: str, *later: tuple[str, Callable[[], Case]]
) -> Step | None:
    """The same for a module: `case` makes a case with the weights that it gets, `key` names those of its keys.

    >>> def case(state):
    ...     queries, values = draw.normal(2, 3), draw.normal(2, 3)
    ...     scores = queries @ (values @ state["key.weight"].mT).mT
    ...     output, _ = submission.function("attend")(scores, values)
    ...     return steps.Case(output, torch.softmax(scores, -1) @ values, values)
    >>> print(steps.first_wrong_of_layers(case, lambda: draw.state({"key.weight": (3, 3)}), "key.weight"))
    None
    """
    even = draw()
    even[key].zero_()
    return first_wrong(lambda: case(even), lambda: case(draw()), *later)


def _step(name: str, *numbers: float) -> Step:
    return Step(name, SAYS[name].format(*numbers))


def _of_average(case: Case, usual: Callable[[], Case]) -> Step:
    """What is wrong in a case with equal scores."""
    if not case.got_any and not usual().got_any:
        return _step("nothing")
    times = case.factor()
    if times is not None:
        return _step("values") if abs(times) < NEAR else _step("softmax" if _sums_differ(usual()) else "size", times)
    found = _of_weights(case)
    if found and found.name in ("scale", "scores"):  # scores that are nearly equal have no size
        weights, right = case.weights(), case.right_weights()
        left_out = weights is not None and ((weights.abs() < NEAR) & (right > 10 * NEAR)).any()
        return _step("unseen" if left_out else "scores")
    return found or _step("values")


def _of_mask(case: Case) -> Step | None:
    """What is wrong in a case with a mask, where all is right without one."""
    if case.is_masked_the_other_way():
        return _step("sign")
    found = _of_weights(case)
    return found if found and found.name in ("softmax", "mask") else None


def _sums_differ(case: Case) -> bool:
    """Whether the weights sum to more in one row than in another: a factor of values or output leaves them equal."""
    if (weights := case.weights()) is None:
        return False
    sums = weights.sum(-1)
    return largest(sums - sums.mean()) > NEAR * largest(sums)


def _of_weights(case: Case) -> Step | None:
    """What is wrong with the weights of a case; None if its values are not mixed by any weights."""
    weights = case.weights()
    if weights is None:
        return None
    right = case.right_weights()
    seen = right > HIDDEN
    if _is_rearranged(weights, right):
        return _step("order")
    if (weights < -NEAR).any():
        return _step("softmax")
    if (weights[~seen].abs() > NEAR).any():
        return _step("mask")
    if ((weights.sum(-1) - 1).abs() > NEAR).any():
        return _step("softmax")
    scores, expected = (_centred(one.clamp(min=HIDDEN).log(), seen) for one in (weights, right))
    if largest(scores) < EVEN:
        return _step("even")
    times = ((scores * expected).sum() / (expected * expected).sum()).item()
    if times > 0 and torch.allclose(scores, times * expected, atol=0.02):
        return _step("scale", times)
    return _step("scores")


def _is_rearranged(weights: torch.Tensor, right: torch.Tensor) -> bool:
    """Whether the weights (…, t, s) are the right ones, but those of other keys, which are the same for all queries."""
    apart = (weights[..., :, None] - right[..., None, :]).abs().flatten(0, -3).amax(0)  # (s, s)
    found, nearest = apart.min(0)
    own = torch.arange(len(nearest))
    return bool((found < NEAR).all() and (nearest != own).any() and (nearest.sort().values == own).all())


def _centred(scores: torch.Tensor, seen: torch.Tensor) -> torch.Tensor:
    """Scores less their mean over the keys that each query sees; 0 where it sees nothing."""
    scores = torch.where(seen, scores, 0.0)
    return torch.where(seen, scores - scores.sum(-1, keepdim=True) / seen.sum(-1, keepdim=True), 0.0)
