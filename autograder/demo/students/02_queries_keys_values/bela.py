# all right, with einsum from top to bottom
# expect: SingleHeadSelfAttention = full
# expect: SelfAttention = full
# expect: attention = full

# %% SingleHeadSelfAttention
class SingleHeadSelfAttention(nn.Module):
    """One head, every product spelled out by its indices: i counts queries, j keys, k features."""

    def __init__(self, k):
        super().__init__()
        self.toqueries = nn.Linear(k, k, bias=False)
        self.tokeys = nn.Linear(k, k, bias=False)
        self.tovalues = nn.Linear(k, k, bias=False)

    def forward(self, x):
        if x.ndim != 2:
            raise ValueError(f"expected (t, k), got {tuple(x.shape)}")
        scale = x.size(1) ** -0.5
        scores = torch.einsum("ik,jk->ij", self.toqueries(x) * scale, self.tokeys(x))
        return torch.einsum("ij,jk->ik", torch.softmax(scores, dim=1), self.tovalues(x))

# %% SelfAttention
class SelfAttention(nn.Module):
    def __init__(self, d_in, d_out, qkv_bias=False):
        super().__init__()
        self.W_query = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_key = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_value = nn.Linear(d_in, d_out, bias=qkv_bias)

    def forward(self, x):
        if x.ndim not in (2, 3):
            raise ValueError(f"expected (n, d_in) or (b, n, d_in), got {tuple(x.shape)}")
        queries, keys, values = self.W_query(x), self.W_key(x), self.W_value(x)
        scores = torch.einsum("...id,...jd->...ij", queries * keys.size(-1) ** -0.5, keys)
        return torch.einsum("...ij,...jd->...id", torch.softmax(scores, dim=-1), values)

# %% attention
def attention(query, key, value, mask=None):
    for name, given in {"query": query, "key": key, "value": value}.items():
        if given.ndim < 2:
            raise ValueError(f"{name} has shape {tuple(given.shape)}, but two dimensions are the least")
    scores = torch.einsum("...td,...sd->...ts", query * key.size(-1) ** -0.5, key)
    if mask is not None:
        mask = mask.expand_as(scores)
        nothing = ~mask.any(dim=-1, keepdim=True)
        scores = torch.where(mask | nothing, scores, torch.full_like(scores, -torch.inf))
    weights = torch.softmax(scores, dim=-1)
    if mask is not None:
        weights = torch.where(nothing, torch.zeros_like(weights), weights)
    return torch.einsum("...ts,...sv->...tv", weights, value), weights
