# all right, by torch's own function, rows with nothing to see taken care of
# expect: SingleHeadSelfAttention = full
# expect: SelfAttention = full
# expect: attention = full

# %% SingleHeadSelfAttention
class SingleHeadSelfAttention(nn.Module):
    def __init__(self, k):
        super().__init__()
        self.toqueries = nn.Linear(k, k, bias=False)
        self.tokeys = nn.Linear(k, k, bias=False)
        self.tovalues = nn.Linear(k, k, bias=False)

    def forward(self, x):
        if len(x.shape) != 2:
            raise ValueError(f"one sequence of shape (t, k) is wanted, this has shape {tuple(x.shape)}")
        return F.scaled_dot_product_attention(self.toqueries(x), self.tokeys(x), self.tovalues(x))

# %% SelfAttention
class SelfAttention(nn.Module):
    def __init__(self, d_in, d_out, qkv_bias=False):
        super().__init__()
        self.W_query = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_key = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_value = nn.Linear(d_in, d_out, bias=qkv_bias)

    def forward(self, x):
        if len(x.shape) == 2:
            return self.forward(x.unsqueeze(0)).squeeze(0)
        if len(x.shape) != 3:
            raise ValueError(f"(n, d_in) or (b, n, d_in) is wanted, this has shape {tuple(x.shape)}")
        return F.scaled_dot_product_attention(self.W_query(x), self.W_key(x), self.W_value(x))

# %% attention
def attention(query, key, value, mask=None):
    """torch keeps the weights to itself, so they are asked for with name tags as values, as in the lesson."""
    if query.dim() < 2 or key.dim() < 2 or value.dim() < 2:
        raise ValueError("query, key and value must have two dimensions at least")
    tags = torch.eye(key.shape[-2], dtype=key.dtype, device=key.device).expand(*key.shape[:-1], key.shape[-2])
    if mask is None:
        weights = F.scaled_dot_product_attention(query, key, tags)
    else:
        hopeless = ~mask.any(dim=-1, keepdim=True)
        weights = F.scaled_dot_product_attention(query, key, tags, attn_mask=torch.atleast_2d(mask | hopeless))
        weights = weights.masked_fill(hopeless, 0.0)
    return weights @ value, weights
