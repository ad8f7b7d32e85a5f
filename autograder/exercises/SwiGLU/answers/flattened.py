import torch.nn as nn
from torch.nn import functional as F


class SwiGLU(nn.Module):
    """All tokens as one long list, and back."""

    def __init__(self, d, hidden):
        super().__init__()
        self.d = d
        self.W_gate = nn.Linear(in_features=d, out_features=hidden, bias=False)
        self.W_up = nn.Linear(in_features=d, out_features=hidden, bias=False)
        self.W_down = nn.Linear(in_features=hidden, out_features=d, bias=False)

    def forward(self, x):
        tokens = x.reshape(-1, self.d)
        return self.W_down(F.silu(self.W_gate(tokens)) * self.W_up(tokens)).reshape(x.shape)
