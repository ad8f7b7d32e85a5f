"""A subclass of AdamW that clips and sets its own rate; type hints; the batch as a generator of pairs."""

import math
from collections.abc import Iterator

import torch
from torch import Tensor, nn


class RecipeAdamW(torch.optim.AdamW):
    def __init__(self, model: nn.Module, steps: int, peak: float, warm_up: int, max_norm: float):
        if warm_up > steps:
            raise ValueError(f"warm_up = {warm_up} is more than steps = {steps}")
        super().__init__(model.parameters(), lr=peak)
        self.taken, self.steps, self.peak, self.warm_up, self.max_norm = 0, steps, peak, warm_up, max_norm

    def rate(self) -> float:
        if self.taken < self.warm_up:
            return self.peak * (self.taken + 1) / self.warm_up
        u = (self.taken - self.warm_up) / (self.steps - self.warm_up)
        return 0.5 * self.peak * (1.0 + math.cos(u * math.pi))

    def take(self) -> None:
        for group in self.param_groups:
            group["lr"] = self.rate()
            nn.utils.clip_grad_norm_(group["params"], self.max_norm)
        self.step()
        self.taken += 1


def batches(data: Tensor, steps: int, size: int, t: int, generator=None) -> Iterator[tuple[Tensor, Tensor]]:
    for _ in range(steps):
        starts = torch.randint(high=len(data) - t, size=(size,), generator=generator)
        rows = torch.stack([data[s : s + t + 1] for s in starts.tolist()])
        yield rows[:, :-1], rows[:, 1:]


def train_by_recipe(
    model: nn.Module,
    data: Tensor,
    steps: int,
    batch_size: int = 32,
    peak: float = 1e-3,
    warm_up: int = 0,
    max_norm: float = 1.0,
    generator: torch.Generator | None = None,
) -> list[float]:
    optimizer = RecipeAdamW(model, steps, peak, warm_up, max_norm)
    model.train()
    losses: list[float] = []
    for x, y in batches(data, steps, batch_size, model.block_size, generator):
        optimizer.zero_grad()
        _, loss = model(x, y)
        loss.backward()
        optimizer.take()
        losses.append(loss.item())
    return losses
