# wrong: the remainder is cut at 0 but not normalised; equal chances are kept
# expect: remainder-not-normalised, equal-chance-kept
import torch


def accept(target, draft, token, chance):
    ratio = (target[token] / draft[token]).item()
    accepted = chance <= min(1, ratio)
    residual = torch.maximum(target - draft, torch.zeros_like(target))
    return accepted, residual
