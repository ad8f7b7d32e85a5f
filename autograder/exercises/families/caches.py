"""What the checks of caches share: whether what one must hold is in it."""

import torch


def found_in(numbers: torch.Tensor, expected: torch.Tensor) -> bool:
    """Whether each number of `expected` is among the `numbers`, which are sorted, up to rounding in float32."""
    if not len(numbers):
        return False
    expected = expected.flatten()
    after = torch.searchsorted(numbers, expected).clamp(max=len(numbers) - 1)
    distance = torch.minimum((numbers[after] - expected).abs(), (numbers[(after - 1).clamp(min=0)] - expected).abs())
    return bool((distance <= 1e-5 * expected.abs().max()).all())
