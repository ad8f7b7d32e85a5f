# wrong: the sink is added to the score of the first key (as in StreamingLLM, whose sink is the first token)
# expect: sink-added-to-the-first-key
# also: nan-where-all-is-hidden
import torch


def sink_attention(query, key, value, sink, mask=None):
    scores = query @ key.transpose(-2, -1) / query.shape[-1] ** 0.5
    extra = torch.zeros_like(scores)
    extra[..., 0] = 1.0
    scores = scores + extra * sink[None, :, None, None]
    if mask is not None:
        scores = scores.masked_fill(~mask, -torch.inf)
    weights = scores.softmax(dim=-1)
    return weights @ value, weights
