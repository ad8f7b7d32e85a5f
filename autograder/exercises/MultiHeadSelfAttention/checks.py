"""Graders of `MultiHeadSelfAttention(k, h=4)`: (t, k) -> (t, k), with a batch or without. See heads.py."""

from ...checks.api import check, close
from ..families.heads.checks import (  # noqa: F401  shared checks
    Layout,
    Sizes,
    averages,
    parameters_of,
    plain,
    test_again,
    test_cuda,
    test_device,
    test_dtypes,
    test_extreme_scores,
    test_gradients,
    test_heads_that_do_not_divide,
    test_output,
    test_sizes_that_are_equal,
    test_small_and_odd_inputs,
    test_wrong_rank,
)

LAYOUT = Layout(
    exercise="MultiHeadSelfAttention",
    names=("toqueries", "tokeys", "tovalues", "unifyheads"),
    build=lambda submission, sizes, dropout, bias: submission.build("MultiHeadSelfAttention", sizes.d_in, sizes.heads),
    sizes=Sizes(d_in=12, width=4, heads=3, d_out=12),
    plain_sizes=Sizes(d_in=12, width=6, heads=2, d_out=12),
    square=Sizes(d_in=16, width=4, heads=4, d_out=16, b=4, n=4),
    unbatched=True,
)


@check("shape", points=0.5)
def test_parameters(submission, draw, layout):
    """The parameters are those of the four layers, each k wide, and no others; without a second argument h is 4."""
    averages(submission, draw, layout)
    usual, three = submission.build("MultiHeadSelfAttention", 8), submission.build("MultiHeadSelfAttention", 9, h=3)
    parameters_of(layout, usual, Sizes(8, 2, 4, 8))
    parameters_of(layout, three, Sizes(9, 3, 3, 9))


@check("values", points=0.5)
def test_one_sequence(submission, draw, layout):
    """One sequence without a batch, (t, k), gets what it would get in a batch, and keeps its two dimensions."""
    sizes = layout.plain_sizes
    state, x = plain(draw, sizes), draw.normal(sizes.n, sizes.d_in)
    close(layout.module(submission, state, sizes)(x), layout.right(x, state, sizes))
