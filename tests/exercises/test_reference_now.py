"""The reference for lesson 10 against torch's own functions and solvers, and what the kit notes of a backward pass."""

import pytest
import torch
import torch.nn.functional as F

from autograder.checks.proxies import Local, Submission
from autograder.exercises.reference import bands, cached, drafts, gated, indexed, linear, modern


@pytest.fixture
def normal():
    """Random float64 tensors of any shape."""
    generator = torch.Generator().manual_seed(0)
    return lambda *shape: torch.randn(shape, generator=generator, dtype=torch.float64)


def equal(got, expected):
    assert got.shape == expected.shape
    assert got.dtype is torch.float64
    assert torch.allclose(got, expected, rtol=1e-11, atol=1e-12)


def layers(normal, *names, heads=4, kv=2, width=6, d=10):
    sizes = {"W_query": (heads * width, d), "W_key": (kv * width, d), "W_value": (kv * width, d)}
    return {f"{name}.weight": normal(*sizes.get(name, (d, heads * width))) for name in names}


ROLES = ("W_query", "W_key", "W_value", "out_proj")


@pytest.mark.parametrize("rope_base", [None, 50.0])
def test_a_cache_with_room_is_attention_to_all(normal, rope_base):
    state, x = layers(normal, *ROLES), normal(2, 7, 10)
    expected = modern.grouped_attention(x, state, 4, 2, rope_base)
    for first, window in ((0, 7), (3, 4), (6, 1), (2, 90)):
        equal(cached.evicting_attention(x, state, 4, 2, first, window, rope_base), expected)


def test_without_positions_it_is_a_mask(normal):
    state, x, here = layers(normal, *ROLES), normal(2, 9, 10), torch.arange(9)
    query, key, value = ((x @ state[f"{name}.weight"].T).unflatten(2, (-1, 6)).transpose(1, 2) for name in ROLES[:3])
    for first, window in ((2, 3), (0, 4), (1, 1)):
        behind = here[:, None] - here
        seen = (behind >= 0) & ((behind < window) | (here < first))
        found = F.scaled_dot_product_attention(query, key, value, attn_mask=seen, enable_gqa=True)
        expected = found.transpose(1, 2).flatten(2) @ state["out_proj.weight"].T
        equal(cached.evicting_attention(x, state, 4, 2, first, window), expected)


def test_with_positions_what_is_kept_moves_up(normal):
    """The last token gets what it would get in a text of the kept tokens alone, and not at the places of the text."""
    state, x = layers(normal, *ROLES), normal(2, 9, 10)
    assert cached.kept(8, 2, 3) == [0, 1, 6, 7, 8] and cached.kept(2, 2, 3) == [0, 1, 2]
    got = cached.evicting_attention(x, state, 4, 2, 2, 3, 50.0)[:, -1]
    some = x[:, [0, 1, 6, 7, 8]]
    equal(got, modern.grouped_attention(some, state, 4, 2, 50.0)[:, -1])
    places = torch.tensor([0, 1, 6, 7, 8])
    in_the_text = modern.grouped_attention(some, state, 4, 2, 50.0, positions=places)[:, -1]
    assert (got - in_the_text).abs().max() > 1e-3


def test_the_delta_rule_is_a_triangle(normal):
    query, key, value, beta = normal(2, 3, 8, 5), normal(2, 3, 8, 5), normal(2, 3, 8, 4), normal(2, 3, 8).sigmoid()
    lower = torch.eye(8, dtype=torch.float64) + (beta[..., None] * (key @ key.mT)).tril(-1)
    written = torch.linalg.solve(lower, beta[..., None] * value)
    output, state = linear.delta_rule(query, key, value, beta)
    assert torch.allclose(output, (query @ key.mT).tril() @ written, rtol=1e-8)
    assert torch.allclose(state, key.mT @ written, rtol=1e-8)


def test_a_gate_multiplies_what_torchs_attention_finds(normal):
    state, x = {f"{name}.weight": normal(6, 6) for name in (*ROLES, "W_gate")}, normal(2, 5, 6)
    parts = ((x @ state[f"{name}.weight"].T).unflatten(2, (3, 2)).transpose(1, 2) for name in ROLES[:3])
    found = F.scaled_dot_product_attention(*parts, is_causal=True).transpose(1, 2).flatten(2)
    expected = ((x @ state["W_gate.weight"].T).sigmoid() * found) @ state["out_proj.weight"].T
    equal(gated.gated_attention(x, state, 3), expected)


def test_the_best_of_those_before_are_picked(normal):
    index = torch.tensor([[[9.0, 8, 7, 6], [1, 2, 9, 8], [3, 1, 2, 9], [1, 4, 2, 3]]])
    expected = {
        1: ["1000", "0100", "1000", "0100"],
        2: ["1000", "1100", "1010", "0101"],
        9: ["1000", "1100", "1110", "1111"],
    }
    for top_k, rows in expected.items():
        assert ["".join(map(str, row)) for row in indexed.picked(index, top_k)[0].int().tolist()] == rows
    query, key, value, scores = normal(2, 3, 6, 4), normal(2, 3, 6, 4), normal(2, 3, 6, 5), normal(2, 6, 6)
    seen = torch.ones(6, 6, dtype=torch.bool).tril()
    limit = scores.masked_fill(~seen, -torch.inf).topk(2, dim=-1).values[..., 1:]
    mask = (seen & (scores >= limit))[:, None]
    equal(
        indexed.indexed_attention(query, key, value, scores, 2)[0],
        F.scaled_dot_product_attention(query, key, value, attn_mask=mask),
    )


# --- what is noted of a backward pass -------------------------------------------------------------


class Hoards(torch.autograd.Function):
    """Keeps nothing by torch's own means, and a list of tensors on `ctx`."""

    @staticmethod
    def forward(ctx, x):
        ctx.heap = [x.new_ones(30), {"more": x.new_ones(20)}]
        return 2 * x

    @staticmethod
    def backward(ctx, gradient):
        return 2 * gradient @ torch.ones(5, 70)[:, :5]


def test_what_is_kept_for_gradients_is_counted_wherever_it_is():
    functions = {
        "saved": lambda x: x.exp().sum(),
        "nothing": lambda x: x + 1,
        "hoarded": Hoards.apply,
        "no graph": lambda x: x.detach().exp(),
        "behind": lambda x: 3 + Hoards.apply(x),
    }
    submission = Submission(Local(functions))
    for name, kept in {"saved": 10, "nothing": 0, "hoarded": 50, "no graph": 0, "behind": 50}.items():
        submission.function(name).watched(torch.ones(2, 5, requires_grad=True))
        assert submission.last.kept == kept, name
    submission.function("hoarded")(torch.ones(2, 5, requires_grad=True))
    assert submission.last.kept == 0  # it was not asked for


def test_the_way_back_is_watched_and_counted_too():
    submission, x = Submission(Local({"hoarded": Hoards.apply})), torch.ones(2, 5, requires_grad=True)
    hoarded = submission.function("hoarded")
    hoarded.watched(x)
    assert submission.last.largest == 30
    hoarded.gradients(x, upstream=torch.ones(2, 5), witness="watch")
    assert submission.last.largest == 350
    hoarded.counted(x)
    forward = submission.last.products
    hoarded.gradients(x, upstream=torch.ones(2, 5), witness="count")
    assert submission.last.products > forward > 0


# --- drafts, and longer texts ----------------------------------------------------------------------


def test_what_is_kept_and_what_is_left_make_the_target(normal):
    for v in (2, 3, 9):
        target, draft = normal(2, v).softmax(1)
        kept = torch.stack([draft[x] * min(1.0, drafts.ratio(target, draft, x)) for x in range(v)])
        equal(kept + (1 - kept.sum()) * drafts.remainder(target, draft), target)


@pytest.mark.parametrize(
    "head_dim, base, factor, length", [(64, 1e4, 8.0, 4096), (96, 5e5, 4.0, 8192), (8, 1e4, 4.0, 1000)]
)
def test_bands_are_those_of_the_paper(head_dim, base, factor, length):
    """By wavelengths, as the paper writes it: r = L / λ, with λ = 2π b^(2d/|D|)."""
    wavelengths = 2 * torch.pi * base ** (2 * torch.arange(head_dim // 2).double() / head_dim)
    kept = ((length / wavelengths - 1) / (32 - 1)).clamp(0, 1)
    equal(
        bands.yarn_frequencies(head_dim, base, factor, length),
        2 * torch.pi / wavelengths * (kept + (1 - kept) / factor),
    )


def test_bands_meet():
    """A pair of exactly so many turns gets the same from either side."""
    turned = bands.turns(32, 1e4, 2000)
    for end in (turned[11], turned[4]):
        for one in (end.item() * (1 - 1e-12), end.item() * (1 + 1e-12)):
            slow, fast = (one, float(turned[1])) if end < turned[6] else (float(turned[14]), one)
            got = bands.yarn_frequencies(32, 1e4, 8.0, 2000, slow, fast)
            right = bands.plain(32, 1e4) / (8 if end < turned[6] else 1)
            at = 11 if end < turned[6] else 4
            assert got[at].item() == pytest.approx(right[at].item(), rel=1e-9)
