# all right, in as few lines as it takes, and answered the written question
# expect: CrossAttention = full
# expect: MultiHeadCrossAttention = full
# expect: EncoderHead = full

# %% CrossAttention
class CrossAttention(nn.Module):
    def __init__(self, d_query, d_context, d_out, qkv_bias=False):
        super().__init__()
        self.W_query = nn.Linear(d_query, d_out, bias=qkv_bias)
        self.W_key, self.W_value = (nn.Linear(d_context, d_out, bias=qkv_bias) for _ in range(2))

    def forward(self, x, context, context_mask=None):
        check_ranks(x, context, context_mask)
        scores = self.W_query(x) @ self.W_key(context).mT / self.W_key.out_features ** 0.5  # (b, t, s)
        return weigh(scores, context_mask) @ self.W_value(context)


def check_ranks(x, context, context_mask):
    if x.dim() != 3 or context.dim() != 3 or (context_mask is not None and context_mask.dim() != 2):
        raise ValueError("expected (b, t, d_query), (b, s, d_context) and (b, s)")


def weigh(scores, context_mask):
    """Softmax over what the mask (b, s) allows; where it allows nothing, 0."""
    if context_mask is None:
        return scores.softmax(-1)
    seen = context_mask.unflatten(0, (-1,) + (1,) * (scores.dim() - 2))  # (b, 1, s) or (b, 1, 1, s)
    return scores.masked_fill(~seen, torch.finfo(scores.dtype).min).softmax(-1) * seen

# %% MultiHeadCrossAttention
class MultiHeadCrossAttention(CrossAttention):
    def __init__(self, d_query, d_context, d_out, num_heads, qkv_bias=False):
        super().__init__(d_query, d_context, d_out, qkv_bias)
        if d_out % num_heads:
            raise ValueError(f"{d_out} features cannot be shared among {num_heads} heads")
        self.w = d_out // num_heads
        self.out_proj = nn.Linear(d_out, d_out)

    def forward(self, x, context, context_mask=None):
        check_ranks(x, context, context_mask)
        q, k, v = (z.unflatten(-1, (-1, self.w)).transpose(1, 2)
                   for z in (self.W_query(x), self.W_key(context), self.W_value(context)))
        found = weigh(q @ k.mT / self.w ** 0.5, context_mask) @ v  # (b, h, t, w)
        return self.out_proj(found.transpose(1, 2).flatten(2))

# %% EncoderHead
class EncoderHead(nn.Module):
    def __init__(self, n_embd, head_size):
        super().__init__()
        self.key, self.query, self.value = (nn.Linear(n_embd, head_size, bias=False) for _ in range(3))

    def forward(self, x):
        if x.dim() != 3:
            raise ValueError(f"expected (b, t, n_embd), got {tuple(x.shape)}")
        return F.scaled_dot_product_attention(self.query(x), self.key(x), self.value(x))

# %% question-where-from
# In the encoder all three come from the source, weights (7, 7). In the decoder all three come from the translation,
# weights (4, 4). Between them the translation asks (queries) and the encoder's output answers (keys, values), weights
# (4, 7).
#
# The padding of the source is hidden in the encoder and between the two. Only the decoder needs a causal mask, since
# it would see the word that it has to guess. The source is all there from the start.
#
# Nothing: keys and values between the two depend on the source alone, so they can be kept. Only the fifth token's query
# is new.
