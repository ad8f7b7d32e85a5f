# wrong: True at the padding; lengths above max_len are not refused
# expect: inverted, too-long-not-refused
# also: negative-not-refused, rank-not-checked
import torch


def padding_mask(lengths, max_len=None):
    if max_len is None:
        max_len = int(lengths.max())
    return torch.arange(max_len, device=lengths.device).unsqueeze(0) >= lengths.unsqueeze(1)
