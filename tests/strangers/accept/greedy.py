# wrong: kept if the target says the same token, else its token comes
# expect: likeliest-alone-kept
# also: target-beside-the-kept, likeliest-of-the-remainder
import torch


def accept(target, draft, token, chance):
    best = target.argmax()
    if best == token:
        return True, target
    rest = torch.zeros_like(target)
    rest[best] = 1.0
    return False, rest
