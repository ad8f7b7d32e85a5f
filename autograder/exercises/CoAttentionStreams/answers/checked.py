"""A class of errors of its own, checks of its own in both modules, einsum with `...`, and type hints."""

import torch
from torch import nn


class ArgumentError(ValueError):
    pass


def check(condition: bool, message: str) -> None:
    if not condition:
        raise ArgumentError(message)


class MultiHeadCrossAttention(nn.Module):
    def __init__(self, d_query: int, d_context: int, d_out: int, num_heads: int, qkv_bias: bool = False):
        super().__init__()
        check(d_out % num_heads == 0, f"{d_out} is no multiple of {num_heads}")
        self.num_heads = num_heads
        self.W_query = nn.Linear(d_query, d_out, bias=qkv_bias)
        self.W_key = nn.Linear(d_context, d_out, bias=qkv_bias)
        self.W_value = nn.Linear(d_context, d_out, bias=qkv_bias)
        self.out_proj = nn.Linear(d_out, d_out)

    def heads(self, z: torch.Tensor) -> "Float[torch.Tensor, 'b n h w']":  # noqa: F722, F821
        return z.unflatten(-1, (self.num_heads, -1))

    def forward(self, x, context, context_mask=None):
        check(x.ndim == 3 and context.ndim == 3, "x and context should have three dimensions")
        check(context_mask is None or context_mask.ndim == 2, "a mask should have two dimensions")
        query, key, value = (
            self.heads(self.W_query(x)),
            self.heads(self.W_key(context)),
            self.heads(self.W_value(context)),
        )
        scores = torch.einsum("...thw,...shw->...hts", query, key) / query.shape[-1] ** 0.5
        if context_mask is None:
            weights = scores.softmax(-1)
        else:
            hidden = torch.logical_not(context_mask)[..., None, None, :]
            weights = scores.masked_fill(hidden, torch.finfo(scores.dtype).min).softmax(-1).masked_fill(hidden, 0)
        return self.out_proj(torch.einsum("...hts,...shw->...thw", weights, value).flatten(-2))


class CoAttentionStreams(nn.Module):
    def __init__(self, d: int, num_heads: int) -> None:
        super().__init__()
        check(d % num_heads == 0, f"d = {d}, num_heads = {num_heads}")
        self.v_to_q = MultiHeadCrossAttention(d, d, d, num_heads)
        self.q_to_v = MultiHeadCrossAttention(d, d, d, num_heads)

    def forward(self, v, q, v_mask=None, q_mask=None):
        check((v.ndim, q.ndim) == (3, 3), f"v and q of shapes {tuple(v.shape)} and {tuple(q.shape)}")
        return [self.v_to_q(v, q, q_mask), self.q_to_v(q, v, v_mask)]
