"""Wrong implementations of `ParallelCoAttention(d, k)`. Each replaces a step of `Right`."""

import torch
import torch.nn.functional as F
from torch import nn

from ...mistakes.bank import misconception
from ..families.coattention import mistakes as co
from ..families.heads import mistakes


class Right(co.Maps):
    """The right steps: (b, n, d) and (b, t, d) -> `(v_hat, q_hat, a_v, a_q)`."""

    def __init__(self, d, k):
        super().__init__()
        self.k = k
        self.W_b, self.W_v, self.W_q = self.layer(d, d), self.layer(d, k), self.layer(d, k)
        self.w_hv, self.w_hq = self.layer(k, 1), self.layer(k, 1)

    def attend(self, v, q):
        C = self.affinity(v, q)  # (b, t, n)
        a_v, a_q = self.maps(self.bend(self.inner_v(v, q, C)), self.bend(self.inner_q(v, q, C)), C)
        v_hat, q_hat = self.summaries(v, q, a_v, a_q)
        return v_hat, q_hat, a_v, a_q

    def affinity(self, v, q):
        return torch.tanh(self.products(v, q))

    def products(self, v, q):
        return q @ self.W_b(v).mT  # (b, t, n)

    def inner_v(self, v, q, C):
        return self.W_v(v) + C.mT @ self.W_q(q)  # (b, n, k)

    def inner_q(self, v, q, C):
        return self.W_q(q) + C @ self.W_v(v)  # (b, t, k)

    def maps(self, H_v, H_q, C):
        return self.weigh(self.w_hv(H_v)), self.weigh(self.w_hq(H_q))

    def summaries(self, v, q, a_v, a_q):
        return self.pool(a_v, v), self.pool(a_q, q)


# --- the affinity ---------------------------------------------------------------------------------


@misconception(
    "no-tanh-on-affinity",
    "These are the values you get without the tanh around q · W_b(v)ᵀ: the affinity lies between -1 and 1.",
)
class NoTanhOnAffinity(Right):
    def affinity(self, v, q):
        return self.products(v, q)


@misconception("no-tanh-at-all", "These are the values you get without any tanh: one is around C, one around each H.")
class NoTanhAtAll(Right):
    def affinity(self, v, q):
        return self.products(v, q)

    def bend(self, inner):
        return inner


@misconception(
    "softmax-on-affinity",
    "These are the values you get when the affinity goes through a softmax over v's tokens: here it is a tanh.",
)
class SoftmaxOnAffinity(Right):
    def affinity(self, v, q):
        return F.softmax(self.products(v, q), dim=-1)


@misconception(
    "affinity-scaled",
    "These are the values you get when the affinity's products are divided by the root of d, as in scaled dot-product"
    " attention: there is no scale in this formula.",
)
class AffinityScaled(Right):
    def products(self, v, q):
        return Right.products(self, v, q) / v.shape[-1] ** 0.5


@misconception(
    "affinity-without-weights",
    "These are the values you get when `W_b` plays no part: the affinity compares q with W_b(v), not with v.",
)
class AffinityWithoutWeights(Right):
    def products(self, v, q):
        return q @ v.mT


@misconception(
    "weights-on-the-wrong-side",
    "These are the values you get when `W_b` is applied to q: the Linear is applied to v, C = tanh(q · W_b(v)ᵀ).",
)
class WeightsOnTheWrongSide(Right):
    def products(self, v, q):
        return self.W_b(q) @ v.mT


@misconception(
    "weights-on-both-sides",
    "These are the values you get when `W_b` is applied to both q and v: it is applied to v alone.",
)
class WeightsOnBothSides(Right):
    def products(self, v, q):
        return self.W_b(q) @ self.W_b(v).mT


@misconception("affinity-detached", "The affinity is cut out of the graph (`detach`, `.data`), so `W_b` never learns.")
class AffinityDetached(Right):
    def affinity(self, v, q):
        return Right.affinity(self, v, q).detach()


@misconception(
    "affinity-kept",
    "The affinity of the first call is kept and used again: each call has its own.",
)
class AffinityKept(Right):
    kept = None

    def affinity(self, v, q):
        C = Right.affinity(self, v, q)
        if self.kept is None or self.kept.shape != C.shape or C.requires_grad and not self.kept.requires_grad:
            self.kept = C
        return self.kept


@misconception(
    "tanh-by-hand",
    "The tanh is computed from e^x and e^-x, which overflow for large x: use `torch.tanh`.",
)
class TanhByHand(Right):
    def affinity(self, v, q):
        x = self.products(v, q)
        return (x.exp() - (-x).exp()) / (x.exp() + (-x).exp())


# --- the cross terms ------------------------------------------------------------------------------


@misconception(
    "no-cross-term",
    "These are the values you get without the terms that come over from the other side: Cᵀ W_q(q) and C W_v(v).",
)
class NoCrossTerm(Right):
    def inner_v(self, v, q, C):
        return self.W_v(v)

    def inner_q(self, v, q, C):
        return self.W_q(q)


@misconception(
    "question-without-cross-term",
    "These are the values you get when the image hears of the question, but the question not of the image: add"
    " C W_v(v) in H_q.",
)
class QuestionWithoutCrossTerm(Right):
    def inner_q(self, v, q, C):
        return self.W_q(q)


@misconception(
    "image-without-cross-term",
    "These are the values you get when the question hears of the image, but the image not of the question: add"
    " Cᵀ W_q(q) in H_v.",
)
class ImageWithoutCrossTerm(Right):
    def inner_v(self, v, q, C):
        return self.W_v(v)


@misconception(
    "cross-term-alone",
    "These are the values you get when H holds only what comes over from the other side: the own term, W_v(v) or"
    " W_q(q), is added to it.",
)
class CrossTermAlone(Right):
    def inner_v(self, v, q, C):
        return C.mT @ self.W_q(q)

    def inner_q(self, v, q, C):
        return C @ self.W_v(v)


@misconception(
    "affinity-not-transposed",
    "H_v is made with C and should be made with Cᵀ: C is (b, t, n), and H_v has n rows. With n = t it runs.",
)
class AffinityNotTransposed(Right):
    def inner_v(self, v, q, C):
        return self.W_v(v) + C @ self.W_q(q)


@misconception(
    "affinity-transposed-in-the-wrong-place",
    "C and Cᵀ have changed places: C is (b, t, n), so Cᵀ belongs into H_v and C into H_q. With n = t it runs.",
)
class AffinityTransposedInTheWrongPlace(Right):
    def inner_v(self, v, q, C):
        return self.W_v(v) + C @ self.W_q(q)

    def inner_q(self, v, q, C):
        return self.W_q(q) + C.mT @ self.W_v(v)


@misconception(
    "affinity-reshaped",
    "C is brought to (b, n, t) by `view` or `reshape`, which mixes its entries: use `transpose(1, 2)`.",
)
class AffinityReshaped(Right):
    def inner_v(self, v, q, C):
        return self.W_v(v) + C.reshape(C.shape[0], C.shape[2], C.shape[1]) @ self.W_q(q)


@misconception(
    "layers-exchanged",
    "These are the values you get when `W_q` is applied to v and `W_v` to q: each side has its own layer.",
)
class LayersExchanged(Right):
    def inner_v(self, v, q, C):
        return self.W_q(v) + C.mT @ self.W_v(q)

    def inner_q(self, v, q, C):
        return self.W_v(q) + C @ self.W_q(v)


@misconception(
    "cross-term-by-the-own-layer",
    "These are the values you get when what comes over goes through the own layer, as in W_v(v + Cᵀ q): what comes from"
    " q goes through `W_q`, and what comes from v through `W_v`.",
)
class CrossTermByTheOwnLayer(Right):
    def inner_v(self, v, q, C):
        return self.W_v(v + C.mT @ q)

    def inner_q(self, v, q, C):
        return self.W_q(q + C @ v)


@misconception(
    "cross-term-averaged",
    "These are the values you get when what comes over is averaged: the products with C and Cᵀ are sums.",
)
class CrossTermAveraged(Right):
    def inner_v(self, v, q, C):
        return self.W_v(v) + C.mT @ self.W_q(q) / q.shape[1]

    def inner_q(self, v, q, C):
        return self.W_q(q) + C @ self.W_v(v) / v.shape[1]


@misconception(
    "cross-term-multiplied",
    "These are the values you get when the own term is multiplied by what comes over: the two are added.",
)
class CrossTermMultiplied(Right):
    def inner_v(self, v, q, C):
        return self.W_v(v) * (C.mT @ self.W_q(q))

    def inner_q(self, v, q, C):
        return self.W_q(q) * (C @ self.W_v(v))


@misconception(
    "tanh-around-each-term",
    "These are the values you get when each term of H has a tanh of its own: the tanh is around their sum.",
)
class TanhAroundEachTerm(Right):
    def inner_v(self, v, q, C):
        return torch.tanh(self.W_v(v)) + torch.tanh(C.mT @ self.W_q(q))

    def inner_q(self, v, q, C):
        return torch.tanh(self.W_q(q)) + torch.tanh(C @ self.W_v(v))

    def bend(self, inner):
        return inner


# --- maps and summaries ---------------------------------------------------------------------------


@misconception(
    "largest-affinity",
    "These are the values you get when the logits are the largest affinities of each row and column. The paper names"
    " this way and takes another: H_v and H_q.",
)
class LargestAffinity(Right):
    def maps(self, H_v, H_q, C):
        unused = 0 * (self.w_hv(H_v).sum() + self.w_hq(H_q).sum())
        return self.weigh(C.amax(1).unsqueeze(-1) + unused), self.weigh(C.amax(2).unsqueeze(-1) + unused)


@misconception(
    "summed-affinity",
    "These are the values you get when the logits are the sums of the affinity's rows and columns: they are"
    " w_hv(H_v) and w_hq(H_q).",
)
class SummedAffinity(Right):
    def maps(self, H_v, H_q, C):
        unused = 0 * (self.w_hv(H_v).sum() + self.w_hq(H_q).sum())
        return self.weigh(C.sum(1).unsqueeze(-1) + unused), self.weigh(C.sum(2).unsqueeze(-1) + unused)


@misconception(
    "logits-by-the-other-layer",
    "These are the values you get when `w_hq` reads H_v and `w_hv` reads H_q: each side has its own.",
)
class LogitsByTheOtherLayer(Right):
    def maps(self, H_v, H_q, C):
        return self.weigh(self.w_hq(H_v)), self.weigh(self.w_hv(H_q))


@misconception(
    "pooled-over-the-wrong-side",
    "The image is pooled with the question's weights, and the question with the image's. With n = t it runs.",
)
class PooledOverTheWrongSide(Right):
    def summaries(self, v, q, a_v, a_q):
        return self.pool(a_q, v), self.pool(a_v, q)


@misconception(
    "summaries-exchanged",
    "`v_hat` and `q_hat` have changed places: `v_hat` is the summary of v.",
)
class SummariesExchanged(Right):
    def summaries(self, v, q, a_v, a_q):
        return self.pool(a_q, q), self.pool(a_v, v)


@misconception(
    "projected-tokens-pooled",
    "The summaries are made of W_v(v) and W_q(q), k wide: the tokens themselves are summed up, d wide.",
)
class ProjectedTokensPooled(Right):
    def summaries(self, v, q, a_v, a_q):
        return self.pool(a_v, self.W_v(v)), self.pool(a_q, self.W_q(q))


@misconception(
    "one-layer-for-both-sides",
    "One layer serves both sides (`self.W_q = self.W_v`): v and q have a layer each.",
)
class OneLayerForBothSides(Right):
    def __init__(self, d, k):
        super().__init__(d, k)
        self.W_q = self.W_v


@misconception(
    "parameters-without-layers",
    "The weights are bare `nn.Parameter`s: make them `nn.Linear` layers, so that they can be loaded by name.",
)
class ParametersWithoutLayers(Right):
    def __init__(self, d, k):
        super().__init__(d, k)
        del self.W_b
        self.W_b = nn.Parameter(torch.empty(d, d).normal_())

    def products(self, v, q):
        return q @ self.W_b @ v.mT


@misconception(
    "layers-made-in-forward",
    "The layers that compute are made anew in every call, so nothing can be learnt: use those of `__init__`.",
)
class LayersMadeInForward(Right):
    def attend(self, v, q):
        with torch.random.fork_rng(devices=[]):
            fresh = Right(v.shape[-1], self.k).to(v)
        return fresh.attend(v, q)


mistakes.adopt(Right, *co.SHARED, shared=co.SHARED)
