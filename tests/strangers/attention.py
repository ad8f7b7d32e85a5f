# %% annotated: -1e9 instead of -inf: a query with nothing to attend to gets equal weights
# expect: mask-fills-with-billion
# also: rank-not-checked
import math

import torch


def attention(query, key, value, mask=None, dropout=None):
    "Compute 'Scaled Dot Product Attention'"
    d_k = query.size(-1)
    scores = torch.matmul(query, key.transpose(-2, -1)) / math.sqrt(d_k)
    if mask is not None:
        scores = scores.masked_fill(mask == 0, -1e9)
    p_attn = scores.softmax(dim=-1)
    if dropout is not None:
        p_attn = dropout(p_attn)
    return torch.matmul(p_attn, value), p_attn

# %% bmm_only: only three dimensions work (bmm, transpose(1, 2)); the mask must be of the scores' shape
# expect: only-three-dimensions
# also: fixed-dimensions, rank-not-checked, fact-no-such-dimension, fact-fixed-rank
import torch
import torch.nn.functional as F


def attention(query, key, value, mask=None):
    scores = torch.bmm(query, key.transpose(1, 2)) / query.size(2) ** 0.5
    if mask is not None:
        scores = scores.masked_fill(mask == False, float("-inf"))
    weights = F.softmax(scores, dim=2)
    weights = weights.masked_fill(torch.isnan(weights), 0.0)
    return torch.bmm(weights, value), weights

# %% boolean_index: boolean indexing, which does not broadcast; no scale; NaN in empty rows
# expect: no-scale, nan-in-empty-rows, ?
# also: rank-not-checked, fact-boolean-index
import torch


def attention(query, key, value, mask=None):
    scores = torch.matmul(query, key.transpose(-1, -2))
    if mask is not None:
        scores[~mask] = float("-inf")
    weights = torch.nn.Softmax(dim=-1)(scores)
    return torch.matmul(weights, value), weights

# %% empty_nan: a query with nothing to attend to gives NaN
# expect: nan-in-empty-rows
# also: rank-not-checked
import torch
import torch.nn.functional as F


def attention(query, key, value, mask=None):
    d = key.shape[-1]
    s = (query @ key.mT) * d**-0.5
    if mask is not None:
        s = s.masked_fill(~mask, float("-inf"))
    w = F.softmax(s, dim=-1)
    return w @ value, w

# %% float32_softmax: computed in float32 whatever comes in, weights stay float32 for float64; fills with -1e9
# expect: mask-fills-with-billion, float32-comes-out
# also: through-float32, rank-not-checked, lowest-number-in-empty-rows
import torch
import torch.nn.functional as F


def attention(query, key, value, mask=None):
    scores = (query @ key.transpose(-2, -1)) / key.shape[-1] ** 0.5
    scores = scores.float()
    if mask is not None:
        scores = scores.masked_fill(mask == 0, -1e9)
    w = F.softmax(scores, dim=-1, dtype=torch.float32)
    return w.to(value.dtype) @ value, w

# %% mask_after: the mask is multiplied with the weights after the softmax; the rows no longer sum to 1
# expect: mask-after-softmax
# also: rank-not-checked
import torch
import torch.nn.functional as F


def attention(query, key, value, mask=None):
    dk = key.shape[-1]
    weights = F.softmax(query @ key.transpose(-2, -1) / dk**0.5, dim=-1)
    if mask is not None:
        weights = weights * mask
    output = weights @ value
    return output, weights

# %% mask_ignored: the mask is not used; the scale is the root of the number of keys
# expect: mask-ignored, scale-by-number-of-keys
# also: rank-not-checked
import torch


def attention(query, key, value, mask=None):
    n = key.shape[-2]
    product = torch.matmul(query, key.transpose(-2, -1))
    weights = torch.softmax(product / n**0.5, dim=-1)
    return torch.matmul(weights, value), weights

# %% mask_multiplied: the scores are multiplied by the mask, so hidden keys count with score 0; softmax over the queries
# expect: mask-fills-with-zero, softmax-over-queries, scale-in-float32
# also: rank-not-checked, fact-two-dtypes
import torch


def attention(query, key, value, mask=None):
    logits = torch.matmul(query, key.transpose(-2, -1)) / torch.sqrt(torch.tensor(query.size(-1)).float())
    if mask is not None:
        logits = logits * mask.float()
    probs = torch.softmax(logits, dim=-2)
    return torch.matmul(probs, value), probs

# %% minus_1e20: -1e20 as a fill: empty rows are uniform, half precision raises; divided by the width, not its root
# expect: scale-without-root, ?
# also: mask-fills-with-billion, rank-not-checked
import torch
import torch.nn.functional as F


def attention(query, key, value, mask=None):
    energy = query @ key.transpose(-1, -2)
    if mask is not None:
        energy = energy.masked_fill(mask == 0, float("-1e20"))
    att = F.softmax(energy / key.shape[-1], dim=-1)
    return att @ value, att

# %% nan_to_num_output: nan_to_num mends the output only: the weights and the gradients stay NaN
# expect: nan-patched-in-output
# also: rank-not-checked
import torch


def attention(query, key, value, mask=None):
    att = query @ key.transpose(-2, -1) / (query.shape[-1]) ** 0.5
    if mask is not None:
        att = torch.where(mask, att, torch.tensor(float("-inf")))
    att = torch.softmax(att, dim=-1)
    out = torch.nan_to_num(att @ value)
    return out, att

# %% none_negated: the mask None is negated, which raises; NaN in empty rows
# expect: none-inverted, nan-in-empty-rows
# also: rank-not-checked
import torch


def attention(query, key, value, mask=None):
    scores = query @ key.transpose(-2, -1) / key.size(-1) ** 0.5
    scores = scores.masked_fill(~mask, -float("inf"))
    w = scores.softmax(-1)
    return w @ value, w

# %% numbers_mask: no scale; the mask is added as a number
# expect: no-scale, ?
# also: rank-not-checked
import torch


def attention(query, key, value, mask=None):
    scores = torch.matmul(query, key.transpose(-2, -1))
    if mask is not None:
        scores = scores + mask
    weights = torch.softmax(scores, dim=-1)
    return torch.matmul(weights, value), weights

# %% output_only: returns the output alone; scale of the value's width
# expect: output-alone, scale-by-value-width
# also: rank-not-checked
import torch


def attention(query, key, value, mask=None):
    dim = value.shape[-1]
    a = torch.matmul(query, key.transpose(-2, -1)) / (dim**0.5)
    if mask is not None:
        a = a.masked_fill(mask.logical_not(), float("-inf"))
    a = torch.softmax(a, dim=-1)
    a = torch.nan_to_num(a)
    return torch.matmul(a, value)

# %% polarity: True means hidden; a query with nothing to attend to gives NaN
# expect: mask-inverted, nan-in-empty-rows
# also: rank-not-checked
import torch


def attention(query, key, value, mask=None):
    scale = 1.0 / (query.shape[-1] ** 0.5)
    scores = torch.einsum("...td,...sd->...ts", query, key) * scale
    if mask is not None:
        scores = scores.masked_fill(mask, -torch.inf)
    weights = torch.softmax(scores, dim=-1)
    return torch.einsum("...ts,...sd->...td", weights, value), weights

# %% tuple_swapped: weights and output are returned in the wrong order; a mask of floats 0/-inf is expected and added
# expect: pair-swapped, mask-inverted
# also: mask-fills-with-billion, rank-not-checked
import torch


def attention(query, key, value, mask=None):
    qk = torch.matmul(query, key.swapaxes(-1, -2))
    scaled = qk / (key.shape[-1] ** 0.5)
    if mask is not None:
        scaled += mask * -1e9
    attention_weights = torch.softmax(scaled, -1)
    output = torch.matmul(attention_weights, value)
    return attention_weights, output

# %% uses_torch: torch's own function gives the output; the weights are made without the mask
# expect: ?
# also: rank-not-checked, fact-no-such-dimension
import torch
import torch.nn.functional as F


def attention(query, key, value, mask=None):
    out = F.scaled_dot_product_attention(query, key, value, attn_mask=mask)
    weights = torch.softmax(query @ key.transpose(-2, -1) / key.size(-1) ** 0.5, dim=-1)
    return out, weights
