import torch
from torch import nn


def causal_attention(query, key, value, scale):
    """(b, h, t, d), (b, h or 1, t, d), (b, h or 1, t, dv) -> (b, h, t, dv)."""
    scores = scale * query @ key.transpose(-2, -1)
    t = torch.arange(scores.shape[-1], device=scores.device)
    scores = torch.where(t <= t[:, None], scores, -torch.inf)
    return scores.softmax(dim=-1) @ value


class LatentAttention(nn.Module):
    """Absorbed, it is multi-query attention whose one key and value are the latent vector."""

    def __init__(self, d_model: int, num_heads: int, head_dim: int, latent_dim: int) -> None:
        super().__init__()
        self.num_heads, self.scale = num_heads, head_dim**-0.5
        self.W_query, self.W_down = (nn.Linear(d_model, n, bias=False) for n in (num_heads * head_dim, latent_dim))
        self.W_up_key, self.W_up_value = (nn.Linear(latent_dim, num_heads * head_dim, bias=False) for _ in range(2))
        self.out_proj = nn.Linear(num_heads * head_dim, d_model, bias=False)

    def _heads(self, x: torch.Tensor) -> torch.Tensor:
        return x.unflatten(-1, (self.num_heads, -1)).movedim(-2, 1)

    def _merge(self, x: torch.Tensor) -> torch.Tensor:
        return self.out_proj(x.movedim(1, -2).flatten(-2))

    def _check(self, x: torch.Tensor) -> None:
        if x.dim() != 3:
            raise ValueError(f"{x.dim()} dimensions instead of 3")

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        self._check(x)
        latent = self.W_down(x)
        keys, values = self._heads(self.W_up_key(latent)), self._heads(self.W_up_value(latent))
        return self._merge(causal_attention(self._heads(self.W_query(x)), keys, values, self.scale))

    def absorbed(self, x: torch.Tensor) -> torch.Tensor:
        self._check(x)
        latent = self.W_down(x).unsqueeze(1)
        up_key, up_value = (w.weight.unflatten(0, (self.num_heads, -1)) for w in (self.W_up_key, self.W_up_value))
        found = causal_attention(self._heads(self.W_query(x)) @ up_key, latent, latent, self.scale)
        return self._merge(found @ up_value.mT)
