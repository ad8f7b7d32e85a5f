# %% exp_by_formula: the formula as it stands, with exp: infinity for large scores or sinks
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

# %% first_key: the sink is added to the score of the first key (as in StreamingLLM, whose sink is the first token)
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

# %% gptoss_with_column: the sink's column stays in the weights that are returned; empty rows and the sink are masked with -1e9
# expect: column-returned, mask-hides-the-sink, mask-fills-with-billion
import torch
import torch.nn.functional as F


def sink_attention(query, key, value, sink, mask=None):
    n_rows = query.shape[2]
    QK = torch.einsum("bhqd,bhkd->bhqk", query, key) * query.shape[-1] ** -0.5
    S = sink.reshape(1, -1, 1, 1).expand(query.shape[0], -1, n_rows, 1)
    QK = torch.cat([QK, S], dim=-1)
    if mask is not None:
        mask = F.pad(mask.expand(QK[..., :-1].shape), (0, 1), value=False)
        QK = QK.masked_fill(~mask, -1e9)
    W = torch.softmax(QK, dim=-1)
    return W[..., :-1] @ value, W

# %% shared_out_again: without the sink's column the weights are made to sum to 1 again; the sink is scaled like the scores
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
