"""Wrong implementations of `MultiHeadAttention(d_in, d_out, context_length, dropout, num_heads, qkv_bias=False)`.

Each replaces a step of `Right`.
"""

import torch
from torch import nn

from ...mistakes.bank import misconception
from ..families.heads import mistakes

# Both leave the mask on the CPU, with the same error from the same operation.
ALIKE = {"mask-made-on-the-cpu": "mask-is-a-plain-attribute"}


class Right(mistakes.Steps):
    """The right steps: (b, n, d_in) -> (b, n, d_out)."""

    names = ("W_query", "W_key", "W_value", "out_proj")
    is_causal = True

    def __init__(self, d_in, d_out, context_length, dropout, num_heads, qkv_bias=False):
        super().__init__()
        self.divide(d_out, num_heads)
        self.make(d_in, d_out, d_out, num_heads, context_length, dropout, qkv_bias=qkv_bias)


# --- heads ----------------------------------------------------------------------------------------


@misconception(
    "heads-in-a-loop",
    "The heads are computed one after another in a Python loop: give the tensors a head dimension, and multiply all at"
    " once.",
)
class HeadsInALoop(Right):
    def mix(self, weights, v, x):
        return torch.stack([weights[:, i] @ v[:, i] for i in range(v.shape[1])], dim=1)


# --- buffers --------------------------------------------------------------------------------------


@misconception(
    "mask-is-a-plain-attribute",
    "The mask is a plain attribute, which `.to(device)` leaves behind: register it as a buffer.",
)
class MaskIsAPlainAttribute(Right):
    def make(self, *sizes, **options):
        super().make(*sizes, **options)
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
    def make(self, *sizes, **options):
        super().make(*sizes, **options)
        mask = self.mask.float()
        del self.mask
        self.mask = nn.Parameter(mask, requires_grad=False)

    def hide(self, scores):
        n = scores.shape[-1]
        return scores.masked_fill(~Right.triangle(self, n).to(scores.device), -torch.inf)


mistakes.adopt(
    Right, *mistakes.EVERYWHERE, *mistakes.OPTIONAL_BIAS, *mistakes.DIVIDED, *mistakes.CAUSAL, "scale-by-input-width"
)
