# wrong: off by one, one place too many is real; no ValueError for bad lengths; made on the CPU
# expect: one-too-many, too-long-not-refused, ?
# also: zero-taken-for-none, negative-not-refused, rank-not-checked
import torch


def padding_mask(lengths, max_len=None):
    max_len = max_len or lengths.max().item()
    r = torch.arange(0, max_len)
    return r[None, :] <= lengths[:, None]
