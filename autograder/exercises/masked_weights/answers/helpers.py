"""Helper functions with shapes in their annotations, einsum with an ellipsis, and a softmax over exponents."""

# ruff: noqa: F722, F821
import torch


def past_of(scores: "... t t") -> "t t":
    t = scores.size(-1)
    return torch.ones((t, t), dtype=torch.bool, device=scores.device).tril()


def normalised(powers: "... t t") -> "... t t":
    return powers / powers.sum(dim=-1, keepdim=True)


def masked_weights(query: "b t d", key: "b t d") -> "b t t":
    for name, x in {"query": query, "key": key}.items():
        if x.dim() != 3:
            raise ValueError(f"{name} has shape {tuple(x.shape)}, and (b, t, d) is expected")
    scores = torch.einsum("...id,...jd->...ij", query, key)
    hidden = scores.masked_fill(past_of(scores).logical_not(), -torch.inf)
    return normalised((hidden - hidden.max(dim=-1, keepdim=True).values.detach()).exp())
