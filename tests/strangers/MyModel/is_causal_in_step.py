# wrong: is_causal=True also for one query and s keys: the mask is aligned at the top left, so in step a token sees the first key only
# expect: first-key-alone
import math

import torch
from torch import nn
import torch.nn.functional as F


class RMSNorm(nn.Module):
    def __init__(self, d, eps=1e-6):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(d))
        self.eps = eps

    def forward(self, x):
        return x * (x.pow(2).mean(-1, keepdim=True) + self.eps).rsqrt() * self.weight


class SwiGLU(nn.Module):
    def __init__(self, d, hidden):
        super().__init__()
        self.W_gate = nn.Linear(d, hidden, bias=False)
        self.W_up = nn.Linear(d, hidden, bias=False)
        self.W_down = nn.Linear(hidden, d, bias=False)

    def forward(self, x):
        return self.W_down(F.silu(self.W_gate(x)) * self.W_up(x))



class Attn(nn.Module):
    def __init__(self, n_embd=32, n_head=4):
        super().__init__()
        self.n_head = n_head
        self.c_q = nn.Linear(n_embd, n_embd, bias=False)
        self.c_kv = nn.Linear(n_embd, 2 * n_embd // n_head, bias=False)
        self.c_proj = nn.Linear(n_embd, n_embd, bias=False)

    def forward(self, x, past=None):
        B, T, C = x.size()
        q = self.c_q(x).view(B, T, self.n_head, -1).transpose(1, 2)
        k, v = self.c_kv(x).chunk(2, dim=2)
        if past is not None:
            k, v = torch.cat([past[0], k], dim=1), torch.cat([past[1], v], dim=1)
        kk, vv = k[:, None].expand(-1, self.n_head, -1, -1), v[:, None].expand(-1, self.n_head, -1, -1)
        y = F.scaled_dot_product_attention(q, kk, vv, is_causal=True)
        return self.c_proj(y.transpose(1, 2).contiguous().view(B, T, C)), [k, v]


class MyModel(nn.Module):
    def __init__(self, vocab_size):
        super().__init__()
        self.emb = nn.Embedding(vocab_size, 32)
        nn.init.normal_(self.emb.weight, std=0.5)
        self.blocks = nn.ModuleList(nn.ModuleDict(dict(n1=RMSNorm(32), a=Attn(), n2=RMSNorm(32), m=SwiGLU(32, 64))) for _ in range(2))
        self.norm = RMSNorm(32)
        self.unembed = nn.Linear(32, vocab_size, bias=False)

    def _go(self, idx, past):
        x, present = self.emb(idx), []
        for b, p in zip(self.blocks, past):
            y, p = b.a(b.n1(x), p)
            present += p
            x = x + y
            x = x + b.m(b.n2(x))
        return self.unembed(self.norm(x)), present

    def forward(self, idx):
        logits, _ = self._go(idx, (None, None))
        return logits

    def step(self, token, state=None):
        past = (None, None) if state is None else (state[:2], state[2:])
        logits, state = self._go(token[:, None], past)
        return logits[:, -1], state
