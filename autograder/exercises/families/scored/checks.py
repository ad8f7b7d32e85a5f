"""Checks that `capped_attention` and `sink_attention` share: a fourth argument changes the weights of attention.

Both take (…, t, d), (…, s, d), (…, s, dv), that argument and a mask, and return `(output, weights)`. Checks that are
not about the fourth argument give it a mild value, for which the result is nearly that of plain attention, so that a
slip there does not cost everything. Checks that are not about values start with `finding`, an easy case.
"""

from collections.abc import Sequence
from typing import Any

import torch

from ....checks.api import (
    HUGE,
    HUGE_TOLERANCE,
    CheckFailed,
    Draw,
    check,
    close,
    gate,
    gradient,
    on_cuda,
    on_meta,
    pair,
    shape,
    stayed_on_cuda,
    tensor,
    unchanged,
)
from ....checks.gates import easy_case
from ....checks.proxies import Proxy, Submission
from ...reference import qkv
from .. import easy_cases
from ..attention.checks import DV, B, D, H, S, T, inputs, parts, sizes

E = 4  # where all sizes are equal
PARTS = ("query", "key", "value")


def extreme(draw: Draw, negative: bool = False) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """A query, a key and a value whose largest score is 1e4 in size; if `negative`, all are around -1e4."""
    query, key, value = inputs(draw, B, H)
    if negative:
        direction = draw.normal(1, 1, 1, D).abs() + 1
        query, key = direction.expand(B, H, T, D).clone(), -direction * (1 + 1e-3 * key)
    query *= HUGE * D**0.5 / (query @ key.mT).abs().max().item()
    return query, key, value


class ScoredChecks:
    """The checks of attention with a fourth argument."""

    exercise: str

    def fourth(self, draw: Draw, heads: int = H, dtype: torch.dtype = torch.float32) -> Any:
        """A fourth argument that changes the weights a lot."""
        raise NotImplementedError

    def mild(self, heads: int = H, dtype: torch.dtype = torch.float32) -> Any:
        """One that hardly changes them, for scores of a usual size."""
        raise NotImplementedError

    def slips(self, scores: torch.Tensor) -> Sequence[torch.Tensor]:
        """What a slip in the fourth argument makes of mild scores, but for a factor."""
        return ()

    def strongest(self, heads: int = H) -> Sequence[Any]:
        """Fourth arguments of extreme size."""
        raise NotImplementedError

    def right(self, *given: Any, mask: torch.Tensor | None = None) -> tuple[torch.Tensor, torch.Tensor]:
        """What is right for a query, a key, a value and a fourth argument."""
        raise NotImplementedError

    def both(
        self, got: Any, given: Sequence[Any], mask: torch.Tensor | None = None, what: str = "", **how: Any
    ) -> None:
        """Raises CheckFailed unless `got` holds the right output and weights for a query, key, value and fourth."""
        output, weights = parts(got, given)
        right_output, right_weights = self.right(*given, mask=mask)
        if weights is not None:
            close(weights, right_weights, f"the weights{what}", **how)
        close(output, right_output, f"the output{what}", **how)

    def finding(self, submission: Submission, draw: Draw) -> Proxy:
        """The function, after each query found its key in an easy case."""
        self.finds(submission, draw)
        return submission.function(self.exercise)

    @easy_case
    def finds(self, submission: Submission, draw: Draw) -> None:
        """Raises CheckFailed unless each of four queries gives most weight to the one key that it fits.

        Where all fit to some degree, the weights must be those of a softmax. No slip in the scale, the mask or the
        fourth argument changes that.
        """
        query, key, scores, partner = easy_cases.matches(draw)
        found = torch.cat([torch.eye(4), torch.ones(4, 1)], dim=1).expand(2, 1, 4, 5).clone()
        given = query[:, None], key[:, None], found, self.mild(1)
        output, _ = parts(submission.function(self.exercise)(*given), given)
        shape(output, (2, 1, 4, 5))
        weights, total = output.detach().double()[:, 0].split([4, 1], dim=-1)
        most = (weights[1] * partner).sum(-1)
        others = weights[1].masked_fill(partner.bool(), 0.0).amax(-1)
        if not ((most > 1.05 * others) & (weights[1].amin(-1) > -1e-6)).all():
            raise CheckFailed("A query does not give most of its weight to the one key that fits it.")
        if not ((0.2 < total[1]) & (total[1] < 1.1)).all():
            raise CheckFailed("The weights of a query do not sum to about 1.")
        if not any(easy_cases.is_softmax(weights[0], made) for made in (scores, *self.slips(scores))):
            raise CheckFailed("The weights of mild scores are not those that a softmax of the scores gives.")

    def unmasked(self, submission: Submission, draw: Draw) -> Proxy:
        """The function, after it was right without a mask."""
        self.right_unmasked(submission, draw)
        return submission.function(self.exercise)

    @easy_case
    def right_unmasked(self, submission: Submission, draw: Draw) -> None:
        """Raises CheckFailed unless it is right without a mask, so that a failure there is not blamed on masks."""
        given = *inputs(draw, B, H), self.mild()
        self.both(submission.function(self.exercise)(*given), given, what=" without a mask")

    @check("shape", points=0.125)
    def test_shapes(self, submission: Submission, draw: Draw) -> None:
        """It returns the pair `(output, weights)`, of shapes (b, h, t, dv) and (b, h, t, s)."""
        given = *inputs(draw, B, H), self.mild()
        output, weights = pair(self.finding(submission, draw)(*given))
        shape(output, sizes(given)[0])
        shape(weights, sizes(given)[1], "the weights")

    @check("values", points=0.125)
    def test_weights(self, submission: Submission, draw: Draw) -> None:
        """The weights are right."""
        given = *inputs(draw, B, H), self.fourth(draw)
        got = [submission.function(self.exercise)(*given)]
        same = *[2 * draw.normal(E, E, E, E) for _ in range(3)], self.fourth(draw, E)
        got.append(submission.function(self.exercise)(*same))
        for one, each in zip(got, (given, same), strict=True):
            close(pair(one)[1], self.right(*each)[1], "the weights")

    @check("values", points=0.125)
    def test_output(self, submission: Submission, draw: Draw) -> None:
        """The output is the sum of the values, each times its weight."""
        given = *inputs(draw, B, H), self.fourth(draw)
        close(parts(submission.function(self.exercise)(*given), given)[0], self.right(*given)[0])

    @check("values", points=0.125)
    def test_without_effect(self, submission: Submission, draw: Draw) -> None:
        """It is plain attention."""
        attention = self.finding(submission, draw)
        cases = [(*inputs(draw, B, H), self.mild()), (*inputs(draw, 1, 9), self.mild(9))]
        long = draw.normal(1, 2, 33, 3), draw.normal(1, 2, 65, 3), draw.normal(1, 2, 65, 4), self.mild(2)
        got = [attention(*given) for given in (*cases, long)]
        for one, given in zip(got, (*cases, long), strict=True):
            self.both(one, given)

    @check("masking", points=0.125)
    def test_mask(self, submission: Submission, draw: Draw) -> None:
        """A key that is masked out gets a weight of exactly 0; any mask that broadcasts to the scores will do."""
        attention = self.unmasked(submission, draw)
        given = *inputs(draw, B, H), self.mild()
        masks = [draw.mask(*form) for form in [(T, S), (B, 1, 1, S), (B, H, T, S), (H, 1, S)]]
        got = [attention(*given, mask) for mask in masks]
        masks.append(draw.mask(S))
        got.append(attention(*given, mask=masks[-1]))
        for one, mask in zip(got, masks, strict=True):
            self.both(one, given, mask, f" with a mask of shape {tuple(mask.shape)}")
            _, weights = parts(one, given)
            if weights is not None and weights.masked_select(~mask).any():
                raise CheckFailed("The weights of masked keys are tiny, but not 0.")

    @check("masking", points=0.125)
    def test_mask_and_fourth(self, submission: Submission, draw: Draw) -> None:
        """What is masked out takes no part."""
        given, mask = (*inputs(draw, B, H), self.fourth(draw)), draw.mask(B, H, T, S)
        attention = self.unmasked(submission, draw)
        with gate():
            self.both(attention(*given), given, what=" without a mask")
        self.both(attention(*given, mask), given, mask, " with a mask")

    @check("masking", points=0.125)
    def test_nothing_to_attend_to(self, submission: Submission, draw: Draw) -> None:
        """A query that may attend to nothing gets weights 0 and output 0, not NaN."""
        attention = self.finding(submission, draw)
        given, row = (*inputs(draw, B, H), self.fourth(draw)), draw.integer(0, T - 1)
        mask, column = draw.mask(B, 1, T, S), torch.ones(T, 1, dtype=torch.bool)
        mask[:, :, row], column[row] = False, False
        for output, weights in [parts(attention(*given, one), given) for one in (mask, column)]:
            shape(output, (B, H, T, DV))
            if weights is not None:
                shape(weights, (B, H, T, S), "the weights")
                close(weights[:, :, row], torch.zeros(B, H, S), "what a query that sees nothing gets as weights")
            close(output[:, :, row], torch.zeros(B, H, DV), "what a query that sees nothing gets as output")

    @check("gradients", points=0.125)
    def test_gradients(self, submission: Submission, draw: Draw) -> None:
        """The output and the weights pass the right gradients back to query, key and value."""
        self.right_gradients(submission, draw, None, self.mild())
        self.right_gradients(submission, draw, draw.mask(B, H, T, S), self.mild())

    @check("gradients", points=0.125)
    def test_gradients_with_nothing_to_attend_to(self, submission: Submission, draw: Draw) -> None:
        """With a query that may attend to nothing, all gradients are still finite and right."""
        with gate():
            self.right_gradients(submission, draw, None, self.mild())
        mask = draw.mask(B, 1, T, S)
        mask[:, :, draw.integer(0, T - 1)] = False
        self.right_gradients(submission, draw, mask, self.mild())

    def right_gradients(
        self,
        submission: Submission,
        draw: Draw,
        mask: torch.Tensor | None,
        fourth: Any,
        named: Sequence[str] = ("query", "key", "value"),
    ) -> None:
        """Raises CheckFailed unless the gradients of random numbers times output and weights are the reference's.

        They are asked for `named` and, if it requires one, for the fourth argument.
        """
        given = [x.requires_grad_(name in named) for x, name in zip(inputs(draw, B, H), PARTS, strict=True)]
        upstream = draw.normal(B, H, T, DV), draw.normal(B, H, T, S)
        got = submission.function(self.exercise).gradients(*given, fourth, mask, upstream=upstream)
        learns = isinstance(fourth, torch.Tensor) and fourth.requires_grad
        wanted = [*(x for x in given if x.requires_grad), *([fourth] if learns else [])]
        expected = qkv.gradients(self.right(*given, fourth, mask=mask), upstream, wanted)
        for name, one, right in zip((*named, *(["sink"] if learns else [])), got.inputs, expected, strict=True):
            gradient(one, right, f"the {name}")

    @check("numerics", points=0.125)
    def test_extreme_scores(self, submission: Submission, draw: Draw) -> None:
        """Scores of ±10,000 give no NaN and no infinity, and the right weights."""
        attention = self.finding(submission, draw)
        cases = [(*extreme(draw), self.mild()), (*extreme(draw, negative=True), self.mild())]
        cases += [(*inputs(draw, B, H), strongest) for strongest in self.strongest()]
        cases += [(*extreme(draw), strongest) for strongest in self.strongest()]
        got = [attention(*given) for given in cases]
        for one, given in zip(got, cases, strict=True):
            self.both(one, given, tolerance=HUGE_TOLERANCE)

    @check("numerics", points=0.125)
    def test_dtypes(self, submission: Submission, draw: Draw) -> None:
        """float64, float32, float16 and bfloat16 in, the same out, as accurate as each of them allows."""
        attention, dtypes = (
            self.finding(submission, draw),
            (torch.float64, torch.float32, torch.float16, torch.bfloat16),
        )
        given = [(*inputs(draw, B, H, dtype=dtype, d=3), self.fourth(draw, dtype=dtype)) for dtype in dtypes]
        mask = draw.mask(T, S)
        got = [[attention(*each, one) for each in given] for one in (None, mask)]
        for answers, one in zip(got, (None, mask), strict=True):
            for answer, each, dtype in zip(answers, given, dtypes, strict=True):
                self.both(answer, each, one, dtype=dtype)

    @check("device", points=0.125)
    def test_device(self, submission: Submission, draw: Draw) -> None:
        """Output and weights lie on the device of the inputs, and nothing is made elsewhere (tried on `meta`)."""
        attention, given = self.finding(submission, draw), (*inputs(draw, B, H), self.mild())
        got = [attention.on("meta", *given, mask) for mask in (None, draw.mask(B, H, T, S))]
        for output, weights in [parts(one, given) for one in got]:
            on_meta(output, (B, H, T, DV))
            if weights is not None:
                on_meta(weights, (B, H, T, S), "the weights")

    @check("shape", points=0.125)
    def test_small_and_odd_inputs(self, submission: Submission, draw: Draw) -> None:
        """One query, one key, a batch of one, no keys at all, and tensors that are not contiguous work as well."""
        attention = self.finding(submission, draw)
        one = draw.normal(1, 1, 1, D), draw.normal(1, 1, 1, D), draw.normal(1, 1, 1, DV), self.mild(1)
        none = draw.normal(B, H, T, D), torch.zeros(B, H, 0, D), torch.zeros(B, H, 0, DV), self.mild()
        turned = [draw.normal(B, H, D, T).mT, draw.normal(B, S, H, D).transpose(1, 2), draw.normal(B, H, DV, S).mT]
        turned = *turned, self.mild()
        got = [attention(*given) for given in (one, none, turned)]
        for each, given, what in zip(
            got, (one, none, turned), ("one query and one key", "no keys", "transposed tensors"), strict=True
        ):
            self.both(each, given, what=f" for {what}")

    @check("mode", points=0.125, witnessed=True)
    def test_again(self, submission: Submission, draw: Draw) -> None:
        """What is given stays as it was, and a second call with the same gives the same."""
        attention = self.finding(submission, draw)
        given, mask = (*inputs(draw, B, H), self.fourth(draw)), draw.mask(B, H, T, S)
        mask[:, :, draw.integer(0, T - 1)] = False
        first = parts(attention(*given, mask), given)
        unchanged(submission)
        attention(*given)
        unchanged(submission)
        second = parts(attention(*given, mask), given)
        for one, other in zip(first, second, strict=True):
            if one is not None:
                close(tensor(other), tensor(one), "what the second call returns")

    @check("device", points=0)
    def test_cuda(self, submission: Submission, draw: Draw) -> None:
        """On a GPU the values are the same, in float32 and in float16."""
        on_cuda(submission)
        for dtype in (torch.float32, torch.float16):
            given, mask = (*inputs(draw, B, H, dtype=dtype), self.fourth(draw, dtype=dtype)), draw.mask(T, S)
            got = submission.function(self.exercise).on("cuda", *given, mask)
            stayed_on_cuda(submission, "What is returned is", "where the inputs are")
            self.both(got, given, mask, dtype=dtype)
