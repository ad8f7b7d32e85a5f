import torch
from torch import nn


class GatedAttention(nn.Module):
    """Einsum throughout; the gate acts before the heads are merged."""

    def __init__(self, d_model: int, num_heads: int):
        super().__init__()
        if d_model % num_heads:
            raise ValueError(f"{d_model=} is not a multiple of {num_heads=}")
        self.heads = num_heads
        self.W_query = nn.Linear(d_model, d_model, False)
        self.W_key = nn.Linear(d_model, d_model, False)
        self.W_value = nn.Linear(d_model, d_model, False)
        self.W_gate = nn.Linear(d_model, d_model, False)
        self.out_proj = nn.Linear(d_model, d_model, False)

    def cut(self, y: torch.Tensor) -> torch.Tensor:
        return y.reshape(*y.shape[:2], self.heads, y.shape[2] // self.heads)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        q, k, v, g = (self.cut(layer(x)) for layer in (self.W_query, self.W_key, self.W_value, self.W_gate))
        scores = torch.einsum("bihw,bjhw->bhij", q, k) * q.shape[-1] ** -0.5
        place = torch.arange(x.shape[1], device=x.device)
        weights = scores.masked_fill(place[None] > place[:, None], float("-inf")).softmax(-1)
        found = torch.einsum("bhij,bjhw->bihw", weights, v)
        return self.out_proj((found * (1 / (1 + torch.exp(-g)))).flatten(2))
