"""Wrong implementations of `Head(n_embd, head_size, block_size, dropout)`. Each replaces a step of `Layer`, or is the
original."""

import torch
import torch.nn.functional as F
from torch import nn

from ...mistakes.bank import misconception


class Layer(nn.Module):
    """The right steps, each of which can be overridden: (b, t, n_embd) -> (b, t, head_size)."""

    def __init__(self, n_embd, head_size, block_size, dropout):
        super().__init__()
        self.longest = block_size
        self.key = nn.Linear(n_embd, head_size, bias=False)
        self.query = nn.Linear(n_embd, head_size, bias=False)
        self.value = nn.Linear(n_embd, head_size, bias=False)
        self.register_buffer("tril", torch.tril(torch.ones(block_size, block_size)))
        self.dropout = nn.Dropout(dropout)

    def forward(self, x):
        self.refuse_rank(x)
        self.refuse_long(x.shape[-2])
        Q, K, V = self.project(x)
        allowed = self.past(x.shape[-2])
        weights = self.weigh(self.hide(self.scores(Q, K, x), allowed), allowed)
        return self.mix(self.drop(weights), V, x)

    def refuse_rank(self, x):
        if x.dim() != 3:
            raise ValueError(f"expected (b, t, n_embd), got {tuple(x.shape)}")

    def refuse_long(self, t):
        if t > self.longest:
            raise ValueError(f"{t} tokens are more than the block of {self.longest}")

    def project(self, x):
        return self.query(x), self.key(x), self.value(x)

    def scores(self, Q, K, x):
        return Q @ K.mT * K.shape[-1] ** -0.5  # (b, t, t)

    def past(self, t):
        return self.tril[:t, :t] != 0  # (t, t), True for the query's own place and those before it

    def hide(self, scores, allowed):
        return scores.masked_fill(~allowed, float("-inf"))  # (b, t, t)

    def weigh(self, scores, allowed):
        return scores.softmax(-1)  # (b, t, t)

    def drop(self, weights):
        return self.dropout(weights)  # (b, t, t)

    def mix(self, weights, V, x):
        return weights @ V  # (b, t, head_size)


# --- the original and its defects -----------------------------------------------------------------


# Typed as the notebook has it; n_embd, block_size and dropout are globals there.
# fmt: off
# ruff: noqa: F821
@misconception(
    "original-003",
    "This is notebook 003's class as it was given: its constructor takes the head's size alone, and the embedding's"
    " size, the block's and the dropout come from globals (NameError). Its scale goes by the wrong width.",
    original="003",
)
class Head(nn.Module):
    """One causal attention head."""

    def __init__(self, head_size):
        super().__init__()
        self.key = nn.Linear(n_embd, head_size, bias=False)
        self.query = nn.Linear(n_embd, head_size, bias=False)
        self.value = nn.Linear(n_embd, head_size, bias=False)
        self.register_buffer("tril", torch.tril(torch.ones(block_size, block_size)))
        self.dropout = nn.Dropout(dropout)

    def forward(self, x):
        B, T, C = x.shape
        k = self.key(x)    # (B, T, C)
        q = self.query(x)  # (B, T, C)

        wei = q @ k.transpose(-2, -1) * C ** -0.5                     # (B, T, C) x (B, C, T) -> (B, T, T)
        wei = wei.masked_fill(self.tril[:T, :T] == 0, float("-inf"))  # (B, T, T)
        wei = F.softmax(wei, dim=-1)                                  # (B, T, T)
        wei = self.dropout(wei)                                       # (B, T, T)

        v = self.value(x)  # (B, T, C)
        return wei @ v     # (B, T, T) x (B, T, C) -> (B, T, C)


# fmt: on


@misconception(
    "dropout-left-global",
    "The constructor has no parameter for dropout, which still comes from a global: it should take n_embd, head_size,"
    " block_size and dropout, in this order.",
    original="003",
)
class DropoutLeftGlobal(Layer):
    def __init__(self, n_embd, head_size, block_size):
        super().__init__(n_embd, head_size, block_size, 0.0)


@misconception(
    "scale-by-embedding-width",
    "These are the values you get when scores are divided by the root of n_embd, as notebook 003 has it: it is the"
    " width of the key, head_size, that counts.",
    original="003",
)
class ScaleByEmbeddingWidth(Layer):
    def scores(self, Q, K, x):
        return Q @ K.mT * x.shape[-1] ** -0.5


@misconception("always-bias", "The layers have a bias: none of the three should.")
class AlwaysBias(Layer):
    def __init__(self, n_embd, head_size, block_size, dropout):
        super().__init__(n_embd, head_size, block_size, dropout)
        self.key, self.query, self.value = (nn.Linear(n_embd, head_size) for _ in range(3))


# --- layers ---------------------------------------------------------------------------------------


@misconception(
    "one-projection",
    "One matrix serves for queries, keys and values: each role has a matrix of its own.",
)
class OneProjection(Layer):
    def __init__(self, *args, **kwargs):
        super().__init__(*args, **kwargs)
        self.key = self.value = self.query


@misconception(
    "keys-from-queries",
    "These are the values you get when the keys are made by `query`: each role has a matrix of its own.",
)
class KeysFromQueries(Layer):
    def project(self, x):
        return self.query(x), self.query(x), self.value(x)


@misconception(
    "keys-as-values", "These are the values you get when the weights are applied to the keys: mix the values."
)
class KeysAsValues(Layer):
    def project(self, x):
        return self.query(x), self.key(x), self.key(x)


@misconception(
    "inputs-as-values",
    "The weights are applied to the input itself: `value` has no part in the output. Mix the values.",
)
class InputsAsValues(Layer):
    def mix(self, weights, V, x):
        return weights @ x


@misconception(
    "layers-made-in-forward",
    "The layers are made anew in every call, so nothing can be learnt or loaded: make them in `__init__`.",
)
class LayersMadeInForward(Layer):
    def __init__(self, *args, **kwargs):
        super().__init__(*args, **kwargs)
        self.sizes = self.key.in_features, self.key.out_features
        del self.query, self.key, self.value

    def project(self, x):
        return [nn.Linear(*self.sizes)(x) for _ in range(3)]


# --- scores and softmax ---------------------------------------------------------------------------


@misconception("no-scale", "These are the values you get without a scale: divide the scores by √head_size.")
class NoScale(Layer):
    def scores(self, Q, K, x):
        return Q @ K.mT


@misconception(
    "scale-without-root",
    "These are the values you get when scores are divided by head_size: it should be its square root.",
)
class ScaleWithoutRoot(Layer):
    def scores(self, Q, K, x):
        return Q @ K.mT / K.shape[-1]


@misconception(
    "scale-by-number-of-tokens",
    "These are the values you get when scores are divided by √t (or the root of the most"
    " tokens there may be): it is the width of the key, head_size, that counts.",
)
class ScaleByNumberOfTokens(Layer):
    def scores(self, Q, K, x):
        return Q @ K.mT / x.shape[-2] ** 0.5


@misconception(
    "scale-after-softmax",
    "These are the values you get when the weights are scaled: scale the scores, before the softmax, else rows no"
    " longer sum to 1.",
)
class ScaleAfterSoftmax(Layer):
    def scores(self, Q, K, x):
        return Q @ K.mT

    def mix(self, weights, V, x):
        return weights / V.shape[-1] ** 0.5 @ V


@misconception(
    "key-not-transposed",
    "The keys are not transposed in the product of queries and keys, which fits only when t = head_size.",
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
    def weigh(self, scores, allowed):
        return scores.softmax(1)


@misconception(
    "softmax-over-batch",
    "The softmax runs over the batch (`dim=0`): the keys compete, and they are the last dimension.",
)
class SoftmaxOverBatch(Layer):
    def weigh(self, scores, allowed):
        return scores.softmax(0)


@misconception(
    "exp-without-max",
    "The exponentials overflow for large scores and vanish for very negative ones: subtract each row's largest score"
    " before `exp`, or use torch's softmax.",
)
class ExpWithoutMax(Layer):
    def weigh(self, scores, allowed):
        total = scores.exp().sum(-1, keepdim=True)
        return scores.exp() / total


# --- the causal mask ------------------------------------------------------------------------------


@misconception("mask-missing", "These are the values you get without a causal mask: every token sees the future.")
class MaskMissing(Layer):
    def past(self, t):
        return torch.ones_like(super().past(t))


@misconception(
    "mask-after-softmax",
    "These are the values you get when the mask is applied to the weights: rows no longer sum to 1, and the future"
    " still counts in the softmax. Fill the scores, before it.",
)
class MaskAfterSoftmax(Layer):
    def hide(self, scores, allowed):
        return scores

    def weigh(self, scores, allowed):
        return scores.softmax(-1) * allowed


@misconception(
    "renormalised-afterwards",
    "The weights are masked after the softmax and divided by their sum, which is 0 where a hidden score is far above"
    " the others: fill the scores, before the softmax.",
)
class RenormalisedAfterwards(Layer):
    def hide(self, scores, allowed):
        return scores

    def weigh(self, scores, allowed):
        weights = scores.softmax(-1) * allowed
        total = weights.sum(-1, keepdim=True)
        return weights / total


@misconception(
    "mask-fills-with-zero",
    "These are the values you get when masked scores become 0 (filled with 0, or multiplied by the mask): e⁰ is 1, so"
    " what is hidden still takes part. Fill with -inf.",
)
class MaskFillsWithZero(Layer):
    def hide(self, scores, allowed):
        return scores * allowed


@misconception(
    "mask-fills-with-small-number",
    "Masked scores are filled with -10 or so, which other scores easily reach: fill with -inf.",
)
class MaskFillsWithSmallNumber(Layer):
    def hide(self, scores, allowed):
        return scores.masked_fill(~allowed, -10.0)


@misconception(
    "mask-fills-with-ten-thousand",
    "Masked scores are filled with -10,000, which real scores can reach: fill with -inf.",
)
class MaskFillsWithTenThousand(Layer):
    def hide(self, scores, allowed):
        return scores.masked_fill(~allowed, -1e4)


@misconception(
    "mask-fills-with-billion",
    "Masked scores are filled with -1e9, and float16 has no such number: fill with -inf.",
)
class MaskFillsWithBillion(Layer):
    def hide(self, scores, allowed):
        return scores.masked_fill(~allowed, -1e9)


@misconception(
    "zero-times-infinity",
    "The mask is multiplied by -inf and added to the scores, but 0 times infinity is NaN: use `masked_fill`.",
)
class ZeroTimesInfinity(Layer):
    def hide(self, scores, allowed):
        return scores + (~allowed) * float("-inf")


@misconception(
    "diagonal-hidden",
    "A token may not attend to itself, and the first one has nothing left: keep the diagonal.",
)
class DiagonalHidden(Layer):
    def past(self, t):
        return super().past(t).tril(-1)


@misconception(
    "one-step-ahead",
    "Each token also sees the next one, the very one that it should guess: hide all that is above the diagonal.",
)
class OneStepAhead(Layer):
    def past(self, t):
        return ~(~super().past(t)).triu(2)


@misconception(
    "upside-down",
    "Each token sees itself and what comes after it, and the past is hidden: rows are queries, so the past is the lower"
    " triangle.",
)
class UpsideDown(Layer):
    def past(self, t):
        return super().past(t).mT


@misconception(
    "mask-inverted",
    "The past is hidden, and the future is seen: `masked_fill` fills where its mask is True, so look again at what True"
    " means in yours.",
)
class MaskInverted(Layer):
    def past(self, t):
        return ~super().past(t)


@misconception(
    "mask-not-cut",
    "The mask has always the size of the whole block, and a shorter sequence does not fit to it: cut its upper left"
    " corner.",
)
class MaskNotCut(Layer):
    def past(self, t):
        return self.tril != 0


@misconception(
    "mask-cut-at-the-end",
    "The mask is cut from its lower right corner, which has the wrong number of rows or columns for some lengths, or is"
    " cut in one dimension alone: take the first t rows and the first t columns.",
)
class MaskCutAtTheEnd(Layer):
    def past(self, t):
        return self.tril[-t:, :t] != 0


@misconception(
    "mask-not-moved",
    "The mask stays on the CPU when the module moves: register it as a buffer, or make it on the input's device.",
)
class MaskNotMoved(Layer):
    def past(self, t):
        return torch.ones(t, t, dtype=torch.bool).tril()


@misconception(
    "mask-as-parameter",
    "The mask is a parameter, and parameters are what is learnt: register it as a buffer.",
)
class MaskAsParameter(Layer):
    def __init__(self, *args, **kwargs):
        super().__init__(*args, **kwargs)
        triangle = self.tril
        del self.tril
        self.tril = nn.Parameter(triangle, requires_grad=False)


# --- dropout and mode -----------------------------------------------------------------------------


@misconception("dropout-missing", "Nothing is dropped in train mode: apply dropout to the weights.")
class DropoutMissing(Layer):
    def drop(self, weights):
        return weights


@misconception(
    "dropout-in-eval",
    "Weights are dropped in eval mode as well: use `nn.Dropout`, or tell `F.dropout` about `self.training`.",
)
class DropoutInEval(Layer):
    def drop(self, weights):
        return F.dropout(weights, self.dropout.p)


@misconception(
    "dropout-on-scores",
    "Dropout acts on the scores, before the softmax: a score of 0 hides nothing. Drop weights.",
)
class DropoutOnScores(Layer):
    def scores(self, Q, K, x):
        return self.dropout(super().scores(Q, K, x))

    def drop(self, weights):
        return weights


@misconception(
    "dropout-on-output", "Dropout acts on the output: it belongs on the weights, before the values are mixed."
)
class DropoutOnOutput(Layer):
    def drop(self, weights):
        return weights

    def mix(self, weights, V, x):
        return self.dropout(weights @ V)


@misconception("dropout-on-values", "Dropout acts on the values: it belongs on the weights.")
class DropoutOnValues(Layer):
    def drop(self, weights):
        return weights

    def mix(self, weights, V, x):
        return weights @ self.dropout(V)


@misconception(
    "dropout-not-scaled",
    "The weights that are kept are not divided by 1 - p, so outputs are smaller in training than afterwards:"
    " `nn.Dropout` does that for you.",
)
class DropoutNotScaled(Layer):
    def drop(self, weights):
        return weights * (torch.rand_like(weights) >= self.dropout.p) if self.training else weights


@misconception(
    "dropout-keeps-p",
    "The parameter of dropout is taken for the share that is kept: `nn.Dropout(p)` drops with probability p.",
)
class DropoutKeepsP(Layer):
    def drop(self, weights):
        return F.dropout(weights, 1 - self.dropout.p, self.training)


@misconception(
    "dropout-same-for-all",
    "The same weights are dropped in each sequence of the batch: let `nn.Dropout` see all of the weights, (b, t, t).",
)
class DropoutSameForAll(Layer):
    def drop(self, weights):
        return weights * self.dropout(torch.ones_like(weights[0]))


# --- arguments, batches, gradients, dtypes --------------------------------------------------------


@misconception(
    "too-long-not-refused",
    "A sequence longer than the block is left to torch, whose error says nothing about it: compare the lengths at the"
    " start and raise a `ValueError`.",
    original="003",
)
class TooLongNotRefused(Layer):
    def refuse_long(self, t):
        pass


@misconception(
    "message-without-numbers",
    "The `ValueError` for a sequence that is too long does not hold both numbers: say how long it is, and what the most"
    " is.",
)
class MessageWithoutNumbers(Layer):
    def refuse_long(self, t):
        if t > self.longest:
            raise ValueError("the sequence is too long")


@misconception(
    "too-long-cut",
    "A sequence that is too long is silently cut: raise a `ValueError` with both numbers.",
)
class TooLongCut(Layer):
    def forward(self, x, *padding):
        return super().forward(x[:, : self.longest] if x.dim() == 3 else x, *padding)


@misconception(
    "full-length-refused",
    "A sequence that is just as long as the block is refused: only a longer one is too long.",
)
class FullLengthRefused(Layer):
    def refuse_long(self, t):
        if t >= self.longest:
            raise ValueError(f"{t} tokens are too many for {self.longest}")


@misconception(
    "rank-not-checked",
    "Nothing refuses an input that is not three-dimensional: look at `x.dim()` and raise a `ValueError`.",
)
class RankNotChecked(Layer):
    def refuse_rank(self, x):
        pass


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
    "weights-detached",
    "The weights are cut out of the graph (`detach`, `.data`, `no_grad`), so `query` and `key` never learn.",
)
class WeightsDetached(Layer):
    def weigh(self, scores, allowed):
        return super().weigh(scores, allowed).detach()


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


@misconception(
    "input-changed-in-place",
    "The input is changed in place, and whoever gave it still needs it: make a new tensor.",
)
class InputChangedInPlace(Layer):
    def mix(self, weights, V, x):
        output = weights @ V
        with torch.no_grad():
            x.mul_(2)
        return output
