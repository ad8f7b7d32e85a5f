# %% fill_removed_wrong: the future is filled with 0 instead of the mask being taken out; the scale is by C
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

# %% no_scale_dim: the scale went with the mask; softmax over dim 1
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

# %% scale_mended_mask_left: the scale is mended, the causal mask is still there
# expect: mask-left-in
import torch
import torch.nn.functional as F
from torch import nn


class EncoderHead(nn.Module):
    def __init__(self, n_embd, head_size):
        super().__init__()
        self.head_size = head_size
        self.key = nn.Linear(n_embd, head_size, bias=False)
        self.query = nn.Linear(n_embd, head_size, bias=False)
        self.value = nn.Linear(n_embd, head_size, bias=False)

    def forward(self, x):
        B, T, C = x.shape
        k = self.key(x)
        q = self.query(x)
        tril = torch.tril(torch.ones(T, T, device=x.device))
        wei = q @ k.transpose(-2, -1) * self.head_size**-0.5
        wei = wei.masked_fill(tril == 0, float("-inf"))
        wei = F.softmax(wei, dim=-1)
        return wei @ self.value(x)

# %% unmasked_only: the mask is out, but the scale is still by the embedding's width
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

# %% upper_only: the mask is turned round instead of taken out
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
