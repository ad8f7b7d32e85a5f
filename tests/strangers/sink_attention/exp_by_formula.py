# wrong: the formula as it stands, with exp: infinity for large scores or sinks
# expect: exp-of-everything
import torch


def sink_attention(query, key, value, sink, mask=None):
    z = torch.einsum("bhtd,bhsd->bhts", query, key) / query.shape[-1] ** 0.5
    e = torch.exp(z)
    if mask is not None:
        e = e * mask
    below = torch.exp(sink)[None, :, None, None] + e.sum(dim=-1, keepdim=True)
    weights = e / below
    return torch.einsum("bhts,bhsv->bhtv", weights, value), weights
