# wrong: DeepSeek's code norms the latent vector (kv_a_layernorm), which the exercise has not; values are made before they are mixed
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
