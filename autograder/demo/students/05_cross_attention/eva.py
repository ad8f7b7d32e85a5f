# implemented one head, hid the many in a plain list, and left the head of notebook 003 as it was handed out
# expect: CrossAttention = full
# expect: MultiHeadCrossAttention = zero layers-made-in-forward
# expect: EncoderHead = zero original-003

# %% CrossAttention
class CrossAttention(nn.Module):
    """Queries from x, keys and values from a context."""

    def __init__(self, d_query, d_context, d_out, qkv_bias=False):
        super().__init__()
        self.W_query = nn.Linear(d_query, d_out, bias=qkv_bias)
        self.W_key = nn.Linear(d_context, d_out, bias=qkv_bias)
        self.W_value = nn.Linear(d_context, d_out, bias=qkv_bias)

    def forward(self, x, context, context_mask=None):
        b, t, d_query = x.shape
        b, s, d_context = context.shape
        Q = self.W_query(x)        # (b, t, d_out)
        K = self.W_key(context)    # (b, s, d_out)
        V = self.W_value(context)  # (b, s, d_out)
        scores = Q @ K.transpose(1, 2) / K.shape[-1] ** 0.5  # (b, t, s)
        if context_mask is None:
            return F.softmax(scores, dim=-1) @ V
        if context_mask.dim() != 2:
            raise ValueError(f"expected a mask (b, s), got {tuple(context_mask.shape)}")
        seen = context_mask.unsqueeze(1)
        nothing = ~seen.any(dim=-1, keepdim=True)
        scores = scores.masked_fill(~seen, float("-inf")).masked_fill(nothing, 0.0)
        return F.softmax(scores, dim=-1).masked_fill(nothing, 0.0) @ V

# %% MultiHeadCrossAttention
class MultiHeadCrossAttention(nn.Module):
    def __init__(self, d_query, d_context, d_out, num_heads, qkv_bias=False):
        super().__init__()
        if d_out % num_heads != 0:
            raise ValueError(f"{num_heads} does not divide {d_out}")
        self.heads = [CrossAttention(d_query, d_context, d_out // num_heads, qkv_bias) for _ in range(num_heads)]
        self.out_proj = nn.Linear(d_out, d_out)

    def forward(self, x, context, context_mask=None):
        return self.out_proj(torch.cat([head(x, context, context_mask) for head in self.heads], dim=-1))
