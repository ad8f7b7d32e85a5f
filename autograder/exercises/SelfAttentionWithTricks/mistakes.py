# ruff: noqa: F821
"""Wrong implementations of `SelfAttentionWithTricks(k, heads=8)`. Each replaces a step of `heads.Wide`, or is the
original."""

from torch import nn

from ...mistakes.bank import misconception
from ..families.heads import mistakes as steps


class Tricks(steps.Wide):
    pass


# --- the original and its defects -----------------------------------------------------------------


# Typed as the notebook has it. Its `forward` is no part of the class.
# fmt: off
@misconception(
    "original-002",
    "This is notebook 002's class as it was given. Its parameter is spelt `neads`, so that `nheads` is not defined"
    " (NameError). Two more mistakes wait behind that one.",
    original="002",
)
class SelfAttentionWithTricks(nn.Module):
    """Multi-head attention with wide heads: (b, t, k) -> (b, t, k)."""

    def __init__(self, k, neads=8):
        super().__init__()
        self.k, self.nheads = k, nheads
        self.tokeys = nn.Linear(k, k * heads, bias=False)
        self.toqueries = nn.Linear(k, k * heads, bias=False)
        self.tovalues = nn.Linear(k, k * heads, bias=False)
        self.unifyheads = nn.Linear(heads * k, k)


# fmt: on


@misconception(
    "heads-never-set",
    "The number of heads is stored as `self.nheads` and read as `self.heads`, which does not exist (AttributeError):"
    " use one name.",
    original="002",
)
class HeadsNeverSet(Tricks):
    def forward(self, x):
        b, t, k = x.size()
        raise AttributeError("'SelfAttentionWithTricks' object has no attribute 'heads'")


@misconception(
    "forward-outside-of-the-class",
    "`forward` is a function beside the class, so the module has none (NotImplementedError): indent it, so that it"
    " belongs to the class.",
    original="002",
)
class ForwardOutsideOfTheClass(Tricks):
    def forward(self, x):
        raise NotImplementedError('Module [SelfAttentionWithTricks] is missing the required "forward" function')


@misconception(
    "neads",
    "The second parameter is still called `neads`: the exercise asks for `heads`.",
    original="002",
)
class Neads(Tricks):
    def __init__(self, k, neads=8):
        super().__init__(k, neads)


# --- others ---------------------------------------------------------------------------------------


@misconception("always-eight-heads", "There are eight heads whatever `heads` says: use the parameter.")
class AlwaysEightHeads(Tricks):
    def __init__(self, k, heads=8):
        super().__init__(k, 8)


@misconception(
    "narrow-heads", "The heads are k/h wide: here each is as wide as the input, and the layers go from k to k*h."
)
class NarrowHeads(Tricks):
    def __init__(self, k, heads=8):
        steps.Steps.__init__(self)
        self.make(k, k, k, heads)


steps.adopt(Tricks, *steps.EVERYWHERE, "bias-everywhere")
