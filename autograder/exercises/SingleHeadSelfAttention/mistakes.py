"""Wrong implementations of `SingleHeadSelfAttention(k)`. Each one replaces a step of `Head`, or is the original."""

import torch
import torch.nn.functional as F
from torch import nn

from ...mistakes.bank import misconception


class Head(nn.Module):
    """The right steps, each of which can be overridden: (t, k) -> (t, k)."""

    bias = False

    def __init__(self, k):
        super().__init__()
        self.k = k
        self.toqueries = nn.Linear(k, k, bias=self.bias)
        self.tokeys = nn.Linear(k, k, bias=self.bias)
        self.tovalues = nn.Linear(k, k, bias=self.bias)

    def forward(self, x):
        self.refuse(x)
        queries, keys, values = self.project(x)
        return self.mix(self.weigh(self.scores(queries, keys)), values, x)

    def refuse(self, x):
        if x.dim() != 2:
            raise ValueError(f"expected one sequence of shape (t, k), got {tuple(x.shape)}")

    def project(self, x):
        return self.toqueries(x), self.tokeys(x), self.tovalues(x)

    def scores(self, queries, keys):
        return torch.mm(queries, keys.transpose(0, 1)) / self.k**0.5  # (t, t)

    def weigh(self, scores):
        return F.softmax(scores, dim=1)  # (t, t)

    def mix(self, weights, values, x):
        return torch.mm(weights, values)  # (t, k)


# --- the original and its defects -----------------------------------------------------------------


# Typed as the notebook has it.
# fmt: off
@misconception(
    "original-001",
    "This is notebook 001's class as it was given. `super.init()` stops it: call `super`, then the parent's `__init__`."
    " Two more mistakes wait behind that one.",
    original="001",
)
class SingleHeadSelfAttention(nn.Module):
    """One attention head for one sequence: (t, k) -> (t, k)."""

    def __init__(self, k):
        super.init()
        self.k = k
        self.toqueries = nn.Linear(k, k, bias=False)
        self.tokeys = nn.Linear(k, k, bias=False)
        self.tovalues = nn.Linear(k, k, bias=False)

    def forward(self, x):
        queries = self.toqueries(x)  # (t, k)
        keys = self.tokeys(x)        # (t, k)
        values = self.tovalues(x)    # (t, k)  # noqa: F841

        scores = torch.mm(queries, keys.transpose())  # (t, k) x (k, t) -> (t, t)
        scaled = scores / self.k ** 0.5               # (t, t)
        weights = F.softmax(scaled, dim=1)            # (t, t)
        return torch.mm(weights, x)                   # (t, t) x (t, k) -> (t, k)


# fmt: on


@misconception(
    "transpose-of-nothing",
    "`keys.transpose()` is not told which two dimensions to swap: 0 and 1. A quiet mistake waits behind this one.",
    original="001",
)
class TransposeOfNothing(Head):
    def refuse(self, x):
        pass

    def scores(self, queries, keys):
        return torch.mm(queries, keys.transpose()) / self.k**0.5

    def mix(self, weights, values, x):
        return torch.mm(weights, x)


@misconception(
    "inputs-as-values",
    "These are the values you get when the weights are applied to the input itself: `tovalues` has no part in the"
    " output, and gets no gradient. Mix the values.",
    original="001",
)
class InputsAsValues(Head):
    def mix(self, weights, values, x):
        return torch.mm(weights, x)


@misconception(
    "rank-not-checked",
    "Nothing refuses an input that is not (t, k): compare `x.dim()` with 2 and raise a `ValueError`.",
    original="001",
)
class RankNotChecked(Head):
    def refuse(self, x):
        pass


# --- projections ----------------------------------------------------------------------------------


@misconception(
    "accepts-a-batch",
    "A batch (b, t, k) is accepted: here the contract is one sequence, so raise a `ValueError` unless `x.dim()` is 2.",
)
class AcceptsABatch(Head):
    def refuse(self, x):
        pass

    def scores(self, queries, keys):
        return queries @ keys.transpose(-2, -1) / self.k**0.5

    def weigh(self, scores):
        return scores.softmax(-1)

    def mix(self, weights, values, x):
        return weights @ values


@misconception(
    "keys-as-values", "These are the values you get when the weights are applied to the keys: mix the values."
)
class KeysAsValues(Head):
    def project(self, x):
        return self.toqueries(x), self.tokeys(x), self.tokeys(x)


@misconception(
    "keys-from-queries",
    "These are the values you get when the keys are made by `toqueries`: each role has a matrix of its own.",
)
class KeysFromQueries(Head):
    def project(self, x):
        return self.toqueries(x), self.toqueries(x), self.tovalues(x)


@misconception(
    "values-from-queries",
    "These are the values you get when the values are made by `toqueries`: each role has a matrix of its own.",
)
class ValuesFromQueries(Head):
    def project(self, x):
        return self.toqueries(x), self.tokeys(x), self.toqueries(x)


@misconception(
    "projected-twice",
    "These are the values you get when keys and values are made from the queries and not from the input.",
    original="000",
)
class ProjectedTwice(Head):
    def project(self, x):
        queries = self.toqueries(x)
        return queries, self.tokeys(queries), self.tovalues(queries)


@misconception("one-projection", "One matrix serves for queries, keys and values: each role has a matrix of its own.")
class OneProjection(Head):
    def __init__(self, k):
        super().__init__(k)
        self.tokeys = self.tovalues = self.toqueries


@misconception("with-bias", "The layers have a bias, and there should be none: `bias=False`.")
class WithBias(Head):
    bias = True


@misconception(
    "extra-parameters",
    "There is a layer after the attention that nobody asked for: the output is the weighted sum of the values.",
)
class ExtraParameters(Head):
    def __init__(self, k):
        super().__init__(k)
        self.unifyheads = nn.Linear(k, k, bias=False)

    def mix(self, weights, values, x):
        return self.unifyheads(weights @ values)


@misconception(
    "layers-made-in-forward",
    "The layers are made anew in every call, so nothing can be learnt or loaded: make them in `__init__`.",
)
class LayersMadeInForward(Head):
    def __init__(self, k):
        nn.Module.__init__(self)
        self.k = k

    def project(self, x):
        return [nn.Linear(self.k, self.k, bias=False)(x) for _ in range(3)]


# --- scores, softmax and what follows -------------------------------------------------------------


@misconception("no-scale", "These are the values you get without a scale: divide the scores by √k before the softmax.")
class NoScale(Head):
    def scores(self, queries, keys):
        return queries @ keys.T


@misconception(
    "scale-without-root", "These are the values you get when scores are divided by k: it should be its square root."
)
class ScaleWithoutRoot(Head):
    def scores(self, queries, keys):
        return queries @ keys.T / self.k


@misconception(
    "scale-by-number-of-tokens",
    "These are the values you get when scores are divided by √t: it is the width of a key that counts, not the number"
    " of tokens.",
)
class ScaleByNumberOfTokens(Head):
    def scores(self, queries, keys):
        return queries @ keys.T / len(keys) ** 0.5


@misconception(
    "scale-after-softmax",
    "These are the values you get when the weights are divided by √k: scale the scores, before the softmax, else rows"
    " no longer sum to 1.",
)
class ScaleAfterSoftmax(Head):
    def scores(self, queries, keys):
        return queries @ keys.T

    def weigh(self, scores):
        return F.softmax(scores, dim=1) / self.k**0.5


@misconception(
    "key-not-transposed",
    "The keys are not transposed in the product of queries and keys, which fits only when t = k.",
)
class KeyNotTransposed(Head):
    def scores(self, queries, keys):
        return torch.mm(queries, keys) / self.k**0.5


@misconception(
    "query-and-key-swapped",
    "These are the values you get when queries and keys change places in the product: rows belong to queries, so the"
    " queries come first.",
)
class QueryAndKeySwapped(Head):
    def scores(self, queries, keys):
        return keys @ queries.T / self.k**0.5


@misconception(
    "softmax-over-queries",
    "These are the values you get when the softmax runs over the queries, so that columns sum to 1 and not rows: check"
    " `dim`.",
)
class SoftmaxOverQueries(Head):
    def weigh(self, scores):
        return F.softmax(scores, dim=0)


@misconception(
    "exp-without-max",
    "The exponentials overflow for large scores and vanish for very negative ones: subtract each row's largest score"
    " before `exp`, or use torch's softmax.",
)
class ExpWithoutMax(Head):
    def weigh(self, scores):
        return scores.exp() / scores.exp().sum(1, keepdim=True)


@misconception(
    "sigmoid-weights",
    "These are the values you get when weights are made by a sigmoid, each by itself: the keys compete, by a softmax.",
)
class SigmoidWeights(Head):
    def weigh(self, scores):
        return scores.sigmoid()


@misconception(
    "inputs-again",
    "These are the values you get when the output is multiplied by the input again: nothing comes after the weighted"
    " sum.",
    original="004",
)
class InputsAgain(Head):
    def mix(self, weights, values, x):
        return weights @ values * x


@misconception(
    "input-added", "These are the values you get when the input is added to the output: nothing comes after."
)
class InputAdded(Head):
    def mix(self, weights, values, x):
        return weights @ values + x


@misconception(
    "weights-detached",
    "The weights are cut out of the graph (`detach`, `.data`, `no_grad`), so `toqueries` and `tokeys` never learn.",
)
class WeightsDetached(Head):
    def weigh(self, scores):
        return F.softmax(scores, dim=1).detach()


@misconception("float32-comes-out", "It returns float32 whatever goes in: leave the dtype as it is.")
class Float32ComesOut(Head):
    def mix(self, weights, values, x):
        return torch.mm(weights.float(), values.float())


@misconception(
    "scale-tensor-on-the-cpu",
    "The scale is a tensor of its own, float32 and on the CPU: divide by a Python number, such as `self.k ** 0.5`.",
)
class ScaleTensorOnTheCpu(Head):
    def scores(self, queries, keys):
        return queries @ keys.T / torch.sqrt(torch.tensor([float(self.k)]))
