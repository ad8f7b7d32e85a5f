"""Helpers with annotations, a generator of batches, einsum for the loss; it prints loss and time now and then."""

from __future__ import annotations

import time
from collections.abc import Iterator

import torch
from torch import Tensor, nn


def batches(
    data: Int[Tensor, "b n"],  # noqa: F821, F722
    block_size: int,
    batch_size: int,
    generator: torch.Generator | None,
) -> Iterator[tuple[Tensor, Tensor]]:
    while True:
        starts = torch.randint(high=len(data) - block_size, size=(batch_size,), generator=generator).tolist()
        rows: Tensor = torch.stack([data[start : start + block_size + 1] for start in starts])
        yield rows[..., :-1], rows[..., 1:]


def mean_loss(logits: Float[Tensor, "b t v"], targets: Tensor) -> Tensor:  # noqa: F821, F722
    chosen = torch.nn.functional.one_hot(targets, logits.shape[-1]).to(logits.dtype)
    return -torch.einsum("...v,...v->...", torch.log_softmax(logits, -1), chosen).mean()


def train(
    model: nn.Module,
    data: Tensor,
    steps: int,
    batch_size: int = 32,
    lr: float = 1e-3,
    generator: torch.Generator | None = None,
) -> list[float]:
    began = time.perf_counter()
    optimizer = torch.optim.AdamW(params=model.parameters(), lr=lr, betas=(0.9, 0.999), eps=1e-8)
    model.train()
    history: list[float] = []
    for step, (x, y) in zip(range(steps), batches(data, model.block_size, batch_size, generator), strict=False):
        model.zero_grad()
        loss = mean_loss(model(x)[0], y)
        loss.backward()
        optimizer.step()
        history.append(float(loss.item()))
        if step % 50 == 0:
            print(f"step {step}: {history[-1]:.3f}, {time.perf_counter() - began:.2f} s")
    return history
