# %% bias_and_diagonal: the layers have biases; the mask lets each token see the next one
# expect: always-bias, one-step-ahead
# also: fact-biases
import torch
import torch.nn.functional as F
from torch import nn


class Head(nn.Module):
    def __init__(self, n_embd, head_size, block_size, dropout):
        super().__init__()
        self.key = nn.Linear(n_embd, head_size)
        self.query = nn.Linear(n_embd, head_size)
        self.value = nn.Linear(n_embd, head_size)
        self.block_size = block_size
        self.register_buffer("tril", torch.triu(torch.ones(block_size, block_size), diagonal=2) == 0)
        self.dropout = nn.Dropout(dropout)

    def forward(self, x):
        _, T, _ = x.shape
        if T > self.block_size:
            raise ValueError(f"{T} > {self.block_size}")
        k = self.key(x)
        q = self.query(x)
        v = self.value(x)
        att = q @ k.mT / k.shape[-1] ** 0.5
        att = att.masked_fill(~self.tril[:T, :T], -torch.inf)
        att = self.dropout(F.softmax(att, dim=2))
        return att @ v

# %% dropout_before_softmax: dropout on the scores, before the softmax; scaled by C, not head_size
# expect: dropout-on-scores, scale-by-embedding-width
import torch
import torch.nn.functional as F
from torch import nn


class Head(nn.Module):
    def __init__(self, n_embd, head_size, block_size, dropout):
        super().__init__()
        self.block_size = block_size
        self.key = nn.Linear(n_embd, head_size, bias=False)
        self.query = nn.Linear(n_embd, head_size, bias=False)
        self.value = nn.Linear(n_embd, head_size, bias=False)
        self.register_buffer("tril", torch.tril(torch.ones(block_size, block_size)))
        self.dropout = nn.Dropout(dropout)

    def forward(self, x):
        B, T, C = x.shape
        if T > self.block_size:
            raise ValueError(f"got {T} tokens, expected at most {self.block_size}")
        wei = self.query(x) @ self.key(x).transpose(-2, -1) * C**-0.5
        wei = self.dropout(wei)
        wei = wei.masked_fill(self.tril[:T, :T] == 0, float("-inf"))
        return F.softmax(wei, dim=-1) @ self.value(x)

# %% dropout_function: F.dropout without training=, so it is active in eval mode too
# expect: dropout-in-eval
import torch
import torch.nn.functional as F
from torch import nn


class Head(nn.Module):
    def __init__(self, n_embd, head_size, block_size, dropout):
        super().__init__()
        self.key = nn.Linear(n_embd, head_size, bias=False)
        self.query = nn.Linear(n_embd, head_size, bias=False)
        self.value = nn.Linear(n_embd, head_size, bias=False)
        self.p = dropout
        self.block_size = block_size
        self.register_buffer("tril", torch.ones(block_size, block_size).tril())

    def forward(self, x):
        B, T, C = x.shape
        if T > self.block_size:
            raise ValueError("got %d tokens, at most %d fit" % (T, self.block_size))
        q = self.query(x)
        k = self.key(x)
        wei = q @ k.transpose(-2, -1) * k.size(-1) ** -0.5
        wei = wei.masked_fill(self.tril[:T, :T] == 0, float("-inf"))
        wei = F.softmax(wei, dim=-1)
        wei = F.dropout(wei, p=self.p)
        return wei @ self.value(x)

# %% dropout_out_assert: dropout on the output instead of the weights; assert instead of ValueError
# expect: dropout-on-output, ?
# also: rank-not-checked
import torch
from torch import nn


class Head(nn.Module):
    def __init__(self, n_embd, head_size, block_size, dropout):
        super(Head, self).__init__()
        self.head_size = head_size
        self.block_size = block_size
        self.query = nn.Linear(n_embd, head_size, bias=False)
        self.key = nn.Linear(n_embd, head_size, bias=False)
        self.value = nn.Linear(n_embd, head_size, bias=False)
        self.register_buffer("tril", torch.tril(torch.ones(block_size, block_size)).bool())
        self.drop = nn.Dropout(dropout)

    def forward(self, x):
        t = x.shape[1]
        assert t <= self.block_size, "too long"
        w = self.query(x).matmul(self.key(x).transpose(1, 2)).div(self.head_size**0.5)
        w = w.masked_fill(~self.tril[:t, :t], float("-inf")).softmax(-1)
        return self.drop(w.matmul(self.value(x)))

# %% globals_left: block_size and dropout are still globals; still scaled by C
# expect: three-left-global
# also: scale-by-embedding-width, too-long-not-refused
import torch
import torch.nn.functional as F
from torch import nn

n_embd = 32


class Head(nn.Module):
    def __init__(self, head_size):
        super().__init__()
        self.key = nn.Linear(n_embd, head_size, bias=False)
        self.query = nn.Linear(n_embd, head_size, bias=False)
        self.value = nn.Linear(n_embd, head_size, bias=False)
        self.register_buffer("tril", torch.tril(torch.ones(block_size, block_size)))
        self.dropout = nn.Dropout(dropout)

    def forward(self, x):
        B, T, C = x.shape
        k, q = self.key(x), self.query(x)
        wei = q @ k.transpose(-2, -1) * C**-0.5
        wei = wei.masked_fill(self.tril[:T, :T] == 0, float("-inf"))
        wei = self.dropout(F.softmax(wei, dim=-1))
        return wei @ self.value(x)

# %% globals_mended: still scaled by the embedding's width; a sequence longer than the context is not refused
# expect: scale-by-embedding-width, too-long-not-refused
import torch
import torch.nn.functional as F
from torch import nn


class Head(nn.Module):
    """One causal attention head."""

    def __init__(self, n_embd, head_size, block_size, dropout):
        super().__init__()
        self.key = nn.Linear(n_embd, head_size, bias=False)
        self.query = nn.Linear(n_embd, head_size, bias=False)
        self.value = nn.Linear(n_embd, head_size, bias=False)
        self.register_buffer("tril", torch.tril(torch.ones(block_size, block_size)))
        self.dropout = nn.Dropout(dropout)

    def forward(self, x):
        B, T, C = x.shape
        k = self.key(x)  # (B, T, C)
        q = self.query(x)  # (B, T, C)

        wei = q @ k.transpose(-2, -1) * C**-0.5  # (B, T, C) x (B, C, T) -> (B, T, T)
        wei = wei.masked_fill(self.tril[:T, :T] == 0, float("-inf"))  # (B, T, T)
        wei = F.softmax(wei, dim=-1)  # (B, T, T)
        wei = self.dropout(wei)

        v = self.value(x)
        return wei @ v

# %% mask_not_cut: the mask is not cut to the sequence; no ValueError for long ones
# expect: mask-not-cut
# also: too-long-not-refused, rank-not-checked
import torch
import torch.nn.functional as F
from torch import nn


class Head(nn.Module):
    def __init__(self, n_embd, head_size, block_size, dropout):
        super().__init__()
        self.head_size = head_size
        self.key = nn.Linear(n_embd, head_size, bias=False)
        self.query = nn.Linear(n_embd, head_size, bias=False)
        self.value = nn.Linear(n_embd, head_size, bias=False)
        self.register_buffer("tril", torch.tril(torch.ones(block_size, block_size)))
        self.dropout = nn.Dropout(dropout)

    def forward(self, x):
        q, k, v = self.query(x), self.key(x), self.value(x)
        att = (q @ k.transpose(1, 2)) * self.head_size**-0.5
        att = att.masked_fill(self.tril == 0, float("-inf"))
        return self.dropout(F.softmax(att, dim=-1)) @ v

# %% multiplied_tril: scores times tril instead of -inf; no scale; no ValueError
# expect: mask-fills-with-zero, no-scale, too-long-not-refused
import torch
import torch.nn as nn
import torch.nn.functional as F


class Head(nn.Module):
    def __init__(self, n_embd, head_size, block_size, dropout):
        super().__init__()
        self.key = nn.Linear(n_embd, head_size, bias=False)
        self.query = nn.Linear(n_embd, head_size, bias=False)
        self.value = nn.Linear(n_embd, head_size, bias=False)
        self.register_buffer("tril", torch.tril(torch.ones(block_size, block_size)))
        self.dropout = nn.Dropout(dropout)

    def forward(self, x):
        B, T, C = x.size()
        K = self.key(x)
        Q = self.query(x)
        V = self.value(x)
        W = Q @ K.transpose(-2, -1)
        W = W * self.tril[:T, :T]
        W = F.softmax(W, dim=-1)
        W = self.dropout(W)
        return W @ V

# %% plain_tril: tril is a plain attribute, not a buffer; no dropout at all
# expect: mask-not-moved, dropout-missing
import math

import torch
from torch import nn


class Head(nn.Module):
    def __init__(self, n_embd, head_size, block_size, dropout):
        super().__init__()
        self.key = nn.Linear(n_embd, head_size, bias=False)
        self.query = nn.Linear(n_embd, head_size, bias=False)
        self.value = nn.Linear(n_embd, head_size, bias=False)
        self.block_size = block_size
        self.tril = torch.tril(torch.ones(block_size, block_size))

    def forward(self, x):
        b, t, c = x.shape
        if t > self.block_size:
            raise ValueError(f"sequence of {t} tokens, but the context is {self.block_size}")
        q = self.query(x)
        k = self.key(x)
        v = self.value(x)
        scores = torch.bmm(q, k.transpose(1, 2)) / math.sqrt(k.shape[-1])
        scores = scores.masked_fill(self.tril[:t, :t] == 0, -math.inf)
        return torch.bmm(torch.softmax(scores, dim=-1), v)
