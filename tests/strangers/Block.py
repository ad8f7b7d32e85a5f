# %% normed_sum: the normalised x is added instead of x itself, in both halves; rope_base is not handed on
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

# %% one_norm: norms called norm1 and norm2 as in the formula; the first stands before both halves, the second is never used
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

# %% parallel: as in GPT-J, both halves read x itself and their results are added; x is changed in place
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

# %% post_norm: the order of 2017: the norms stand after the sums
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
