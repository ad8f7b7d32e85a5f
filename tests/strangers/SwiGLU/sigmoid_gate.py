# wrong: the gate is a sigmoid alone, and the layers have biases
# expect: sigmoid-gate, biases
# also: bias-of-the-gate, bias-on-the-way-up, bias-on-the-way-down
import torch
from torch import nn


class SwiGLU(nn.Module):
    def __init__(self, d, hidden):
        super().__init__()
        self.W_gate = nn.Linear(d, hidden)
        self.W_up = nn.Linear(d, hidden)
        self.W_down = nn.Linear(hidden, d)

    def forward(self, x):
        gate = torch.sigmoid(self.W_gate(x))
        return self.W_down(gate * self.W_up(x))
