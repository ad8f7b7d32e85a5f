# wrong: in absorbed the scale is that of the latent width, and the causal mask is forgotten
# expect: scale-by-latent-dim-when-absorbed, not-causal-when-absorbed
import torch
from torch import nn


class LatentAttention(nn.Module):
    """Causal attention whose cache is one short vector per token: (b, t, d_model) -> (b, t, d_model)."""

    def __init__(self, d_model, num_heads, head_dim, latent_dim):
        super().__init__()
        self.h, self.w, self.l = num_heads, head_dim, latent_dim
        inner = num_heads * head_dim
        self.W_query = nn.Linear(d_model, inner, bias=False)
        self.W_down = nn.Linear(d_model, latent_dim, bias=False)
        self.W_up_key = nn.Linear(latent_dim, inner, bias=False)
        self.W_up_value = nn.Linear(latent_dim, inner, bias=False)
        self.out_proj = nn.Linear(inner, d_model, bias=False)

    def forward(self, x):
        b, t, _ = x.shape
        c = self.W_down(x)
        q = self.W_query(x).view(b, t, self.h, self.w).transpose(1, 2)
        k = self.W_up_key(c).view(b, t, self.h, self.w).transpose(1, 2)
        v = self.W_up_value(c).view(b, t, self.h, self.w).transpose(1, 2)
        scores = q @ k.transpose(-2, -1) / self.w**0.5
        hidden = torch.ones(t, t, dtype=torch.bool, device=x.device).triu(1)
        weights = scores.masked_fill(hidden, -torch.inf).softmax(dim=-1)
        return self.out_proj((weights @ v).transpose(1, 2).reshape(b, t, -1))

    def absorbed(self, x):
        b, t, _ = x.shape
        c = self.W_down(x).unsqueeze(1)  # (b, 1, t, l)
        q = self.W_query(x).view(b, t, self.h, self.w).transpose(1, 2)
        up_key = self.W_up_key.weight.view(self.h, self.w, self.l)
        up_value = self.W_up_value.weight.view(self.h, self.w, self.l)
        q = q @ up_key  # (b, h, t, l)
        scores = q @ c.transpose(-2, -1) / self.l**0.5
        weights = scores.softmax(dim=-1)
        mixed = (weights @ c) @ up_value.transpose(-2, -1)
        return self.out_proj(mixed.transpose(1, 2).reshape(b, t, -1))
