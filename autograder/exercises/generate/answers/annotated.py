"""Helpers with annotations, a context manager for the mode, chances from a Categorical where there is no generator."""

from __future__ import annotations

import contextlib
import time

import torch
from torch import Tensor, nn


@contextlib.contextmanager
def evaluating(model: nn.Module):
    before = model.training
    try:
        yield model.eval()
    finally:
        model.train(before)


def drawn(logits: Float[Tensor, "b v"], generator: torch.Generator | None) -> Int[Tensor, "b 1"]:  # noqa: F821, F722
    if generator is None:
        return torch.distributions.Categorical(logits=logits).sample()[:, None]
    return torch.multinomial(logits.softmax(-1), 1, generator=generator)


@torch.inference_mode()
def generate(
    model: nn.Module,
    idx: Int[Tensor, "b t"],  # noqa: F821, F722
    max_new_tokens: int,
    generator: torch.Generator | None = None,
) -> Int[Tensor, "b more"]:  # noqa: F821, F722
    start, text = time.perf_counter(), idx.clone()
    with evaluating(model):
        for step in range(1, max_new_tokens + 1):
            logits, _loss = model(text[..., -model.block_size :])
            text = torch.cat((text, drawn(logits[:, -1, :], generator)), dim=-1)
            if step % 10 == 0:
                print(f"{step} tokens after {time.perf_counter() - start:.3f} s")
    return text
