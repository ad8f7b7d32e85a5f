"""Graders of `SelfAttentionNaive()`: softmax(X Xᵀ) X for one sequence, (n, d) -> (n, d), nothing to learn."""

import torch

from ...checks.api import check, close, parameters
from ..families.parameter_free.checks import Judge
from ..reference import plain


def judge(submission, draw):
    return Judge(submission, draw, lambda s: s.build("SelfAttentionNaive"), leading=(), scaled=False)


@check("values", points=0.5)
def test_values(submission, draw):
    """The output is softmax(X Xᵀ) X, without a scale, also when n = d, where a mix-up of dimensions does not crash."""
    judge(submission, draw).values()


@check("values", points=0.5)
def test_sentence(submission, draw):
    """For notebook 004's sentence, its tokens in any order, the output is right to four decimals."""
    order = torch.randperm(9, generator=draw.generator)
    x = torch.tensor(plain.SENTENCE)[order]
    close(submission.build("SelfAttentionNaive")(x), plain.self_attention(x), tolerance=5e-5)


@check("values", points=0.5)
def test_weights_sum_to_one(submission, draw):
    """The weights of each token sum to 1: a feature that is 1 for all tokens is 1 on average."""
    judge(submission, draw).sums()


@check("shape", points=0.5)
def test_small_and_odd_inputs(submission, draw):
    """There are no parameters, and one token, one feature, and a tensor that is not contiguous work like any others."""
    inputs = {
        "one token": draw.normal(1, 3),
        "one feature": draw.normal(5, 1),
        "a transposed tensor": draw.normal(3, 5).mT,
    }
    judge(submission, draw).small_and_odd(inputs)
    parameters(submission.build("SelfAttentionNaive").parameters(), {})


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
    """An input that is not (n, d) is refused with a `ValueError`: a vector, and a batch."""
    wrong = {
        "a vector of shape (d,)": draw.normal(3),
        "a batch of shape (b, n, d)": draw.normal(2, 5, 3),
        "a batch of shape (b, n, d) with all sizes equal": draw.normal(3, 3, 3),
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
