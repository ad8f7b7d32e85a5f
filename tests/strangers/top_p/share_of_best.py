# wrong: that is min-p: what has at least p times the probability of the likeliest stays
# expect: share-of-the-likeliest
import torch
import torch.nn.functional as F


def top_p(logits, p):
    if not 0 < p <= 1:
        raise ValueError("p has to be above 0 and at most 1")
    probs = F.softmax(logits, dim=-1)
    limit = probs.max(dim=-1, keepdim=True).values * p
    return torch.where(probs >= limit, logits, torch.full_like(logits, float("-inf")))
