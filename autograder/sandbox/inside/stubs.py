"""Small correct language models, passed to a submission's `generate` and `train` in place of its own model.

Each has `block_size` and `forward(idx, targets=None)` -> (logits (b, t, vocabulary), mean loss or None). It refuses
more than `block_size` tokens. Its logits can differ between train and eval mode, as with dropout, but not randomly.
A model notes its first calls in `seen`. The submission's code can change that list, so checks of it are `witnessed`.
So can it change `differentiated`, of which no points hang.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import torch
import torch.nn.functional as F
from torch import nn

from .refusals import TokensRefused

if TYPE_CHECKING:
    from collections.abc import Sequence

MOST_SEEN = 64


class Stub(nn.Module):
    """The base class of all stubs, which define `logits(idx)`, (b, t) -> (b, t, vocabulary)."""

    def __init__(self, block_size: int) -> None:
        super().__init__()
        self.block_size = block_size
        self.seen: list[dict[str, Any]] = []
        self.differentiated = 0  # how often a gradient came back to its logits

    def forward(
        self, idx: torch.Tensor, targets: torch.Tensor | None = None
    ) -> tuple[torch.Tensor, torch.Tensor | None]:
        if idx.dim() != 2:
            raise TokensRefused(f"the model takes tokens of shape (b, t), got {tuple(idx.shape)}")
        if not 1 <= idx.shape[1] <= self.block_size:
            raise TokensRefused(f"the model takes 1 to block_size = {self.block_size} tokens, got {idx.shape[1]}")
        logits = self.logits(idx)
        if logits.requires_grad:
            logits.register_hook(self._note_gradient)
        if len(self.seen) < MOST_SEEN:
            self.seen.append(
                {
                    "idx": idx.detach().clone(),
                    "targets": None if targets is None else targets.detach().clone(),
                    "training": self.training,
                    "graph": logits.requires_grad,
                }
            )
        if targets is None:
            return logits, None
        return logits, F.cross_entropy(logits.flatten(0, 1), targets.flatten())

    def logits(self, idx: torch.Tensor) -> torch.Tensor:
        raise NotImplementedError

    def _note_gradient(self, gradient: torch.Tensor) -> None:
        self.differentiated += 1


class Rolled(Stub):
    """Its logits are one `profile` (v,), rotated by a weighted sum of the tokens: logits[c] = profile[(c - s) mod v].

    s = weights[0] · this token + weights[1] · the one before + …, over all tokens up to this one, at most `block_size`.
    `weights` are integers, one for each token of a block. In train mode s is larger by 1.
    """

    weights: torch.Tensor

    def __init__(self, profile: Sequence[float], weights: Sequence[int]) -> None:
        super().__init__(len(weights))
        self.profile = nn.Parameter(torch.tensor(profile))
        self.register_buffer("weights", torch.tensor(weights))

    def logits(self, idx: torch.Tensor) -> torch.Tensor:
        v, t = len(self.profile), idx.shape[1]
        back = torch.arange(t)[:, None] - torch.arange(t)  # how far behind the query the token lies
        table = torch.where(back >= 0, self.weights[back.clamp(min=0)], 0)  # (t, t)
        sums = (idx[:, None, :] * table).sum(-1) + int(self.training)  # (b, t)
        return self.profile[(torch.arange(v) - sums[..., None]) % v]


class Window(Stub):
    """Embeddings of the last `memory` tokens side by side, one hidden layer of tanh, then logits.

    `embedding`: vocab_size + 1 rows, the last for the positions before the first token; `hidden`:
    memory · width -> n_hidden; `out`: n_hidden -> vocab_size. In train mode the logits are `in_train` times as large as
    in eval mode.
    """

    def __init__(
        self, vocab_size: int, block_size: int, memory: int, width: int, n_hidden: int, in_train: float = 1.0
    ) -> None:
        super().__init__(block_size)
        self.memory, self.in_train = memory, in_train
        self.embedding = nn.Embedding(vocab_size + 1, width)
        self.hidden = nn.Linear(memory * width, n_hidden)
        self.out = nn.Linear(n_hidden, vocab_size)

    def logits(self, idx: torch.Tensor) -> torch.Tensor:
        before = idx.new_full((idx.shape[0], self.memory - 1), self.embedding.num_embeddings - 1)
        windows = torch.cat([before, idx], dim=1).unfold(1, self.memory, 1)  # (b, t, memory)
        hidden = torch.tanh(self.hidden(self.embedding(windows).flatten(2)))
        return self.out(hidden) * (self.in_train if self.training else 1.0)


class Table(Stub):
    """For each token a row of logits for the next, in `rows`: the least that can be trained, for long runs.

    In train mode the logits are `in_train` times as large as in eval mode.
    """

    def __init__(self, vocab_size: int, block_size: int, in_train: float = 1.0) -> None:
        super().__init__(block_size)
        self.in_train = in_train
        self.rows = nn.Embedding(vocab_size, vocab_size)

    def logits(self, idx: torch.Tensor) -> torch.Tensor:
        return self.rows(idx) * (self.in_train if self.training else 1.0)


STUBS = {"Rolled": Rolled, "Window": Window, "Table": Table}
