"""Graders of `MultiHeadCrossAttention(d_query, d_context, d_out, num_heads, qkv_bias=False)`. See cross.py."""

from ...checks.api import check
from ..families.cross.checks import (  # noqa: F401  shared checks
    Layout,
    Sizes,
    lookup,
    test_again,
    test_biases,
    test_cuda,
    test_device,
    test_dtypes,
    test_every_token_is_seen,
    test_extreme_scores,
    test_extreme_scores_with_a_mask,
    test_gradients,
    test_gradients_with_a_mask,
    test_mask,
    test_mask_of_a_square,
    test_nothing_left,
    test_output,
    test_parameters,
    test_sizes_that_are_equal,
    test_small_and_odd_inputs,
    test_wrong_rank,
)
from ..families.heads.checks import refuses_to_divide


def build(submission, sizes, dropout, bias):
    options = {"qkv_bias": True} if bias else {}
    given = sizes.d_in, sizes.d_context, sizes.d_out, sizes.heads
    return submission.build("MultiHeadCrossAttention", *given, **options)


LAYOUT = Layout(
    exercise="MultiHeadCrossAttention",
    names=("W_query", "W_key", "W_value", "out_proj"),
    build=build,
    sizes=Sizes(d_in=6, width=4, heads=3, d_out=12, d_context=10),
    plain_sizes=Sizes(d_in=5, width=6, heads=2, d_out=12),
    square=Sizes(d_in=16, width=4, heads=4, d_out=16, b=4, n=4, d_context=16, s=4),
)


@check("arguments", points=0.5)
def test_heads_that_do_not_divide(submission, draw, layout):
    """A `d_out` that the heads don't divide is refused with a `ValueError` whose message holds both numbers."""
    lookup(submission, draw, layout)
    refuses_to_divide(submission, layout, Sizes)
