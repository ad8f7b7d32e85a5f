# wrong: large scores are clamped instead of subtracting the maximum
# expect: scores-clamped
import torch


def softmax(scores, dim=-1):
    safe = torch.clamp(scores, -50, 50)  # so that exp does not explode
    safe = safe.exp()
    return safe.div(safe.sum(dim, keepdim=True))
