"""Wrong implementations of `MultiHeadAttention(d_in, d_out, context_length, dropout, num_heads, qkv_bias=False)`.

Each replaces a step of `Right`.
"""

import torch
from torch import nn

from . import heads, misconception

# Both leave the mask on the CPU, with the same error from the same operation.
ALIKE = {"mask-made-on-the-cpu": "mask-is-a-plain-attribute"}


class Right(heads.Steps):
    """The right steps: (b, n, d_in) -> (b, n, d_out)."""

    names = ("W_query", "W_key", "W_value", "out_proj")
    is_causal = True

    def __init__(self, d_in, d_out, context_length, dropout, num_heads, qkv_bias=False):
        super().__init__()
        self.divide(d_out, num_heads)
        self.make(d_in, d_out, d_out, num_heads, context_length, dropout, qkv_bias)

    def divide(self, d_out, num_heads):
        if d_out % num_heads != 0:
            raise ValueError(f"{num_heads} heads do not divide {d_out}")


# --- heads ----------------------------------------------------------------------------------------


@misconception(
    "heads-in-a-loop",
    "The heads are computed one after another in a Python loop: give the tensors a head dimension, and multiply all at"
    " once.",
)
class HeadsInALoop(Right):
    def mix(self, weights, v, x):
        return torch.stack([weights[:, i] @ v[:, i] for i in range(v.shape[1])], dim=1)


@misconception(
    "indivisible-floored",
    "Heads that don't divide `d_out` are accepted: raise a `ValueError` with both numbers.",
)
class IndivisibleFloored(Right):
    def divide(self, d_out, num_heads):
        pass


@misconception(
    "assert-instead-of-an-error",
    "Heads that don't divide `d_out` stop with an AssertionError: raise a `ValueError` with both numbers.",
)
class AssertInsteadOfAnError(Right):
    def divide(self, d_out, num_heads):
        assert d_out % num_heads == 0


@misconception(
    "error-without-numbers",
    "The `ValueError` for heads that don't divide `d_out` should name both numbers.",
)
class ErrorWithoutNumbers(Right):
    def divide(self, d_out, num_heads):
        if d_out % num_heads != 0:
            raise ValueError("the heads do not divide d_out")


@misconception(
    "no-output-projection",
    "There is no output projection: what the heads find should go through a Linear layer `out_proj` with a bias.",
)
class NoOutputProjection(Right):
    def make(self, *sizes):
        super().make(*sizes)
        del self.out_proj

    def layers(self):
        return [self.W_query, self.W_key, self.W_value]

    def unify(self, found):
        return found


@misconception("projection-never-used", "`out_proj` is made and never used: apply it to what the heads have found.")
class ProjectionNeverUsed(Right):
    def unify(self, found):
        return found


# --- biases and buffers ---------------------------------------------------------------------------


@misconception("never-bias", "The layers have no bias even when `qkv_bias` is true: pass it on to all three.")
class NeverBias(Right):
    def make(self, d_in, inner, d_out, h, context, dropout, qkv_bias):
        super().make(d_in, inner, d_out, h, context, dropout, False)


@misconception("always-bias", "The layers for queries, keys and values have a bias also when `qkv_bias` is false.")
class AlwaysBias(Right):
    def make(self, d_in, inner, d_out, h, context, dropout, qkv_bias):
        super().make(d_in, inner, d_out, h, context, dropout, True)


@misconception(
    "value-without-bias", "With `qkv_bias=True` only queries and keys have a bias: `W_value` should have one as well."
)
class ValueWithoutBias(Right):
    def make(self, d_in, inner, *rest):
        super().make(d_in, inner, *rest)
        self.W_value = nn.Linear(d_in, inner, bias=False)


@misconception(
    "mask-is-a-plain-attribute",
    "The mask is a plain attribute, which `.to(device)` leaves behind: register it as a buffer.",
)
class MaskIsAPlainAttribute(Right):
    def make(self, *sizes):
        super().make(*sizes)
        mask = self.mask
        del self.mask
        self.mask = [mask]

    def hide(self, scores):
        n = scores.shape[-1]
        return scores.masked_fill(~self.mask[0][:n, :n], -torch.inf)


@misconception(
    "mask-is-a-parameter",
    "The mask is an `nn.Parameter`, so that it counts among what is learnt: register it as a buffer.",
)
class MaskIsAParameter(Right):
    def make(self, *sizes):
        super().make(*sizes)
        mask = self.mask.float()
        del self.mask
        self.mask = nn.Parameter(mask, requires_grad=False)

    def hide(self, scores):
        n = scores.shape[-1]
        return scores.masked_fill(~Right.triangle(self, n).to(scores.device), -torch.inf)


heads.adopt(Right, *heads.EVERYWHERE, *heads.CAUSAL, "scale-by-input-width")
