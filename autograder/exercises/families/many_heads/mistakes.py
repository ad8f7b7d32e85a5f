"""What goes wrong in modules with several heads, and in a single head that is stacked: edits that fit all of them.

An exercise names the places, and says in `words` what its variables are called: {Q}, {SCORES}, {FOUND} and so on.
"""

from ....mistakes.bank import shared

ONE_HEAD = {
    # projections
    "keys-from-queries": shared(
        "These are the values you get when the keys are made by the layer for queries: each role has its own.",
        KEYS="{QUERIES}",
    ),
    "values-from-queries": shared(
        "These are the values you get when the values are made by the layer for queries: each role has its own.",
        VALUES="{QUERIES}",
    ),
    "keys-as-values": shared(
        "These are the values you get when the weights are applied to the keys: mix the values.",
        VALUES="{KEYS}",
    ),
    "query-and-key-swapped": shared(
        "These are the values you get when queries and keys change places: rows of the scores belong to queries.",
        QUERIES="{KEYS}",
        KEYS="{QUERIES}",
    ),
    "layers-made-in-forward": shared(
        "The module has no layers for queries, keys and values that can learn: they are made anew in every call, or are"
        " hidden in a plain list. Make them in `__init__`, each under its name.",
        LAYERS="",
        QUERIES="nn.Linear({INPUT}, {INNER}, bias=False)(x)",
        KEYS="nn.Linear({INPUT}, {INNER}, bias=False)(x)",
        VALUES="nn.Linear({INPUT}, {INNER}, bias=False)(x)",
    ),
    # scale and softmax
    "no-scale": shared(
        "These are the values you get without a scale: divide the scores by the root of a head's width.",
        SCALE="",
    ),
    "scale-without-root": shared(
        "These are the values you get when scores are divided by a head's width: it should be its square root.",
        SCALE="{DIVIDED_BY} {WIDTH}",
    ),
    "scale-by-number-of-tokens": shared(
        "These are the values you get when scores are divided by the root of the number of tokens: it is a head's width"
        " that counts.",
        SCALE="{DIVIDED_BY} {TOKENS} ** 0.5",
    ),
    "scale-after-softmax": shared(
        "These are the values you get when the weights are scaled and not the scores: scale before the softmax, else"
        " rows no longer sum to 1.",
        SCALE="",
        SOFTMAX="{SOFTMAX} / {WIDTH} ** 0.5",
    ),
    "root-of-root-once": shared(
        "These are the values you get when the scores are divided by the fourth root of a head's width: with the fourth"
        " root, both queries and keys must be divided.",
        SCALE="{DIVIDED_BY} {WIDTH} ** 0.25",
    ),
    "softmax-over-queries": shared(
        "These are the values you get when the softmax runs over the queries: check `dim`, the keys are the last.",
        SOFTMAX="F.softmax({SCORES}, dim=-2)",
    ),
    "exp-without-max": shared(
        "The exponentials overflow for large scores and vanish for very negative ones: subtract each row's largest"
        " score before `exp`, or use torch's softmax.",
        SOFTMAX="{SCORES}.exp() / {SCORES}.exp().sum(-1, keepdim=True)",
    ),
    # gradients, dtypes, devices, arguments
    "weights-detached": shared(
        "The weights are cut out of the graph (`detach`, `.data`, `no_grad`), so queries and keys never learn.",
        SOFTMAX="{SOFTMAX}.detach()",
    ),
    "values-detached": shared(
        "The values are cut out of the graph (`detach`, `.data`), so their layer never learns.",
        VALUES="{VALUES}.detach()",
    ),
    "float32-comes-out": shared(
        "It returns float32 whatever goes in: leave the dtype as it is.",
        END="{END}.float()",
    ),
    "scale-tensor-on-the-cpu": shared(
        "The scale is a tensor of its own, float32 and on the CPU: divide by a Python number, such as `width ** 0.5`.",
        SCALE="{DIVIDED_BY} torch.tensor([float({WIDTH})]).sqrt()",
    ),
    "rank-not-checked": shared(
        "Nothing refuses an input of another rank: look at `x.dim()` and raise a `ValueError`.",
        START="x = x if x.dim() < 4 else x.flatten(0, 1)\n        {SIZES}",
    ),
    "squeezed": shared(
        "`squeeze` drops every dimension of size 1, also a batch of one or a sequence of one token.",
        END="{END}.squeeze()",
    ),
    "view-of-the-input": shared(
        "`view` needs a tensor that lies contiguous in memory, and a transposed one does not: use `reshape`.",
        START="{START}\n        x = x.view(-1).view(x.shape)",
    ),
    "input-changed": shared(
        "The input is changed in place (`x *= …`, `x.mul_(…)`): make a new tensor.",
        START="{START}\n        x = x if x.requires_grad else x.mul_(2) / 2",
    ),
}
MANY_HEADS = {
    "output-projection-without-bias": shared(
        "The output projection has no bias: here it should have one.",
        OUT="{OUT}, bias=False",
    ),
    # cutting and merging: {RESHAPED} cuts by one reshape, {FASTEST} lets the head be the last index
    "reshaped-in-one-step": shared(
        "The heads are cut with one `view` or `reshape`, which mixes tokens with features: first (b, t, heads, width),"
        " then swap the two middle dimensions.",
        CUT="{RESHAPED}",
    ),
    "merged-without-transposing": shared(
        "The heads are merged without swapping tokens and heads back first, which mixes tokens with features.",
        MERGE="{FOUND}.reshape({SHAPE})",
    ),
    "reshaped-both-ways": shared(
        "Heads are cut and merged by `view` alone, so that a head works on a slab of tokens and not on a block of"
        " features: swap the two dimensions both times.",
        CUT="{RESHAPED}",
        MERGE="{FOUND}.reshape({SHAPE})",
    ),
    "fast-head-index": shared(
        "These are the values you get when the head is the last, fastest index, so that head i has every h-th feature:"
        " a head owns a contiguous block.",
        CUT="{FASTEST}",
        MERGE="{FOUND}.movedim(-3, -1).reshape({SHAPE})",
    ),
    "fast-head-index-when-cut": shared(
        "These are the values you get when the head is the fastest index where features are cut, and the slow one where"
        " they are merged: a head owns a contiguous block both times.",
        CUT="{FASTEST}",
    ),
    "features-interleaved": shared(
        "These are the values you get when the heads' features are interleaved in the end: place the heads side by"
        " side, head 0 first.",
        MERGE="{FOUND}.movedim(-3, -1).reshape({SHAPE})",
    ),
    "heads-reversed": shared(
        "These are the values you get when the heads come out in reversed order: head 0 comes first.",
        MERGE="{FOUND}.flip(-3).transpose(-3, -2).reshape({SHAPE})",
    ),
    "heads-averaged": shared(
        "These are the values you get when what the heads find is averaged: place it side by side.",
        MERGE="torch.cat([{FOUND}.mean(-3)] * {HEADS}, dim=-1)",
    ),
    "one-head": shared(
        "These are the values of one head that is as wide as all together: cut queries, keys and values into heads.",
        NUMBER="{ONE}",
    ),
    # scale and softmax
    "scale-by-all-heads": shared(
        "These are the values you get when scores are divided by the root of the width of all heads together: it is one"
        " head's width that counts.",
        SCALE="{DIVIDED_BY} ({HEADS} * {WIDTH}) ** 0.5",
    ),
    "scale-by-number-of-heads": shared(
        "These are the values you get when scores are divided by the root of the number of heads: it is a head's width"
        " that counts.",
        SCALE="{DIVIDED_BY} {HEADS} ** 0.5",
    ),
    "softmax-over-heads": shared(
        "These are the values you get when the softmax runs over the heads: check `dim`, the keys are the last.",
        SOFTMAX="{SOFTMAX_OVER_HEADS}",
    ),
}
EVERYWHERE = ONE_HEAD | MANY_HEADS
WIDE = {  # every head is as wide as the input, {NUMBER_OF_HEADS} is the parameter
    "always-eight-heads": shared(
        "There are eight heads whatever `{NUMBER_OF_HEADS}` says: use the parameter.",
        SUPER="{SUPER}\n        {NUMBER_OF_HEADS} = 8",
    ),
    "narrow-heads": shared(
        "The heads are k/h wide: here each is as wide as the input, and the layers go from k to k*h.",
        LAYERS="{NARROW_LAYERS}",
        OUT="nn.Linear(k, k",
        NUMBER="{NUMBER}\n        k = k // h",
    ),
}
WORDS_OF_WIDE_HEADS = {  # that are folded into the batch, (b*h, t, k)
    "INPUT": "k",
    "INNER": "k * h",
    "DIVIDED_BY": "queries = queries /",
    "WIDTH": "k",
    "HEADS": "h",
    "TOKENS": "t",
    "FOUND": "out",
    "SHAPE": "b, t, h * k",
    "RESHAPED": "queries, keys, values = (z.reshape(b * h, t, k) for z in (queries, keys, values))",
    "FASTEST": """queries, keys, values = (
        z.reshape(b, t, k, h).permute(0, 3, 1, 2).reshape(b * h, t, k) for z in (queries, keys, values)
    )""",
}
NEVER_BIASED = {
    "bias-everywhere": shared(
        "The layers for queries, keys and values have a bias that nobody asked for: only the last layer has one.",
        LAYERS="{BIASED}",
    ),
}
NARROW = {  # all heads together are {ALL} wide
    "no-output-projection": shared(
        "There is no output projection: what the heads find should go through a Linear layer `{PROJECTION}` with a"
        " bias.",
        OUT_LAYER="",
        END="{FOUND}",
    ),
    "projection-never-used": shared(
        "`{PROJECTION}` is made and never used: apply it to what the heads have found.",
        END="{FOUND}",
    ),
    "indivisible-floored": shared(
        "Heads that don't divide {ALL} are accepted: raise a `ValueError` with both numbers.",
        DIVIDE="",
    ),
    "assert-instead-of-an-error": shared(
        "Heads that don't divide {ALL} stop with an AssertionError: raise a `ValueError` with both numbers.",
        DIVIDE="assert {REST} == 0",
    ),
    "error-without-numbers": shared(
        "The `ValueError` for heads that don't divide {ALL} should name both numbers.",
        DIVIDE='if {REST} != 0:\n            raise ValueError("the heads do not divide the width")',
    ),
}
CAUSAL = {  # {SIDE} is how many tokens the mask holds
    "not-causal": shared(
        "Every token sees all others, also those after it: hide the later keys before the softmax.",
        HIDE="",
    ),
    "mask-one-too-far": shared(
        "Each token sees the one after it as well: check the `diagonal` of the mask.",
        TRIANGLE="torch.ones({SIDE}, {SIDE}, dtype=torch.bool).tril(1)",
    ),
    "mask-without-itself": shared(
        "No token sees itself, and the first one sees nothing at all (NaN): check the `diagonal` of the mask.",
        TRIANGLE="torch.ones({SIDE}, {SIDE}, dtype=torch.bool).tril(-1)",
    ),
    "mask-inverted": shared(
        "The mask is the wrong way round: each token sees itself and those after it.",
        TRIANGLE="torch.ones({SIDE}, {SIDE}, dtype=torch.bool).triu()",
    ),
    "mask-after-softmax": shared(
        "These are the values you get when later keys are hidden after the softmax: their share is lost, and rows no"
        " longer sum to 1. Hide them before it.",
        HIDE="",
        SOFTMAX="{SOFTMAX} * ({ALLOWED})",
    ),
    "mask-filled-with-zero": shared(
        "Hidden scores are filled with 0, which is a score like any other: fill with minus infinity.",
        FILL="0.0",
    ),
    "mask-filled-with-a-finite-number": shared(
        "Hidden scores are filled with a number such as -1e4, which very negative scores can reach: fill with minus"
        " infinity.",
        FILL="-1e4",
    ),
    "mask-filled-with-1e9": shared(
        "Hidden scores are filled with -1e9, which float16 does not have: fill with minus infinity.",
        FILL="-1e9",
    ),
    "mask-not-cut": shared(
        "The mask is used whole, for `{CONTEXT}` tokens: a shorter sequence needs its upper left corner.",
        CORNER="",
    ),
    "mask-made-on-the-cpu": shared(
        "The mask is made on the CPU in every call: make it on the input's device, or register it as a buffer.",
        HIDDEN="~torch.ones({TOKENS}, {TOKENS}, dtype=torch.bool).tril()",
    ),
    "length-not-checked": shared(
        "Nothing refuses a sequence longer than the context: raise a `ValueError` with both numbers.",
        TOO_LONG="if False:",
    ),
    # dropout
    "dropout-missing": shared("Nothing is dropped in train mode.", DROP="{SOFTMAX}"),
    "dropout-in-eval": shared(
        "Weights are dropped in eval mode, too: use `nn.Dropout`, or pass `self.training` to `F.dropout`.",
        DROP="F.dropout({SOFTMAX}, self.dropout.p)",
    ),
    "dropout-on-scores": shared(
        "Dropout acts on the scores, before the softmax: it should act on the weights.",
        DROP="F.softmax(self.dropout({SCORES}), dim=-1)",
    ),
    "dropout-on-the-output": shared(
        "Dropout acts on the output: it should act on the attention weights.",
        DROP="{SOFTMAX}",
        END="self.dropout({END})",
    ),
    "dropout-on-the-output-as-well": shared(
        "Dropout acts on the output as well as on the weights: here it should act on the weights alone.",
        END="self.dropout({END})",
    ),
    "dropout-not-scaled": shared(
        "The kept weights are not scaled by 1/(1-p): use `nn.Dropout` or `F.dropout`.",
        DROP="{SOFTMAX} * (torch.rand_like({SCORES}) >= self.dropout.p if self.training else 1)",
    ),
    "dropout-keeps-with-p": shared(
        "The share that is kept is `dropout`, and not 1 - `dropout`.",
        DROPOUT="nn.Dropout(1 - dropout if dropout else 0.0)",
    ),
}
