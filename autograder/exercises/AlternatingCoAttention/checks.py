"""Graders of `AlternatingCoAttention(d, k)`: (b, n, d) and (b, t, d) -> `(v_hat, q_hat, a_v, a_q)`. See co.py."""

from ...checks.api import check
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
    test_sizes_that_are_equal,
    test_small_and_odd_inputs,
    test_summaries,
    test_wrong_rank,
)
from ..reference import co as reference

LAYOUT = Layout(
    exercise="AlternatingCoAttention",
    right=reference.alternating,
    first=("steps.0.W_x", "steps.1.W_x", "steps.2.W_x"),
    cross=("steps.0.W_g", "steps.1.W_g", "steps.2.W_g"),
    last=("steps.0.w_hx", "steps.1.w_hx", "steps.2.w_hx"),
    optional=("steps.0.W_g.weight",),
)


@check("values", points=0.5)
def test_without_guides(submission, draw, layout):
    """Where every `W_g` is 0, no step is guided, and steps 2 and 3 weigh the tokens of v and of q by themselves."""
    judge(submission, draw, layout, without=layout.cross, what=" when every `W_g` is 0")


@check("values", points=0.5)
def test_second_step(submission, draw, layout):
    """Where step 1 weighs all words the same, step 2 is guided by their average: `a_v` is right."""
    judge(submission, draw, layout, without=("steps.0.w_hx",), only=("a_v",), what=" when `w_hx` of step 1 is 0")


@check("values", points=0.5)
def test_third_step(submission, draw, layout):
    """Where step 2 weighs all of v's tokens the same, step 3 is guided by their average: `a_q` is right."""
    judge(submission, draw, layout, without=("steps.1.w_hx",), only=("a_q",), what=" when `w_hx` of step 2 is 0")
