# wrong: -1e20 as a fill: empty rows are uniform, half precision raises; divided by the width, not its root
# expect: scale-without-root, ?
# also: mask-fills-with-billion, rank-not-checked
import torch
import torch.nn.functional as F


def attention(query, key, value, mask=None):
    energy = query @ key.transpose(-1, -2)
    if mask is not None:
        energy = energy.masked_fill(mask == 0, float("-1e20"))
    att = F.softmax(energy / key.shape[-1], dim=-1)
    return att @ value, att
