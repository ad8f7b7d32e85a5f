# all right, built on the attention of lesson 02, with einsum in it
# expect: CrossAttention = full
# expect: MultiHeadCrossAttention = full
# expect: EncoderHead = full

# %% CrossAttention
def attention(query, key, value, mask=None):
    """My attention of lesson 02."""
    if min(query.dim(), key.dim(), value.dim()) < 2:
        raise ValueError("query, key and value should have two dimensions or more")
    scores = torch.einsum("...td,...sd->...ts", query / key.shape[-1] ** 0.5, key)
    if mask is not None:
        blind = ~mask.any(-1, keepdim=True)
        scores = scores.masked_fill(~mask, float("-inf")).masked_fill(blind, 0.0)
    weights = torch.softmax(scores, dim=-1)
    if mask is not None:
        weights = weights.masked_fill(blind, 0.0)
    return torch.einsum("...ts,...sd->...td", weights, value), weights


class CrossAttention(nn.Module):
    def __init__(self, d_query, d_context, d_out, qkv_bias=False):
        super().__init__()
        self.W_query = nn.Linear(d_query, d_out, bias=qkv_bias)
        self.W_key = nn.Linear(d_context, d_out, bias=qkv_bias)
        self.W_value = nn.Linear(d_context, d_out, bias=qkv_bias)

    def forward(self, x, context, context_mask=None):
        if x.ndim != 3:
            raise ValueError(f"x should be (b, t, d_query), it is {tuple(x.shape)}")
        if context.ndim != 3:
            raise ValueError(f"context should be (b, s, d_context), it is {tuple(context.shape)}")
        mask = None
        if context_mask is not None:
            if context_mask.ndim != 2:
                raise ValueError(f"context_mask should be (b, s), it is {tuple(context_mask.shape)}")
            mask = context_mask.unsqueeze(1)
        return attention(self.W_query(x), self.W_key(context), self.W_value(context), mask)[0]

# %% MultiHeadCrossAttention
class MultiHeadCrossAttention(nn.Module):
    def __init__(self, d_query, d_context, d_out, num_heads, qkv_bias=False):
        super().__init__()
        if d_out % num_heads != 0:
            raise ValueError(f"num_heads={num_heads} must divide d_out={d_out}")
        self.num_heads = num_heads
        self.W_query = nn.Linear(d_query, d_out, bias=qkv_bias)
        self.W_key = nn.Linear(d_context, d_out, bias=qkv_bias)
        self.W_value = nn.Linear(d_context, d_out, bias=qkv_bias)
        self.out_proj = nn.Linear(d_out, d_out)

    def heads(self, z):
        b, n, d = z.shape
        return z.reshape(b, n, self.num_heads, d // self.num_heads).permute(0, 2, 1, 3)

    def forward(self, x, context, context_mask=None):
        if x.ndim != 3 or context.ndim != 3:
            raise ValueError(f"three dimensions each, not {x.ndim} and {context.ndim}")
        mask = None
        if context_mask is not None:
            if context_mask.ndim != 2:
                raise ValueError(f"context_mask should be (b, s), it is {tuple(context_mask.shape)}")
            mask = context_mask[:, None, None, :]
        q, k, v = self.heads(self.W_query(x)), self.heads(self.W_key(context)), self.heads(self.W_value(context))
        found = attention(q, k, v, mask)[0].permute(0, 2, 1, 3)
        return self.out_proj(found.reshape(x.shape[0], x.shape[1], -1))

# %% EncoderHead
class EncoderHead(nn.Module):
    def __init__(self, n_embd, head_size):
        super().__init__()
        self.key = nn.Linear(n_embd, head_size, bias=False)
        self.query = nn.Linear(n_embd, head_size, bias=False)
        self.value = nn.Linear(n_embd, head_size, bias=False)

    def forward(self, x):
        B, T, C = x.shape
        return attention(self.query(x), self.key(x), self.value(x))[0]
