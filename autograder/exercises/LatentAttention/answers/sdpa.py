import torch.nn.functional as F
from torch import nn


class LatentAttention(nn.Module):
    """Torch's own attention in both forms: latent vectors are keys and values of one head that all share."""

    def __init__(self, d_model, num_heads, head_dim, latent_dim):
        super().__init__()
        self.num_heads, self.head_dim, self.latent_dim = num_heads, head_dim, latent_dim
        self.W_query = nn.Linear(d_model, num_heads * head_dim, bias=False)
        self.W_down = nn.Linear(d_model, latent_dim, bias=False)
        self.W_up_key = nn.Linear(latent_dim, num_heads * head_dim, bias=False)
        self.W_up_value = nn.Linear(latent_dim, num_heads * head_dim, bias=False)
        self.out_proj = nn.Linear(num_heads * head_dim, d_model, bias=False)

    def heads(self, x):
        b, t, _ = x.shape
        return x.view(b, t, self.num_heads, self.head_dim).transpose(1, 2)

    def forward(self, x):
        if x.ndim != 3:
            raise ValueError("a batch of sequences is expected")
        latent = self.W_down(x)
        q, k, v = self.heads(self.W_query(x)), self.heads(self.W_up_key(latent)), self.heads(self.W_up_value(latent))
        return self.out_proj(F.scaled_dot_product_attention(q, k, v, is_causal=True).transpose(1, 2).flatten(2))

    def absorbed(self, x):
        if x.ndim != 3:
            raise ValueError("a batch of sequences is expected")
        split = (self.num_heads, self.head_dim, self.latent_dim)
        q = self.heads(self.W_query(x)) @ self.W_up_key.weight.view(split)
        latent = self.W_down(x).unsqueeze(1).expand(-1, self.num_heads, -1, -1)
        mixed = F.scaled_dot_product_attention(q, latent, latent, is_causal=True, scale=self.head_dim**-0.5)
        found = mixed @ self.W_up_value.weight.view(split).mT
        return self.out_proj(found.transpose(1, 2).flatten(2))
