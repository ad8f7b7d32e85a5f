"""Checks of `capped_attention(query, key, value, cap, mask=None)`.

(…, t, d), (…, s, d), (…, s, dv), a number and a mask -> (…, t, dv), (…, t, s).
"""

import math
from typing import Any

import torch

from ...checks import steps
from ...checks.api import CheckFailed, Draw, check, close, shape, tensor
from ...checks.proxies import Submission
from ..families.attention.checks import B, D, H, S, T, inputs, parts, sizes
from ..families.scored.checks import ScoredChecks
from ..reference import long


class TestCappedAttention(ScoredChecks):
    exercise = "capped_attention"
    points = {"test_weights": 0.75, "test_mask_and_fourth": 0.375}
    sentences = {
        "test_weights": "The scores / √d become cap · tanh(score / cap), and the weights are a softmax of these.",
        "test_without_effect": "A cap far above all scores changes hardly anything: the result is plain attention.",
        "test_mask_and_fourth": "The mask comes after the cap: what is masked out keeps a score of -inf, not of -cap.",
        "test_extreme_scores": "Scores of ±10,000 give no NaN and no infinity, whether the cap is large or small.",
    }

    def fourth(self, draw: Draw, heads: int = H, dtype: torch.dtype = torch.float32) -> float:
        return draw.integer(8, 14) / 8  # exact in any dtype

    def mild(self, heads: int = H, dtype: torch.dtype = torch.float32) -> float:
        return 1024.0

    def slips(self, scores: torch.Tensor) -> list[torch.Tensor]:
        return [scores.square()]  # times their tanh instead of the cap

    def strongest(self, heads: int = H) -> tuple[float, float]:
        return 1 / 64, 50.0

    def right(self, *given: Any, mask: torch.Tensor | None = None) -> tuple[torch.Tensor, torch.Tensor]:
        return long.capped_attention(*given, mask=mask)

    @check("values", points=0.125)
    def test_caps(self, submission: Submission, draw: Draw) -> None:
        """However far apart two scores are, one weight is never more than exp(2 · cap) times as large as another."""
        attention = self.finding(submission, draw)
        query, key, value = inputs(draw, B, H)
        cases = [(20 * query, key, value, cap) for cap in (0.5, 1.0, 3.0)]
        got = [parts(attention(*given), given)[1] for given in cases]
        for weights, given in zip(got, cases, strict=True):
            shape(weights, sizes(given)[1], "the weights")
            weights, cap = tensor(weights, "the weights").detach().double(), given[3]
            ratio = (weights.amax(-1) / weights.amin(-1).clamp(min=1e-30)).max().item()
            if not ratio <= math.exp(2 * cap) * 1.001:
                raise CheckFailed(
                    f"With a cap of {cap:g}, a weight is {ratio:.3g} times as large as another of its row, and"
                    f" exp(2 · {cap:g}) is {math.exp(2 * cap):.3g}: scores go beyond the cap."
                )
            close(weights, self.right(*given)[1], "the weights")

    @check("gradients", points=0.125)
    def test_gradients_through_the_cap(self, submission: Submission, draw: Draw) -> None:
        """Gradients go through the tanh as well: a score near the cap hardly moves any more."""
        self.right_gradients(submission, draw, None, self.fourth(draw))
        self.right_gradients(submission, draw, draw.mask(B, H, T, S), self.fourth(draw))

    @check("shape", points=0.125)
    def test_leading_dimensions(self, submission: Submission, draw: Draw) -> None:
        """Any number of leading dimensions will do: none, a batch, or three; and the cap may be a whole number."""
        attention = self.finding(submission, draw)
        cases = {"no": inputs(draw), "one": inputs(draw, B), "three": inputs(draw, 2, B, H)}
        cases = {many: (*given, self.mild()) for many, given in cases.items()}
        got = [attention(*given) for given in cases.values()]
        whole = *inputs(draw, B, H), 1000
        got_whole = attention(*whole)
        for one, (many, given) in zip(got, cases.items(), strict=True):
            self.both(one, given, what=f" with {many} leading dimensions")
        self.both(got_whole, whole, what=" with a whole number as cap")


def wrong_step(submission: Submission, draw: Draw) -> steps.Step | None:
    """The first step of plain attention that is wrong, with a cap that hardly matters."""
    attention = submission.function("capped_attention")

    def case(times: float) -> steps.Case:
        query, key, value = draw.normal(B, T, D), times * draw.normal(B, 3, D), draw.normal(B, 3, D)
        given = query, key, value, 1024.0
        return steps.Case(parts(attention(*given), given)[0], long.capped_attention(*given)[0], value)

    return steps.first_wrong(lambda: case(0), lambda: case(1))
