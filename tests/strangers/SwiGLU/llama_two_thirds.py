# wrong: Llama's FeedForward: two thirds of hidden, rounded up to a multiple; layers called w1, w2, w3
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
