"""Checks of `SelfAttentionWithTricks(k, heads=8)`: (b, t, k) -> (b, t, k), every head k wide."""

from ...checks.api import Draw, check
from ...checks.proxies import Proxy, Submission
from ..families.many_heads.checks import HeadChecks, Layout, Sizes, parameters_of


def build(submission: Submission, sizes: Sizes, dropout: float, bias: bool) -> Proxy:
    return submission.build("SelfAttentionWithTricks", sizes.d_in, sizes.heads)


class TestSelfAttentionWithTricks(HeadChecks):
    layout = Layout(
        exercise="SelfAttentionWithTricks",
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

    points = {  # a warm-up: the mistakes are in its names, and `SelfAttentionWide` asks for the rest at full price
        "test_output": 0.5,
        "test_sizes_that_are_equal": 0.25,
        "test_gradients": 0.25,
        "test_extreme_scores": 0.125,
        "test_dtypes": 0.125,
        "test_device": 0.125,
        "test_wrong_rank": 0.125,
        "test_small_and_odd_inputs": 0.125,
        "test_again": 0.125,
    }

    @check("shape", points=0.25)
    def test_parameters(self, submission: Submission, draw: Draw) -> None:
        """The parameters are those of the four layers, for eight heads unless `heads` says otherwise, and no others."""
        three = submission.build("SelfAttentionWithTricks", 6, heads=3)  # first, for the error in the original
        usual = submission.build("SelfAttentionWithTricks", 6)
        self.averaging(submission, draw)
        parameters_of(self.layout, usual, Sizes(6, 6, 8, 6))
        parameters_of(self.layout, three, Sizes(6, 6, 3, 6))
