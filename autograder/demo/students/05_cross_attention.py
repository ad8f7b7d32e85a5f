# The class of 05_cross_attention: what each student hands in. demo/made_up.py says how to read this.

# === ada: all right, as in the course's own solutions, and answered the written question
# otherwise: solution

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

# === bela: all right, with einsum
# otherwise: answer einsum

# === eva: implemented one head, hid the many in a plain list, and left the head of notebook 003 as it was handed out
# CrossAttention: answer plain
# MultiHeadCrossAttention: mistake layers-made-in-forward

# === farid: takes the values from the wrong side, gives heads the mask of another item, and turns the mask of a head round
# CrossAttention: mistake values-from-x
# MultiHeadCrossAttention: mistake mask-repeated-in-the-wrong-order
# EncoderHead: mistake mask-turned-round

# === greta: keeps the causal mask between two sequences, patches NaN where it shows, and divides by the embedding's width
# CrossAttention: mistake causal
# MultiHeadCrossAttention: mistake nan-patched-in-output
# EncoderHead: mistake scale-by-input-width

# === hugo: builds both layers on an attention without a scale, which is said first; the third cell does not compile
# CrossAttention: own text, partial no-scale
# MultiHeadCrossAttention: own text, full no-scale
# EncoderHead: own text, zero error

# %% CrossAttention
def attention(query, key, value, mask=None):
    if min(query.dim(), key.dim(), value.dim()) < 2:
        raise ValueError("two dimensions at least")
    scores = query @ key.transpose(-2, -1)
    if mask is None:
        weights = F.softmax(scores, dim=-1)
    else:
        blind = ~mask.any(-1, keepdim=True)
        scores = scores.masked_fill(~mask, float("-inf")).masked_fill(blind, 0.0)
        weights = F.softmax(scores, dim=-1).masked_fill(blind, 0.0)
    return weights @ value, weights


class CrossAttention(nn.Module):
    def __init__(self, d_query, d_context, d_out, qkv_bias=False):
        super().__init__()
        self.W_query = nn.Linear(d_query, d_out, bias=qkv_bias)
        self.W_key = nn.Linear(d_context, d_out, bias=qkv_bias)
        self.W_value = nn.Linear(d_context, d_out, bias=qkv_bias)

    def forward(self, x, context, context_mask=None):
        if x.dim() != 3 or context.dim() != 3 or (context_mask is not None and context_mask.dim() != 2):
            raise ValueError("wrong rank")
        mask = None if context_mask is None else context_mask[:, None, :]
        return attention(self.W_query(x), self.W_key(context), self.W_value(context), mask)[0]

# %% MultiHeadCrossAttention
class MultiHeadCrossAttention(nn.Module):
    def __init__(self, d_query, d_context, d_out, num_heads, qkv_bias=False):
        super().__init__()
        if d_out % num_heads != 0:
            raise ValueError(f"{num_heads} heads do not divide {d_out}")
        self.num_heads = num_heads
        self.W_query = nn.Linear(d_query, d_out, bias=qkv_bias)
        self.W_key = nn.Linear(d_context, d_out, bias=qkv_bias)
        self.W_value = nn.Linear(d_context, d_out, bias=qkv_bias)
        self.out_proj = nn.Linear(d_out, d_out)

    def forward(self, x, context, context_mask=None):
        if x.dim() != 3 or context.dim() != 3 or (context_mask is not None and context_mask.dim() != 2):
            raise ValueError("wrong rank")
        q, k, v = (z.unflatten(-1, (self.num_heads, -1)).transpose(1, 2)
                   for z in (self.W_query(x), self.W_key(context), self.W_value(context)))
        mask = None if context_mask is None else context_mask[:, None, None, :]
        found, _ = attention(q, k, v, mask)
        return self.out_proj(found.transpose(1, 2).flatten(2))

# %% EncoderHead
class EncoderHead(nn.Module):
    def __init__(self, n_embd, head_size)
        super().__init__()
        self.key = nn.Linear(n_embd, head_size, bias=False)

# === lena: handed in the notebook as it was released
