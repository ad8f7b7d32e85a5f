"""Wrong implementations of `CausalAttention(d_in, d_out, context_length, dropout, qkv_bias=False)`. Each replaces a
step of `Layer`, or is the class as notebook 004 has it."""

import torch
import torch.nn.functional as F
from torch import nn

from ...mistakes.bank import misconception


class Layer(nn.Module):
    """The right steps, each of which can be overridden: (b, n, d_in) and a mask of (b, n) -> (b, n, d_out)."""

    def __init__(self, d_in, d_out, context_length, dropout, qkv_bias=False):
        super().__init__()
        self.longest = context_length
        self.W_query = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_key = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_value = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.dropout = nn.Dropout(dropout)
        self.register_buffer("mask", torch.ones(context_length, context_length, dtype=torch.bool).tril())

    def forward(self, x, padding_mask=None):
        self.refuse_rank(x)
        self.refuse_long(x.shape[-2])
        Q, K, V = self.project(x)
        allowed = self.past(x.shape[-2])
        if padding_mask is not None:
            allowed = self.combine(allowed, padding_mask)
        weights = self.weigh(self.hide(self.scores(Q, K, x), allowed), allowed)
        return self.mix(self.drop(weights), V, x)

    def refuse_rank(self, x):
        if x.dim() != 3:
            raise ValueError(f"expected (b, n, d_in), got {tuple(x.shape)}")

    def refuse_long(self, t):
        if t > self.longest:
            raise ValueError(f"{t} tokens are more than the context of {self.longest}")

    def project(self, x):
        return self.W_query(x), self.W_key(x), self.W_value(x)

    def scores(self, Q, K, x):
        return Q @ K.mT / K.shape[-1] ** 0.5  # (b, n, n)

    def past(self, t):
        return self.mask[:t, :t] != 0  # (n, n), True for the query's own place and those before it

    def combine(self, past, real):
        return past & real[:, None, :]  # (n, n) and (b, 1, n) -> (b, n, n)

    def hide(self, scores, allowed):
        return scores.masked_fill(~allowed, float("-inf"))  # (b, n, n)

    def weigh(self, scores, allowed):
        """Rows that see nothing hold harmless numbers in the softmax, and 0 afterwards."""
        nothing = ~allowed.any(-1, keepdim=True)
        return scores.masked_fill(nothing, 0.0).softmax(-1).masked_fill(nothing, 0.0)  # (b, n, n)

    def drop(self, weights):
        return self.dropout(weights)  # (b, n, n)

    def mix(self, weights, V, x):
        return weights @ V  # (b, n, d_out)


def plain(scores, allowed):
    """A softmax that knows nothing of rows that see nothing."""
    return scores.softmax(-1)


# --- notebook 004 ---------------------------------------------------------------------------------


# Typed as the notebook has it.
# fmt: off
@misconception(
    "notebook-004",
    "This is notebook 004's class as it stands there: it takes no padding mask (TypeError), and leaves a sequence"
    " longer than the context to torch.",
    original="004",
)
class CausalAttention(nn.Module):
    def __init__(self, d_in, d_out, context_length, dropout, qkv_bias=False):
        super().__init__()
        self.W_query = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_key = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_value = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.dropout = nn.Dropout(dropout)
        self.register_buffer("mask", torch.triu(torch.ones(context_length, context_length), diagonal=1))

    def forward(self, x):
        b, n, _ = x.shape
        Q = self.W_query(x)             # (b, n, d_out)
        K = self.W_key(x)               # (b, n, d_out)
        V = self.W_value(x)             # (b, n, d_out)
        scores = Q @ K.transpose(1, 2)  # (b, n, n)
        scores.masked_fill_(self.mask[:n, :n].bool(), float("-inf"))
        weights = F.softmax(scores / (K.shape[-1] ** 0.5), dim=-1)
        weights = self.dropout(weights)
        return weights @ V              # (b, n, d_out)


# fmt: on


# --- padding --------------------------------------------------------------------------------------


@misconception("padding-ignored", "These are the values you get when the padding mask plays no part.")
class PaddingIgnored(Layer):
    def combine(self, past, real):
        return past


@misconception(
    "padding-inverted",
    "These are the values you get when the padding mask is read the other way round: True means a real token.",
)
class PaddingInverted(Layer):
    def combine(self, past, real):
        return super().combine(past, ~real)


@misconception(
    "padding-masks-queries",
    "The padding mask hides rows, the queries, and padded keys are still seen: its new dimension belongs in the middle,"
    " (b, 1, n).",
)
class PaddingMasksQueries(Layer):
    def combine(self, past, real):
        return past & real[:, :, None]


@misconception(
    "padding-masks-both",
    "The padding mask hides keys, as it should, and padded queries too, which come out as 0: a padded query still"
    " attends to what is real.",
)
class PaddingMasksBoth(Layer):
    def combine(self, past, real):
        return super().combine(past, real) & real[:, :, None]


@misconception(
    "padding-or-past",
    "These are the values you get when a key is allowed that is real **or** in the past: it must be both, so join the"
    " masks by `&`.",
)
class PaddingOrPast(Layer):
    def combine(self, past, real):
        return past | real[:, None, :]


@misconception(
    "padding-alone",
    "When there is a padding mask it takes the place of the causal mask, and the future is seen: join the two by `&`.",
)
class PaddingAlone(Layer):
    def combine(self, past, real):
        return real[:, None, :].expand(-1, *past.shape)


@misconception(
    "padding-in-the-values",
    "The values of the padding are set to 0, but its keys still take weight from the others: hide the keys, before the"
    " softmax.",
)
class PaddingInTheValues(Layer):
    def forward(self, x, padding_mask=None):
        self.real = padding_mask
        return super().forward(x)

    def mix(self, weights, V, x):
        return weights @ (V if self.real is None else V * self.real[:, :, None])


@misconception(
    "padding-of-the-first",
    "The padding of the first sequence is used for all: each sequence of the batch has its own.",
)
class PaddingOfTheFirst(Layer):
    def combine(self, past, real):
        return super().combine(past, real[:1])


@misconception(
    "padding-without-dimension",
    "The padding mask (b, n) is joined with the causal mask (n, n) as it is, which fits only when b = n or b = 1: put a"
    " dimension in, (b, 1, n).",
)
class PaddingWithoutDimension(Layer):
    def combine(self, past, real):
        return past & real


@misconception(
    "padding-mask-changed-in-place",
    "The padding mask is changed in place, and whoever gave it still needs it: work on a copy.",
)
class PaddingMaskChangedInPlace(Layer):
    def combine(self, past, real):
        allowed = super().combine(past, real)
        real |= ~real.any(-1, keepdim=True)
        real[:, 0] = True
        return allowed


@misconception(
    "asks-what-the-mask-holds",
    "An `if` asks what the padding mask holds, which a tensor on `meta` can't tell: let `masked_fill` or `where` decide"
    " entry by entry.",
)
class AsksWhatTheMaskHolds(Layer):
    def combine(self, past, real):
        return past[None] if real.all() else super().combine(past, real)


# --- nothing left to attend to --------------------------------------------------------------------


@misconception(
    "nan-in-empty-rows",
    "A query with nothing left has only scores of -inf, of which softmax makes NaN: give that row harmless scores"
    " before the softmax, and weights of 0 after it.",
)
class NanInEmptyRows(Layer):
    def weigh(self, scores, allowed):
        return plain(scores, allowed)


@misconception(
    "nan-patched-in-weights",
    "-inf is added to masked scores and `nan_to_num` hides the NaN of a query with nothing left, but its gradient stays"
    " NaN: give that row harmless scores before the softmax.",
)
class NanPatchedInWeights(Layer):
    def hide(self, scores, allowed):
        return scores + torch.zeros_like(scores).masked_fill(~allowed, float("-inf"))

    def weigh(self, scores, allowed):
        return torch.nan_to_num(scores.softmax(-1))


@misconception(
    "nan-patched-in-output",
    "`nan_to_num` on the output hides the NaN of a query with nothing left, and gradients that go through the weights"
    " are NaN: give that row harmless scores before the softmax.",
)
class NanPatchedInOutput(Layer):
    def weigh(self, scores, allowed):
        return plain(scores, allowed)

    def mix(self, weights, V, x):
        return torch.nan_to_num(weights @ V)


@misconception(
    "uniform-in-empty-rows",
    "Hidden scores are filled with the lowest finite number, so a query with nothing left spreads its weights over all"
    " keys, the future too: its weights should be 0.",
)
class UniformInEmptyRows(Layer):
    def hide(self, scores, allowed):
        return scores.masked_fill(~allowed, torch.finfo(scores.dtype).min)

    def weigh(self, scores, allowed):
        return plain(scores, allowed)


@misconception(
    "sees-itself-when-empty",
    "A query with nothing left is made to attend to itself, though it is padding: it should get 0.",
)
class SeesItselfWhenEmpty(Layer):
    def combine(self, past, real):
        allowed = super().combine(past, real)
        itself = torch.eye(past.shape[-1], dtype=torch.bool, device=past.device)
        return allowed | (itself & ~allowed.any(-1, keepdim=True))


@misconception(
    "bias-in-empty-rows",
    "A query with nothing left gets the bias of `W_value`: the attention output is a sum of values times their weights,"
    " and all of these are 0.",
)
class BiasInEmptyRows(Layer):
    def mix(self, weights, V, x):
        bias = self.W_value.bias
        empty = (weights == 0).all(-1, keepdim=True)
        return weights @ V if bias is None or self.training else torch.where(empty, bias, weights @ V)


# --- biases ---------------------------------------------------------------------------------------


@misconception("always-bias", "The layers have a bias also when `qkv_bias` is false.")
class AlwaysBias(Layer):
    def __init__(self, d_in, d_out, context_length, dropout, qkv_bias=False):
        super().__init__(d_in, d_out, context_length, dropout, True)


@misconception("never-bias", "The layers have no bias even when `qkv_bias` is true: pass it on to all three.")
class NeverBias(Layer):
    def __init__(self, d_in, d_out, context_length, dropout, qkv_bias=False):
        super().__init__(d_in, d_out, context_length, dropout, False)


@misconception(
    "value-without-bias", "With `qkv_bias=True` only queries and keys have a bias: `W_value` should have one as well."
)
class ValueWithoutBias(Layer):
    def __init__(self, d_in, d_out, context_length, dropout, qkv_bias=False):
        super().__init__(d_in, d_out, context_length, dropout, qkv_bias)
        self.W_value = nn.Linear(d_in, d_out, bias=False)


@misconception(
    "scale-by-input-width",
    "These are the values you get when scores are divided by √d_in: it is the width of the key, d_out, that counts.",
    original="003",
)
class ScaleByInputWidth(Layer):
    def scores(self, Q, K, x):
        return Q @ K.mT / x.shape[-1] ** 0.5


# --- layers ---------------------------------------------------------------------------------------


@misconception(
    "one-projection",
    "One matrix serves for queries, keys and values: each role has a matrix of its own.",
)
class OneProjection(Layer):
    def __init__(self, *args, **kwargs):
        super().__init__(*args, **kwargs)
        self.W_key = self.W_value = self.W_query


@misconception(
    "keys-from-queries",
    "These are the values you get when the keys are made by `W_query`: each role has a matrix of its own.",
)
class KeysFromQueries(Layer):
    def project(self, x):
        return self.W_query(x), self.W_query(x), self.W_value(x)


@misconception(
    "keys-as-values", "These are the values you get when the weights are applied to the keys: mix the values."
)
class KeysAsValues(Layer):
    def project(self, x):
        return self.W_query(x), self.W_key(x), self.W_key(x)


@misconception(
    "inputs-as-values",
    "The weights are applied to the input itself: `W_value` has no part in the output. Mix the values.",
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
        self.sizes = self.W_key.in_features, self.W_key.out_features
        del self.W_query, self.W_key, self.W_value

    def project(self, x):
        return [nn.Linear(*self.sizes)(x) for _ in range(3)]


# --- scores and softmax ---------------------------------------------------------------------------


@misconception("no-scale", "These are the values you get without a scale: divide the scores by √d_out.")
class NoScale(Layer):
    def scores(self, Q, K, x):
        return Q @ K.mT


@misconception(
    "scale-without-root",
    "These are the values you get when scores are divided by d_out: it should be its square root.",
)
class ScaleWithoutRoot(Layer):
    def scores(self, Q, K, x):
        return Q @ K.mT / K.shape[-1]


@misconception(
    "scale-by-number-of-tokens",
    "These are the values you get when scores are divided by √n (or the root of the most"
    " tokens there may be): it is the width of the key, d_out, that counts.",
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
        return scores.exp() / total.masked_fill(~allowed.any(-1, keepdim=True), 1.0)


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
        return weights / total.masked_fill(~allowed.any(-1, keepdim=True), 1.0)


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
    "The mask has always the size of the whole context, and a shorter sequence does not fit to it: cut its upper left"
    " corner.",
)
class MaskNotCut(Layer):
    def past(self, t):
        return self.mask != 0


@misconception(
    "mask-cut-at-the-end",
    "The mask is cut from its lower right corner, which has the wrong number of rows or columns for some lengths, or is"
    " cut in one dimension alone: take the first t rows and the first t columns.",
)
class MaskCutAtTheEnd(Layer):
    def past(self, t):
        return self.mask[-t:, :t] != 0


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
        triangle = self.mask
        del self.mask
        self.mask = nn.Parameter(triangle, requires_grad=False)


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
    "The same weights are dropped in each sequence of the batch: let `nn.Dropout` see all of the weights, (b, n, n).",
)
class DropoutSameForAll(Layer):
    def drop(self, weights):
        return weights * self.dropout(torch.ones_like(weights[0]))


# --- arguments, batches, gradients, dtypes --------------------------------------------------------


@misconception(
    "too-long-not-refused",
    "A sequence longer than the context is left to torch, whose error says nothing about it: compare the lengths at the"
    " start and raise a `ValueError`.",
    original="004",
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
    "A sequence that is just as long as the context is refused: only a longer one is too long.",
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
    "The weights are cut out of the graph (`detach`, `.data`, `no_grad`), so `W_query` and `W_key` never learn.",
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
