"""Attention without a softmax by definition: a state that each token writes into.

Everything is computed in float64, token by token, with products and sums alone. All functions are differentiable.
"""

import torch

from .remembered import remembered


@remembered
def delta_rule(
    query: torch.Tensor, key: torch.Tensor, value: torch.Tensor, beta: torch.Tensor
) -> tuple[torch.Tensor, torch.Tensor]:
    """S = S + β k (v − Sᵀ k)ᵀ for each token, whose output is Sᵀ q: `(output, state)` (Schlag et al. 2021, eq. 24).

    (b, h, t, d) twice, (b, h, t, dv) and (b, h, t) give (b, h, t, dv) and (b, h, d, dv).
    """
    query, key, value, beta = (x.double() for x in (query, key, value, beta))
    state = torch.zeros(*key.shape[:2], key.shape[3], value.shape[3], dtype=torch.float64)
    outputs = []
    for q, k, v, share in zip(*(x.unbind(2) for x in (query, key, value, beta)), strict=True):
        said = (k.unsqueeze(-1) * state).sum(-2)  # (b, h, dv)
        change = share.unsqueeze(-1) * (v - said)
        state = state + k.unsqueeze(-1) * change.unsqueeze(-2)
        outputs.append((q.unsqueeze(-1) * state).sum(-2))
    return torch.stack(outputs, dim=2), state
