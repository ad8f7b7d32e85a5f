"""Wrong implementations of `MultiHeadCrossAttention(d_query, d_context, d_out, num_heads, qkv_bias=False)`.

Each replaces a step of `Right`.
"""

from torch import nn

from ...mistakes.bank import misconception
from ..families.heads import mistakes

# That an input was changed is all that is seen; which one is not.
ALIKE = {"context-changed": "input-changed"}


class Right(mistakes.Cross):
    """The right steps: (b, t, d_query), (b, s, d_context) and a mask (b, s) -> (b, t, d_out)."""

    def __init__(self, d_query, d_context, d_out, num_heads, qkv_bias=False):
        super().__init__()
        self.divide(d_out, num_heads)
        self.make(d_query, d_out, d_out, num_heads, qkv_bias=qkv_bias, d_context=d_context)


@misconception(
    "bias-lost-where-nothing-is-left",
    "Where the mask leaves nothing, the whole output is set to 0: it is what the heads find that is 0, and the bias of"
    " `out_proj` comes on top of that.",
)
class BiasLostWhereNothingIsLeft(Right):
    def forward(self, x, context, context_mask=None):
        output = super().forward(x, context, context_mask)
        return output if context_mask is None else output * context_mask.any(-1)[:, None, None]


@misconception(
    "mask-repeated-in-the-wrong-order",
    "The heads join the batch item by item and the mask is repeated block by block, so that heads get the mask of"
    " another item: use `repeat_interleave`, or give the mask a dimension for the heads.",
)
class MaskRepeatedInTheWrongOrder(Right):
    def allow(self, context_mask, scores):
        b, h = scores.shape[:2]
        return context_mask.repeat(h, 1).unflatten(0, (b, h)).unsqueeze(2)  # (h·b, s) -> (b, h, 1, s)


@misconception(
    "mask-in-one-head",
    "The mask hides tokens from the first head alone: it holds for all of them.",
)
class MaskInOneHead(Right):
    def allow(self, context_mask, scores):
        allowed = super().allow(context_mask, scores).repeat(1, scores.shape[1], 1, 1)
        allowed[:, 1:] = True
        return allowed


@misconception(
    "projection-from-d-query",
    "`out_proj` starts from d_query: it starts from d_out, which is how wide all heads together are.",
)
class ProjectionFromDQuery(Right):
    def make(self, d_in, inner, d_out, *rest, **options):
        super().make(d_in, inner, d_out, *rest, **options)
        self.out_proj = nn.Linear(d_in, d_out)


mistakes.adopt(
    Right, *mistakes.EVERYWHERE, *mistakes.OPTIONAL_BIAS, *mistakes.DIVIDED, "scale-by-input-width", *mistakes.CONTEXT
)
