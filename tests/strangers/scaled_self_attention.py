# %% after_softmax: the scale comes after the softmax
# expect: scale-after-softmax
# also: rank-not-checked
import torch


def scaled_self_attention(x):
    k = x.size(2)
    weights = torch.softmax(torch.einsum("btk,bsk->bts", x, x), dim=-1)
    weights = weights / torch.sqrt(torch.tensor(k, dtype=x.dtype, device=x.device))
    return torch.einsum("bts,bsk->btk", weights, x)

# %% inputs_scaled: both factors are divided by the root, so the scores are divided by k
# expect: scale-without-root
# also: rank-not-checked
import torch


def scaled_self_attention(x):
    k = x.shape[-1]
    q = x / k**0.5
    s = x / k**0.5
    att = torch.softmax(q @ s.transpose(-2, -1), dim=-1)
    return att @ x

# %% multiplied: multiplied by the root instead of divided; softmax over the queries
# expect: multiplied-by-the-root, softmax-over-the-wrong-tokens
import torch


def scaled_self_attention(x):
    b, t, k = x.size()
    W = torch.matmul(x, x.transpose(1, 2)) * (k ** (1 / 2))
    W = torch.nn.functional.softmax(W, dim=1)
    return torch.matmul(W, x)

# %% scale_tokens: the scale is the root of the number of tokens
# expect: scale-by-number-of-tokens
# also: rank-not-checked
import math

import torch


def scaled_self_attention(x):
    scores = torch.bmm(x, x.transpose(1, 2))
    scores = scores / math.sqrt(scores.size(-1))
    return torch.bmm(torch.softmax(scores, dim=2), x)

# %% scaled_values_too: x is scaled before everything, so scores are divided by k and the values are scaled as well
# expect: tokens-divided-by-the-root
# also: scaled-input-averaged, scale-without-root, rank-not-checked
import torch


def scaled_self_attention(x):
    x = x / (x.shape[-1] ** 0.5)
    w = (x @ x.mT).softmax(dim=-1)
    return w @ x
