# all right, by torch's own function wherever it fits, and answered the written question
# expect: causal_mask = full
# expect: padding_mask = full
# expect: masked_weights = full
# expect: Head = full
# expect: CausalAttention = full

# %% causal_mask
def causal_mask(t, device=None):
    place = torch.arange(t, device=device)
    return place[None, :] <= place[:, None]  # (1, t) and (t, 1) -> (t, t)

# %% padding_mask
def padding_mask(lengths, max_len=None):
    if len(lengths.shape) != 1:
        raise ValueError(f"lengths of shape (b,) are wanted, these have shape {tuple(lengths.shape)}")
    shortest, longest = int(lengths.min()), int(lengths.max())
    if shortest < 0:
        raise ValueError(f"there is no sequence of {shortest} tokens")
    if max_len is None:
        max_len = longest
    elif longest > max_len:
        raise ValueError(f"a sequence of {longest} tokens does not go into {max_len}")
    place = torch.arange(max_len, device=lengths.device)
    return torch.lt(place.unsqueeze(0), lengths.unsqueeze(1))

# %% masked_weights
def masked_weights(query, key):
    """torch keeps the weights to itself, so they are asked for with name tags as values, as in the lesson."""
    if len(query.shape) != 3 or len(key.shape) != 3:
        raise ValueError(f"(b, t, d) is wanted twice, these are {tuple(query.shape)} and {tuple(key.shape)}")
    t = key.shape[1]
    tags = torch.eye(t, dtype=key.dtype, device=key.device).repeat(key.shape[0], 1, 1)
    return F.scaled_dot_product_attention(query, key, tags, attn_mask=causal_mask(t, key.device), scale=1.0)

# %% Head
class Head(nn.Module):
    def __init__(self, n_embd, head_size, block_size, dropout):
        super().__init__()
        self.block_size = block_size
        self.dropout = dropout
        self.key = nn.Linear(n_embd, head_size, bias=False)
        self.query = nn.Linear(n_embd, head_size, bias=False)
        self.value = nn.Linear(n_embd, head_size, bias=False)
        self.register_buffer("tril", causal_mask(block_size))

    def forward(self, x):
        if len(x.shape) != 3:
            raise ValueError(f"(b, t, n_embd) is wanted, this has shape {tuple(x.shape)}")
        t = x.shape[1]
        if t > self.block_size:
            raise ValueError(f"{t} tokens are more than the {self.block_size} of a block")
        return F.scaled_dot_product_attention(
            self.query(x), self.key(x), self.value(x),
            attn_mask=self.tril[:t, :t],
            dropout_p=self.dropout if self.training else 0.0,
        )

# %% CausalAttention
class CausalAttention(nn.Module):
    def __init__(self, d_in, d_out, context_length, dropout, qkv_bias=False):
        super().__init__()
        self.context_length = context_length
        self.dropout = dropout
        self.W_query = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_key = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_value = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.register_buffer("mask", causal_mask(context_length))

    def forward(self, x, padding_mask=None):
        if len(x.shape) != 3:
            raise ValueError(f"(b, n, d_in) is wanted, this has shape {tuple(x.shape)}")
        n = x.shape[1]
        if n > self.context_length:
            raise ValueError(f"{n} tokens are more than the context of {self.context_length}")
        seen = self.mask[:n, :n].unsqueeze(0)                # (1, n, n)
        if padding_mask is not None:
            seen = seen & padding_mask.unsqueeze(-2)         # (1, n, n) and (b, 1, n) -> (b, n, n)
        hopeless = ~seen.any(dim=-1, keepdim=True)           # such a query may see everything first, and nothing then
        output = F.scaled_dot_product_attention(
            self.W_query(x), self.W_key(x), self.W_value(x),
            attn_mask=seen | hopeless,
            dropout_p=self.dropout if self.training else 0.0,
        )
        return output.masked_fill(hopeless, 0.0)

# %% question-before-or-after
# The softmax has shared out a whole among all nine tokens before the mask comes, so what the future had got is
# missing in the end and the rows sum to less than 1. It is worst for the first token: it should have all the weight
# on itself, and keeps only what eight others have left it.
#
# And the future still has its say, for it stands in the sum below each fraction. I would change the last token and
# compare the outputs of the others before and after: they all change, though their weight on it is 0.
#
# Dividing by the sums takes the future out of it, because its share cancels. On paper that is right. But when a score
# of the future is far above the rest, the weights of the past are rounded to 0 before they are divided, and 0 by 0 is
# NaN.
