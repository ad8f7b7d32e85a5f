"""Wrong implementations of `CoAttentionStreams(d, num_heads)`.

Each replaces a step of `Right`, or hands it a wrong `MultiHeadCrossAttention`.
"""

import torch
import torch.nn.functional as F
from torch import nn

from ...mistakes.bank import misconception
from ..families.heads import mistakes
from ..MultiHeadCrossAttention import mistakes as cross


class Right(nn.Module):
    """The right steps: (b, n, d), (b, t, d), masks (b, n) and (b, t) -> the new v (b, n, d), the new q (b, t, d)."""

    Cross = cross.Right

    def __init__(self, d, num_heads):
        super().__init__()
        self.make(d, num_heads)

    def make(self, d, num_heads):
        self.v_to_q, self.q_to_v = self.Cross(d, d, d, num_heads), self.Cross(d, d, d, num_heads)

    def forward(self, v, q, v_mask=None, q_mask=None):
        return self.give(*self.exchange(v, q, *self.hide(v_mask, q_mask)))

    def hide(self, v_mask, q_mask):
        return v_mask, q_mask

    def exchange(self, v, q, v_mask, q_mask):
        return self.v_to_q(v, q, q_mask), self.q_to_v(q, v, v_mask)

    def give(self, new_v, new_q):
        return new_v, new_q


# --- who reads what -------------------------------------------------------------------------------


@misconception(
    "question-reads-the-new-image",
    "These are the values you get when `q_to_v` reads the new v: both read the inputs as they came in.",
)
class QuestionReadsTheNewImage(Right):
    def exchange(self, v, q, v_mask, q_mask):
        new_v = self.v_to_q(v, q, q_mask)
        return new_v, self.q_to_v(q, new_v, v_mask)


@misconception(
    "image-reads-the-new-question",
    "These are the values you get when `v_to_q` reads the new q: both read the inputs as they came in.",
)
class ImageReadsTheNewQuestion(Right):
    def exchange(self, v, q, v_mask, q_mask):
        new_q = self.q_to_v(q, v, v_mask)
        return self.v_to_q(v, new_q, q_mask), new_q


@misconception(
    "modules-exchanged",
    "These are the values you get when `v_to_q` makes the new q and `q_to_v` the new v: `v_to_q` has v's queries.",
)
class ModulesExchanged(Right):
    def exchange(self, v, q, v_mask, q_mask):
        return self.q_to_v(v, q, q_mask), self.v_to_q(q, v, v_mask)


@misconception(
    "queries-from-the-context",
    "`v_to_q` gets its queries from q and its context from v, and `q_to_v` the other way round: the new v has a row per"
    " token of v. With n = t it runs.",
)
class QueriesFromTheContext(Right):
    def exchange(self, v, q, v_mask, q_mask):
        return self.v_to_q(q, v, v_mask), self.q_to_v(v, q, q_mask)


@misconception(
    "self-attention",
    "These are the values you get when each side attends to itself: the context is the other side.",
)
class SelfAttention(Right):
    def exchange(self, v, q, v_mask, q_mask):
        return self.v_to_q(v, v, v_mask), self.q_to_v(q, q, q_mask)


@misconception(
    "both-sides-as-context",
    "These are the values you get when each side attends to both sides together: the context is the other side alone.",
)
class BothSidesAsContext(Right):
    def exchange(self, v, q, v_mask, q_mask):
        v_seen = torch.ones_like(v[..., 0], dtype=torch.bool) if v_mask is None else v_mask
        q_seen = torch.ones_like(q[..., 0], dtype=torch.bool) if q_mask is None else q_mask
        every, seen = torch.cat([v, q], 1), torch.cat([v_seen, q_seen], 1)
        return self.v_to_q(v, every, seen), self.q_to_v(q, every, seen)


@misconception("question-left-as-it-is", "The question is returned as it came in: `q_to_v` makes a new q of it.")
class QuestionLeftAsItIs(Right):
    def exchange(self, v, q, v_mask, q_mask):
        return self.v_to_q(v, q, q_mask), q


@misconception("image-left-as-it-is", "The image is returned as it came in: `v_to_q` makes a new v of it.")
class ImageLeftAsItIs(Right):
    def exchange(self, v, q, v_mask, q_mask):
        return v, self.q_to_v(q, v, v_mask)


@misconception(
    "residual-added",
    "These are the values you get when the inputs are added to what attention returns: there is no residual here.",
)
class ResidualAdded(Right):
    def exchange(self, v, q, v_mask, q_mask):
        new_v, new_q = Right.exchange(self, v, q, v_mask, q_mask)
        return v + new_v, q + new_q


@misconception(
    "normalised",
    "These are the values you get when a layer normalisation follows: here nothing does.",
)
class Normalised(Right):
    def give(self, new_v, new_q):
        return F.layer_norm(new_v, new_v.shape[-1:]), F.layer_norm(new_q, new_q.shape[-1:])


@misconception("streams-exchanged", "The two streams are returned in the wrong order: the new v comes first.")
class StreamsExchanged(Right):
    def give(self, new_v, new_q):
        return new_q, new_v


@misconception("streams-joined", "The two streams are returned as one tensor: return the pair `(new v, new q)`.")
class StreamsJoined(Right):
    def give(self, new_v, new_q):
        return torch.cat([new_v, new_q], 1)


@misconception(
    "streams-pooled", "The streams are averaged over their tokens: here they stay sequences, (b, n, d) and (b, t, d)."
)
class StreamsPooled(Right):
    def give(self, new_v, new_q):
        return new_v.mean(1), new_q.mean(1)


@misconception(
    "context-detached",
    "The context is cut out of the graph (`detach`, `.data`), so a side does not learn from how the other uses it.",
)
class ContextDetached(Right):
    def exchange(self, v, q, v_mask, q_mask):
        return self.v_to_q(v, q.detach(), q_mask), self.q_to_v(q, v.detach(), v_mask)


# --- the modules ----------------------------------------------------------------------------------


@misconception(
    "the-same-module-twice",
    "`v_to_q` and `q_to_v` are one and the same module: make two.",
)
class TheSameModuleTwice(Right):
    def make(self, d, num_heads):
        self.v_to_q = self.q_to_v = self.Cross(d, d, d, num_heads)


@misconception(
    "one-module-for-both",
    "These are the values you get when `v_to_q` makes both streams and `q_to_v` none: each has its own.",
)
class OneModuleForBoth(Right):
    def exchange(self, v, q, v_mask, q_mask):
        return self.v_to_q(v, q, q_mask), self.v_to_q(q, v, v_mask)


@misconception(
    "heads-ignored",
    "These are the values you get with a single head: pass `num_heads` on to both modules.",
)
class HeadsIgnored(Right):
    def make(self, d, num_heads):
        self.Cross(d, d, d, num_heads)  # refuses what does not divide
        super().make(d, 1)


@misconception(
    "heads-for-one-alone",
    "`q_to_v` has a single head: pass `num_heads` on to both modules.",
)
class HeadsForOneAlone(Right):
    def make(self, d, num_heads):
        self.v_to_q, self.q_to_v = self.Cross(d, d, d, num_heads), self.Cross(d, d, d, 1)


@misconception(
    "biases-asked-for",
    "The modules are made with `qkv_bias=True`: only `out_proj` has a bias here.",
)
class BiasesAskedFor(Right):
    def make(self, d, num_heads):
        self.v_to_q, self.q_to_v = (self.Cross(d, d, d, num_heads, qkv_bias=True) for _ in range(2))


# --- masks ----------------------------------------------------------------------------------------


@misconception(
    "masks-exchanged",
    "The masks have changed places: `v_to_q` reads q, so `q_mask` belongs to it. With n = t it runs.",
)
class MasksExchanged(Right):
    def hide(self, v_mask, q_mask):
        return q_mask, v_mask


@misconception("masks-ignored", "These are the values you get when the masks play no part: pass them on.")
class MasksIgnored(Right):
    def hide(self, v_mask, q_mask):
        return None, None


@misconception("image-mask-ignored", "These are the values you get when `v_mask` plays no part: `q_to_v` needs it.")
class ImageMaskIgnored(Right):
    def hide(self, v_mask, q_mask):
        return None, q_mask


@misconception("question-mask-ignored", "These are the values you get when `q_mask` plays no part: `v_to_q` needs it.")
class QuestionMaskIgnored(Right):
    def hide(self, v_mask, q_mask):
        return v_mask, None


@misconception(
    "masks-inverted",
    "These are the values you get when the masks are read the other way round: True means may attend.",
)
class MasksInverted(Right):
    def hide(self, v_mask, q_mask):
        return None if v_mask is None else ~v_mask, None if q_mask is None else ~q_mask


@misconception(
    "one-mask-needs-the-other",
    "A mask plays a part only if the other one is given as well: either may come alone.",
)
class OneMaskNeedsTheOther(Right):
    def hide(self, v_mask, q_mask):
        return (None, None) if v_mask is None or q_mask is None else (v_mask, q_mask)


@misconception(
    "hidden-queries-cleared",
    "The new vectors of hidden tokens are set to 0: a mask hides a token from the other side, and it still gets its own"
    " new vector.",
)
class HiddenQueriesCleared(Right):
    def exchange(self, v, q, v_mask, q_mask):
        new_v, new_q = Right.exchange(self, v, q, v_mask, q_mask)
        new_v = new_v if v_mask is None else new_v * v_mask.unsqueeze(-1)
        return new_v, new_q if q_mask is None else new_q * q_mask.unsqueeze(-1)


@misconception(
    "hidden-tokens-set-to-zero",
    "Hidden tokens are set to 0 before attention: their scores are 0 then, and they still get weight.",
)
class HiddenTokensSetToZero(Right):
    def exchange(self, v, q, v_mask, q_mask):
        seen_v = v if v_mask is None else v * v_mask.unsqueeze(-1)
        seen_q = q if q_mask is None else q * q_mask.unsqueeze(-1)
        return self.v_to_q(v, seen_q), self.q_to_v(q, seen_v)


@misconception(
    "masks-must-be-there",
    "Without masks it stops with an error: `v_mask` and `q_mask` may both be None.",
)
class MasksMustBeThere(Right):
    def forward(self, v, q, v_mask, q_mask):
        return super().forward(v, q, v_mask, q_mask)


@misconception(
    "bias-lost-where-nothing-is-left",
    "Where nothing is left to attend to the new vectors are 0: the heads find 0, and the bias of `out_proj` stays.",
)
class BiasLostWhereNothingIsLeft(Right):
    def exchange(self, v, q, v_mask, q_mask):
        new_v, new_q = Right.exchange(self, v, q, v_mask, q_mask)
        new_v = new_v if q_mask is None else new_v * q_mask.any(1)[:, None, None]
        return new_v, new_q if v_mask is None else new_q * v_mask.any(1)[:, None, None]


@misconception(
    "masks-kept",
    "The masks of an earlier call are kept and used when none is given: each call has its own.",
)
class MasksKept(Right):
    kept = None, None

    def hide(self, v_mask, q_mask):
        self.kept = v_mask if v_mask is not None else self.kept[0], q_mask if q_mask is not None else self.kept[1]
        return self.kept


# --- the rest -------------------------------------------------------------------------------------


@misconception(
    "masks-changed",
    "The masks are changed in place: make new ones, as in `~mask`.",
)
class MasksChanged(Right):
    def hide(self, v_mask, q_mask):
        copies = [None if mask is None else mask.clone() for mask in (v_mask, q_mask)]
        for mask in (v_mask, q_mask):
            if mask is not None and not mask.is_meta:
                mask.logical_not_()
        return copies


# --- a wrong MultiHeadCrossAttention --------------------------------------------------------------


OF_THE_CROSS = [
    "keys-from-queries",
    "values-from-queries",
    "keys-as-values",
    "keys-from-x",
    "values-from-x",
    "no-scale",
    "scale-without-root",
    "scale-by-all-heads",
    "softmax-over-queries",
    "softmax-over-heads",
    "exp-without-max",
    "reshaped-in-one-step",
    "fast-head-index",
    "output-projection-without-bias",
    "weights-detached",
    "values-detached",
    "float32-comes-out",
    "scale-tensor-on-the-cpu",
    "rank-not-checked",
    "indivisible-floored",
    "error-without-numbers",
    "context-mask-hides-queries",
    "context-mask-of-the-first",
    "context-mask-after-softmax",
    "context-mask-filled-with-zero",
    "context-mask-filled-with-a-finite-number",
    "asks-what-the-mask-holds",
    "nothing-left-is-nan",
    "nothing-left-is-averaged",
    "nan-patched-in-output",
    "squeezed",
    "view-of-the-input",
    "input-changed",
]


for _id in OF_THE_CROSS:
    _says, _steps = mistakes.SHARED[_id]
    _cross = type("MultiHeadCrossAttention", (cross.Right,), _steps)
    _name = "".join(part.capitalize() for part in _id.split("-"))
    _code = type(_name, (Right,), {"Cross": _cross, "__module__": __name__})
    misconception(_id, f"In your `MultiHeadCrossAttention`: {_says}")(_code)
