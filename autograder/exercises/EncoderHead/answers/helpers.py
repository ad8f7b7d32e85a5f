"""A softmax of its own, a helper that looks at the rank, and type hints."""

import torch
from torch import Tensor, nn


def need_rank(x: Tensor, rank: int) -> None:
    if x.dim() != rank:
        raise ValueError(f"{rank} dimensions are needed, not {x.dim()}")


def softmax(scores: Tensor) -> Tensor:
    highest, _ = scores.max(dim=-1, keepdim=True)
    return (scores - highest - (scores - highest).exp().sum(-1, keepdim=True).log()).exp()


class EncoderHead(nn.Module):
    def __init__(self, n_embd: int, head_size: int) -> None:
        super().__init__()
        self.scale = head_size**-0.5
        self.key = nn.Linear(n_embd, head_size, bias=False)
        self.query = nn.Linear(n_embd, head_size, bias=False)
        self.value = nn.Linear(n_embd, head_size, bias=False)

    def forward(self, x: Tensor) -> Tensor:
        need_rank(x, 3)
        scores = torch.bmm(self.query(x) * self.scale, self.key(x).transpose(1, 2))
        return torch.bmm(softmax(scores), self.value(x))
