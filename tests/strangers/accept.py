# %% greedy: kept if the target says the same token, else its token comes
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

# %% if_kept_no_rest: the remainder is only made where the token is refused
# expect: no-remainder-when-kept
import torch


def accept(target, draft, token, chance):
    if chance < target[token] / draft[token]:
        return True, None
    diff = torch.relu(target - draft)
    return False, diff / diff.sum()

# %% probabilities_of_logits: softmax of both first, since "models give logits"; the token is sampled
# expect: softmax-again
import torch


def accept(target, draft, token, chance):
    p = torch.softmax(target, dim=-1)
    q = torch.softmax(draft, dim=-1)
    kept = bool(chance < p[token] / q[token])
    rest = (p - q).clamp(min=0)
    return kept, rest / rest.sum()

# %% ratio_turned_round: draft / target
# expect: ratio-upside-down
import torch


def accept(target, draft, token, chance):
    ratio = draft[token] / target[token]
    kept = bool(chance < ratio)
    rest = (target - draft).clamp(min=0)
    return kept, rest / rest.sum()

# %% rest_not_a_distribution: the remainder is cut at 0 but not normalised; equal chances are kept
# expect: remainder-not-normalised, equal-chance-kept
import torch


def accept(target, draft, token, chance):
    ratio = (target[token] / draft[token]).item()
    accepted = chance <= min(1, ratio)
    residual = torch.maximum(target - draft, torch.zeros_like(target))
    return accepted, residual

# %% target_again: a refused token is replaced by a draw from the target itself
# expect: remainder-is-the-target
import torch


def accept(target, draft, token, chance):
    p, q = target[token], draft[token]
    kept = chance < min(1.0, (p / q).item())
    return kept, target

# %% zeroed_token: the refused token is taken out of the target, and the rest normalised
# expect: remainder-without-the-token
import torch


def accept(target, draft, token, chance):
    kept = bool(chance < target[token] / draft[token])
    rest = target.clone()
    rest[token] = 0
    return kept, rest / rest.sum()
