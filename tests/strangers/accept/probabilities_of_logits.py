# wrong: softmax of both first, since "models give logits"; the token is sampled
# expect: softmax-again
import torch


def accept(target, draft, token, chance):
    p = torch.softmax(target, dim=-1)
    q = torch.softmax(draft, dim=-1)
    kept = bool(chance < p[token] / q[token])
    rest = (p - q).clamp(min=0)
    return kept, rest / rest.sum()
