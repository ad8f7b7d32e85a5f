"""Mistakes in attention without parameters, in addition to those in attention of any kind.

Tokens are queries, keys and values at once, so some mistakes are worded differently here. MIX is the value returned.
"""

from ....mistakes.bank import shared
from ....mistakes.prices import ALL
from ..attention import mistakes as attention
from ..wordings import says

WORDS = (
    attention.WORDS
    | {"Q": "{X}", "K": "{X}", "V": "{X}", "INDENT": "    ", "RANK": "3"}
    | {"SHIFTED": "{SCORES} - {SCORES}.amax(-1, keepdim=True)"}
)

ORIGINALS = {  # the notebook that has the defect, for mistakes that all three exercises share
    "features-compared": "004",
    "own-vector": "000",
    "weights-applied-twice": "004",
    "multiplied-by-the-input": "004",
}

# --- the scale that is asked for later: `self_attention` and `SelfAttentionNaive` -----------------

UNSCALED = {
    "scaled-already": shared(
        "These are the values you get when scores are divided by the root of the number of features: here they are not"
        " scaled, that comes in exercise 5.",
        PRODUCT="{PRODUCT} / {X}.shape[-1] ** 0.5",
    ),
    "scaled-without-root": shared(
        "These are the values you get when scores are divided by the number of features: here they are not scaled at"
        " all.",
        PRODUCT="{PRODUCT} / {X}.shape[-1]",
    ),
}

# --- weights, and what is made of them: all three -------------------------------------------------

WEIGHTS = {
    "softmax-over-the-wrong-tokens": shared(
        "These are the values you get when the columns of the weights sum to 1 and not their rows: either the softmax"
        " runs over the wrong dimension (it should be the last), or the weights are transposed after it.",
        SOFTMAX="F.softmax({SCORES}, dim=-2)",
    ),
    **attention.some("exp-without-max", "one-max-for-all-rows"),
    "epsilon-in-the-sum": shared(
        says("epsilon-in-the-sum"),
        SOFTMAX="({SHIFTED}).exp() / (({SHIFTED}).exp().sum(-1, keepdim=True) + 1e-6)",
    ),
    "softmax-in-float32": shared(
        "The softmax turns the weights into float32, which do not fit to an input of another dtype: leave the dtype as"
        " it is, or turn them back.",
        SOFTMAX="F.softmax({SCORES}, dim=-1, dtype=torch.float32)",
    ),
    "no-softmax": shared(
        says("no-softmax", SCORED="scores"),
        SOFTMAX="{SCORES}",
    ),
    "divided-by-the-sum": shared(
        "The scores are divided by their sum, without `exp`: that gives negative weights, and is no softmax.",
        price=ALL,
        SOFTMAX="{SCORES} / {SCORES}.sum(-1, keepdim=True)",
    ),
    **attention.some("log-softmax", "sigmoid-weights"),
    **{id: attention.SOFTMAX_BY_HAND[id] for id in ("sum-subtracted", "not-divided")},
    **attention.SHIFTED,
}

AVERAGE = {
    "features-compared": shared(
        "These are the values you get from Xᵀ X: that compares features with features. With tokens as rows it is X Xᵀ.",
        PRODUCT="{X}.mT @ {X}",
        MIX="{X} @ {WEIGHTS}",
    ),
    "not-transposed": shared(
        "The second factor of the scores is not transposed, which fits only when there are as many tokens as features:"
        " swap its last two dimensions.",
        PRODUCT="{X} @ {X}",
    ),
    "reshaped-for-transposed": shared(
        says("reshaped-for-transposed"),
        PRODUCT="{X} @ {X}.reshape(*{X}.shape[:-2], {X}.shape[-1], {X}.shape[-2])",
    ),
    "weights-returned": shared(
        "The weights are returned: they are only the shares, multiply them with the tokens.", MIX="{WEIGHTS}"
    ),
    "pair-returned": shared(
        "Output and weights are returned as a pair: here the output alone is wanted.", MIX="({MIX}, {WEIGHTS})"
    ),
    "nothing-returned": shared(says("nothing-returned", WHAT="the output"), price=ALL, RETURN="output = {END}"),
    "own-vector": shared(
        "Every token gets its own vector back: under the sum belongs x_j, the token that is looked at, and not x_i.",
        price=ALL,
        MIX="{WEIGHTS}.sum(-1, keepdim=True) * {X}",
    ),
    **attention.some("weights-applied-twice"),
    "multiplied-by-the-input": shared(
        "The result is multiplied by the input once more, a step that does not exist.",
        MIX="{MIX} * {X}",
    ),
    "input-added": shared(
        says("input-added"),
        MIX="{MIX} + {X}",
    ),
    "cosine-similarity": shared(
        "The tokens are brought to length 1 before they are compared: the score is the {SCORE}.",
        PRODUCT="F.normalize({X}, dim=-1) @ F.normalize({X}, dim=-1).mT",
    ),
    "itself-left-out": shared(
        "No token may look at itself here: each one takes part in its own average, like all others.",
        SOFTMAX="F.softmax({SCORES}.masked_fill(torch.eye({X}.shape[-2], device={X}.device) == 1, -1e4), dim=-1)",
    ),
    "always-causal": shared(
        says("always-causal", WHEN="that is for lesson 03, here all tokens look at all"),
        SOFTMAX='F.softmax({SCORES}.masked_fill(torch.ones_like({SCORES}).tril() == 0, float("-inf")), dim=-1)',
    ),
    "all-tokens-alike": shared(
        "Every token gets the plain mean of all tokens: the weights play no part.",
        price=ALL,
        SOFTMAX="torch.full_like({SCORES}, 1 / {X}.shape[-2])",
    ),
}

# --- gradients, dtypes, arguments: all three ------------------------------------------------------

CARE = {
    **attention.some("weights-detached"),
    "input-detached": shared(
        says("input-detached"),
        CHECK="{X} = {X}.detach()\n{INDENT}{CHECK}",
    ),
    **attention.some("float32-comes-out", "through-float32", "squeezed", "view-of-the-input"),
    "float64-comes-out": shared(
        says("float64-comes-out"),
        END="({END}).double()",
    ),
    "assert-instead-of-an-error": shared(
        says("assert-instead-of-an-error", WHAT="An input of another rank"),
        CHECK="assert {X}.dim() == {RANK}",
    ),
    "none-for-a-wrong-rank": shared(
        "An input of another rank gives None: raise a `ValueError`, so that nobody goes on with it.",
        CHECK="if {X}.dim() != {RANK}:\n{INDENT}    return None",
    ),
    "asks-what-the-input-holds": shared(
        "What the input holds is looked at (by an `if`, an `assert` or `.item()`), and a tensor on `meta` can't tell:"
        " no value needs to be looked at here.",
        CHECK='if torch.isnan({X}).any():\n{INDENT}    raise ValueError("NaN")\n{INDENT}{CHECK}',
    ),
    **attention.some("input-changed-in-place"),
    "rank-not-checked": shared(  # `bmm` refuses other ranks by itself, `@` does not
        attention.SHARED["rank-not-checked"].says,
        CHECK="",
        PRODUCT="{X} @ {X}.mT",
        SOFTMAX="F.softmax({SCORES}, dim=-1)",
        MIX="{WEIGHTS} @ {X}",
    ),
}

# --- batches: `self_attention` and `scaled_self_attention` ----------------------------------------

BATCHES = {
    "softmax-over-dim-0": shared(
        says("softmax-over-dim-0"),
        SOFTMAX="F.softmax({SCORES}, dim=0)",
    ),
    **attention.some("batch-flattened"),
    "all-dimensions-turned": shared(
        says("all-dimensions-turned"),
        PRODUCT="{X} @ {X}.T",
    ),
    "all-dimensions-turned-in-bmm": shared(
        "`.T` turns around all dimensions, the batch as well: swap the last two alone, by `.mT` or `transpose(1, 2)`.",
        PRODUCT="torch.bmm({X}, {X}.T)",
    ),
    "rank-left-to-bmm": shared(
        "An input that is not {SHAPE} is left to torch, which stops with an error of its own: look at `{X}.dim()` and"
        " raise a `ValueError`.",
        CHECK="",
    ),
    "rank-left-to-transpose": shared(
        "An input that is not {SHAPE} is left to torch, which stops with an error of its own: look at `{X}.dim()` and"
        " raise a `ValueError`.",
        CHECK="",
        PRODUCT="{X} @ {X}.transpose(1, 2)",
        MIX="{WEIGHTS} @ {X}",
    ),
    "first-sequence-only": shared(
        "Only the first sequence of the batch comes out: each sequence has an output of its own.",
        MIX="{MIX}[:1]",
    ),
    "sequence-made-a-batch": shared(
        "One sequence (t, d) is taken as a batch of one instead of being refused: this function wants a batch"
        " (b, t, d).",
        CHECK="if x.dim() == 2:\n        return {NAME}(x.unsqueeze(0))[0]\n    {CHECK}",
    ),
}
