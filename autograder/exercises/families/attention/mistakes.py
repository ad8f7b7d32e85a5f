"""Mistakes in attention of any kind, each worded once: families and exercises pick theirs from `SHARED`.

An entry names places of the right answer and gives the text that replaces each; a `{WORD}` stands for what differs
between exercises. An exercise that needs a different edit for one of these passes it in (`Bank.share(…, edits=…)`).

Places:
    W_QUERY, W_KEY, W_VALUE, OUT_LAYER      the line in `__init__` that makes the layer (`LAYERS`)
    QUERIES, KEYS, VALUES                   the call of that layer (`CALLS`)
    CHECK                                   the first lines, which refuse a wrong rank
    PRODUCT, SCALE, SCALED                  queries times keys; the division; both together, where they are one piece
    SOFTMAX, WEIGH                          the call, and its line
    MIX                                     weights times values
    CUT, NUMBER, MERGE                      where heads are split, into how many, and where they are merged
    END, RETURN                             the value returned, and the line that returns it
    BUFFER, TRIANGLE, MASK_IN_USE           the line that stores the causal mask, its value, and the part in use
    HIDE, FILL                              the line that fills hidden scores, and the number it fills in
    SIGNATURE, HIDING                       the end of a function's signature, `mask=None):`; how that line begins
    DROPOUT, DROP                           the dropout layer, and its call
    LENGTH, TOO_LONG, LONGER, MESSAGE       the line that takes the length; the refusal, its condition, its text
    DIVIDES                                 the lines that refuse heads that don't divide the width

Words in code:
    X, SOURCE                               the input, and what keys and values are computed from
    QUERY, KEY, VALUE, PROJECTION           names of the layers
    SIZES, CONTEXT_SIZES, OUT_SIZES, BIAS   their arguments
    Q, K, V, SCORES, WEIGHTS, FOUND         names of the intermediate results (Q, K and V already split into heads)
    HEADS, ONE                              the number of heads, and the code that makes it one
    RESHAPED, FASTEST                       heads split by a single reshape, or as the last index
    MERGED, MERGED_SHAPE                    the merged heads, and their shape
    MASK, ONES, ALLOWED                     the mask, one that hides nothing, and True where the part in use shows a key
    LONGEST, REST, RENORMALISED             the most tokens; the remainder; weights divided by their sum
Words in sentences:
    WIDTH, INPUT, N                         names of a key's width, of the input's width and of the number of tokens
    SHAPE, BLOCK, ALL                       the shape wanted, the longest sequence, the width of all heads together
"""

from ....mistakes.bank import Shared, shared
from ....mistakes.prices import ALL, PRICES
from ....mistakes.signs import multiplies_infinity
from ..wordings import says

WORDS = {  # the values in most exercises
    "X": "x",
    "SOURCE": "{X}",
    "CONTEXT_SIZES": "{SIZES}",
    "UNDROPPED": "{SOFTMAX}",  # the argument of DROP
    "UNCHECKED": "",  # replaces CHECK where nothing is refused
    "SOFTMAX_OVER_HEADS": "F.softmax({SCORES}, dim=-3)",
    "AND_WHERE_EMPTY": "",
    "INDENT": "        ",
    "N": "t",
}
NAMES_001 = {
    "QUERY": "toqueries",
    "KEY": "tokeys",
    "VALUE": "tovalues",
    "Q": "queries",
    "K": "keys",
    "V": "values",
    "SCORES": "scores",
    "WEIGHTS": "weights",
    "PROJECTION": "unifyheads",
    "BIAS": "False",
}
NAMES_003 = {
    "QUERY": "query",
    "KEY": "key",
    "VALUE": "value",
    "Q": "q",
    "K": "k",
    "V": "v",
    "SCORES": "wei",
    "WEIGHTS": "wei",
    "SIZES": "n_embd, head_size",
    "BIAS": "False",
    "WIDTH": "head_size",
    "INPUT": "n_embd",
}
NAMES_004 = {
    "QUERY": "W_query",
    "KEY": "W_key",
    "VALUE": "W_value",
    "Q": "Q",
    "K": "K",
    "V": "V",
    "SCORES": "scores",
    "WEIGHTS": "weights",
    "SIZES": "d_in, d_out",
    "BIAS": "qkv_bias",
    "WIDTH": "d_out",
    "INPUT": "d_in",
}

WEIGHTS_SHARED_AGAIN = (
    "The mask is applied after the softmax, and what is left is divided by its sum: where that is 0, or rounded to 0,"
    " there is NaN. Apply it before the softmax."
)

LAYERS = {
    "W_QUERY": "self.{QUERY} = nn.Linear({SIZES}, bias={BIAS})",
    "W_KEY": "self.{KEY} = nn.Linear({CONTEXT_SIZES}, bias={BIAS})",
    "W_VALUE": "self.{VALUE} = nn.Linear({CONTEXT_SIZES}, bias={BIAS})",
}
CALLS = {
    "QUERIES": "self.{QUERY}({X})",
    "KEYS": "self.{KEY}({SOURCE})",
    "VALUES": "self.{VALUE}({SOURCE})",
}
OUT_LAYER = {"OUT_LAYER": "self.{PROJECTION} = nn.Linear({OUT_SIZES})"}
WITH_BIAS = {place: line.replace("bias={BIAS}", "bias=True") for place, line in LAYERS.items()}
WITHOUT_BIAS = {place: line.replace("{BIAS}", "False") for place, line in LAYERS.items()}

# --- projections ----------------------------------------------------------------------------------

PROJECTIONS = {
    "one-projection": shared(
        "One matrix serves for queries, keys and values: each role has a matrix of its own.",
        W_VALUE="self.{KEY} = self.{VALUE} = self.{QUERY}",
    ),
    "keys-from-queries": shared(
        says("keys-from-queries", ROLE="keys", OTHER="{QUERY}"),
        KEYS="self.{QUERY}({SOURCE})",
    ),
    "values-from-queries": shared(
        says("values-from-queries", ROLE="values", OTHER="{QUERY}"),
        VALUES="self.{QUERY}({SOURCE})",
    ),
    "keys-as-values": shared(
        says("keys-as-values"),
        MIX="torch.matmul({WEIGHTS}, {K})",
    ),
    "inputs-as-values": shared(
        "The weights are applied to the input itself: `{VALUE}` has no part in the output. Mix the values.",
        MIX="{WEIGHTS} @ {SOURCE}",
    ),
    "query-and-key-swapped": shared(
        says("query-and-key-swapped"),
        price=PRICES["values"],
        PRODUCT="{K} @ {Q}.transpose(-2, -1)",
    ),
    "layers-made-in-forward": shared(
        "The module has no layers for queries, keys and values under their names: they are missing, made again in every"
        " call, hidden in a plain list, or something else than `nn.Linear`. Make them in `__init__`, each under its"
        " name.",
        W_QUERY="self.query_sizes = {SIZES}",
        W_KEY="self.key_sizes = {CONTEXT_SIZES}",
        W_VALUE="",
        QUERIES="nn.Linear(*self.query_sizes, bias=False)({X})",
        KEYS="nn.Linear(*self.key_sizes, bias=False)({SOURCE})",
        VALUES="nn.Linear(*self.key_sizes, bias=False)({SOURCE})",
    ),
}
BIASES = {
    "never-bias": shared(
        "The layers have no bias even when `qkv_bias` is true: pass it on to all three.", WITHOUT_BIAS
    ),
    "always-bias": shared(
        "The layers for queries, keys and values have a bias that nobody asked for: pass `qkv_bias` on, which is False"
        " by default.",
        WITH_BIAS,
    ),
    "value-without-bias": shared(
        "With `qkv_bias=True` only queries and keys have a bias: `{VALUE}` should have one as well.",
        W_VALUE=WITHOUT_BIAS["W_VALUE"],
    ),
}
NO_BIASES = {
    "bias-everywhere": shared(
        says("bias-everywhere"),
        WITH_BIAS,
    ),
}
OUTPUT = {
    "no-output-projection": shared(
        says("no-output-projection"),
        OUT_LAYER="",
        END="{MERGED}",
    ),
    "single-head-not-projected": shared(
        "A single head does not go through `{PROJECTION}`: the output projection belongs to any number of heads.",
        END="{END} if {HEADS} > 1 else {MERGED}",
    ),
    "projection-never-used": shared(
        "`{PROJECTION}` is made and never used: apply it to what the heads have found.", END="{MERGED}"
    ),
}
SINGLE_OUTPUT = {
    "output-projection-added": shared(
        "There is an output projection that nobody asked for: with a single head, the mixed values are the output.",
        W_VALUE="{W_VALUE}\n        self.out_proj = nn.Linear({WIDTH}, {WIDTH})",
        END="self.out_proj({END})",
    ),
}

# --- scores and scale -----------------------------------------------------------------------------

SCALE = {
    "no-scale": shared(says("no-scale"), SCALE=""),
    "scale-without-root": shared(
        says("scale-without-root"),
        SCALE="",
        PRODUCT="{PRODUCT} / {K}.shape[-1]",
    ),
    "scale-by-number-of-tokens": shared(
        "These are the values you get when scores are divided by the root of the number of tokens: it is {WIDTH} that"
        " counts.",
        SCALE="",
        PRODUCT="{PRODUCT} / {X}.shape[-2] ** 0.5",
    ),
    "scale-by-input-width": shared(
        "These are the values you get when scores are divided by the root of {INPUT}, the input's width: it is {WIDTH}"
        " that counts.",
        SCALE="",
        PRODUCT="{PRODUCT} / {X}.shape[-1] ** 0.5",
    ),
    "scale-after-softmax": shared(
        "These are the values you get when the weights are divided by the root of {WIDTH}: scale the scores, before the"
        " softmax, else rows no longer sum to 1.",
        SCALE="",
        MIX="torch.matmul({WEIGHTS} / {K}.shape[-1] ** 0.5, {V})",
    ),
    "root-of-root-once": shared(
        "These are the values you get when the scores are divided by the fourth root of {WIDTH}: with the fourth root,"
        " both queries and keys must be divided.",
        SCALE="",
        PRODUCT="{PRODUCT} / {K}.shape[-1] ** 0.25",
    ),
    "scale-tensor-on-the-cpu": shared(
        "The scale is a tensor of its own, float32 and on the CPU: divide by a Python number, such as"
        " `{K}.shape[-1] ** 0.5`.",
        SCALE="",
        PRODUCT="{PRODUCT} / torch.sqrt(torch.tensor([float({K}.shape[-1])]))",
    ),
    "key-not-transposed": shared(
        "The keys are not transposed in the product of queries and keys, which fits only when {N} = {WIDTH}: swap their"
        " last two dimensions.",
        PRODUCT="{Q} @ {K}",
    ),
}

# --- softmax --------------------------------------------------------------------------------------

SOFTMAX = {
    "softmax-over-queries": shared(
        says("softmax-over-queries"),
        SOFTMAX="F.softmax({SCORES}, dim=-2)",
    ),
    "softmax-over-batch": shared(
        says("softmax-over-batch"),
        SOFTMAX="F.softmax({SCORES}, dim=0)",
    ),
    "softmax-over-dim-0": shared(
        says("softmax-over-dim-0"),
        SOFTMAX="F.softmax({SCORES}, dim=0)",
    ),
    "softmax-over-dim-1": shared(
        "These are the values you get from a softmax with `dim=1`, which in a batch are the queries: the keys are the"
        " last dimension, `dim=-1`.",
        SOFTMAX="F.softmax({SCORES}, dim=1)",
    ),
    "exp-without-max": shared(
        says("exp-without-max", SCORED="scores"),
        SOFTMAX="{SCORES}.exp() / {SCORES}.exp().sum(-1, keepdim=True)",
    ),
    "one-max-for-all-rows": shared(
        says("one-max-for-all-rows", SCORED="scores"),
        SOFTMAX="({SCORES} - {SCORES}.max()).exp() / ({SCORES} - {SCORES}.max()).exp().sum(-1, keepdim=True)",
    ),
    "log-softmax": shared(
        says("log-softmax"),
        SOFTMAX="F.log_softmax({SCORES}, dim=-1)",
    ),
    "sigmoid-weights": shared(
        says("sigmoid-weights"),
        SOFTMAX="torch.sigmoid({SCORES})",
    ),
}

# --- heads ----------------------------------------------------------------------------------------

HEADS = {
    "output-projection-without-bias": shared(
        "The output projection `{PROJECTION}` has no bias: here it should have one.",
        OUT_LAYER="self.{PROJECTION} = nn.Linear({OUT_SIZES}, bias=False)",
    ),
    # cutting and merging
    "reshaped-in-one-step": shared(
        says("reshaped-in-one-step"),
        CUT="{RESHAPED}",
    ),
    "merged-without-transposing": shared(
        says("merged-without-transposing"),
        MERGE="{FOUND}.reshape({MERGED_SHAPE})",
    ),
    "reshaped-both-ways": shared(
        "Heads are cut and merged by `view` alone, so that a head works on a slab of tokens and not on a block of"
        " features: swap the two dimensions both times.",
        CUT="{RESHAPED}",
        MERGE="{FOUND}.reshape({MERGED_SHAPE})",
    ),
    "fast-head-index": shared(
        "These are the values you get when the head is the last, fastest index, so that head i has every h-th feature:"
        " a head owns a contiguous block.",
        CUT="{FASTEST}",
        MERGE="{FOUND}.movedim(-3, -1).reshape({MERGED_SHAPE})",
    ),
    "fast-head-index-when-cut": shared(
        "These are the values you get when the head is the fastest index where features are cut, and the slow one where"
        " they are merged: a head owns a contiguous block both times.",
        CUT="{FASTEST}",
    ),
    "features-interleaved": shared(
        "These are the values you get when the heads' features are interleaved in the end: place the heads side by"
        " side, head 0 first.",
        MERGE="{FOUND}.movedim(-3, -1).reshape({MERGED_SHAPE})",
    ),
    "heads-reversed": shared(
        says("heads-reversed"),
        MERGE="{FOUND}.flip(-3).transpose(-3, -2).reshape({MERGED_SHAPE})",
    ),
    "heads-averaged": shared(
        "These are the values you get when what the heads find is averaged: place it side by side.",
        MERGE="torch.cat([{FOUND}.mean(-3)] * {HEADS}, dim=-1)",
    ),
    "one-head": shared(
        says("one-head"),
        NUMBER="{ONE}",
    ),
    # scale and softmax
    "scale-by-all-heads": shared(
        says("scale-by-all-heads"),
        SCALE="",
        PRODUCT="{PRODUCT} / ({HEADS} * {K}.shape[-1]) ** 0.5",
    ),
    "scale-by-number-of-heads": shared(
        "These are the values you get when scores are divided by the root of the number of heads: it is {WIDTH} that"
        " counts.",
        SCALE="",
        PRODUCT="{PRODUCT} / {HEADS} ** 0.5",
    ),
    "softmax-over-heads": shared(
        "These are the values you get when the softmax runs over the heads: check `dim`, the keys are the last.",
        SOFTMAX="{SOFTMAX_OVER_HEADS}",
    ),
}
STACK = {
    "plain-list": shared(says("plain-list", WHAT="heads")),
}
NUMBER_OF_HEADS = {
    "indivisible-floored": shared(says("indivisible-floored"), DIVIDES=""),
    "assert-instead-of-an-error": shared(
        says("assert-instead-of-an-error", WHAT="A number of heads that doesn't divide {ALL}"),
        DIVIDES="assert {REST} == 0",
    ),
    "error-without-numbers": shared(
        "The `ValueError` for heads that don't divide {ALL} should name both numbers.",
        DIVIDES='if {REST} != 0:\n            raise ValueError("the heads do not divide the width")',
    ),
}

# --- causal mask ----------------------------------------------------------------------------------

CAUSAL_MASK = {
    "mask-missing": shared(
        "These are the values you get without a causal mask: every token sees the future.",
        price=ALL,
        TRIANGLE="{ONES}",
    ),
    "mask-after-softmax": shared(
        says("mask-after-softmax", SCORED="scores"),
        HIDE="",
        SOFTMAX="{SOFTMAX} * {ALLOWED}",
    ),
    "renormalised-afterwards": shared(
        says("renormalised-afterwards"),
        HIDE="",
        WEIGH="{WEIGHTS} = {SOFTMAX} * {ALLOWED}\n        {WEIGHTS} = {RENORMALISED}",
    ),
    "mask-fills-with-zero": shared(
        says("mask-fills-with-zero", SCORED="scores"),
        FILL="0.0",
    ),
    "mask-fills-with-small-number": shared(
        "Masked scores are filled with -10 or so, which other scores easily reach: fill with -inf{AND_WHERE_EMPTY}.",
        FILL="-10.0",
    ),
    "mask-fills-with-ten-thousand": shared(
        says("mask-fills-with-ten-thousand", SCORED="scores"),
        FILL="-1e4",
    ),
    "mask-fills-with-billion": shared(
        says("mask-filled-with-1e9", SCORED="scores"),
        FILL="-1e9",
    ),
    "zero-times-infinity": shared(
        says("zero-times-infinity", SCORED="scores"),
        sign=multiplies_infinity,
        HIDE='{SCORES} = {SCORES} + ~{ALLOWED} * float("-inf")',
    ),
    "diagonal-hidden": shared(
        "A token may not attend to itself, and the first one has nothing left (NaN): keep the diagonal.",
        TRIANGLE="torch.tril({ONES}, -1)",
    ),
    "one-step-ahead": shared(
        says("one-step-ahead"),
        TRIANGLE="torch.tril({ONES}, 1)",
    ),
    "upside-down": shared(
        says("upside-down"),
        TRIANGLE="torch.triu({ONES})",
    ),
    "mask-inverted": shared(
        "The past is hidden, and the future is seen: `masked_fill` fills where its mask is True, so look again at what"
        " True means in yours.",
        TRIANGLE="torch.triu({ONES}, 1)",
    ),
    "all-hidden": shared(
        "Every token is hidden from all the others, and from itself: let each see itself and those before it.",
        price=ALL,
        TRIANGLE="torch.zeros_like({ONES})",
    ),
    "mask-not-cut": shared(
        "The mask always has the size of the whole {BLOCK}, and a shorter sequence does not fit to it: cut its upper"
        " left corner.",
        MASK_IN_USE="{MASK}",
    ),
    "mask-cut-at-the-end": shared(
        "The mask is cut from its lower right corner, which has the wrong number of rows or columns for some lengths,"
        " or is cut in one dimension alone: take the first {N} rows and the first {N} columns.",
        MASK_IN_USE="{MASK}[-{N}:, :{N}]",
    ),
    "mask-not-moved": shared(
        "The mask stays on the CPU when the module moves: register it as a buffer, or make it on the input's device.",
        MASK_IN_USE="torch.tril(torch.ones({N}, {N}, dtype=torch.bool))",
    ),
    "mask-as-parameter": shared(
        "The mask is a parameter, and parameters are what is learnt: register it as a buffer.",
        BUFFER="{MASK} = nn.Parameter({TRIANGLE}, requires_grad=False)",
    ),
}
LENGTH = {
    "too-long-not-refused": shared(
        "A sequence longer than the {BLOCK} is left to torch, whose error says nothing about it: compare the lengths at"
        " the start and raise a `ValueError` with both.",
        TOO_LONG="",
    ),
    "message-without-numbers": shared(
        says(
            "message-without-numbers", WHAT="a sequence that is too long", BOTH="how long it is, and what the most is"
        ),
        MESSAGE='"the sequence is too long"',
    ),
    "too-long-cut": shared(
        "A sequence that is too long is silently cut: raise a `ValueError` with both numbers.",
        LENGTH="x = x[:, : {LONGEST}]\n        {LENGTH}",
    ),
    "full-length-refused": shared(
        says("full-length-refused", WHAT="A sequence that is just as long as the {BLOCK}"),
        LONGER="{N} >= {LONGEST}",
    ),
}

# --- masks of padding or of a context: each answer needs its own edits for these ------------------

MASKS = {
    "asks-what-the-mask-holds": shared(
        "What the mask holds is looked at (by an `if`, an `assert` or `.item()`), and a tensor on `meta` can't tell:"
        " let `masked_fill` or `where` decide entry by entry."
    ),
    "nan-in-empty-rows": shared(
        "A query with nothing left to attend to has only scores of -inf, of which softmax makes NaN: give that row"
        " harmless scores before the softmax, and weights of 0 after it."
    ),
    "nan-patched-in-weights": shared(
        "-inf is added to masked scores, and the NaN of a query with nothing left to attend to is hidden afterwards, as"
        " by `nan_to_num`, but its gradient stays NaN: give that row harmless scores before the softmax."
    ),
    "nan-patched-in-output": shared(
        "`nan_to_num` on the output hides the NaN of a query with nothing left to attend to, but its weights are still"
        " NaN, and so are gradients through them: give that row harmless scores before the softmax."
    ),
    "uniform-in-empty-rows": shared(
        "A query with nothing left to attend to spreads its weights over all keys, as it does where hidden scores are a"
        " finite number: its weights should be 0."
    ),
}

# --- dropout --------------------------------------------------------------------------------------

DROPOUT = {
    "dropout-missing": shared(
        "Nothing is dropped in train mode: apply dropout to the weights.",
        DROP="{UNDROPPED}",
    ),
    "dropout-in-eval": shared(
        "Weights are dropped in eval mode as well: use `nn.Dropout`, or tell `F.dropout` about `self.training`.",
        DROP="F.dropout({UNDROPPED}, self.dropout.p)",
    ),
    "dropout-on-scores": shared(
        "Dropout acts on the scores, before the softmax: a score of 0 hides nothing. Drop weights.",
        SCALED="self.dropout({SCALED})",
        DROP="{UNDROPPED}",
    ),
    "dropout-on-output": shared(
        "Dropout acts on the output: it belongs on the weights, before the values are mixed.",
        DROP="{UNDROPPED}",
        END="self.dropout({END})",
    ),
    "dropout-on-values": shared(
        "Dropout acts on the values: it belongs on the weights.",
        DROP="{UNDROPPED}",
        MIX="{WEIGHTS} @ self.dropout({V})",
    ),
    "dropout-not-scaled": shared(
        "The weights that are kept are not divided by 1 - p, so outputs are smaller in training than afterwards:"
        " `nn.Dropout` does that for you.",
        DROP="{UNDROPPED} * (torch.rand_like({SCORES}) >= self.dropout.p if self.training else 1)",
    ),
    "dropout-keeps-p": shared(
        "The parameter of dropout is taken for the share that is kept: `nn.Dropout(p)` drops with probability p.",
        DROPOUT="nn.Dropout(1 - dropout)",
    ),
    "dropout-same-for-all": shared(
        "The same weights are dropped in each sequence of the batch: let `nn.Dropout` see all of the weights,"
        " (b, {N}, {N}).",
        DROP="{UNDROPPED} * self.dropout(torch.ones_like({SCORES}[0]))",
    ),
}

# --- batches and shapes, dtype and device, gradients, arguments -----------------------------------

CARE = {
    "batch-flattened": shared(
        "The sequences of a batch are joined into one long sequence, so they see each other: leave the batch dimension"
        " alone.",
        CHECK="{CHECK}\n{INDENT}shape, {X} = {X}.shape, {X}.reshape(1, -1, {X}.shape[-1])",
        END="({END}).reshape(*shape[:-1], -1)",
    ),
    "batch-added": shared(
        "One sequence comes out as a batch of one: take the dimension that you added away again.",
        CHECK="{CHECK}\n{INDENT}{X} = {X} if {X}.dim() == 3 else {X}[None]",
    ),
    "squeezed": shared(
        says("squeezed", SUCH="a batch of one or a sequence of one token"),
        END="({END}).squeeze()",
    ),
    "view-of-the-input": shared(
        says("view-of-the-input"),
        CHECK="{CHECK}\n{INDENT}{X} = {X}.view(-1).view({X}.shape)",
    ),
    "rank-not-checked": shared(
        says("rank-not-checked", WHAT="an input that is not {SHAPE}", DIMS="`{X}.dim()`"),
        CHECK="{UNCHECKED}",
    ),
    "weights-applied-twice": shared(
        "These are the values you get when the weights are applied twice: nothing comes after the weighted sum.",
        MIX="{WEIGHTS} @ ({MIX})",
    ),
    "input-added": shared(says("input-added"), END="{END} + {X}"),
    "float32-comes-out": shared(says("float32-comes-out"), END="({END}).float()"),
    "through-float32": shared(
        says("through-float32"),
        CHECK="dtype, {X} = {X}.dtype, {X}.float()\n{INDENT}{CHECK}",
        END="({END}).to(dtype)",
    ),
    "weights-detached": shared(
        says("weights-detached"),
        SOFTMAX="{SOFTMAX}.detach()",
    ),
    "values-detached": shared(
        "The values are cut out of the graph (`detach`, `.data`), so their layer never learns.",
        MIX="torch.matmul({WEIGHTS}, {V}.detach())",
    ),
    "input-changed": shared(
        says("input-changed"),
        CHECK="{CHECK}\n{INDENT}{X} = {X} if {X}.requires_grad else {X}.mul_(2) / 2",
    ),
}
CARE["input-changed-in-place"] = shared(  # the same, and gradients are wrong as well
    CARE["input-changed"].says,
    RETURN="output = {END}\n{INDENT}{X}.data *= 2\n{INDENT}return output",
)

# --------------------------------------------------------------------------------------------------

SHARED = PROJECTIONS | BIASES | NO_BIASES | OUTPUT | SINGLE_OUTPUT | SCALE | SOFTMAX | HEADS | STACK | NUMBER_OF_HEADS
SHARED |= CAUSAL_MASK | LENGTH | MASKS | DROPOUT | CARE

# The same mistakes under the ids that the results of other exercises use.
SHARED |= {
    id: SHARED[same]
    for id, same in {
        "with-bias": "bias-everywhere",
        "with-biases": "bias-everywhere",
        "projection-without-bias": "output-projection-without-bias",
        "tokens-of-all-sequences": "batch-flattened",
        "scale-by-embedding-width": "scale-by-input-width",
        "not-causal": "mask-missing",
        "mask-one-too-far": "one-step-ahead",
        "mask-without-itself": "diagonal-hidden",
        "mask-filled-with-zero": "mask-fills-with-zero",
        "mask-filled-with-a-finite-number": "mask-fills-with-ten-thousand",
        "mask-filled-with-1e9": "mask-fills-with-billion",
        "mask-made-on-the-cpu": "mask-not-moved",
        "mask-is-a-parameter": "mask-as-parameter",
        "length-not-checked": "too-long-not-refused",
        "nothing-left-is-nan": "nan-in-empty-rows",
        "nothing-left-is-averaged": "uniform-in-empty-rows",
        "lowest-number-in-empty-rows": "uniform-in-empty-rows",
        "dropout-on-the-output": "dropout-on-output",
        "dropout-keeps-with-p": "dropout-keeps-p",
    }.items()
}


def some(*ids: str) -> dict[str, Shared]:
    """The shared mistakes with these ids, in this order."""
    return {id: SHARED[id] for id in ids}


IN_ANY_HEAD = some(
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


# --- what students of other courses wrote, for heads that do each step themselves -----------------


def with_epsilon(epsilon: str) -> Shared:
    """A softmax with this number added to the sum."""
    powers = "torch.exp({SCORES} - {SCORES}.amax(dim=-1, keepdim=True))"
    return shared(says("epsilon-in-the-sum"), SOFTMAX=f"{powers} / ({powers}.sum(dim=-1, keepdim=True) + {epsilon})")


SOFTMAX_BY_HAND = {
    "no-softmax": shared(
        says("no-softmax", SCORED="scores"),
        SOFTMAX="{SCORES}",
    ),
    "softmax-over-everything": shared(
        "All weights of a tensor sum to 1 together, where each row should: take the largest score and the sum with"
        " `dim=-1, keepdim=True`.",
        SOFTMAX="torch.exp({SCORES} - {SCORES}.max()) / torch.exp({SCORES} - {SCORES}.max()).sum()",
    ),
    "max-is-a-pair": shared(
        "`max` with a `dim` gives a pair, the largest values and where they are: take its `.values`, or use `amax`.",
        SOFTMAX="F.softmax({SCORES} - {SCORES}.max(dim=-1, keepdim=True), dim=-1)",
    ),
    "not-divided": shared(
        says("not-divided"),
        SOFTMAX="{SCORES}.exp()",
    ),
    "sum-without-keepdim": shared(
        "The sum of each row loses its dimension, so it divides columns: take it with `dim=-1, keepdim=True`.",
        SOFTMAX="torch.exp({SCORES} - {SCORES}.amax(dim=-1, keepdim=True))"
        " / torch.exp({SCORES} - {SCORES}.amax(dim=-1, keepdim=True)).sum(dim=-1)",
    ),
    "sum-subtracted": shared(
        says("sum-subtracted"),
        SOFTMAX="{SCORES}.exp() - {SCORES}.exp().sum(dim=-1, keepdim=True)",
    ),
    "epsilon-in-the-sum": with_epsilon("1e-8"),
    "epsilon-of-a-millionth": with_epsilon("1e-6"),
    "epsilon-of-a-billionth": with_epsilon("1e-9"),
    "softmax-in-float32": shared(
        says("softmax-in-float32"),
        SOFTMAX="F.softmax({SCORES}.float(), dim=-1).to({SCORES}.dtype)",
    ),
    "softmax-left-in-float32": shared(
        says("softmax-left-in-float32"),
        SOFTMAX="F.softmax({SCORES}, dim=-1, dtype=torch.float32)",
    ),
    "softmax-left-in-float64": shared(
        says("softmax-left-in-float64"),
        SOFTMAX="F.softmax({SCORES}.double(), dim=-1)",
    ),
}
SHIFTED = {  # where no score is -inf
    "shifted-by-the-sum": shared(
        "The sum of a row's scores is subtracted before `exp`, which keeps no large score in range: subtract the row's"
        " largest.",
        SOFTMAX="F.normalize(({SCORES} - {SCORES}.sum(dim=-1, keepdim=True)).exp(), p=1, dim=-1)",
    ),
}
PRODUCT_BY_HAND = {
    "scale-in-float32": shared(
        says("scale-in-float32"),
        SCALE="",
        PRODUCT="{PRODUCT} / torch.sqrt(torch.tensor({K}.shape[-1]))",
    ),
    "root-of-an-int": shared(
        "`torch.sqrt` takes a tensor and not a Python number: write `{K}.shape[-1] ** 0.5`, or `math.sqrt`.",
        SCALE="",
        PRODUCT="{PRODUCT} / torch.sqrt({K}.shape[-1])",
    ),
    "scale-multiplied": shared(
        "These are the values you get when the scores are multiplied by the root of {WIDTH}: divide by it.",
        SCALE="",
        PRODUCT="{PRODUCT} * {K}.shape[-1] ** 0.5",
    ),
    "reshaped-for-transposed": shared(
        says("reshaped-for-transposed"),
        PRODUCT="{Q} @ {K}.reshape(*{K}.shape[:-2], {K}.shape[-1], {K}.shape[-2])",
    ),
    "all-dimensions-turned": shared(
        says("all-dimensions-turned"),
        PRODUCT="{Q} @ {K}.T",
    ),
}
MASK_AS_AN_ARGUMENT = {
    "mask-renamed": shared(
        "The parameter for the mask is not called `mask`, so that a call with `mask=…` ends in a TypeError: rename it.",
        SIGNATURE="attn_mask=None):\n    mask = attn_mask",
    ),
    "masks-along-the-queries": shared(
        "A mask of one dimension is turned into a column, so that it hides queries: its entries are keys, as those of a"
        " row of scores.",
        HIDING="mask = mask[:, None] if mask.dim() == 1 else mask\n        {HIDING}",
    ),
}
MIX_BY_HAND = {
    "weights-transposed": shared(
        "These are the values you get when the weights are transposed before they mix the values: their rows belong to"
        " the queries already.",
        MIX="torch.matmul({WEIGHTS}.transpose(-2, -1), {V})",
    ),
    "values-detached": CARE["values-detached"],
}
MASK_BY_HAND = {
    "mask-by-indexing": shared(
        says("mask-by-indexing"),
        HIDE='{SCORES}[~{ALLOWED}] = float("-inf")',
    ),
    "mask-added-as-a-number": shared(
        says("mask-added-as-a-number", SCORED="scores"),
        HIDE="{SCORES} = {SCORES} + {ALLOWED}",
    ),
    "large-number-subtracted": shared(
        "Hidden scores get -1e9 added, in float32 whatever comes in, and float16 has no such number: use `masked_fill`"
        " with -inf.",
        HIDE="{SCORES} = {SCORES} + ~{ALLOWED} * -1e9",
    ),
    "mask-learns": shared(
        says("mask-learns"),
        BUFFER="{MASK} = nn.Parameter(({TRIANGLE}).float())",
        MASK_IN_USE="{MASK_IN_USE}.bool()",
    ),
    "mask-of-the-first-call": shared(
        "The mask of the first call is kept, and is too small for a longer sequence afterwards: cut it again in each"
        " call.",
        LENGTH="{LENGTH}\n        self.kept = self.kept if hasattr(self, 'kept') else {MASK_IN_USE}",
        MASK_IN_USE="self.kept[:{N}, :{N}].to(x.device)",
    ),
    "masked-in-training-only": shared(
        "The mask is applied in train mode only, so that in eval mode each token sees the future: it belongs to both.",
        HIDE="if self.training:\n            {HIDE}",
    ),
    "masked-in-eval-only": shared(
        "The mask is applied in eval mode only, so that the future is seen while learning: it belongs to both modes.",
        HIDE="if not self.training:\n            {HIDE}",
    ),
    "length-from-a-global": shared(
        "The length is compared with a global that `forward` does not know: what the constructor gets has to be kept,"
        " as `{LONGEST}`.",
        LONGER="{N} > {GLOBAL_LONGEST}",
    ),
    "length-asserted": shared(
        "A sequence longer than the {BLOCK} stops with an AssertionError: raise a `ValueError` with both lengths.",
        TOO_LONG='assert {N} <= {LONGEST}, f"{{N}} > {{LONGEST}}"',
    ),
    "dropout-on-masked-scores": shared(
        "Dropout acts on the scores, where 0 times -inf is NaN: it belongs on the weights, after the softmax.",
        DROP="F.softmax(self.dropout({SCORES}), dim=-1)",
    ),
    "dropout-fixed": shared(
        "The dropout does not have the probability that the constructor was given: pass it on to `nn.Dropout`.",
        DROPOUT="nn.Dropout(0.1)",
    ),
    "dropout-is-a-number": shared(
        "The probability of dropout is called as if it were a layer: make one of it, `nn.Dropout(dropout)`.",
        DROPOUT="dropout",
    ),
}
RETURNED = {
    "returns-nothing": shared(says("returns-nothing", WHAT="the mixed values"), price=ALL, RETURN="{END}"),
    "returns-a-pair": shared(
        says("returns-a-pair"),
        RETURN="return {END}, {WEIGHTS}",
    ),
}
# --- the first line of a constructor: `SUPER` is its place ----------------------------------------

CONSTRUCTOR = {
    "super-not-called": shared(
        "`super.__init__()` lacks a pair of brackets: the first line of the constructor is `super().__init__()`.",
        SUPER="super.__init__()",
    ),
    "init-misspelt": shared(
        "`super().init()` lacks the underscores: the first line of the constructor is `super().__init__()`.",
        SUPER="super().init()",
    ),
}

# --- a softmax by hand: sentences for answers in which it is written in different ways ------------

MAX_AS_A_TENSOR = (
    "`max` with a dimension returns two things, the largest values and where they stand: take `.values`, or use `amax`."
)
