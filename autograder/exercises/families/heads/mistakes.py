"""Modules with several heads in steps that can be replaced, and what goes wrong in any of them.

`SHARED` holds wrong steps that fit every module built on `Steps`; an exercise takes those that it wants with `adopt`.
Those of `CONTEXT`, which are among them, fit modules built on `Cross`.
"""

import sys

import torch
import torch.nn.functional as F
from torch import nn

from ....mistakes.bank import misconception


class Steps(nn.Module):
    """The right steps of attention with narrow or wide heads: (…, n, d_in) -> (…, n, d_out)."""

    names = ("toqueries", "tokeys", "tovalues", "unifyheads")
    ranks = (3,)
    is_causal = False
    out_bias = True

    def make(self, d_in, inner, d_out, heads, context=None, dropout=0.0, qkv_bias=False, d_context=None):
        """The layers: `inner` is the width of all heads together, `d_context` that of a context, if there is one."""
        self.heads_in_all, self.context = heads, context
        for name, width in zip(self.names[:3], (d_in, d_context or d_in, d_context or d_in), strict=True):
            setattr(self, name, nn.Linear(width, inner, bias=qkv_bias))
        setattr(self, self.names[3], nn.Linear(inner, d_out, bias=self.out_bias))
        self.p = dropout
        if self.is_causal:
            self.register_buffer("mask", self.triangle(context), persistent=False)

    def divide(self, width, heads):
        if width % heads != 0:
            raise ValueError(f"{heads} heads do not divide {width}")

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
        return [layer(z) for layer, z in zip(self.layers()[:3], sources(x, context), strict=True)]

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


def from_layers(*which):
    """A `project` that makes queries, keys and values with the layers of these numbers."""
    return lambda self, *given: [self.layers()[i](z) for i, z in zip(which, sources(*given), strict=True)]


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


def biased(self, *sizes, **options):
    Steps.make(self, *sizes, **{**options, "qkv_bias": True})


def unbiased(self, *sizes, **options):
    Steps.make(self, *sizes, **{**options, "qkv_bias": False})


def value_unbiased(self, *sizes, **options):
    Steps.make(self, *sizes, **options)
    self.W_value = nn.Linear(self.W_value.in_features, self.W_value.out_features, bias=False)


def unprojected(self, *sizes, **options):
    Steps.make(self, *sizes, **options)
    del self.out_proj


def assert_it_divides(self, width, heads):
    assert width % heads == 0


def refuse_without_numbers(self, width, heads):
    if width % heads != 0:
        raise ValueError("the heads do not divide the width")


def layers_in_forward(self, d_in, inner, d_out, heads, *rest, **options):
    self.heads_in_all, self.context, self.p = heads, None, 0.0
    setattr(self, self.names[3], nn.Linear(inner, d_out))
    self.project = lambda *given: [nn.Linear(z.shape[-1], inner, bias=False)(z) for z in sources(*given)]


def touched(x):
    """The same numbers; the tensor that held them is changed in place."""
    return x if x.requires_grad or x.is_meta else x.mul_(1.5).div(1.5)


def filled_with(value):
    """A `hide` that fills with this number."""
    return lambda self, scores: scores.masked_fill(~self.mask[: scores.shape[-1], : scores.shape[-1]], value)


def after_softmax(self, weights):
    n = weights.shape[-1]
    return Steps.drop(self, weights * self.mask[:n, :n])


# --- a context and its mask -----------------------------------------------------------------------


def as_wide_as(query, key, value):
    """A `make` whose layers are as wide as x (0) or as the context (1)."""

    def make(self, d_in, inner, *rest, qkv_bias=False, d_context=None, **options):
        Steps.make(self, d_in, inner, *rest, qkv_bias=qkv_bias, d_context=d_context, **options)
        for name, which in zip(self.names[:3], (query, key, value), strict=True):
            setattr(self, name, nn.Linear((d_in, d_context)[which], inner, bias=qkv_bias))

    return make


def made_of(*which):
    """A `project` that makes queries, keys and values of x (0) or of the context (1)."""
    return lambda self, *given: [layer(given[i]) for layer, i in zip(self.layers()[:3], which, strict=True)]


def only_past(self, scores):
    """Scores of a context under a causal mask."""
    t, s = scores.shape[-2:]
    return scores.masked_fill(torch.ones(t, s, dtype=torch.bool, device=scores.device).triu(1), -torch.inf)


def causal_scores(self, q, k, x):
    return only_past(self, Steps.scores(self, q, k, x))


def causal_if_square(self, q, k, x):
    scores = Steps.scores(self, q, k, x)
    return only_past(self, scores) if q.shape[-2] == k.shape[-2] else scores


def allows(change):
    """An `allow` that changes the right mask."""
    return lambda self, context_mask, scores: change(Cross.allow(self, context_mask, scores))


def kept_context(self, x, context):
    if not hasattr(self, "kept"):
        self.kept = context
    return Steps.project(self, x, self.kept)


def kept_mask(self, context_mask, scores):
    if not hasattr(self, "kept"):
        self.kept = context_mask
    return Cross.allow(self, self.kept, scores)


def changed_mask(self, context_mask, scores):
    allowed = Cross.allow(self, context_mask, scores).clone()
    context_mask[:, 0] |= ~context_mask.any(-1)
    return allowed


def no_clearing(self, weights, allowed):
    return weights


def hidden_plainly(self, scores, allowed):
    return scores.masked_fill(~allowed, -torch.inf)


def lowest(self, scores, allowed):
    return scores.masked_fill(~allowed, torch.finfo(scores.dtype).min)


def fills(value):
    """A `hide` that fills with this number."""
    return lambda self, scores, allowed: scores.masked_fill(~allowed, value)


def add_infinity(self, scores, allowed):
    return scores + torch.zeros_like(scores).masked_fill(~allowed, -torch.inf)


def add_on_the_cpu(self, scores, allowed):
    hidden = torch.zeros(allowed.shape).masked_fill(~allowed, -torch.inf)
    return (scores + hidden).masked_fill(~allowed.any(-1, keepdim=True), 0.0)


def see_all(self, scores, allowed):
    return scores.masked_fill(~allowed & allowed.any(-1, keepdim=True), -torch.inf)


def share_again(self, weights, allowed):
    weights = weights * allowed
    return weights / weights.sum(-1, keepdim=True)


def unpatched_mix(self, weights, v, x):
    return torch.nan_to_num(weights @ v)


def unchecked(self, *given):
    """A `refuse_any` that looks at x alone."""
    self.refuse(given[0])


def mask_unchecked(self, x, context, context_mask):
    self.refuse(x)
    self.refuse(context)


CONTEXT = {
    # what is made of what
    "keys-from-x": (
        "These are the values you get when the keys are made of x, the side that asks: make them of the context.",
        {"project": made_of(0, 0, 1)},
    ),
    "values-from-x": (
        "These are the values you get when the values are made of x, the side that asks: make them of the context.",
        {"project": made_of(0, 1, 0)},
    ),
    "context-never-used": (
        "These are the values of self-attention: keys and values are made of x, and the context has no influence.",
        {"project": made_of(0, 0, 0)},
    ),
    "only-the-context": (
        "These are the values of self-attention in the context: the queries should be made of x.",
        {"project": made_of(1, 1, 1)},
    ),
    "sides-swapped": (
        "The two sides have changed places: queries are made of x, keys and values of the context.",
        {"project": made_of(1, 0, 0)},
    ),
    "key-layer-as-wide-as-x": (
        "`W_key` starts from d_query: keys are made of the context, so it starts from d_context.",
        {"make": as_wide_as(0, 0, 1)},
    ),
    "value-layer-as-wide-as-x": (
        "`W_value` starts from d_query: values are made of the context, so it starts from d_context.",
        {"make": as_wide_as(0, 1, 0)},
    ),
    "all-layers-as-wide-as-x": (
        "All three layers start from d_query: keys and values are made of the context, so theirs start from d_context.",
        {"make": as_wide_as(0, 0, 0)},
    ),
    "layer-widths-swapped": (
        "The widths have changed places: `W_query` starts from d_query, `W_key` and `W_value` start from d_context.",
        {"make": as_wide_as(1, 0, 0)},
    ),
    "causal": (
        "There is a causal mask, which hides the end of the context from the first queries: two sequences have no"
        " common order, so take it out.",
        {"scores": causal_scores},
    ),
    "causal-if-equally-long": (
        "There is a causal mask when x and the context are equally long: take it out, their places have nothing to do"
        " with each other.",
        {"scores": causal_if_square},
    ),
    "scale-by-context-width": (
        "These are the values you get when scores are divided by the root of the context's width: it is the key's"
        " width that counts.",
        {"scores": lambda self, q, k, x: q @ k.mT / self.W_value.in_features**0.5},
    ),
    "scale-by-length-of-the-context": (
        "These are the values you get when scores are divided by the root of the number of tokens in the context: it is"
        " the key's width that counts.",
        {"scores": lambda self, q, k, x: q @ k.mT / k.shape[-2] ** 0.5},
    ),
    "context-detached": (
        "The context is cut out of the graph (`detach`, `.data`, `no_grad`), so what made it never learns from here.",
        {"project": lambda self, x, context: Steps.project(self, x, context.detach())},
    ),
    "context-changed": (
        "The context is changed in place, and whoever gave it still needs it: make a new tensor.",
        {"project": lambda self, x, context: Steps.project(self, x, touched(context))},
    ),
    "view-of-the-context": (
        "`view` needs a tensor that lies contiguous in memory, and a transposed context does not: use `reshape`.",
        {"project": lambda self, x, context: Steps.project(self, x, context.view(context.numel()).view(context.shape))},
    ),
    "context-kept": (
        "The keys and values of the first call are kept and used again: another call may bring another context.",
        {"project": kept_context},
    ),
    "context-not-checked": (
        "Nothing refuses a context or a mask of another rank: look at `context.dim()` and raise a `ValueError`.",
        {"refuse_any": unchecked},
    ),
    "rank-of-the-mask-not-checked": (
        "Nothing refuses a mask of another rank than (b, s): look at `context_mask.dim()` and raise a `ValueError`.",
        {"refuse_any": mask_unchecked},
    ),
    # a mask of the context
    "context-mask-ignored": (
        "These are the values you get when the mask plays no part: hide what is False in it, before the softmax.",
        {"hide": lambda self, scores, allowed: scores, "clear": no_clearing},
    ),
    "context-mask-inverted": (
        'These are the values you get when True means "ignore": here True means that a token may be attended to.',
        {"allow": allows(torch.logical_not)},
    ),
    "context-mask-hides-queries": (
        "The mask hides rows, the queries, where it should hide columns, the keys: its new dimension belongs before the"
        " last, (b, 1, s).",
        {"allow": allows(lambda mask: mask.mT)},
    ),
    "context-mask-hides-both": (
        "The mask hides rows, the queries, as well as columns: it belongs to the context, which makes the columns.",
        {"allow": allows(lambda mask: mask & mask.mT)},
    ),
    "context-mask-without-dimension": (
        "The mask (b, s) meets scores (…, t, s) as it is, so that its items are taken for queries: put a dimension in,"
        " (b, 1, s).",
        {"allow": allows(lambda mask: mask[:, 0, 0])},
    ),
    "context-mask-of-the-first": (
        "The mask of the first item is used for all: each item of the batch has its own.",
        {"allow": allows(lambda mask: mask[:1])},
    ),
    "context-mask-kept": (
        "The mask of the first call is kept and used again: each call brings its own.",
        {"allow": kept_mask},
    ),
    "context-mask-changed": (
        "The mask is changed in place, and whoever gave it still needs it: work on a copy.",
        {"allow": changed_mask},
    ),
    "context-mask-after-softmax": (
        "These are the values you get when the mask is applied after the softmax (or to the values): the share of what"
        " is hidden is lost, and rows no longer sum to 1. Apply it before.",
        {"hide": lambda self, scores, allowed: scores, "clear": lambda self, weights, allowed: weights * allowed},
    ),
    "context-mask-after-softmax-shared-again": (
        "The mask is applied after the softmax, and what is left is divided by its sum: where that is 0, or rounded to"
        " 0, there is NaN. Apply it before the softmax.",
        {"hide": lambda self, scores, allowed: scores, "clear": share_again},
    ),
    "context-mask-filled-with-zero": (
        "Hidden scores become 0 (or are multiplied by the mask), which is a score like any other: fill with minus"
        " infinity.",
        {"hide": fills(0.0)},
    ),
    "context-mask-filled-with-a-finite-number": (
        "Hidden scores are filled with a number such as -1e4, which other scores can reach: fill with minus infinity.",
        {"hide": fills(-1e4)},
    ),
    "context-mask-filled-with-1e9": (
        "Hidden scores are filled with -1e9, which float16 does not have; and where all are hidden, it averages what is"
        " hidden: fill with minus infinity, and let nothing left give 0.",
        {"hide": fills(-1e9), "clear": no_clearing},
    ),
    "context-mask-added-on-the-cpu": (
        "The mask is turned into numbers to add, in a tensor that is float32 and on the CPU: use `masked_fill`, or give"
        " it the dtype and the device of the scores.",
        {"hide": add_on_the_cpu},
    ),
    "asks-what-the-mask-holds": (
        "An `if` asks what the mask holds, which a tensor on `meta` can't tell: let `masked_fill` or `where` decide"
        " entry by entry.",
        {"hide": lambda self, scores, allowed: scores if allowed.all() else Cross.hide(self, scores, allowed)},
    ),
    "nothing-left-is-nan": (
        "Where the mask leaves nothing, all scores are -inf, of which softmax makes NaN: give that row harmless scores"
        " before the softmax, and weights of 0 after it.",
        {"hide": hidden_plainly, "clear": no_clearing},
    ),
    "nothing-left-is-averaged": (
        "Where the mask leaves nothing, the hidden tokens are averaged, since a finite fill gives all of them the same"
        " weight: set the weights of such a row to 0.",
        {"hide": lowest, "clear": no_clearing},
    ),
    "nothing-left-sees-all": (
        "Where the mask leaves nothing, the mask is dropped and all hidden tokens are seen: set the weights of such a"
        " row to 0.",
        {"hide": see_all, "clear": no_clearing},
    ),
    "nan-patched-in-weights": (
        "-inf is added to hidden scores and `nan_to_num` hides the NaN where nothing is left, but its gradient stays"
        " NaN: give such a row harmless scores before the softmax.",
        {"hide": add_infinity, "clear": lambda self, weights, allowed: torch.nan_to_num(weights)},
    ),
    "nan-patched-in-output": (
        "`nan_to_num` on the output hides the NaN where nothing is left, and gradients that go through the weights are"
        " NaN: give such a row harmless scores before the softmax.",
        {"hide": hidden_plainly, "clear": no_clearing, "mix": unpatched_mix},
    ),
}
SHARED = {
    **CONTEXT,
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
        "The module has no layers for queries, keys and values that can learn: they are made anew in every call, or are"
        " hidden in a plain list. Make them in `__init__`, each under its name.",
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
    "never-bias": (
        "The layers have no bias even when `qkv_bias` is true: pass it on to all three.",
        {"make": unbiased},
    ),
    "always-bias": (
        "The layers for queries, keys and values have a bias also when `qkv_bias` is false.",
        {"make": biased},
    ),
    "value-without-bias": (
        "With `qkv_bias=True` only queries and keys have a bias: `W_value` should have one as well.",
        {"make": value_unbiased},
    ),
    "no-output-projection": (
        "There is no output projection: what the heads find should go through a Linear layer `out_proj` with a bias.",
        {
            "make": unprojected,
            "layers": lambda self: [self.W_query, self.W_key, self.W_value],
            "unify": lambda self, found: found,
        },
    ),
    "projection-never-used": (
        "`out_proj` is made and never used: apply it to what the heads have found.",
        {"unify": lambda self, found: found},
    ),
    # the number of heads
    "indivisible-floored": (
        "Heads that don't divide `d_out` are accepted: raise a `ValueError` with both numbers.",
        {"divide": lambda self, width, heads: None},
    ),
    "assert-instead-of-an-error": (
        "Heads that don't divide `d_out` stop with an AssertionError: raise a `ValueError` with both numbers.",
        {"divide": assert_it_divides},
    ),
    "error-without-numbers": (
        "The `ValueError` for heads that don't divide `d_out` should name both numbers.",
        {"divide": refuse_without_numbers},
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
        {"project": lambda self, x, *context: Steps.project(self, touched(x), *context)},
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


ONE_HEAD = (
    "keys-from-queries",
    "values-from-queries",
    "keys-as-values",
    "query-and-key-swapped",
    "layers-made-in-forward",
    "no-scale",
    "scale-without-root",
    "scale-by-number-of-tokens",
    "scale-after-softmax",
    "root-of-root-once",
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
)
MANY_HEADS = (
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
    "scale-by-all-heads",
    "scale-by-number-of-heads",
    "softmax-over-heads",
)
EVERYWHERE = ONE_HEAD + MANY_HEADS
OPTIONAL_BIAS = ("never-bias", "always-bias", "value-without-bias")
DIVIDED = (
    "no-output-projection",
    "projection-never-used",
    "indivisible-floored",
    "assert-instead-of-an-error",
    "error-without-numbers",
)
CAUSAL = tuple(id for id in SHARED if id.startswith(("not-causal", "mask-", "length-", "dropout-")))
