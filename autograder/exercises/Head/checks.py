"""Graders of `Head(n_embd, head_size, block_size, dropout)`: (b, t, n_embd) -> (b, t, head_size), causal.

Checks that are not about the values of the whole formula first pass `looking`, an easy case, so that a wrong scale or a
leak does not cost the points for, say, the device, and what is no attention gets no points. The block is
as long as the sequence and there is no dropout, except in the checks that are about that.
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

NAMES = ("query", "key", "value")
B, T, N_EMBD, SIZE = 2, 5, 6, 4  # all different; the root of 4 is exact in any dtype
P = 0.25


def weights(draw, n_embd=N_EMBD, size=SIZE, dtype=torch.float32):
    """Different random weights for the three layers."""
    return draw.state({f"{name}.weight": (size, n_embd) for name in NAMES}, dtype)


def head(submission, state, block=T, dropout=0.0, dtype=None):
    """A head in eval mode that holds these weights."""
    size, n_embd = state["key.weight"].shape
    module = submission.build("Head", n_embd, size, block, dropout)
    if dtype:
        module.to(dtype=dtype)
    module.load(state)
    return module.eval()


def right(x, state):
    """What should come out."""
    return causal.head(x, state, NAMES)[0]


def looking(submission, draw, **options):
    """A head with random weights, of a class seen to work where a token finds another one, whatever the mask."""
    state, easy, (x, found) = weights(draw), weights(draw), easy_cases.halves(draw, N_EMBD)
    easy_cases.find_halves(easy, "query.weight", "key.weight")
    module = head(submission, easy, **options)
    got = module(x)
    shape(got, (*x.shape[:2], SIZE))
    close(got[:3, 2], qkv.project(found, easy["value.weight"]), "the output for a token whose query fits another's key")
    scores, alone = 256 * x[3:, :, :2] @ x[3:, :, :2].mT, qkv.project(x[3:], easy["value.weight"])
    easy_cases.mixes(got[3:], scores, alone, "the output of mild scores", slice(2, 3), causal=True, any_mask=True)
    module.load(state)
    return module


@check("shape", points=0.5)
def test_parameters(submission, draw):
    """The parameters are the weights of `key`, `query` and `value`, without bias, and no others."""
    looking(submission, draw)
    module = submission.build("Head", 6, 4, 9, 0.0)
    parameters(module.parameters(), {f"{name}.weight": (4, 6) for name in NAMES})


@check("values", points=0.5)
def test_values(submission, draw):
    """The output is softmax(Q Kᵀ / √head_size) V, over the keys up to the query's own place."""
    state, x = weights(draw), draw.normal(B, T, N_EMBD)
    close(head(submission, state)(x), right(x, state))


@check("values", points=0.5)
def test_all_sizes_equal(submission, draw):
    """The values are right also when b = t = n_embd = head_size, where a mix-up of dimensions does not crash."""
    state, x = weights(draw, 4, 4), draw.normal(4, 4, 4)
    close(head(submission, state, block=4)(x), right(x, state))


@check("masking", points=0.5)
def test_the_future_does_not_matter(submission, draw):
    """A token's output does not depend on later tokens or on another sequence; it depends on each of the past."""
    module, place = looking(submission, draw), draw.integer(0, T - 2)
    x = draw.normal(B, T, N_EMBD)
    future, other = x.clone(), x.clone()
    future[:, place + 1 :] += 3 * draw.normal(B, T - place - 1, N_EMBD)
    other[1] = draw.normal(T, N_EMBD)
    before, after, beside = module(x), module(future), module(other)
    # With queries of 0 and one feature that is passed on, what a change does to the average can be foretold.
    state = {f"{name}.weight": torch.ones(1, 1) * (name != "query") for name in NAMES}
    mean = head(submission, state)
    numbers = draw.normal(B, T, 1)
    moved = [numbers + (torch.arange(T) == j).float()[:, None] for j in range(T)]
    plain, reached = mean(numbers), [mean(x) for x in moved]
    for got in (before, after, beside):
        shape(got, (B, T, SIZE))
    for got in (plain, *reached):
        shape(got, (B, T, 1))
    rows = slice(0, place + 1)
    close(after[:, rows], before[:, rows].double(), "the output after a change of later tokens")
    close(beside[0], before[0].double(), "the output after a change of another sequence")
    for j, got in enumerate(reached):
        if ((got - plain)[:, j:].abs() < 0.5 / T).any():
            raise CheckFailed(f"Some output stays the same when token {j + 1}, which it may see, changes.")


@check("shape", points=0.5)
def test_shorter_sequences(submission, draw):
    """Sequences shorter than the block, down to one token, a batch of one and transposed tensors work as well."""
    looking(submission, draw)
    state = weights(draw)
    state["key.weight"] = torch.zeros(SIZE, N_EMBD)  # equal scores: the rest of the formula is judged elsewhere
    inputs = {
        "a sequence as long as the block": draw.normal(B, 9, N_EMBD),
        "a sequence shorter than the block": draw.normal(B, T, N_EMBD),
        "one token": draw.normal(B, 1, N_EMBD),
        "a batch of one": draw.normal(1, T, N_EMBD),
        "a transposed tensor": draw.normal(B, N_EMBD, T).mT,
    }
    module = head(submission, state, block=9)
    outputs = [module(x) for x in inputs.values()]
    for (name, x), got in zip(inputs.items(), outputs, strict=True):
        close(got, right(x, state), f"the output for {name}")


@check("arguments", points=0.5)
def test_what_is_refused(submission, draw):
    """A sequence longer than the block is a `ValueError` that holds both numbers; so is an input without a batch."""
    looking(submission, draw)
    module, shortest = (head(submission, weights(draw), block=most) for most in (13, 1))
    too_long, two = module.error(draw.normal(1, 17, N_EMBD)), shortest.error(draw.normal(B, 2, N_EMBD))
    flat, deep = module.error(draw.normal(T, N_EMBD)), module.error(draw.normal(1, B, T, N_EMBD))
    refuses(too_long, "a sequence of 17 tokens with a block of 13", 17, 13)
    refuses(two, "a sequence of 2 tokens with a block of 1", 2, 1)
    refuses(flat, "an input of shape (t, n_embd)")
    refuses(deep, "an input with four dimensions")


@check("gradients", points=0.5)
def test_gradients(submission, draw):
    """The input and each of the three matrices get their right gradients."""
    state, x = weights(draw, dtype=torch.float64), draw.normal(B, T, N_EMBD, dtype=torch.float64, grad=True)
    upstream = draw.normal(B, T, SIZE, dtype=torch.float64)
    leaves = {name: w.clone().requires_grad_() for name, w in state.items()}
    expected = qkv.gradients([right(x, leaves)], [upstream], [x, *leaves.values()])
    got = head(submission, state, dtype=torch.float64).gradients(x, upstream=upstream)
    gradient(got.inputs[0], expected[0], "the input", torch.float64)
    for name, one in zip(NAMES, expected[1:], strict=True):
        gradient(got.parameters.get(f"{name}.weight"), one, f"the weight of {name}", torch.float64)


@check("numerics", points=0.5)
def test_extreme_scores(submission, draw):
    """Scores of ±10,000 give no NaN, infinity or leak: all extreme, one row among mild ones, all very negative."""
    looking(submission, draw)
    mixed, one_huge = draw.normal(B, T, N_EMBD), draw.normal(B, T, N_EMBD)
    one_huge[0, 2] *= 100
    near = draw.normal(B, T, N_EMBD)
    near[:, :, 0] = 1 + 2e-5 * near[:, :, 0]
    cases = []
    for x, negative in [(mixed, False), (one_huge, False), (near, True)]:
        state = weights(draw)
        if negative:  # queries and keys go by the first feature alone, so all scores are -10,000, give or take a few
            state["query.weight"][:, 1:] = 0
            state["key.weight"] = -state["query.weight"]
        state["query.weight"] *= HUGE / qkv.largest_score(x, state, NAMES)
        cases.append((x, state, head(submission, state)(x)))
    for x, state, got in cases:
        close(got, right(x, state), tolerance=HUGE_TOLERANCE)


@check("numerics", points=0.5)
def test_dtypes(submission, draw):
    """float64, float16 and bfloat16 in, the same out, as accurate as each of them allows."""
    looking(submission, draw)
    cases = []
    for dtype in (torch.float64, torch.float16, torch.bfloat16):
        state, x = weights(draw, size=3, dtype=dtype), draw.normal(B, T, N_EMBD, dtype=dtype)
        cases.append((head(submission, state, dtype=dtype)(x), right(x, state), dtype))
    for got, expected, dtype in cases:
        close(got, expected, dtype=dtype)


@check("device", points=0.5)
def test_device(submission, draw):
    """The output lies on the device of the input, and nothing is made or left elsewhere (tried on `meta`)."""
    module = looking(submission, draw)
    on_meta(module.to(device="meta").on("meta", draw.normal(B, T, N_EMBD)), (B, T, SIZE))


@check("mode", points=0.5)
def test_dropout(submission, draw):
    """In train mode dropout acts on the weights: each is 0 or divided by 1 - p, and other ones in each call."""
    b, t, features = 4, 16, 3
    state = weights(draw, features, 2 * t)
    # Every token carries a name tag, and passes it on twice: the output holds the weights, twice.
    tags = torch.eye(t).repeat(2, 1)
    state = {n: torch.cat([w, torch.zeros(2 * t, t)], dim=1) for n, w in state.items()}
    state["value.weight"] = torch.cat([torch.zeros(2 * t, features), tags], dim=1)
    x = torch.cat([draw.normal(1, t, features), torch.eye(t)[None]], dim=2).repeat(b, 1, 1)
    expected = causal.head(x, state, NAMES)[1]
    module = head(submission, state, block=t, dropout=P).train()
    first, second = (module.seeded(seed, x) for seed in (1, 2))
    for got in (first, second):
        shape(got, (b, t, 2 * t))
        dropped(got[..., :t], expected, P, got[..., t:])
    if torch.equal(first, second):
        raise CheckFailed("Two calls dropped the same weights.")


@check("mode", points=0.5, witnessed=True)
def test_again(submission, draw):
    """In eval mode nothing is dropped: a second call gives the same. The input stays as it was."""
    module = looking(submission, draw, dropout=0.5)
    x, other = draw.normal(B, T, N_EMBD), draw.normal(B + 1, T, N_EMBD)
    first = module(x)
    unchanged(submission)
    larger, second = module(other), module(x)
    shape(first, (B, T, SIZE))
    shape(larger, (B + 1, T, SIZE), "the output for a larger batch")
    close(second, first, "the output of the second call")


@check("device", points=0)
def test_cuda(submission, draw):
    """On a GPU the output has the same values, in float32 and in float16."""
    on_cuda(submission)
    for dtype in (torch.float32, torch.float16):
        state, x = weights(draw, dtype=dtype), draw.normal(B, T, N_EMBD, dtype=dtype)
        got = head(submission, state, dtype=dtype).to(device="cuda").on("cuda", x)
        stayed_on_cuda(submission)
        close(got, right(x, state), dtype=dtype)
