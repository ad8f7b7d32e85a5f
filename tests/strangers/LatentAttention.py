# %% calls_forward: absorbed is forward once more, so keys and values are made
# expect: absorbed-is-forward
import torch
import torch.nn.functional as F
from torch import nn


class LatentAttention(nn.Module):
    def __init__(self, d_model, num_heads, head_dim, latent_dim):
        super().__init__()
        self.num_heads = num_heads
        self.W_query = nn.Linear(d_model, num_heads * head_dim, bias=False)
        self.W_down = nn.Linear(d_model, latent_dim, bias=False)
        self.W_up_key = nn.Linear(latent_dim, num_heads * head_dim, bias=False)
        self.W_up_value = nn.Linear(latent_dim, num_heads * head_dim, bias=False)
        self.out_proj = nn.Linear(num_heads * head_dim, d_model, bias=False)

    def forward(self, x):
        b, t, _ = x.shape
        c = self.W_down(x)
        q, k, v = (y.view(b, t, self.num_heads, -1).transpose(1, 2) for y in (self.W_query(x), self.W_up_key(c), self.W_up_value(c)))
        y = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        return self.out_proj(y.transpose(1, 2).flatten(2))

    def absorbed(self, x):
        return self.forward(x)

# %% deepseek_norm: DeepSeek's code norms the latent vector (kv_a_layernorm), which the exercise has not; values are made before they are mixed
# expect: latent-vectors-normalised, values-made-in-absorbed
import torch
import torch.nn.functional as F
from torch import nn


class LatentAttention(nn.Module):
    def __init__(self, d_model, num_heads, head_dim, latent_dim):
        super().__init__()
        self.num_heads, self.head_dim, self.latent_dim = num_heads, head_dim, latent_dim
        self.W_query = nn.Linear(d_model, num_heads * head_dim, bias=False)
        self.W_down = nn.Linear(d_model, latent_dim, bias=False)
        self.kv_norm = nn.RMSNorm(latent_dim, eps=1e-6)
        self.W_up_key = nn.Linear(latent_dim, num_heads * head_dim, bias=False)
        self.W_up_value = nn.Linear(latent_dim, num_heads * head_dim, bias=False)
        self.out_proj = nn.Linear(num_heads * head_dim, d_model, bias=False)

    def split(self, y):
        return y.unflatten(-1, (self.num_heads, self.head_dim)).transpose(1, 2)

    def forward(self, x):
        b, t, _ = x.shape
        c = self.kv_norm(self.W_down(x))
        q, k, v = self.split(self.W_query(x)), self.split(self.W_up_key(c)), self.split(self.W_up_value(c))
        y = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        return self.out_proj(y.transpose(1, 2).flatten(2))

    def absorbed(self, x):
        b, t, _ = x.shape
        c = self.kv_norm(self.W_down(x))
        w = self.W_up_key.weight.view(self.num_heads, self.head_dim, self.latent_dim)
        q = torch.einsum("bhtw,hwl->bhtl", self.split(self.W_query(x)), w)
        scores = torch.einsum("bhtl,bsl->bhts", q, c) * self.head_dim**-0.5
        scores = scores + torch.full((t, t), float("-inf"), device=x.device, dtype=x.dtype).triu(1)
        v = self.split(self.W_up_value(c))
        y = scores.softmax(dim=-1) @ v
        return self.out_proj(y.transpose(1, 2).flatten(2))

# %% latent_scale: in absorbed the scale is that of the latent width, and the causal mask is forgotten
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
