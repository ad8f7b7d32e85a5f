import torch


def accept(target, draft, token, chance):
    """What both have in common is kept; the rest of the target is what it has alone."""
    p, q = target.float() if target.dtype != torch.float64 else target, draft.to(torch.float64)
    common = torch.minimum(p.double(), q)
    alone = p.double() - common
    kept = common[token] > chance * q[token]
    if q[token] <= p[token].double():
        kept = torch.tensor(True)
    return kept, (alone / alone.sum()).to(target.dtype)
