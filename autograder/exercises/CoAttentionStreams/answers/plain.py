"""As in the lesson: two modules, called with the sides exchanged."""

from torch import nn


class MultiHeadCrossAttention(nn.Module):
    def __init__(self, d_query, d_context, d_out, num_heads, qkv_bias=False):
        super().__init__()
        if d_out % num_heads != 0:
            raise ValueError(f"d_out={d_out} is not divisible by num_heads={num_heads}")
        self.h = num_heads
        self.W_query = nn.Linear(d_query, d_out, bias=qkv_bias)
        self.W_key = nn.Linear(d_context, d_out, bias=qkv_bias)
        self.W_value = nn.Linear(d_context, d_out, bias=qkv_bias)
        self.out_proj = nn.Linear(d_out, d_out)

    def cut(self, z):
        b, s, d = z.shape
        return z.view(b, s, self.h, d // self.h).transpose(1, 2)

    def forward(self, x, context, context_mask=None):
        if x.dim() != 3 or context.dim() != 3:
            raise ValueError("three dimensions each")
        q, k, v = self.cut(self.W_query(x)), self.cut(self.W_key(context)), self.cut(self.W_value(context))
        scores = q @ k.transpose(2, 3) / k.shape[-1] ** 0.5
        if context_mask is not None:
            allowed = context_mask[:, None, None, :]
            empty = ~allowed.any(-1, keepdim=True)
            scores = scores.masked_fill(~allowed, float("-inf")).masked_fill(empty, 0.0)
            weights = scores.softmax(-1).masked_fill(empty, 0.0)
        else:
            weights = scores.softmax(-1)
        return self.out_proj((weights @ v).transpose(1, 2).flatten(2))


class CoAttentionStreams(nn.Module):
    def __init__(self, d, num_heads):
        super().__init__()
        self.v_to_q = MultiHeadCrossAttention(d, d, d, num_heads)
        self.q_to_v = MultiHeadCrossAttention(d, d, d, num_heads)

    def forward(self, v, q, v_mask=None, q_mask=None):
        return self.v_to_q(v, q, q_mask), self.q_to_v(q, v, v_mask)
