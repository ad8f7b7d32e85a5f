"""Checks of `EncoderHead(n_embd, head_size)`: (b, t, n_embd) -> (b, t, head_size)."""

import torch

from ...checks.api import CheckFailed, Draw, check, close, shape
from ...checks.proxies import Proxy, Submission
from ..families.many_heads import checks
from ..families.many_heads.checks import HeadChecks, Layout, Sizes, parameters_of, tokens, weights


def build(submission: Submission, sizes: Sizes, dropout: float, bias: bool) -> Proxy:
    return submission.build("EncoderHead", sizes.d_in, sizes.width)


class TestEncoderHead(HeadChecks):
    layout = Layout(
        exercise="EncoderHead",
        names=("query", "key", "value"),
        build=build,
        sizes=Sizes(d_in=6, width=4, heads=1, d_out=4, projected=False),
        plain_sizes=Sizes(d_in=7, width=3, heads=1, d_out=3, projected=False),
        square=Sizes(d_in=4, width=4, heads=1, d_out=4, b=4, n=4, projected=False),
        large=(
            Sizes(d_in=36, width=24, heads=1, d_out=24, b=9, n=33, projected=False),
            Sizes(d_in=20, width=40, heads=1, d_out=40, b=1, n=130, projected=False),
        ),
    )
    # there is no output projection, and `test_values` looks at both sizes
    test_output = None  # pyright: ignore[reportAssignmentType]  # not collected
    test_sizes_that_are_equal = None  # pyright: ignore[reportAssignmentType]  # not collected

    @check("shape", points=0.5)
    def test_parameters(self, submission: Submission, draw: Draw) -> None:
        """The parameters are the weights of `key`, `query` and `value`, without bias, and no others."""
        self.averaging(submission, draw)
        parameters_of(self.layout, submission.build("EncoderHead", n_embd=6, head_size=4), self.layout.sizes)

    @check("values", points=0.5)
    def test_values(self, submission: Submission, draw: Draw) -> None:
        """The output is softmax(Q Kᵀ / √head_size) V over all tokens, also when all sizes are equal or large."""
        layout = self.layout
        state, x = weights(draw, layout.sizes), tokens(draw, layout.sizes)
        close(self.module(submission, state, layout.sizes)(x), layout.right(x, state, layout.sizes))
        self.right_values(submission, draw, layout.square, *layout.large)

    @check("masking", points=0.5)
    def test_every_token_sees_every_other(self, submission: Submission, draw: Draw) -> None:
        """Every token reaches every other, the last one the first, in a sequence of any length; sequences
        stay apart."""
        self.averaging(submission, draw)
        sizes = Sizes(d_in=1, width=1, heads=1, d_out=1, n=23, projected=False)
        state = {f"{part}.weight": torch.ones(1, 1) * (part != "query") for part in checks.PARTS}
        module, numbers = self.layout.module(submission, state, sizes), draw.normal(sizes.b, sizes.n, 1)
        other = numbers.clone()
        other[1] += 1
        moved = [numbers + (torch.arange(sizes.n) == j).float()[:, None] for j in (0, draw.integer(1, 21), 22)]
        plain, beside, *reached = [self.output(module, x) for x in (numbers, other, *moved)]
        for got in (plain, beside, *reached):
            shape(got, (sizes.b, sizes.n, 1))
        close(beside[0], plain[0].double(), "the output after a change of another sequence")
        for got in reached:
            if ((got - plain - 1 / sizes.n).abs() > 1e-3).any():
                raise CheckFailed("A token changes, and not all of the others notice, or not alike.")
