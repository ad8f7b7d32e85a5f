"""Checks of `MultiHeadCrossAttention(d_query, d_context, d_out, num_heads, qkv_bias=False)`."""

from ...checks.api import Draw, check
from ...checks.proxies import Proxy, Submission
from ..families.cross.checks import CrossChecks, Layout, Sizes
from ..families.many_heads.checks import refuses_to_divide


def build(submission: Submission, sizes: Sizes, dropout: float, bias: bool) -> Proxy:
    options = {"qkv_bias": True} if bias else {}
    given = sizes.d_in, sizes.d_context, sizes.d_out, sizes.heads
    return submission.build("MultiHeadCrossAttention", *given, **options)


class TestMultiHeadCrossAttention(CrossChecks):
    layout = Layout(
        exercise="MultiHeadCrossAttention",
        names=("W_query", "W_key", "W_value", "out_proj"),
        build=build,
        sizes=Sizes(d_in=6, width=4, heads=3, d_out=12, d_context=10),
        plain_sizes=Sizes(d_in=12, width=6, heads=2, d_out=12, d_context=12),
        square=Sizes(d_in=16, width=4, heads=4, d_out=16, b=4, n=4, d_context=16, s=4),
        long=(
            Sizes(d_in=24, width=12, heads=3, d_out=36, n=33, d_context=20, s=70),
            Sizes(d_in=20, width=16, heads=2, d_out=32, n=33, d_context=24, s=130),
        ),
        many=(
            Sizes(d_in=20, width=2, heads=16, d_out=32, b=9, n=3, d_context=24, s=5),
            Sizes(d_in=6, width=4, heads=1, d_out=4, n=3, d_context=5, s=4),  # and a single head
        ),
    )

    @check("arguments", points=0.5)
    def test_heads_that_do_not_divide(self, submission: Submission, draw: Draw) -> None:
        """A `d_out` that the heads don't divide is refused with a `ValueError` whose message holds both numbers."""
        self.looks_up(submission, draw)
        refuses_to_divide(submission, self.layout, Sizes)
