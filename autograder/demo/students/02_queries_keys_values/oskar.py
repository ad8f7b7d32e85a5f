# forgot to count up in a loop, so that attention never returns; the others are right
# expect: SingleHeadSelfAttention = full
# expect: SelfAttention = full
# expect: attention = zero timeout

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
            raise ValueError(f"x must have shape (t, k), but its shape is {tuple(x.shape)}")
        queries = self.toqueries(x)  # (t, k)
        keys = self.tokeys(x)        # (t, k)
        values = self.tovalues(x)    # (t, k)

        scores = torch.mm(queries, keys.transpose(0, 1))  # (t, k) x (k, t) -> (t, t)
        scaled = scores / self.k ** 0.5                   # (t, t)
        weights = F.softmax(scaled, dim=1)                # (t, t)
        return torch.mm(weights, values)                  # (t, t) x (t, k) -> (t, k)

# %% SelfAttention
class SelfAttention(nn.Module):
    def __init__(self, d_in, d_out, qkv_bias=False):
        super().__init__()
        self.W_query = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_key = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_value = nn.Linear(d_in, d_out, bias=qkv_bias)

    def forward(self, x):
        if x.dim() not in (2, 3):
            raise ValueError(f"x must have 2 or 3 dimensions, but its shape is {tuple(x.shape)}")
        Q = self.W_query(x)  # (..., n, d_out)
        K = self.W_key(x)    # (..., n, d_out)
        V = self.W_value(x)  # (..., n, d_out)

        scores = Q @ K.transpose(-2, -1)                          # (..., n, n)
        weights = F.softmax(scores / K.shape[-1] ** 0.5, dim=-1)  # (..., n, n)
        return weights @ V                                        # (..., n, d_out)

# %% attention
def attention(query, key, value, mask=None):
    if query.dim() < 2 or key.dim() < 2 or value.dim() < 2:
        raise ValueError("query, key and value need two dimensions or more")
    rows, i = [], 0
    while i < query.shape[-2]:
        scores = (query[..., i : i + 1, :] @ key.transpose(-2, -1)) / key.shape[-1] ** 0.5
        if mask is not None:
            scores = scores.masked_fill(~mask, float("-inf"))
        weights = torch.softmax(scores, dim=-1)
        if len(rows) <= i:
            rows.append(weights)
    weights = torch.cat(rows, dim=-2)
    return weights @ value, weights
