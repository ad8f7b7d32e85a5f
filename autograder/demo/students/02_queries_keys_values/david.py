# all right, with a loop over the queries, exponentials and sums
# expect: SingleHeadSelfAttention = full
# expect: SelfAttention = full
# expect: attention = full

# %% SingleHeadSelfAttention
class SingleHeadSelfAttention(nn.Module):
    def __init__(self, k):
        super().__init__()
        self.k = k
        self.toqueries = nn.Linear(k, k, bias=False)
        self.tokeys = nn.Linear(k, k, bias=False)
        self.tovalues = nn.Linear(k, k, bias=False)

    def forward(self, x):
        if x.dim() != 2:
            raise ValueError(f"x should be (t, {self.k}), but it is {tuple(x.shape)}")
        keys, values = self.tokeys(x), self.tovalues(x)
        rows = []
        for query in self.toqueries(x):
            scores = keys @ (query / self.k**0.5)
            shares = torch.exp(scores - scores.max())
            rows.append((shares / shares.sum()) @ values)
        return torch.stack(rows)

# %% SelfAttention
class SelfAttention(nn.Module):
    def __init__(self, d_in, d_out, qkv_bias=False):
        super().__init__()
        self.W_query = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_key = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_value = nn.Linear(d_in, d_out, bias=qkv_bias)

    def forward(self, x):
        if x.dim() == 3:
            return torch.stack([self.forward(sequence) for sequence in x])
        if x.dim() != 2:
            raise ValueError(f"x should have 2 or 3 dimensions, but its shape is {tuple(x.shape)}")
        keys, values = self.W_key(x), self.W_value(x)
        rows = []
        for query in self.W_query(x):
            scores = keys @ (query / keys.shape[1] ** 0.5)
            shares = torch.exp(scores - scores.max())
            rows.append((shares / shares.sum()) @ values)
        return torch.stack(rows)

# %% attention
def attention(query, key, value, mask=None):
    if any(tensor.dim() < 2 for tensor in (query, key, value)):
        raise ValueError("each of query, key and value should be (..., length, width)")
    t, s, d = query.shape[-2], key.shape[-2], key.shape[-1]
    if mask is not None:
        while mask.dim() < 2:
            mask = mask.unsqueeze(0)
        mask = mask.expand(*mask.shape[:-2], t, s)
    rows = []
    for i in range(t):
        scores = (key @ (query[..., i, :] / d**0.5).unsqueeze(-1)).squeeze(-1)
        if mask is None:
            rows.append(scores.softmax(-1))
            continue
        allowed = mask[..., i, :]
        some = allowed.any(-1, keepdim=True)
        row = scores.masked_fill(~allowed, float("-inf")).masked_fill(~some, 0.0).softmax(-1)
        rows.append(row.masked_fill(~some, 0.0))
    weights = torch.stack(rows, dim=-2)
    return weights @ value, weights
