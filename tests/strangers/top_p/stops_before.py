# wrong: what stays has at most p together, so the token that crosses p goes; the first is saved
# expect: one-token-too-few
import torch


def top_p(logits, p):
    if p <= 0 or p > 1:
        raise ValueError(f"p must be in (0, 1], got {p}")
    values, order = logits.sort(dim=-1, descending=True)
    total = values.softmax(dim=-1).cumsum(dim=-1)
    keep = total <= p
    keep[..., 0] = True
    values = values.masked_fill(~keep, -torch.inf)
    return torch.empty_like(logits).scatter(-1, order, values)
