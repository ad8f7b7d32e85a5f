# all right, in as few lines as it takes, and answered the written question
# expect: SelfAttentionWide = full
# expect: SelfAttentionWithTricks = full
# expect: MultiHeadSelfAttention = full
# expect: StackedHeads = full
# expect: MultiHeadAttention = full
# expect: load_from_torch = full

# %% SelfAttentionWide
class SelfAttentionWide(nn.Module):
    def __init__(self, k, n_heads=8):
        super().__init__()
        self.tokeys, self.toqueries, self.tovalues = (nn.Linear(k, k * n_heads, bias=False) for _ in range(3))
        self.unifyheads = nn.Linear(k * n_heads, k)

    def forward(self, x):
        b, t, k = x.shape
        q, k_, v = (f(x).view(b, t, -1, k).transpose(1, 2) for f in (self.toqueries, self.tokeys, self.tovalues))
        found = (q / k ** 0.5 @ k_.mT).softmax(-1) @ v  # (b, h, t, k)
        return self.unifyheads(found.transpose(1, 2).flatten(2))

# %% SelfAttentionWithTricks
class SelfAttentionWithTricks(SelfAttentionWide):  # the same layer: only the number of heads has another name
    def __init__(self, k, heads=8):
        super().__init__(k, heads)

# %% MultiHeadSelfAttention
class MultiHeadSelfAttention(nn.Module):
    def __init__(self, k, h=4):
        super().__init__()
        if k % h:
            raise ValueError(f"{k} features cannot be shared among {h} heads")
        self.s = k // h
        self.toqueries, self.tokeys, self.tovalues = (nn.Linear(k, k, bias=False) for _ in range(3))
        self.unifyheads = nn.Linear(k, k)

    def forward(self, x):
        if x.dim() not in (2, 3):
            raise ValueError(f"expected (t, k) or (b, t, k), got {tuple(x.shape)}")
        layers = self.toqueries, self.tokeys, self.tovalues
        q, k, v = (f(x).unflatten(-1, (-1, self.s)).transpose(-3, -2) for f in layers)  # (..., h, t, s)
        found = (q / self.s ** 0.5 @ k.mT).softmax(-1) @ v
        return self.unifyheads(found.transpose(-3, -2).flatten(-2))

# %% StackedHeads
class Head(nn.Module):
    def __init__(self, n_embd, head_size, block_size, dropout):
        super().__init__()
        self.key, self.query, self.value = (nn.Linear(n_embd, head_size, bias=False) for _ in range(3))
        self.register_buffer("tril", torch.ones(block_size, block_size).tril() > 0)
        self.dropout = nn.Dropout(dropout)

    def forward(self, x):
        if x.dim() != 3 or x.shape[1] > len(self.tril):
            raise ValueError(f"expected (b, t, n_embd) with t up to {len(self.tril)}, got {tuple(x.shape)}")
        t, q, k = x.shape[1], self.query(x), self.key(x)
        scores = (q / k.shape[-1] ** 0.5 @ k.mT).masked_fill(~self.tril[:t, :t], float("-inf"))
        return self.dropout(scores.softmax(-1)) @ self.value(x)


class StackedHeads(nn.Module):
    def __init__(self, num_heads, head_size, n_embd, block_size, dropout):
        super().__init__()
        self.heads = nn.ModuleList(Head(n_embd, head_size, block_size, dropout) for _ in range(num_heads))
        self.proj = nn.Linear(num_heads * head_size, n_embd)

    def forward(self, x):
        return self.proj(torch.cat([head(x) for head in self.heads], -1))

# %% MultiHeadAttention
class MultiHeadAttention(nn.Module):
    def __init__(self, d_in, d_out, context_length, dropout, num_heads, qkv_bias=False):
        super().__init__()
        if d_out % num_heads:
            raise ValueError(f"{d_out} features cannot be shared among {num_heads} heads")
        self.w = d_out // num_heads
        self.W_query, self.W_key, self.W_value = (nn.Linear(d_in, d_out, bias=qkv_bias) for _ in range(3))
        self.out_proj, self.dropout = nn.Linear(d_out, d_out), nn.Dropout(dropout)
        self.register_buffer("mask", torch.ones(context_length, context_length).tril() > 0)

    def forward(self, x):
        if x.dim() != 3 or x.shape[1] > len(self.mask):
            raise ValueError(f"expected (b, n, d_in) with n up to {len(self.mask)}, got {tuple(x.shape)}")
        n, layers = x.shape[1], (self.W_query, self.W_key, self.W_value)
        q, k, v = (f(x).unflatten(-1, (-1, self.w)).transpose(1, 2) for f in layers)  # (b, h, n, w)
        scores = (q / self.w ** 0.5 @ k.mT).masked_fill(~self.mask[:n, :n], float("-inf"))
        return self.out_proj((self.dropout(scores.softmax(-1)) @ v).transpose(1, 2).flatten(2))

# %% load_from_torch
@torch.no_grad()
def load_from_torch(module, mha):
    layers = module.W_query, module.W_key, module.W_value, module.out_proj
    weights = *mha.in_proj_weight.chunk(3), mha.out_proj.weight
    biases = *([None] * 3 if mha.in_proj_bias is None else mha.in_proj_bias.chunk(3)), mha.out_proj.bias
    if any(f.bias is None and b is not None and b.any() for f, b in zip(layers, biases)):
        raise ValueError("biases that are not 0 have no room in a module without qkv_bias")
    for layer, weight, bias in zip(layers, weights, biases):
        layer.weight.copy_(weight)
        if layer.bias is not None:
            layer.bias.zero_() if bias is None else layer.bias.copy_(bias)

# %% question-layer-cost
# Four projections: 4·t·d². Scores and mix: t²·w for each head, twice, so 2·t²·d for all h heads.
#
# t > 2d, above 1536 for GPT-2. It has 1024 places, so the projections cost more.
#
# Twice the text: 2 and 4 times. Twice the heads: the same products, twice the weights. 12 · 1024² · 4 = 50,331,648 bytes.
