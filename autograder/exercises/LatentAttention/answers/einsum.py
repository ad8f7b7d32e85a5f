import torch
from torch import nn


class LatentAttention(nn.Module):
    """Everything by einsum; h heads, w their width, c the latent vectors' width."""

    def __init__(self, d_model, num_heads, head_dim, latent_dim):
        super().__init__()
        self.h, self.w = num_heads, head_dim
        self.W_query = nn.Linear(d_model, num_heads * head_dim, bias=False)
        self.W_down = nn.Linear(d_model, latent_dim, bias=False)
        self.W_up_key = nn.Linear(latent_dim, num_heads * head_dim, bias=False)
        self.W_up_value = nn.Linear(latent_dim, num_heads * head_dim, bias=False)
        self.out_proj = nn.Linear(num_heads * head_dim, d_model, bias=False)

    def softmax(self, scores):
        t = scores.shape[-1]
        future = torch.triu(torch.ones(t, t, dtype=torch.bool, device=scores.device), diagonal=1)
        return torch.softmax(scores.masked_fill(future, float("-inf")) * self.w**-0.5, dim=-1)

    def forward(self, x):
        b, t, _ = x.shape
        c = self.W_down(x)
        q, k, v = (y.reshape(b, t, self.h, self.w) for y in (self.W_query(x), self.W_up_key(c), self.W_up_value(c)))
        a = self.softmax(torch.einsum("bthw,bshw->bhts", q, k))
        return self.out_proj(torch.einsum("bhts,bshw->bthw", a, v).reshape(b, t, -1))

    def absorbed(self, x):
        b, t, _ = x.shape
        c = self.W_down(x)
        up_k = self.W_up_key.weight.reshape(self.h, self.w, -1)
        up_v = self.W_up_value.weight.reshape(self.h, self.w, -1)
        q = torch.einsum("bthw,hwc->bthc", self.W_query(x).reshape(b, t, self.h, self.w), up_k)
        a = self.softmax(torch.einsum("bthc,bsc->bhts", q, c))
        mixed = torch.einsum("bhts,bsc->bthc", a, c)
        return self.out_proj(torch.einsum("bthc,hwc->bthw", mixed, up_v).reshape(b, t, -1))
