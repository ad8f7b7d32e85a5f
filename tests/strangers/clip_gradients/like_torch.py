# wrong: a millionth is added to the length, the tensors that come in are changed, squares are summed in their own dtype
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
