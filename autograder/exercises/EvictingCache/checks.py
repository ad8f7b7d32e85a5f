"""Checks of `EvictingCache(first, window)` and of a `forward(x, cache=None)` that uses it.

The layer is that of `KVCache`: (b, t, d_model) -> (b, t, d_model). What it gives with a cache is compared with the
definition: each token attends to those that are kept, at the places 0, 1, 2, … within the cache. Checks that are about
neither places nor what is dropped have room for the whole text. All start with `attends`, easy cases, and those with a
second part with `goes_on`: a step makes nothing of earlier tokens again, as in `KVCache`.
"""

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
    refuses,
    shape,
    stayed_on_cuda,
    tensor,
    unchanged,
)
from ...checks.gates import easy_case
from ...checks.proxies import Proxy, StudentError, Submission
from ..families import digits, easy_cases, hidden, later_calls
from ..families.caches import found_in
from ..families.many_heads.checks import first_of
from ..families.refusals import ended
from ..KVCache.checks import BASE, KV, PARTS, SOME, B, D, H, T, W, build, nothing_again, right, tokens_from, weights
from ..reference import cached, modern, qkv

IN_FLOAT32 = modern.IN_FLOAT32
STANDS_FOR = "GroupedQueryAttention"  # the class whose `forward` is called: an EvictingCache is only handed to it

FIRST, WINDOW = 2, 4  # tokens that are kept, of T = 9
ROOM = 20  # a window for all of a text


def new_cache(submission: Submission, first: int = FIRST, window: int = WINDOW) -> Proxy:
    return submission.build("EvictingCache", first, window)


def read(
    module: Proxy, x: torch.Tensor, cache: Proxy, parts: Sequence[int] | None = None, device: str = "cpu"
) -> list[Any]:
    """The outputs for the tokens of x (b, t, d), which come one by one, or in parts of these lengths."""
    call = module if device == "cpu" else partial(module.on, device)
    return [first_of(call(part, cache)) for part in x.split(parts or 1, dim=1)]


def follow(got: Sequence[Any], expected: torch.Tensor, parts: Sequence[int] | None = None, first: int = 0) -> None:
    """Raises CheckFailed unless the outputs of parts are those expected for the whole text, (b, t, d)."""
    for output, wanted in zip(got, expected.split(parts or 1, dim=1), strict=True):
        length = wanted.shape[1]
        close(output, wanted, f"the output for {tokens_from(first, length)}, after {first} others,")
        first += length


def whole(submission: Submission, module: Proxy, x: torch.Tensor) -> Any:
    """The output for all tokens at once without a cache; with a roomy one, if the module takes no call without."""
    try:
        return first_of(module(x))
    except StudentError as error:
        try:
            return first_of(module(x, new_cache(submission, 1, ROOM)))
        except StudentError:
            raise error from None


def attends(submission: Submission, draw: Draw) -> None:
    """Raises CheckFailed unless a module attends, in an easy case, and a new cache holds nothing of another."""
    attending(submission, draw)
    new_caches_are_empty(submission, draw)


def goes_on(submission: Submission, draw: Draw) -> None:
    """Raises CheckFailed unless a module attends, and a step makes nothing of earlier tokens again."""
    attends(submission, draw)
    nothing_again(submission, draw, name="EvictingCache", first=FIRST)


@easy_case
def new_caches_are_empty(submission: Submission, draw: Draw) -> None:
    """Raises CheckFailed unless two roomy caches, one after the other, give the same for the first part of a text."""
    module, x = build(submission, weights(draw)), draw.normal(B, 2, D)
    first, second = (first_of(module(x, new_cache(submission, 1, ROOM))) for _ in range(2))
    shape(second, tensor(first).shape, "the output with a second new cache")
    if not torch.allclose(first, second, atol=1e-4, equal_nan=True):
        raise CheckFailed("A new cache holds what went into another one: each has its own keys and values.")


@easy_case
def attending(submission: Submission, draw: Draw) -> None:
    """Raises CheckFailed unless the last token gets what it finds, without a cache, and a roomy cache is taken.

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
    found, mixed = whole(submission, sure, codes + x), whole(submission, mild, x)
    mixing_softly(submission, draw, sizes)
    with_cache = first_of(mild(x, new_cache(submission, 1, ROOM)))
    for got, given, held in ((found, codes + x, state), (mixed, x, even)):
        shape(got, x.shape, "the output without a cache")
        expected = right(given, held, heads=1, kv=1)[:, -1]
        close(got[:, -1], expected, "the output for the last token, without a cache", tolerance=0.05)
    if not tensor(with_cache, "the output with a new cache").isfinite().all():
        raise CheckFailed("With a new cache there is NaN or infinity in the output.")


def mixing_softly(submission: Submission, draw: Draw, sizes: dict[str, Any]) -> None:
    """Raises CheckFailed unless the last token weighs all of mild scores by a softmax of these, without a cache."""
    state = {name: torch.eye(6) for name in weights(draw, 1, 1, 6, 6)}
    x = torch.stack([easy_cases.mild_tokens(draw, 5, 6) for _ in range(2)])
    got = whole(submission, build(submission, state, **sizes), x)
    shape(got, x.shape, "the output without a cache")
    easy_cases.last_mixes_softly(got, x @ x.mT, x, "the weights of mild scores, without a cache,")


@check("values", points=0.25)
def test_without_a_cache(submission: Submission, draw: Draw) -> None:
    """Without a cache all is as in lessons 08 and 09: heads that share keys, rotated positions, normalised heads."""
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


@check("values", points=0.5)
def test_nothing_dropped(submission: Submission, draw: Draw) -> None:
    """As long as nothing is dropped, parts of any length get what all get at once, and may fill the cache."""
    goes_on(submission, draw)
    cases = []
    for first, window, parts in ((3, 6, (1,) * T), (0, 9, PARTS), (8, 1, (9,)), (1, ROOM, SOME)):
        state, x = weights(draw), draw.normal(B, T, D)
        module = build(submission, state, rope_base=BASE)
        cases.append((read(module, x, new_cache(submission, first, window), parts), x, state, parts))
    x, state = hidden.low_then_high(draw.normal(B, T, D), weights(draw), W)
    hiding = read(build(submission, state), x, new_cache(submission, 0, T), PARTS), right(x, state), PARTS
    for got, x, state, parts in cases:
        follow(got, right(x, state, rope_base=BASE), parts)
    follow(*hiding)


@check("values", points=0.75)
def test_what_is_kept(submission: Submission, draw: Draw) -> None:
    """Each token sees the first tokens and the last `window`, itself among them, and no others (no positions yet)."""
    goes_on(submission, draw)
    cases = []
    for first, window, kv in ((FIRST, WINDOW, KV), (1, 1, 1), (3, 2, H)):
        state, x = weights(draw, kv=kv), draw.normal(B, T, D)
        module = build(submission, state, kv=kv)
        expected = cached.evicting_attention(x, state, H, kv, first, window)
        cases.append((read(module, x, new_cache(submission, first, window)), expected))
    for got, expected in cases:
        follow(got, expected)


@check("values", points=0.25)
def test_no_first_tokens(submission: Submission, draw: Draw) -> None:
    """With `first` = 0 it is a sliding window, and `window` = 1 leaves a token itself alone."""
    goes_on(submission, draw)
    cases = []
    for window in (3, 1):
        state, x = weights(draw), draw.normal(B, 6, D)
        expected = cached.evicting_attention(x, state, H, KV, 0, window)
        cases.append((read(build(submission, state), x, new_cache(submission, 0, window)), expected))
    for got, expected in cases:
        follow(got, expected)


@check("values", points=1.75)
def test_places_within_the_cache(submission: Submission, draw: Draw) -> None:
    """With a `rope_base`, what is kept stands at the places 0, 1, 2, … in each call, the new token last."""
    goes_on(submission, draw)
    cases = []
    for first, window in ((FIRST, WINDOW), (1, 2), (0, 3)):
        state, x = weights(draw), draw.normal(B, 14, D)
        module = build(submission, state, rope_base=BASE)
        expected = cached.evicting_attention(x, state, H, KV, first, window, BASE)
        cases.append((read(module, x, new_cache(submission, first, window)), expected))
    for got, expected in cases:
        follow(got, expected)


@check("values", points=0.5)
def test_after_a_prompt(submission: Submission, draw: Draw) -> None:
    """A prompt that fills the cache, then one token at a time: the same, with normalised heads."""
    goes_on(submission, draw)
    state, x = weights(draw, qk_norm=True), draw.normal(B, T, D)
    parts = (FIRST + WINDOW, 1, 1, 1)
    got = read(build(submission, state, rope_base=BASE), x, new_cache(submission), parts)
    follow(got, cached.evicting_attention(x, state, H, KV, FIRST, WINDOW, BASE), parts)


@check("arguments", points=0.75)
def test_chunks(submission: Submission, draw: Draw) -> None:
    """Several tokens at once that would drop something are refused with a `ValueError`, and the cache is as before."""
    goes_on(submission, draw)
    state, x = weights(draw), draw.normal(B, 8, D)
    module, cache, full = build(submission, state), new_cache(submission), new_cache(submission)
    before = read(module, x[:, :5], cache, (5,)) + read(module, x[:, :7], full, (6, 1))
    errors = [
        ended(submission, module, part, room)
        for part, room in ((x[:, 5:7], cache), (x[:, 5:8], full), (x, new_cache(submission)))
    ]
    after = first_of(module(x[:, 5:6], cache)), first_of(module(x[:, 7:], full))
    expected = cached.evicting_attention(x, state, H, KV, FIRST, WINDOW)
    for got, part in zip(before, (slice(0, 5), slice(0, 6), slice(6, 7)), strict=True):
        close(got, expected[:, part], f"the output for {tokens_from(part.start, part.stop - part.start)}")
    for error, what in zip(
        errors, ("2 tokens where 1 has room", "3 tokens after a drop", "8 for 6 places"), strict=True
    ):
        refuses(error, what)
    for got, place in zip(after, (5, 7), strict=True):
        close(got, expected[:, place : place + 1], "the output for the next token, after a chunk was refused,")


@check("arguments", points=0.25)
def test_sizes(submission: Submission, draw: Draw) -> None:
    """`first` below 0 and `window` below 1 are refused with a `ValueError`."""
    attends(submission, draw)
    make = submission.function("EvictingCache")
    wrong = ((-1, 3), (2, 0), (0, -2))
    errors = [make.refused(*sizes) for sizes in wrong]
    for error, (first, window) in zip(errors, wrong, strict=True):
        refuses(error, f"a cache of {first} first tokens and a window of {window}")


@check("gradients", points=0.25)
def test_gradients(submission: Submission, draw: Draw) -> None:
    """Without a cache the gradients of the input and of all weights are right."""
    attends(submission, draw)
    state, x, upstream = weights(draw), draw.normal(B, T, D, grad=True), draw.normal(B, T, D)
    got = build(submission, state, rope_base=BASE).train().gradients(x, upstream=upstream)
    leaves = {name: weight.clone().requires_grad_() for name, weight in state.items()}
    expected = qkv.gradients(right(x, leaves, rope_base=BASE), upstream.double(), [x, *leaves.values()])
    gradient(got.inputs[0], expected[0], "the input")
    for name, one in zip(leaves, expected[1:], strict=True):
        gradient(got.parameters.get(name), one, f"`{name}`")


@check("values", points=0.25)
def test_keys_are_kept(submission: Submission, draw: Draw) -> None:
    """Keys and values of earlier tokens are kept, not made again: changed weights make those of new tokens alone."""
    goes_on(submission, draw)
    state, x = weights(draw), draw.normal(B, 6, D)
    new = state | {name: weights(draw)[name] for name in ("W_key.weight", "W_value.weight")}
    module, cache = build(submission, state), new_cache(submission, 1, ROOM)
    before = first_of(module(x[:, :4], cache))
    module.load(new)
    after = first_of(module(x[:, 4:5], cache)), first_of(module(x[:, 5:6], cache))
    pieces = [cached.keys_and_values(x[:, :4], state, KV), cached.keys_and_values(x[:, 4:], new, KV)]
    keys, values = (torch.cat(parts, dim=2) for parts in zip(*pieces, strict=True))
    close(before, right(x[:, :4], state), "the output for the first tokens")
    for place, got in zip((4, 5), after, strict=True):
        expected = cached.attention_to_all(
            x[:, place : place + 1], new, H, keys[:, :, : place + 1], values[:, :, : place + 1]
        )
        close(got, expected, f"the output for token {place}, whose key other weights make than those before")


@check("mode", points=0.25)
def test_caches_are_apart(submission: Submission, draw: Draw) -> None:
    """A cache is one layer's and one batch's: what goes into another, or into a module without
    one, changes nothing. Nor are weights of earlier calls used."""
    goes_on(submission, draw)
    state = weights(draw)
    module, texts = build(submission, state), (draw.normal(B, 6, D), draw.normal(B + 1, 6, D))
    caches, got = [new_cache(submission, 1, ROOM) for _ in texts], []
    for part in (slice(0, 4), slice(4, 5), slice(5, 6)):
        for x, cache in zip(texts, caches, strict=True):
            got.append((x, part, first_of(module(x[:, part], cache))))
            whole(submission, module, x)
    for x, part, output in got:
        close(output, right(x, state)[:, part], "the output for one of two texts, each with its cache,")
    (x, _), other = texts, draw.normal(B, 6, D)
    later_calls.nothing_is_kept(
        partial(build, submission),
        Proxy.load,
        (state, weights(draw)),
        ([x], [other]),
        call=lambda one, given: {
            "the output": torch.cat([tensor(y) for y in read(one, given[0], new_cache(submission, 1, ROOM), (5, 1))], 1)
        },
    )


@check("shape", points=0.25)
def test_shapes(submission: Submission, draw: Draw) -> None:
    """The output alone is returned, (b, t, d_model); one batch, one head and odd layouts in memory work as well."""
    goes_on(submission, draw)
    state, alone, x = weights(draw), weights(draw, 1, 1), draw.normal(B, 5, D)
    module, cache = build(submission, state), new_cache(submission, 1, ROOM)
    for part, output in zip(
        ((B, 3, D), (B, 1, D), (B, 1, D)), [module(y, cache) for y in x.split((3, 1, 1), 1)], strict=True
    ):
        shape(output, part)
    single, turned = draw.normal(1, 5, D), draw.normal(B, D, 5).mT
    follow(read(module, single, new_cache(submission, 1, ROOM), (4, 1)), right(single, state), (4, 1))
    follow(read(module, turned, new_cache(submission, 1, ROOM), (4, 1)), right(turned, state), (4, 1))
    got = read(build(submission, alone, 1, 1), x, new_cache(submission, 1, ROOM), (4, 1))
    follow(got, right(x, alone, 1, 1), (4, 1))


@check("numerics", points=0.25)
def test_dtypes(submission: Submission, draw: Draw) -> None:
    """With a cache, float64, float32, float16 and bfloat16 in give the same out, as accurate as each allows."""
    goes_on(submission, draw)
    cases, parts = [], (6, 1, 1, 1)
    for dtype in (torch.float64, torch.float32, torch.float16, torch.bfloat16):
        state, x = weights(draw, dtype=dtype), draw.normal(B, T, D, dtype=dtype)
        state["W_query.weight"] *= digits.CALM
        module = build(submission, state, dtype=dtype)
        cases.append((dtype, read(module, x, new_cache(submission, 1, ROOM), parts), right(x, state)))
    for dtype, outputs, expected in cases:
        for output, part in zip(outputs, expected.split(parts, dim=1), strict=True):
            close(output, part, "the output with a cache", dtype=dtype)


@check("device", points=0.25)
def test_device(submission: Submission, draw: Draw) -> None:
    """With a cache too, the output is on the input's device; nothing is made or left elsewhere (tried on `meta`)."""
    goes_on(submission, draw)
    x = draw.normal(B, T, D)
    module = later_calls.moved(build(submission, weights(draw), rope_base=BASE), x)
    got = read(module, x, new_cache(submission), (5, 1, 1, 1, 1), "meta")
    for output, length in zip(got, (5, 1, 1, 1, 1), strict=True):
        on_meta(output, (B, length, D))


@check("mode", points=0.5, witnessed=True)
def test_what_the_cache_holds(submission: Submission, draw: Draw) -> None:
    """The cache holds what it keeps, and never more than first + window + 1 tokens of `num_kv_heads` heads."""
    goes_on(submission, draw)
    state, x = weights(draw), draw.normal(1, 24, D)
    module, cache = build(submission, state, rope_base=BASE), new_cache(submission)
    most = (FIRST + WINDOW + 1) * (2 * KV * W + 4)  # 4 more for each: such as its place
    sizes = []
    for part in x.split(1, dim=1):
        module(part, cache)
        unchanged(submission)
        sizes.append(cache.held().size)
    _, values = cached.keys_and_values(x, state, KV)
    needed = torch.cat([values[:, :, :FIRST], values[:, :, 1 - WINDOW :]], dim=2)  # by the next token, too
    is_missing = not found_in(cache.held().numbers, needed)
    submission.note(max(sizes) > most, sizes[-1] > sizes[-4], is_missing)
    for came, size in enumerate(sizes, 1):
        if size > most:
            raise CheckFailed(
                f"With first = {FIRST} and window = {WINDOW}, and {KV} key heads that are {W} wide, the cache holds"
                f" {size} numbers after {came} tokens: more than those of {FIRST + WINDOW + 1} tokens."
            )
    if is_missing:
        raise CheckFailed("The cache does not hold the values of the tokens that it keeps.")


@check("device", points=0)
def test_cuda(submission: Submission, draw: Draw) -> None:
    """On a GPU the output has the same values with a cache, in float32 and in float16."""
    on_cuda(submission)
    for dtype in (torch.float32, torch.float16):
        state, x = weights(draw, dtype=dtype), draw.normal(B, T, D, dtype=dtype)
        module, cache = build(submission, state, dtype=dtype).to(device="cuda"), new_cache(submission)
        expected = cached.evicting_attention(x, state, H, KV, FIRST, WINDOW)
        for part, one in zip(x.split(1, dim=1), expected.split(1, dim=1), strict=True):
            got = module.on("cuda", part, cache)
            stayed_on_cuda(submission)
            close(got, one, dtype=dtype)
