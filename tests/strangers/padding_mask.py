# %% loop_no_checks: max_len is ignored; no ValueError for bad lengths
# expect: max-len-ignored
# also: too-long-not-refused, negative-not-refused, rank-not-checked
import torch


def padding_mask(lengths, max_len=None):
    longest = max(lengths.tolist())
    mask = torch.zeros(len(lengths), longest, dtype=torch.bool, device=lengths.device)
    for row, n in enumerate(lengths):
        mask[row, :n] = True
    return mask

# %% or_instead_of_none: off by one, one place too many is real; no ValueError for bad lengths; made on the CPU
# expect: one-too-many, too-long-not-refused, ?
# also: zero-taken-for-none, negative-not-refused, rank-not-checked
import torch


def padding_mask(lengths, max_len=None):
    max_len = max_len or lengths.max().item()
    r = torch.arange(0, max_len)
    return r[None, :] <= lengths[:, None]

# %% pad_is_true: True at the padding; lengths above max_len are not refused
# expect: inverted, too-long-not-refused
# also: negative-not-refused, rank-not-checked
import torch


def padding_mask(lengths, max_len=None):
    if max_len is None:
        max_len = int(lengths.max())
    return torch.arange(max_len, device=lengths.device).unsqueeze(0) >= lengths.unsqueeze(1)
