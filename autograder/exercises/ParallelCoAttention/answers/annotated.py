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


def pool(tokens: "Float[Tensor, 'b s d']", logits: "Float[Tensor, 'b s']"):  # noqa: F722, F821
    weights = torch.softmax(logits, dim=-1)
    return torch.einsum("...s,...sd->...d", weights, tokens), weights


class ParallelCoAttention(nn.Module):
    def __init__(self, d: int, k: int) -> None:
        super().__init__()
        self.W_b = nn.Linear(d, d, bias=False)
        self.W_v, self.W_q = nn.Linear(d, k, bias=False), nn.Linear(d, k, bias=False)
        self.w_hv, self.w_hq = nn.Linear(k, 1, bias=False), nn.Linear(k, 1, bias=False)

    def forward(self, v: Tensor, q: Tensor) -> CoAttended:
        must_be_batched(v=v, q=q)
        affinity: Tensor = torch.einsum("...td,...nd->...tn", q, self.W_b(v)).tanh()
        own_v, own_q = self.W_v(v), self.W_q(q)
        h_v = (own_v + torch.einsum("...tn,...tk->...nk", affinity, own_q)).tanh()
        h_q = (own_q + torch.einsum("...tn,...nk->...tk", affinity, own_v)).tanh()
        v_hat, a_v = pool(v, self.w_hv(h_v)[..., 0])
        q_hat, a_q = pool(q, self.w_hq(h_q)[..., 0])
        return CoAttended(v_hat, q_hat, a_v, a_q)
