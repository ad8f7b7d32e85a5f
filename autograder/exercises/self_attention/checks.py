"""Graders of `self_attention(x)`: softmax(X Xᵀ) X, (b, t, k) -> (b, t, k), nothing to learn."""

from ...checks.api import check
from ..families.parameter_free.checks import Judge


def judge(submission, draw):
    return Judge(submission, draw, lambda s: s.function("self_attention"), leading=(2,), scaled=False)


@check("values", points=0.5)
def test_values(submission, draw):
    """The output is softmax(X Xᵀ) X of each sequence, without a scale, also when b = t = k."""
    judge(submission, draw).values()


@check("values", points=0.5)
def test_weights_sum_to_one(submission, draw):
    """The weights of each token sum to 1: a feature that is 1 for all tokens is 1 on average."""
    judge(submission, draw).sums()


@check("masking", points=0.5)
def test_sequences_of_a_batch_are_apart(submission, draw):
    """A sequence gets the same whatever else is in the batch, and each token depends on all of its own sequence."""
    judge(submission, draw).apart()


@check("shape", points=0.5)
def test_small_and_odd_inputs(submission, draw):
    """A batch of one, one token, one feature, and a tensor that is not contiguous work like any others."""
    inputs = {
        "a batch of one": draw.normal(1, 5, 3),
        "one token": draw.normal(2, 1, 3),
        "a batch of one token with one feature": draw.normal(1, 1, 1),
        "one feature": draw.normal(2, 5, 1),
        "a transposed tensor": draw.normal(2, 3, 5).mT,
    }
    judge(submission, draw).small_and_odd(inputs)


@check("gradients", points=0.5)
def test_gradient(submission, draw):
    """The gradient reaches the input by both ways: through the weights, and through what is averaged."""
    judge(submission, draw).gradients()


@check("numerics", points=0.5)
def test_extreme_scores(submission, draw):
    """Scores of 10,000 give no NaN and no infinity: all tokens large, or one among small ones."""
    judge(submission, draw).extreme()


@check("numerics", points=0.5)
def test_dtypes(submission, draw):
    """float64, float16 and bfloat16 in, the same out, as accurate as each of them allows."""
    judge(submission, draw).dtypes()


@check("device", points=0.5)
def test_device(submission, draw):
    """The output lies on the device of the input, and nothing is made elsewhere (tried on `meta`)."""
    judge(submission, draw).device()


@check("arguments", points=0.5)
def test_wrong_rank(submission, draw):
    """An input that is not (b, t, k) is refused with a `ValueError`: one sequence alone, and four dimensions."""
    wrong = {
        "one sequence of shape (t, k)": draw.normal(5, 3),
        "a tensor with four dimensions": draw.normal(1, 2, 5, 3),
    }
    judge(submission, draw).rank(wrong)


@check("mode", points=0.5, witnessed=True)
def test_again(submission, draw):
    """The input stays as it was, and a second call depends on nothing but its own input."""
    judge(submission, draw).again()


@check("device", points=0)
def test_cuda(submission, draw):
    """On a GPU the output has the same values, in float32 and in float16."""
    judge(submission, draw).cuda()
