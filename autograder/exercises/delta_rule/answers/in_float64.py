"""Everything in float64, and the results turned back; the triangle is solved as an upper one, transposed."""

import torch


def delta_rule(query, key, value, beta):
    kind = value.dtype
    query, key, value, beta = (x.double() for x in (query, key, value, beta))
    state = 0 * key[:, :, 0, :, None] * value[:, :, 0, None, :]
    rows = []
    for i in range(key.shape[2]):
        k, v, share = key[:, :, i, :, None], value[:, :, i, None, :], beta[:, :, i, None, None]
        new = (1 - share) * (k * state).sum(-2, keepdim=True) + share * v  # of this key, if it is 1 long
        state = state + k * (new - (k * state).sum(-2, keepdim=True))
        rows.append((query[:, :, i, :, None] * state).sum(-2))
    return torch.stack(rows, dim=2).to(kind), state.to(kind)


def delta_rule_at_once(query, key, value, beta):
    kind = value.dtype
    query, key, value, beta = (x.double() for x in (query, key, value, beta))
    share = beta.unsqueeze(-1)
    upper = (key @ (share * key).transpose(-2, -1)).triu(1)
    upper = upper + torch.eye(key.shape[2], dtype=torch.float64, device=key.device)
    u = torch.linalg.solve_triangular(upper.transpose(-2, -1), share * value, upper=False)
    scores = query @ key.transpose(-2, -1)
    later = torch.ones_like(scores[0, 0], dtype=torch.bool).triu(1)
    return (scores.masked_fill(later, 0) @ u).to(kind), (u.transpose(-2, -1) @ key).transpose(-2, -1).to(kind)
