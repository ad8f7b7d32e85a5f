import torch


def sliding_window_mask(t: int, window: int) -> torch.Tensor:
    if window <= 0:
        raise ValueError(f"expected a window of at least one token, got {window}")
    ones = torch.ones(t, t, dtype=torch.bool)
    return torch.tril(ones) & torch.triu(ones, diagonal=1 - window)
