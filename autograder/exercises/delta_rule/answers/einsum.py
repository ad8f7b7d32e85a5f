"""The sums written out with einsum; at once by torch's general solver."""

import torch


def delta_rule(query, key, value, beta):
    b, h, t, d = key.shape
    state = torch.zeros(b, h, d, value.shape[-1], dtype=value.dtype, device=value.device)
    output = []
    for q, k, v, share in zip(query.unbind(2), key.unbind(2), value.unbind(2), beta.unbind(2), strict=True):
        said = torch.einsum("bhd,bhde->bhe", k, state)
        state = state + torch.einsum("bh,bhd,bhe->bhde", share, k, v - said)
        output.append(torch.einsum("bhd,bhde->bhe", q, state))
    return torch.stack(output, dim=2), state


def delta_rule_at_once(query, key, value, beta):
    kind = torch.promote_types(value.dtype, torch.float32)
    q, k, v, share = query.to(kind), key.to(kind), value.to(kind), beta.to(kind)
    products = torch.einsum("bhid,bhjd->bhij", k, k)
    below = torch.ones(k.shape[2], k.shape[2], dtype=torch.bool, device=k.device).tril(-1)
    matrix = torch.where(below, share.unsqueeze(-1) * products, 0.0)
    matrix = matrix + torch.eye(k.shape[2], device=k.device, dtype=kind)
    u = torch.linalg.solve(matrix, share.unsqueeze(-1) * v)
    seen = torch.where(below.tril(-1).mT, 0.0, torch.einsum("bhid,bhjd->bhij", q, k))
    return (seen @ u).to(value.dtype), torch.einsum("bhjd,bhje->bhde", k, u).to(value.dtype)
