# keeps the causal mask between two sequences, patches NaN where it shows, and divides by the embedding's width
# expect: CrossAttention = partial causal
# expect: MultiHeadCrossAttention = partial nan-patched-in-output
# expect: EncoderHead = partial scale-by-input-width

# %% CrossAttention
class CrossAttention(nn.Module):
    def __init__(self, d_query, d_context, d_out, qkv_bias=False):
        super().__init__()
        self.W_query = nn.Linear(d_query, d_out, bias=qkv_bias)
        self.W_key = nn.Linear(d_context, d_out, bias=qkv_bias)
        self.W_value = nn.Linear(d_context, d_out, bias=qkv_bias)

    def forward(self, x, context, context_mask=None):
        if x.dim() != 3 or context.dim() != 3 or (context_mask is not None and context_mask.dim() != 2):
            raise ValueError("wrong rank")
        Q, K, V = self.W_query(x), self.W_key(context), self.W_value(context)
        scores = Q @ K.transpose(1, 2) / K.shape[-1] ** 0.5
        later = torch.triu(torch.ones(scores.shape[1:], dtype=torch.bool, device=x.device), diagonal=1)
        scores = scores.masked_fill(later, float("-inf"))
        if context_mask is None:
            return F.softmax(scores, dim=-1) @ V
        seen = context_mask[:, None, :]
        nothing = ~seen.any(-1, keepdim=True)
        weights = F.softmax(scores.masked_fill(~seen, float("-inf")).masked_fill(nothing, 0.0), dim=-1)
        return weights.masked_fill(nothing, 0.0) @ V

# %% MultiHeadCrossAttention
class MultiHeadCrossAttention(nn.Module):
    def __init__(self, d_query, d_context, d_out, num_heads, qkv_bias=False):
        super().__init__()
        if d_out % num_heads != 0:
            raise ValueError(f"{num_heads} heads do not divide {d_out}")
        self.num_heads = num_heads
        self.W_query = nn.Linear(d_query, d_out, bias=qkv_bias)
        self.W_key = nn.Linear(d_context, d_out, bias=qkv_bias)
        self.W_value = nn.Linear(d_context, d_out, bias=qkv_bias)
        self.out_proj = nn.Linear(d_out, d_out)

    def forward(self, x, context, context_mask=None):
        if x.dim() != 3 or context.dim() != 3 or (context_mask is not None and context_mask.dim() != 2):
            raise ValueError("wrong rank")
        q, k, v = (z.unflatten(-1, (self.num_heads, -1)).transpose(1, 2)
                   for z in (self.W_query(x), self.W_key(context), self.W_value(context)))
        scores = q @ k.transpose(2, 3) / k.shape[-1] ** 0.5
        if context_mask is not None:
            scores = scores.masked_fill(~context_mask[:, None, None, :], float("-inf"))
        found = torch.nan_to_num(F.softmax(scores, dim=-1) @ v)
        return self.out_proj(found.transpose(1, 2).flatten(2))

# %% EncoderHead
class EncoderHead(nn.Module):
    """One attention head."""

    def __init__(self, n_embd, head_size):
        super().__init__()
        self.key = nn.Linear(n_embd, head_size, bias=False)
        self.query = nn.Linear(n_embd, head_size, bias=False)
        self.value = nn.Linear(n_embd, head_size, bias=False)

    def forward(self, x):
        B, T, C = x.shape
        wei = self.query(x) @ self.key(x).transpose(-2, -1) * C ** -0.5
        return F.softmax(wei, dim=-1) @ self.value(x)
