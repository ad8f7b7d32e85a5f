# %% right
import torch
import torch.nn.functional as F
from torch import nn


class GatedAttention(nn.Module):
    def __init__(self, d_model, num_heads):
        super().__init__()
        if d_model % num_heads != 0:
            raise ValueError(f"d_model ({d_model}) must be divisible by num_heads ({num_heads})")
        self.h = num_heads
        self.W_query = nn.Linear(d_model, d_model, bias=False)
        self.W_key = nn.Linear(d_model, d_model, bias=False)
        self.W_value = nn.Linear(d_model, d_model, bias=False)
        self.W_gate = nn.Linear(d_model, d_model, bias=False)
        self.out_proj = nn.Linear(d_model, d_model, bias=False)

    def forward(self, x):
        b, t, d = x.shape
        q, k, v = (w(x).reshape(b, t, self.h, -1).transpose(1, 2) for w in (self.W_query, self.W_key, self.W_value))
        heads = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        heads = heads.transpose(1, 2).reshape(b, t, d)
        gate = torch.sigmoid(self.W_gate(x))
        return self.out_proj(heads * gate)

# %% gate_last: the gate is put behind the output projection
# expect: gate-behind-the-projection
# -        return self.out_proj(heads * gate)
# +        return self.out_proj(heads) * gate

# %% gate_of_heads: the gate is made of what the heads found, not of x
# expect: gate-of-what-was-found
# -        gate = torch.sigmoid(self.W_gate(x))
# +        gate = torch.sigmoid(self.W_gate(heads))

# %% gate_of_values: the gate is put on the values, before attention, and is not behind the heads
# expect: gate-on-the-values
# -        q, k, v = (w(x).reshape(b, t, self.h, -1).transpose(1, 2) for w in (self.W_query, self.W_key, self.W_value))
# +        q, k, v = (w(x).reshape(b, t, self.h, -1).transpose(1, 2) for w in (self.W_query, self.W_key, self.W_value))
# +        v = v * torch.sigmoid(self.W_gate(x)).reshape(b, t, self.h, -1).transpose(1, 2)

# -        gate = torch.sigmoid(self.W_gate(x))
# -        return self.out_proj(heads * gate)
# +        return self.out_proj(heads)

# %% heads_not_swapped_back: the heads are merged without swapping dimensions back; the width is refused by an assert
# expect: merged-without-transposing, asserted
# -        if d_model % num_heads != 0:
# -            raise ValueError(f"d_model ({d_model}) must be divisible by num_heads ({num_heads})")
# +        assert d_model % num_heads == 0, "d_model must be divisible by num_heads"

# -        heads = heads.transpose(1, 2).reshape(b, t, d)
# +        heads = heads.reshape(b, t, d)

# %% not_causal: no causal mask, and the gate has a bias
# expect: no-mask, gate-with-bias
# -        self.W_gate = nn.Linear(d_model, d_model, bias=False)
# +        self.W_gate = nn.Linear(d_model, d_model)

# -        heads = F.scaled_dot_product_attention(q, k, v, is_causal=True)
# +        heads = F.scaled_dot_product_attention(q, k, v)

# %% one_gate_per_head: one gate for each head: a Linear to num_heads
# expect: fact-shape-of-a-parameter
# -        self.W_gate = nn.Linear(d_model, d_model, bias=False)
# +        self.W_gate = nn.Linear(d_model, num_heads, bias=False)

# -        gate = torch.sigmoid(self.W_gate(x))
# +        gate = torch.sigmoid(self.W_gate(x)).repeat_interleave(d // self.h, dim=-1)

# %% residual: x is added, as in a block
# expect: input-added
# -        return self.out_proj(heads * gate)
# +        return x + self.out_proj(heads * gate)

# %% silu: silu for the sigmoid, as in SwiGLU
# expect: silu
# -        gate = torch.sigmoid(self.W_gate(x))
# +        gate = F.silu(self.W_gate(x))
