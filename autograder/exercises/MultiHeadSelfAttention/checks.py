"""Checks of `MultiHeadSelfAttention(k, h=4)`: (t, k) -> (t, k), with a batch or without."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import torch

from ...checks.api import Draw, check, close, tensor
from ...checks.proxies import Proxy, StudentError, Submission
from ..families.many_heads.checks import Layout, NarrowHeadChecks, Sizes, first_of, parameters_of, plain


def build(submission: Submission, sizes: Sizes, dropout: float, bias: bool) -> Proxy:
    return submission.build("MultiHeadSelfAttention", sizes.d_in, sizes.heads)


class TestMultiHeadSelfAttention(NarrowHeadChecks):
    layout = Layout(
        exercise="MultiHeadSelfAttention",
        names=("toqueries", "tokeys", "tovalues", "unifyheads"),
        build=build,
        sizes=Sizes(d_in=12, width=4, heads=3, d_out=12),
        plain_sizes=Sizes(d_in=12, width=3, heads=4, d_out=12),
        square=Sizes(d_in=16, width=4, heads=4, d_out=16, b=4, n=4),
        large=(
            Sizes(d_in=32, width=2, heads=16, d_out=32, b=9, n=3),
            Sizes(d_in=36, width=18, heads=2, d_out=36, b=2, n=70),
        ),
        unbatched=True,
    )

    def output(self, call: Callable[[torch.Tensor], Any], x: torch.Tensor) -> Any:
        """What a call gives for a batch; if that stops with an error, for one sequence after another."""
        try:
            return first_of(call(x))
        except StudentError as error:
            sequences = [first_of(call(one)) for one in x]
            if any(not isinstance(one, torch.Tensor) or one.shape != sequences[0].shape for one in sequences):
                raise error from None
            return torch.stack(sequences)

    @check("shape", points=0.5)
    def test_parameters(self, submission: Submission, draw: Draw) -> None:
        """The parameters are those of the four layers, each k wide, and no others; without a second argument h is 4."""
        layout = self.layout
        self.averaging(submission, draw)
        sizes = Sizes(8, 2, 4, 8)
        usual, three = submission.build("MultiHeadSelfAttention", 8), submission.build("MultiHeadSelfAttention", 9, h=3)
        parameters_of(layout, usual, sizes)
        parameters_of(layout, three, Sizes(9, 3, 3, 9))
        four, state, x = submission.build("MultiHeadSelfAttention", 8, 4), plain(draw, sizes), draw.normal(2, 5, 8)
        for module in (usual, four):
            layout.load(module.eval(), state, sizes)
        got, expected = self.output(usual, x), self.output(four, x)
        close(got, tensor(expected).double(), "the output without a second argument, compared with that for h = 4,")

    @check("values", points=0.5)
    def test_one_sequence(self, submission: Submission, draw: Draw) -> None:
        """One sequence without a batch, (t, k), gets what it would get in a batch, and keeps its two dimensions."""
        layout, sizes, cases = self.layout, self.layout.plain_sizes, []
        for n in (sizes.n, sizes.heads, 1):
            state, x = plain(draw, sizes), draw.normal(n, sizes.d_in)
            cases.append((self.module(submission, state, replace(sizes, n=n))(x), layout.right(x, state, sizes)))
        for got, expected in cases:
            close(got, expected)
