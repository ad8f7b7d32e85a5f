import torch


def sink_attention(query, key, value, sink, mask=None):
    """By hand: the largest of all logits, the sink's among them, then exponentials and their sum."""
    scores = torch.einsum("bhtd,bhsd->bhts", query, key) / query.size(-1) ** 0.5
    sink = sink.view(1, -1, 1, 1)
    if mask is not None:
        scores = scores.masked_fill(~mask, float("-inf"))
    top = sink if scores.shape[-1] == 0 else torch.maximum(scores.amax(dim=-1, keepdim=True), sink)
    powers = torch.exp(scores - top.detach())
    weights = powers / (powers.sum(dim=-1, keepdim=True) + torch.exp(sink - top.detach()))
    return torch.einsum("bhts,bhsd->bhtd", weights, value), weights
