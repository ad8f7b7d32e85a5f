"""Wrong implementations of `StackedHeads(num_heads, head_size, n_embd, block_size, dropout)`.

Each replaces a step of `Stacked`, or hands it a wrong `Head`: a head is `heads.Steps` with a single head and no output
projection.
"""

import torch
from torch import nn

from ...mistakes.bank import misconception
from ..families.heads import mistakes


class Head(mistakes.Steps):
    """The right head: (b, t, n_embd) -> (b, t, head_size)."""

    names = ("query", "key", "value", "out")
    is_causal = True

    def __init__(self, n_embd, head_size, block_size, dropout):
        super().__init__()
        self.make(n_embd, head_size, head_size, 1, block_size, dropout)
        del self.out

    def layers(self):
        return [self.query, self.key, self.value, nn.Identity()]


class Stacked(nn.Module):
    """The right steps: (b, t, n_embd) -> (b, t, n_embd)."""

    Head = Head

    def __init__(self, num_heads, head_size, n_embd, block_size, dropout):
        super().__init__()
        given = n_embd, head_size, block_size, dropout
        self.heads = self.make_heads(num_heads, given)
        self.proj = nn.Linear(num_heads * head_size, n_embd)
        self.p = dropout

    def make_heads(self, number, given):
        return nn.ModuleList([self.Head(*given) for _ in range(number)])

    def find(self, x):
        return [head(x) for head in self.heads]

    def join(self, found):
        return torch.cat(found, dim=-1)

    def forward(self, x):
        return self.proj(self.join(self.find(x)))


# --- stacking -------------------------------------------------------------------------------------


@misconception(
    "plain-list",
    "The heads are in a plain Python list, which hides their parameters: use `nn.ModuleList`.",
)
class PlainList(Stacked):
    def make_heads(self, number, given):
        return [self.Head(*given) for _ in range(number)]


@misconception(
    "the-same-head-many-times",
    "It is one head, many times over (`[head] * n`): make a new one for each place.",
)
class TheSameHeadManyTimes(Stacked):
    def make_heads(self, number, given):
        return nn.ModuleList([self.Head(*given)] * number)


@misconception(
    "no-output-projection",
    "As in notebook 003 there is no output projection: what the heads find should go through a Linear layer `proj`.",
    original="003",
)
class NoOutputProjection(Stacked):
    def __init__(self, *sizes):
        super().__init__(*sizes)
        del self.proj

    def forward(self, x):
        return self.join(self.find(x))


@misconception("projection-never-used", "`proj` is made and never used: apply it to what the heads have found.")
class ProjectionNeverUsed(Stacked):
    def forward(self, x):
        return self.join(self.find(x))


@misconception("projection-without-bias", "The output projection `proj` has no bias: here it should have one.")
class ProjectionWithoutBias(Stacked):
    def __init__(self, num_heads, head_size, n_embd, block_size, dropout):
        super().__init__(num_heads, head_size, n_embd, block_size, dropout)
        self.proj = nn.Linear(num_heads * head_size, n_embd, bias=False)


@misconception(
    "projection-of-the-embedding",
    "`proj` goes from n_embd to n_embd: it should start from num_heads * head_size, which need not be n_embd.",
)
class ProjectionOfTheEmbedding(Stacked):
    def __init__(self, num_heads, head_size, n_embd, block_size, dropout):
        super().__init__(num_heads, head_size, n_embd, block_size, dropout)
        self.proj = nn.Linear(n_embd, n_embd)


@misconception(
    "heads-added",
    "What the heads find is added: place it side by side, so that `proj` can tell the heads apart.",
)
class HeadsAdded(Stacked):
    def join(self, found):
        return sum(found).repeat(1, 1, len(found))


@misconception(
    "heads-averaged",
    "These are the values you get when what the heads find is averaged: place it side by side.",
)
class HeadsAveraged(Stacked):
    def join(self, found):
        return (sum(found) / len(found)).repeat(1, 1, len(found))


@misconception("heads-reversed", "The heads come out in reversed order: head 0 comes first.")
class HeadsReversed(Stacked):
    def join(self, found):
        return torch.cat(found[::-1], dim=-1)


@misconception(
    "features-interleaved",
    "The heads' features are interleaved (`stack` over the last dimension): join them with `cat`, head 0 first.",
)
class FeaturesInterleaved(Stacked):
    def join(self, found):
        return torch.stack(found, dim=-1).flatten(2)


@misconception(
    "joined-along-the-tokens",
    "The heads' outputs are joined along the tokens: join them along the features, the last dimension.",
)
class JoinedAlongTheTokens(Stacked):
    def join(self, found):
        joined = torch.cat(found, dim=1)
        return joined.reshape(found[0].shape[0], found[0].shape[1], -1)


@misconception(
    "heads-in-a-row",
    "Each head gets what the head before it returned: each should see the input.",
)
class HeadsInARow(Stacked):
    def find(self, x):
        found = []
        for head in self.heads:
            x = head(x)
            found.append(x)
        return found


@misconception(
    "dropout-on-the-output-as-well",
    "Dropout acts on the output as well as on the weights: here it should act on the weights alone.",
)
class DropoutOnTheOutputAsWell(Stacked):
    def forward(self, x):
        return nn.functional.dropout(super().forward(x), self.p, self.training)


# --- a wrong Head ---------------------------------------------------------------------------------


OF_A_HEAD = [
    "keys-from-queries",
    "values-from-queries",
    "keys-as-values",
    "query-and-key-swapped",
    "no-scale",
    "scale-without-root",
    "scale-by-number-of-tokens",
    "scale-after-softmax",
    "softmax-over-queries",
    "exp-without-max",
    "weights-detached",
    "values-detached",
    "float32-comes-out",
    "scale-tensor-on-the-cpu",
    "rank-not-checked",
    "squeezed",
    "view-of-the-input",
    "input-changed",
    *(id for id in mistakes.CAUSAL if id not in ("dropout-alike-in-all-heads", "dropout-on-the-output-as-well")),
]


def with_head(id, says, steps, original=None):
    """Stack a head with wrong steps."""
    wrong = type("Head", (Head,), steps)
    name = "".join(part.capitalize() for part in id.split("-"))
    misconception(id, says, original)(type(name, (Stacked,), {"Head": wrong, "__module__": __name__}))


for _id in OF_A_HEAD:
    with_head(_id, f"In your `Head`: {mistakes.SHARED[_id][0]}", mistakes.SHARED[_id][1])
with_head(
    "scale-by-embedding-width",
    "In your `Head`: scores are divided by the root of n_embd, as in notebook 003: it is head_size that counts.",
    {"scores": lambda self, q, k, x: q @ k.mT / x.shape[-1] ** 0.5},
    original="003",
)
with_head(
    "bias-everywhere",
    "In your `Head`: the layers for queries, keys and values have a bias, and nobody asked for one.",
    {"make": mistakes.bias_everywhere},
)
