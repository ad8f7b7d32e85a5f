# wrong: the scale went with the mask; softmax over dim 1
# expect: no-scale, softmax-over-queries
# also: rank-not-checked
import torch.nn.functional as F
from torch import nn


class EncoderHead(nn.Module):
    def __init__(self, n_embd, head_size):
        super().__init__()
        self.key = nn.Linear(n_embd, head_size, bias=False)
        self.query = nn.Linear(n_embd, head_size, bias=False)
        self.value = nn.Linear(n_embd, head_size, bias=False)

    def forward(self, x):
        query = self.query(x)
        key = self.key(x)
        value = self.value(x)
        weights = F.softmax(query @ key.transpose(1, 2), dim=1)
        return weights @ value
