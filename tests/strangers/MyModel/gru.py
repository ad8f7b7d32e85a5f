# wrong: no attention: a small GRU, which keeps to the budget but can't remember eight facts well enough in so few steps
# expect: ?
import math

import torch
from torch import nn
import torch.nn.functional as F


class MyModel(nn.Module):
    def __init__(self, vocab_size):
        super().__init__()
        self.emb = nn.Embedding(vocab_size, 32)
        self.gru = nn.GRU(32, 48, batch_first=True)
        self.out = nn.Linear(48, vocab_size)

    def forward(self, idx):
        y, _ = self.gru(self.emb(idx))
        return self.out(y)

    def step(self, token, state=None):
        y, h = self.gru(self.emb(token[:, None]), state[0] if state else None)
        return self.out(y[:, 0]), [h]
