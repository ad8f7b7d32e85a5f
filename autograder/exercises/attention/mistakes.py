"""What goes wrong in `attention(query, key, value, mask=None)`, as edits of the course's own answer."""

from ...mistakes.bank import Bank
from ..families.parameter_free import mistakes as family

CHECK = """for name, tensor in (("query", query), ("key", key), ("value", value)):
        if tensor.dim() < 2:
            raise ValueError(f"{name} needs at least 2 dimensions, got shape {tuple(tensor.shape)}")"""
FILL = """has_a_key = mask.any(dim=-1, keepdim=True)  # (..., t, s) -> (..., t, 1)
        scores = scores.masked_fill(~mask, float("-inf"))
        scores = scores.masked_fill(~has_a_key, 0.0)"""  # all that is done to scores with a mask
CLEAR = """if mask is not None:
        weights = weights.masked_fill(~has_a_key, 0.0)"""  # and to weights

BANK = Bank(
    "attention",
    places={
        "CHECK": CHECK,
        "SCALE": " / key.shape[-1] ** 0.5",
        "PRODUCT": "scaled_query @ key.transpose(-2, -1)",
        "FILL": FILL,
        "ANY": "mask.any(dim=-1, keepdim=True)",
        "HIDE": 'scores.masked_fill(~mask, float("-inf"))',
        "HARMLESS": "scores = scores.masked_fill(~has_a_key, 0.0)",
        "SOFTMAX": "F.softmax(scores, dim=-1)",
        "CLEAR": CLEAR,
        "KEPT": "weights.masked_fill(~has_a_key, 0.0)",
        "RETURN": "return weights @ value, weights",
    },
    words={
        "QUERY": "scaled_query",
        "SCORES": "scores",
        "SEEN": "scores",
        "FITS": "d = s",
        "RIVALS": "the keys",
    },
)
mistake = BANK.mistake

# --- scores and scale -----------------------------------------------------------------------------

mistake(
    "no-scale",
    "These are the values you get without a scale: divide the scores by √d before the softmax.",
    SCALE="",
)
mistake(
    "scale-without-root",
    "These are the values you get when scores are divided by d, the width of the key: it should be its square root.",
    SCALE=" / key.shape[-1]",
)
mistake(
    "scale-by-value-width",
    "These are the values you get when scores are divided by √dv: it is the width of the key that counts, not that of"
    " the value.",
    SCALE=" / value.shape[-1] ** 0.5",
)
mistake(
    "scale-by-number-of-keys",
    "These are the values you get when scores are divided by √s: it is the width of a key, `key.shape[-1]`, that"
    " counts, not the number of keys.",
    SCALE=" / max(key.shape[-2], 1) ** 0.5",
)
mistake(
    "scale-after-softmax",
    "These are the values you get when the weights are divided by √d: scale the scores, before the softmax, else rows"
    " no longer sum to 1.",
    SCALE="",
    SOFTMAX="{SOFTMAX}{SCALE}",
)
mistake(
    "scale-in-float32",
    "The scale is a float32 tensor, which has too few digits for float64: divide by a Python number, such as"
    " `d ** 0.5`.",
    SCALE=" / torch.sqrt(torch.tensor(float(key.shape[-1])))",
)
BANK.share(family.QUERY_AND_KEY, "key-not-transposed", "query-and-key-swapped")
mistake(
    "fixed-dimensions",
    "`transpose(1, 2)` counts dimensions from the front, so it is right for one leading dimension only: count from"
    " the end, `transpose(-2, -1)`.",
    PRODUCT="scaled_query @ key.transpose(1, 2)",
)
mistake(
    "only-three-dimensions",
    "`torch.bmm` takes three dimensions only: `@` and `torch.matmul` work with any number of leading dimensions.",
    PRODUCT="torch.bmm(scaled_query, key.transpose(-2, -1))",
)

# --- softmax and values ---------------------------------------------------------------------------

# Keys that no query may see have scores of -inf alone, of which a softmax over queries makes NaN: `mask` clears these.
mistake(
    "softmax-over-queries",
    family.QUERY_AND_KEY["softmax-over-queries"].says,
    SOFTMAX="F.softmax(scores, dim=-2)",
    HARMLESS="",
    KEPT="weights.masked_fill(~mask, 0.0)",
)
mistake(
    "softmax-over-dim-1",
    "These are the values you get from a softmax with `dim=1`, which for a batch are the queries: the keys are the last"
    " dimension, `dim=-1`, whatever comes before.",
    SOFTMAX="F.softmax(scores, dim=1)",
    HARMLESS="",
    KEPT="weights.masked_fill(~mask, 0.0)",
)
mistake(
    "softmax-over-dim-0",
    "These are the values you get from a softmax with `dim=0`, over the batch: the keys compete, and they are the last"
    " dimension.",
    SOFTMAX="F.softmax(scores, dim=0)",
)
BANK.share(family.QUERY_AND_KEY, "exp-without-max")
mistake(
    "one-max-for-all-rows",
    "The largest score of the whole tensor is subtracted before `exp`, so the exponentials of milder rows vanish:"
    " subtract each row's own largest score.",
    SOFTMAX="torch.exp(scores - (scores.detach().max() if scores.numel() else 0.0))\n"
    "    weights = weights / weights.sum(dim=-1, keepdim=True)",
)
mistake(
    "epsilon-in-the-sum",
    "A small number is added to the sum of the exponentials, so rows sum to a little less than 1: take care of the"
    " queries that see nothing by the mask, not by an epsilon.",
    SOFTMAX="torch.exp(scores - (scores.detach().amax(dim=-1, keepdim=True) if scores.numel() else 0.0))\n"
    "    weights = weights / (weights.sum(dim=-1, keepdim=True) + 1e-6)",
)
BANK.share(family.SOFTMAX, "sigmoid-weights", "log-softmax")
mistake(
    "empty-softmax",
    "The largest score of a row is asked for where there are no keys at all: with s = 0 there is none, and the output"
    " is 0.",
    SOFTMAX="F.softmax(scores - scores.amax(dim=-1, keepdim=True), dim=-1)",
)
mistake(  # the value plays no part at all, so its rank is not looked at either
    "keys-as-values",
    "These are the values you get when the weights are applied to the key: the output is a sum of values.",
    {', ("value", value)': "", "weights @ value": "weights @ key"},
)

# --- masks ----------------------------------------------------------------------------------------

mistake(
    "mask-inverted",
    "These are the values you get when the mask is read the other way round: True means may attend, so fill where it"
    " is False, at `~mask`.",
    ANY="(~mask).any(dim=-1, keepdim=True)",
    HIDE='scores.masked_fill(mask, float("-inf"))',
)
mistake(
    "mask-ignored",
    "These are the values you get when the mask plays no part.",
    FILL="pass",
    CLEAR="",
)
mistake(
    "mask-after-softmax",
    "These are the values you get when the mask is applied to the weights: what the masked keys had got is lost, and"
    " rows no longer sum to 1. Fill the scores, before the softmax.",
    FILL="pass",
    KEPT="weights * mask",
)
mistake(
    "mask-fills-with-zero",
    "These are the values you get when masked scores become 0 (filled with 0, or multiplied by the mask): e⁰ is 1, so"
    " those keys still take part. Fill with -inf.",
    HIDE="scores.masked_fill(~mask, 0.0)",
)
mistake(
    "mask-fills-with-small-number",
    "Masked scores are filled with -10 or so, which other scores easily reach: fill with -inf, and set to 0 the weights"
    " of queries that see nothing.",
    FILL="scores = scores.masked_fill(~mask, -10.0)",
    CLEAR="",
)
mistake(
    "mask-fills-with-ten-thousand",
    "Masked scores are filled with -10,000, which real scores can reach, and a query that sees nothing gets uniform"
    " weights: fill with -inf, and set to 0 the weights of queries that see nothing.",
    FILL="scores = scores.masked_fill(~mask, -1e4)",
    CLEAR="",
)
mistake(
    "mask-fills-with-billion",
    "Masked scores are filled with -1e9: float16 has no such number, and a query that sees nothing gets uniform"
    " weights. Fill with -inf, and set to 0 the weights of queries that see nothing.",
    FILL="scores = scores.masked_fill(~mask, -1e9)",
    CLEAR="",
)
mistake(
    "lowest-number-in-empty-rows",
    "Masked scores are filled with the lowest finite number, so a query that sees nothing spreads its weights over all"
    " keys: its weights should be 0.",
    FILL="scores = scores.masked_fill(~mask, torch.finfo(scores.dtype).min)",
    CLEAR="",
)
mistake(
    "nan-in-empty-rows",
    "A query that sees nothing has only scores of -inf, of which softmax makes NaN: give that row harmless scores"
    " before the softmax, and weights of 0 after it (see “The trap”).",
    FILL="scores = {HIDE}",
    CLEAR="",
)
mistake(  # after `masked_fill` the patch would do: no gradient goes back through what was filled, but through a sum
    "nan-patched-in-weights",
    "-inf is added to masked scores and `nan_to_num` hides the NaN of a query that sees nothing, but its gradient stays"
    " NaN: give that row harmless scores before the softmax (see “The trap”).",
    FILL='scores = scores + torch.zeros_like(scores).masked_fill(~mask, float("-inf"))',
    SOFTMAX="torch.nan_to_num({SOFTMAX})",
    CLEAR="",
)
mistake(
    "nan-patched-in-output",
    "`nan_to_num` on the output alone hides the NaN of a query that sees nothing: its weights are still NaN, and so are"
    " gradients. Give that row harmless scores before the softmax (see “The trap”).",
    FILL="scores = {HIDE}",
    CLEAR="",
    RETURN="return torch.nan_to_num(weights @ value), weights",
)
mistake(
    "zero-times-infinity",
    "The mask is multiplied by -inf and added to the scores, but 0 times infinity is NaN: use `masked_fill`.",
    HIDE='scores + (~mask) * float("-inf")',
)
mistake(
    "mask-as-padding",
    "Each mask gets a dimension put in before its last one, as if it were (b, s): broadcast it as it is, by torch's"
    " rules.",
    FILL="mask = mask.unsqueeze(-2)\n        {FILL}",
)
mistake(
    "mask-changed-in-place",
    "The mask is changed in place for queries that see nothing, and whoever gave it still needs it: work on a copy.",
    HARMLESS="",
    ANY="{ANY}\n        mask |= ~has_a_key",
)
mistake(
    "asks-what-the-mask-holds",
    "An `if` asks what the mask holds, which a tensor on `meta` can't tell: let `masked_fill` or `where` decide entry"
    " by entry.",
    CHECK="{CHECK}\n    if mask is not None and mask.all():\n        mask = None",
)
mistake(
    "mask-on-the-cpu",
    "When no mask is given one is made, on the CPU: make new tensors on the input's device, with `device=...`.",
    CHECK="{CHECK}\n    if mask is None:\n        mask = torch.ones(query.shape[-2], key.shape[-2], dtype=torch.bool)",
)

# --- gradients, dtypes, arguments -----------------------------------------------------------------

BANK.share(family.QUERY_AND_KEY, "weights-detached")
mistake(
    "inputs-detached",
    "The inputs are cut out of the graph (`torch.tensor(x)`, `.data`, `detach`), so none of them gets a gradient.",
    CHECK="query, key, value = query.detach(), key.detach(), value.detach()\n    {CHECK}",
)
mistake(
    "weights-returned-detached",
    "The weights that you return are cut out of the graph: return them as they are.",
    RETURN="{RETURN}.detach()",
)
mistake(
    "float32-comes-out",
    "It returns float32 whatever goes in: leave the inputs' dtype as it is.",
    CHECK="query, key, value = query.float(), key.float(), value.float()\n    {CHECK}",
)
mistake(
    "through-float32",
    "It computes in float32 and turns the result back into the inputs' dtype, so the digits of float64 are lost.",
    CHECK="dtype = query.dtype\n    query, key, value = query.float(), key.float(), value.float()\n    {CHECK}",
    RETURN="return (weights @ value).to(dtype), weights.to(dtype)",
)
mistake(
    "query-changed-in-place",
    "The query is scaled in place (`/=`), and whoever gave it still needs it: make a new tensor.",
    {"scaled_query = query /": "query /="},
    PRODUCT="query @ key.transpose(-2, -1)",
)
mistake(
    "rank-not-checked",
    "Nothing refuses a query, key or value with fewer than two dimensions: raise a `ValueError` for each of the three.",
    CHECK="",
)
mistake(
    "output-alone",
    "It returns the output alone: return the pair `(output, weights)`.",
    RETURN="return weights @ value",
)
mistake(
    "pair-swapped",
    "It returns the pair `(weights, output)`: the output comes first.",
    RETURN="return weights, weights @ value",
)
mistake(
    "always-causal",
    "These are the values you get when no query may look at later keys: nothing is hidden here but by the mask.",
    CHECK="{CHECK}\n"
    "    past = torch.ones(query.shape[-2], key.shape[-2], dtype=torch.bool, device=query.device).tril()\n"
    "    mask = past if mask is None else mask & past",
)
