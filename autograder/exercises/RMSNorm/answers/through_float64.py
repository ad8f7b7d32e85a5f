import torch
import torch.nn as nn


class RMSNorm(nn.Module):
    def __init__(self, d: int, eps: float = 1e-6) -> None:
        super().__init__()
        self.eps = eps
        self.weight = nn.Parameter(torch.ones(d))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        exact = x.double()
        mean_square = torch.mean(exact**2, dim=-1, keepdim=True)
        normed = exact / torch.sqrt(mean_square + self.eps)
        return (normed * self.weight.double()).to(x.dtype)
