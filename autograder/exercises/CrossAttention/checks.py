"""Checks of `CrossAttention(d_query, d_context, d_out, qkv_bias=False)`: one head."""

import torch

from ...checks.api import Draw, check, close
from ...checks.proxies import Proxy, Submission
from ..families.cross.checks import CrossChecks, Layout, Sizes, output_of


def build(submission: Submission, sizes: Sizes, dropout: float, bias: bool) -> Proxy:
    options = {"qkv_bias": True} if bias else {}
    return submission.build("CrossAttention", sizes.d_in, sizes.d_context, sizes.d_out, **options)


class TestCrossAttention(CrossChecks):
    layout = Layout(
        exercise="CrossAttention",
        names=("W_query", "W_key", "W_value"),
        build=build,
        sizes=Sizes(d_in=6, width=4, heads=1, d_out=4, projected=False),
        plain_sizes=Sizes(d_in=6, width=6, heads=1, d_out=6, d_context=6, projected=False),
        square=Sizes(d_in=4, width=4, heads=1, d_out=4, b=4, n=4, d_context=4, s=4, projected=False),
        long=(
            Sizes(d_in=24, width=36, heads=1, d_out=36, b=9, n=33, d_context=20, s=65, projected=False),
            Sizes(d_in=20, width=32, heads=1, d_out=32, b=9, n=33, d_context=24, s=130, projected=False),
        ),
    )

    @check("masking", points=0.5)
    def test_no_context(self, submission: Submission, draw: Draw) -> None:
        """A context without any tokens (s = 0), with a mask of as many entries or none, leaves nothing: the
        output is 0."""
        module, sizes = self.lookup(submission, draw), self.layout.plain_sizes
        x, context = draw.normal(sizes.b, sizes.n, sizes.d_in), torch.zeros(sizes.b, 0, sizes.d_context)
        for got in (output_of(module, x, context), output_of(module, x, context, torch.ones(sizes.b, 0).bool())):
            close(got, torch.zeros(sizes.b, sizes.n, sizes.d_out), "the output for a context without tokens")
