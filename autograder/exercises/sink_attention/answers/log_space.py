import torch


def sink_attention(query, key, value, sink, mask=None):
    """The normaliser in log space: logaddexp of the keys' and the sink's."""
    scores = query @ key.transpose(-1, -2) * key.size(-1) ** -0.5
    if mask is not None:
        scores = scores.masked_fill(~mask, -torch.inf)
    sink = sink[None, :, None, None]
    with_sink = torch.cat([scores, sink.expand(*scores.shape[:3], 1)], dim=3)
    weights = torch.exp(scores - torch.logsumexp(with_sink, dim=3, keepdim=True))
    return weights @ value, weights
