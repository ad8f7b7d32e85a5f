"""The smallest probability that stays is a threshold."""

import torch
from torch import Tensor


def top_p(logits: Tensor, p: float) -> Tensor:
    if p <= 0.0 or p > 1.0:
        raise ValueError(f"top-p needs 0 < p <= 1, and p is {p}")
    probs = torch.softmax(logits.float(), dim=-1)
    ordered = torch.sort(probs, dim=-1, descending=True).values
    needed = (ordered.cumsum(-1) < p).sum(-1, keepdim=True).clamp(max=logits.size(-1) - 1)
    threshold = ordered.gather(-1, needed)
    return logits.masked_fill(probs < threshold, float("-inf"))
