import torch


def interleaved_to_halves(weight, num_heads):
    rows = weight.size(0)
    if rows % num_heads or rows // num_heads % 2:
        raise ValueError(f"got {rows} rows, which are no pairs in {num_heads} heads")
    found = []
    for head in weight.chunk(num_heads, dim=0):
        found.append(head[0::2])
        found.append(head[1::2])
    return torch.cat(found, dim=0)
