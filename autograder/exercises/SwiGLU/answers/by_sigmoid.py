import torch
from torch import nn


class SwiGLU(nn.Module):
    def __init__(self, d, hidden):
        super().__init__()
        self.W_gate = nn.Linear(d, hidden, False)
        self.W_up = nn.Linear(d, hidden, False)
        self.W_down = nn.Linear(hidden, d, False)

    def forward(self, x):
        z = self.W_gate(x)
        swish = z * torch.sigmoid(z)
        return self.W_down(self.W_up(x) * swish)
