"""Graders of `SelfAttentionWithTricks(k, heads=8)`: (b, t, k) -> (b, t, k), every head k wide. See heads.py."""

from ...checks.api import check
from ..families.heads.checks import (  # noqa: F401  shared checks
    Layout,
    Sizes,
    averages,
    parameters_of,
    test_again,
    test_cuda,
    test_device,
    test_dtypes,
    test_extreme_scores,
    test_gradients,
    test_output,
    test_sizes_that_are_equal,
    test_small_and_odd_inputs,
    test_wrong_rank,
)

LAYOUT = Layout(
    exercise="SelfAttentionWithTricks",
    names=("toqueries", "tokeys", "tovalues", "unifyheads"),
    build=lambda submission, sizes, dropout, bias: submission.build("SelfAttentionWithTricks", sizes.d_in, sizes.heads),
    sizes=Sizes(d_in=4, width=4, heads=3, d_out=4),
    plain_sizes=Sizes(d_in=6, width=6, heads=2, d_out=6),
    square=Sizes(d_in=4, width=4, heads=4, d_out=4, b=4, n=4),
)


@check("shape", points=0.5)
def test_parameters(submission, draw, layout):
    """The parameters are those of the four layers, for eight heads unless `heads` says otherwise, and no others."""
    averages(submission, draw, layout)
    usual = submission.build("SelfAttentionWithTricks", 6)
    three = submission.build("SelfAttentionWithTricks", 6, heads=3)
    parameters_of(layout, usual, Sizes(6, 6, 8, 6))
    parameters_of(layout, three, Sizes(6, 6, 3, 6))
