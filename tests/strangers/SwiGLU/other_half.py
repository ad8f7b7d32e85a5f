# wrong: silu stands around W_up, and W_gate goes through as it is
# expect: gate-on-the-wrong-half
import torch.nn.functional as F
from torch import nn


class SwiGLU(nn.Module):
    def __init__(self, d, hidden):
        super().__init__()
        self.W_gate, self.W_up = nn.Linear(d, hidden, bias=False), nn.Linear(d, hidden, bias=False)
        self.W_down = nn.Linear(hidden, d, bias=False)

    def forward(self, x):
        x = F.silu(self.W_up(x)) * self.W_gate(x)
        return self.W_down(x)
