# wrong: the refused token is taken out of the target, and the rest normalised
# expect: remainder-without-the-token
import torch


def accept(target, draft, token, chance):
    kept = bool(chance < target[token] / draft[token])
    rest = target.clone()
    rest[token] = 0
    return kept, rest / rest.sum()
