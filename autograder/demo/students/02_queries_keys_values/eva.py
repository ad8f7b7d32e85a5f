# implemented attention and left both originals as they were handed out
# expect: SingleHeadSelfAttention = zero original-001
# expect: SelfAttention = partial original-004
# expect: attention = full

# %% attention
def attention(query, key, value, mask=None):
    for tensor in (query, key, value):
        if tensor.dim() < 2:
            raise ValueError(f"expected (..., length, width), got {tuple(tensor.shape)}")
    scores = (query / key.shape[-1] ** 0.5) @ key.transpose(-2, -1)
    if mask is not None:
        someone = mask.any(dim=-1, keepdim=True)
        scores = scores.masked_fill(~mask, float("-inf")).masked_fill(~someone, 0.0)
    weights = F.softmax(scores, dim=-1)
    if mask is not None:
        weights = weights.masked_fill(~someone, 0.0)
    return weights @ value, weights
