# takes the values from the wrong side, gives heads the mask of another item, and turns the mask of a head round
# expect: CrossAttention = zero values-from-x
# expect: MultiHeadCrossAttention = partial mask-repeated-in-the-wrong-order
# expect: EncoderHead = zero mask-turned-round

# %% CrossAttention
class CrossAttention(nn.Module):
    def __init__(self, d_query, d_context, d_out, qkv_bias=False):
        super().__init__()
        self.W_query = nn.Linear(d_query, d_out, bias=qkv_bias)
        self.W_key = nn.Linear(d_context, d_out, bias=qkv_bias)
        self.W_value = nn.Linear(d_context, d_out, bias=qkv_bias)

    def forward(self, x, context, context_mask=None):
        if x.dim() != 3 or context.dim() != 3 or (context_mask is not None and context_mask.dim() != 2):
            raise ValueError("wrong rank")
        Q = self.W_query(x)
        K = self.W_key(context)
        V = self.W_value(x)
        scores = Q @ K.transpose(1, 2) / K.shape[-1] ** 0.5
        if context_mask is None:
            return F.softmax(scores, dim=-1) @ V
        seen = context_mask[:, None, :]
        blind = ~seen.any(-1, keepdim=True)
        weights = F.softmax(scores.masked_fill(~seen, float("-inf")).masked_fill(blind, 0.0), dim=-1)
        return weights.masked_fill(blind, 0.0) @ V

# %% MultiHeadCrossAttention
class MultiHeadCrossAttention(nn.Module):
    def __init__(self, d_query, d_context, d_out, num_heads, qkv_bias=False):
        super().__init__()
        if d_out % num_heads != 0:
            raise ValueError(f"{num_heads} heads do not divide {d_out}")
        self.h, self.w = num_heads, d_out // num_heads
        self.W_query = nn.Linear(d_query, d_out, bias=qkv_bias)
        self.W_key = nn.Linear(d_context, d_out, bias=qkv_bias)
        self.W_value = nn.Linear(d_context, d_out, bias=qkv_bias)
        self.out_proj = nn.Linear(d_out, d_out)

    def forward(self, x, context, context_mask=None):
        if x.dim() != 3 or context.dim() != 3 or (context_mask is not None and context_mask.dim() != 2):
            raise ValueError("wrong rank")
        b, t, _ = x.shape

        def fold(z):  # heads join the batch
            return z.reshape(b, -1, self.h, self.w).transpose(1, 2).reshape(b * self.h, -1, self.w)

        Q, K, V = fold(self.W_query(x)), fold(self.W_key(context)), fold(self.W_value(context))
        scores = torch.bmm(Q, K.transpose(1, 2)) / self.w ** 0.5  # (b*h, t, s)
        if context_mask is not None:
            seen = context_mask.repeat(self.h, 1)[:, None, :]      # (b*h, 1, s)
            blind = ~seen.any(-1, keepdim=True)
            scores = scores.masked_fill(~seen, float("-inf")).masked_fill(blind, 0.0)
            weights = F.softmax(scores, dim=-1).masked_fill(blind, 0.0)
        else:
            weights = F.softmax(scores, dim=-1)
        found = torch.bmm(weights, V).reshape(b, self.h, t, self.w).transpose(1, 2)
        return self.out_proj(found.reshape(b, t, self.h * self.w))

# %% EncoderHead
class EncoderHead(nn.Module):
    """One attention head."""

    def __init__(self, n_embd, head_size):
        super().__init__()
        self.key = nn.Linear(n_embd, head_size, bias=False)
        self.query = nn.Linear(n_embd, head_size, bias=False)
        self.value = nn.Linear(n_embd, head_size, bias=False)

    def forward(self, x):
        B, T, C = x.shape
        k = self.key(x)
        q = self.query(x)

        triu = torch.triu(torch.ones(T, T, device=x.device))
        wei = q @ k.transpose(-2, -1) * k.shape[-1] ** -0.5
        wei = wei.masked_fill(triu == 0, float("-inf"))
        wei = F.softmax(wei, dim=-1)
        return wei @ self.value(x)
