"""Wrong implementations of `MultiHeadSelfAttention(k, h=4)`. Each replaces a step of `Narrow`, or is the original."""

import torch
import torch.nn.functional as F
from torch import nn

from ...mistakes.bank import misconception
from ..families.heads import mistakes


class Narrow(mistakes.Steps):
    """The right steps: (…, t, k) -> (…, t, k)."""

    ranks = (2, 3)

    def __init__(self, k, h=4):
        super().__init__()
        self.divide(k, h)
        self.make(k, k, k, h)


# --- the original and its defects -----------------------------------------------------------------


# Typed as the notebook has it.
# fmt: off
@misconception(
    "original-001",
    "This is notebook 001's class as it was given. `super.init()` stops it: call `super`, then the parent's `__init__`."
    " More mistakes wait behind that one.",
    original="001",
)
class MultiHeadSelfAttention(nn.Module):
    """Multi-head attention with narrow heads: (t, k) -> (t, k)."""

    def __init__(self, k, h=4):
        super.init()
        assert k % h == 0
        self.k = k
        self.heads = h
        self.s = k // h
        self.toqueries = nn.Linear(k, k, bias=False)
        self.tokeys = nn.Linear(k, k, bias=False)
        self.tovalues = nn.Linear(k, k, bias=False)

    def forward(self, x):
        t, h = x.size()
        queries = self.toqueries(x).reshape(t, self.s, h)
        keys = self.tokeys(x).reshape(t, self.s, h)
        values = self.tovalues(x).reshape(t, self.s, h)

        # heads to the front: (h, t, s)
        queries = queries.transpose(1, 2).transpose(0, 1)
        keys = keys.transpose(1, 2).transpose(0, 1)
        values = values.transpose(1, 2).transpose(0, 1)

        scores = torch.bmm(queries, keys.transpose(1, 2)) / self.s ** 0.5  # (h, t, t)
        weights = F.softmax(scores, dim=2)                                 # (h, t, t)
        out = torch.bmm(weights, values)                                   # (h, t, s)
        return out.transpose(0, 1).transpose(1, 2).reshape(t, self.s * h)  # (t, k)


# fmt: on


@misconception(
    "number-of-heads-overwritten",
    "`t, h = x.size()` calls the width of the input h, so that the reshape does not fit (RuntimeError), and it has no"
    " room for a batch (ValueError): the number of heads is `self.heads`.",
    original="001",
)
class NumberOfHeadsOverwritten(nn.Module):
    """The original, its first crash mended."""

    def __init__(self, k, h=4):
        super().__init__()
        assert k % h == 0
        self.k, self.heads, self.s = k, h, k // h
        self.toqueries = nn.Linear(k, k, bias=False)
        self.tokeys = nn.Linear(k, k, bias=False)
        self.tovalues = nn.Linear(k, k, bias=False)

    def forward(self, x):
        t, h = x.size()
        return self.attend(x, t, h)

    def attend(self, x, t, h):
        layers = (self.toqueries, self.tokeys, self.tovalues)
        q, k, v = (layer(x).reshape(t, self.s, h).transpose(1, 2).transpose(0, 1) for layer in layers)  # (h, t, s)
        weights = F.softmax(torch.bmm(q, k.transpose(1, 2)) / self.s**0.5, dim=2)
        return torch.bmm(weights, v).transpose(0, 1).transpose(1, 2).reshape(t, self.s * h)


@misconception(
    "crashes-mended",
    "This is notebook 001's class with its crashes mended: no output projection, the head is the fastest index, no"
    " batch.",
    original="001",
)
class CrashesMended(NumberOfHeadsOverwritten):
    def forward(self, x):
        t, _ = x.size()
        return self.attend(x, t, self.heads)


@misconception(
    "no-output-projection",
    "There is no output projection: what the heads find should go through a Linear layer `unifyheads` with a bias.",
    original="001",
)
class NoOutputProjection(Narrow):
    def make(self, *sizes):
        super().make(*sizes)
        del self.unifyheads

    def layers(self):
        return [self.toqueries, self.tokeys, self.tovalues]

    def unify(self, found):
        return found


@misconception(
    "projection-never-used",
    "`unifyheads` is made and never used: apply it to what the heads have found.",
    original="001",
)
class ProjectionNeverUsed(Narrow):
    def unify(self, found):
        return found


@misconception(
    "no-batch",
    "A batch (b, t, k) is refused: one sequence and a batch should both work.",
    original="001",
)
class NoBatch(Narrow):
    ranks = (2,)


@misconception(
    "assert-instead-of-an-error",
    "Heads that don't divide the width stop with an AssertionError: raise a `ValueError` with both numbers.",
    original="001",
)
class AssertInsteadOfAnError(Narrow):
    def divide(self, k, h):
        assert k % h == 0


# --- others ---------------------------------------------------------------------------------------


@misconception(
    "indivisible-floored",
    "Heads that don't divide the width are accepted: raise a `ValueError` with both numbers.",
)
class IndivisibleFloored(Narrow):
    def divide(self, k, h):
        pass


@misconception(
    "error-without-numbers",
    "The `ValueError` for heads that don't divide the width should name both numbers.",
)
class ErrorWithoutNumbers(Narrow):
    def divide(self, k, h):
        if k % h != 0:
            raise ValueError("the heads do not divide the width")


@misconception("only-batches", "One sequence (t, k) without a batch is refused or fails: both should work.")
class OnlyBatches(Narrow):
    ranks = (3,)


@misconception(
    "batch-added",
    "One sequence (t, k) comes out as a batch of one: take the dimension that you added away again.",
)
class BatchAdded(Narrow):
    def unify(self, found):
        return super().unify(found if found.dim() == 3 else found[None])


@misconception(
    "batch-flattened",
    "The sequences of a batch are joined into one long sequence, so they see each other.",
)
class BatchFlattened(Narrow):
    def forward(self, x):
        self.refuse(x)
        return super().forward(x.reshape(-1, x.shape[-1])).reshape(x.shape)


@misconception(
    "wide-heads", "The heads are as wide as the input: here they share the width, and the layers go from k to k."
)
class WideHeads(Narrow):
    def make(self, d_in, inner, d_out, h, **options):
        super().make(d_in, inner * h, d_out, h)


@misconception("always-four-heads", "There are four heads whatever `h` says: use the parameter.")
class AlwaysFourHeads(Narrow):
    def make(self, d_in, inner, d_out, h, **options):
        super().make(d_in, inner, d_out, 4)


@misconception(
    "input-cut",
    "Each head sees only its own share of the input: cut queries, keys and values after the projection, not the input.",
)
class InputCut(Narrow):
    def project(self, x):
        share = x.shape[-1] // self.heads_in_all
        blocks = torch.eye(self.heads_in_all, dtype=x.dtype, device=x.device)
        mask = blocks.repeat_interleave(share, 0).repeat_interleave(share, 1)
        return [F.linear(x, layer.weight * mask) for layer in self.layers()[:3]]


mistakes.adopt(Narrow, *mistakes.EVERYWHERE, "bias-everywhere", originals={"fast-head-index": "001"})
