import torch


def yarn_frequencies(head_dim, base, factor, original_length, slow=1, fast=32):
    """Each frequency times a number between 1 / factor and 1."""
    if head_dim & 1:
        raise ValueError("head_dim should be even")
    theta = torch.pow(torch.tensor(base, dtype=torch.float64), torch.arange(head_dim // 2) * (-2.0 / head_dim))
    turns = theta * original_length / (2 * torch.pi)
    share = torch.clip((turns - slow) / (fast - slow), min=0.0, max=1.0)
    return theta * torch.lerp(torch.full_like(theta, 1 / factor), torch.ones_like(theta), share)
