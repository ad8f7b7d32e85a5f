# mixes up dimensions and forgets the scale, and no error message says so
# expect: softmax = partial dim-ignored
# expect: SelfAttentionNaive = partial softmax-over-the-wrong-tokens
# expect: self_attention = partial softmax-over-the-wrong-tokens
# expect: constant_vector_length = full
# expect: scaled_self_attention = partial no-scale

# %% softmax
def softmax(scores, dim=-1):
    largest = scores.detach().amax(-1, keepdim=True)
    largest = largest.masked_fill(largest == float("-inf"), 0.0)
    powers = torch.exp(scores - largest)
    total = powers.sum(-1, keepdim=True)
    return powers / total.masked_fill(total == 0, 1.0)

# %% SelfAttentionNaive
class SelfAttentionNaive(nn.Module):
    """Self-attention without anything to learn, for one sequence: (n, d) -> (n, d)."""

    def forward(self, inputs):
        if inputs.dim() != 2:
            raise ValueError(f"inputs must have shape (n, d), but their shape is {tuple(inputs.shape)}")
        attention_scores = inputs @ inputs.T                     # (n, d) x (d, n) -> (n, n)
        attention_weights = F.softmax(attention_scores, dim=-2)  # (n, n)
        return attention_weights @ inputs                        # (n, n) x (n, d) -> (n, d)

# %% self_attention
def self_attention(x):
    if x.dim() != 3:
        raise ValueError(f"x must have shape (b, t, k), but its shape is {tuple(x.shape)}")
    scores = x @ x.transpose(1, 2)      # (b, t, k) x (b, k, t) -> (b, t, t)
    weights = F.softmax(scores, dim=1)  # (b, t, t)
    return weights @ x                  # (b, t, t) x (b, t, k) -> (b, t, k)

# %% constant_vector_length
def constant_vector_length(c, k):
    return (k * c**2) ** 0.5

# %% scaled_self_attention
def scaled_self_attention(x):
    if x.dim() != 3:
        raise ValueError(f"x must have shape (b, t, k), but its shape is {tuple(x.shape)}")
    scores = x @ x.transpose(1, 2)      # (b, t, k) x (b, k, t) -> (b, t, t)
    weights = F.softmax(scores, dim=2)  # (b, t, t)
    return weights @ x                  # (b, t, t) x (b, t, k) -> (b, t, k)
