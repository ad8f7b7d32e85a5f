"""Checks of `SelfAttentionWide(k, n_heads=8)`: (b, t, k) -> (b, t, k), every head k wide."""

from ...checks.api import Draw, check
from ...checks.proxies import Proxy, Submission
from ..families.many_heads.checks import HeadChecks, Layout, Sizes, parameters_of


def build(submission: Submission, sizes: Sizes, dropout: float, bias: bool) -> Proxy:
    return submission.build("SelfAttentionWide", sizes.d_in, sizes.heads)


class TestSelfAttentionWide(HeadChecks):
    layout = Layout(
        exercise="SelfAttentionWide",
        names=("toqueries", "tokeys", "tovalues", "unifyheads"),
        build=build,
        sizes=Sizes(d_in=4, width=4, heads=3, d_out=4),
        plain_sizes=Sizes(d_in=3, width=3, heads=8, d_out=3),
        square=Sizes(d_in=4, width=4, heads=4, d_out=4, b=4, n=4),
        large=(
            Sizes(d_in=5, width=5, heads=16, d_out=5, b=9, n=3),
            Sizes(d_in=24, width=24, heads=2, d_out=24, b=2, n=70),
        ),
    )

    @check("shape", points=0.5)
    def test_parameters(self, submission: Submission, draw: Draw) -> None:
        """The parameters are those of the four layers, for eight heads unless `n_heads` says otherwise, and
        no others."""
        self.averaging(submission, draw)
        usual, three = submission.build("SelfAttentionWide", 6), submission.build("SelfAttentionWide", 6, n_heads=3)
        parameters_of(self.layout, usual, Sizes(6, 6, 8, 6))
        parameters_of(self.layout, three, Sizes(6, 6, 3, 6))
