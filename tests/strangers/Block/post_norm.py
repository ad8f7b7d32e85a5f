# wrong: the order of 2017: the norms stand after the sums
# expect: post-norm
from torch import nn


class Block(nn.Module):
    def __init__(self, d_model, num_heads, num_kv_heads, hidden, rope_base=10000.0):
        super().__init__()
        self.attention = GroupedQueryAttention(d_model, num_heads, num_kv_heads, rope_base=rope_base)
        self.mlp = SwiGLU(d_model, hidden)
        self.attention_norm = RMSNorm(d_model)
        self.mlp_norm = RMSNorm(d_model)

    def forward(self, x):
        x = self.attention_norm(x + self.attention(x))
        x = self.mlp_norm(x + self.mlp(x))
        return x
