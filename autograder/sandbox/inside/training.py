"""Trains a submission's model step by step, and lets it read a text token by token. All of it is witnessed.

What can be relied on is what goes through the other side: the tokens that it sends, one at a time, the weights that it
takes out, and the state that it carries from one process to another.
"""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING, Any

import torch
import torch.nn.functional as F
from torch.utils._python_dispatch import TorchDispatchMode

from .refusals import NoAnswer

if TYPE_CHECKING:
    from collections.abc import Sequence

MOST_PARTS = 64  # tensors in a state


class Multiplications(TorchDispatchMode):
    """Counts the numbers that are multiplied: by matrices, by filters, in solving equations, and one by one."""

    def __init__(self) -> None:
        super().__init__()
        self.count = 0

    def __torch_dispatch__(
        self, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        made = func(*args, **(kwargs or {}))
        name = func._schema.name.removeprefix("aten::")
        if name in ("mm", "bmm", "mv", "dot"):
            self.count += args[0].numel() * (args[1].shape[-1] if args[1].dim() > 1 else 1)
        elif name in ("addmm", "baddbmm"):
            self.count += args[1].numel() * args[2].shape[-1]
        elif name == "linalg_solve_triangular":
            self.count += args[0].shape[-1] * args[1].numel() // 2
        elif name == "convolution":
            self.count += made.numel() * args[1][0].numel()
        elif name == "convolution_backward":
            self.count += 2 * args[0].numel() * args[2][0].numel()
        elif name.startswith("_scaled_dot_product"):
            ways = 2 if "backward" not in name else 5
            query, key = (args[0], args[1]) if ways == 2 else (args[1], args[2])
            self.count += ways * query.numel() * key.shape[-2]
        elif name in ("mul", "mul_") and isinstance(made, torch.Tensor):
            self.count += made.numel()
        return made


def logits_of(made: Any, shape: Sequence[int], what: str) -> torch.Tensor:
    """What a model gave, if it is a tensor of logits whose shape begins so. Raises NoAnswer."""
    if not isinstance(made, torch.Tensor):
        raise NoAnswer(f"{what} should return logits, one tensor, and it returned a {type(made).__name__}")
    if made.dim() != len(shape) + 1 or tuple(made.shape[:-1]) != tuple(shape) or not made.is_floating_point():
        raise NoAnswer(f"{what} should return logits {(*shape, 'vocab_size')}, and it returned {tuple(made.shape)}")
    return made


class Learner:
    """A model in training: AdamW, with gradients clipped to a length."""

    def __init__(self, module: torch.nn.Module, max_norm: float) -> None:
        self.module, self.max_norm = module, max_norm
        self.optimizer = torch.optim.AdamW(module.parameters())

    def steps(self, batches: torch.Tensor, rates: Sequence[float], counted: int) -> tuple[list[float], int]:
        """Take a step for each of `batches` (steps, b, t + 1): the loss of each, before it, and multiplications.

        They are those of one step, the one with the index `counted`, since counting takes as long as training.
        """
        self.module.train()
        losses, products = [], Multiplications()
        for index, (batch, rate) in enumerate(zip(batches, rates, strict=True)):
            for group in self.optimizer.param_groups:
                group["lr"] = rate
            with products if index == counted else contextlib.nullcontext():
                losses.append(self.step(batch[:, :-1], batch[:, 1:]))
        return losses, products.count

    def step(self, inputs: torch.Tensor, targets: torch.Tensor) -> float:
        """Take one step with a batch, (b, t) each; returns the loss before it."""
        logits = logits_of(self.module(inputs), inputs.shape, "`forward`")
        loss = F.cross_entropy(logits.flatten(0, 1), targets.flatten())
        self.optimizer.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(self.module.parameters(), self.max_norm)
        self.optimizer.step()
        return loss.item()


class Reader:
    """A model that reads texts token by token; `state` is what it remembers: a list of tensors, None at first."""

    def __init__(self, module: Any, state: list[torch.Tensor] | None = None) -> None:
        self.module, self.state = module, state

    def read(self, token: torch.Tensor) -> torch.Tensor:
        """The logits for what comes after the next token of each text, (b,) -> (b, vocab_size). Raises NoAnswer."""
        self.module.eval()
        with torch.no_grad():
            made = self.module.step(token, self.state)
        if not isinstance(made, (tuple, list)) or len(made) != 2:
            raise NoAnswer(f"`step` should return a pair (logits, state), and it returned a {type(made).__name__}")
        logits, state = made
        if not isinstance(state, (tuple, list)) or not all(isinstance(part, torch.Tensor) for part in state):
            raise NoAnswer("The state that `step` returns should be a list of tensors, with nothing else in it")
        if len(state) > MOST_PARTS:
            raise NoAnswer(
                f"The state that `step` returns has {len(state)} tensors, and should have {MOST_PARTS} at most"
            )
        self.state = list(state)
        return logits_of(logits, token.shape, "`step`")
