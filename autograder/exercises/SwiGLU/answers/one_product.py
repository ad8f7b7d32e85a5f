import torch
import torch.nn.functional as F
from torch import nn


class SwiGLU(nn.Module):
    """Both halves by one product of the two weights, one below the other."""

    def __init__(self, d, hidden):
        super().__init__()
        self.W_gate, self.W_up = (nn.Linear(d, hidden, bias=False) for _ in range(2))
        self.W_down = nn.Linear(hidden, d, bias=False)

    def forward(self, x):
        both = F.linear(x, torch.cat([self.W_gate.weight, self.W_up.weight]))
        gate, up = both.chunk(2, dim=-1)
        return self.W_down(up.mul(F.silu(gate)))
