"""Mistakes that attention without parameters has in common, and some of `attention` and `masked_weights`.

Words: X is the input, SCORES and WEIGHTS are what they are called, SCALE is what the product is followed by ("" where
nothing is scaled), INDENT is how far a function's body is indented. Places: CHECK refuses a wrong rank, PRODUCT
compares tokens, SOFTMAX makes weights of the scores, AVERAGE applies them, RETURN is the `return` before it.
"""

from ....mistakes.bank import shared

ORIGINALS = {  # which notebook has what all three have in common
    "features-compared": "004",
    "own-vector": "000",
    "weights-applied-twice": "004",
    "multiplied-by-the-input": "004",
}

# --- softmax: also for `attention` and `masked_weights` -------------------------------------------

SOFTMAX = {
    "log-softmax": shared(
        "These are the values you get from `log_softmax`, which gives the logarithms of the weights: use `softmax`.",
        SOFTMAX="F.log_softmax({SCORES}, dim=-1)",
    ),
    "sigmoid-weights": shared(
        "These are the values you get when weights are made by a sigmoid, each by itself: {RIVALS} compete, by a"
        " softmax.",
        SOFTMAX="torch.sigmoid({SCORES})",
    ),
}

# --- a query and a key: `attention` and `masked_weights` ------------------------------------------

QUERY_AND_KEY = {
    "key-not-transposed": shared(
        "The key is not transposed in the product of query and key, which fits only when {FITS}: swap its last two"
        " dimensions.",
        PRODUCT="{QUERY} @ key",
    ),
    "query-and-key-swapped": shared(
        "These are the {SEEN} you get when query and key change places: rows belong to queries, so the query comes"
        " first in the product.",
        PRODUCT="key @ {QUERY}.transpose(-2, -1)",
    ),
    "softmax-over-queries": shared(
        "These are the values you get when the softmax runs over the queries, so that columns sum to 1 and not rows:"
        " check `dim`, it should be the last.",
        SOFTMAX="F.softmax({SCORES}, dim=-2)",
    ),
    "exp-without-max": shared(
        "The exponentials overflow for large scores and vanish for very negative ones: subtract each row's largest"
        " score before `exp`, or use torch's softmax.",
        SOFTMAX="{SCORES}.exp() / {SCORES}.exp().sum(-1, keepdim=True)",
    ),
    "weights-detached": shared(
        "The weights are cut out of the graph (`detach`, `.data`, `no_grad`), so query and key get no gradient.",
        SOFTMAX="{SOFTMAX}.detach()",
    ),
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
        "These are the values you get when columns sum to 1 and not rows: the softmax has to run over the last"
        " dimension, the tokens that are looked at.",
        SOFTMAX="F.softmax({SCORES}, dim=-2)",
    ),
    "exp-without-max": shared(
        "The exponentials overflow for large scores: subtract each row's largest score before `exp`, or use torch's"
        " softmax.",
        SOFTMAX="{SCORES}.exp() / {SCORES}.exp().sum(-1, keepdim=True)",
    ),
    "one-max-for-all-rows": shared(
        "The largest of all scores is subtracted before `exp`, so the exponentials of milder rows vanish: subtract each"
        " row's own largest score.",
        SOFTMAX="({SCORES} - {SCORES}.max()).exp() / ({SCORES} - {SCORES}.max()).exp().sum(-1, keepdim=True)",
    ),
    "no-softmax": shared(
        "The scores are used as weights as they are: a softmax has to make weights of them.",
        SOFTMAX="{SCORES}",
    ),
    "divided-by-the-sum": shared(
        "The scores are divided by their sum, without `exp`: that gives negative weights, and is no softmax.",
        SOFTMAX="{SCORES} / {SCORES}.sum(-1, keepdim=True)",
    ),
    **SOFTMAX,
}

AVERAGE = {
    "features-compared": shared(
        "These are the values you get from Xᵀ X, as notebook 004 writes it: that compares features with features. With"
        " tokens as rows it is X Xᵀ.",
        PRODUCT="{X}.mT @ {X}{SCALE}",
        AVERAGE="{X} @ {WEIGHTS}",
    ),
    "own-vector": shared(
        "Every token gets its own vector back: under the sum belongs x_j, the token that is looked at, and not x_i as"
        " notebook 000 writes.",
        AVERAGE="{WEIGHTS}.sum(-1, keepdim=True) * {X}",
    ),
    "weights-applied-twice": shared(
        "These are the values you get when the weights are applied twice: nothing comes after the weighted sum.",
        AVERAGE="{WEIGHTS} @ {AVERAGE}",
    ),
    "multiplied-by-the-input": shared(
        "The result is multiplied by the input once more, a step that notebook 004 lists and that does not exist.",
        AVERAGE="{AVERAGE} * {X}",
    ),
    "input-added": shared(
        "The input is added to the result: that comes with transformer blocks, not here.",
        AVERAGE="{AVERAGE} + {X}",
    ),
    "cosine-similarity": shared(
        "The tokens are brought to length 1 before they are compared: the score is the {SCORE}.",
        PRODUCT="F.normalize({X}, dim=-1) @ F.normalize({X}, dim=-1).mT{SCALE}",
    ),
    "itself-left-out": shared(
        "No token may look at itself here: each one takes part in its own average, like all others.",
        SOFTMAX="F.softmax({SCORES}.masked_fill(torch.eye({X}.shape[-2], device={X}.device) == 1, -1e4), dim=-1)",
    ),
    "always-causal": shared(
        "No token may look at later ones here: that is for lesson 03, here all look at all.",
        SOFTMAX='F.softmax({SCORES}.masked_fill(torch.ones_like({SCORES}).tril() == 0, float("-inf")), dim=-1)',
    ),
    "all-tokens-alike": shared(
        "Every token gets the plain mean of all tokens: the weights play no part.",
        SOFTMAX="torch.full_like({SCORES}, 1 / {X}.shape[-2])",
    ),
}

# --- gradients, dtypes, arguments: all three ------------------------------------------------------

CARE = {
    "weights-detached": shared(
        "The weights are cut out of the graph (`detach`, `.data`, `no_grad`): the gradient through them is missing.",
        SOFTMAX="{SOFTMAX}.detach()",
    ),
    "input-detached": shared(
        "The input is cut out of the graph (`torch.tensor(x)`, `.data`, `detach`), so it gets no gradient.",
        CHECK="{X} = {X}.detach()\n{INDENT}{CHECK}",
    ),
    "float32-comes-out": shared(
        "It returns float32 whatever goes in: leave the dtype as it is.",
        CHECK="{X} = {X}.float()\n{INDENT}{CHECK}",
    ),
    "through-float32": shared(
        "It computes in float32 and turns the result back into the input's dtype, so the digits of float64 are lost.",
        CHECK="dtype, {X} = {X}.dtype, {X}.float()\n{INDENT}{CHECK}",
        AVERAGE="({AVERAGE}).to(dtype)",
    ),
    "squeezed": shared(
        "`squeeze` drops every dimension of size 1, such as that of a single token: leave it away.",
        AVERAGE="({AVERAGE}).squeeze()",
    ),
    "view-of-the-input": shared(
        "`view` needs a tensor that lies contiguous in memory, and a transposed one does not: use `reshape`, or"
        " neither.",
        CHECK="{CHECK}\n{INDENT}{X} = {X}.view({X}.numel()).view({X}.shape)",
    ),
    "asks-what-the-input-holds": shared(
        "An `if` asks what the input holds, which a tensor on `meta` can't tell: no value needs to be looked at here.",
        CHECK='if torch.isnan({X}).any():\n{INDENT}    raise ValueError("NaN")\n{INDENT}{CHECK}',
    ),
    "input-changed-in-place": shared(
        "The input is changed in place (`/=`, `*=`, …), and whoever gave it still needs it: make a new tensor.",
        RETURN="output =",
        AVERAGE="{AVERAGE}\n{INDENT}{X}.data /= 2\n{INDENT}return output",
    ),
    "rank-not-checked": shared(  # `bmm` refuses other ranks by itself, `@` does not
        "Nothing refuses an input that is not {SHAPE}: look at `{X}.dim()` and raise a `ValueError`.",
        CHECK="",
        PRODUCT="{X} @ {X}.mT{SCALE}",
        SOFTMAX="F.softmax({SCORES}, dim=-1)",
        AVERAGE="{WEIGHTS} @ {X}",
    ),
}

# --- batches: `self_attention` and `scaled_self_attention` ----------------------------------------

BATCHES = {
    "softmax-over-dim-0": shared(
        "These are the values you get from a softmax with `dim=0`, over the sequences of the batch: the tokens that are"
        " looked at are the last dimension.",
        SOFTMAX="F.softmax({SCORES}, dim=0)",
    ),
    "batch-flattened": shared(
        "The sequences of the batch are joined into one long sequence, so they see each other: leave the batch"
        " dimension alone.",
        CHECK="{CHECK}\n    shape, x = x.shape, x.reshape(1, -1, x.shape[-1])",
        AVERAGE="{AVERAGE}.reshape(shape)",
    ),
    "first-sequence-only": shared(
        "Only the first sequence of the batch comes out: each sequence has an output of its own.",
        AVERAGE="{AVERAGE}[:1]",
    ),
    "sequence-made-a-batch": shared(
        "One sequence (t, k) is taken as a batch of one instead of being refused: this function wants a batch"
        " (b, t, k).",
        CHECK="if x.dim() == 2:\n        return {NAME}(x.unsqueeze(0))[0]\n    {CHECK}",
    ),
}
