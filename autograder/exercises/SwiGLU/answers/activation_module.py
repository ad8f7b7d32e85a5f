import torch
from torch import nn


class SwiGLU(nn.Module):
    def __init__(self, d: int, hidden: int) -> None:
        super().__init__()
        self.W_up = nn.Linear(d, hidden, bias=False)
        self.W_down = nn.Linear(hidden, d, bias=False)
        self.W_gate = nn.Linear(d, hidden, bias=False)
        self.activation = nn.SiLU(inplace=True)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        gated: torch.Tensor = self.activation(self.W_gate(x)) * self.W_up(x)
        return self.W_down(gated)
