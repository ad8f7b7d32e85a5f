"""Graders of `SelfAttention(d_in, d_out, qkv_bias=False)`: (n, d_in) -> (n, d_out), with a batch or without.

Checks that are not about the values of the whole formula first pass `averages`, an easy case, so that a wrong scale
does not cost the points for, say, the device, and what is no attention gets no points.
"""

import torch

from ...checks.api import (
    HUGE,
    HUGE_TOLERANCE,
    CheckFailed,
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

NAMES = ("W_query", "W_key", "W_value")
B, N, D_IN, D_OUT = 2, 5, 3, 4  # the root of 4 is exact in any dtype


def weights(draw, d_in=D_IN, d_out=D_OUT, bias=False, dtype=torch.float32):
    """Different random weights for the three layers, and biases if wanted."""
    shapes: dict[str, tuple[int, ...]] = {f"{name}.weight": (d_out, d_in) for name in NAMES}
    if bias:
        shapes.update({f"{name}.bias": (d_out,) for name in NAMES})
    return draw.state(shapes, dtype)


def layer(submission, state, dtype=None):
    """A layer that holds these weights; it is built with `qkv_bias=True` only if there are biases."""
    d_out, d_in = state["W_key.weight"].shape
    options = {"qkv_bias": True} if "W_key.bias" in state else {}
    module = submission.build("SelfAttention", d_in, d_out, **options)
    if dtype:
        module.to(dtype=dtype)
    module.load(state)
    return module


def averages(submission, draw):
    """A layer that projects nothing: of two groups, each token gets the average of its own. Returns it, checked."""
    module = layer(submission, {f"{n}.weight": torch.eye(D_OUT) for n in NAMES})
    (x, middle), mild = easy_cases.grouped(draw, N, D_OUT), easy_cases.mild_tokens(draw, N, D_OUT)
    got = module(torch.stack([x, mild]))
    shape(got, (2, N, D_OUT))
    close(got[0], middle, "the average of tokens far from the others", tolerance=2e-4)
    easy_cases.mixes(got[1:], (mild @ mild.T)[None], mild[None], "the output of mild scores")
    return module


@check("shape", points=0.5)
def test_parameters(submission, draw):
    """The parameters are those of `W_query`, `W_key` and `W_value`, with a bias each if `qkv_bias`, and no others."""
    averages(submission, draw)
    modules = submission.build("SelfAttention", 6, 4), submission.build("SelfAttention", 6, 4, qkv_bias=True)
    plain, biased = (module.parameters() for module in modules)
    parameters(plain, {f"{name}.weight": (4, 6) for name in NAMES})
    parameters(biased, {f"{n}.{part}": s for n in NAMES for part, s in [("weight", (4, 6)), ("bias", (4,))]})


@check("values", points=1)
def test_batch(submission, draw):
    """For a batch, the output is softmax(Q Kᵀ / √d_out) V of each sequence."""
    state, x = weights(draw), draw.normal(B, N, D_IN)
    close(layer(submission, state)(x), qkv.head(x, state, NAMES))


@check("values", points=0.5)
def test_one_sequence(submission, draw):
    """For one sequence without a batch, the output is softmax(Q Kᵀ / √d_out) V, of shape (n, d_out)."""
    state, x = weights(draw), draw.normal(N, D_IN)
    close(layer(submission, state)(x), qkv.head(x, state, NAMES))


@check("values", points=0.5)
def test_all_sizes_equal(submission, draw):
    """The values are right also when b = n = d_in = d_out, where a mix-up of dimensions does not crash."""
    state, x = weights(draw, 4, 4), draw.normal(4, 4, 4)
    close(layer(submission, state)(x), qkv.head(x, state, NAMES))


@check("values", points=0.5)
def test_biases(submission, draw):
    """With `qkv_bias=True`, queries, keys and values each get their bias added."""
    state, x = weights(draw, bias=True), draw.normal(B, N, D_IN)
    close(layer(submission, state)(x), qkv.head(x, state, NAMES))


@check("values", points=0.5)
def test_weights_sum_to_one(submission, draw):
    """The weights of each query are a softmax over the keys, so they sum to 1: what all tokens pass on is kept."""
    averages(submission, draw)
    state = weights(draw)
    state["W_value.weight"] = torch.cat([torch.zeros(D_OUT, D_IN - 1), torch.ones(D_OUT, 1)], dim=1)
    x = torch.cat([draw.normal(B, N, D_IN - 1), torch.ones(B, N, 1)], dim=2)  # the last feature alone is passed on
    close(layer(submission, state)(x), torch.ones(B, N, D_OUT), "the sum of the weights")


@check("masking", points=0.5)
def test_sequences_of_a_batch_are_apart(submission, draw):
    """A sequence gets the same whatever else is in the batch, and each token depends on all of its own sequence."""
    averages(submission, draw)
    state, x, others, last = weights(draw), draw.normal(B, N, D_IN), draw.normal(B, N, D_IN), draw.normal(B, N, D_IN)
    others[0] = x[0]
    last[0, :-1] = x[0, :-1]
    module = layer(submission, state)
    before, beside_others, last_changed = module(x), module(others), module(last)
    for output in (before, beside_others, last_changed):
        shape(output, (B, N, D_OUT))
    close(beside_others[0], before[0], "the first sequence's output, in another batch,")
    if ((last_changed[0] - before[0]).abs().amax(1) < 1e-6).any():
        raise CheckFailed("There is a token whose output stays the same when the last token of its sequence changes.")


@check("shape", points=0.5)
def test_small_and_odd_inputs(submission, draw):
    """A batch of one, a sequence of one token, and a tensor that is not contiguous work like any other."""
    averages(submission, draw)
    state = weights(draw)
    state["W_key.weight"] = torch.zeros(D_OUT, D_IN)  # equal scores: the rest of the formula is judged elsewhere
    inputs = {
        "a batch of one": draw.normal(1, N, D_IN),
        "one token": draw.normal(B, 1, D_IN),
        "a batch of one token": draw.normal(1, 1, D_IN),
        "a transposed tensor": draw.normal(B, D_IN, N).mT,
    }
    module = layer(submission, state)
    outputs = [module(x) for x in inputs.values()]
    for (name, x), got in zip(inputs.items(), outputs, strict=True):
        close(got, qkv.head(x, state, NAMES), f"the output for {name}")


@check("gradients", points=0.5)
def test_gradient_of_input(submission, draw):
    """The gradient reaches the input by all three ways: through queries, keys and values."""
    state, x, upstream, expected = differentiated(draw)
    got = layer(submission, state, torch.float64).gradients(x, upstream=upstream)
    gradient(got.inputs[0], expected[0], "the input", torch.float64)


@check("gradients", points=0.5)
def test_gradients_of_weights(submission, draw):
    """Each of the three matrices gets its right gradient, so that training can shape it."""
    state, x, upstream, expected = differentiated(draw)
    got = layer(submission, state, torch.float64).gradients(x, upstream=upstream)
    for name, right in zip(NAMES, expected[1:], strict=True):
        gradient(got.parameters.get(f"{name}.weight"), right, f"the weight of {name}", torch.float64)


def differentiated(draw):
    """Weights, an input and an upstream gradient in float64, and the gradients of the input and of the weights."""
    state, x = weights(draw, dtype=torch.float64), draw.normal(B, N, D_IN, dtype=torch.float64, grad=True)
    upstream = draw.normal(B, N, D_OUT, dtype=torch.float64)
    leaves = {name: w.clone().requires_grad_() for name, w in state.items()}
    expected = qkv.gradients([qkv.head(x, leaves, NAMES)], [upstream], [x, *leaves.values()])
    return state, x, upstream, expected


@check("numerics", points=0.5)
def test_extreme_scores(submission, draw):
    """Scores of ±10,000 give no NaN and no infinity: all rows extreme, one row among mild ones, all very negative."""
    averages(submission, draw)
    mixed = draw.normal(B, N, D_OUT)
    one_huge = draw.normal(B, N, D_OUT)
    one_huge[0, 2] *= 100
    alike = draw.normal(B, 1, D_OUT) + 0.1 * draw.normal(B, N, D_OUT)
    cases = []
    for x, negative in [(mixed, False), (one_huge, False), (alike, True)]:
        state = weights(draw, D_OUT)
        if negative:
            state["W_key.weight"] = -state["W_query.weight"]
        state["W_query.weight"] *= HUGE / qkv.largest_score(x, state, NAMES)
        cases.append((x, state, layer(submission, state)(x)))
    for x, state, got in cases:
        close(got, qkv.head(x, state, NAMES), tolerance=HUGE_TOLERANCE)


@check("numerics", points=0.5)
def test_dtypes(submission, draw):
    """float64, float16 and bfloat16 in, the same out, as accurate as each of them allows."""
    cases = []
    for dtype in (torch.float64, torch.float16, torch.bfloat16):
        state, x = weights(draw, d_out=6, dtype=dtype), draw.normal(B, N, D_IN, dtype=dtype)
        cases.append((layer(submission, state, dtype)(x), qkv.head(x, state, NAMES), dtype))
    for got, expected, dtype in cases:
        close(got, expected, dtype=dtype)


@check("device", points=0.5)
def test_device(submission, draw):
    """The output lies on the device of the input, and nothing is made elsewhere (tried on `meta`)."""
    module = averages(submission, draw)
    on_meta(module.to(device="meta").on("meta", draw.normal(B, N, D_OUT)), (B, N, D_OUT))


@check("arguments", points=0.5)
def test_wrong_rank(submission, draw):
    """An input that is neither (n, d_in) nor (b, n, d_in) is refused with a `ValueError`: a single vector, say."""
    module = averages(submission, draw)
    refuses(module.error(draw.normal(D_OUT)), "a vector of shape (d_in,)")


@check("mode", points=0.5, witnessed=True)
def test_again(submission, draw):
    """The input stays as it was, and a second call depends on nothing but its own input."""
    module = averages(submission, draw)
    x, other = draw.normal(B, N, D_OUT), draw.normal(B + 1, N + 2, D_OUT)
    first = module(x)
    unchanged(submission)
    longer, second = module(other), module(x)
    shape(first, (B, N, D_OUT))
    shape(longer, (B + 1, N + 2, D_OUT), "the output for a larger batch of longer sequences")
    close(second, first, "the output of the second call")


@check("device", points=0)
def test_cuda(submission, draw):
    """On a GPU the output has the same values, in float32 and in float16."""
    on_cuda(submission)
    for dtype in (torch.float32, torch.float16):
        state, x = weights(draw, dtype=dtype), draw.normal(B, N, D_IN, dtype=dtype)
        got = layer(submission, state, dtype).to(device="cuda").on("cuda", x)
        stayed_on_cuda(submission)
        close(got, qkv.head(x, state, NAMES), dtype=dtype)
