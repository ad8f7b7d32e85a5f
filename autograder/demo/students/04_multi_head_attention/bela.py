# all right, with einsum for every product
# expect: SelfAttentionWide = full
# expect: SelfAttentionWithTricks = full
# expect: MultiHeadSelfAttention = full
# expect: StackedHeads = full
# expect: MultiHeadAttention = full
# expect: load_from_torch = full

# %% SelfAttentionWide
class SelfAttentionWide(nn.Module):
    """Every product spelled out by its indices: h counts heads, i queries, j keys, f features."""

    def __init__(self, k, n_heads=8):
        super().__init__()
        self.k = k
        self.n_heads = n_heads
        self.tokeys = nn.Linear(k, k * n_heads, bias=False)
        self.toqueries = nn.Linear(k, k * n_heads, bias=False)
        self.tovalues = nn.Linear(k, k * n_heads, bias=False)
        self.unifyheads = nn.Linear(n_heads * k, k)

    def forward(self, x):
        if x.ndim != 3:
            raise ValueError(f"expected (b, t, k), got {tuple(x.shape)}")
        b, t, k = x.shape
        queries = self.toqueries(x).reshape(b, t, self.n_heads, k)
        keys = self.tokeys(x).reshape(b, t, self.n_heads, k)
        values = self.tovalues(x).reshape(b, t, self.n_heads, k)
        scores = torch.einsum("bihf,bjhf->bhij", queries * k ** -0.5, keys)
        weights = torch.softmax(scores, dim=-1)
        found = torch.einsum("bhij,bjhf->bihf", weights, values)
        return self.unifyheads(found.reshape(b, t, self.n_heads * k))

# %% SelfAttentionWithTricks
class SelfAttentionWithTricks(nn.Module):
    """As above, with the roots of the roots left in."""

    def __init__(self, k, heads=8):
        super().__init__()
        self.k, self.heads = k, heads
        self.tokeys = nn.Linear(k, k * heads, bias=False)
        self.toqueries = nn.Linear(k, k * heads, bias=False)
        self.tovalues = nn.Linear(k, k * heads, bias=False)
        self.unifyheads = nn.Linear(heads * k, k)

    def forward(self, x):
        if x.ndim != 3:
            raise ValueError(f"expected (b, t, k), got {tuple(x.shape)}")
        b, t, k = x.shape
        queries = self.toqueries(x).reshape(b, t, self.heads, k) / k ** (1 / 4)
        keys = self.tokeys(x).reshape(b, t, self.heads, k) / k ** (1 / 4)
        values = self.tovalues(x).reshape(b, t, self.heads, k)
        weights = torch.softmax(torch.einsum("bihf,bjhf->bhij", queries, keys), dim=-1)
        return self.unifyheads(torch.einsum("bhij,bjhf->bihf", weights, values).reshape(b, t, self.heads * k))

# %% MultiHeadSelfAttention
class MultiHeadSelfAttention(nn.Module):
    """The dots of the einsum stand for a batch, or for nothing."""

    def __init__(self, k, h=4):
        super().__init__()
        if k % h != 0:
            raise ValueError(f"a width of {k} is not divisible by {h} heads")
        self.k = k
        self.heads = h
        self.s = k // h
        self.toqueries = nn.Linear(k, k, bias=False)
        self.tokeys = nn.Linear(k, k, bias=False)
        self.tovalues = nn.Linear(k, k, bias=False)
        self.unifyheads = nn.Linear(k, k)

    def forward(self, x):
        if x.ndim < 2 or x.ndim > 3:
            raise ValueError(f"expected (t, k) or (b, t, k), got {tuple(x.shape)}")
        *b, t, k = x.shape
        queries = self.toqueries(x).reshape(*b, t, self.heads, self.s)
        keys = self.tokeys(x).reshape(*b, t, self.heads, self.s)
        values = self.tovalues(x).reshape(*b, t, self.heads, self.s)
        scores = torch.einsum("...ihf,...jhf->...hij", queries * self.s ** -0.5, keys)
        weights = torch.softmax(scores, dim=-1)
        found = torch.einsum("...hij,...jhf->...ihf", weights, values)
        return self.unifyheads(found.reshape(*b, t, k))

# %% StackedHeads
class Head(nn.Module):
    """One causal head, from lesson 03."""

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
        scores = torch.einsum("bif,bjf->bij", q * k.size(-1) ** -0.5, k)  # (b, t, t)
        scores = torch.where(self.tril[:t, :t] > 0, scores, -torch.inf)   # (b, t, t)
        weights = self.dropout(torch.softmax(scores, dim=-1))             # (b, t, t)
        return torch.einsum("bij,bjf->bif", weights, v)                   # (b, t, head_size)


class StackedHeads(nn.Module):
    def __init__(self, num_heads, head_size, n_embd, block_size, dropout):
        super().__init__()
        self.heads = nn.ModuleList()
        for _ in range(num_heads):
            self.heads.append(Head(n_embd, head_size, block_size, dropout))
        self.proj = nn.Linear(num_heads * head_size, n_embd)

    def forward(self, x):
        found = torch.stack([head(x) for head in self.heads], dim=-2)  # (b, t, heads, head_size)
        return self.proj(found.flatten(start_dim=-2))                  # heads before features: side by side

# %% MultiHeadAttention
class MultiHeadAttention(nn.Module):
    def __init__(self, d_in, d_out, context_length, dropout, num_heads, qkv_bias=False):
        super().__init__()
        if d_out % num_heads != 0:
            raise ValueError(f"a width of {d_out} is not divisible by {num_heads} heads")
        self.context_length = context_length
        self.num_heads = num_heads
        self.width = d_out // num_heads
        self.W_query = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_key = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_value = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.out_proj = nn.Linear(d_out, d_out)
        self.dropout = nn.Dropout(dropout)
        self.register_buffer("mask", torch.tril(torch.ones(context_length, context_length, dtype=torch.bool)))

    def forward(self, x):
        if x.ndim != 3:
            raise ValueError(f"expected (b, n, d_in), got {tuple(x.shape)}")
        b, n, _ = x.shape
        if n > self.context_length:
            raise ValueError(f"{n} tokens, but the context holds {self.context_length}")
        queries = self.W_query(x).reshape(b, n, self.num_heads, self.width)
        keys = self.W_key(x).reshape(b, n, self.num_heads, self.width)
        values = self.W_value(x).reshape(b, n, self.num_heads, self.width)
        scores = torch.einsum("bihf,bjhf->bhij", queries * self.width ** -0.5, keys)
        scores = torch.where(self.mask[:n, :n], scores, -torch.inf)
        weights = self.dropout(torch.softmax(scores, dim=-1))
        found = torch.einsum("bhij,bjhf->bihf", weights, values)
        return self.out_proj(found.reshape(b, n, self.num_heads * self.width))

# %% load_from_torch
def load_from_torch(module, mha):
    d = mha.embed_dim
    layers = [module.W_query, module.W_key, module.W_value]
    blocks = [slice(0, d), slice(d, 2 * d), slice(2 * d, 3 * d)]
    if mha.in_proj_bias is not None:
        for layer, block in zip(layers, blocks):
            if layer.bias is None and torch.count_nonzero(mha.in_proj_bias[block]) > 0:
                raise ValueError("the source has biases that the module has no room for")
    with torch.no_grad():
        for layer, block in zip(layers, blocks):
            layer.weight.copy_(mha.in_proj_weight[block])
            if layer.bias is not None and mha.in_proj_bias is not None:
                layer.bias.copy_(mha.in_proj_bias[block])
            elif layer.bias is not None:
                layer.bias.fill_(0)
        module.out_proj.weight.copy_(mha.out_proj.weight)
        if mha.out_proj.bias is not None:
            module.out_proj.bias.copy_(mha.out_proj.bias)
        else:
            module.out_proj.bias.fill_(0)
