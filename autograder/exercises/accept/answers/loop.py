def accept(target, draft, token, chance):
    p, q = target[token].item(), draft[token].item()
    remainder = target.new_zeros(len(target))
    for i in range(len(target)):
        if target[i] > draft[i]:
            remainder[i] = target[i] - draft[i]
    total = remainder.sum()
    if p >= q:
        return True, remainder / total
    if chance < p / q:
        return True, remainder / total
    return False, remainder / total
