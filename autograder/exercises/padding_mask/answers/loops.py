"""Row by row, in place on a mask of one's own."""

import torch


def padding_mask(lengths, max_len=None):
    if len(lengths.shape) != 1:
        raise ValueError(f"got {tuple(lengths.shape)}")
    longest = max(lengths.tolist())
    most = longest if max_len is None else max_len
    mask = torch.zeros(len(lengths), most, dtype=torch.bool, device=lengths.device)
    for row, length in enumerate(lengths.tolist()):
        if not 0 <= length <= most:
            raise ValueError(f"length {length} is not between 0 and {most}")
        mask[row, :length] = True
    return mask
