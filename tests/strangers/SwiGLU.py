# %% exp_by_hand: silu with exp(-z), whose gradient is NaN for very negative gates; dropout before W_down
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

# %% llama_two_thirds: Llama's FeedForward: two thirds of hidden, rounded up to a multiple; layers called w1, w2, w3
# expect: names-of-llama, two-thirds
# also: w-down-missing
import torch.nn.functional as F
from torch import nn


class SwiGLU(nn.Module):
    def __init__(self, d, hidden, multiple_of=8):
        super().__init__()
        hidden = int(2 * hidden / 3)
        hidden = multiple_of * ((hidden + multiple_of - 1) // multiple_of)
        self.w1 = nn.Linear(d, hidden, bias=False)
        self.w2 = nn.Linear(hidden, d, bias=False)
        self.w3 = nn.Linear(d, hidden, bias=False)

    def forward(self, x):
        return self.w2(F.silu(self.w1(x)) * self.w3(x))

# %% other_half: silu stands around W_up, and W_gate goes through as it is
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

# %% sigmoid_gate: the gate is a sigmoid alone, and the layers have biases
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
