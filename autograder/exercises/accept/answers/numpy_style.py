import numpy as np
import torch


def accept(target, draft, token, chance):
    """In float64 by NumPy, and back."""
    p, q = (x.detach().to("cpu", torch.float64).numpy() for x in (target, draft))
    above = np.where(p > q, p - q, 0.0)
    with np.errstate(invalid="ignore"):
        remainder = above / above.sum()
    return bool(chance * q[int(token)] < p[int(token)]), torch.from_numpy(remainder).to(target)
