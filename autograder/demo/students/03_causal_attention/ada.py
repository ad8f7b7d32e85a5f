# all right, in as few lines as it takes
# expect: causal_mask = full
# expect: padding_mask = full
# expect: masked_weights = full
# expect: Head = full
# expect: CausalAttention = full

# %% causal_mask
def causal_mask(t, device=None):
    return torch.ones(t, t, device=device).tril() > 0

# %% padding_mask
def padding_mask(lengths, max_len=None):
    if lengths.dim() != 1 or lengths.min() < 0:
        raise ValueError(f"expected a row of lengths from 0 upwards, got {lengths.tolist()}")
    longest = int(lengths.max())
    max_len = longest if max_len is None else max_len
    if longest > max_len:
        raise ValueError(f"a length of {longest} in a box of {max_len}")
    return torch.arange(max_len, device=lengths.device) < lengths[:, None]

# %% masked_weights
def masked_weights(query, key):
    if query.dim() != 3 or key.dim() != 3:
        raise ValueError(f"expected (b, t, d) twice, got {tuple(query.shape)} and {tuple(key.shape)}")
    return (query @ key.mT).masked_fill(~causal_mask(query.shape[1], query.device), float("-inf")).softmax(-1)

# %% Head
class Head(nn.Module):
    def __init__(self, n_embd, head_size, block_size, dropout):
        super().__init__()
        self.key, self.query, self.value = (nn.Linear(n_embd, head_size, bias=False) for _ in range(3))
        self.register_buffer("tril", causal_mask(block_size))
        self.dropout = nn.Dropout(dropout)

    def forward(self, x):
        if x.dim() != 3 or x.shape[1] > len(self.tril):
            raise ValueError(f"expected (b, t, n_embd) with t up to {len(self.tril)}, got {tuple(x.shape)}")
        t, q, k = x.shape[1], self.query(x), self.key(x)
        scores = (q / k.shape[-1] ** 0.5 @ k.mT).masked_fill(~self.tril[:t, :t], float("-inf"))
        return self.dropout(scores.softmax(-1)) @ self.value(x)

# %% CausalAttention
class CausalAttention(nn.Module):
    def __init__(self, d_in, d_out, context_length, dropout, qkv_bias=False):
        super().__init__()
        self.W_query, self.W_key, self.W_value = (nn.Linear(d_in, d_out, bias=qkv_bias) for _ in range(3))
        self.register_buffer("mask", causal_mask(context_length))
        self.dropout = nn.Dropout(dropout)

    def forward(self, x, padding_mask=None):
        if x.dim() != 3 or x.shape[1] > len(self.mask):
            raise ValueError(f"expected (b, n, d_in) with n up to {len(self.mask)}, got {tuple(x.shape)}")
        n, q, k = x.shape[1], self.W_query(x), self.W_key(x)
        allowed = self.mask[:n, :n] if padding_mask is None else self.mask[:n, :n] & padding_mask[:, None]
        hidden = ~allowed & allowed.any(-1, keepdim=True)  # a row with nothing left is cleared afterwards
        scores = (q / k.shape[-1] ** 0.5 @ k.mT).masked_fill(hidden, float("-inf"))
        return self.dropout(scores.softmax(-1).masked_fill(~allowed, 0)) @ self.W_value(x)
