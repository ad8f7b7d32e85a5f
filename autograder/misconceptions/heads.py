"""Modules with several heads in steps that can be replaced, and what goes wrong in any of them.

`SHARED` holds wrong steps that fit every module built on `Steps`; an exercise takes those that it wants with `adopt`.
"""

import sys

import torch
import torch.nn.functional as F
from torch import nn

from . import misconception


class Steps(nn.Module):
    """The right steps of attention with narrow or wide heads: (…, n, d_in) -> (…, n, d_out)."""

    names = ("toqueries", "tokeys", "tovalues", "unifyheads")
    ranks = (3,)
    is_causal = False
    out_bias = True

    def make(self, d_in, inner, d_out, heads, context=None, dropout=0.0, qkv_bias=False, d_context=None):
        """The layers: `inner` is the width of all heads together, `d_context` that of a context, if there is one."""
        self.heads_in_all, self.context = heads, context
        for name, width in zip(self.names, (d_in, d_context or d_in, d_context or d_in)):
            setattr(self, name, nn.Linear(width, inner, bias=qkv_bias))
        setattr(self, self.names[3], nn.Linear(inner, d_out, bias=self.out_bias))
        self.p = dropout
        if self.is_causal:
            self.register_buffer("mask", self.triangle(context), persistent=False)

    def triangle(self, n):
        return torch.ones(n, n, dtype=torch.bool).tril()

    def forward(self, x):
        self.refuse(x)
        q, k, v = (self.split(z) for z in self.project(x))  # (…, h, n, w) each
        weights = self.drop(self.weigh(self.hide(self.scores(q, k, x))))
        return self.unify(self.merge(self.mix(weights, v, x)))

    def refuse(self, x):
        if x.dim() not in self.ranks:
            raise ValueError(f"wrong rank: {tuple(x.shape)}")
        if self.context and x.shape[-2] > self.context:
            raise ValueError(f"{x.shape[-2]} tokens are more than {self.context}")

    def layers(self):
        return [getattr(self, name) for name in self.names]

    def project(self, x, context=None):
        return [layer(z) for layer, z in zip(self.layers(), sources(x, context))]

    def split(self, z):
        return z.unflatten(-1, (self.heads_in_all, -1)).transpose(-3, -2)  # (…, n, h·w) -> (…, h, n, w)

    def scores(self, q, k, x):
        return q @ k.mT / k.shape[-1] ** 0.5  # (…, h, n, n)

    def hide(self, scores):
        n = scores.shape[-1]
        return scores.masked_fill(~self.mask[:n, :n], -torch.inf) if self.is_causal else scores

    def weigh(self, scores):
        return F.softmax(scores, dim=-1)

    def drop(self, weights):
        return F.dropout(weights, self.p, self.training)

    def mix(self, weights, v, x):
        return weights @ v  # (…, h, n, w)

    def merge(self, found):
        return found.transpose(-3, -2).flatten(-2)  # (…, h, n, w) -> (…, n, h·w)

    def unify(self, found):
        return self.layers()[3](found)


def sources(x, context=None):
    """What queries, keys and values are made of."""
    return (x, x, x) if context is None else (x, context, context)


class Wide(Steps):
    """Every head is as wide as the input."""

    def __init__(self, k, heads=8):
        super().__init__()
        self.make(k, k * heads, k, heads)


class Cross(Steps):
    """The right steps of cross-attention: (b, t, d_query), (b, s, d_context), and a mask (b, s) -> (b, t, d_out)."""

    names = ("W_query", "W_key", "W_value", "out_proj")

    def forward(self, x, context, context_mask=None):
        self.refuse_any(x, context, context_mask)
        q, k, v = (self.split(z) for z in self.project(x, context))  # (b, h, t, w), and twice (b, h, s, w)
        scores = self.scores(q, k, x)  # (b, h, t, s)
        if context_mask is None:
            weights = self.weigh(scores)
        else:
            allowed = self.allow(context_mask, scores)
            weights = self.clear(self.weigh(self.hide(scores, allowed)), allowed)
        return self.unify(self.merge(self.mix(weights, v, x)))

    def refuse_any(self, x, context, context_mask):
        self.refuse(x)
        self.refuse(context)
        if context_mask is not None and context_mask.dim() != 2:
            raise ValueError(f"wrong rank of the mask: {tuple(context_mask.shape)}")

    def allow(self, context_mask, scores):
        return context_mask[:, None, None, :]  # (b, s) -> (b, 1, 1, s)

    def hide(self, scores, allowed):
        """Where nothing is allowed there are harmless scores, so that no gradient is NaN."""
        hidden = scores.masked_fill(~allowed, -torch.inf)
        return hidden.masked_fill(~allowed.any(-1, keepdim=True), 0.0)

    def clear(self, weights, allowed):
        return weights.masked_fill(~allowed.any(-1, keepdim=True), 0.0)


class CrossHead(Cross):
    """A single head without an output projection."""

    def single(self, d_query, d_context, d_out, qkv_bias):
        self.make(d_query, d_out, d_out, 1, qkv_bias=qkv_bias, d_context=d_context)
        del self.out_proj

    def layers(self):
        return [self.W_query, self.W_key, self.W_value, nn.Identity()]


def from_layers(*which):
    """A `project` that makes queries, keys and values with the layers of these numbers."""
    return lambda self, *given: [self.layers()[i](z) for i, z in zip(which, sources(*given))]


def fast_split(self, z):
    """The head is the last, fastest index."""
    return z.unflatten(-1, (-1, self.heads_in_all)).movedim(-1, -3)


def fast_merge(self, found):
    return found.movedim(-3, -1).flatten(-2)


def reshaped(self, z):
    """One reshape from (…, n, h·w) to (…, h, n, w): no transposition."""
    return z.reshape(*z.shape[:-2], self.heads_in_all, z.shape[-2], -1)


def no_bias(self, d_in, inner, d_out, heads, *rest, **options):
    self.out_bias = False
    Steps.make(self, d_in, inner, d_out, heads, *rest, **options)


def bias_everywhere(self, d_in, inner, d_out, heads, context=None, dropout=0.0, qkv_bias=True, **options):
    Steps.make(self, d_in, inner, d_out, heads, context, dropout, True, **options)


def layers_in_forward(self, d_in, inner, d_out, heads, *rest, **options):
    self.heads_in_all, self.context, self.p = heads, None, 0.0
    setattr(self, self.names[3], nn.Linear(inner, d_out))
    self.project = lambda *given: [nn.Linear(z.shape[-1], inner, bias=False)(z) for z in sources(*given)]


def changing(self, x, *context):
    return Steps.project(self, x if x.requires_grad or x.is_meta else x.mul_(1.5).div(1.5), *context)


def filled_with(value):
    """A `hide` that fills with this number."""
    return lambda self, scores: scores.masked_fill(~self.mask[: scores.shape[-1], : scores.shape[-1]], value)


def after_softmax(self, weights):
    n = weights.shape[-1]
    return Steps.drop(self, weights * self.mask[:n, :n])


SHARED = {
    # projections
    "keys-from-queries": (
        "These are the values you get when the keys are made by the layer for queries: each role has its own.",
        {"project": from_layers(0, 0, 2)},
    ),
    "values-from-queries": (
        "These are the values you get when the values are made by the layer for queries: each role has its own.",
        {"project": from_layers(0, 1, 0)},
    ),
    "keys-as-values": (
        "These are the values you get when the weights are applied to the keys: mix the values.",
        {"project": from_layers(0, 1, 1)},
    ),
    "query-and-key-swapped": (
        "These are the values you get when queries and keys change places: rows of the scores belong to queries.",
        {"project": from_layers(1, 0, 2)},
    ),
    "layers-made-in-forward": (
        "The layers that compute are made anew in every call, so nothing can be learnt: use those of `__init__`.",
        {"make": layers_in_forward},
    ),
    "bias-everywhere": (
        "The layers for queries, keys and values have a bias that nobody asked for: only the last layer has one.",
        {"make": bias_everywhere},
    ),
    "output-projection-without-bias": (
        "The output projection has no bias: here it should have one.",
        {"make": no_bias},
    ),
    # cutting and merging
    "reshaped-in-one-step": (
        "The heads are cut with one `view` or `reshape`, which mixes tokens with features: first (b, t, heads, width),"
        " then swap the two middle dimensions.",
        {"split": reshaped},
    ),
    "merged-without-transposing": (
        "The heads are merged without swapping tokens and heads back first, which mixes tokens with features.",
        {"merge": lambda self, found: found.reshape(*found.shape[:-3], found.shape[-2], -1)},
    ),
    "reshaped-both-ways": (
        "Heads are cut and merged by `view` alone, so that a head works on a slab of tokens and not on a block of"
        " features: swap the two dimensions both times.",
        {"split": reshaped, "merge": lambda self, found: found.reshape(*found.shape[:-3], found.shape[-2], -1)},
    ),
    "fast-head-index": (
        "These are the values you get when the head is the last, fastest index, so that head i has every h-th feature:"
        " a head owns a contiguous block.",
        {"split": fast_split, "merge": fast_merge},
    ),
    "fast-head-index-when-cut": (
        "These are the values you get when the head is the fastest index where features are cut, and the slow one where"
        " they are merged: a head owns a contiguous block both times.",
        {"split": fast_split},
    ),
    "features-interleaved": (
        "These are the values you get when the heads' features are interleaved in the end: place the heads side by"
        " side, head 0 first.",
        {"merge": fast_merge},
    ),
    "heads-reversed": (
        "These are the values you get when the heads come out in reversed order: head 0 comes first.",
        {"merge": lambda self, found: Steps.merge(self, found.flip(-3))},
    ),
    "heads-averaged": (
        "These are the values you get when what the heads find is averaged: place it side by side.",
        {"merge": lambda self, found: Steps.merge(self, found.mean(-3, keepdim=True).expand(found.shape))},
    ),
    "one-head": (
        "These are the values of one head that is as wide as all together: cut queries, keys and values into heads.",
        {"split": lambda self, z: z.unsqueeze(-3)},
    ),
    # scale and softmax
    "no-scale": (
        "These are the values you get without a scale: divide the scores by the root of a head's width.",
        {"scores": lambda self, q, k, x: q @ k.mT},
    ),
    "scale-without-root": (
        "These are the values you get when scores are divided by a head's width: it should be its square root.",
        {"scores": lambda self, q, k, x: q @ k.mT / k.shape[-1]},
    ),
    "scale-by-all-heads": (
        "These are the values you get when scores are divided by the root of the width of all heads together: it is one"
        " head's width that counts.",
        {"scores": lambda self, q, k, x: q @ k.mT / (k.shape[-1] * self.heads_in_all) ** 0.5},
    ),
    "scale-by-number-of-heads": (
        "These are the values you get when scores are divided by the root of the number of heads: it is a head's width"
        " that counts.",
        {"scores": lambda self, q, k, x: q @ k.mT / self.heads_in_all**0.5},
    ),
    "scale-by-number-of-tokens": (
        "These are the values you get when scores are divided by the root of the number of tokens: it is a head's width"
        " that counts.",
        {"scores": lambda self, q, k, x: q @ k.mT / x.shape[-2] ** 0.5},
    ),
    "scale-by-input-width": (
        "These are the values you get when scores are divided by the root of the input's width: it is one head's width"
        " that counts.",
        {"scores": lambda self, q, k, x: q @ k.mT / x.shape[-1] ** 0.5},
    ),
    "scale-after-softmax": (
        "These are the values you get when the weights are scaled and not the scores: scale before the softmax, else"
        " rows no longer sum to 1.",
        {"scores": lambda self, q, k, x: q @ k.mT, "mix": lambda self, w, v, x: w / v.shape[-1] ** 0.5 @ v},
    ),
    "root-of-root-once": (
        "These are the values you get when the scores are divided by the fourth root of a head's width: with the fourth"
        " root, both queries and keys must be divided.",
        {"scores": lambda self, q, k, x: q @ k.mT / k.shape[-1] ** 0.25},
    ),
    "softmax-over-queries": (
        "These are the values you get when the softmax runs over the queries: check `dim`, the keys are the last.",
        {"weigh": lambda self, scores: F.softmax(scores, dim=-2)},
    ),
    "softmax-over-heads": (
        "These are the values you get when the softmax runs over the heads: check `dim`, the keys are the last.",
        {"weigh": lambda self, scores: F.softmax(scores, dim=-3)},
    ),
    "exp-without-max": (
        "The exponentials overflow for large scores and vanish for very negative ones: subtract each row's largest"
        " score before `exp`, or use torch's softmax.",
        {"weigh": lambda self, scores: scores.exp() / scores.exp().sum(-1, keepdim=True)},
    ),
    # gradients, dtypes, devices, arguments
    "weights-detached": (
        "The weights are cut out of the graph (`detach`, `.data`, `no_grad`), so queries and keys never learn.",
        {"weigh": lambda self, scores: F.softmax(scores, dim=-1).detach()},
    ),
    "values-detached": (
        "The values are cut out of the graph (`detach`, `.data`), so their layer never learns.",
        {"mix": lambda self, weights, v, x: weights @ v.detach()},
    ),
    "float32-comes-out": (
        "It returns float32 whatever goes in: leave the dtype as it is.",
        {"unify": lambda self, found: Steps.unify(self, found).float()},
    ),
    "scale-tensor-on-the-cpu": (
        "The scale is a tensor of its own, float32 and on the CPU: divide by a Python number, such as `width ** 0.5`.",
        {"scores": lambda self, q, k, x: q @ k.mT / torch.tensor([float(k.shape[-1])]).sqrt()},
    ),
    "rank-not-checked": (
        "Nothing refuses an input of another rank: look at `x.dim()` and raise a `ValueError`.",
        {"ranks": (1, 2, 3, 4)},
    ),
    "squeezed": (
        "`squeeze` drops every dimension of size 1, also a batch of one or a sequence of one token.",
        {"unify": lambda self, found: Steps.unify(self, found).squeeze()},
    ),
    "view-of-the-input": (
        "`view` needs a tensor that lies contiguous in memory, and a transposed one does not: use `reshape`.",
        {"project": lambda self, x, *context: Steps.project(self, x.view(x.numel()).view(x.shape), *context)},
    ),
    "input-changed": (
        "The input is changed in place (`x *= …`, `x.mul_(…)`): make a new tensor.",
        {"project": changing},
    ),
    # causal modules
    "not-causal": (
        "Every token sees all others, also those after it: hide the later keys before the softmax.",
        {"hide": lambda self, scores: scores},
    ),
    "mask-one-too-far": (
        "Each token sees the one after it as well: check the `diagonal` of the mask.",
        {"triangle": lambda self, n: torch.ones(n, n, dtype=torch.bool).tril(1)},
    ),
    "mask-without-itself": (
        "No token sees itself, and the first one sees nothing at all (NaN): check the `diagonal` of the mask.",
        {"triangle": lambda self, n: torch.ones(n, n, dtype=torch.bool).tril(-1)},
    ),
    "mask-inverted": (
        "The mask is the wrong way round: each token sees itself and those after it.",
        {"triangle": lambda self, n: torch.ones(n, n, dtype=torch.bool).triu()},
    ),
    "mask-after-softmax": (
        "These are the values you get when later keys are hidden after the softmax: their share is lost, and rows no"
        " longer sum to 1. Hide them before it.",
        {"hide": lambda self, scores: scores, "drop": after_softmax},
    ),
    "mask-filled-with-zero": (
        "Hidden scores are filled with 0, which is a score like any other: fill with minus infinity.",
        {"hide": filled_with(0.0)},
    ),
    "mask-filled-with-a-finite-number": (
        "Hidden scores are filled with a number such as -1e4, which very negative scores can reach: fill with minus"
        " infinity.",
        {"hide": filled_with(-1e4)},
    ),
    "mask-filled-with-1e9": (
        "Hidden scores are filled with -1e9, which float16 does not have: fill with minus infinity.",
        {"hide": filled_with(-1e9)},
    ),
    "mask-not-cut": (
        "The mask is used whole, for `context_length` tokens: a shorter sequence needs its upper left corner.",
        {"hide": lambda self, scores: scores.masked_fill(~self.mask, -torch.inf)},
    ),
    "mask-made-on-the-cpu": (
        "The mask is made on the CPU in every call: make it on the input's device, or register it as a buffer.",
        {"hide": lambda self, scores: scores.masked_fill(~Steps.triangle(self, scores.shape[-1]), -torch.inf)},
    ),
    "length-not-checked": (
        "Nothing refuses a sequence longer than the context: raise a `ValueError` with both numbers.",
        {"refuse": lambda self, x: Steps.refuse(self, x[..., :1, :] if x.dim() == 3 else x)},
    ),
    # dropout
    "dropout-missing": ("Nothing is dropped in train mode.", {"drop": lambda self, weights: weights}),
    "dropout-in-eval": (
        "Weights are dropped in eval mode, too: use `nn.Dropout`, or pass `self.training` to `F.dropout`.",
        {"drop": lambda self, weights: F.dropout(weights, self.p)},
    ),
    "dropout-on-scores": (
        "Dropout acts on the scores, before the softmax: it should act on the weights.",
        {
            "weigh": lambda self, scores: F.softmax(F.dropout(scores, self.p, self.training), dim=-1),
            "drop": lambda self, weights: weights,
        },
    ),
    "dropout-on-the-output": (
        "Dropout acts on the output: it should act on the attention weights.",
        {
            "drop": lambda self, weights: weights,
            "unify": lambda self, found: F.dropout(Steps.unify(self, found), self.p, self.training),
        },
    ),
    "dropout-on-the-output-as-well": (
        "Dropout acts on the output as well as on the weights: here it should act on the weights alone.",
        {"unify": lambda self, found: F.dropout(Steps.unify(self, found), self.p, self.training)},
    ),
    "dropout-not-scaled": (
        "The kept weights are not scaled by 1/(1-p): use `nn.Dropout` or `F.dropout`.",
        {"drop": lambda self, w: F.dropout(w, self.p, self.training) * (1 - self.p if self.training else 1)},
    ),
    "dropout-keeps-with-p": (
        "The share that is kept is `dropout`, and not 1 - `dropout`.",
        {"drop": lambda self, w: F.dropout(w, 1 - self.p if self.p else 0.0, self.training)},
    ),
    "dropout-alike-in-all-heads": (
        "All heads drop the same weights: the chance should be drawn for each head by itself.",
        {"drop": lambda self, w: w * F.dropout(torch.ones_like(w[..., :1, :, :]), self.p, self.training)},
    ),
}


def adopt(base, *ids, originals=(), shared=SHARED):
    """Make the misconceptions `ids` of `shared` out of `base`, in whose module they will stand.

    `originals` maps ids to the notebook that they come from.
    """
    module = sys.modules[base.__module__]
    for id in ids:
        sentence, steps = shared[id]
        name = "".join(part.capitalize() for part in id.split("-"))
        code = type(name, (base,), {**steps, "__module__": module.__name__})
        misconception(id, sentence, original=dict(originals).get(id))(code)


EVERYWHERE = (
    "keys-from-queries",
    "values-from-queries",
    "keys-as-values",
    "query-and-key-swapped",
    "layers-made-in-forward",
    "output-projection-without-bias",
    "reshaped-in-one-step",
    "merged-without-transposing",
    "reshaped-both-ways",
    "fast-head-index",
    "fast-head-index-when-cut",
    "features-interleaved",
    "heads-reversed",
    "heads-averaged",
    "one-head",
    "no-scale",
    "scale-without-root",
    "scale-by-all-heads",
    "scale-by-number-of-heads",
    "scale-by-number-of-tokens",
    "scale-after-softmax",
    "root-of-root-once",
    "softmax-over-queries",
    "softmax-over-heads",
    "exp-without-max",
    "weights-detached",
    "values-detached",
    "float32-comes-out",
    "scale-tensor-on-the-cpu",
    "rank-not-checked",
    "squeezed",
    "view-of-the-input",
    "input-changed",
)
CAUSAL = tuple(id for id in SHARED if id.startswith(("not-causal", "mask-", "length-", "dropout-")))
