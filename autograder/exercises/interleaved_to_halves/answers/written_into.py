import torch


def interleaved_to_halves(weight: torch.Tensor, num_heads: int) -> torch.Tensor:
    total = weight.shape[0]
    d, rest = divmod(total, num_heads)
    if rest:
        raise ValueError(f"{total} rows for {num_heads} heads")
    if d % 2:
        raise ValueError(f"an odd number of rows in each head: {d}")
    new = torch.zeros_like(weight)
    for head in range(num_heads):
        start = head * d
        new[start : start + d // 2] = weight[start : start + d : 2]
        new[start + d // 2 : start + d] = weight[start + 1 : start + d : 2]
    return new
