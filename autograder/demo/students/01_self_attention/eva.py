# implemented what was to be implemented and left both originals as they were handed out
# expect: softmax = full
# expect: SelfAttentionNaive = partial original-004
# expect: self_attention = full
# expect: constant_vector_length = zero original-000
# expect: scaled_self_attention = full

# %% softmax
def softmax(scores, dim=-1):
    largest = scores.detach().amax(dim=dim, keepdim=True)
    largest = largest.masked_fill(largest == float("-inf"), 0.0)
    powers = torch.exp(scores - largest)
    total = powers.sum(dim=dim, keepdim=True)
    return powers / total.masked_fill(total == 0, 1.0)

# %% self_attention
def self_attention(x):
    if x.dim() != 3:
        raise ValueError(f"expected (b, t, k), got {tuple(x.shape)}")
    scores = torch.bmm(x, x.transpose(1, 2))  # (b, t, k) x (b, k, t) -> (b, t, t)
    weights = F.softmax(scores, dim=2)        # (b, t, t)
    return torch.bmm(weights, x)              # (b, t, t) x (b, t, k) -> (b, t, k)

# %% scaled_self_attention
def scaled_self_attention(x):
    if x.dim() != 3:
        raise ValueError(f"expected (b, t, k), got {tuple(x.shape)}")
    scores = torch.bmm(x, x.transpose(1, 2))  # (b, t, k) x (b, k, t) -> (b, t, t)
    scaled = scores / x.shape[2] ** 0.5       # (b, t, t)
    weights = F.softmax(scaled, dim=2)        # (b, t, t)
    return torch.bmm(weights, x)              # (b, t, t) x (b, t, k) -> (b, t, k)
