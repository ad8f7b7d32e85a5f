"""Speculative decoding, by definition, in float64."""

import torch

from .remembered import remembered


def ratio(target: torch.Tensor, draft: torch.Tensor, token: int) -> float:
    """Below which chance a token of the draft is kept, before it is cut at 1: (v,) twice -> a number."""
    return float(target[token].double() / draft[token].double())


@remembered
def remainder(target: torch.Tensor, draft: torch.Tensor) -> torch.Tensor:
    """The distribution to draw from where the draft's token is refused: (v,) twice -> (v,).

    norm(max(0, p − q)) (Leviathan et al. 2023, section 2.3); NaN where target and draft are the same.
    """
    above = [max(0.0, p - q) for p, q in zip(target.double().tolist(), draft.double().tolist(), strict=True)]
    return torch.tensor(above, dtype=torch.float64) / sum(above)
