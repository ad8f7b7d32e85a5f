# wrong: a refused token is replaced by a draw from the target itself
# expect: remainder-is-the-target
import torch


def accept(target, draft, token, chance):
    p, q = target[token], draft[token]
    kept = chance < min(1.0, (p / q).item())
    return kept, target
