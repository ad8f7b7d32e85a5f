# wrong: the future is filled with 0 instead of the mask being taken out; the scale is by C
# expect: scale-by-input-width, ?
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
        B, T, C = x.shape
        tril = torch.tril(torch.ones(T, T, device=x.device))
        wei = self.query(x) @ self.key(x).transpose(-2, -1) * C**-0.5
        wei = wei.masked_fill(tril == 0, 0)
        wei = F.softmax(wei, dim=-1)
        return wei @ self.value(x)
