"""Checks of `StackedHeads(num_heads, head_size, n_embd, block_size, dropout)`.

Causal: (b, t, n_embd) -> (b, t, n_embd). It uses the student's own `Head`. Checks of values look at a single head
first, and say so if that is wrong.
"""

import torch

from ...checks.api import CheckFailed, Draw, check, close, tensor
from ...checks.gates import easy_case
from ...checks.proxies import Proxy, Submission
from ..families.many_heads.checks import CausalHeadChecks, Layout, Sizes, parameters_of, tokens, weights

ONE_HEAD = Sizes(d_in=9, width=4, heads=1, d_out=9)


def build(submission: Submission, sizes: Sizes, dropout: float, bias: bool) -> Proxy:
    return submission.build("StackedHeads", sizes.heads, sizes.width, sizes.d_in, sizes.context, dropout)


class TestStackedHeads(CausalHeadChecks):
    layout = Layout(
        exercise="StackedHeads",
        names=("heads.{}.query", "heads.{}.key", "heads.{}.value", "proj"),
        build=build,
        sizes=Sizes(d_in=6, width=4, heads=3, d_out=6),
        plain_sizes=Sizes(d_in=6, width=3, heads=2, d_out=6),
        square=Sizes(d_in=16, width=4, heads=4, d_out=16, b=4, n=4, context=4),
        large=(
            Sizes(d_in=32, width=2, heads=16, d_out=32, b=9, n=3, context=3),
            Sizes(d_in=36, width=18, heads=2, d_out=36, b=2, n=70, context=70),
        ),
        is_causal=True,
        per_head=True,
    )

    @easy_case
    def before_values(self, submission: Submission, draw: Draw) -> None:
        self.one_head(submission, draw)

    def one_head(self, submission: Submission, draw: Draw) -> None:
        """Try one head, its output passed on unchanged. Raises CheckFailed if its values are wrong."""
        layout, (state, x) = self.layout, (weights(draw, ONE_HEAD), tokens(draw, ONE_HEAD))
        state["out.weight"], state["out.bias"] = torch.eye(9, 4), torch.zeros(9)
        module = layout.build(submission, ONE_HEAD, 0.0, False).eval()
        module.load(layout.rename(state, 1), optional=["proj.weight", "proj.bias"])
        got, right = tensor(module(x)), layout.right(x, state, ONE_HEAD)
        try:
            # without a projection, which has checks of its own, four features come out
            close(got, right[..., :4] if got.shape[-1:] == (4,) else right, "the output of a single head")
        except CheckFailed as wrong:
            raise CheckFailed(
                f"With one head, passed on unchanged: look at your `Head`, and at what becomes of its output. {wrong}"
            ) from None

    @check("shape", points=0.5)
    def test_parameters(self, submission: Submission, draw: Draw) -> None:
        """The parameters are `key`, `query` and `value` of every head in `heads`, and `proj` with a bias, and
        no others."""
        self.averaging(submission, draw)
        built = submission.build("StackedHeads", num_heads=3, head_size=2, n_embd=7, block_size=5, dropout=0.1)
        parameters_of(self.layout, built, Sizes(7, 2, 3, 7))

    @check("values", points=0.5)
    def test_one_head(self, submission: Submission, draw: Draw) -> None:
        """A single head gives the causal attention of your `Head`, divided by the root of `head_size`."""
        self.one_head(submission, draw)
