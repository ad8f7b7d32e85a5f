# wrong: probabilities come back, renormalised, with 0 for what goes; they stay sorted; no ValueError (Llama's sample_top_p)
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
