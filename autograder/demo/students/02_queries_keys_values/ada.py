# all right, in as few lines as it takes
# expect: SingleHeadSelfAttention = full
# expect: SelfAttention = full
# expect: attention = full

# %% SingleHeadSelfAttention
class SingleHeadSelfAttention(nn.Module):
    def __init__(self, k):
        super().__init__()
        self.toqueries, self.tokeys, self.tovalues = (nn.Linear(k, k, bias=False) for _ in range(3))

    def forward(self, x):
        if x.dim() != 2:
            raise ValueError(f"expected one sequence (t, k), got {tuple(x.shape)}")
        return (self.toqueries(x) / x.shape[1] ** 0.5 @ self.tokeys(x).T).softmax(1) @ self.tovalues(x)

# %% SelfAttention
class SelfAttention(nn.Module):
    def __init__(self, d_in, d_out, qkv_bias=False):
        super().__init__()
        self.W_query, self.W_key, self.W_value = (nn.Linear(d_in, d_out, bias=qkv_bias) for _ in range(3))

    def forward(self, x):
        if x.dim() not in (2, 3):
            raise ValueError(f"expected (n, d_in) or (b, n, d_in), got {tuple(x.shape)}")
        q, k, v = self.W_query(x), self.W_key(x), self.W_value(x)
        return (q / k.shape[-1] ** 0.5 @ k.mT).softmax(-1) @ v

# %% attention
def attention(query, key, value, mask=None):
    if min(query.dim(), key.dim(), value.dim()) < 2:
        raise ValueError("query, key and value need at least two dimensions")
    scores = query / key.shape[-1] ** 0.5 @ key.mT
    if mask is None:
        weights = scores.softmax(-1)
    else:
        alive = mask.any(-1, keepdim=True)
        weights = scores.masked_fill(~mask & alive, float("-inf")).softmax(-1).masked_fill(~mask, 0)
    return weights @ value, weights
