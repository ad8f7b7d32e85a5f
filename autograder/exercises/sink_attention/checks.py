"""Checks of `sink_attention(query, key, value, sink, mask=None)`.

(b, h, t, d), (b, h, s, d), (b, h, s, dv), (h,) and a mask -> (b, h, t, dv), (b, h, t, s).
"""

from typing import Any

import torch

from ...checks import steps
from ...checks.api import Draw, check, close, gate, tensor
from ...checks.proxies import Submission
from ..families.attention.checks import B, D, H, S, T, inputs, parts
from ..families.scored.checks import ScoredChecks
from ..reference import long, qkv

FAR = -10000.0  # a sink so far below all scores takes nothing, in any dtype


class TestSinkAttention(ScoredChecks):
    exercise = "sink_attention"
    points = {"test_weights": 0.5}
    sentences = {
        "test_weights": "The sink's logit takes part in the softmax, and the weights of the keys alone are returned.",
        "test_without_effect": "A sink far below all scores takes nothing: the result is plain attention.",
        "test_mask_and_fourth": "The mask hides keys and never the sink, which takes its share of what is left.",
        "test_nothing_to_attend_to": "Where all keys are hidden the sink takes everything: weights 0 and output 0, no"
        " NaN.",
        "test_extreme_scores": "Scores of ±10,000 give no NaN and no infinity, and neither does a sink of ±10,000.",
    }

    def fourth(
        self, draw: Draw, heads: int = H, dtype: torch.dtype = torch.float32, grad: bool = False
    ) -> torch.Tensor:
        sink = 1 + draw.normal(heads)
        return sink.to(dtype).requires_grad_(grad)

    def mild(self, heads: int = H, dtype: torch.dtype = torch.float32) -> torch.Tensor:
        return torch.full((heads,), FAR, dtype=dtype)

    def strongest(self, heads: int = H) -> tuple[torch.Tensor, torch.Tensor]:
        return torch.tensor([-FAR, 0.0, FAR]), torch.tensor([FAR, -FAR, -FAR])

    def right(self, *given: Any, mask: torch.Tensor | None = None) -> tuple[torch.Tensor, torch.Tensor]:
        return long.sink_attention(*given, mask=mask)

    @check("values", points=0.125)
    def test_sums(self, submission: Submission, draw: Draw) -> None:
        """Each row of weights sums to less than 1: to σ(lse - sink), and the rest is the sink's, which has no value."""
        attention, given = self.finding(submission, draw), (*inputs(draw, B, H), self.fourth(draw))
        output, weights = parts(attention(*given), given)
        lse = long.scores_of(*given[:2]).logsumexp(dim=-1)
        share = torch.sigmoid(lse - given[3][:, None])
        if weights is not None:
            close(tensor(weights, "the weights").double().sum(-1), share, "the sums of the weights")
        close(output, share[..., None] * qkv.attention(*given[:3])[0])

    @check("values", points=0.25)
    def test_each_head_has_its_own(self, submission: Submission, draw: Draw) -> None:
        """Each head has a sink of its own, also where there are as many heads as sequences, queries and keys."""
        attention, n = self.finding(submission, draw), 3
        query, key, value = (draw.normal(n, n, n, n) for _ in range(3))
        sinks = torch.tensor([FAR, 0.0, -FAR])[torch.randperm(n, generator=draw.generator)]
        given = query, key, value, sinks
        self.both(attention(*given), given)

    @check("gradients", points=0.25)
    def test_gradient_of_the_sink(self, submission: Submission, draw: Draw) -> None:
        """The sink is learnt: it gets a gradient, the right one, and so does everything beside it."""
        with gate():
            self.right_gradients(submission, draw, None, self.mild())
        self.right_gradients(submission, draw, None, self.fourth(draw, grad=True))
        self.right_gradients(submission, draw, draw.mask(B, 1, T, S), self.fourth(draw, grad=True), named=())

    @check("gradients", points=0.125)
    def test_gradients_where_the_sink_takes_all(self, submission: Submission, draw: Draw) -> None:
        """Where all keys are hidden and the sink takes everything, all gradients are finite and right."""
        with gate():
            self.right_gradients(submission, draw, None, self.fourth(draw))
        mask = draw.mask(B, 1, T, S)
        mask[:, :, draw.integer(0, T - 1)] = False
        self.right_gradients(submission, draw, mask, self.fourth(draw, grad=True))

    @check("values", points=0.125)
    def test_zero_sink(self, submission: Submission, draw: Draw) -> None:
        """A sink of 0 does what a key of zeros would do that has a value of zeros."""
        attention, given = self.finding(submission, draw), [*inputs(draw, B, H), torch.zeros(H)]
        output, weights = parts(attention(*given), given)
        longer = [given[0], *(torch.cat([x, torch.zeros_like(x[..., :1, :])], dim=-2) for x in given[1:3])]
        right_output, right_weights = qkv.attention(*longer)
        close(output, right_output)
        if weights is not None:
            close(weights, right_weights[..., :-1], "the weights")


def wrong_step(submission: Submission, draw: Draw) -> steps.Step | None:
    """The first step of plain attention that is wrong, with a sink that takes nothing."""
    attention = submission.function("sink_attention")

    def case(times: float) -> steps.Case:
        query, key, value = draw.normal(B, 2, T, D), times * draw.normal(B, 2, 3, D), draw.normal(B, 2, 3, D)
        given = query, key, value, torch.full((2,), FAR)
        return steps.Case(parts(attention(*given), given)[0], long.sink_attention(*given)[0], value)

    return steps.first_wrong(lambda: case(0), lambda: case(1))
