# all right, with loops for the masks and einsum for the products
# expect: causal_mask = full
# expect: padding_mask = full
# expect: masked_weights = full
# expect: Head = full
# expect: CausalAttention = full

# %% causal_mask
def causal_mask(t, device=None):
    rows = []
    for i in range(t):
        rows.append([j <= i for j in range(t)])
    return torch.tensor(rows, device=device)

# %% padding_mask
def padding_mask(lengths, max_len=None):
    if lengths.ndim != 1:
        raise ValueError(f"expected lengths of shape (b,), got {tuple(lengths.shape)}")
    if max_len is None:
        max_len = max(lengths.tolist())
    mask = torch.zeros(lengths.size(0), max(max_len, 0), dtype=torch.bool, device=lengths.device)
    for row, length in enumerate(lengths.tolist()):
        if length < 0:
            raise ValueError(f"sequence {row} has a length of {length}, below 0")
        if length > max_len:
            raise ValueError(f"sequence {row} has a length of {length}, above {max_len}")
        for place in range(length):
            mask[row, place] = True
    return mask

# %% masked_weights
def masked_weights(query, key):
    """Each query in turn, and its softmax over the keys up to its own: nothing is there to be hidden."""
    for name, given in {"query": query, "key": key}.items():
        if given.ndim != 3:
            raise ValueError(f"{name} has shape {tuple(given.shape)}, but (b, t, d) is expected")
    scores = torch.einsum("bid,bjd->bij", query, key)
    weights = torch.zeros_like(scores)
    for i in range(scores.size(1)):
        weights[:, i, : i + 1] = torch.softmax(scores[:, i, : i + 1], dim=-1)
    return weights

# %% Head
class Head(nn.Module):
    """One causal head, every product spelled out by its indices: i counts queries, j keys, h features."""

    def __init__(self, n_embd, head_size, block_size, dropout):
        super().__init__()
        self.block_size = block_size
        self.key = nn.Linear(n_embd, head_size, bias=False)
        self.query = nn.Linear(n_embd, head_size, bias=False)
        self.value = nn.Linear(n_embd, head_size, bias=False)
        self.register_buffer("tril", torch.tril(torch.ones(block_size, block_size)))
        self.dropout = nn.Dropout(dropout)

    def forward(self, x):
        if x.ndim != 3:
            raise ValueError(f"expected (b, t, n_embd), got {tuple(x.shape)}")
        t = x.size(1)
        if t > self.block_size:
            raise ValueError(f"{t} tokens, but a block holds {self.block_size}")
        k, q, v = self.key(x), self.query(x), self.value(x)               # (b, t, head_size)
        scores = torch.einsum("bih,bjh->bij", q * k.size(-1) ** -0.5, k)  # (b, t, t)
        scores = torch.where(self.tril[:t, :t] > 0, scores, -torch.inf)   # (b, t, t)
        weights = self.dropout(torch.softmax(scores, dim=-1))             # (b, t, t)
        return torch.einsum("bij,bjh->bih", weights, v)                   # (b, t, head_size)

# %% CausalAttention
class CausalAttention(nn.Module):
    def __init__(self, d_in, d_out, context_length, dropout, qkv_bias=False):
        super().__init__()
        self.context_length = context_length
        self.W_query = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_key = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_value = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.register_buffer("mask", torch.tril(torch.ones(context_length, context_length, dtype=torch.bool)))
        self.dropout = nn.Dropout(dropout)

    def forward(self, x, padding_mask=None):
        if x.ndim != 3:
            raise ValueError(f"expected (b, n, d_in), got {tuple(x.shape)}")
        n = x.size(1)
        if n > self.context_length:
            raise ValueError(f"{n} tokens, but the context holds {self.context_length}")
        queries, keys, values = self.W_query(x), self.W_key(x), self.W_value(x)
        scores = torch.einsum("bid,bjd->bij", queries * keys.size(-1) ** -0.5, keys)
        allowed = self.mask[:n, :n].expand_as(scores)
        if padding_mask is not None:
            allowed = torch.logical_and(allowed, padding_mask.unsqueeze(1))
        nothing = ~allowed.any(dim=-1, keepdim=True)
        scores = torch.where(allowed | nothing, scores, torch.full_like(scores, -torch.inf))
        weights = torch.softmax(scores, dim=-1)
        weights = torch.where(nothing, torch.zeros_like(weights), weights)
        return torch.einsum("bij,bjd->bid", self.dropout(weights), values)
