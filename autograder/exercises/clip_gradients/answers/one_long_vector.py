import torch


def clip_gradients(gradients, max_norm):
    there = [g.detach().reshape(-1).to(torch.float64) for g in gradients if g is not None]
    if not there:
        return list(gradients)
    length = torch.linalg.vector_norm(torch.cat(there))
    factor = min(1.0, max_norm / max(length.item(), 1e-300))
    return [g if g is None else (g.double() * factor).to(g.dtype) for g in gradients]
