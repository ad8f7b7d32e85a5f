"""Graders of `SingleHeadSelfAttention(k)`: (t, k) -> (t, k), one head for one sequence.

Checks that are not about the values of the whole formula first pass `averages`, an easy case, so that a wrong scale
does not cost the points for, say, the device, and what is no attention gets no points.
"""

import torch

from ...checks.api import (
    HUGE,
    HUGE_TOLERANCE,
    check,
    close,
    gradient,
    on_cuda,
    on_meta,
    parameters,
    refuses,
    shape,
    stayed_on_cuda,
    unchanged,
)
from ..families import easy_cases
from ..reference import qkv

NAMES = ("toqueries", "tokeys", "tovalues")
T, K = 5, 4  # tokens and features; the root of 4 is exact in any dtype


def weights(draw, k, dtype=torch.float32):
    """Different random weights for the three layers."""
    return draw.state({f"{name}.weight": (k, k) for name in NAMES}, dtype)


def head(submission, state, dtype=None):
    """A head that holds these weights."""
    module = submission.build("SingleHeadSelfAttention", state["tokeys.weight"].shape[-1])
    if dtype:
        module.to(dtype=dtype)
    module.load(state)
    return module


def averages(submission, draw):
    """A head that projects nothing: of two groups, each token gets the average of its own. Returns it, checked."""
    module = head(submission, {f"{n}.weight": torch.eye(K) for n in NAMES})
    (x, middle), mild = easy_cases.grouped(draw, T, K), easy_cases.mild_tokens(draw, T, K)
    apart, even = module(x), module(mild)
    shape(even, (T, K))
    close(apart, middle, "the average of tokens far from the others", tolerance=2e-4)
    easy_cases.mixes(even[None], (mild @ mild.T)[None], mild[None], "the output of mild scores")
    return module


@check("shape", points=0.5)
def test_parameters(submission, draw):
    """The parameters are the weights of `toqueries`, `tokeys` and `tovalues`, each (k, k), and nothing else."""
    averages(submission, draw)
    got = submission.build("SingleHeadSelfAttention", 6).parameters()
    parameters(got, {f"{name}.weight": (6, 6) for name in NAMES})


@check("values", points=0.5)
def test_output(submission, draw):
    """The output is softmax(Q Kᵀ / √k) V, for more tokens than features."""
    state, x = weights(draw, K), draw.normal(T, K)
    close(head(submission, state)(x), qkv.head(x, state, NAMES))


@check("values", points=0.5)
def test_as_many_tokens_as_features(submission, draw):
    """The output is softmax(Q Kᵀ / √k) V also for as many tokens as features, where no mix-up of the two crashes."""
    state, x = weights(draw, 6), draw.normal(6, 6)
    close(head(submission, state)(x), qkv.head(x, state, NAMES))


@check("values", points=0.5)
def test_weights_sum_to_one(submission, draw):
    """The weights of each query are a softmax over the keys, so they sum to 1: what all tokens pass on is kept."""
    averages(submission, draw)
    state = weights(draw, K)
    state["tovalues.weight"] = torch.cat([torch.zeros(K, K - 1), torch.ones(K, 1)], dim=1)
    x = torch.cat([draw.normal(T, K - 1), torch.ones(T, 1)], dim=1)  # the last feature is 1, and it alone is passed on
    close(head(submission, state)(x), torch.ones(T, K), "the sum of the weights")


@check("shape", points=0.5)
def test_small_and_odd_inputs(submission, draw):
    """A sequence of one token gets that token's value, and a tensor that is not contiguous is as good as any."""
    averages(submission, draw)
    state, one, turned = weights(draw, K), draw.normal(1, K), draw.normal(K, 3).mT
    state["tokeys.weight"] = torch.zeros(K, K)  # equal scores: the rest of the formula is judged elsewhere
    module = head(submission, state)
    alone, together = module(one), module(turned)
    close(alone, qkv.head(one, state, NAMES), "the output for one token")
    close(together, qkv.head(turned, state, NAMES), "the output for a transposed tensor")


@check("gradients", points=0.5)
def test_gradient_of_input(submission, draw):
    """The gradient reaches the input by all three ways: through queries, keys and values."""
    state, x, upstream, expected = differentiated(draw)
    got = head(submission, state, torch.float64).gradients(x, upstream=upstream)
    gradient(got.inputs[0], expected[0], "the input", torch.float64)


@check("gradients", points=0.5)
def test_gradients_of_weights(submission, draw):
    """Each of the three matrices gets its right gradient, so that training can shape it."""
    state, x, upstream, expected = differentiated(draw)
    got = head(submission, state, torch.float64).gradients(x, upstream=upstream)
    for name, right in zip(NAMES, expected[1:], strict=True):
        gradient(got.parameters.get(f"{name}.weight"), right, f"the weight of {name}", torch.float64)


def differentiated(draw):
    """Weights, an input and an upstream gradient in float64, and the gradients of the input and of the weights."""
    state, x = weights(draw, K, torch.float64), draw.normal(T, K, dtype=torch.float64, grad=True)
    upstream = draw.normal(T, K, dtype=torch.float64)
    leaves = {name: w.clone().requires_grad_() for name, w in state.items()}
    expected = qkv.gradients([qkv.head(x, leaves, NAMES)], [upstream], [x, *leaves.values()])
    return state, x, upstream, expected


@check("numerics", points=0.5)
def test_extreme_scores(submission, draw):
    """Scores of ±10,000 give no NaN and no infinity: all rows extreme, one row among mild ones, all very negative."""
    averages(submission, draw)
    mixed = draw.normal(T, K)
    one_huge = draw.normal(T, K)
    one_huge[2] *= 100
    alike = draw.normal(1, K) + 0.1 * draw.normal(T, K)
    cases = []
    for x, negative in [(mixed, False), (one_huge, False), (alike, True)]:
        state = weights(draw, K)
        state["tovalues.weight"] = torch.eye(K)
        if negative:
            state["tokeys.weight"] = -state["toqueries.weight"]
        state["toqueries.weight"] *= HUGE / qkv.largest_score(x, state, NAMES)
        cases.append((x, state, head(submission, state)(x)))
    for x, state, got in cases:
        close(got, qkv.head(x, state, NAMES), tolerance=HUGE_TOLERANCE)


@check("numerics", points=0.5)
def test_dtypes(submission, draw):
    """float64, float16 and bfloat16 in, the same out, as accurate as each of them allows."""
    cases = []
    for dtype in (torch.float64, torch.float16, torch.bfloat16):
        state, x = weights(draw, 6, dtype), draw.normal(T, 6, dtype=dtype)
        cases.append((head(submission, state, dtype)(x), qkv.head(x, state, NAMES), dtype))
    for got, expected, dtype in cases:
        close(got, expected, dtype=dtype)


@check("device", points=0.5)
def test_device(submission, draw):
    """The output lies on the device of the input, and nothing is made elsewhere (tried on `meta`)."""
    module = averages(submission, draw)
    on_meta(module.to(device="meta").on("meta", draw.normal(T, K)), (T, K))


@check("arguments", points=0.5)
def test_wrong_rank(submission, draw):
    """An input that is not (t, k) is refused with a `ValueError`: a batch, and a single vector."""
    module = averages(submission, draw)
    batch, vector = module.error(draw.normal(2, T, K)), module.error(draw.normal(K))
    refuses(batch, "a batch of shape (b, t, k)")
    refuses(vector, "a vector of shape (k,)")


@check("mode", points=0.5, witnessed=True)
def test_again(submission, draw):
    """The input stays as it was, and a second call depends on nothing but its own input."""
    module = averages(submission, draw)
    x, other = draw.normal(T, K), draw.normal(T + 2, K)
    first = module(x)
    unchanged(submission)
    longer, second = module(other), module(x)
    shape(first, (T, K))
    shape(longer, (T + 2, K), "the output for a longer sequence")
    close(second, first, "the output of the second call")


@check("device", points=0)
def test_cuda(submission, draw):
    """On a GPU the output has the same values, in float32 and in float16."""
    on_cuda(submission)
    for dtype in (torch.float32, torch.float16):
        state, x = weights(draw, K, dtype), draw.normal(T, K, dtype=dtype)
        got = head(submission, state, dtype).to(device="cuda").on("cuda", x)
        stayed_on_cuda(submission)
        close(got, qkv.head(x, state, NAMES), dtype=dtype)
