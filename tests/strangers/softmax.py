# %% axis_zero: always over dim 0
# expect: ?
# also: default-is-first-dimension
import torch


def softmax(scores, dim=-1):
    scores = scores - torch.max(scores, dim=0, keepdim=True).values
    scores = torch.exp(scores)
    total = torch.sum(scores, dim=0, keepdim=True)
    return scores / total

# %% clamped: large scores are clamped instead of subtracting the maximum
# expect: scores-clamped
import torch


def softmax(scores, dim=-1):
    safe = torch.clamp(scores, -50, 50)  # so that exp does not explode
    safe = safe.exp()
    return safe.div(safe.sum(dim, keepdim=True))

# %% epsilon_float: an epsilon in the denominator makes sums less than 1; turned to float32 whatever comes in
# expect: epsilon-in-the-sum, float32-comes-out
import torch


def softmax(scores, dim=-1):
    x = scores.float()
    x = x - x.max(dim=dim, keepdim=True).values
    top = torch.exp(x)
    return top / (top.sum(dim=dim, keepdim=True) + 1e-6)

# %% global_max: the maximum is of the whole tensor, so a slice far below it underflows to 0/0
# expect: one-max-for-all-slices
import torch


def softmax(scores, dim=-1):
    # subtract max for numerical stability!!
    z = scores - scores.max()
    num = z.exp()
    den = num.sum(dim, keepdim=True)
    out = num / den
    return out

# %% inplace_minus: the maximum is subtracted in place, so the caller's scores change (and leaves that need a gradient raise)
# expect: changed-by-minus-equals
# also: scores-changed-in-place
import torch


def softmax(scores, dim=-1):
    scores -= scores.max(dim=dim, keepdim=True)[0]
    p = torch.exp(scores)
    p = p / p.sum(dim=dim, keepdim=True)
    return p

# %% library: torch's own softmax, which the exercise does not allow
# expect: torchs-own-softmax
import torch.nn.functional as F


def softmax(scores, dim=-1):
    return F.softmax(scores, dim=dim)

# %% no_keepdim: sum without keepdim, so shapes don't fit or broadcast against the wrong dimension
# expect: keepdim-forgotten
import torch


def softmax(scores, dim=-1):
    m, _ = torch.max(scores, dim=dim, keepdim=True)
    ex = torch.exp(scores - m)
    return ex / ex.sum(dim=dim)

# %% no_max: the maximum is not subtracted, so large scores overflow
# expect: textbook-formula
# also: exp-without-max
import torch


def softmax(scores, dim=-1):
    e = torch.exp(scores)
    return e / torch.sum(e, dim=dim, keepdim=True)

# %% numpy_habit: always over the last dimension, dim is not used; the maximum is not subtracted
# expect: textbook-formula, dim-ignored
# also: exp-without-max
import torch


def softmax(scores, dim=-1):
    exps = torch.exp(scores)
    sums = exps.sum(axis=-1)[..., None]
    return exps / sums

# %% through_numpy: computed in numpy, so there is no gradient (detached) and no device but the CPU
# expect: weights-detached, ?
import numpy as np
import torch


def softmax(scores, dim=-1):
    a = scores.detach().cpu().numpy()
    a = a - np.max(a, axis=dim, keepdims=True)
    e = np.exp(a)
    return torch.from_numpy(e / np.sum(e, axis=dim, keepdims=True))

# %% total_sum: divided by the sum of all entries instead of the sum along dim
# expect: sum-over-everything
import torch


def softmax(scores, dim=-1):
    maximum = torch.amax(scores, dim=dim, keepdim=True)
    exp_scores = torch.exp(scores - maximum)
    return exp_scores / torch.sum(exp_scores)

# %% two_dim_loop: written for a matrix: it loops over rows, so other shapes and other dims come out wrong; no maximum
# expect: loop-over-rows, textbook-formula
# also: matrices-only, dim-ignored, exp-without-max
import torch


def softmax(scores, dim=-1):
    rows = []
    for i in range(scores.shape[0]):
        row = scores[i]
        rows.append(torch.exp(row) / torch.exp(row).sum())
    return torch.stack(rows)
