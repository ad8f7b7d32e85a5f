# wrong: max_len is ignored; no ValueError for bad lengths
# expect: max-len-ignored
# also: too-long-not-refused, negative-not-refused, rank-not-checked
import torch


def padding_mask(lengths, max_len=None):
    longest = max(lengths.tolist())
    mask = torch.zeros(len(lengths), longest, dtype=torch.bool, device=lengths.device)
    for row, n in enumerate(lengths):
        mask[row, :n] = True
    return mask
