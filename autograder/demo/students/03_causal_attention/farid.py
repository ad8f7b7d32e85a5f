# hides too little, too late or in the wrong way, and none of it crashes
# expect: causal_mask = partial one-step-ahead
# expect: padding_mask = partial one-too-many
# expect: masked_weights = partial mask-fills-with-zero
# expect: Head = zero mask-after-softmax
# expect: CausalAttention = partial padding-or-past

# %% causal_mask
def causal_mask(t, device=None):
    return torch.tril(torch.ones(t, t, dtype=torch.bool, device=device), diagonal=1)

# %% padding_mask
def padding_mask(lengths, max_len=None):
    if lengths.dim() != 1:
        raise ValueError(f"lengths must have shape (b,), but their shape is {tuple(lengths.shape)}")
    if int(lengths.min()) < 0:
        raise ValueError(f"a length of {int(lengths.min())} is below 0")
    if max_len is None:
        max_len = int(lengths.max())
    if int(lengths.max()) > max_len:
        raise ValueError(f"a length of {int(lengths.max())} is above max_len, which is {max_len}")
    places = torch.arange(max_len, device=lengths.device)
    return places[None, :] <= lengths[:, None]  # (b, max_len)

# %% masked_weights
def masked_weights(query, key):
    if query.dim() != 3 or key.dim() != 3:
        raise ValueError(f"query and key must have shape (b, t, d), not {tuple(query.shape)} and {tuple(key.shape)}")
    scores = query @ key.transpose(-2, -1)  # (b, t, t)
    tril = torch.tril(torch.ones_like(scores[0]))
    return F.softmax(scores * tril, dim=-1)

# %% Head
class Head(nn.Module):
    """One causal attention head."""

    def __init__(self, n_embd, head_size, block_size, dropout):
        super().__init__()
        self.block_size = block_size
        self.key = nn.Linear(n_embd, head_size, bias=False)
        self.query = nn.Linear(n_embd, head_size, bias=False)
        self.value = nn.Linear(n_embd, head_size, bias=False)
        self.register_buffer("tril", torch.tril(torch.ones(block_size, block_size)))
        self.dropout = nn.Dropout(dropout)

    def forward(self, x):
        if x.dim() != 3:
            raise ValueError(f"x must have shape (b, t, n_embd), but its shape is {tuple(x.shape)}")
        B, T, C = x.shape
        if T > self.block_size:
            raise ValueError(f"{T} tokens are more than the block size of {self.block_size}")
        k = self.key(x)    # (B, T, head_size)
        q = self.query(x)  # (B, T, head_size)

        wei = q @ k.transpose(-2, -1) * k.shape[-1] ** -0.5  # (B, T, T)
        wei = F.softmax(wei, dim=-1)                         # (B, T, T)
        wei = wei.masked_fill(self.tril[:T, :T] == 0, 0.0)   # (B, T, T)
        wei = self.dropout(wei)                              # (B, T, T)

        v = self.value(x)  # (B, T, head_size)
        return wei @ v     # (B, T, head_size)

# %% CausalAttention
class CausalAttention(nn.Module):
    def __init__(self, d_in, d_out, context_length, dropout, qkv_bias=False):
        super().__init__()
        self.context_length = context_length
        self.W_query = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_key = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_value = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.dropout = nn.Dropout(dropout)
        self.register_buffer("mask", torch.tril(torch.ones(context_length, context_length)).bool())

    def forward(self, x, padding_mask=None):
        if x.dim() != 3:
            raise ValueError(f"x must have shape (b, n, d_in), but its shape is {tuple(x.shape)}")
        n = x.shape[1]
        if n > self.context_length:
            raise ValueError(f"{n} tokens are more than the context length of {self.context_length}")
        Q = self.W_query(x)  # (b, n, d_out)
        K = self.W_key(x)    # (b, n, d_out)
        V = self.W_value(x)  # (b, n, d_out)

        allowed = self.mask[:n, :n]                                    # (n, n)
        if padding_mask is not None:
            allowed = allowed | padding_mask[:, None, :]               # (b, n, n)
        blind = ~allowed.any(dim=-1, keepdim=True)
        scores = (Q / K.shape[-1] ** 0.5) @ K.transpose(-2, -1)        # (b, n, n)
        scores = scores.masked_fill(~allowed, float("-inf")).masked_fill(blind, 0.0)
        weights = F.softmax(scores, dim=-1).masked_fill(blind, 0.0)    # (b, n, n)
        return self.dropout(weights) @ V                               # (b, n, d_out)
