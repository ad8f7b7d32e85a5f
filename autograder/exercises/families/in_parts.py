"""Ways to call a function of a batch, so that a slip in its shapes does not cost the checks of something else.

A softmax that is right for vectors only is graded row by row where other dimensions are not the point, and attention
that gives only the first sequence of a batch is graded by batches of one. `first_right` chooses the way. A module that
must have masks is given some that hide nothing: `with_masks_if_needed`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import torch

from ...checks.api import CheckFailed, shaped, tensor
from ...checks.proxies import Proxy, StudentError

Split = Callable[[torch.Tensor], Sequence[torch.Tensor]]


def whole(x: torch.Tensor) -> Sequence[torch.Tensor]:
    return (x,)


def rows(x: torch.Tensor) -> Sequence[torch.Tensor]:
    """The rows of a matrix (m, s), as vectors (s,)."""
    return x.unbind()


def batches_of_one(x: torch.Tensor) -> Sequence[torch.Tensor]:
    return x.split(1)


@dataclass(frozen=True)
class Way:
    """One way to call a function that keeps the shape of its input: with each part of it, and with `args` after that.

    If `lenient`, the first part of a pair is taken for the output, and so is one of another shape with as many entries.
    """

    proxy: Proxy
    split: Split = whole
    args: tuple[Any, ...] = ()
    lenient: bool = False

    def __call__(self, x: torch.Tensor) -> torch.Tensor:
        """What the function gives, in the shape of `x`. Raises CheckFailed for another shape, and StudentError."""
        return self._each(x, lambda part: self.proxy(part, *self.args))

    def sample(self, x: torch.Tensor) -> torch.Tensor:
        """The same, left out of the transcript: use `Submission.note` for what a check makes of it."""
        return self._each(x, lambda part: self.proxy.sample(part, *self.args))

    def on(self, device: str, x: torch.Tensor) -> torch.Tensor:
        """The same on `device`."""
        return self._each(x, lambda part: self.proxy.on(device, part, *self.args))

    def gradient(self, x: torch.Tensor, upstream: torch.Tensor) -> torch.Tensor | None:
        """The gradient of `x`, None if a part of it has none."""
        parts = [part.detach().requires_grad_() for part in self.split(x)]
        got = [self._gradient(part, pulled) for part, pulled in zip(parts, self.split(upstream), strict=True)]
        return None if any(one is None for one in got) else self._together(x, got)

    def _gradient(self, part: torch.Tensor, upstream: torch.Tensor) -> torch.Tensor | None:
        if self.lenient:
            upstream = upstream.reshape(self._output(self.proxy(part, *self.args), part).shape)
        return self.proxy.gradients(part, *self.args, upstream=upstream).inputs[0]

    def _each(self, x: torch.Tensor, ask: Callable[[torch.Tensor], Any]) -> torch.Tensor:
        return self._together(x, [ask(part) for part in self.split(x)])

    def _together(self, x: torch.Tensor, results: Sequence[Any]) -> torch.Tensor:
        outputs = [self._output(result, part) for result, part in zip(results, self.split(x), strict=True)]
        return torch.cat([output.reshape(-1) for output in outputs]).reshape(x.shape)

    def _output(self, result: Any, part: torch.Tensor) -> torch.Tensor:
        """The output for a part of the input, in the result of a call. Raises CheckFailed."""
        if self.lenient and isinstance(result, (tuple, list)) and result:
            result = result[0]
        output = tensor(result)
        if not self.lenient or output.numel() != part.numel():
            shaped(output, part.shape)
        return output


def first_right(ways: Iterable[Way], easy: Callable[[Way], None]) -> Way:
    """The first of the ways that passes the easy case. If none does, raises what the first one failed with."""
    failures = []
    for way in ways:
        try:
            easy(way)
            return way
        except (CheckFailed, StudentError) as failure:
            failures.append(failure)
    raise failures[0]


def with_masks_if_needed(
    call: Callable[..., Any], given: Sequence[torch.Tensor], hidable: Sequence[torch.Tensor]
) -> Any:
    """What `call` gives for its inputs, or, if it stops, for these and a mask (b, s) of each of `hidable` (b, s, d).

    The masks hide nothing. No mask changes an error of the kit's, such as for weights that could not be loaded.
    """
    try:
        return call(*given)
    except StudentError as error:
        if error.by_kit:
            raise
        try:
            return call(*given, *(torch.ones(x.shape[:2], dtype=torch.bool) for x in hidable))
        except StudentError:
            raise error from None
