"""Wrong implementations of `SelfAttentionWide(k, n_heads=8)`. Each replaces a step of `heads.Wide`.

The untouched original stops where the class is defined (`nn.module`), so there is nothing to grade: its AttributeError
is the feedback, and tests/test_heads.py tests that. What follows it, crash mended by crash, is here.
"""

from ...mistakes.bank import misconception
from ..families.heads import mistakes


class Wide(mistakes.Wide):
    def __init__(self, k, n_heads=8):
        super().__init__(k, n_heads)


# --- the original's defects -----------------------------------------------------------------------


def folded(self, z):
    """(…, t, h·k) -> (b·h, t, k), as the original folds."""
    b, t, _ = z.shape
    return z.view(b, t, self.heads_in_all, -1).transpose(1, 2).contiguous().view(b * self.heads_in_all, t, -1)


def folded_again(folded):
    return folded.transpose(1, 2).contiguous().view(folded.shape)


class Folded(Wide):
    """The original's way: heads join the batch."""

    def forward(self, x):
        self.refuse(x)
        b, t, k = x.shape
        q, k_, v = (w / k**0.25 if i < 2 else w for i, w in enumerate(self.fold(*self.project(x))))
        out = (q @ k_.mT).softmax(2) @ v
        return self.unify(out.view(b, -1, t, k).transpose(1, 2).reshape(b, t, -1))


@misconception(
    "forward-inside-init",
    "`forward` stands inside `__init__`, so it is a local function there and the module has none (NotImplementedError):"
    " move it out to the level of `__init__`.",
    original="000",
)
class ForwardInsideInit(Wide):
    def forward(self, x):
        raise NotImplementedError('Module [SelfAttentionWide] is missing the required "forward" function')


@misconception(
    "crashes-mended",
    "These are the values of notebook 000's class with its crashes mended: keys and values are made from the folded"
    " queries, which mixes tokens with features. `tokeys` and `tovalues` have no part in the output.",
    original="000",
)
class CrashesMended(Folded):
    def fold(self, q, k, v):
        q = folded(self, q)
        return q, folded_again(q), folded_again(q)


@misconception(
    "keys-and-values-from-queries",
    "These are the values you get when keys and values are both made from the queries: `tokeys` and `tovalues` have no"
    " part in the output.",
    original="000",
)
class KeysAndValuesFromQueries(Folded):
    def fold(self, q, k, v):
        return (folded(self, q),) * 3


@misconception(
    "folded-twice",
    "Keys and values are folded a second time: `transpose(1, 2)` of a tensor (b*h, t, k) swaps tokens and features, and"
    " `view` then mixes them.",
    original="000",
)
class FoldedTwice(Folded):
    def fold(self, q, k, v):
        return folded(self, q), folded_again(folded(self, k)), folded_again(folded(self, v))


# --- others ---------------------------------------------------------------------------------------


@misconception("always-eight-heads", "There are eight heads whatever `n_heads` says: use the parameter.")
class AlwaysEightHeads(Wide):
    def __init__(self, k, n_heads=8):
        super().__init__(k, 8)


@misconception(
    "narrow-heads", "The heads are k/h wide: here each is as wide as the input, and the layers go from k to k*h."
)
class NarrowHeads(Wide):
    def __init__(self, k, n_heads=8):
        mistakes.Steps.__init__(self)
        self.make(k, k, k, n_heads)


mistakes.adopt(Wide, *mistakes.EVERYWHERE, "bias-everywhere")
