# divides by the width of the whole model, forgets the projection and the biases, keeps heads where nobody finds them
# expect: SelfAttentionWide = partial scale-by-all-heads
# expect: SelfAttentionWithTricks = zero heads-never-set
# expect: MultiHeadSelfAttention = partial no-output-projection
# expect: StackedHeads = zero plain-list
# expect: MultiHeadAttention = partial scale-by-all-heads
# expect: load_from_torch = partial missing-biases-stay

# %% SelfAttentionWide
class SelfAttentionWide(nn.Module):
    """Multi-head attention with wide heads: (b, t, k) -> (b, t, k)."""

    def __init__(self, k, n_heads=8):
        super().__init__()
        self.k = k
        self.n_heads = n_heads
        self.tokeys = nn.Linear(k, k * n_heads, bias=False)
        self.toqueries = nn.Linear(k, k * n_heads, bias=False)
        self.tovalues = nn.Linear(k, k * n_heads, bias=False)
        self.unifyheads = nn.Linear(n_heads * k, k)

    def forward(self, x):
        b, t, k = x.size()
        h = self.n_heads
        queries, keys, values = self.toqueries(x), self.tokeys(x), self.tovalues(x)  # (b, t, h*k) each
        queries = queries / keys.shape[-1] ** (1 / 4)
        keys = keys / keys.shape[-1] ** (1 / 4)

        # heads join the batch: (b*h, t, k)
        queries = queries.view(b, t, h, k).transpose(1, 2).contiguous().view(b * h, t, k)
        keys = keys.view(b, t, h, k).transpose(1, 2).contiguous().view(b * h, t, k)
        values = values.view(b, t, h, k).transpose(1, 2).contiguous().view(b * h, t, k)

        weights = F.softmax(torch.bmm(queries, keys.transpose(1, 2)), dim=2)  # (b*h, t, t)
        out = torch.bmm(weights, values).view(b, h, t, k)                     # (b, h, t, k)
        out = out.transpose(1, 2).contiguous().view(b, t, h * k)              # (b, t, h*k)
        return self.unifyheads(out)

# %% SelfAttentionWithTricks
class SelfAttentionWithTricks(nn.Module):
    """Multi-head attention with wide heads: (b, t, k) -> (b, t, k)."""

    def __init__(self, k, heads=8):
        super().__init__()
        self.k, self.nheads = k, heads
        self.tokeys = nn.Linear(k, k * heads, bias=False)
        self.toqueries = nn.Linear(k, k * heads, bias=False)
        self.tovalues = nn.Linear(k, k * heads, bias=False)
        self.unifyheads = nn.Linear(heads * k, k)

    def forward(self, x):
        b, t, k = x.size()
        h = self.heads
        queries = self.toqueries(x).view(b, t, h, k)  # (b, t, h*k) -> (b, t, h, k)
        keys = self.tokeys(x).view(b, t, h, k)        # (b, t, h*k) -> (b, t, h, k)
        values = self.tovalues(x).view(b, t, h, k)    # (b, t, h*k) -> (b, t, h, k)

        keys = keys.transpose(1, 2).contiguous().view(b * h, t, k)        # (b*h, t, k)
        queries = queries.transpose(1, 2).contiguous().view(b * h, t, k)  # (b*h, t, k)
        values = values.transpose(1, 2).contiguous().view(b * h, t, k)    # (b*h, t, k)

        queries = queries / (k ** (1 / 4))
        keys = keys / (k ** (1 / 4))
        weights = F.softmax(torch.bmm(queries, keys.transpose(1, 2)), dim=2)
        out = torch.bmm(weights, values).view(b, h, t, k)
        out = out.transpose(1, 2).contiguous().view(b, t, h * k)
        return self.unifyheads(out)

# %% MultiHeadSelfAttention
class MultiHeadSelfAttention(nn.Module):
    def __init__(self, k, h=4):
        super().__init__()
        if k % h != 0:
            raise ValueError(f"k = {k} must be a multiple of h = {h}")
        self.k = k
        self.heads = h
        self.s = k // h
        self.toqueries = nn.Linear(k, k, bias=False)
        self.tokeys = nn.Linear(k, k, bias=False)
        self.tovalues = nn.Linear(k, k, bias=False)

    def forward(self, x):
        if x.dim() not in (2, 3):
            raise ValueError(f"x must have shape (t, k) or (b, t, k), not {tuple(x.shape)}")
        *b, t, k = x.size()
        queries = self.toqueries(x).reshape(*b, t, self.heads, self.s).transpose(-3, -2)
        keys = self.tokeys(x).reshape(*b, t, self.heads, self.s).transpose(-3, -2)
        values = self.tovalues(x).reshape(*b, t, self.heads, self.s).transpose(-3, -2)
        scores = queries @ keys.transpose(-2, -1) / self.s ** 0.5  # (..., h, t, t)
        out = F.softmax(scores, dim=-1) @ values                   # (..., h, t, s)
        return out.transpose(-3, -2).reshape(*b, t, k)             # (..., t, k)

# %% StackedHeads
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
        B, T, C = x.shape
        if T > self.block_size:
            raise ValueError(f"{T} tokens are more than block_size = {self.block_size}")
        k = self.key(x)
        q = self.query(x)
        wei = q @ k.transpose(-2, -1) * k.shape[-1] ** -0.5
        wei = wei.masked_fill(self.tril[:T, :T] == 0, float("-inf"))
        wei = self.dropout(F.softmax(wei, dim=-1))
        return wei @ self.value(x)


class StackedHeads(nn.Module):
    def __init__(self, num_heads, head_size, n_embd, block_size, dropout):
        super().__init__()
        self.heads = [Head(n_embd, head_size, block_size, dropout) for _ in range(num_heads)]
        self.proj = nn.Linear(num_heads * head_size, n_embd)

    def forward(self, x):
        out = torch.cat([head(x) for head in self.heads], dim=-1)
        return self.proj(out)

# %% MultiHeadAttention
class MultiHeadAttention(nn.Module):
    def __init__(self, d_in, d_out, context_length, dropout, num_heads, qkv_bias=False):
        super().__init__()
        if d_out % num_heads != 0:
            raise ValueError(f"d_out = {d_out} must be a multiple of num_heads = {num_heads}")
        self.d_out = d_out
        self.num_heads = num_heads
        self.context_length = context_length
        self.W_query = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_key = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_value = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.out_proj = nn.Linear(d_out, d_out)
        self.dropout = nn.Dropout(dropout)
        self.register_buffer("mask", torch.tril(torch.ones(context_length, context_length)))

    def forward(self, x):
        if x.dim() != 3:
            raise ValueError(f"x must have shape (b, n, d_in), not {tuple(x.shape)}")
        b, n, _ = x.shape
        if n > self.context_length:
            raise ValueError(f"{n} tokens are more than context_length = {self.context_length}")
        queries = self.W_query(x).view(b, n, self.num_heads, -1).transpose(1, 2)
        keys = self.W_key(x).view(b, n, self.num_heads, -1).transpose(1, 2)
        values = self.W_value(x).view(b, n, self.num_heads, -1).transpose(1, 2)
        scores = queries @ keys.transpose(2, 3) / self.d_out ** 0.5         # (b, h, n, n)
        scores = scores.masked_fill(self.mask[:n, :n] == 0, float("-inf"))  # (b, h, n, n)
        weights = self.dropout(F.softmax(scores, dim=-1))                   # (b, h, n, n)
        out = (weights @ values).transpose(1, 2)                            # (b, n, h, w)
        return self.out_proj(out.reshape(b, n, self.d_out))

# %% load_from_torch
def load_from_torch(module, mha):
    query, key, value = mha.in_proj_weight.chunk(3)
    with torch.no_grad():
        module.W_query.weight.copy_(query)
        module.W_key.weight.copy_(key)
        module.W_value.weight.copy_(value)
        module.out_proj.weight.copy_(mha.out_proj.weight)
