import torch


def soft_cap(scores, cap):
    return cap * (scores / cap).tanh()


def capped_attention(query, key, value, cap, mask=None):
    """Capped scores need no maximum: with exponentials relative to the cap nothing overflows, unless it is huge."""
    scores = soft_cap(query @ key.mT / key.shape[-1] ** 0.5, cap)
    allowed = torch.ones_like(scores, dtype=torch.bool) if mask is None else mask.expand(scores.shape)
    scores = torch.where(allowed, scores, float("-inf"))
    if scores.shape[-1]:
        top = scores.amax(dim=-1, keepdim=True)
        scores = scores - torch.where(top == float("-inf"), 0.0, top)
    powers = scores.exp()
    total = powers.sum(dim=-1, keepdim=True)
    weights = powers / torch.where(total == 0, 1.0, total)
    return weights @ value, weights
