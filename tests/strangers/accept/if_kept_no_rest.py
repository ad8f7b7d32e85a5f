# wrong: the remainder is only made where the token is refused
# expect: no-remainder-when-kept
import torch


def accept(target, draft, token, chance):
    if chance < target[token] / draft[token]:
        return True, None
    diff = torch.relu(target - draft)
    return False, diff / diff.sum()
