"""Batch and heads are one dimension, with baddbmm; at once the ones of the diagonal are left to the solver."""

import torch


def delta_rule(query, key, value, beta):
    b, h, t, d = key.shape
    q, k, v = (x.reshape(b * h, t, -1) for x in (query, key, value))
    share = beta.reshape(b * h, t)
    state = v.new_zeros(b * h, d, v.shape[-1])
    output = []
    for i in range(t):
        row = k[:, i : i + 1]
        change = share[:, i, None, None] * torch.baddbmm(v[:, i : i + 1], row, state, alpha=-1)
        state = torch.baddbmm(state, row.transpose(1, 2), change)
        output.append(torch.bmm(q[:, i : i + 1], state))
    return torch.cat(output, dim=1).view(b, h, t, -1), state.view(b, h, d, -1)


def delta_rule_at_once(query, key, value, beta):
    b, h, t, d = key.shape
    kind = torch.float64 if value.dtype == torch.float64 else torch.float32
    q, k, v = (x.reshape(b * h, t, -1).to(kind) for x in (query, key, value))
    share = beta.reshape(b * h, t, 1).to(kind)
    lower = torch.bmm(share * k, k.transpose(1, 2)).tril(-1)
    u = torch.linalg.solve_triangular(lower, share * v, upper=False, unitriangular=True)
    output = torch.bmm(torch.bmm(q, k.transpose(1, 2)).tril(), u).view(b, h, t, -1)
    return output.to(value.dtype), torch.bmm(k.transpose(1, 2), u).view(b, h, d, -1).to(value.dtype)
