"""Type hints with shapes in strings, a class of errors of its own, einsum with `...` and helpers beside the class."""

from typing import NamedTuple

import torch
from torch import Tensor, nn


class WrongRank(ValueError):
    pass


class CoAttended(NamedTuple):
    v_hat: Tensor
    q_hat: Tensor
    a_v: Tensor
    a_q: Tensor


def must_be_batched(**named: Tensor) -> None:
    for name, tensor in named.items():
        if tensor.ndim != 3:
            raise WrongRank(f"`{name}` should have 3 dimensions, not {tensor.ndim}")


def pool(tokens: "Float[Tensor, 'b s d']", logits: "Float[Tensor, 'b s']", mask: "Bool[Tensor, 'b s'] | None"):  # noqa: F722, F821
    if mask is None:
        weights = torch.softmax(logits, dim=-1)
    else:
        nothing = ~mask.any(dim=-1, keepdim=True)
        logits = logits.masked_fill(~mask, float("-inf")).masked_fill(nothing, 0.0)
        weights = torch.softmax(logits, dim=-1).masked_fill(nothing, 0.0)
    return torch.einsum("...s,...sd->...d", weights, tokens), weights


class ParallelCoAttention(nn.Module):
    def __init__(self, d: int, k: int) -> None:
        super().__init__()
        self.W_b = nn.Linear(d, d, bias=False)
        self.W_v, self.W_q = nn.Linear(d, k, bias=False), nn.Linear(d, k, bias=False)
        self.w_hv, self.w_hq = nn.Linear(k, 1, bias=False), nn.Linear(k, 1, bias=False)

    def forward(self, v: Tensor, q: Tensor, v_mask: Tensor | None = None, q_mask: Tensor | None = None) -> CoAttended:
        must_be_batched(v=v, q=q)
        affinity: Tensor = torch.einsum("...td,...nd->...tn", q, self.W_b(v)).tanh()
        own_v, own_q = self.W_v(v), self.W_q(q)
        said_v = own_v if v_mask is None else own_v * v_mask[..., None]  # what the other side hears
        said_q = own_q if q_mask is None else own_q * q_mask[..., None]
        h_v = (own_v + torch.einsum("...tn,...tk->...nk", affinity, said_q)).tanh()
        h_q = (own_q + torch.einsum("...tn,...nk->...tk", affinity, said_v)).tanh()
        v_hat, a_v = pool(v, self.w_hv(h_v)[..., 0], v_mask)
        q_hat, a_q = pool(q, self.w_hq(h_q)[..., 0], q_mask)
        return CoAttended(v_hat, q_hat, a_v, a_q)
