# wrong: absorbed is forward once more, so keys and values are made
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
