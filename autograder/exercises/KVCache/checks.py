"""Checks of `KVCache()` and of `GroupedQueryAttention.forward(x, cache=None)`: (b, t, d_model) -> (b, t, d_model).

The idea is that two forms agree: tokens that come in parts, with a cache, get the same output as all at once without
one. So most checks compare the student's module with itself, and what went wrong in lesson 08 costs only the checks of
the module without a cache. All start with `attends` or `keeps_apart`, easy cases, so that a module that gives the same
whatever it sees, which agrees with itself too, gets nothing. Those with a second part start with `goes_on`: the inputs
kept in place of keys and values agree as well, and all is made again in each call, which a cache is there to save.
"""

import contextlib
from collections.abc import Sequence
from functools import partial
from typing import Any

import torch

from ...checks.api import (
    HUGE_TOLERANCE,
    CheckFailed,
    Draw,
    check,
    close,
    gradient,
    on_cuda,
    on_meta,
    shape,
    stayed_on_cuda,
    tensor,
    unchanged,
)
from ...checks.gates import easy_case
from ...checks.proxies import Proxy, StudentError, Submission
from ...checks.steps import Weights
from ..families import digits, easy_cases, hidden, later_calls
from ..families.caches import found_in
from ..families.many_heads.checks import first_of
from ..reference import cached, modern, qkv

IN_FLOAT32 = modern.IN_FLOAT32
STANDS_FOR = "GroupedQueryAttention"  # the class whose `forward` is called: a KVCache is only handed to it

B, T, D, H, KV, W = 2, 9, 10, 4, 2, 6  # batch, tokens, d_model, heads, key heads, head_dim: all different
BASE = 50.0  # small, so that all pairs turn far within a few places
PARTS = (3, 1, 4, 1)  # of T tokens
SOME = (2, 5, 2)
PASTS = (250, 100)  # tokens that came before a step whose costs are counted; the fewer where there is no room for more
SETTINGS: Sequence[dict[str, Any]] = ({}, {"rope_base": BASE}, {"rope_base": BASE, "qk_norm": True})
PROMPT = (6, 1, 1, 1)  # what comes after the first part comes one by one: where the mask within a part is not the point


def weights(
    draw: Draw,
    heads: int = H,
    kv: int = KV,
    width: int = W,
    d: int = D,
    qk_norm: bool = False,
    dtype: torch.dtype = torch.float32,
) -> Weights:
    """Random weights of all layers."""
    shapes = {"W_query": (heads * width, d), "W_key": (kv * width, d), "W_value": (kv * width, d)}
    shapes["out_proj"] = (d, heads * width)
    state = draw.state({f"{name}.weight": size for name, size in shapes.items()}, dtype)
    state["W_query.weight"] *= 2  # so that weights differ clearly from each other
    if qk_norm:
        state |= {f"{name}.weight": 1 + 0.5 * draw.normal(width, dtype=dtype) for name in ("q_norm", "k_norm")}
    return state


def build(
    submission: Submission,
    state: Weights,
    heads: int = H,
    kv: int = KV,
    width: int = W,
    d: int = D,
    dtype: torch.dtype | None = None,
    rope_base: float | None = None,
) -> Proxy:
    """A module with these weights, in eval mode."""
    options: dict[str, Any] = {"head_dim": width}
    if rope_base is not None:
        options["rope_base"] = rope_base
    if "q_norm.weight" in state:
        options["qk_norm"] = True
    module = submission.build("GroupedQueryAttention", d, heads, kv, **options)
    if dtype:
        module.to(dtype=dtype)
    module.load(state)
    return module.eval()


def right(
    x: torch.Tensor, state: Weights, heads: int = H, kv: int = KV, rope_base: float | None = None
) -> torch.Tensor:
    """The output for all tokens at once, by definition."""
    keys, values = cached.keys_and_values(x, state, kv, rope_base)
    return cached.attention_to_all(x, state, heads, keys, values, rope_base)


def all_at_once(submission: Submission, module: Proxy, x: torch.Tensor) -> Any:
    """The output for all tokens without a cache; with a new one, if the module takes no call without."""
    try:
        return first_of(module(x))
    except StudentError as error:
        try:
            return first_of(module(x, submission.build("KVCache")))
        except StudentError:
            raise error from None


def in_parts(
    submission: Submission, module: Proxy, x: torch.Tensor, parts: Sequence[int], device: str = "cpu"
) -> list[Any]:
    """The outputs for the tokens of x (b, t, d), which come in parts of these lengths, with one cache."""
    cache = submission.build("KVCache")
    call = module if device == "cpu" else partial(module.on, device)
    return [first_of(call(part, cache)) for part in x.split(parts, dim=1)]


def tokens_from(first: int, length: int) -> str:
    """These tokens, in words."""
    return f"token {first}" if length == 1 else f"tokens {first} to {first + length - 1}"


def agree(submission: Submission, module: Proxy, x: torch.Tensor, *ways: Sequence[int]) -> None:
    """Raises CheckFailed unless tokens in parts get the outputs that the module itself gives all at once."""
    whole = all_at_once(submission, module, x)
    got = [in_parts(submission, module, x, parts) for parts in ways]
    shape(whole, x.shape, "the output without a cache")
    for parts, outputs in zip(ways, got, strict=True):
        first = 0
        for length, output in zip(parts, outputs, strict=True):
            what = f"the output for {tokens_from(first, length)}, with a cache that holds {first},"
            close(output, whole[:, first : first + length].double(), what)
            first += length


def attends(submission: Submission, draw: Draw) -> None:
    """Raises CheckFailed unless a module attends, in an easy case, and takes a cache."""
    attending(submission, draw)


def keeps_apart(submission: Submission, draw: Draw) -> None:
    """Raises CheckFailed unless a module attends, in an easy case, and a new cache holds nothing of another."""
    attending(submission, draw)
    new_caches_are_empty(submission, draw)


def goes_on(submission: Submission, draw: Draw) -> None:
    """Raises CheckFailed unless a cache holds nothing of another, and a step makes nothing of earlier tokens again."""
    keeps_apart(submission, draw)
    nothing_again(submission, draw)


def nothing_again(submission: Submission, draw: Draw, **cache: Any) -> None:
    """Raises CheckFailed if a step makes keys, values or outputs of earlier tokens again. For `cache`, see `cache_for`.

    Whether the step's output is right doesn't matter here. A module may be another one in each setting, so all of them
    are tried, or one that is drawn. An error with positions or norms is left to the checks about these.
    """
    drawn = SETTINGS[Draw(draw.seed, "KVCache/setting").integer(0, len(SETTINGS) - 1)]
    for case, settings in ((made_anew, SETTINGS), (keys_and_values_cost, [drawn]), (attention_costs, [drawn])):
        for setting in settings:
            with contextlib.suppress(*[StudentError] if setting else []):
                case(submission, draw, **setting, **cache)


def cache_for(submission: Submission, room: int, name: str = "KVCache", first: int | None = None) -> Proxy:
    """A new cache of that class; if it drops tokens, one for so many, of which it keeps the `first` ones."""
    return submission.build(name) if first is None else submission.build(name, first, room - first)


@easy_case
def made_anew(
    submission: Submission, draw: Draw, rope_base: float | None = None, qk_norm: bool = False, **cache: Any
) -> None:
    """Raises CheckFailed if other weights change the keys or the values of tokens that came before these weights."""
    state, x = weights(draw, qk_norm=qk_norm), draw.normal(B, 6, D)
    new = state | {name: weights(draw)[name] for name in ("W_key.weight", "W_value.weight")}
    module, held = build(submission, state, rope_base=rope_base), cache_for(submission, 6, **cache)
    module.do(x[:, :4], held)
    module.load(new)
    steps = [first_of(module.sample(x[:, place : place + 1], held)) for place in (4, 5)]
    made = partial(cached.keys_and_values, num_kv_heads=KV, rope_base=rope_base)
    parts = made(x[:, :4], state), made(x[:, 4:], new, start=4)
    kept = [torch.cat(both, dim=2) for both in zip(*parts, strict=True)]
    anew = made(x, new)
    found = [
        same(got, cached.attention_to_all(x[:, :s][:, -1:], new, H, keys[:, :, :s], values[:, :, :s], rope_base))
        for s, got in zip((5, 6), steps, strict=True)
        for keys, values in ((anew[0], anew[1]), (anew[0], kept[1]), (kept[0], anew[1]))
    ]
    submission.note("made anew", found)
    if any(found):
        raise CheckFailed(
            "Keys or values of earlier tokens are made again: other weights change those of the tokens before them."
        )


def same(got: Any, expected: torch.Tensor) -> bool:
    """Whether a value is the expected one, but for rounding."""
    is_output = isinstance(got, torch.Tensor) and got.shape == expected.shape
    return is_output and torch.allclose(got.double(), expected, rtol=1e-3, atol=1e-4)


@easy_case
def keys_and_values_cost(submission: Submission, draw: Draw, **options: Any) -> None:
    """Raises CheckFailed if a step reads so many numbers more of wider tokens as if it read them all (witnessed).

    What is cached is as wide as before, and of the new token alone each number meets a few products.
    """
    past, growth = step_costs(submission, draw, PASTS, ((2, 32), (2, 16)), **options)
    most = 3 * past // 4  # the projections take 2 · 2 · (H + KV) = 24 products
    submission.note("keys and values again", growth > most)
    if growth > most:
        raise CheckFailed(
            f"With {past} tokens before it, each of the d_model numbers of a new token costs {growth:,.0f} operations,"
            f" and {most} are plenty: inputs of earlier tokens are read again, and `W_key` and `W_value` should see the"
            " new one alone."
        )


@easy_case
def attention_costs(submission: Submission, draw: Draw, **options: Any) -> None:
    """Raises CheckFailed if a step takes so many more products in wider heads as if all tokens had queries (witnessed).

    A mask of all tokens is as wide as before, and a room for 7,000 tokens that is searched as a whole is no reason.
    """
    past, growth = step_costs(submission, draw, PASTS, ((32, 8), (16, 8)), **options)
    most = 3 * H * past**2 // 4
    submission.note("attention again", growth > most)
    if growth > most:
        raise CheckFailed(
            f"With {past} tokens before it, a new token costs {growth:,.0f} operations for each number in a head, and"
            f" {most:,} are plenty: earlier tokens attend again, and the new one alone should."
        )


def step_costs(
    submission: Submission, draw: Draw, pasts: Sequence[int], sizes: Sequence[tuple[int, int]], **options: Any
) -> tuple[int, float]:
    """How much more a step costs for each number that the first (head_dim, d_model) is wider by, and the tokens before.

    An error after that many tokens is a mistake of its own, such as a room that is too small: then fewer are tried.
    """
    (wide, narrow), (most, *fewer) = sizes, pasts
    try:
        dear, cheap = (dearest_step(submission, draw, most, *size, **options) for size in sizes)
    except StudentError:
        if not fewer:
            raise
        return step_costs(submission, draw, fewer, sizes, **options)
    return most, (dear - cheap) / max(one - other for one, other in zip(wide, narrow, strict=True))


def dearest_step(
    submission: Submission,
    draw: Draw,
    past: int,
    width: int,
    d: int,
    rope_base: float | None = None,
    qk_norm: bool = False,
    **cache: Any,
) -> int:
    """What the dearest of a few steps costs. The last of them finds no room in a cache that drops tokens."""
    module = build(submission, weights(draw, H, KV, width, d, qk_norm), H, KV, width, d, rope_base=rope_base)
    held, x = cache_for(submission, past, **cache), draw.normal(1, past + 2, d)
    module.do(x[:, : past - 1], held)
    return max(module.work(one, held) for one in x[:, past - 1 :].split(1, dim=1))


@easy_case
def new_caches_are_empty(submission: Submission, draw: Draw) -> None:
    """Raises CheckFailed unless two caches, one after the other, give the same.

    If caches are one, each check depends on those before it, so it is told here, once. Nothing is asked of more than
    the first part of a text.
    """
    module, x = build(submission, weights(draw)), draw.normal(B, 2, D)
    first, second = (first_of(module(x, submission.build("KVCache"))) for _ in range(2))
    shape(second, tensor(first).shape, "the output with a second new cache")
    if not torch.allclose(first, second, atol=1e-4, equal_nan=True):
        raise CheckFailed("A new cache holds what went into another one: each has its own keys and values.")


@easy_case
def attending(submission: Submission, draw: Draw) -> None:
    """Raises CheckFailed unless the last token gets what it finds, without a cache, and a cache is taken as well.

    There is one head, so the groups don't matter, and no scale makes a difference: the token finds its like alone, or
    all alike, or each by a softmax of how well it fits.
    """
    x = 0.1 * draw.normal(B, 5, 6)
    codes = torch.eye(6)[torch.tensor([[0, 1, 2, 3, 1], [4, 0, 2, 4, 2]])]
    state = {"W_query.weight": 60 * torch.eye(6), "W_key.weight": 60 * torch.eye(6)}
    state |= {"W_value.weight": draw.normal(6, 6), "out_proj.weight": torch.eye(6)}
    even = state | {"W_query.weight": torch.zeros(6, 6)}
    sizes: dict[str, Any] = {"heads": 1, "kv": 1, "width": 6, "d": 6}
    sure, mild = build(submission, state, **sizes), build(submission, even, **sizes)
    found, mixed = all_at_once(submission, sure, codes + x), all_at_once(submission, mild, x)
    softly(submission, draw, sizes)
    with_cache = first_of(mild(x, submission.build("KVCache")))
    for got, given, held in ((found, codes + x, state), (mixed, x, even)):
        shape(got, x.shape, "the output without a cache")
        expected = right(given, held, heads=1, kv=1)[:, -1]
        close(got[:, -1], expected, "the output for the last token, without a cache", tolerance=0.05)
    if not tensor(with_cache, "the output with a new cache").isfinite().all():
        raise CheckFailed("With a new cache there is NaN or infinity in the output.")


def softly(submission: Submission, draw: Draw, sizes: dict[str, Any]) -> None:
    """Raises CheckFailed unless the last token weighs all of mild scores by a softmax of these, without a cache."""
    state = {name: torch.eye(6) for name in weights(draw, 1, 1, 6, 6)}
    x = torch.stack([easy_cases.mild_tokens(draw, 5, 6) for _ in range(2)])
    got = all_at_once(submission, build(submission, state, **sizes), x)
    shape(got, x.shape, "the output without a cache")
    easy_cases.last_mixes_softly(got, x @ x.mT, x, "the weights of mild scores, without a cache,")


@check("values", points=1)
def test_without_a_cache(submission: Submission, draw: Draw) -> None:
    """Without a cache all is as in lesson 08: heads that share keys, rotated positions, normalised heads."""
    attends(submission, draw)
    cases = []
    for rope_base, qk_norm, kv in ((None, False, 2), (BASE, False, 1), (BASE, True, 4)):
        state, x = weights(draw, kv=kv, qk_norm=qk_norm), draw.normal(B, T, D)
        expected = right(x, state, kv=kv, rope_base=rope_base)
        cases.append((build(submission, state, kv=kv, rope_base=rope_base)(x), expected))
    x, state = hidden.low_then_high(draw.normal(B, T, D), weights(draw), W)
    extreme = build(submission, state)(x)
    for got, expected in cases:
        close(got, expected, "the output without a cache")
    close(extreme, right(x, state), "the output for scores of ±10,000, without a cache", tolerance=HUGE_TOLERANCE)


@check("gradients", points=0.5)
def test_gradients(submission: Submission, draw: Draw) -> None:
    """Without a cache the gradients of the input and of all weights are right, as in lesson 08."""
    attends(submission, draw)
    state, x, upstream = weights(draw), draw.normal(B, T, D, grad=True), draw.normal(B, T, D)
    got = build(submission, state, rope_base=BASE).train().gradients(x, upstream=upstream)
    leaves = {name: weight.clone().requires_grad_() for name, weight in state.items()}
    expected = qkv.gradients(right(x, leaves, rope_base=BASE), upstream.double(), [x, *leaves.values()])
    gradient(got.inputs[0], expected[0], "the input")
    for name, one in zip(leaves, expected[1:], strict=True):
        gradient(got.parameters.get(name), one, f"`{name}`")


@check("values", points=0.5)
def test_first_part(submission: Submission, draw: Draw) -> None:
    """With a new cache, the first part of a text gets what it gets without one."""
    keeps_apart(submission, draw)
    module, x = build(submission, weights(draw), rope_base=BASE), draw.normal(B, T, D)
    whole, got = all_at_once(submission, module, x), first_of(module(x, cache=submission.build("KVCache")))
    shape(whole, x.shape, "the output without a cache")
    close(got, whole.double(), "the output with a new cache")


@check("values", points=1)
def test_one_by_one(submission: Submission, draw: Draw) -> None:
    """Tokens that come one by one get what all get at once, however many heads share a key head (no positions yet)."""
    goes_on(submission, draw)
    for kv in (KV, 1, H):
        module, x = build(submission, weights(draw, kv=kv), kv=kv), draw.normal(B, 5, D)
        agree(submission, module, x, (1,) * 5)


@check("values", points=1)
def test_chunks(submission: Submission, draw: Draw) -> None:
    """Tokens that come in parts of any length get what all get at once: within a part, none sees a later one."""
    goes_on(submission, draw)
    module, x = build(submission, weights(draw)), draw.normal(B, T, D)
    agree(submission, module, x, PARTS, SOME, (1, 8), (8, 1))
    x, state = hidden.low_then_high(x, weights(draw), W)
    agree(submission, build(submission, state), x, PARTS)


@check("values", points=1)
def test_positions(submission: Submission, draw: Draw) -> None:
    """With a `rope_base`, positions go on from what the cache holds, for queries and for keys."""
    goes_on(submission, draw)
    module, x = build(submission, weights(draw), rope_base=BASE), draw.normal(B, T, D)
    agree(submission, module, x, (1,) * T, PARTS, SOME)


@check("values", points=0.5)
def test_normalised_heads(submission: Submission, draw: Draw) -> None:
    """With `qk_norm` as well, parts get what all get at once: each key is normalised once, before it is rotated."""
    goes_on(submission, draw)
    module = build(submission, weights(draw, qk_norm=True), rope_base=BASE)
    agree(submission, module, draw.normal(B, T, D), PROMPT)


@check("values", points=0.5)
def test_keys_are_kept(submission: Submission, draw: Draw) -> None:
    """Keys and values of earlier tokens are kept, not made again: changed weights make those of new tokens alone."""
    goes_on(submission, draw)
    state, x = weights(draw), draw.normal(B, T, D)
    new = state | {name: weights(draw)[name] for name in ("W_key.weight", "W_value.weight")}
    module, cache = build(submission, state), submission.build("KVCache")
    before = first_of(module(x[:, :4], cache))
    module.load(new)
    after = first_of(module(x[:, 4:5], cache)), first_of(module(x[:, 5:6], cache))
    pieces = [cached.keys_and_values(x[:, :4], state, KV), cached.keys_and_values(x[:, 4:6], new, KV)]
    keys, values = (torch.cat(parts, dim=2) for parts in zip(*pieces, strict=True))
    close(before, right(x[:, :4], state), "the output for the first tokens")
    for number, got in enumerate(after):
        held = 5 + number
        expected = cached.attention_to_all(x[:, held - 1 : held], new, H, keys[:, :, :held], values[:, :, :held])
        close(got, expected, f"the output for token {held - 1}, whose key other weights make than those before")


@check("mode", points=0.5)
def test_caches_are_apart(submission: Submission, draw: Draw) -> None:
    """A cache is one layer's and one batch's: what goes into another, or into a module without one, changes nothing."""
    goes_on(submission, draw)
    module, other = (build(submission, weights(draw), rope_base=BASE) for _ in range(2))
    texts = [(module, draw.normal(B, 6, D)), (module, draw.normal(B + 1, 6, D)), (other, draw.normal(B, 6, D))]
    caches, got = [submission.build("KVCache") for _ in texts], []
    for start, end in ((0, 4), (4, 5), (5, 6)):
        for (layer, x), cache in zip(texts, caches, strict=True):
            got.append((layer, x, slice(start, end), first_of(layer(x[:, start:end], cache))))
            all_at_once(submission, layer, x)
    fresh = first_of(module(texts[0][1][:, :2], submission.build("KVCache")))
    whole = [all_at_once(submission, layer, x) for layer, x in texts]
    for number, (_, x, part, output) in enumerate(got):
        shape(whole[number % 3], x.shape, "the output without a cache")
        which = tokens_from(part.start, part.stop - part.start)
        what = f"the output for {which} of one of three texts, each with its cache,"
        close(output, whole[number % 3][:, part].double(), what)
    close(fresh, whole[0][:, :2].double(), "the output with a new cache")


@check("shape", points=0.5)
def test_output_alone(submission: Submission, draw: Draw) -> None:
    """With a cache, as without one, the output alone is returned: (b, t, d_model)."""
    goes_on(submission, draw)
    module, cache, x = build(submission, weights(draw)), submission.build("KVCache"), draw.normal(B, 5, D)
    got = [module(x[:, :3], cache), module(x[:, 3:4], cache), module(x[:, 4:], cache), module(x)]
    for output, length in zip(got, (3, 1, 1, 5), strict=True):
        shape(output, (B, length, D))


@check("shape", points=0.5)
def test_small_and_odd_inputs(submission: Submission, draw: Draw) -> None:
    """A batch of one, a text that begins with one token, one head, and tensors that are not contiguous work as well."""
    goes_on(submission, draw)
    module, alone = build(submission, weights(draw)), build(submission, weights(draw, 1, 1), 1, 1)
    agree(submission, module, draw.normal(1, 5, D), (4, 1))
    agree(submission, module, draw.normal(1, 2, D), (1, 1))
    agree(submission, alone, draw.normal(B, 5, D), (4, 1))
    agree(submission, module, draw.normal(B, D, 5).mT, (4, 1))


@check("shape", points=0.5)
def test_long(submission: Submission, draw: Draw) -> None:
    """The cache holds as many tokens as come, however many that are."""
    goes_on(submission, draw)
    sizes: dict[str, Any] = {"heads": 1, "kv": 1, "width": 2, "d": 2}
    state = {"W_query.weight": torch.zeros(2, 2), "W_key.weight": draw.normal(2, 2)}
    state |= {"W_value.weight": torch.eye(2), "out_proj.weight": torch.eye(2)}
    x, parts = draw.normal(1, 2103, 2).abs(), (2100, 1, 1, 1)
    outputs = in_parts(submission, build(submission, state, **sizes), x, parts)
    means = x.double().cumsum(1) / torch.arange(1, x.shape[1] + 1)[:, None]
    for output, expected in zip(outputs, means.split(parts, dim=1), strict=True):
        close(output, expected, "the output for 2,103 tokens that find all before them alike")
    # many more on `meta`, where sizes have to fit, and nothing is computed
    module = build(submission, state, **sizes).to(device="meta")
    try:
        in_parts(submission, module, x[:, :4], (3, 1), device="meta")
    except StudentError:  # which is told elsewhere
        return
    in_parts(submission, module, torch.ones(1, 5001, 2), (5000, 1), device="meta")


@check("numerics", points=0.5)
def test_dtypes(submission: Submission, draw: Draw) -> None:
    """With a cache too, float64, float32, float16 and bfloat16 in give the same out, as accurate as each allows."""
    goes_on(submission, draw)
    cases = []
    for dtype in (torch.float64, torch.float32, torch.float16, torch.bfloat16):
        state, x = weights(draw, dtype=dtype), draw.normal(B, T, D, dtype=dtype)
        state["W_query.weight"] *= digits.CALM
        module = build(submission, state, dtype=dtype)
        cases.append((dtype, in_parts(submission, module, x, PROMPT), right(x, state)))
    for dtype, outputs, expected in cases:
        for output, part in zip(outputs, expected.split(PROMPT, dim=1), strict=True):
            close(output, part, "the output with a cache", dtype=dtype)


@check("device", points=0.5)
def test_device(submission: Submission, draw: Draw) -> None:
    """With a cache too, the output is on the input's device; nothing is made or left elsewhere (tried on `meta`)."""
    goes_on(submission, draw)
    x, cache = draw.normal(B, T, D), submission.build("KVCache")
    module = later_calls.moved(build(submission, weights(draw), rope_base=BASE), x)
    got = [first_of(module.on("meta", part, cache)) for part in x.split(PARTS, dim=1)]
    for output, length in zip(got, PARTS, strict=True):
        on_meta(output, (B, length, D))


@check("shape", points=0.5, witnessed=True)
def test_what_the_cache_holds(submission: Submission, draw: Draw) -> None:
    """The cache holds the keys and the values of `num_kv_heads` heads, and no more for more query heads.

    Keys may be held rotated or as they are before that, as caches do that forget the oldest tokens.
    """
    goes_on(submission, draw)
    sizes, x = [], draw.normal(1, 5, D)
    for heads in (KV, 4 * KV):
        state = weights(draw, heads)
        module, cache = build(submission, state, heads, rope_base=BASE), submission.build("KVCache")
        for part in x.split((3, 2), dim=1):
            module(part, cache)
        held, (keys, values) = cache.held(), cached.keys_and_values(x, state, KV)
        rotated, _ = cached.keys_and_values(x, state, KV, BASE)
        missing = {
            "keys": not any(found_in(held.numbers, one) for one in (rotated, keys)),
            "values": not found_in(held.numbers, values),
        }
        sizes.append(held.size)
        submission.note(missing["keys"], missing["values"])
        for what, is_missing in missing.items():
            if is_missing:
                raise CheckFailed(f"After 5 tokens the cache does not hold the {what} of all 5.")
    submission.note(sizes[1] > sizes[0])
    if sizes[1] > sizes[0]:
        raise CheckFailed(
            f"With {KV} key heads the cache holds {sizes[0]} numbers for {KV} query heads, but {sizes[1]} for {4 * KV}:"
            " it should hold the keys and values of the key heads, before they are repeated."
        )


@check("mode", points=0.5, witnessed=True)
def test_again(submission: Submission, draw: Draw) -> None:
    """The input stays as it was, and with a new cache nothing of an earlier text or of earlier weights counts."""
    goes_on(submission, draw)
    module, x, outputs = build(submission, weights(draw)), draw.normal(B, T, D), []
    for _ in range(2):
        cache = submission.build("KVCache")
        for part in x.split(PARTS, dim=1):
            outputs.append(tensor(first_of(module(part, cache))))
            unchanged(submission)
    for first, second in zip(outputs[: len(PARTS)], outputs[len(PARTS) :], strict=True):
        close(second, first.double(), "the output for the second text")
    later_calls.nothing_is_kept(
        partial(build, submission),
        Proxy.load,
        (weights(draw), weights(draw)),
        ([x], [draw.normal(B, T, D)]),
        [x[:, :3]],
        lambda one, given: read_in_two(submission, one, *given),
    )


def read_in_two(submission: Submission, module: Proxy, x: torch.Tensor) -> dict[str, torch.Tensor]:
    """The output for tokens that come in two parts, the last one alone, with a new cache."""
    return {"the output": torch.cat([tensor(y) for y in in_parts(submission, module, x, (x.shape[1] - 1, 1))], dim=1)}


@check("device", points=0)
def test_cuda(submission: Submission, draw: Draw) -> None:
    """On a GPU the output has the same values with a cache, in float32 and in float16."""
    on_cuda(submission)
    for dtype in (torch.float32, torch.float16):
        state, x = weights(draw, dtype=dtype), draw.normal(B, T, D, dtype=dtype)
        module, cache = build(submission, state, dtype=dtype).to(device="cuda"), submission.build("KVCache")
        expected = right(x, state).split(PARTS, dim=1)
        for part, one in zip(x.split(PARTS, dim=1), expected, strict=True):
            got = module.on("cuda", part, cache)
            stayed_on_cuda(submission)
            close(got, one, dtype=dtype)
