# wrong: silu with exp(-z), whose gradient is NaN for very negative gates; dropout before W_down
# expect: silu-by-hand, dropout-added
import torch
from torch import nn


class SwiGLU(nn.Module):
    def __init__(self, d, hidden):
        super().__init__()
        self.W_gate = nn.Linear(d, hidden, bias=False)
        self.W_up = nn.Linear(d, hidden, bias=False)
        self.W_down = nn.Linear(hidden, d, bias=False)
        self.dropout = nn.Dropout(0.1)

    def forward(self, x):
        z = self.W_gate(x)
        silu = z / (1 + torch.exp(-z))
        return self.W_down(self.dropout(silu * self.W_up(x)))
