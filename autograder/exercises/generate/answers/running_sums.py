"""Chances from log_softmax; einsum with `...` for the running sums; the tokens are kept in a list."""

import torch


def chances_of(logits):
    return torch.nn.functional.log_softmax(logits, dim=-1).exp()


def below(chances, level):
    """How many running sums lie below the level."""
    order = torch.ones(chances.shape[-1], chances.shape[-1], dtype=chances.dtype).triu()
    return (torch.einsum("...v,vw->...w", chances, order) <= level).sum(-1)


def generate(model, idx, max_new_tokens, generator=None):
    was_training, pieces = model.training, [idx]
    model.eval()
    with torch.set_grad_enabled(False):
        for _ in range(max_new_tokens):
            seen = torch.cat(pieces, dim=1)[:, -model.block_size :]
            chances = chances_of(model(seen)[0][:, -1].to(torch.float64))
            level = torch.rand(len(idx), 1, generator=generator, dtype=torch.float64)
            pieces.append(below(chances, level).clamp(max=chances.shape[-1] - 1)[:, None])
    model.train(was_training)
    return torch.cat(pieces, dim=1)
