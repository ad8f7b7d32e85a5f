# wrong: draft / target
# expect: ratio-upside-down
import torch


def accept(target, draft, token, chance):
    ratio = draft[token] / target[token]
    kept = bool(chance < ratio)
    rest = (target - draft).clamp(min=0)
    return kept, rest / rest.sum()
