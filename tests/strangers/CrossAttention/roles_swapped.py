# wrong: the context asks and x answers
# expect: sides-swapped, context-mask-ignored
# also: layer-widths-swapped, rank-not-checked, context-not-checked, rank-of-the-mask-not-checked
import torch
import torch.nn.functional as F
from torch import nn


class CrossAttention(nn.Module):
    def __init__(self, d_query, d_context, d_out, qkv_bias=False):
        super().__init__()
        self.W_query = nn.Linear(d_context, d_out, bias=qkv_bias)
        self.W_key = nn.Linear(d_query, d_out, bias=qkv_bias)
        self.W_value = nn.Linear(d_query, d_out, bias=qkv_bias)

    def forward(self, x, context, context_mask=None):
        Q = self.W_query(context)
        K = self.W_key(x)
        V = self.W_value(x)
        S = torch.matmul(Q, K.transpose(-2, -1)) / K.shape[-1] ** 0.5
        return torch.matmul(F.softmax(S, dim=-1), V)
