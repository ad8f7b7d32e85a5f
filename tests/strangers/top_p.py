# %% gist: the gist that everybody copies: one row only, logits changed in place, any p taken
# expect: ?, input-changed, p-not-checked
# also: zero-accepted, above-1-accepted, fact-beyond-the-last
import torch
import torch.nn.functional as F


def top_p(logits, p, filter_value=-float("Inf")):
    sorted_logits, sorted_indices = torch.sort(logits, descending=True)
    cumulative_probs = torch.cumsum(F.softmax(sorted_logits, dim=-1), dim=-1)

    # Remove tokens with cumulative probability above the threshold
    sorted_indices_to_remove = cumulative_probs > p
    # Shift the indices to the right to keep also the first token above the threshold
    sorted_indices_to_remove[..., 1:] = sorted_indices_to_remove[..., :-1].clone()
    sorted_indices_to_remove[..., 0] = 0

    indices_to_remove = sorted_indices[sorted_indices_to_remove]
    logits[indices_to_remove] = filter_value
    return logits

# %% llama_probs: probabilities come back, renormalised, with 0 for what goes; they stay sorted; no ValueError (Llama's sample_top_p)
# expect: probabilities-returned, order-not-undone, p-not-checked
# also: zero-accepted, above-1-accepted
import torch


def top_p(logits, p):
    probs = torch.softmax(logits, dim=-1)
    probs_sort, probs_idx = torch.sort(probs, dim=-1, descending=True)
    probs_sum = torch.cumsum(probs_sort, dim=-1)
    mask = probs_sum - probs_sort > p
    probs_sort = probs_sort.masked_fill(mask, 0.0)
    probs_sort = probs_sort / probs_sort.sum(dim=-1, keepdim=True)
    return probs_sort

# %% share_of_best: that is min-p: what has at least p times the probability of the likeliest stays
# expect: share-of-the-likeliest
import torch
import torch.nn.functional as F


def top_p(logits, p):
    if not 0 < p <= 1:
        raise ValueError("p has to be above 0 and at most 1")
    probs = F.softmax(logits, dim=-1)
    limit = probs.max(dim=-1, keepdim=True).values * p
    return torch.where(probs >= limit, logits, torch.full_like(logits, float("-inf")))

# %% stops_before: what stays has at most p together, so the token that crosses p goes; the first is saved
# expect: one-token-too-few
import torch


def top_p(logits, p):
    if p <= 0 or p > 1:
        raise ValueError(f"p must be in (0, 1], got {p}")
    values, order = logits.sort(dim=-1, descending=True)
    total = values.softmax(dim=-1).cumsum(dim=-1)
    keep = total <= p
    keep[..., 0] = True
    values = values.masked_fill(~keep, -torch.inf)
    return torch.empty_like(logits).scatter(-1, order, values)
