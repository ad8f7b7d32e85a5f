"""Graders of `CausalAttention(d_in, d_out, context_length, dropout, qkv_bias=False)`: (b, n, d_in) -> (b, n, d_out).

Checks that are not about the values of the whole formula first pass `looking`, an easy case, so that a wrong scale or a
leak does not cost the points for, say, the device, and what is no attention gets no points. The context
is as long as the sequence, and there is no dropout, except in the checks that are about that. Checks of what padding
does first see the layer work without it.
"""

import torch

from ...checks.api import (
    HUGE,
    HUGE_TOLERANCE,
    CheckFailed,
    check,
    close,
    dropped,
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
from ..reference import causal, qkv

NAMES = ("W_query", "W_key", "W_value")
B, N, D_IN, D_OUT = 2, 5, 3, 4  # all different; the root of 4 is exact in any dtype
P = 0.25

AT_THE_END = torch.tensor([[1, 1, 1, 0, 0], [1, 1, 1, 1, 1]]).bool()
AT_THE_START = torch.tensor([[0, 0, 1, 1, 1], [0, 1, 1, 1, 1]]).bool()
BETWEEN = torch.tensor([[1, 0, 0, 1, 1], [1, 1, 0, 1, 0]]).bool()
NOTHING_REAL = torch.tensor([[0, 0, 0, 0, 0], [1, 1, 1, 1, 0]]).bool()


def weights(draw, d_in=D_IN, d_out=D_OUT, bias=False, dtype=torch.float32):
    """Different random weights for the three layers, and biases if wanted."""
    shapes: dict[str, tuple[int, ...]] = {f"{name}.weight": (d_out, d_in) for name in NAMES}
    if bias:
        shapes.update({f"{name}.bias": (d_out,) for name in NAMES})
    return draw.state(shapes, dtype)


def layer(submission, state, context=N, dropout=0.0, dtype=None):
    """A layer in eval mode that holds these weights; it is built with `qkv_bias=True` only if there are biases."""
    d_out, d_in = state["W_key.weight"].shape
    options = {"qkv_bias": True} if "W_key.bias" in state else {}
    module = submission.build("CausalAttention", d_in, d_out, context, dropout, **options)
    if dtype:
        module.to(dtype=dtype)
    module.load(state)
    return module.eval()


def right(x, state, padding=None):
    """What should come out."""
    return causal.head(x, state, NAMES, padding)[0]


def looking(submission, draw, **options):
    """A layer with random weights, of a class seen to work where a token finds another one, whatever the mask."""
    state, easy, (x, found) = weights(draw), weights(draw), easy_cases.halves(draw, D_IN)
    easy_cases.find_halves(easy, "W_query.weight", "W_key.weight")
    module = layer(submission, easy, **options)
    got = module(x)
    shape(got, (*x.shape[:2], D_OUT))
    close(
        got[:3, 2], qkv.project(found, easy["W_value.weight"]), "the output for a token whose query fits another's key"
    )
    scores, alone = 256 * x[3:, :, :2] @ x[3:, :, :2].mT, qkv.project(x[3:], easy["W_value.weight"])
    easy_cases.mixes(got[3:], scores, alone, "the output of mild scores", slice(2, 3), causal=True, any_mask=True)
    module.load(state)
    return module


@check("shape", points=0.5)
def test_parameters(submission, draw):
    """The parameters are those of `W_query`, `W_key` and `W_value`, with a bias each if `qkv_bias`, and no others."""
    looking(submission, draw)
    plain = submission.build("CausalAttention", 6, 4, 9, 0.0).parameters()
    biased = submission.build("CausalAttention", 6, 4, 9, 0.0, qkv_bias=True).parameters()
    parameters(plain, {f"{name}.weight": (4, 6) for name in NAMES})
    parameters(biased, {f"{n}.{part}": s for n in NAMES for part, s in [("weight", (4, 6)), ("bias", (4,))]})


@check("values", points=1)
def test_values(submission, draw):
    """Without padding, the output is softmax(Q Kᵀ / √d_out) V, over the keys up to the query's own place."""
    state, x = weights(draw), draw.normal(B, N, D_IN)
    close(layer(submission, state)(x), right(x, state))


@check("values", points=0.5)
def test_all_sizes_equal(submission, draw):
    """The values are right also when b = n = d_in = d_out, where a mix-up of dimensions does not crash."""
    state, x = weights(draw, 4, 4), draw.normal(4, 4, 4)
    close(layer(submission, state, context=4)(x), right(x, state))


@check("values", points=0.5)
def test_biases(submission, draw):
    """With `qkv_bias=True`, queries, keys and values each get their bias added."""
    state, x = weights(draw, bias=True), draw.normal(B, N, D_IN)
    close(layer(submission, state)(x), right(x, state))


@check("masking", points=0.5)
def test_the_future_does_not_matter(submission, draw):
    """A token's output does not depend on later tokens or on another sequence; it depends on each of the past."""
    module, place = looking(submission, draw), draw.integer(0, N - 2)
    x = draw.normal(B, N, D_IN)
    future, other = x.clone(), x.clone()
    future[:, place + 1 :] += 3 * draw.normal(B, N - place - 1, D_IN)
    other[1] = draw.normal(N, D_IN)
    before, after, beside = module(x), module(future), module(other)
    # With queries of 0 and one feature that is passed on, what a change does to the average can be foretold.
    mean, numbers = averages(submission), draw.normal(B, N, 1)
    moved = [numbers + (torch.arange(N) == j).float()[:, None] for j in range(N)]
    plain, reached = mean(numbers), [mean(x) for x in moved]
    for got in (before, after, beside):
        shape(got, (B, N, D_OUT))
    for got in (plain, *reached):
        shape(got, (B, N, 1))
    rows = slice(0, place + 1)
    close(after[:, rows], before[:, rows].double(), "the output after a change of later tokens")
    close(beside[0], before[0].double(), "the output after a change of another sequence")
    for j, got in enumerate(reached):
        if ((got - plain)[:, j:].abs() < 0.5 / N).any():
            raise CheckFailed(f"Some output stays the same when token {j + 1}, which it may see, changes.")


def averages(submission):
    """A layer for one feature whose queries are 0: each token gets the average of the numbers that it may see."""
    return layer(submission, {f"{name}.weight": torch.ones(1, 1) * (name != "W_query") for name in NAMES})


@check("shape", points=0.5)
def test_shorter_sequences(submission, draw):
    """Sequences shorter than the context, down to one token, a batch of one and transposed tensors work as well."""
    looking(submission, draw)
    state = weights(draw)
    state["W_key.weight"] = torch.zeros(D_OUT, D_IN)  # equal scores: the rest of the formula is judged elsewhere
    inputs = {
        "a sequence as long as the context": draw.normal(B, 9, D_IN),
        "a sequence shorter than the context": draw.normal(B, N, D_IN),
        "one token": draw.normal(B, 1, D_IN),
        "a batch of one": draw.normal(1, N, D_IN),
        "a transposed tensor": draw.normal(B, D_IN, N).mT,
    }
    module = layer(submission, state, context=9)
    outputs = [module(x) for x in inputs.values()]
    for (name, x), got in zip(inputs.items(), outputs, strict=True):
        close(got, right(x, state), f"the output for {name}")


@check("arguments", points=0.5)
def test_what_is_refused(submission, draw):
    """A sequence longer than the context is a `ValueError` that holds both numbers; so is an input without a batch."""
    looking(submission, draw)
    module, shortest = (layer(submission, weights(draw), context=most) for most in (13, 1))
    too_long, two = module.error(draw.normal(1, 17, D_IN)), shortest.error(draw.normal(B, 2, D_IN))
    flat, deep = module.error(draw.normal(N, D_IN)), module.error(draw.normal(1, B, N, D_IN))
    refuses(too_long, "a sequence of 17 tokens with a context of 13", 17, 13)
    refuses(two, "a sequence of 2 tokens with a context of 1", 2, 1)
    refuses(flat, "an input of shape (n, d_in)")
    refuses(deep, "an input with four dimensions")


@check("masking", points=0.5)
def test_padding(submission, draw):
    """A key takes part if it is neither in the future nor padding: with padding at the end and with padding between."""
    state, x = weights(draw), draw.normal(B, N, D_IN)
    module = layer(submission, state)
    plain, cases = module(x), (AT_THE_END, BETWEEN, torch.ones(B, N, dtype=torch.bool))
    got = [module(x, padding) for padding in cases]
    close(plain, right(x, state), "the output without padding")
    for one, padding, what in zip(
        got, cases, ("with padding at the end", "with padding between", "with no padding"), strict=True
    ):
        close(one, right(x, state, padding), f"the output {what}")


@check("masking", points=0.5)
def test_padding_does_not_matter(submission, draw):
    """What stands in the padding changes no other token's output, and a padded query still sees what is real."""
    looking(submission, draw)
    state, x = weights(draw), draw.normal(B, N, D_IN)
    module, mean = layer(submission, state), averages(submission)
    noise = x + 3 * draw.normal(B, N, D_IN) * ~BETWEEN[:, :, None]
    numbers = draw.normal(B, N, 1)
    before, after = module(x, BETWEEN), module(noise, BETWEEN)
    plain, moved = mean(numbers, BETWEEN), mean(numbers + BETWEEN[:, :, None], BETWEEN)
    for got, width in ((before, D_OUT), (after, D_OUT), (plain, 1), (moved, 1)):
        shape(got, (B, N, width))
    close(after[BETWEEN], before[BETWEEN].double(), "the output of real tokens after a change of the padding")
    close(moved - plain, torch.ones(B, N, 1), "what all averages gain when all real tokens gain 1")


@check("masking", points=0.5)
def test_nothing_left(submission, draw):
    """A query with nothing left to attend to gets 0, not NaN: padding at the start, a length of 0, biases or not."""
    looking(submission, draw)
    x, states = draw.normal(B, N, D_IN), (weights(draw), weights(draw, bias=True))
    for state in states:
        state["W_key.weight"] = torch.zeros(D_OUT, D_IN)  # equal scores: the rest of the formula is judged elsewhere
    modules = [layer(submission, state) for state in states]
    got = [
        (module(x, p), state, p)
        for module, state in zip(modules, states, strict=True)
        for p in (AT_THE_START, NOTHING_REAL)
    ]
    for one, state, padding in got:
        expected = right(x, state, padding)
        empty = (expected == 0).all(-1)
        shape(one, (B, N, D_OUT))
        close(one[empty], expected[empty], "the output of queries with nothing left")
        close(one, expected)


@check("gradients", points=0.5)
def test_gradients(submission, draw):
    """Without padding, the input and each of the three matrices get their right gradients."""
    right_gradients(submission, draw, None)


@check("gradients", points=0.5)
def test_gradients_with_padding(submission, draw):
    """With padding all gradients are right as well, and finite where a query has nothing left."""
    right_gradients(submission, draw, None)
    for padding in (BETWEEN, AT_THE_START, NOTHING_REAL):
        right_gradients(submission, draw, padding)


def right_gradients(submission, draw, padding):
    """Raises CheckFailed unless the gradients of the input and the weights are those of the reference."""
    state, x = weights(draw, dtype=torch.float64), draw.normal(B, N, D_IN, dtype=torch.float64, grad=True)
    upstream = draw.normal(B, N, D_OUT, dtype=torch.float64)
    leaves = {name: w.clone().requires_grad_() for name, w in state.items()}
    expected = qkv.gradients([right(x, leaves, padding)], [upstream], [x, *leaves.values()])
    given = (x,) if padding is None else (x, padding)
    got = layer(submission, state, dtype=torch.float64).gradients(*given, upstream=upstream)
    gradient(got.inputs[0], expected[0], "the input", torch.float64)
    for name, one in zip(NAMES, expected[1:], strict=True):
        gradient(got.parameters.get(f"{name}.weight"), one, f"the weight of {name}", torch.float64)


@check("numerics", points=0.5)
def test_extreme_scores(submission, draw):
    """Scores of ±10,000 give no NaN, infinity or leak: all extreme, one row among mild ones, all very negative."""
    looking(submission, draw)
    mixed, one_huge = draw.normal(B, N, D_IN), draw.normal(B, N, D_IN)
    one_huge[0, 2] *= 100
    near = draw.normal(B, N, D_IN)
    near[:, :, 0] = 1 + 2e-5 * near[:, :, 0]
    cases = []
    for x, negative in [(mixed, False), (one_huge, False), (near, True)]:
        state = weights(draw)
        if negative:  # queries and keys go by the first feature alone, so all scores are -10,000, give or take a few
            state["W_query.weight"][:, 1:] = 0
            state["W_key.weight"] = -state["W_query.weight"]
        state["W_query.weight"] *= HUGE / qkv.largest_score(x, state, NAMES)
        cases.append((x, state, layer(submission, state)(x)))
    for x, state, got in cases:
        close(got, right(x, state), tolerance=HUGE_TOLERANCE)


@check("numerics", points=0.5)
def test_dtypes(submission, draw):
    """float64, float16 and bfloat16 in, the same out, as accurate as each of them allows."""
    looking(submission, draw)
    cases = []
    for dtype in (torch.float64, torch.float16, torch.bfloat16):
        state, x = weights(draw, d_out=6, dtype=dtype), draw.normal(B, N, D_IN, dtype=dtype)
        cases.append((layer(submission, state, dtype=dtype)(x), right(x, state), dtype))
    for got, expected, dtype in cases:
        close(got, expected, dtype=dtype)


@check("device", points=0.5)
def test_device(submission, draw):
    """The output lies on the device of the input, and nothing is made or left elsewhere (tried on `meta`)."""
    module = looking(submission, draw).to(device="meta")
    got = module.on("meta", draw.normal(B, N, D_IN)), module.on("meta", draw.normal(B, N, D_IN), AT_THE_START)
    for one in got:
        on_meta(one, (B, N, D_OUT))


@check("mode", points=0.5)
def test_dropout(submission, draw):
    """In train mode dropout acts on the weights: each is 0 or divided by 1 - p, and other ones in each call."""
    b, n, features = 4, 16, 3
    state = weights(draw, features, 2 * n)
    # Every token carries a name tag, and passes it on twice: the output holds the weights, twice.
    state = {name: torch.cat([w, torch.zeros(2 * n, n)], dim=1) for name, w in state.items()}
    state["W_value.weight"] = torch.cat([torch.zeros(2 * n, features), torch.eye(n).repeat(2, 1)], dim=1)
    x = torch.cat([draw.normal(1, n, features), torch.eye(n)[None]], dim=2).repeat(b, 1, 1)
    expected = causal.head(x, state, NAMES)[1]
    module = layer(submission, state, context=n, dropout=P).train()
    first, second = (module.seeded(seed, x) for seed in (1, 2))
    for got in (first, second):
        shape(got, (b, n, 2 * n))
        dropped(got[..., :n], expected, P, got[..., n:])
    if torch.equal(first, second):
        raise CheckFailed("Two calls dropped the same weights.")


@check("mode", points=0.5, witnessed=True)
def test_again(submission, draw):
    """In eval mode nothing is dropped: a second call gives the same. Input and padding mask stay as they were."""
    module = looking(submission, draw, dropout=0.5)
    x, other = draw.normal(B, N, D_IN), draw.normal(B + 1, N, D_IN)
    first = module(x)
    unchanged(submission)
    module(x, AT_THE_START)
    unchanged(submission)
    larger, second = module(other), module(x)
    shape(first, (B, N, D_OUT))
    shape(larger, (B + 1, N, D_OUT), "the output for a larger batch")
    close(second, first, "the output of the second call")


@check("device", points=0)
def test_cuda(submission, draw):
    """On a GPU the output has the same values, in float32 and in float16, with padding."""
    on_cuda(submission)
    for dtype in (torch.float32, torch.float16):
        state, x = weights(draw, dtype=dtype), draw.normal(B, N, D_IN, dtype=dtype)
        module = layer(submission, state, dtype=dtype).to(device="cuda")
        plain = module.on("cuda", x)
        stayed_on_cuda(submission)
        padded = module.on("cuda", x, BETWEEN)
        close(plain, right(x, state), dtype=dtype)
        close(padded, right(x, state, BETWEEN), dtype=dtype)
