"""Without sorting: what is likelier than a token, added up, pair by pair."""

import torch


def top_p(logits, p):
    if not 0 < p <= 1:
        raise ValueError("p is a share: above 0, and 1 at most")
    chances = logits.double().softmax(dim=-1)
    likelier = chances[..., None, :] > chances[..., :, None]
    before = (likelier * chances[..., None, :]).sum(dim=-1)
    return torch.where(before < p, logits, torch.full_like(logits, -torch.inf))
