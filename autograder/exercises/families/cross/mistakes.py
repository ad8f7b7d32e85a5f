"""What goes wrong in cross-attention with one head or many, as edits of answers that have `PLACES` in common.

An answer with one head has places of its own for `ALLOWED`, the mask with its new dimension, and `END`, what is
returned; those with many heads have `PLACES_OF_HEADS`. The word `ROWS` is the mask where it hides rows, the queries.
"""

from ....mistakes.bank import shared

PLACES = {
    "W_QUERY": "self.W_query = nn.Linear(d_query, d_out, bias=qkv_bias)",
    "W_KEY": "self.W_key = nn.Linear(d_context, d_out, bias=qkv_bias)",
    "W_VALUE": "self.W_value = nn.Linear(d_context, d_out, bias=qkv_bias)",
    "CHECK": """if x.dim() != 3 or context.dim() != 3:
            raise ValueError(f"x {tuple(x.shape)} and context {tuple(context.shape)} should have three dimensions")""",
    "RANKS": "x.dim() != 3 or context.dim() != 3",
    "CHECK_MASK": """if context_mask is not None and context_mask.dim() != 2:
            raise ValueError(f"a mask of (b, s) is wanted, not {tuple(context_mask.shape)}")""",
    "PROJECT": "queries, keys, values = self.W_query(x), self.W_key(context), self.W_value(context)",
    "QUERIES": "self.W_query(x)",
    "KEYS": "self.W_key(context)",
    "VALUES": "self.W_value(context)",
    "SCORES": "scores = queries @ keys.mT / keys.shape[-1] ** 0.5",
    "SCALE": " / keys.shape[-1] ** 0.5",
    "ALLOW": "allowed = context_mask",
    "HIDE": "scores = scores.masked_fill(~allowed, -torch.inf).masked_fill(empty, 0.0)",
    "WEIGH": "weights = torch.softmax(scores, dim=-1)",
    "SOFTMAX": "torch.softmax(scores, dim=-1)",
    "CLEAR_IF_MASKED": """if context_mask is not None:
            weights = weights.masked_fill(empty, 0.0)""",
    "CLEAR": "weights = weights.masked_fill(empty, 0.0)",
    "MIX": "weights @ values",
}
PLACES_OF_HEADS = {
    "DIVIDES": """if d_out % num_heads != 0:
            raise ValueError(f"num_heads={num_heads} does not divide d_out={d_out}")""",
    "MAKE_OUT": "self.out_proj = nn.Linear(d_out, d_out)",
    "OUT": "nn.Linear(d_out, d_out)",
    "CUT": "z.unflatten(-1, (self.num_heads, -1)).transpose(1, 2)",
    "ALLOWED": "context_mask[:, None, None, :]",
    "MERGE": "found.transpose(1, 2).flatten(2)",
    "END": "return self.out_proj(found.transpose(1, 2).flatten(2))",
}

# --- in any attention -----------------------------------------------------------------------------

ATTENTION = {
    # projections
    "keys-from-queries": shared(
        "These are the values you get when the keys are made by the layer for queries: each role has its own.",
        KEYS="self.W_query(context)",
    ),
    "values-from-queries": shared(
        "These are the values you get when the values are made by the layer for queries: each role has its own.",
        VALUES="self.W_query(context)",
    ),
    "keys-as-values": shared(
        "These are the values you get when the weights are applied to the keys: mix the values.",
        MIX="weights @ keys",
    ),
    "query-and-key-swapped": shared(
        "These are the values you get when queries and keys change places: rows of the scores belong to queries.",
        QUERIES="self.W_key(x)",
        KEYS="self.W_query(context)",
    ),
    "layers-made-in-forward": shared(
        "The module has no layers for queries, keys and values that can learn: they are made anew in every call, or are"
        " hidden in a plain list. Make them in `__init__`, each under its name.",
        W_QUERY="self.query_size = d_query, d_out",
        W_KEY="self.key_size = d_context, d_out",
        W_VALUE="self.value_size = d_context, d_out",
        QUERIES="nn.Linear(*self.query_size, bias=False)(x)",
        KEYS="nn.Linear(*self.key_size, bias=False)(context)",
        VALUES="nn.Linear(*self.value_size, bias=False)(context)",
    ),
    # scale and softmax
    "no-scale": shared(
        "These are the values you get without a scale: divide the scores by the root of a head's width.", SCALE=""
    ),
    "scale-without-root": shared(
        "These are the values you get when scores are divided by a head's width: it should be its square root.",
        SCALE=" / keys.shape[-1]",
    ),
    "scale-by-number-of-tokens": shared(
        "These are the values you get when scores are divided by the root of the number of tokens: it is a head's width"
        " that counts.",
        SCALE=" / x.shape[1] ** 0.5",
    ),
    "scale-after-softmax": shared(
        "These are the values you get when the weights are scaled and not the scores: scale before the softmax, else"
        " rows no longer sum to 1.",
        SCALE="",
        MIX="weights / keys.shape[-1] ** 0.5 @ values",
    ),
    "root-of-root-once": shared(
        "These are the values you get when the scores are divided by the fourth root of a head's width: with the fourth"
        " root, both queries and keys must be divided.",
        SCALE=" / keys.shape[-1] ** 0.25",
    ),
    "softmax-over-queries": shared(
        "These are the values you get when the softmax runs over the queries: check `dim`, the keys are the last.",
        SOFTMAX="torch.softmax(scores, dim=-2)",
    ),
    "exp-without-max": shared(
        "The exponentials overflow for large scores and vanish for very negative ones: subtract each row's largest"
        " score before `exp`, or use torch's softmax.",
        SOFTMAX="scores.exp() / scores.exp().sum(-1, keepdim=True)",
    ),
    # gradients, dtypes, devices, arguments
    "weights-detached": shared(
        "The weights are cut out of the graph (`detach`, `.data`, `no_grad`), so queries and keys never learn.",
        SOFTMAX="{SOFTMAX}.detach()",
    ),
    "values-detached": shared(
        "The values are cut out of the graph (`detach`, `.data`), so their layer never learns.",
        MIX="weights @ values.detach()",
    ),
    "float32-comes-out": shared("It returns float32 whatever goes in: leave the dtype as it is.", END="{END}.float()"),
    "scale-tensor-on-the-cpu": shared(
        "The scale is a tensor of its own, float32 and on the CPU: divide by a Python number, such as `width ** 0.5`.",
        SCALE=" / torch.sqrt(torch.tensor([float(keys.shape[-1])]))",
    ),
    "rank-not-checked": shared(
        "Nothing refuses an input of another rank: look at `x.dim()` and raise a `ValueError`.", CHECK=""
    ),
    "squeezed": shared(
        "`squeeze` drops every dimension of size 1, also a batch of one or a sequence of one token.",
        END="{END}.squeeze()",
    ),
    "view-of-the-input": shared(
        "`view` needs a tensor that lies contiguous in memory, and a transposed one does not: use `reshape`.",
        PROJECT="x = x.view(-1, x.shape[-1]).view(x.shape)\n        {PROJECT}",
    ),
    "input-changed": shared(
        "The input is changed in place (`x *= …`, `x.mul_(…)`): make a new tensor.",
        PROJECT="x = x if x.requires_grad else x.mul_(1.5) / 1.5\n        {PROJECT}",
    ),
}

# --- in many heads --------------------------------------------------------------------------------

HEADS = {
    "output-projection-without-bias": shared(
        "The output projection has no bias: here it should have one.",
        OUT="nn.Linear(d_out, d_out, bias=False)",
    ),
    # cutting and merging
    "reshaped-in-one-step": shared(
        "The heads are cut with one `view` or `reshape`, which mixes tokens with features: first (b, t, heads, width),"
        " then swap the two middle dimensions.",
        CUT="z.reshape(z.shape[0], self.num_heads, z.shape[1], -1)",
    ),
    "merged-without-transposing": shared(
        "The heads are merged without swapping tokens and heads back first, which mixes tokens with features.",
        MERGE="found.reshape(found.shape[0], found.shape[2], -1)",
    ),
    "reshaped-both-ways": shared(
        "Heads are cut and merged by `view` alone, so that a head works on a slab of tokens and not on a block of"
        " features: swap the two dimensions both times.",
        CUT="z.reshape(z.shape[0], self.num_heads, z.shape[1], -1)",
        MERGE="found.reshape(found.shape[0], found.shape[2], -1)",
    ),
    "fast-head-index": shared(
        "These are the values you get when the head is the last, fastest index, so that head i has every h-th feature:"
        " a head owns a contiguous block.",
        CUT="z.unflatten(-1, (-1, self.num_heads)).movedim(-1, 1)",
        MERGE="found.movedim(1, -1).flatten(2)",
    ),
    "fast-head-index-when-cut": shared(
        "These are the values you get when the head is the fastest index where features are cut, and the slow one where"
        " they are merged: a head owns a contiguous block both times.",
        CUT="z.unflatten(-1, (-1, self.num_heads)).movedim(-1, 1)",
    ),
    "features-interleaved": shared(
        "These are the values you get when the heads' features are interleaved in the end: place the heads side by"
        " side, head 0 first.",
        MERGE="found.movedim(1, -1).flatten(2)",
    ),
    "heads-reversed": shared(
        "These are the values you get when the heads come out in reversed order: head 0 comes first.",
        MERGE="found.flip(1).transpose(1, 2).flatten(2)",
    ),
    "heads-averaged": shared(
        "These are the values you get when what the heads find is averaged: place it side by side.",
        MERGE="found.mean(1).repeat(1, 1, self.num_heads)",
    ),
    "one-head": shared(
        "These are the values of one head that is as wide as all together: cut queries, keys and values into heads.",
        CUT="z.unsqueeze(1)",
    ),
    # scale and softmax
    "scale-by-all-heads": shared(
        "These are the values you get when scores are divided by the root of the width of all heads together: it is one"
        " head's width that counts.",
        SCALE=" / self.W_key.out_features ** 0.5",
    ),
    "scale-by-number-of-heads": shared(
        "These are the values you get when scores are divided by the root of the number of heads: it is a head's width"
        " that counts.",
        SCALE=" / self.num_heads ** 0.5",
    ),
    "softmax-over-heads": shared(
        "These are the values you get when the softmax runs over the heads: check `dim`, the keys are the last.",
        SOFTMAX="torch.softmax(scores, dim=1)",
    ),
}

# --- biases, the output projection and the number of heads ----------------------------------------

BIAS = {
    "never-bias": shared(
        "The layers have no bias even when `qkv_bias` is true: pass it on to all three.",
        W_QUERY="self.W_query = nn.Linear(d_query, d_out, bias=False)",
        W_KEY="self.W_key = nn.Linear(d_context, d_out, bias=False)",
        W_VALUE="self.W_value = nn.Linear(d_context, d_out, bias=False)",
    ),
    "always-bias": shared(
        "The layers for queries, keys and values have a bias also when `qkv_bias` is false.",
        W_QUERY="self.W_query = nn.Linear(d_query, d_out)",
        W_KEY="self.W_key = nn.Linear(d_context, d_out)",
        W_VALUE="self.W_value = nn.Linear(d_context, d_out)",
    ),
    "value-without-bias": shared(
        "With `qkv_bias=True` only queries and keys have a bias: `W_value` should have one as well.",
        W_VALUE="self.W_value = nn.Linear(d_context, d_out, bias=False)",
    ),
}

OUTPUT = {
    "no-output-projection": shared(
        "There is no output projection: what the heads find should go through a Linear layer `out_proj` with a bias.",
        MAKE_OUT="",
        END="return {MERGE}",
    ),
    "projection-never-used": shared(
        "`out_proj` is made and never used: apply it to what the heads have found.", END="return {MERGE}"
    ),
    "indivisible-floored": shared(
        "Heads that don't divide `d_out` are accepted: raise a `ValueError` with both numbers.", DIVIDES=""
    ),
    "assert-instead-of-an-error": shared(
        "Heads that don't divide `d_out` stop with an AssertionError: raise a `ValueError` with both numbers.",
        DIVIDES="assert d_out % num_heads == 0",
    ),
    "error-without-numbers": shared(
        "The `ValueError` for heads that don't divide `d_out` should name both numbers.",
        DIVIDES='if d_out % num_heads != 0:\n            raise ValueError("the heads do not divide the width")',
    ),
}

# --- a context and its mask -----------------------------------------------------------------------

CONTEXT = {
    "scale-by-input-width": shared(
        "These are the values you get when scores are divided by the root of the input's width: it is one head's width"
        " that counts.",
        SCALE=" / x.shape[-1] ** 0.5",
    ),
    # what is made of what
    "keys-from-x": shared(
        "These are the values you get when the keys are made of x, the side that asks: make them of the context.",
        KEYS="self.W_key(x)",
    ),
    "values-from-x": shared(
        "These are the values you get when the values are made of x, the side that asks: make them of the context.",
        VALUES="self.W_value(x)",
    ),
    "context-never-used": shared(
        "These are the values of self-attention: keys and values are made of x, and the context has no influence.",
        KEYS="self.W_key(x)",
        VALUES="self.W_value(x)",
    ),
    "only-the-context": shared(
        "These are the values of self-attention in the context: the queries should be made of x.",
        QUERIES="self.W_query(context)",
    ),
    "sides-swapped": shared(
        "The two sides have changed places: queries are made of x, keys and values of the context.",
        QUERIES="self.W_query(context)",
        KEYS="self.W_key(x)",
        VALUES="self.W_value(x)",
    ),
    "key-layer-as-wide-as-x": shared(
        "`W_key` starts from d_query: keys are made of the context, so it starts from d_context.",
        W_KEY="self.W_key = nn.Linear(d_query, d_out, bias=qkv_bias)",
    ),
    "value-layer-as-wide-as-x": shared(
        "`W_value` starts from d_query: values are made of the context, so it starts from d_context.",
        W_VALUE="self.W_value = nn.Linear(d_query, d_out, bias=qkv_bias)",
    ),
    "all-layers-as-wide-as-x": shared(
        "All three layers start from d_query: keys and values are made of the context, so theirs start from d_context.",
        W_KEY="self.W_key = nn.Linear(d_query, d_out, bias=qkv_bias)",
        W_VALUE="self.W_value = nn.Linear(d_query, d_out, bias=qkv_bias)",
    ),
    "layer-widths-swapped": shared(
        "The widths have changed places: `W_query` starts from d_query, `W_key` and `W_value` start from d_context.",
        W_QUERY="self.W_query = nn.Linear(d_context, d_out, bias=qkv_bias)",
        W_KEY="self.W_key = nn.Linear(d_query, d_out, bias=qkv_bias)",
        W_VALUE="self.W_value = nn.Linear(d_query, d_out, bias=qkv_bias)",
    ),
    "causal": shared(
        "There is a causal mask, which hides the end of the context from the first queries: two sequences have no"
        " common order, so take it out.",
        SCORES="""{SCORES}
        future = torch.ones_like(scores, dtype=torch.bool).triu(1)
        scores = scores.masked_fill(future, -torch.inf)""",
    ),
    "causal-if-equally-long": shared(
        "There is a causal mask when x and the context are equally long: take it out, their places have nothing to do"
        " with each other.",
        SCORES="""{SCORES}
        if x.shape[1] == context.shape[1]:
            future = torch.ones_like(scores, dtype=torch.bool).triu(1)
            scores = scores.masked_fill(future, -torch.inf)""",
    ),
    "scale-by-context-width": shared(
        "These are the values you get when scores are divided by the root of the context's width: it is the key's"
        " width that counts.",
        SCALE=" / context.shape[-1] ** 0.5",
    ),
    "scale-by-length-of-the-context": shared(
        "These are the values you get when scores are divided by the root of the number of tokens in the context: it is"
        " the key's width that counts.",
        SCALE=" / context.shape[1] ** 0.5",
    ),
    "context-detached": shared(
        "The context is cut out of the graph (`detach`, `.data`, `no_grad`), so what made it never learns from here.",
        PROJECT="context = context.detach()\n        {PROJECT}",
    ),
    "context-changed": shared(
        "The context is changed in place, and whoever gave it still needs it: make a new tensor.",
        PROJECT="context = context if context.requires_grad else context.mul_(1.5) / 1.5\n        {PROJECT}",
    ),
    "view-of-the-context": shared(
        "`view` needs a tensor that lies contiguous in memory, and a transposed context does not: use `reshape`.",
        PROJECT="context = context.view(-1, context.shape[-1]).view(context.shape)\n        {PROJECT}",
    ),
    "context-kept": shared(
        "The keys and values of the first call are kept and used again: another call may bring another context.",
        PROJECT="""if not hasattr(self, "context"):
            self.context = context
        context = self.context
        {PROJECT}""",
    ),
    "context-not-checked": shared(
        "Nothing refuses a context or a mask of another rank: look at `context.dim()` and raise a `ValueError`.",
        RANKS="x.dim() != 3",
        CHECK_MASK="",
    ),
    "rank-of-the-mask-not-checked": shared(
        "Nothing refuses a mask of another rank than (b, s): look at `context_mask.dim()` and raise a `ValueError`.",
        CHECK_MASK="",
    ),
    # a mask of the context
    "context-mask-ignored": shared(
        "These are the values you get when the mask plays no part: hide what is False in it, before the softmax.",
        HIDE="",
        CLEAR_IF_MASKED="",
    ),
    "context-mask-inverted": shared(
        'These are the values you get when True means "ignore": here True means that a token may be attended to.',
        ALLOWED="~{ALLOWED}",
    ),
    "context-mask-hides-queries": shared(
        "The mask hides rows, the queries, where it should hide columns, the keys: its new dimension belongs before the"
        " last, (b, 1, s).",
        ALLOWED="{ROWS}",
    ),
    "context-mask-hides-both": shared(
        "The mask hides rows, the queries, as well as columns: it belongs to the context, which makes the columns.",
        ALLOWED="{ALLOWED} & {ROWS}",
    ),
    "context-mask-without-dimension": shared(
        "The mask (b, s) meets scores (…, t, s) as it is, so that its items are taken for queries: put a dimension in,"
        " (b, 1, s).",
        ALLOWED="context_mask",
    ),
    "context-mask-of-the-first": shared(
        "The mask of the first item is used for all: each item of the batch has its own.",
        ALLOWED="{ALLOWED}[:1]",
    ),
    "context-mask-kept": shared(
        "The mask of the first call is kept and used again: each call brings its own.",
        ALLOW="""if not hasattr(self, "mask"):
                self.mask = context_mask
            allowed = self.mask""",
    ),
    "context-mask-changed": shared(
        "The mask is changed in place, and whoever gave it still needs it: work on a copy.",
        HIDE="""context_mask[:, 0] |= ~context_mask.any(-1)
            scores = scores.masked_fill(~allowed, -torch.inf)""",
    ),
    "context-mask-after-softmax": shared(
        "These are the values you get when the mask is applied after the softmax (or to the values): the share of what"
        " is hidden is lost, and rows no longer sum to 1. Apply it before.",
        HIDE="",
        CLEAR="weights = weights * allowed",
    ),
    "context-mask-after-softmax-shared-again": shared(
        "The mask is applied after the softmax, and what is left is divided by its sum: where that is 0, or rounded to"
        " 0, there is NaN. Apply it before the softmax.",
        HIDE="",
        CLEAR="weights = weights * allowed\n            weights = weights / weights.sum(-1, keepdim=True)",
    ),
    "context-mask-filled-with-zero": shared(
        "Hidden scores become 0 (or are multiplied by the mask), which is a score like any other: fill with minus"
        " infinity.",
        HIDE="scores = scores.masked_fill(~allowed, 0.0)",
    ),
    "context-mask-filled-with-a-finite-number": shared(
        "Hidden scores are filled with a number such as -1e4, which other scores can reach: fill with minus infinity.",
        HIDE="scores = scores.masked_fill(~allowed, -1e4)",
    ),
    "context-mask-filled-with-1e9": shared(
        "Hidden scores are filled with -1e9, which float16 does not have; and where all are hidden, it averages what is"
        " hidden: fill with minus infinity, and let nothing left give 0.",
        HIDE="scores = scores.masked_fill(~allowed, -1e9)",
        CLEAR_IF_MASKED="",
    ),
    "context-mask-added-on-the-cpu": shared(
        "The mask is turned into numbers to add, in a tensor that is float32 and on the CPU: use `masked_fill`, or give"
        " it the dtype and the device of the scores.",
        HIDE="""hidden = torch.zeros(allowed.shape).masked_fill(~allowed, -torch.inf)
            scores = (scores + hidden).masked_fill(empty, 0.0)""",
    ),
    "asks-what-the-mask-holds": shared(
        "An `if` asks what the mask holds, which a tensor on `meta` can't tell: let `masked_fill` or `where` decide"
        " entry by entry.",
        HIDE="if not allowed.all():\n                {HIDE}",
    ),
    "nothing-left-is-nan": shared(
        "Where the mask leaves nothing, all scores are -inf, of which softmax makes NaN: give that row harmless scores"
        " before the softmax, and weights of 0 after it.",
        HIDE="scores = scores.masked_fill(~allowed, -torch.inf)",
        CLEAR_IF_MASKED="",
    ),
    "nothing-left-is-averaged": shared(
        "Where the mask leaves nothing, the hidden tokens are averaged, since a finite fill gives all of them the same"
        " weight: set the weights of such a row to 0.",
        HIDE="scores = scores.masked_fill(~allowed, torch.finfo(scores.dtype).min)",
        CLEAR_IF_MASKED="",
    ),
    "nothing-left-sees-all": shared(
        "Where the mask leaves nothing, the mask is dropped and all hidden tokens are seen: set the weights of such a"
        " row to 0.",
        HIDE="scores = scores.masked_fill(~allowed & ~empty, -torch.inf)",
        CLEAR_IF_MASKED="",
    ),
    "nan-patched-in-weights": shared(
        "-inf is added to hidden scores and `nan_to_num` hides the NaN where nothing is left, but its gradient stays"
        " NaN: give such a row harmless scores before the softmax.",
        HIDE="scores = scores + torch.zeros_like(scores).masked_fill(~allowed, -torch.inf)",
        CLEAR="weights = torch.nan_to_num(weights)",
    ),
    "nan-patched-in-output": shared(
        "`nan_to_num` on the output hides the NaN where nothing is left, and gradients that go through the weights are"
        " NaN: give such a row harmless scores before the softmax.",
        HIDE="scores = scores.masked_fill(~allowed, -torch.inf)",
        CLEAR_IF_MASKED="",
        MIX="torch.nan_to_num(weights @ values)",
    ),
}
SHARED = ATTENTION | HEADS | BIAS | OUTPUT | CONTEXT
