"""Easy cases that only attention solves, whatever single slip there is in it.

Checks that are not about values first pass such a case, so that what is no attention gets no points for, say, its
device, and a wrong scale does not cost them. In each of them tokens find others by what both are, evenly among those
that fit, and find the same without a scale or with another one. The mean of all, weights by place, the best key alone
or scores without a softmax give something else.
"""

import torch

SURE = 60.0  # a score, unscaled, that leaves nothing to scores of 0, even if divided by a width of 6; its exp is finite
TIE = 5e-7  # what parts equal scores: a softmax does not show it, but the best is then one alone
NEAR = 0.05  # how far tokens of a group lie apart: their scores are nearly equal, whatever the scale


def shuffled(draw, values):
    """The values in random order."""
    return values[torch.randperm(len(values), generator=draw.generator)]


def grouped(draw, n, d):
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


def kinds(draw, n, d):
    """Tokens (2, n, d): a sequence whose first features are nearly 0, and one of two tokens for which they are ±1.

    The first is of the kind that is no rarer, the last is not: weights that are the same for all queries, or go by the
    query and the place alone, lead astray.
    """
    x = draw.normal(2, n, d)
    kind = torch.cat([torch.tensor([0]), shuffled(draw, torch.arange(n - 2) % 2), torch.tensor([1])])
    x[1] = x[1, kind]
    x[..., 0] = torch.stack([1e-4 * torch.linspace(-1, 1, n), 1.0 - 2 * kind])
    return x


def find_alike(state, width, query="query.weight", key="key.weight", sign=1):
    """Let tokens find those whose first feature has the same sign, or for a `sign` of -1 the other, or all if it is 0.

    All features of queries and keys are the same, so that it does not matter how heads of this `width` are cut.
    """
    for name in (query, key):
        state[name] = torch.zeros_like(state[name])
        state[name][:, 0] = (SURE / width) ** 0.5
    state[key] *= sign


def opposites(draw, d):
    """Sequences (2, 6) of tokens 0 to 3, and vectors (4, d) for these: 2 and 3 find 0 and 1 if they look for opposites.

    Before and after each 2 and 3 stand one 0 and one 1, so that neither a mask that is missing nor one that is turned
    round makes a difference; and as many find as are found, so that it makes none whether weights sum to 1 over the
    keys or over the queries.
    """
    vectors = draw.normal(4, d)
    vectors[:, 0] = torch.tensor([1.0, 1.0 + TIE, -1.0, -1.0])
    parts = [torch.stack([shuffled(draw, torch.tensor(pair)) for _ in range(2)]) for pair in ([0, 1], [2, 3], [0, 1])]
    return torch.cat(parts, dim=1), vectors


def halves(draw, d):
    """Sequences (3, 5, d), and what the one in the middle of each finds, (3, d), if tokens are found by two features.

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
    return torch.stack(x), torch.stack(found)


def find_halves(state, query, key):
    """Let queries and keys be the first two features, times 16: the scores of `halves` are exact, and far apart."""
    for name in (query, key):
        state[name] = torch.zeros_like(state[name])
        state[name][:2, :2] = 16 * torch.eye(2)


def lookups(draw, d_query, d_context):
    """Queries (2, 5, d_query) and a context (2, 7, d_context) of two kinds of tokens, by their first features.

    The first features are 1 and -1; what has 0, or nearly,
    is half-way between the two tokens of the context, or looks for both.
    A causal mask leaves each query but the first as much of what it looks for.
    """
    sign = 1 - 2 * draw.integer(0, 1)
    x, context = draw.normal(2, 5, d_query), []
    x[:, :, 0] = sign * torch.tensor([[TIE, 1, TIE, -1, TIE], [TIE, -1, 1, -1, TIE]])
    for _ in x:
        one, other = draw.normal(2, d_context)
        one[0], other[0] = 1.0, -1.0
        both = torch.stack([one, other, (one + other) / 2])
        context.append(both[[0, 1, 2, 0, 1, 2, 2] if draw.integer(0, 1) else [1, 0, 2, 1, 0, 2, 2]])
    return x, torch.stack(context)


def matches(draw):
    """Queries and keys (2, 4, 4), and their weights: queries of nearly 0, then queries that each fit one key.

    Keys, and who fits whom, are symmetric: it makes no difference which of the two is transposed.
    """
    two = torch.tensor([[1.0, 1.0], [1.0, -1.0]])
    pairs = shuffled(draw, torch.arange(4)).reshape(2, 2)
    partner = torch.empty(4, dtype=torch.long)
    partner[pairs.flatten()] = pairs.flip(1).flatten()
    key = torch.kron(two, two) * (SURE / 4) ** 0.5
    query = torch.stack([TIE * key, key[partner]])
    weights = torch.stack([torch.full((4, 4), 0.25), torch.eye(4)[partner]])
    return query, key.expand(2, 4, 4).clone(), weights
