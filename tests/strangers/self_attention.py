# %% batch_axis: softmax over the batch, and scaled although that comes later
# expect: softmax-over-dim-0, scaled-already
import math

import torch
import torch.nn.functional as F


def self_attention(x):
    b, t, k = x.shape
    dot = torch.einsum("bik,bjk->bij", x, x)
    dot = F.softmax(dot / math.sqrt(k), dim=0)
    return torch.einsum("bij,bjk->bik", dot, x)

# %% cosine: cosine similarity instead of the dot product
# expect: cosine-similarity
# also: rank-not-checked, rank-left-to-bmm
import torch
import torch.nn.functional as F


def self_attention(x):
    n = F.normalize(x, dim=-1)
    sims = n @ n.transpose(-2, -1)
    return F.softmax(sims, dim=-1) @ x

# %% covariance: features attend to features: X^T X instead of X X^T
# expect: features-compared
# also: rank-not-checked, rank-left-to-bmm
import torch


def self_attention(x):
    gram = torch.bmm(x.transpose(1, 2), x)
    w = torch.softmax(gram, dim=-1)
    return torch.bmm(x, w)

# %% double_loop: no softmax: the scores are divided by their sum; python loops
# expect: divided-by-the-sum
import torch


def self_attention(x):
    b, t, k = x.size()
    y = torch.zeros_like(x)
    for n in range(b):
        for i in range(t):
            w = torch.stack([torch.dot(x[n, i], x[n, j]) for j in range(t)])
            w = w / w.sum()
            for j in range(t):
                y[n, i] = y[n, i] + w[j] * x[n, j]
    return y

# %% prose_formula: sums x_i instead of x_j, as the prose of the original has it, so the output is the input
# expect: own-vector
# also: rank-not-checked, rank-left-to-bmm
import torch


def self_attention(x):
    w = torch.softmax(x @ x.transpose(1, 2), dim=2)
    return w.sum(dim=2, keepdim=True) * x

# %% query_axis: softmax over the queries
# expect: softmax-over-the-wrong-tokens
# also: rank-not-checked
import torch
import torch.nn.functional as F


def self_attention(x):
    raw_weights = torch.bmm(x, x.transpose(1, 2))
    weights = F.softmax(raw_weights, dim=1)
    y = torch.bmm(weights, x)
    return y

# %% residual_and_causal: causal though nothing asks for it; the input is added to the output
# expect: input-added, always-causal, ?
# also: rank-not-checked, fact-two-devices
import torch


def self_attention(x):
    T = x.shape[1]
    wei = x @ x.transpose(-2, -1)
    wei = wei.masked_fill(torch.tril(torch.ones(T, T)) == 0, float("-inf"))
    wei = torch.softmax(wei, dim=-1)
    return x + wei @ x

# %% third_step: the output is multiplied by the inputs once more
# expect: multiplied-by-the-input
# also: rank-not-checked
import torch


def self_attention(x):
    similarity = torch.matmul(x, torch.transpose(x, 1, 2))
    probs = torch.nn.Softmax(dim=2)(similarity)
    context = torch.matmul(probs, x)
    return context * x

# %% weights_returned: returns the weights instead of the output
# expect: weights-returned
# also: rank-not-checked, rank-left-to-bmm
import torch


def self_attention(x):
    scores = torch.bmm(x, x.permute(0, 2, 1))
    weights = scores.softmax(-1)
    out = torch.bmm(weights, x)
    return weights
