# %% residual: the inputs are added (residual), and the second stream reads the first one's output
# expect: residual-added, question-reads-the-new-image
import torch
from torch import nn


class MultiHeadCrossAttention(nn.Module):
    def __init__(self, d_query, d_context, d_out, num_heads, qkv_bias=False):
        super().__init__()
        if d_out % num_heads != 0:
            raise ValueError(f"d_out {d_out}, num_heads {num_heads}")
        self.num_heads = num_heads
        self.W_query = nn.Linear(d_query, d_out, bias=qkv_bias)
        self.W_key = nn.Linear(d_context, d_out, bias=qkv_bias)
        self.W_value = nn.Linear(d_context, d_out, bias=qkv_bias)
        self.out_proj = nn.Linear(d_out, d_out)

    def forward(self, x, context, context_mask=None):
        b, t, _ = x.shape
        s = context.shape[1]
        q = self.W_query(x).view(b, t, self.num_heads, -1).transpose(1, 2)
        k = self.W_key(context).view(b, s, self.num_heads, -1).transpose(1, 2)
        v = self.W_value(context).view(b, s, self.num_heads, -1).transpose(1, 2)
        scores = q @ k.transpose(-2, -1) / k.shape[-1] ** 0.5
        if context_mask is not None:
            keep = context_mask[:, None, None, :]
            scores = scores.masked_fill(~keep, torch.finfo(scores.dtype).min)
            weights = torch.softmax(scores, dim=-1) * keep
        else:
            weights = torch.softmax(scores, dim=-1)
        return self.out_proj((weights @ v).transpose(1, 2).flatten(2))


class CoAttentionStreams(nn.Module):
    def __init__(self, d, num_heads):
        super().__init__()
        self.v_to_q = MultiHeadCrossAttention(d, d, d, num_heads)
        self.q_to_v = MultiHeadCrossAttention(d, d, d, num_heads)

    def forward(self, v, q, v_mask=None, q_mask=None):
        v = v + self.v_to_q(v, q, q_mask)
        q = q + self.q_to_v(q, v, v_mask)
        return v, q
