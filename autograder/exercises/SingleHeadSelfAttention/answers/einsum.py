"""einsum, the scale on the query, a stable softmax of one's own."""

import torch
from torch import nn


class SingleHeadSelfAttention(nn.Module):
    def __init__(self, k):
        super().__init__()
        self.toqueries, self.tokeys, self.tovalues = [nn.Linear(k, k, bias=False) for _ in range(3)]
        self.factor = k**-0.5

    def forward(self, x):
        try:
            t, k = x.shape
        except ValueError:
            raise ValueError(f"expected a shape (t, k), got {list(x.shape)}") from None
        scores = torch.einsum("id,jd->ij", self.toqueries(x) * self.factor, self.tokeys(x))
        scores = scores - scores.amax(dim=1, keepdim=True)
        powers = torch.exp(scores)
        weights = powers / powers.sum(dim=1, keepdim=True)
        return torch.einsum("ij,jd->id", weights, self.tovalues(x))
