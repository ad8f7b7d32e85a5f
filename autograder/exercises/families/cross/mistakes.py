"""Mistakes in cross-attention with one head or many, in addition to those in attention of any kind.

Each answer adds its own place `ALLOWED`, the mask with its new dimensions. The word `ROWS` is the mask when it hides
rows, which are the queries.
"""

from ....mistakes.bank import shared
from ....mistakes.prices import ALL
from ....mistakes.signs import multiplies_infinity
from ..attention import mistakes as attention
from ..wordings import says

PLACES = (
    attention.LAYERS
    | attention.CALLS
    | {
        "CHECK": """if x.dim() != 3 or context.dim() != 3:
            raise ValueError(f"x {tuple(x.shape)} and context {tuple(context.shape)} should have three dimensions")""",
        "RANKS": "x.dim() != 3 or context.dim() != 3",
        "CHECK_MASK": """if context_mask is not None and context_mask.dim() != 2:
            raise ValueError(f"a mask of (b, s) is wanted, not {tuple(context_mask.shape)}")""",
        "PROJECT": "queries, keys, values = self.W_query(x), self.W_key(context), self.W_value(context)",
        "SCALED": "scores = queries @ keys.mT / keys.shape[-1] ** 0.5",
        "PRODUCT": "queries @ keys.mT",
        "SCALE": " / keys.shape[-1] ** 0.5",
        "ALLOW": "allowed = context_mask",
        "HIDE": "scores = scores.masked_fill(~allowed, -torch.inf).masked_fill(empty, 0.0)",
        "WEIGH": "weights = torch.softmax(scores, dim=-1)",
        "SOFTMAX": "torch.softmax(scores, dim=-1)",
        "CLEAR_IF_MASKED": """if context_mask is not None:
            weights = weights.masked_fill(empty, 0.0)""",
        "CLEAR": "weights = weights.masked_fill(empty, 0.0)",
        "IF_MASKED": "if context_mask is not None:\n            allowed",
        "MIX": "weights @ values",
    }
)
WORDS = (
    attention.WORDS
    | attention.NAMES_004
    | {
        "SOURCE": "context",
        "Q": "queries",
        "K": "keys",
        "V": "values",
        "SIZES": "d_query, d_out",
        "CONTEXT_SIZES": "d_context, d_out",
        "INPUT": "d_query",
        "SHAPE": "(b, t, d_query)",
    }
)
PLACES_OF_HEADS = (
    PLACES
    | attention.OUT_LAYER
    | {
        "DIVIDES": """if d_out % num_heads != 0:
            raise ValueError(f"num_heads={num_heads} does not divide d_out={d_out}")""",
        "CUT": "z.unflatten(-1, (self.num_heads, -1)).transpose(1, 2)",
        "NUMBER": "z.unflatten(-1, (self.num_heads, -1)).transpose(1, 2)",
        "ALLOWED": "context_mask[:, None, None, :]",
        "MERGE": "found.transpose(1, 2).flatten(2)",
        "END": "self.out_proj(found.transpose(1, 2).flatten(2))",
    }
)
WORDS_OF_HEADS = WORDS | {
    "PROJECTION": "out_proj",
    "OUT_SIZES": "d_out, d_out",
    "WIDTH": "a head's width",
    "ALL": "`d_out`",
    "REST": "d_out % num_heads",
    "HEADS": "self.num_heads",
    "ONE": "z.unsqueeze(1)",
    "FOUND": "found",
    "MERGED": "found.transpose(1, 2).flatten(2)",
    "MERGED_SHAPE": "found.shape[0], found.shape[2], -1",
    "RESHAPED": "z.reshape(z.shape[0], self.num_heads, z.shape[1], -1)",
    "FASTEST": "z.unflatten(-1, (-1, self.num_heads)).movedim(-1, 1)",
    "ROWS": "context_mask[:, None, :, None]",
}

# --- a context and its mask -----------------------------------------------------------------------

CONTEXT = {
    "scale-by-input-width": attention.SHARED["scale-by-input-width"],
    "query-and-key-swapped": shared(  # by their layers
        attention.SHARED["query-and-key-swapped"].says, QUERIES="self.{KEY}({X})", KEYS="self.{QUERY}({SOURCE})"
    ),
    # which side queries, keys and values come from
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
        price=ALL,
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
        W_KEY="self.W_key = nn.Linear({SIZES}, bias={BIAS})",
    ),
    "value-layer-as-wide-as-x": shared(
        "`W_value` starts from d_query: values are made of the context, so it starts from d_context.",
        W_VALUE="self.W_value = nn.Linear({SIZES}, bias={BIAS})",
    ),
    "all-layers-as-wide-as-x": shared(
        "All three layers start from d_query: keys and values are made of the context, so theirs start from d_context.",
        W_KEY="self.W_key = nn.Linear({SIZES}, bias={BIAS})",
        W_VALUE="self.W_value = nn.Linear({SIZES}, bias={BIAS})",
    ),
    "layer-widths-swapped": shared(
        "The widths have changed places: `W_query` starts from d_query, `W_key` and `W_value` start from d_context.",
        W_QUERY="self.W_query = nn.Linear({CONTEXT_SIZES}, bias={BIAS})",
        W_KEY="self.W_key = nn.Linear({SIZES}, bias={BIAS})",
        W_VALUE="self.W_value = nn.Linear({SIZES}, bias={BIAS})",
    ),
    "causal": shared(
        "There is a causal mask, which hides the end of the context from the first queries: two sequences have no"
        " common order, so take it out.",
        SCALED="""{SCALED}
        future = torch.ones_like(scores, dtype=torch.bool).triu(1)
        scores = scores.masked_fill(future, -torch.inf)""",
    ),
    "causal-if-equally-long": shared(
        "There is a causal mask when x and the context are equally long: take it out, their places have nothing to do"
        " with each other.",
        SCALED="""{SCALED}
        if x.shape[1] == context.shape[1]:
            future = torch.ones_like(scores, dtype=torch.bool).triu(1)
            scores = scores.masked_fill(future, -torch.inf)""",
    ),
    "scale-by-context-width": shared(
        "These are the values you get when scores are divided by the root of d_context, the context's width: it is"
        " {WIDTH} that counts.",
        SCALE=" / context.shape[-1] ** 0.5",
    ),
    "scale-by-length-of-the-context": shared(
        "These are the values you get when scores are divided by the root of the number of tokens in the context: it is"
        " {WIDTH} that counts.",
        SCALE=" / context.shape[1] ** 0.5",
    ),
    "context-detached": shared(
        says("context-detached"),
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
        attention.SHARED["mask-after-softmax"].says,
        HIDE="",
        CLEAR="weights = weights * allowed",
    ),
    "context-mask-after-softmax-shared-again": shared(
        attention.WEIGHTS_SHARED_AGAIN,
        HIDE="",
        CLEAR="weights = weights * allowed\n            weights = weights / weights.sum(-1, keepdim=True)",
    ),
    "context-mask-filled-with-zero": shared(
        attention.SHARED["mask-fills-with-zero"].says,
        HIDE="scores = scores.masked_fill(~allowed, 0.0)",
    ),
    "context-mask-filled-with-a-finite-number": shared(
        attention.SHARED["mask-fills-with-ten-thousand"].says,
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
        attention.SHARED["asks-what-the-mask-holds"].says,
        HIDE="if not allowed.all():\n                {HIDE}",
    ),
    "nothing-left-is-nan": shared(
        attention.SHARED["nothing-left-is-nan"].says,
        HIDE="scores = scores.masked_fill(~allowed, -torch.inf)",
        CLEAR_IF_MASKED="",
    ),
    "nothing-left-is-averaged": shared(
        attention.SHARED["nothing-left-is-averaged"].says,
        HIDE="scores = scores.masked_fill(~allowed, torch.finfo(scores.dtype).min)",
        CLEAR_IF_MASKED="",
    ),
    "nothing-left-sees-all": shared(
        says("nothing-left-sees-all"),
        HIDE="scores = scores.masked_fill(~allowed & ~empty, -torch.inf)",
        CLEAR_IF_MASKED="",
    ),
    "nan-patched-in-weights": shared(
        attention.SHARED["nan-patched-in-weights"].says,
        HIDE="scores = scores + torch.zeros_like(scores).masked_fill(~allowed, -torch.inf)",
        CLEAR="weights = torch.nan_to_num(weights)",
    ),
    "nan-patched-in-output": shared(
        attention.SHARED["nan-patched-in-output"].says,
        HIDE="scores = scores.masked_fill(~allowed, -torch.inf)",
        CLEAR_IF_MASKED="",
        MIX="torch.nan_to_num(weights @ values)",
    ),
}
# --- as it is written by beginners ----------------------------------------------------------------

NONE_USED = (
    "Without a mask `context_mask` is None, which is used here as if it were a tensor: look whether it is None before"
    " anything is done with it."
)
NAN_BY_ADDING = {  # another way to `nothing-left-is-nan`: the sum passes NaN back to all scores of the row
    "HIDE": "scores = scores + torch.zeros_like(scores).masked_fill(~allowed, -torch.inf)",
    "CLEAR_IF_MASKED": "",
}
FILLED_INVERTED = "scores = scores.masked_fill(allowed, -torch.inf).masked_fill(empty, 0.0)"
WRITTEN = {
    # a mask that is None
    "mask-none-indexed": shared(
        says("mask-none-indexed", MASK="context_mask"), IF_MASKED="if True:\n            allowed"
    ),
    "mask-none-inverted": shared(
        says("mask-none-inverted", MASK="context_mask"),
        IF_MASKED="if True:\n            hidden = ~context_mask\n            allowed",
    ),
    "mask-none-unsqueezed": shared(
        says("mask-none-unsqueezed", MASK="context_mask"),
        IF_MASKED="if True:\n            context_mask = context_mask.unsqueeze(1)[:, 0]\n            allowed",
    ),
    "mask-none-has-no-rank": shared(
        NONE_USED,
        CHECK_MASK="""if context_mask.dim() != 2:
            raise ValueError(f"a mask of (b, s) is wanted, not {tuple(context_mask.shape)}")""",
    ),
    "mask-none-filled": shared(
        says("mask-none-filled", MASK="context_mask"),
        IF_MASKED="""if context_mask is None:
            scores = scores.masked_fill(context_mask == 0, -torch.inf)
        else:
            allowed""",
    ),
    "mask-none-chosen-by": shared(
        NONE_USED,
        IF_MASKED="""if context_mask is None:
            scores = torch.where(context_mask, scores, -torch.inf)
        else:
            allowed""",
    ),
    "mask-as-a-condition": shared(
        says("mask-as-a-condition", MASK="context_mask"),
        IF_MASKED="if context_mask:\n            allowed",
    ),
    # a mask as an index, or as a number
    "mask-as-an-index": shared(
        "`scores[~mask] = …` takes the mask for the first dimensions of the scores, whatever these are: an index does"
        " not broadcast. Give the mask its new dimension and use `masked_fill`.",
        HIDE="scores[~context_mask] = -torch.inf",
        CLEAR_IF_MASKED="",
    ),
    "mask-as-the-last-index": shared(
        "`scores[..., ~mask] = …` takes the mask for the last two dimensions of the scores, queries and keys: an index"
        " does not broadcast. Give the mask its new dimension and use `masked_fill`.",
        HIDE="scores[..., ~context_mask] = -torch.inf",
        CLEAR_IF_MASKED="",
    ),
    "mask-not-broadcast": shared(
        "The mask with its new dimension is used as an index, `scores[~mask] = …`, which does not broadcast: use"
        " `masked_fill`, which does.",
        HIDE="scores[~allowed] = -torch.inf",
        CLEAR_IF_MASKED="",
    ),
    "mask-added": shared(
        "The mask is added to the scores as a number, so what may be seen gains 1 and nothing is hidden: fill what is"
        " hidden with minus infinity.",
        HIDE="scores = scores + allowed",
    ),
    "mask-added-as-a-large-number": shared(
        "-1e9 is added where the mask hides, in float32 and not in the scores' own dtype; and where all is hidden, it"
        " averages what is hidden: use `masked_fill` with minus infinity, and let nothing left give 0.",
        HIDE="scores = scores + (1 - allowed.float()) * -1e9",
        CLEAR_IF_MASKED="",
    ),
    "zero-times-infinity": shared(
        attention.SHARED["zero-times-infinity"].says,
        sign=multiplies_infinity,
        HIDE="scores = scores + (1 - allowed.float()) * -torch.inf",
        CLEAR_IF_MASKED="",
    ),
    "context-mask-after-softmax-with-an-epsilon": shared(
        "The mask is applied after the softmax, and what is left is divided by its sum and a small number: where hidden"
        " scores are far above the others, nothing is left. Apply it before the softmax.",
        HIDE="",
        CLEAR="weights = weights * allowed\n            weights = weights / (weights.sum(-1, keepdim=True) + 1e-9)",
    ),
    # a softmax, or none
    "no-softmax": shared(
        says("no-softmax", SCORED="scores"),
        WEIGH="weights = scores",
    ),
    "softmax-over-batch": shared(
        says("softmax-over-batch"),
        SOFTMAX="torch.softmax(scores, dim=0)",
    ),
    "one-max-for-all-rows": attention.SHARED["one-max-for-all-rows"],
    "one-sum-for-all-rows": shared(
        "The exponentials are divided by the sum of all of them, over all queries and items: each row has a sum of its"
        " own, `sum(-1, keepdim=True)`.",
        WEIGH="powers = (scores - scores.max()).exp()\n        weights = powers / powers.sum()",
    ),
    "max-used-as-a-tensor": shared(
        attention.MAX_AS_A_TENSOR,
        WEIGH="""powers = (scores - scores.max(-1, keepdim=True)).exp()
        weights = powers / powers.sum(-1, keepdim=True)""",
    ),
    "sum-subtracted": shared(
        says("sum-subtracted"),
        WEIGH="powers = scores.exp()\n        weights = powers - powers.sum(-1, keepdim=True)",
    ),
    "epsilon-in-the-sum": shared(
        says("epsilon-in-the-sum"),
        WEIGH="""powers = (scores - scores.amax(-1, keepdim=True)).exp()
        weights = powers / (powers.sum(-1, keepdim=True) + 1e-6)""",
    ),
    "small-epsilon-in-the-sum": shared(
        says("epsilon-in-the-sum"),
        WEIGH="""powers = (scores - scores.amax(-1, keepdim=True)).exp()
        weights = powers / (powers.sum(-1, keepdim=True) + 1e-8)""",
    ),
    "softmax-in-float32": shared(
        says("softmax-in-float32"),
        SOFTMAX="torch.softmax(scores.float(), dim=-1).to(values.dtype)",
    ),
    "softmax-left-in-float32": shared(
        says("softmax-left-in-float32"),
        SOFTMAX="torch.softmax(scores, dim=-1, dtype=torch.float32)",
    ),
    "softmax-left-in-float64": shared(
        says("softmax-left-in-float64"),
        SOFTMAX="torch.softmax(scores.double(), dim=-1)",
    ),
    # scores
    "all-dimensions-turned": shared(
        says("all-dimensions-turned"),
        PRODUCT="queries @ keys.T",
    ),
    "keys-reshaped": shared(
        "The keys are brought to the shape of their transpose by `view` or `reshape`, which mixes tokens with features:"
        " swap the last two dimensions.",
        PRODUCT="queries @ keys.reshape(*keys.shape[:-2], keys.shape[-1], keys.shape[-2])",
    ),
    "root-of-a-tensor": shared(
        "The scale is a tensor, `torch.sqrt(torch.tensor(…))`, and has the digits of float32 alone: divide by a Python"
        " number, such as `keys.shape[-1] ** 0.5`.",
        SCALE=" / torch.sqrt(torch.tensor(keys.shape[-1]))",
    ),
    "values-before-weights": shared(
        "The values stand before the weights in their product: rows of the weights belong to queries, so the weights"
        " come first.",
        MIX="values @ weights",
    ),
    "rank-refused-by-assert": shared(
        "An assertion refuses what has a wrong rank: raise a `ValueError`, which whoever calls can tell from others.",
        CHECK="assert x.dim() == 3 and context.dim() == 3",
        CHECK_MASK="assert context_mask is None or context_mask.dim() == 2",
    ),
    # what lasts from call to call
    "weights-kept": shared(
        "The weights of the first call are kept (copied, joined or transposed) and used again, but they change while a"
        " module learns: read them again in each call.",
        KEYS="""F.linear(
            context, self.__dict__.setdefault("kept", self.W_key.weight.clone()), self.W_key.bias
        )""",
    ),
    "mask-of-the-call-before": shared(
        "Where a call has no mask, that of the call before it is used: each call has its own, or none.",
        PROJECT="""context_mask = self.__dict__.get("mask") if context_mask is None else context_mask
        self.__dict__["mask"] = context_mask
        {PROJECT}""",
    ),
}
OF_HEADS = attention.IN_ANY_HEAD | attention.HEADS | attention.BIASES | attention.OUTPUT | attention.NUMBER_OF_HEADS
OF_HEADS |= CONTEXT | WRITTEN
RETURNED = {
    "nothing-returned": shared(
        says("nothing-returned", WHAT="the output"),
        price=ALL,
        RETURN="{END}",
    ),
    "normalised": shared(
        says("normalised"),
        RETURN="return F.layer_norm({END}, ({END}).shape[-1:])",
    ),
    "layer-sizes-swapped": shared(
        "The arguments of the layers have changed places: `nn.Linear` takes the width that comes in first, then the one"
        " that comes out.",
        W_QUERY="self.W_query = nn.Linear(d_out, d_query, bias={BIAS})",
        W_KEY="self.W_key = nn.Linear(d_out, d_context, bias={BIAS})",
        W_VALUE="self.W_value = nn.Linear(d_out, d_context, bias={BIAS})",
    ),
}
