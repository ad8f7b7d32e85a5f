# wrong: the mask is turned round instead of taken out
# expect: mask-turned-round
# also: rank-not-checked
import torch
import torch.nn.functional as F
from torch import nn


class EncoderHead(nn.Module):
    def __init__(self, n_embd, head_size):
        super().__init__()
        self.key = nn.Linear(n_embd, head_size, bias=False)
        self.query = nn.Linear(n_embd, head_size, bias=False)
        self.value = nn.Linear(n_embd, head_size, bias=False)

    def forward(self, x):
        T = x.shape[1]
        k, q, v = self.key(x), self.query(x), self.value(x)
        triu = torch.triu(torch.ones(T, T, device=x.device))
        wei = q @ k.transpose(-2, -1) * k.shape[-1] ** -0.5
        wei = wei.masked_fill(triu == 0, float("-inf"))
        return F.softmax(wei, dim=-1) @ v
