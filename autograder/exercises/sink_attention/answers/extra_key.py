import torch


def sink_attention(query, key, value, sink, mask=None):
    """The sink as one more key: a feature that is 1 for all queries, 0 for real keys, sink·√d for the sink's key."""
    b, h, s, d = key.shape
    root = d**0.5
    query = torch.cat([query, query.new_ones(b, h, query.shape[2], 1)], dim=-1)
    real = torch.cat([key, key.new_zeros(b, h, s, 1)], dim=-1)
    last = torch.cat([key.new_zeros(b, h, 1, d), sink.view(1, h, 1, 1).expand(b, h, 1, 1)], dim=-1)
    scores = torch.cat([query @ real.mT / root, query @ last.mT], dim=-1)
    if mask is not None:
        see = mask.expand(b, h, query.shape[2], s)
        see = torch.cat([see, see.new_ones(b, h, query.shape[2], 1)], dim=-1)
        scores = scores.masked_fill(see.logical_not(), -torch.inf)
    value = torch.cat(
        [value, torch.zeros_like(value[..., :1, :]) if s else value.new_zeros(b, h, 1, value.shape[-1])], -2
    )
    weights = scores.softmax(dim=-1)
    return weights @ value, weights[..., :s]
