# wrong: as in GPT-J, both halves read x itself and their results are added; x is changed in place
# expect: parallel, input-changed
from torch import nn


class Block(nn.Module):
    def __init__(self, d_model, num_heads, num_kv_heads, hidden, rope_base=10000.0):
        super().__init__()
        self.attention_norm = RMSNorm(d_model)
        self.mlp_norm = RMSNorm(d_model)
        self.attention = GroupedQueryAttention(d_model, num_heads, num_kv_heads, rope_base=rope_base)
        self.mlp = SwiGLU(d_model, hidden)

    def forward(self, x):
        a = self.attention(self.attention_norm(x))
        m = self.mlp(self.mlp_norm(x))
        x += a + m
        return x
