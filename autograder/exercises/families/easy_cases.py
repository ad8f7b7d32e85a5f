"""Easy cases that attention solves even with a single slip in it, and that nothing else solves.

Checks that are not about values start with such a case: code that does not attend gets no points for, say, its device,
while a wrong scale does not cost them. In each case tokens find others by content, weigh all that fit alike, and find
the same without a scale or with a different one. The mean of all tokens, weights by position, the best key alone, or
scores without a softmax give something else.
"""

from collections.abc import Callable, Iterable
from typing import Any

import torch

from ...checks.api import CheckFailed, Draw, shape
from ...checks.proxies import StudentError
from ..reference.remembered import remembered

SURE = 60.0  # an unscaled score that leaves no weight to scores of 0, even divided by a width of 6; its exp is finite
TIE = 5e-7  # separates equal scores: a softmax does not show it, but it makes the best key unique
SCALES = torch.logspace(-1, 0.35, 75, dtype=torch.float64)  # from 1/10 to 2.2, in steps of 4%
USUAL_SCALES = torch.arange(1, 17, dtype=torch.float64) ** -0.5
MANY = 24  # sequences from which a read-out is fitted: the last half of them are of two kinds of tokens
NEAR = 0.05  # how far apart the tokens of a group lie: their scores are nearly equal, whatever the scale


def shuffled(draw: Draw, values: torch.Tensor) -> torch.Tensor:
    """The values in random order."""
    return values[torch.randperm(len(values), generator=draw.generator)]


def grouped(draw: Draw, n: int, d: int) -> tuple[torch.Tensor, torch.Tensor]:
    """Tokens (n, d) in two groups, and softmax(X Xᵀ) X of them: each token gets the middle of its group.

    Scores are all nearly 75 within a group and 5 between groups. When all projections are the identity, this holds
    even if one of them is missing or confused with another.
    """
    first, second, *rest = torch.linalg.qr(draw.normal(d, d, dtype=torch.float64)).Q
    group = shuffled(draw, torch.arange(n) % 2)
    middle = 75**0.5 * torch.stack([first, first / 15 + (1 - 1 / 15**2) ** 0.5 * second])[group]
    aside = torch.stack([shuffled(draw, torch.linspace(-NEAR, NEAR, n, dtype=torch.float64)) for _ in rest], dim=1)
    same = (group[:, None] == group).double()
    aside -= same / same.sum(-1, keepdim=True) @ aside
    return (middle + aside @ torch.stack(rest)).float(), middle


def kinds(draw: Draw, n: int, d: int) -> torch.Tensor:
    """Tokens (4, n, d): three sequences whose first features are `mild`, and one made of two tokens where they are ±1.

    In that one, the first token is of the kind that is at least as frequent, and the last is of the other kind. Weights
    that are the same for all queries, or depend only on the query and the position, give a wrong result.
    """
    x = draw.normal(4, n, d)
    kind = torch.cat([torch.tensor([0]), shuffled(draw, torch.arange(n - 2) % 2), torch.tensor([1])])
    x[3] = x[3, kind]
    x[..., 0] = torch.stack([*(mild(draw, n) for _ in range(3)), 1.0 - 2 * kind])
    return x


def mild(draw: Draw, n: int) -> torch.Tensor:
    """First features (n,) of tokens that fit one another to some degree: all of them contribute to the output."""
    return shuffled(draw, torch.linspace(-0.2, 0.2, n))


def scores_of(queries: torch.Tensor, keys: torch.Tensor | None = None) -> torch.Tensor:
    """The unscaled scores of tokens (…, t, d_query) with others (…, s, d_context) after `find_alike`: (…, t, s)."""
    keys = queries if keys is None else keys
    return SURE * queries[..., :, None, 0] * keys[..., None, :, 0]


def mild_tokens(draw: Draw, n: int, d: int) -> torch.Tensor:
    """Tokens (n, d) whose scores with one another go up to about 4, unscaled."""
    x = draw.normal(n, d)
    return 2 * x / x.norm(dim=-1).max()


def mixes(
    got: torch.Tensor,
    scores: torch.Tensor,
    values: torch.Tensor,
    what: str,
    rows: slice = slice(None),
    causal: bool = False,
    any_mask: bool = False,
) -> None:
    """Raises CheckFailed unless `got` (m, t, dv) mixes `values` (m, s, dv) by a softmax of `scores` (m, t, s).

    Any scale is accepted, a softmax over either dimension, and with `any_mask` any mask by position. Each of these is a
    single slip that has its own checks, but it must be the same in all m sequences. Only `rows` are compared; for the
    last row alone, which sees all keys, only the scale is left open.
    """
    got, values = got[:, rows].detach().double(), values.detach().double()
    limit, is_last = 0.02 * values.abs().max(), rows == slice(-1, None)
    for mixed in (_usual_mixes, _mixes, _mixes_but_for_a_slip)[: 2 if is_last else 3]:  # the last takes longest
        made = mixed(scores.double(), values, causal, any_mask)[..., rows, :]
        if (made - got).abs().amax((-1, -2, -3)).min() <= limit:
            return
    raise CheckFailed(f"{what[:1].upper()}{what[1:]} is no average that a softmax of the scores would weigh.")


def is_softmax(weights: torch.Tensor, scores: torch.Tensor) -> bool:
    """Whether `weights` (…, t, s) are those of a softmax of `scores` (…, t, s), up to some slips.

    The logarithms of the weights must grow with the scores by one slope above 0, however small. Let through are any
    scale, a factor of each query (rows that don't sum to 1) and, where there are several queries, one of each key (a
    softmax over the other dimension).
    """
    scores, grown = scores.double(), weights.detach().double().clamp(min=1e-30).log()
    for dim in (-1, -2) if scores.shape[-2] > 1 else (-1,):  # what no factor explains is left
        scores, grown = (x - x.mean(dim, keepdim=True) for x in (scores, grown))
    slope = (grown * scores).sum() / scores.square().sum()
    return bool((weights > 0).all() and slope > 1e-5 and (grown - slope * scores).norm() <= 0.05 * grown.norm())


def last_mixes_softly(got: torch.Tensor, scores: torch.Tensor, values: torch.Tensor, what: str) -> None:
    """Raises CheckFailed unless the last query of `got` (…, t, dv), which sees all, mixes by a softmax of its scores.

    The `values` (…, s, dv) are independent of each other, so the weights can be told from the output.
    """
    weights = got[..., -1:, :].detach().double() @ torch.linalg.pinv(values.double())
    if not is_softmax(weights, scores[..., -1:, :]):
        raise CheckFailed(f"{what[:1].upper()}{what[1:]} are not those that a softmax of the scores gives.")


def many_kinds(draw: Draw, n: int, d: int) -> torch.Tensor:
    """Tokens (MANY, n, d): sequences whose first features are `mild`, then such where they are ±1, both in each."""
    x = draw.normal(MANY, n, d)
    signs = torch.tensor([1.0, -1.0]).repeat(n)[:n]
    x[..., 0] = torch.stack(
        [mild(draw, n) for _ in range(MANY // 2)] + [shuffled(draw, signs) for _ in range(MANY - MANY // 2)]
    )
    return x


def either(strict: Callable[[], None], wide: Callable[[], None]) -> None:
    """Try a strict easy case, and if it is wrong, a wide one. Raises what the strict one failed with if both fail."""
    try:
        strict()
    except CheckFailed as failure:
        try:
            wide()
        except (CheckFailed, StudentError):
            raise failure from None


def mixes_somehow(value: Any, scores: torch.Tensor, tokens: torch.Tensor, causal: bool = False) -> None:
    """Raises CheckFailed unless some matrix makes `value` (m, t, dv) of mixed `tokens` (m, s, d).

    They should be mixed by a softmax of `scores` (m, t, s). The matrix is fitted, so that it does not matter what is
    wrong with values, heads and projections, as long as each head weighs tokens by these scores. There have to be many
    more queries than features, or it would fit other things as well. Any scale is accepted, and so are weights that are
    not divided by their sum, a softmax over the other dimension, and, if it should be `causal`, another mask by
    position, before the softmax or after it. The first and the last query, to which such a mask may leave nothing, are
    not compared.
    """
    width = value.shape[-1] if isinstance(value, torch.Tensor) and value.dim() else 1
    shape(value, (*scores.shape[:2], width))
    got, given = value[:, 1:-1].detach().double().flatten(0, 1), (scores.double(), tokens.detach().double(), causal)
    sums, usual = (torch.ones(1, 1, 1), *_sums(*given)), _usual_bases(*given)
    if got.abs().max() > TIE and (
        any(_is_made_of(got / factor, usual) for factor in sums)
        or any(_is_made_of(got, bases(*given)) for bases in (_bases, _bases_but_for_a_slip))
    ):
        return
    raise CheckFailed("The output is not made of averages that a softmax of the scores would weigh.")


def _is_made_of(got: torch.Tensor, bases: torch.Tensor) -> bool:
    """Whether one of the bases (ways, q, d) spans what came, (q, dv) or (ways, q, dv)."""
    left = (got - bases @ (bases.mT @ got)).abs().amax((-1, -2))
    return bool((left <= 0.02 * got.abs().amax((-1, -2))).any())


def _orthonormal(mixed: torch.Tensor) -> torch.Tensor:
    """An orthonormal basis (ways, m (t - 2), d) of what a matrix can make of mixed tokens (ways, m, t, d)."""
    return torch.linalg.qr(mixed[..., 1:-1, :].flatten(1, 2)).Q


@remembered
def _usual_bases(scores: torch.Tensor, tokens: torch.Tensor, causal: bool) -> torch.Tensor:
    """Those of tokens mixed by right weights, for the most likely scales."""
    return _orthonormal(_weights(scores * USUAL_SCALES[:, None, None, None], causal) @ tokens)


def _sums(scores: torch.Tensor, tokens: torch.Tensor, causal: bool) -> torch.Tensor:
    """What weights sum to that are not divided by their sum, or by that of all queries: (3, ways, q, 1)."""
    scores = scores * USUAL_SCALES[:, None, None, None]
    seen = _seen(scores, causal)
    undivided, whole = seen.exp().sum(-1), seen.exp().sum((-1, -2))[..., None]
    sums = torch.stack([undivided, undivided / seen.amax(-1).exp(), undivided / whole])
    return sums[..., 1:-1].flatten(-2).unsqueeze(-1)


@remembered
def _bases(scores: torch.Tensor, tokens: torch.Tensor, causal: bool) -> torch.Tensor:
    """Those for any scale."""
    return _orthonormal(_weights(scores * SCALES[:, None, None, None], causal) @ tokens)


@remembered
def _bases_but_for_a_slip(scores: torch.Tensor, tokens: torch.Tensor, causal: bool) -> torch.Tensor:
    """Those of tokens mixed by weights with a single slip, for the most likely scales."""
    scores = scores * USUAL_SCALES[:, None, None, None]
    whole = torch.ones(scores.shape[-2:], dtype=torch.bool)
    masks = [whole, *(whole.tril(k) for k in (-1, 0, 1)), whole.triu(), whole.triu(1)] if causal else [whole]
    found = _both_ways(scores, masks)
    found += [_softmax(scores) * whole.tril()] if causal else []
    return _orthonormal(torch.cat(found) @ tokens)


@remembered
def _usual_mixes(scores: torch.Tensor, values: torch.Tensor, causal: bool, any_mask: bool) -> torch.Tensor:
    """The values mixed by right weights, for the most likely scales: (scales, m, t, dv)."""
    return _weights(scores * USUAL_SCALES[:, None, None, None], causal) @ values


def _mixes(scores: torch.Tensor, values: torch.Tensor, causal: bool, any_mask: bool) -> torch.Tensor:
    """The same for any scale."""
    return _weights(scores * SCALES[:, None, None, None], causal) @ values


def _mixes_but_for_a_slip(scores: torch.Tensor, values: torch.Tensor, causal: bool, any_mask: bool) -> torch.Tensor:
    """The values mixed by weights with a single slip, for any scale: (slips, scales, m, t, dv)."""
    scores = scores * SCALES[:, None, None, None]
    whole = torch.ones(scores.shape[-2:], dtype=torch.bool)
    past = whole.tril()
    masks = [past if causal else whole]
    if any_mask:
        masks += [whole, *(whole.tril(k) for k in (-1, 0, 1)), *(whole.triu(k) for k in (-1, 0, 1))]
    found = _both_ways(scores, masks)
    found += [_softmax(scores.masked_fill(~past, 0.0))] if any_mask else []
    if scores.shape[-1] == scores.shape[-2]:
        right = _weights(scores, causal)
        found.append(right @ right)  # weights applied twice
    return torch.stack(found) @ values


def _weights(scores: torch.Tensor, causal: bool) -> torch.Tensor:
    """The right weights of scores, (…, t, s)."""
    return _softmax(_seen(scores, causal))


def _seen(scores: torch.Tensor, causal: bool) -> torch.Tensor:
    """The scores, with those of later keys hidden for a `causal` mask."""
    past = torch.ones(scores.shape[-2:], dtype=torch.bool).tril()
    return scores.masked_fill(~past, -torch.inf) if causal else scores


def _both_ways(scores: torch.Tensor, masks: Iterable[torch.Tensor]) -> list[torch.Tensor]:
    """For each mask, softmaxes of the scores over the keys and over the queries."""
    return [_softmax(scores.masked_fill(~mask, -torch.inf), way) for mask in masks for way in (-1, -2)]


def _softmax(scores: torch.Tensor, dim: int = -1) -> torch.Tensor:
    """The softmax by hand, since tests replace torch's. A row that may attend to nothing gets 0."""
    parts = (scores - scores.amax((-1, -2), keepdim=True)).exp()
    return (parts / parts.sum(dim, keepdim=True)).nan_to_num()


def find_alike(
    state: dict[str, torch.Tensor], width: int, query: str = "query.weight", key: str = "key.weight", sign: int = 1
) -> None:
    """Let tokens find those whose first feature has the same sign; the opposite sign for a `sign` of -1; all for 0.

    All features of queries and keys are the same, so it does not matter how heads of this `width` are split.
    """
    for name in (query, key):
        state[name] = torch.zeros_like(state[name])
        state[name][:, 0] = (SURE / width) ** 0.5
    state[key] *= sign


def opposites(draw: Draw, d: int) -> tuple[torch.Tensor, torch.Tensor]:
    """Sequences (2, 6) of tokens 0 to 3, and vectors (4, d) for these: 2 and 3 find 0 and 1 if they look for opposites.

    One 0 and one 1 stand both before and after each 2 and 3, so a missing or reversed mask makes no difference. As many
    tokens find as are found, so it does not matter either whether weights sum to 1 over the keys or over the queries.
    """
    vectors = draw.normal(4, d)
    vectors[:, 0] = torch.tensor([1.0, 1.0 + TIE, -1.0, -1.0])
    parts = [torch.stack([shuffled(draw, torch.tensor(pair)) for _ in range(2)]) for pair in ([0, 1], [2, 3], [0, 1])]
    return torch.cat(parts, dim=1), vectors


def halves(draw: Draw, d: int) -> tuple[torch.Tensor, torch.Tensor]:
    """Sequences (6, 5, d), and what the middle token of each of the first three finds, (3, d), by two features.

    When queries and keys are these two features, a token that is half of another one finds that one and not itself. In
    the first sequence the middle token is half of two tokens and finds both alike. The same tokens stand before and
    after it, or copies of itself, so a missing or reversed mask makes no difference. The token that it does not find is
    larger, and would be found first if keys had the same weights for all queries.
    """
    one, other = draw.normal(2, d)
    one[:2], other[:2] = torch.tensor([1.0 + TIE, 0.0]), torch.tensor([0.0, 1.0])
    between = (one + other) / 2
    x, found = [torch.stack([one, other, between, between, between])], [between]
    for wanted in range(2):
        pair, half = draw.normal(2, d), draw.normal(d)
        pair[:, :2] = torch.eye(2) * torch.tensor([1.0, 1.5])[[wanted, 1 - wanted]]
        half[:2] = pair[wanted, :2] / 2
        x.append(torch.stack([*pair, half, *pair]))
        found.append(pair[wanted])
    for features in ([0.12, -0.05, 0.1], [0.04, 0.1, 0.07], [-0.1, 0.02, -0.06]):  # the middle finds all to some degree
        pair, half = draw.normal(2, d), draw.normal(d)
        pair[:, :2] = torch.tensor([[features[0], 0.0], [features[1], 0.0]])
        half[:2] = torch.tensor([features[2], 0.0])
        x.append(torch.stack([*pair, half, *pair]))
    return torch.stack(x), torch.stack(found)


def find_halves(state: dict[str, torch.Tensor], query: str, key: str) -> None:
    """Make queries and keys the first two features, times 16: the scores of `halves` are then exact and far apart."""
    for name in (query, key):
        state[name] = torch.zeros_like(state[name])
        state[name][:2, :2] = 16 * torch.eye(2)


def lookups(draw: Draw, d_query: int, d_context: int) -> tuple[torch.Tensor, torch.Tensor]:
    """Queries (4, 5, d_query) and a context (4, 7, d_context), of two kinds of tokens by their first features.

    In the first two items these are 1 and -1. A context token with 0 is half-way between the two kinds, and a query
    with nearly 0 looks for both. A causal mask leaves every query but the first equal shares of what it looks for. In
    the last two items the first features are `mild`.
    """
    sign = 1 - 2 * draw.integer(0, 1)
    x, context = draw.normal(4, 5, d_query), []
    x[:2, :, 0] = sign * torch.tensor([[TIE, 1, TIE, -1, TIE], [TIE, -1, 1, -1, TIE]])
    x[2:, :, 0] = torch.stack([mild(draw, 5) for _ in range(2)])
    for _ in range(2):
        one, other = draw.normal(2, d_context)
        one[0], other[0] = 1.0, -1.0
        both = torch.stack([one, other, (one + other) / 2])
        context.append(both[[0, 1, 2, 0, 1, 2, 2] if draw.integer(0, 1) else [1, 0, 2, 1, 0, 2, 2]])
    for _ in range(2):
        context.append(draw.normal(7, d_context))
        context[-1][:, 0] = mild(draw, 7)
    return x, torch.stack(context)


def matches(draw: Draw) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor, torch.Tensor]:
    """Queries and keys (2, 4, 4), their unscaled scores in the first item, and the weights in the second.

    In the first item all fit to some degree, in the second each query fits one key. The matrix of keys and the pairing
    are symmetric, so it makes no difference which factor is transposed.
    """
    two = torch.tensor([[1.0, 1.0], [1.0, -1.0]])
    pairs = shuffled(draw, torch.arange(4)).reshape(2, 2)
    partner = torch.empty(4, dtype=torch.long)
    partner[pairs.flatten()] = pairs.flip(1).flatten()
    key = torch.kron(two, two) * (SURE / 4) ** 0.5
    scores = SURE * torch.outer(first := mild(draw, 4), first)
    query = torch.stack([scores @ key / SURE, key[partner]])
    return query, key.expand(2, 4, 4).clone(), scores, torch.eye(4)[partner]
