import torch
from torch import nn


class LatentAttention(nn.Module):
    """A loop over the heads, in both forms."""

    def __init__(self, d_model, num_heads, head_dim, latent_dim):
        super().__init__()
        self.num_heads, self.head_dim = num_heads, head_dim
        width = num_heads * head_dim
        self.W_query = nn.Linear(d_model, width, bias=False)
        self.W_down = nn.Linear(d_model, latent_dim, bias=False)
        self.W_up_key = nn.Linear(latent_dim, width, bias=False)
        self.W_up_value = nn.Linear(latent_dim, width, bias=False)
        self.out_proj = nn.Linear(width, d_model, bias=False)

    def rows(self, head):
        return slice(head * self.head_dim, (head + 1) * self.head_dim)

    def weights(self, scores):
        past = torch.ones_like(scores, dtype=torch.bool).tril()
        return torch.softmax((scores / self.head_dim**0.5).masked_fill(past.logical_not(), -torch.inf), dim=-1)

    def forward(self, x):
        if x.dim() != 3:
            raise ValueError(f"expected (b, t, d_model), got {tuple(x.shape)}")
        latent, found = self.W_down(x), []
        queries, keys, values = self.W_query(x), self.W_up_key(latent), self.W_up_value(latent)
        for head in range(self.num_heads):
            q, k, v = (y[..., self.rows(head)] for y in (queries, keys, values))
            found.append(self.weights(q @ k.mT) @ v)
        return self.out_proj(torch.cat(found, dim=-1))

    def absorbed(self, x):
        if x.dim() != 3:
            raise ValueError(f"expected (b, t, d_model), got {tuple(x.shape)}")
        latent, queries, found = self.W_down(x), self.W_query(x), []
        for head in range(self.num_heads):
            up_key, up_value = self.W_up_key.weight[self.rows(head)], self.W_up_value.weight[self.rows(head)]
            asked = queries[..., self.rows(head)] @ up_key
            found.append(self.weights(asked @ latent.mT) @ latent @ up_value.T)
        return self.out_proj(torch.cat(found, dim=-1))
