"""`torch.compile` as a decorator of `forward`, with shapes in annotations that are plain strings; it prints."""

import torch
from torch import nn


class EncoderHead(nn.Module):
    def __init__(self, n_embd, head_size):
        super().__init__()
        self.key = nn.Linear(n_embd, head_size, bias=False)
        self.query = nn.Linear(n_embd, head_size, bias=False)
        self.value = nn.Linear(n_embd, head_size, bias=False)

    @torch.compile
    def forward(self, x: 'Float[Tensor, "b t n_embd"]') -> 'Float[Tensor, "b t head_size"]':  # noqa: F722, F821
        if x.dim() != 3:
            raise ValueError(f"(b, t, n_embd) is needed, not {tuple(x.shape)}")
        q, k, v = self.query(x), self.key(x), self.value(x)
        scores = torch.einsum("...ih,...jh->...ij", q, k) / k.shape[-1] ** 0.5
        print("scores", scores.shape)
        return scores.softmax(dim=-1) @ v
