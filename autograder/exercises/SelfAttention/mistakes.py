"""Wrong implementations of `SelfAttention(d_in, d_out, qkv_bias=False)`. Each replaces a step of `Layer`, or is the
original."""

import torch
import torch.nn.functional as F
from torch import nn

from ...mistakes.bank import misconception


class Layer(nn.Module):
    """The right steps, each of which can be overridden: (…, n, d_in) -> (…, n, d_out)."""

    def __init__(self, d_in, d_out, qkv_bias=False):
        super().__init__()
        self.W_query = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_key = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_value = nn.Linear(d_in, d_out, bias=qkv_bias)

    def forward(self, x):
        self.refuse(x)
        Q, K, V = self.project(x)
        return self.mix(self.weigh(self.scores(Q, K, x)), V, x)

    def refuse(self, x):
        if x.dim() not in (2, 3):
            raise ValueError(f"expected (n, d_in) or (b, n, d_in), got {tuple(x.shape)}")

    def project(self, x):
        return self.W_query(x), self.W_key(x), self.W_value(x)

    def scores(self, Q, K, x):
        return Q @ K.transpose(-2, -1) / K.shape[-1] ** 0.5  # (…, n, n)

    def weigh(self, scores):
        return F.softmax(scores, dim=-1)  # (…, n, n)

    def mix(self, weights, V, x):
        return weights @ V  # (…, n, d_out)


# --- the original and its defects -----------------------------------------------------------------


# Typed as the notebook has it.
# fmt: off
@misconception(
    "original-004",
    "This is notebook 004's class as it was given: `transpose(1, 2)` stops it for one sequence (IndexError), and for a"
    " batch `dim=1` lets the queries compete instead of the keys.",
    original="004",
)
class SelfAttention(nn.Module):
    """One attention head: (n, d_in) -> (n, d_out), or a batch (b, n, d_in) -> (b, n, d_out)."""

    def __init__(self, d_in, d_out, qkv_bias=False):
        super().__init__()
        self.W_query = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_key = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_value = nn.Linear(d_in, d_out, bias=qkv_bias)

    def forward(self, x):
        Q = self.W_query(x)  # (..., n, d_out)
        K = self.W_key(x)    # (..., n, d_out)
        V = self.W_value(x)  # (..., n, d_out)

        scores = Q @ K.transpose(1, 2)                            # (..., n, n)
        weights = F.softmax(scores / K.shape[-1] ** 0.5, dim=1)   # (..., n, n)
        return weights @ V                                        # (..., n, d_out)


# fmt: on


@misconception(
    "transpose-from-the-front",
    "`transpose(1, 2)` counts dimensions from the front, and one sequence (n, d_in) has no dimension 2: count from the"
    " end, `transpose(-2, -1)`.",
    original="004",
)
class TransposeFromTheFront(Layer):
    def scores(self, Q, K, x):
        return Q @ K.transpose(1, 2) / K.shape[-1] ** 0.5


@misconception(
    "softmax-over-dim-1",
    "These are the values you get from a softmax with `dim=1`, which in a batch are the queries: the keys are the last"
    " dimension, `dim=-1`.",
    original="004",
)
class SoftmaxOverDim1(Layer):
    def weigh(self, scores):
        return F.softmax(scores, dim=1)


@misconception(
    "rank-not-checked",
    "Nothing refuses an input that is neither (n, d_in) nor (b, n, d_in): look at `x.dim()` and raise a `ValueError`.",
    original="004",
)
class RankNotChecked(Layer):
    def refuse(self, x):
        pass


# --- projections and biases -----------------------------------------------------------------------


@misconception("always-bias", "The layers have a bias also when `qkv_bias` is false.")
class AlwaysBias(Layer):
    def __init__(self, d_in, d_out, qkv_bias=False):
        super().__init__(d_in, d_out, True)


@misconception("never-bias", "The layers have no bias even when `qkv_bias` is true: pass it on to all three.")
class NeverBias(Layer):
    def __init__(self, d_in, d_out, qkv_bias=False):
        super().__init__(d_in, d_out, False)


@misconception(
    "value-without-bias", "With `qkv_bias=True` only queries and keys have a bias: `W_value` should have one as well."
)
class ValueWithoutBias(Layer):
    def __init__(self, d_in, d_out, qkv_bias=False):
        super().__init__(d_in, d_out, qkv_bias)
        self.W_value = nn.Linear(d_in, d_out, bias=False)


@misconception(
    "keys-as-values", "These are the values you get when the weights are applied to the keys: mix the values."
)
class KeysAsValues(Layer):
    def project(self, x):
        return self.W_query(x), self.W_key(x), self.W_key(x)


@misconception(
    "keys-from-queries",
    "These are the values you get when the keys are made by `W_query`: each role has a matrix of its own.",
)
class KeysFromQueries(Layer):
    def project(self, x):
        return self.W_query(x), self.W_query(x), self.W_value(x)


@misconception(
    "values-from-queries",
    "These are the values you get when the values are made by `W_query`: each role has a matrix of its own.",
)
class ValuesFromQueries(Layer):
    def project(self, x):
        return self.W_query(x), self.W_key(x), self.W_query(x)


@misconception(
    "inputs-as-values",
    "The weights are applied to the input itself: `W_value` has no part in the output. Mix the values.",
    original="001",
)
class InputsAsValues(Layer):
    def mix(self, weights, V, x):
        return weights @ x


@misconception(
    "one-projection",
    "One matrix serves for queries, keys and values: each role has a matrix of its own.",
)
class OneProjection(Layer):
    def __init__(self, d_in, d_out, qkv_bias=False):
        super().__init__(d_in, d_out, qkv_bias)
        self.W_key = self.W_value = self.W_query


@misconception(
    "layers-made-in-forward",
    "The layers are made anew in every call, so nothing can be learnt or loaded: make them in `__init__`.",
)
class LayersMadeInForward(Layer):
    def __init__(self, d_in, d_out, qkv_bias=False):
        nn.Module.__init__(self)
        self.sizes = d_in, d_out, qkv_bias

    def project(self, x):
        return [nn.Linear(*self.sizes)(x) for _ in range(3)]


# --- scores and softmax ---------------------------------------------------------------------------


@misconception("no-scale", "These are the values you get without a scale: divide the scores by √d_out.")
class NoScale(Layer):
    def scores(self, Q, K, x):
        return Q @ K.mT


@misconception(
    "scale-without-root", "These are the values you get when scores are divided by d_out: it should be its square root."
)
class ScaleWithoutRoot(Layer):
    def scores(self, Q, K, x):
        return Q @ K.mT / K.shape[-1]


@misconception(
    "scale-by-input-width",
    "These are the values you get when scores are divided by √d_in: it is the width of the key, d_out, that counts.",
)
class ScaleByInputWidth(Layer):
    def scores(self, Q, K, x):
        return Q @ K.mT / x.shape[-1] ** 0.5


@misconception(
    "scale-by-number-of-tokens",
    "These are the values you get when scores are divided by √n: it is the width of the key, d_out, that counts.",
)
class ScaleByNumberOfTokens(Layer):
    def scores(self, Q, K, x):
        return Q @ K.mT / x.shape[-2] ** 0.5


@misconception(
    "scale-after-softmax",
    "These are the values you get when the weights are divided by √d_out: scale the scores, before the softmax, else"
    " rows no longer sum to 1.",
)
class ScaleAfterSoftmax(Layer):
    def scores(self, Q, K, x):
        return Q @ K.mT

    def mix(self, weights, V, x):
        return weights / V.shape[-1] ** 0.5 @ V


@misconception(
    "key-not-transposed",
    "The keys are not transposed in the product of queries and keys, which fits only when n = d_out.",
)
class KeyNotTransposed(Layer):
    def scores(self, Q, K, x):
        return Q @ K / K.shape[-1] ** 0.5


@misconception(
    "query-and-key-swapped",
    "These are the values you get when queries and keys change places in the product: rows belong to queries, so Q"
    " comes first.",
)
class QueryAndKeySwapped(Layer):
    def scores(self, Q, K, x):
        return K @ Q.mT / K.shape[-1] ** 0.5


@misconception(
    "softmax-over-queries",
    "These are the values you get when the softmax runs over the queries, so that columns sum to 1 and not rows: check"
    " `dim`, it should be the last.",
)
class SoftmaxOverQueries(Layer):
    def weigh(self, scores):
        return F.softmax(scores, dim=-2)


@misconception(
    "softmax-over-dim-0",
    "These are the values you get from a softmax with `dim=0`, in a batch over its sequences: the keys are the last"
    " dimension.",
)
class SoftmaxOverDim0(Layer):
    def weigh(self, scores):
        return F.softmax(scores, dim=0)


@misconception(
    "exp-without-max",
    "The exponentials overflow for large scores and vanish for very negative ones: subtract each row's largest score"
    " before `exp`, or use torch's softmax.",
)
class ExpWithoutMax(Layer):
    def weigh(self, scores):
        return scores.exp() / scores.exp().sum(-1, keepdim=True)


# --- batches, gradients, dtypes -------------------------------------------------------------------


@misconception(
    "batch-flattened",
    "The sequences of a batch are joined into one long sequence, so they see each other: leave the batch dimension"
    " alone.",
)
class BatchFlattened(Layer):
    def forward(self, x):
        self.refuse(x)
        return super().forward(x.reshape(-1, x.shape[-1])).reshape(*x.shape[:-1], -1)


@misconception(
    "batch-added",
    "One sequence (n, d_in) comes out as a batch of one: take the dimension that you added away again.",
)
class BatchAdded(Layer):
    def mix(self, weights, V, x):
        output = weights @ V
        return output if x.dim() == 3 else output.unsqueeze(0)


@misconception("squeezed", "`squeeze` drops every dimension of size 1, also a batch of one or a sequence of one token.")
class Squeezed(Layer):
    def mix(self, weights, V, x):
        return (weights @ V).squeeze()


@misconception(
    "view-of-the-input",
    "`view` needs a tensor that lies contiguous in memory, and a transposed one does not: use `reshape`, or neither.",
)
class ViewOfTheInput(Layer):
    def project(self, x):
        return super().project(x.view(x.numel()).view(x.shape))


@misconception(
    "weights-applied-twice",
    "These are the values you get when the weights are applied twice: nothing comes after the weighted sum.",
)
class WeightsAppliedTwice(Layer):
    def mix(self, weights, V, x):
        return weights @ (weights @ V)


@misconception(
    "weights-detached",
    "The weights are cut out of the graph (`detach`, `.data`, `no_grad`), so `W_query` and `W_key` never learn.",
)
class WeightsDetached(Layer):
    def weigh(self, scores):
        return super().weigh(scores).detach()


@misconception("float32-comes-out", "It returns float32 whatever goes in: leave the dtype as it is.")
class Float32ComesOut(Layer):
    def mix(self, weights, V, x):
        return weights.float() @ V.float()


@misconception(
    "scale-tensor-on-the-cpu",
    "The scale is a tensor of its own, float32 and on the CPU: divide by a Python number, such as"
    " `K.shape[-1] ** 0.5`.",
)
class ScaleTensorOnTheCpu(Layer):
    def scores(self, Q, K, x):
        return Q @ K.mT / torch.sqrt(torch.tensor([float(K.shape[-1])]))
