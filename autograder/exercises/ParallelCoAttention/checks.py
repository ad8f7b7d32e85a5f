"""Graders of `ParallelCoAttention(d, k)`: (b, n, d) and (b, t, d) -> `(v_hat, q_hat, a_v, a_q)`. See co.py."""

from ...checks.api import check
from ..families.coattention import checks
from ..families.coattention.checks import (  # noqa: F401  shared checks
    Layout,
    judge,
    test_again,
    test_cuda,
    test_device,
    test_dtypes,
    test_extreme_scores,
    test_gradients_of_inputs,
    test_gradients_of_weights,
    test_image_weights,
    test_pairs_of_a_batch_are_apart,
    test_parameters,
    test_question_weights,
    test_small_and_odd_inputs,
    test_summaries,
    test_wrong_rank,
)
from ..families.heads.checks import worth
from ..reference import co as reference

LAYOUT = Layout(
    exercise="ParallelCoAttention",
    right=reference.parallel,
    first=("W_v", "W_q"),
    cross=("W_b",),
    last=("w_hv", "w_hq"),
    square=("W_b",),
)
test_sizes_that_are_equal = worth(1, checks.test_sizes_that_are_equal)


@check("values", points=0.5)
def test_without_affinity(submission, draw, layout):
    """Where `W_b` is 0, so is the affinity, and each side weighs its own tokens: a_v = softmax(w_hv(tanh(W_v(v))))."""
    judge(submission, draw, layout, without=("W_b",), what=" when `W_b` is 0")


@check("values", points=0.5)
def test_affinity_alone(submission, draw, layout):
    """Where `W_v` is 0, the image's tokens are weighed only by what comes over from q through the affinity."""
    judge(submission, draw, layout, without=("W_v",), only=("a_v",), what=" when `W_v` is 0")
