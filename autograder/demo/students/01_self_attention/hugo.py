# has trouble with sizes: exp overflows, the scale has no root, and a length is negative
# expect: softmax = partial exp-without-max
# expect: SelfAttentionNaive = full
# expect: self_attention = full
# expect: constant_vector_length = partial sign-kept
# expect: scaled_self_attention = partial scale-without-root

# %% softmax
def softmax(scores, dim=-1):
    powers = torch.exp(scores)
    total = powers.sum(dim, keepdim=True)
    return powers / total.masked_fill(total == 0, 1.0)

# %% SelfAttentionNaive
class SelfAttentionNaive(nn.Module):
    """Self-attention without anything to learn, for one sequence: (n, d) -> (n, d)."""

    def forward(self, inputs):
        if inputs.dim() != 2:
            raise ValueError(f"inputs must have shape (n, d), but their shape is {tuple(inputs.shape)}")
        attention_scores = inputs @ inputs.T                    # (n, d) x (d, n) -> (n, n)
        attention_weights = F.softmax(attention_scores, dim=1)  # (n, n)
        return attention_weights @ inputs                       # (n, n) x (n, d) -> (n, d)

# %% self_attention
def self_attention(x):
    if x.dim() != 3:
        raise ValueError(f"x must have shape (b, t, k), but its shape is {tuple(x.shape)}")
    scores = x @ x.transpose(1, 2)       # (b, t, k) x (b, k, t) -> (b, t, t)
    weights = F.softmax(scores, dim=-1)  # (b, t, t)
    return weights @ x                   # (b, t, t) x (b, t, k) -> (b, t, k)

# %% constant_vector_length
def constant_vector_length(c, k):
    return c * k**0.5

# %% scaled_self_attention
def scaled_self_attention(x):
    if x.dim() != 3:
        raise ValueError(f"x must have shape (b, t, k), but its shape is {tuple(x.shape)}")
    scores = x @ x.transpose(1, 2)                     # (b, t, k) x (b, k, t) -> (b, t, t)
    weights = F.softmax(scores / x.shape[-1], dim=-1)  # (b, t, t)
    return weights @ x                                 # (b, t, t) x (b, t, k) -> (b, t, k)
