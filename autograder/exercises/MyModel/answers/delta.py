import torch
import torch.nn.functional as F
from torch import nn


class RMSNorm(nn.Module):
    def __init__(self, d, eps=1e-6):
        super().__init__()
        self.eps, self.weight = eps, nn.Parameter(torch.ones(d))

    def forward(self, x):
        return x * (x.square().mean(dim=-1, keepdim=True) + self.eps).rsqrt() * self.weight


class SwiGLU(nn.Module):
    def __init__(self, d, hidden):
        super().__init__()
        self.W_gate = nn.Linear(d, hidden, bias=False)
        self.W_up = nn.Linear(d, hidden, bias=False)
        self.W_down = nn.Linear(hidden, d, bias=False)

    def forward(self, x):
        return self.W_down(F.silu(self.W_gate(x)) * self.W_up(x))


def delta_rule_at_once(query, key, value, beta):
    """(b, h, t, d) twice, (b, h, t, dv), (b, h, t) -> (b, h, t, dv), the state (b, h, d, dv)."""
    t = query.shape[2]
    lower = (beta[..., None] * (key @ key.transpose(2, 3))).tril(-1) + torch.eye(t)
    written = torch.linalg.solve_triangular(lower, beta[..., None] * value, upper=False, unitriangular=True)
    return (query @ key.transpose(2, 3)).tril() @ written, key.transpose(2, 3) @ written


class DeltaNet(nn.Module):
    def __init__(self, d, heads, width):
        super().__init__()
        self.heads = heads
        self.query, self.key, self.value = (nn.Linear(d, heads * width, bias=False) for _ in range(3))
        self.beta, self.out = nn.Linear(d, heads), nn.Linear(heads * width, d, bias=False)

    def parts(self, x):
        query, key, value = (
            made(x).unflatten(2, (self.heads, -1)).transpose(1, 2) for made in (self.query, self.key, self.value)
        )
        return F.normalize(query, dim=-1), F.normalize(key, dim=-1), value, self.beta(x).sigmoid().transpose(1, 2)

    def forward(self, x):
        return self.out(delta_rule_at_once(*self.parts(x))[0].transpose(1, 2).flatten(2))

    def step(self, x, state):
        query, key, value, beta = self.parts(x)
        if state is None:
            state = x.new_zeros(*key.shape[:2], key.shape[3], value.shape[3])
        state = state + beta[..., None] * key.transpose(2, 3) * (value - key @ state)
        return self.out((query @ state).transpose(1, 2).flatten(2)), state


class MyModel(nn.Module):
    def __init__(self, vocab_size):
        super().__init__()
        self.tokens = nn.Embedding(vocab_size, 32)
        self.tokens.weight.data *= 0.5
        self.mix = nn.ModuleList([DeltaNet(32, 4, 8) for _ in range(2)])
        self.think = nn.ModuleList([SwiGLU(32, 64) for _ in range(2)])
        self.norms = nn.ModuleList([RMSNorm(32) for _ in range(5)])
        self.logits = nn.Linear(32, vocab_size, bias=False)

    def forward(self, idx):
        x = self.tokens(idx)
        for layer in range(2):
            x = x + self.mix[layer](self.norms[2 * layer](x))
            x = x + self.think[layer](self.norms[2 * layer + 1](x))
        return self.logits(self.norms[4](x))

    def step(self, token, state=None):
        x, states = self.tokens(token)[:, None], []
        for layer in range(2):
            found, after = self.mix[layer].step(self.norms[2 * layer](x), state[layer] if state else None)
            states.append(after)
            x = x + found
            x = x + self.think[layer](self.norms[2 * layer + 1](x))
        return self.logits(self.norms[4](x))[:, 0], tuple(states)
