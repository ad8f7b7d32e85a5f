"""Easy cases that only attention solves, whatever single slip there is in it.

Checks that are not about values first pass such a case, so that what is no attention gets no points for, say, its
device, and a wrong scale does not cost them. In each of them tokens find others by what both are, evenly among those
that fit, and find the same without a scale or with another one. The mean of all, weights by place, the best key alone
or scores without a softmax give something else.
"""

import torch

from ...checks.api import CheckFailed, Draw
from ..reference.remembered import remembered

SURE = 60.0  # a score, unscaled, that leaves nothing to scores of 0, even if divided by a width of 6; its exp is finite
TIE = 5e-7  # what parts equal scores: a softmax does not show it, but the best is then one alone
SCALES = torch.logspace(-1, 0.35, 75, dtype=torch.float64)  # from 1/10 to 2.2, in steps of 4%
USUAL_SCALES = torch.arange(1, 17, dtype=torch.float64) ** -0.5
NEAR = 0.05  # how far tokens of a group lie apart: their scores are nearly equal, whatever the scale


def shuffled(draw: Draw, values: torch.Tensor) -> torch.Tensor:
    """The values in random order."""
    return values[torch.randperm(len(values), generator=draw.generator)]


def grouped(draw: Draw, n: int, d: int) -> tuple[torch.Tensor, torch.Tensor]:
    """Tokens (n, d) in two groups, and what softmax(X Xᵀ) X makes of them: each gets the middle of its group.

    Within a group the scores are all nearly 75, beyond it 5. Where all projections are the identity, this is so
    whichever of them is missing or taken for another.
    """
    first, second, *rest = torch.linalg.qr(draw.normal(d, d, dtype=torch.float64)).Q
    group = shuffled(draw, torch.arange(n) % 2)
    middle = 75**0.5 * torch.stack([first, first / 15 + (1 - 1 / 15**2) ** 0.5 * second])[group]
    aside = torch.stack([shuffled(draw, torch.linspace(-NEAR, NEAR, n, dtype=torch.float64)) for _ in rest], dim=1)
    same = (group[:, None] == group).double()
    aside -= same / same.sum(-1, keepdim=True) @ aside
    return (middle + aside @ torch.stack(rest)).float(), middle


def kinds(draw: Draw, n: int, d: int) -> torch.Tensor:
    """Tokens (4, n, d): three sequences whose first features are `mild`, and one of two tokens for which they are ±1.

    In that one the first is of the kind that is no rarer, the last is not: weights that are the same for all queries,
    or go by the query and the place alone, lead astray.
    """
    x = draw.normal(4, n, d)
    kind = torch.cat([torch.tensor([0]), shuffled(draw, torch.arange(n - 2) % 2), torch.tensor([1])])
    x[3] = x[3, kind]
    x[..., 0] = torch.stack([*(mild(draw, n) for _ in range(3)), 1.0 - 2 * kind])
    return x


def mild(draw: Draw, n: int) -> torch.Tensor:
    """First features (n,) of tokens that fit one another more or less: all of them share in what is found."""
    return shuffled(draw, torch.linspace(-0.2, 0.2, n))


def scores_of(queries: torch.Tensor, keys: torch.Tensor | None = None) -> torch.Tensor:
    """The scores, unscaled, of tokens (…, t, d_query) with others (…, s, d_context) after `find_alike`: (…, t, s)."""
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
    """Raises CheckFailed unless `got`, (m, t, dv), is what a softmax of `scores`, (m, t, s), makes of `values`.

    Whatever the scale is, whichever way the softmax runs, and with `any_mask` whatever a mask of before and after lets
    through: each is one slip, and is judged elsewhere, but it is the same in all m sequences. With `rows`, only these
    are looked at; of the last row alone, which sees all, nothing but the scale is left open. `values` are (m, s, dv).
    """
    got, values = got[:, rows].detach().double(), values.detach().double()
    limit, is_last = 0.02 * values.abs().max(), rows == slice(-1, None)
    for mixed in (_usual_mixes, _mixes, _mixes_but_for_a_slip)[: 2 if is_last else 3]:  # the last takes longest
        made = mixed(scores.double(), values, causal, any_mask)[..., rows, :]
        if (made - got).abs().amax((-1, -2, -3)).min() <= limit:
            return
    raise CheckFailed(f"{what[:1].upper()}{what[1:]} is no average that a softmax of the scores would weigh.")


@remembered
def _usual_mixes(scores: torch.Tensor, values: torch.Tensor, causal: bool, any_mask: bool) -> torch.Tensor:
    """What right weights make of the values, with the scales that are most likely: (scales, m, t, dv)."""
    return _weights(scores * USUAL_SCALES[:, None, None, None], causal) @ values


def _mixes(scores: torch.Tensor, values: torch.Tensor, causal: bool, any_mask: bool) -> torch.Tensor:
    """The same with any scale."""
    return _weights(scores * SCALES[:, None, None, None], causal) @ values


def _mixes_but_for_a_slip(scores: torch.Tensor, values: torch.Tensor, causal: bool, any_mask: bool) -> torch.Tensor:
    """What weights make of the values in which there is a single slip, and any scale: (slips, scales, m, t, dv)."""
    scores = scores * SCALES[:, None, None, None]
    whole = torch.ones(scores.shape[-2:], dtype=torch.bool)
    past = whole.tril()
    masks = [past if causal else whole]
    if any_mask:
        masks += [whole, *(whole.tril(k) for k in (-1, 0, 1)), *(whole.triu(k) for k in (-1, 0, 1))]
    found = [_softmax(scores.masked_fill(~mask, -torch.inf), way) for mask in masks for way in (-1, -2)]
    found += [_softmax(scores.masked_fill(~past, 0.0))] if any_mask else []
    if scores.shape[-1] == scores.shape[-2]:
        right = _weights(scores, causal)
        found.append(right @ right)  # weighed twice
    return torch.stack(found) @ values


def _weights(scores: torch.Tensor, causal: bool) -> torch.Tensor:
    """The right weights of scores, (…, t, s)."""
    past = torch.ones(scores.shape[-2:], dtype=torch.bool).tril()
    return _softmax(scores.masked_fill(~past, -torch.inf) if causal else scores)


def _softmax(scores: torch.Tensor, dim: int = -1) -> torch.Tensor:
    """By hand: the tests put other things into the place of torch's. What may attend to nothing gets 0."""
    parts = (scores - scores.amax((-1, -2), keepdim=True)).exp()
    return (parts / parts.sum(dim, keepdim=True)).nan_to_num()


def find_alike(
    state: dict[str, torch.Tensor], width: int, query: str = "query.weight", key: str = "key.weight", sign: int = 1
) -> None:
    """Let tokens find those whose first feature has the same sign, or for a `sign` of -1 the other, or all if it is 0.

    All features of queries and keys are the same, so that it does not matter how heads of this `width` are cut.
    """
    for name in (query, key):
        state[name] = torch.zeros_like(state[name])
        state[name][:, 0] = (SURE / width) ** 0.5
    state[key] *= sign


def opposites(draw: Draw, d: int) -> tuple[torch.Tensor, torch.Tensor]:
    """Sequences (2, 6) of tokens 0 to 3, and vectors (4, d) for these: 2 and 3 find 0 and 1 if they look for opposites.

    Before and after each 2 and 3 stand one 0 and one 1, so that neither a mask that is missing nor one that is turned
    round makes a difference; and as many find as are found, so that it makes none whether weights sum to 1 over the
    keys or over the queries.
    """
    vectors = draw.normal(4, d)
    vectors[:, 0] = torch.tensor([1.0, 1.0 + TIE, -1.0, -1.0])
    parts = [torch.stack([shuffled(draw, torch.tensor(pair)) for _ in range(2)]) for pair in ([0, 1], [2, 3], [0, 1])]
    return torch.cat(parts, dim=1), vectors


def halves(draw: Draw, d: int) -> tuple[torch.Tensor, torch.Tensor]:
    """Sequences (6, 5, d), and what the one in the middle of the first three finds, (3, d), by two features.

    Where queries and keys are these two features, a token that is half another one finds that one before itself. In the
    first sequence the middle is half of two tokens, and finds both alike. Before it and after it stands the same, or
    nothing but itself, so that neither a mask that is missing nor one that is turned round makes a difference. What it
    does not find is larger, so that it would be found first if keys were weighed for all queries alike.
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
    for features in ([0.12, -0.05, 0.1], [0.04, 0.1, 0.07], [-0.1, 0.02, -0.06]):  # the middle finds all, more or less
        pair, half = draw.normal(2, d), draw.normal(d)
        pair[:, :2] = torch.tensor([[features[0], 0.0], [features[1], 0.0]])
        half[:2] = torch.tensor([features[2], 0.0])
        x.append(torch.stack([*pair, half, *pair]))
    return torch.stack(x), torch.stack(found)


def find_halves(state: dict[str, torch.Tensor], query: str, key: str) -> None:
    """Let queries and keys be the first two features, times 16: the scores of `halves` are exact, and far apart."""
    for name in (query, key):
        state[name] = torch.zeros_like(state[name])
        state[name][:2, :2] = 16 * torch.eye(2)


def lookups(draw: Draw, d_query: int, d_context: int) -> tuple[torch.Tensor, torch.Tensor]:
    """Queries (4, 5, d_query) and a context (4, 7, d_context), of two kinds of tokens by their first features.

    The first features are 1 and -1; what has 0, or nearly, is half-way between the two tokens of the context, or looks
    for both. A causal mask leaves each query but the first as much of what it looks for. In the last two items they
    are `mild`.
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

    There each query fits one key; in the first they fit more or less. Keys, and who fits whom, are symmetric: it makes
    no difference which of the two is transposed.
    """
    two = torch.tensor([[1.0, 1.0], [1.0, -1.0]])
    pairs = shuffled(draw, torch.arange(4)).reshape(2, 2)
    partner = torch.empty(4, dtype=torch.long)
    partner[pairs.flatten()] = pairs.flip(1).flatten()
    key = torch.kron(two, two) * (SURE / 4) ** 0.5
    scores = SURE * torch.outer(first := mild(draw, 4), first)
    query = torch.stack([scores @ key / SURE, key[partner]])
    return query, key.expand(2, 4, 4).clone(), scores, torch.eye(4)[partner]
