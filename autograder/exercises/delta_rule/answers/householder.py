"""The state is multiplied by I − β k kᵀ, and β k vᵀ is added; at once by an inverse."""

import torch


def delta_rule(query, key, value, beta):
    d = key.size(-1)
    state = torch.zeros(key.shape[:2] + (d, value.size(-1)), dtype=key.dtype, device=key.device)
    eye = torch.eye(d, dtype=key.dtype, device=key.device)
    outputs = []
    for i in range(key.size(2)):
        k = key[:, :, i].unsqueeze(-1)
        share = beta[:, :, i].unsqueeze(-1).unsqueeze(-1)
        state = (eye - share * k @ k.mT) @ state + share * k @ value[:, :, i].unsqueeze(-2)
        outputs.append((state.mT @ query[:, :, i].unsqueeze(-1)).squeeze(-1))
    return torch.stack(outputs, 2), state


def delta_rule_at_once(query, key, value, beta):
    given = value.dtype
    if given in (torch.float16, torch.bfloat16):
        query, key, value, beta = query.float(), key.float(), value.float(), beta.float()
    matrix = torch.tril(beta[..., None] * key @ key.mT, diagonal=-1)
    matrix = matrix + torch.diag_embed(torch.ones_like(beta))
    written = torch.linalg.inv(matrix) @ (beta[..., None] * value)
    return (torch.tril(query @ key.mT) @ written).to(given), (key.mT @ written).to(given)
