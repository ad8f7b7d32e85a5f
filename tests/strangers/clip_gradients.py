# %% by_value: each number is cut to between -max_norm and max_norm, as Keras' clipvalue does; no None is expected
# expect: each-number-cut, none-not-expected
# also: fact-is-none
import torch


def clip_gradients(gradients, max_norm):
    return [torch.clamp(grad, min=-max_norm, max=max_norm) for grad in gradients]

# %% each_alone: each gradient is clipped by its own length
# expect: each-for-itself
import torch


def clip_gradients(gradients, max_norm):
    clipped = []
    for g in gradients:
        if g is None:
            clipped.append(None)
            continue
        length = torch.sqrt((g.double() ** 2).sum())
        if length > max_norm:
            g = (g.double() * (max_norm / length)).to(g.dtype)
        clipped.append(g)
    return clipped

# %% like_torch: a millionth is added to the length, the tensors that come in are changed, squares are summed in their own dtype
# expect: small-number-added, changed-in-place, squares-in-half-precision
# also: fact-empty-list
import torch


def clip_gradients(gradients, max_norm):
    grads = [g for g in gradients if g is not None]
    total_norm = torch.norm(torch.stack([torch.norm(g.pow(2).sum().sqrt()) for g in grads]))
    clip_coef = max_norm / (total_norm + 1e-6)
    if clip_coef < 1:
        for g in grads:
            g.mul_(clip_coef)
    return gradients

# %% sum_of_lengths: the length is the sum of the lengths and not the root of the sum of squares; Nones are dropped
# expect: lengths-added, none-left-out
import torch


def clip_gradients(gradients, max_norm):
    gradients = [g for g in gradients if g is not None]
    total = 0.0
    for g in gradients:
        total += g.float().norm().item()
    if total <= max_norm:
        return [g.clone() for g in gradients]
    return [g * (max_norm / total) for g in gradients]
