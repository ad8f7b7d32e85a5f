import torch


def accept(target, draft, token, chance):
    ratio = torch.minimum(torch.ones_like(target), target / draft)
    remainder = torch.relu(target - draft)
    remainder = remainder / remainder.sum(dim=-1, keepdim=True)
    return ratio[token] > chance, remainder
