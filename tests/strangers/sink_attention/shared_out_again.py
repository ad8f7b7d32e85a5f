# wrong: without the sink's column the weights are made to sum to 1 again; the sink is scaled like the scores
# expect: renormalised, sink-scaled
# also: sink-ignored
import torch


def sink_attention(query, key, value, sink, mask=None):
    b, h, t, d = query.shape
    scores = query @ key.transpose(-2, -1)
    if mask is not None:
        scores = scores.masked_fill(~mask, float("-inf"))
    column = sink.view(1, h, 1, 1).expand(b, h, t, 1)
    scores = torch.cat([scores, column], dim=-1) / d**0.5
    weights = torch.softmax(scores, dim=-1)[..., :-1]
    weights = weights / weights.sum(dim=-1, keepdim=True)
    return weights @ value, weights
