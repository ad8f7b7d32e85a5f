# wrong: a causal mask is left over from self-attention; NaN when everything is hidden
# expect: causal, nothing-left-is-nan
# also: rank-not-checked, context-not-checked, rank-of-the-mask-not-checked
import torch
import torch.nn.functional as F
from torch import nn


class CrossAttention(nn.Module):
    def __init__(self, d_query, d_context, d_out, qkv_bias=False):
        super().__init__()
        self.W_query = nn.Linear(d_query, d_out, bias=qkv_bias)
        self.W_key = nn.Linear(d_context, d_out, bias=qkv_bias)
        self.W_value = nn.Linear(d_context, d_out, bias=qkv_bias)

    def forward(self, x, context, context_mask=None):
        T, S = x.shape[1], context.shape[1]
        q = self.W_query(x)
        k = self.W_key(context)
        v = self.W_value(context)
        wei = q @ k.transpose(-2, -1) * k.shape[-1] ** -0.5
        tril = torch.tril(torch.ones(T, S, device=x.device))
        wei = wei.masked_fill(tril == 0, float("-inf"))
        if context_mask is not None:
            wei = wei.masked_fill(context_mask[:, None, :] == 0, float("-inf"))
        return F.softmax(wei, dim=-1) @ v
