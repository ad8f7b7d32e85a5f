# wrong: the mask is out, but the scale is still by the embedding's width
# expect: scale-by-input-width
import torch.nn.functional as F
from torch import nn


class EncoderHead(nn.Module):
    """One attention head."""

    def __init__(self, n_embd, head_size):
        super().__init__()
        self.key = nn.Linear(n_embd, head_size, bias=False)
        self.query = nn.Linear(n_embd, head_size, bias=False)
        self.value = nn.Linear(n_embd, head_size, bias=False)

    def forward(self, x):
        B, T, C = x.shape
        k = self.key(x)
        q = self.query(x)

        wei = q @ k.transpose(-2, -1) * C**-0.5
        wei = F.softmax(wei, dim=-1)

        v = self.value(x)
        return wei @ v
