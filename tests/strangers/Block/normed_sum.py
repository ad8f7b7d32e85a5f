# wrong: the normalised x is added instead of x itself, in both halves; rope_base is not handed on
# expect: norms-on-the-stream, base-not-handed-on
# also: attention-norm-on-the-stream, mlp-norm-on-the-stream
from torch import nn


class Block(nn.Module):
    def __init__(self, d_model, num_heads, num_kv_heads, hidden, rope_base=10000.0):
        super().__init__()
        self.attention_norm = RMSNorm(d_model)
        self.attention = GroupedQueryAttention(d_model, num_heads, num_kv_heads)
        self.mlp_norm = RMSNorm(d_model)
        self.mlp = SwiGLU(d_model, hidden)

    def forward(self, x):
        x = self.attention_norm(x)
        x = x + self.attention(x)
        x = self.mlp_norm(x)
        x = x + self.mlp(x)
        return x
