"""What goes wrong in a class with one attention head: `Head`, `CausalAttention`, `SelfAttention`,
`SingleHeadSelfAttention` and `EncoderHead`.

The lists follow the sections of an exercise's mistakes. A list taken whole is one that `Head` and `CausalAttention`
have in common; the others pick from `SHARED` by id.

Places of the answer:
    QUERY_LAYER, KEY_LAYER, VALUE_LAYER     the line in `__init__` that makes the layer
    MAKE_QUERIES, MAKE_KEYS, MAKE_VALUES    the line in `forward` that applies it
    PRODUCT, TRANSPOSE, SCALE, SCALED       queries times keys, and in it the transposition; the factor; both together
    SOFTMAX, DIM                            the call, and its `dim=…`
    OUTPUT, RETURN                          weights times values, and the line that returns them
    WRONG_RANK, TOO_LONG                    the lines that refuse an input
    LENGTH, LONGER, MESSAGE                 the line that asks for the length; within TOO_LONG its condition and message
    BUFFER, TRIANGLE, CUT                   the line that keeps the mask, what it keeps, and the part of it in use
    HIDE, FILL                              the line that fills hidden scores, and with what
    WEIGH                                   the line of the softmax
    DROPOUT, DROP                           the layer that drops, and its call

Words:
    QUERY, KEY, VALUE       names of the layers
    Q, K, V                 what they make
    SCORES, WEIGHTS         what goes into the softmax, and what is mixed by
    SIZES                   the arguments of a layer
    WIDTH, INPUT, N         names of a key's width, of the input's width and of the number of tokens
    SHAPE                   of the input
    BLOCK, LONGEST          what the longest sequence is called, and how many tokens it has
    MASK, ONES              the mask, and a mask that hides nothing
    ALLOWED                 where the part in use lets a query see a key
    UNDROPPED               the argument of DROP
    RENORMALISED            weights, masked late, divided by their sum
"""

from ....mistakes.bank import shared

WITH_BIAS = {
    "QUERY_LAYER": "self.{QUERY} = nn.Linear({SIZES})",
    "KEY_LAYER": "self.{KEY} = nn.Linear({SIZES})",
    "VALUE_LAYER": "self.{VALUE} = nn.Linear({SIZES})",
}
WITHOUT_BIAS = {place: line.replace("{SIZES}", "{SIZES}, bias=False") for place, line in WITH_BIAS.items()}

BIASES = {
    "always-bias": shared("The layers have a bias also when `qkv_bias` is false.", **WITH_BIAS),
    "never-bias": shared(
        "The layers have no bias even when `qkv_bias` is true: pass it on to all three.", **WITHOUT_BIAS
    ),
    "value-without-bias": shared(
        "With `qkv_bias=True` only queries and keys have a bias: `{VALUE}` should have one as well.",
        VALUE_LAYER=WITHOUT_BIAS["VALUE_LAYER"],
    ),
}

PROJECTIONS = {
    "one-projection": shared(
        "One matrix serves for queries, keys and values: each role has a matrix of its own.",
        VALUE_LAYER="self.{KEY} = self.{VALUE} = self.{QUERY}",
    ),
    "keys-from-queries": shared(
        "These are the values you get when the keys are made by `{QUERY}`: each role has a matrix of its own.",
        MAKE_KEYS="{K} = self.{QUERY}(x)",
    ),
    "keys-as-values": shared(
        "These are the values you get when the weights are applied to the keys: mix the values.",
        OUTPUT="{WEIGHTS} @ {K}",
    ),
    "inputs-as-values": shared(
        "The weights are applied to the input itself: `{VALUE}` has no part in the output. Mix the values.",
        OUTPUT="{WEIGHTS} @ x",
    ),
    "layers-made-in-forward": shared(
        "The module has no layers for queries, keys and values that can learn: they are made anew in every call, or are"
        " hidden in a plain list. Make them in `__init__`, each under its name.",
        QUERY_LAYER="self.sizes = {SIZES}",
        KEY_LAYER="",
        VALUE_LAYER="",
        MAKE_QUERIES="{Q} = nn.Linear(*self.sizes)(x)",
        MAKE_KEYS="{K} = nn.Linear(*self.sizes)(x)",
        MAKE_VALUES="{V} = nn.Linear(*self.sizes)(x)",
    ),
}

SCORES = {
    "no-scale": shared(
        "These are the values you get without a scale: divide the scores by √{WIDTH}.",
        SCALE="",
    ),
    "scale-without-root": shared(
        "These are the values you get when scores are divided by {WIDTH}: it should be its square root.",
        SCALE=" / {K}.shape[-1]",
    ),
    "scale-by-number-of-tokens": shared(
        "These are the values you get when scores are divided by √{N} (or the root of the most tokens there may be): it"
        " is the width of the key, {WIDTH}, that counts.",
        SCALE=" / x.shape[-2] ** 0.5",
    ),
    "scale-after-softmax": shared(
        "These are the values you get when the weights are divided by √{WIDTH}: scale the scores, before the softmax,"
        " else rows no longer sum to 1.",
        SCALE="",
        OUTPUT="{WEIGHTS} / {V}.shape[-1] ** 0.5 @ {V}",
    ),
    "key-not-transposed": shared(
        "The keys are not transposed in the product of queries and keys, which fits only when {N} = {WIDTH}.",
        TRANSPOSE="",
    ),
    "query-and-key-swapped": shared(
        "These are the values you get when queries and keys change places in the product: rows belong to queries, so"
        " the queries come first.",
        PRODUCT="{K} @ {Q}.transpose(-2, -1)",
    ),
    "softmax-over-queries": shared(
        "These are the values you get when the softmax runs over the queries, so that columns sum to 1 and not rows:"
        " check `dim`, it should be the last.",
        DIM="dim=-2",
    ),
    "softmax-over-batch": shared(
        "The softmax runs over the batch (`dim=0`): the keys compete, and they are the last dimension.",
        DIM="dim=0",
    ),
    "exp-without-max": shared(
        "The exponentials overflow for large scores and vanish for very negative ones: subtract each row's largest"
        " score before `exp`, or use torch's softmax.",
        SOFTMAX="{SCORES}.exp() / {SCORES}.exp().sum(-1, keepdim=True)",
    ),
}

CAUSAL_MASK = {
    "mask-missing": shared(
        "These are the values you get without a causal mask: every token sees the future.",
        TRIANGLE="{ONES}",
    ),
    "mask-after-softmax": shared(
        "These are the values you get when the mask is applied to the weights: rows no longer sum to 1, and the future"
        " still counts in the softmax. Fill the scores, before it.",
        HIDE="",
        SOFTMAX="{SOFTMAX} * {ALLOWED}",
    ),
    "renormalised-afterwards": shared(
        "The weights are masked after the softmax and divided by their sum, which is 0 where a hidden score is far"
        " above the others: fill the scores, before the softmax.",
        HIDE="",
        WEIGH="{WEIGHTS} = {SOFTMAX} * {ALLOWED}\n        {WEIGHTS} = {RENORMALISED}",
    ),
    "mask-fills-with-zero": shared(
        "These are the values you get when masked scores become 0 (filled with 0, or multiplied by the mask): e⁰ is 1,"
        " so what is hidden still takes part. Fill with -inf.",
        FILL="0.0",
    ),
    "mask-fills-with-small-number": shared(
        "Masked scores are filled with -10 or so, which other scores easily reach: fill with -inf.",
        FILL="-10.0",
    ),
    "mask-fills-with-ten-thousand": shared(
        "Masked scores are filled with -10,000, which real scores can reach: fill with -inf.",
        FILL="-1e4",
    ),
    "mask-fills-with-billion": shared(
        "Masked scores are filled with -1e9, and float16 has no such number: fill with -inf.",
        FILL="-1e9",
    ),
    "zero-times-infinity": shared(
        "The mask is multiplied by -inf and added to the scores, but 0 times infinity is NaN: use `masked_fill`.",
        HIDE='{SCORES} = {SCORES} + ~{ALLOWED} * float("-inf")',
    ),
    "diagonal-hidden": shared(
        "A token may not attend to itself, and the first one has nothing left: keep the diagonal.",
        TRIANGLE="torch.tril({ONES}, -1)",
    ),
    "one-step-ahead": shared(
        "Each token also sees the next one, the very one that it should guess: hide all that is above the diagonal.",
        TRIANGLE="torch.tril({ONES}, 1)",
    ),
    "upside-down": shared(
        "Each token sees itself and what comes after it, and the past is hidden: rows are queries, so the past is the"
        " lower triangle.",
        TRIANGLE="torch.triu({ONES})",
    ),
    "mask-inverted": shared(
        "The past is hidden, and the future is seen: `masked_fill` fills where its mask is True, so look again at what"
        " True means in yours.",
        TRIANGLE="torch.triu({ONES}, 1)",
    ),
    "mask-not-cut": shared(
        "The mask has always the size of the whole {BLOCK}, and a shorter sequence does not fit to it: cut its upper"
        " left corner.",
        CUT="{MASK}",
    ),
    "mask-cut-at-the-end": shared(
        "The mask is cut from its lower right corner, which has the wrong number of rows or columns for some lengths,"
        " or is cut in one dimension alone: take the first {N} rows and the first {N} columns.",
        CUT="{MASK}[-{N}:, :{N}]",
    ),
    "mask-not-moved": shared(
        "The mask stays on the CPU when the module moves: register it as a buffer, or make it on the input's device.",
        CUT="torch.tril(torch.ones({N}, {N}, dtype=torch.bool))",
    ),
    "mask-as-parameter": shared(
        "The mask is a parameter, and parameters are what is learnt: register it as a buffer.",
        BUFFER="{MASK} = nn.Parameter({TRIANGLE}, requires_grad=False)",
    ),
}

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
        OUTPUT="self.dropout({OUTPUT})",
    ),
    "dropout-on-values": shared(
        "Dropout acts on the values: it belongs on the weights.",
        DROP="{UNDROPPED}",
        OUTPUT="{WEIGHTS} @ self.dropout({V})",
    ),
    "dropout-not-scaled": shared(
        "The weights that are kept are not divided by 1 - p, so outputs are smaller in training than afterwards:"
        " `nn.Dropout` does that for you.",
        DROP="{UNDROPPED}",
        RETURN="if self.training:\n            {WEIGHTS} = {WEIGHTS} * (torch.rand_like({WEIGHTS}) >= self.dropout.p)\n"
        "        return {OUTPUT}",
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

RANK = "Nothing refuses an input that is not {SHAPE}: look at `x.dim()` and raise a `ValueError`."
CALLS = {
    "too-long-not-refused": shared(
        "A sequence longer than the {BLOCK} is left to torch, whose error says nothing about it: compare the lengths at"
        " the start and raise a `ValueError`.",
        TOO_LONG="",
    ),
    "message-without-numbers": shared(
        "The `ValueError` for a sequence that is too long does not hold both numbers: say how long it is, and what the"
        " most is.",
        MESSAGE='"the sequence is too long"',
    ),
    "too-long-cut": shared(
        "A sequence that is too long is silently cut: raise a `ValueError` with both numbers.",
        LENGTH="x = x[:, : {LONGEST}]\n        {LENGTH}",
    ),
    "full-length-refused": shared(
        "A sequence that is just as long as the {BLOCK} is refused: only a longer one is too long.",
        LONGER="{N} >= {LONGEST}",
    ),
    "rank-not-checked": shared(RANK, WRONG_RANK="", LENGTH="{N} = x.shape[-2]"),
    "squeezed": shared(
        "`squeeze` drops every dimension of size 1, also a batch of one or a sequence of one token.",
        OUTPUT="({OUTPUT}).squeeze()",
    ),
    "view-of-the-input": shared(
        "`view` needs a tensor that lies contiguous in memory, and a transposed one does not: use `reshape`, or"
        " neither.",
        MAKE_KEYS="{K} = self.{KEY}(x.view(-1, x.shape[-1])).view(*x.shape[:-1], -1)",
    ),
    "weights-detached": shared(
        "The weights are cut out of the graph (`detach`, `.data`, `no_grad`), so `{QUERY}` and `{KEY}` never learn.",
        SOFTMAX="{SOFTMAX}.detach()",
    ),
    "float32-comes-out": shared(
        "It returns float32 whatever goes in: leave the dtype as it is.",
        OUTPUT="{WEIGHTS}.float() @ {V}.float()",
    ),
    "scale-tensor-on-the-cpu": shared(
        "The scale is a tensor of its own, float32 and on the CPU: divide by a Python number, such as"
        " `{K}.shape[-1] ** 0.5`.",
        SCALE=" / torch.sqrt(torch.tensor([float({K}.shape[-1])]))",
    ),
    "input-changed-in-place": shared(
        "The input is changed in place, and whoever gave it still needs it: make a new tensor.",
        RETURN="with torch.no_grad():\n            x.mul_(2)\n        return {OUTPUT}",
    ),
}

# Without a mask, which has a size, there is no longest sequence.
UNMASKED = {
    "values-from-queries": shared(
        "These are the values you get when the values are made by `{QUERY}`: each role has a matrix of its own.",
        MAKE_VALUES="{V} = self.{QUERY}(x)",
    ),
    "scale-by-input-width": shared(
        "These are the values you get when scores are divided by √{INPUT}: it is the width of the key, {WIDTH}, that"
        " counts.",
        SCALE=" / x.shape[-1] ** 0.5",
    ),
    "scale-by-number-of-tokens": shared(
        "These are the values you get when scores are divided by √{N}: it is the width of the key, {WIDTH}, that"
        " counts.",
        SCALE=" / x.shape[-2] ** 0.5",
    ),
    "rank-not-checked": shared(RANK, WRONG_RANK=""),
}

SHARED = BIASES | PROJECTIONS | SCORES | CAUSAL_MASK | DROPOUT | CALLS | UNMASKED
