# mixes up heads, tokens and roles, and none of it crashes
# expect: SelfAttentionWide = zero keys-and-values-from-queries
# expect: SelfAttentionWithTricks = zero merged-without-transposing
# expect: MultiHeadSelfAttention = partial fast-head-index
# expect: StackedHeads = partial heads-added
# expect: MultiHeadAttention = zero reshaped-in-one-step
# expect: load_from_torch = partial value-before-key

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
        queries = self.toqueries(x).view(b, t, h, k)
        keys = self.tokeys(x).view(b, t, h, k)
        values = self.tovalues(x).view(b, t, h, k)

        # the original folded twice, so now I fold once
        queries = queries.transpose(1, 2).contiguous().view(b * h, t, k)
        keys = queries
        values = queries

        queries = queries / (k ** (1 / 4))
        keys = keys / (k ** (1 / 4))
        weights = F.softmax(torch.bmm(queries, keys.transpose(1, 2)), dim=2)  # (b*h, t, t)
        out = torch.bmm(weights, values).view(b, h, t, k)
        out = out.transpose(1, 2).contiguous().view(b, t, h * k)
        return self.unifyheads(out)

# %% SelfAttentionWithTricks
class SelfAttentionWithTricks(nn.Module):
    """Multi-head attention with wide heads: (b, t, k) -> (b, t, k)."""

    def __init__(self, k, heads=8):
        super().__init__()
        self.k, self.heads = k, heads
        self.tokeys = nn.Linear(k, k * heads, bias=False)
        self.toqueries = nn.Linear(k, k * heads, bias=False)
        self.tovalues = nn.Linear(k, k * heads, bias=False)
        self.unifyheads = nn.Linear(heads * k, k)

    def forward(self, x):
        b, t, k = x.size()
        h = self.heads
        queries = self.toqueries(x).view(b, t, h, k).transpose(1, 2)  # (b, h, t, k)
        keys = self.tokeys(x).view(b, t, h, k).transpose(1, 2)        # (b, h, t, k)
        values = self.tovalues(x).view(b, t, h, k).transpose(1, 2)    # (b, h, t, k)

        queries = queries / (k ** (1 / 4))
        keys = keys / (k ** (1 / 4))
        weights = F.softmax(queries @ keys.transpose(2, 3), dim=3)    # (b, h, t, t)
        out = weights @ values                                        # (b, h, t, k)
        return self.unifyheads(out.reshape(b, t, h * k))              # (b, t, h*k) -> (b, t, k)

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
        self.unifyheads = nn.Linear(k, k)

    def forward(self, x):
        if x.dim() not in (2, 3):
            raise ValueError(f"x must have shape (t, k) or (b, t, k), not {tuple(x.shape)}")
        *b, t, k = x.size()
        queries = self.toqueries(x).reshape(*b, t, self.s, self.heads)
        keys = self.tokeys(x).reshape(*b, t, self.s, self.heads)
        values = self.tovalues(x).reshape(*b, t, self.s, self.heads)

        # heads to the front: (..., h, t, s)
        queries = queries.transpose(-1, -2).transpose(-2, -3)
        keys = keys.transpose(-1, -2).transpose(-2, -3)
        values = values.transpose(-1, -2).transpose(-2, -3)

        scores = queries @ keys.transpose(-1, -2) / self.s ** 0.5  # (..., h, t, t)
        out = F.softmax(scores, dim=-1) @ values                   # (..., h, t, s)
        out = out.transpose(-2, -3).transpose(-1, -2)              # (..., t, s, h)
        return self.unifyheads(out.reshape(*b, t, k))

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
        k = self.key(x)                                               # (B, T, head_size)
        q = self.query(x)                                             # (B, T, head_size)
        wei = q @ k.transpose(-2, -1) * k.shape[-1] ** -0.5           # (B, T, T)
        wei = wei.masked_fill(self.tril[:T, :T] == 0, float("-inf"))  # (B, T, T)
        wei = self.dropout(F.softmax(wei, dim=-1))                    # (B, T, T)
        return wei @ self.value(x)                                    # (B, T, head_size)


class StackedHeads(nn.Module):
    def __init__(self, num_heads, head_size, n_embd, block_size, dropout):
        super().__init__()
        self.heads = nn.ModuleList([Head(n_embd, head_size, block_size, dropout) for _ in range(num_heads)])
        self.proj = nn.Linear(num_heads * head_size, n_embd)

    def forward(self, x):
        out = self.heads[0](x)
        for head in self.heads[1:]:
            out = out + head(x)                               # (B, T, head_size)
        return self.proj(out.repeat(1, 1, len(self.heads)))   # proj wants num_heads * head_size

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
        h, w = self.num_heads, self.d_out // self.num_heads
        queries = self.W_query(x).view(b, h, n, w)
        keys = self.W_key(x).view(b, h, n, w)
        values = self.W_value(x).view(b, h, n, w)
        scores = queries @ keys.transpose(2, 3) / w ** 0.5                  # (b, h, n, n)
        scores = scores.masked_fill(self.mask[:n, :n] == 0, float("-inf"))  # (b, h, n, n)
        weights = self.dropout(F.softmax(scores, dim=-1))                   # (b, h, n, n)
        out = (weights @ values).transpose(1, 2)                            # (b, n, h, w)
        return self.out_proj(out.reshape(b, n, self.d_out))

# %% load_from_torch
def load_from_torch(module, mha):
    layers = [module.W_query, module.W_value, module.W_key]
    weights = mha.in_proj_weight.chunk(3)
    biases = [None] * 3 if mha.in_proj_bias is None else mha.in_proj_bias.chunk(3)
    for layer, bias in zip(layers, biases):
        if layer.bias is None and bias is not None and bias.abs().max() > 0:
            raise ValueError("the biases are not 0, and the module has no place for them")
    with torch.no_grad():
        for layer, weight, bias in zip(layers, weights, biases):
            layer.weight.copy_(weight)
            if layer.bias is not None:
                layer.bias.copy_(torch.zeros_like(layer.bias) if bias is None else bias)
        module.out_proj.weight.copy_(mha.out_proj.weight)
        if mha.out_proj.bias is None:
            module.out_proj.bias.zero_()
        else:
            module.out_proj.bias.copy_(mha.out_proj.bias)
