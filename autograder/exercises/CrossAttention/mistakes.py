"""Wrong implementations of `CrossAttention(d_query, d_context, d_out, qkv_bias=False)`.

Each replaces a step of `Right`, which is cross-attention with a single head.
"""

from torch import nn

from ...mistakes.bank import misconception
from ..families.heads import mistakes

# That an input was changed is all that is seen; which one is not.
ALIKE = {"context-changed": "input-changed"}


class Right(mistakes.Cross):
    """The right steps: (b, t, d_query), (b, s, d_context) and a mask (b, s) -> (b, t, d_out)."""

    def __init__(self, d_query, d_context, d_out, qkv_bias=False):
        super().__init__()
        self.make(d_query, d_out, d_out, 1, qkv_bias=qkv_bias, d_context=d_context)
        del self.out_proj

    def layers(self):
        return [self.W_query, self.W_key, self.W_value, nn.Identity()]


@misconception(
    "nothing-to-take-the-largest-of",
    "A context without any tokens stops it: there is no largest score to subtract. Let torch's softmax do that, which"
    " takes an empty row as well.",
)
class NothingToTakeTheLargestOf(Right):
    def weigh(self, scores):
        powers = (scores - scores.amax(-1, keepdim=True)).exp()
        return powers / powers.sum(-1, keepdim=True)


@misconception(
    "empty-context-refused",
    "A context without any tokens is refused: it is no mistake, there is only nothing to find. The output is 0.",
)
class EmptyContextRefused(Right):
    def refuse(self, x):
        super().refuse(x)
        if x.shape[1] == 0:
            raise ValueError("there are no tokens")


@misconception(
    "output-projection-added",
    "There is an output projection that nobody asked for: with a single head, the mixed values are the output.",
)
class OutputProjectionAdded(Right):
    def __init__(self, d_query, d_context, d_out, qkv_bias=False):
        super().__init__(d_query, d_context, d_out, qkv_bias)
        self.out_proj = nn.Linear(d_out, d_out)

    def unify(self, found):
        return self.out_proj(found)


@misconception("weights-returned-as-well", "It returns the weights as well: only the output is asked for.")
class WeightsReturnedAsWell(Right):
    def mix(self, weights, v, x):
        self.weights = weights[:, 0]
        return super().mix(weights, v, x)

    def unify(self, found):
        return found, self.weights


@misconception(
    "values-pass-through",
    "The context itself is mixed, and `W_value` has no part in it: mix the values, which are W_value(context).",
)
class ValuesPassThrough(Right):
    def project(self, x, context):
        queries, keys, _ = super().project(x, context)
        return queries, keys, context


mistakes.adopt(Right, *mistakes.ONE_HEAD, *mistakes.OPTIONAL_BIAS, "scale-by-input-width", *mistakes.CONTEXT)
