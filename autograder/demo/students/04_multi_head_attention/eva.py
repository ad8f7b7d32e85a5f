# implemented what is to implement, left the originals as they were handed out
# expect: SelfAttentionWide = zero error
# expect: SelfAttentionWithTricks = zero original-002
# expect: MultiHeadSelfAttention = zero original-001
# expect: StackedHeads = full
# expect: MultiHeadAttention = full
# expect: load_from_torch = full

# %% StackedHeads
class Head(nn.Module):
    """One causal head, mine from lesson 03."""

    def __init__(self, n_embd, head_size, block_size, dropout):
        super().__init__()
        self.head_size = head_size
        self.block_size = block_size
        self.key = nn.Linear(n_embd, head_size, bias=False)
        self.query = nn.Linear(n_embd, head_size, bias=False)
        self.value = nn.Linear(n_embd, head_size, bias=False)
        self.register_buffer("tril", torch.tril(torch.ones(block_size, block_size)))
        self.dropout = nn.Dropout(dropout)

    def forward(self, x):
        B, T, C = x.shape
        if T > self.block_size:
            raise ValueError(f"there are {T} tokens, but block_size is {self.block_size}")
        wei = self.query(x) @ self.key(x).transpose(-2, -1)                    # (B, T, T)
        wei = wei.masked_fill(self.tril[:T, :T] == 0, float("-inf"))
        wei = self.dropout(F.softmax(wei / self.head_size ** 0.5, dim=-1))     # (B, T, T)
        return wei @ self.value(x)                                             # (B, T, head_size)


class StackedHeads(nn.Module):
    def __init__(self, num_heads, head_size, n_embd, block_size, dropout):
        super().__init__()
        heads = []
        for i in range(num_heads):
            heads.append(Head(n_embd, head_size, block_size, dropout))
        self.heads = nn.ModuleList(heads)
        self.proj = nn.Linear(num_heads * head_size, n_embd)

    def forward(self, x):
        found = [head(x) for head in self.heads]
        side_by_side = torch.cat(found, dim=2)   # (B, T, num_heads * head_size)
        return self.proj(side_by_side)           # (B, T, n_embd)

# %% MultiHeadAttention
class MultiHeadAttention(nn.Module):
    def __init__(self, d_in, d_out, context_length, dropout, num_heads, qkv_bias=False):
        super().__init__()
        if d_out % num_heads != 0:
            raise ValueError(f"num_heads = {num_heads} does not divide d_out = {d_out}")
        self.d_out = d_out
        self.num_heads = num_heads
        self.head_dim = d_out // num_heads
        self.context_length = context_length
        self.W_query = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_key = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_value = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.out_proj = nn.Linear(d_out, d_out)
        self.dropout = nn.Dropout(dropout)
        self.register_buffer("mask", torch.triu(torch.ones(context_length, context_length), diagonal=1))

    def cut(self, z):
        b, n, _ = z.shape
        return z.view(b, n, self.num_heads, self.head_dim).transpose(1, 2)  # (b, h, n, w)

    def forward(self, x):
        if x.dim() != 3:
            raise ValueError(f"x must have three dimensions, not {x.dim()}")
        b, n, _ = x.shape
        if n > self.context_length:
            raise ValueError(f"there are {n} tokens, but context_length is {self.context_length}")
        Q = self.cut(self.W_query(x))
        K = self.cut(self.W_key(x))
        V = self.cut(self.W_value(x))
        scores = Q @ K.transpose(2, 3) / self.head_dim ** 0.5  # (b, h, n, n)
        scores = scores.masked_fill(self.mask[:n, :n].bool(), float("-inf"))
        weights = self.dropout(F.softmax(scores, dim=-1))
        out = (weights @ V).transpose(1, 2)                    # (b, n, h, w)
        return self.out_proj(out.contiguous().view(b, n, self.d_out))

# %% load_from_torch
def load_from_torch(module, mha):
    layers = [module.W_query, module.W_key, module.W_value, module.out_proj]
    weights = list(mha.in_proj_weight.chunk(3)) + [mha.out_proj.weight]
    if mha.in_proj_bias is None:
        biases = [None, None, None, mha.out_proj.bias]
    else:
        biases = list(mha.in_proj_bias.chunk(3)) + [mha.out_proj.bias]

    # first look, then copy
    for layer, bias in zip(layers, biases):
        if layer.bias is None and bias is not None and (bias != 0).any():
            raise ValueError("mha has biases, but the module was made without qkv_bias")

    with torch.no_grad():
        for layer, weight, bias in zip(layers, weights, biases):
            layer.weight.copy_(weight)
            if layer.bias is None:
                continue
            if bias is None:
                layer.bias.zero_()
            else:
                layer.bias.copy_(bias)
