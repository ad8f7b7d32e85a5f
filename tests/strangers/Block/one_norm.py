# wrong: norms called norm1 and norm2 as in the formula; the first stands before both halves, the second is never used
# expect: other-names, attention-norm-twice
from torch import nn


class Block(nn.Module):
    def __init__(self, d_model, num_heads, num_kv_heads, hidden, rope_base=10000.0):
        super().__init__()
        self.norm1 = RMSNorm(d_model)
        self.attention = GroupedQueryAttention(d_model, num_heads, num_kv_heads, d_model // num_heads, rope_base)
        self.norm2 = RMSNorm(d_model)
        self.mlp = SwiGLU(d_model, hidden)

    def forward(self, x):
        y = x + self.attention(self.norm1(x))
        z = y + self.mlp(self.norm1(y))
        return z
