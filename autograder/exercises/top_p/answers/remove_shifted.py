"""In the manner of many programs: a mask that is shifted by one, so that the token that reaches p stays."""

import torch
import torch.nn.functional as F


def top_p(logits, p):
    if p <= 0 or p > 1:
        raise ValueError(f"p should be in (0, 1], got {p}")
    sorted_logits, sorted_indices = torch.sort(logits, descending=True)
    cumulative = torch.cumsum(F.softmax(sorted_logits, dim=-1), dim=-1)
    remove = cumulative >= p
    remove[..., 1:] = remove[..., :-1].clone()
    remove[..., 0] = False
    mask = torch.zeros_like(remove).scatter(-1, sorted_indices, remove)
    return logits.masked_fill(mask, float("-inf"))
