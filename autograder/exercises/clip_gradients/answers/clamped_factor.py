import torch


def clip_gradients(gradients, max_norm):
    there = [g for g in gradients if g is not None]
    if not there:
        return list(gradients)
    length = torch.stack([g.double().pow(2).sum() for g in there]).sum().sqrt()
    factor = torch.clamp(max_norm / length.clamp(min=torch.finfo(torch.float64).tiny), max=1.0)
    return [None if g is None else (g.double() * factor).type_as(g) for g in gradients]
