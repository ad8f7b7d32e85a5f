"""What goes wrong in `attention(query, key, value, mask=None)`, as edits of the course's own answer."""

from ...mistakes.bank import Bank
from ...mistakes.prices import ALL
from ..families import forms, roles
from ..families.attention import mistakes as attention
from ..families.wordings import says

CHECK = """for name, tensor in (("query", query), ("key", key), ("value", value)):
        if tensor.dim() < 2:
            raise ValueError(f"{name} needs at least 2 dimensions, got shape {tuple(tensor.shape)}")"""
FILL = """has_a_key = mask.any(dim=-1, keepdim=True)  # (..., t, s) -> (..., t, 1)
        scores = scores.masked_fill(~mask, float("-inf"))
        scores = scores.masked_fill(~has_a_key, 0.0)"""  # everything done to scores when there is a mask
CLEAR = """if mask is not None:
        weights = weights.masked_fill(~has_a_key, 0.0)"""  # the same for weights

BANK = Bank(
    "attention",
    places={
        "CHECK": CHECK,
        "SIGNATURE": "mask=None):",
        "SCALE": " / key.shape[-1] ** 0.5",
        "PRODUCT": "scaled_query @ key.transpose(-2, -1)",
        "MASKED": f"if mask is not None:\n        {FILL}",
        "FILL": FILL,
        "ANY": "mask.any(dim=-1, keepdim=True)",
        "HIDE": 'scores.masked_fill(~mask, float("-inf"))',
        "HARMLESS": "scores = scores.masked_fill(~has_a_key, 0.0)",
        "SOFTMAX": "F.softmax(scores, dim=-1)",
        "CLEAR": CLEAR,
        "KEPT": "weights.masked_fill(~has_a_key, 0.0)",
        "RETURN": "return weights @ value, weights",
    },
    words=attention.WORDS
    | {
        "Q": "scaled_query",
        "K": "key",
        "SCORES": "scores",
        "WIDTH": "d, the key's width",
        "N": "s",
        "ALLOWED": "mask",
        "AND_WHERE_EMPTY": ", and set to 0 the weights of queries that see nothing",
    },
)
mistake = BANK.mistake

# --- scores and scale -----------------------------------------------------------------------------

BANK.share(
    attention.SHARED,
    "no-scale",
    "scale-without-root",
    "scale-after-softmax",
    "key-not-transposed",
    "query-and-key-swapped",
    edits={"scale-after-softmax": {"SCALE": "", "SOFTMAX": "{SOFTMAX}{SCALE}"}},
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
    "scale-in-float32",
    says("scale-in-float32", K="query"),
    SCALE=" / torch.sqrt(torch.tensor(float(key.shape[-1])))",
)
mistake(
    "fixed-dimensions",
    says("fixed-dimensions", DIMS="1, 2", MANY="one leading dimension"),
    PRODUCT="scaled_query @ key.transpose(1, 2)",
)
mistake(
    "only-three-dimensions",
    "`torch.bmm` takes three dimensions only: `@` and `torch.matmul` work with any number of leading dimensions.",
    PRODUCT="torch.bmm(scaled_query, key.transpose(-2, -1))",
)

# --- softmax and values ---------------------------------------------------------------------------

# Keys that no query may see have only scores of -inf, which a softmax over queries turns into NaN: `mask` clears these.
MASK_CLEARS = {"HARMLESS": "", "KEPT": "weights.masked_fill(~mask, 0.0)"}
BANK.share(
    attention.SHARED,
    "softmax-over-queries",
    "softmax-over-dim-1",
    "softmax-over-dim-0",
    "exp-without-max",
    "one-max-for-all-rows",
    "sigmoid-weights",
    "log-softmax",
    "keys-as-values",
    edits={
        "softmax-over-queries": MASK_CLEARS | {"SOFTMAX": "F.softmax(scores, dim=-2)"},
        "softmax-over-dim-1": MASK_CLEARS | {"SOFTMAX": "F.softmax(scores, dim=1)"},
        "one-max-for-all-rows": {
            "SOFTMAX": "torch.exp(scores - (scores.detach().max() if scores.numel() else 0.0))\n"
            "    weights = weights / weights.sum(dim=-1, keepdim=True)"
        },
        # the value is not used at all, so its rank is not looked at either
        "keys-as-values": {', ("value", value)': "", "weights @ value": "weights @ key"},
    },
)
BANK.variant("softmax-over-queries", SOFTMAX="F.softmax(scores, dim=-2)")
BANK.variant("softmax-over-dim-1", SOFTMAX="F.softmax(scores, dim=1)")
mistake(
    "epsilon-in-the-sum",
    "A small number is added to the sum of the exponentials, so rows sum to a little less than 1: take care of the"
    " queries that see nothing by the mask, not by an epsilon.",
    SOFTMAX="torch.exp(scores - (scores.detach().amax(dim=-1, keepdim=True) if scores.numel() else 0.0))\n"
    "    weights = weights / (weights.sum(dim=-1, keepdim=True) + 1e-6)",
)
mistake(
    "empty-softmax",
    "The largest score of a row is asked for where there are no keys at all: with s = 0 there is none, and the output"
    " is 0.",
    SOFTMAX="F.softmax(scores - scores.amax(dim=-1, keepdim=True), dim=-1)",
)
# --- masks ----------------------------------------------------------------------------------------

mistake(
    "mask-inverted",
    "These are the values you get when the mask is read the other way round: True means may attend, so fill where it"
    " is False, at `~mask`.",
    ANY="(~mask).any(dim=-1, keepdim=True)",
    HIDE='scores.masked_fill(mask, float("-inf"))',
)
BANK.variant("mask-inverted", HIDE='scores.masked_fill(mask, float("-inf"))')
mistake(
    "mask-ignored",
    "These are the values you get when the mask plays no part.",
    FILL="pass",
    CLEAR="",
)
BANK.share(
    attention.SHARED,
    "mask-after-softmax",
    "mask-fills-with-zero",
    "mask-fills-with-small-number",
    "mask-fills-with-ten-thousand",
    "mask-fills-with-billion",
    "lowest-number-in-empty-rows",
    "nan-in-empty-rows",
    "nan-patched-in-weights",
    "nan-patched-in-output",
    "zero-times-infinity",
    "asks-what-the-mask-holds",
    edits={
        "mask-after-softmax": {"FILL": "pass", "KEPT": "weights * mask"},
        "mask-fills-with-zero": {"HIDE": "scores.masked_fill(~mask, 0.0)"},
        "mask-fills-with-small-number": {"FILL": "scores = scores.masked_fill(~mask, -10.0)", "CLEAR": ""},
        "mask-fills-with-ten-thousand": {"FILL": "scores = scores.masked_fill(~mask, -1e4)", "CLEAR": ""},
        "mask-fills-with-billion": {"FILL": "scores = scores.masked_fill(~mask, -1e9)", "CLEAR": ""},
        "lowest-number-in-empty-rows": {
            "FILL": "scores = scores.masked_fill(~mask, torch.finfo(scores.dtype).min)",
            "CLEAR": "",
        },
        "nan-in-empty-rows": {"FILL": "scores = {HIDE}", "CLEAR": ""},
        # After `masked_fill` the patch would do, since filled entries pass no gradient back; after a sum they do.
        "nan-patched-in-weights": {
            "FILL": 'scores = scores + torch.zeros_like(scores).masked_fill(~mask, float("-inf"))',
            "SOFTMAX": "torch.nan_to_num({SOFTMAX})",
            "CLEAR": "",
        },
        "nan-patched-in-output": {
            "FILL": "scores = {HIDE}",
            "CLEAR": "",
            "RETURN": "return torch.nan_to_num(weights @ value), weights",
        },
        "zero-times-infinity": {"HIDE": 'scores + (~mask) * float("-inf")'},
        "asks-what-the-mask-holds": {"CHECK": "{CHECK}\n    if mask is not None and mask.all():\n        mask = None"},
    },
)
BANK.variant(  # the sum passes NaN back to all scores of the row
    "nan-in-empty-rows",
    FILL='scores = scores + torch.zeros_like(scores).masked_fill(~mask, float("-inf"))',
    CLEAR="",
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
    "mask-on-the-cpu",
    "When no mask is given one is made, on the CPU: make new tensors on the input's device, with `device=...`.",
    CHECK="{CHECK}\n    if mask is None:\n        mask = torch.ones(query.shape[-2], key.shape[-2], dtype=torch.bool)",
)

# --- gradients, dtypes, arguments -----------------------------------------------------------------

BANK.share(
    attention.SHARED,
    "weights-detached",
    "float32-comes-out",
    "through-float32",
    edits={
        "float32-comes-out": {"CHECK": "query, key, value = query.float(), key.float(), value.float()\n    {CHECK}"},
        "through-float32": {
            "CHECK": "dtype = query.dtype\n"
            "    query, key, value = query.float(), key.float(), value.float()\n    {CHECK}",
            "RETURN": "return (weights @ value).to(dtype), weights.to(dtype)",
        },
    },
)
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
    "query-changed-in-place",
    says("query-changed-in-place"),
    {"scaled_query = query /": "query /="},
    PRODUCT="query @ key.transpose(-2, -1)",
)
mistake(
    "rank-not-checked",
    says(
        "rank-not-checked",
        WHAT="a query, key or value with fewer than two dimensions",
        DIMS="`dim()` of each of the three",
    ),
    CHECK="",
)
mistake(
    "output-alone",
    says("output-alone", PAIR="output, weights"),
    RETURN="return weights @ value",
)
mistake(
    "pair-swapped",
    says("pair-swapped", PAIR="weights, output"),
    RETURN="return weights, weights @ value",
)
mistake(
    "always-causal",
    says("always-causal", WHEN="here nothing is hidden but by the mask"),
    CHECK="{CHECK}\n"
    "    past = torch.ones(query.shape[-2], key.shape[-2], dtype=torch.bool, device=query.device).tril()\n"
    "    mask = past if mask is None else mask & past",
)

# --- what students of other courses wrote ---------------------------------------------------------

BANK.share(
    attention.PRODUCT_BY_HAND,
    "root-of-an-int",
    "scale-multiplied",
    "reshaped-for-transposed",
    "all-dimensions-turned",
)
mistake(
    "scale-by-number-of-queries",
    "These are the values you get when scores are divided by √t: it is the width of a key, `key.shape[-1]`, that"
    " counts, not the number of queries.",
    SCALE=" / query.shape[-2] ** 0.5",
)
mistake(
    "transpose-of-a-matrix",
    "`.t()` takes a matrix, and refuses a batch: swap the last two dimensions with `transpose(-2, -1)`.",
    PRODUCT="scaled_query @ key.t()",
)
mistake(
    "einsum-with-a-fixed-batch",
    "The letters of this einsum stand for exactly one leading dimension: write `...` in its place, which stands for"
    " any number of them.",
    PRODUCT='torch.einsum("btd,bsd->bts", scaled_query, key)',
)
mistake(
    "sizes-unpacked",
    "The shape is unpacked into three sizes, so there has to be exactly one leading dimension: take the sizes that you"
    " need by their place from the end, as `key.shape[-1]`.",
    CHECK="{CHECK}\n    b, t, d = query.shape",
)
BANK.share(
    attention.SOFTMAX_BY_HAND,
    "no-softmax",
    "softmax-over-everything",
    "max-is-a-pair",
    "sum-subtracted",
    "not-divided",
    "softmax-in-float32",
    "softmax-left-in-float32",
    "softmax-left-in-float64",
    edits={
        "softmax-over-everything": {
            "SOFTMAX": "torch.exp(scores - (scores.max() if scores.numel() else 0.0))\n"
            "    weights = weights / weights.sum()"
        },
    },
)
mistake(
    "softmax-without-dim",
    says("softmax-without-dim"),
    SOFTMAX="F.softmax(scores)",
)
BANK.variant("softmax-without-dim", **MASK_CLEARS, SOFTMAX="F.softmax(scores)")
BANK.share(attention.SHIFTED)
for words, epsilon in {
    "a-hundred-thousandth": "1e-5",
    "a-ten-millionth": "1e-7",
    "1e-8": "1e-8",
    "a-billionth": "1e-9",
}.items():
    mistake(
        f"epsilon-of-{words}",
        BANK["epsilon-in-the-sum"].says,
        SOFTMAX="torch.exp(scores - (scores.detach().amax(dim=-1, keepdim=True) if scores.numel() else 0.0))\n"
        f"    weights = weights / (weights.sum(dim=-1, keepdim=True) + {epsilon})",
    )


NONE = says("none-inverted", MASK="mask")
for id, hide in {
    "none-inverted": 'scores = scores.masked_fill(~mask, float("-inf"))',
    "none-compared": 'scores = scores.masked_fill(mask == 0, float("-inf"))',
    "none-as-a-condition": 'scores = torch.where(mask, scores, float("-inf"))',
    "none-asked-for-any": "",
    "none-turned-to-bool": "mask = mask.bool()",
}.items():
    fill = FILL.replace("\n        ", "\n    ")
    mistake(id, NONE, MASKED=f"{hide}\n    {fill}" if hide else fill, CLEAR="weights = {KEPT}")

BANK.share(
    attention.MASK_BY_HAND,
    "mask-added-as-a-number",
    edits={"mask-added-as-a-number": {"HIDE": "scores + mask"}},
)
mistake(
    "mask-added-in-float32",
    says("mask-added-in-float32"),
    HIDE="scores + ~mask * -1e9",
)
mistake(
    "mask-asked-whether-true",
    "`if mask:` asks a whole tensor for one truth, which it does not have: ask `if mask is not None:`.",
    CHECK="{CHECK}\n    if mask:\n        mask = mask.bool()",
)
mistake(
    "mask-by-indexing",
    says("mask-by-indexing"),
    {"scores = {HIDE}": 'scores[~mask] = float("-inf")'},
)
mistake(
    "mask-by-indexing-the-last-two",
    "`scores[..., ~mask]` fits a mask of shape (t, s) alone: use `masked_fill` or `torch.where`, which broadcast a mask"
    " of any shape.",
    {"scores = {HIDE}": 'scores[..., ~mask] = float("-inf")'},
)
mistake(
    "mask-on-the-query-axis",
    "The mask's last two dimensions are swapped, as if its rows were keys: they are queries already.",
    FILL="mask = mask.transpose(-2, -1)\n        {FILL}",
)
BANK.share(
    attention.MASK_AS_AN_ARGUMENT,
    edits={
        "masks-along-the-queries": {"FILL": "mask = mask[:, None] if mask.dim() == 1 else mask\n        {FILL}"},
    },
)
BANK.share(
    attention.CAUSAL_MASK,
    "renormalised-afterwards",
    edits={
        "renormalised-afterwards": {
            "FILL": "pass",
            "KEPT": "weights * mask\n        weights = torch.nan_to_num(weights / weights.sum(dim=-1, keepdim=True))",
        }
    },
)
# Here queries that see nothing get weights of 0 all the same.
mistake(
    "billion-and-cleared",
    "Masked scores are filled with -1e9, and float16 has no such number: fill with -inf.",
    HIDE="scores.masked_fill(~mask, -1e9)",
)
mistake(
    "ten-thousand-and-cleared",
    "Masked scores are filled with -10,000 or so, or get it added, and real scores can reach that: fill with -inf.",
    HIDE="scores.masked_fill(~mask, -1e4)",
)
mistake(
    "float64-comes-out",
    says("float64-comes-out"),
    CHECK="query, key, value = query.double(), key.double(), value.double()\n    {CHECK}",
)
mistake(
    "squeezed",
    says("squeezed", SUCH="a batch of one, one query or one key"),
    RETURN="return (weights @ value).squeeze(), weights.squeeze()",
)
mistake(
    "only-queries-of-rank-two",
    "Only the query's rank is looked at: a key or a value with fewer than two dimensions should raise a `ValueError`"
    " as well.",
    {', ("key", key), ("value", value)': ","},
)
mistake(
    "rank-asserted",
    says("rank-asserted", WHAT="A query, key or value with fewer than two dimensions"),
    CHECK="assert query.dim() >= 2 and key.dim() >= 2 and value.dim() >= 2",
)
mistake(
    "only-three-dimensions-accepted",
    "Whatever has not exactly three dimensions is refused: two or more will do, as for heads or for a sequence alone.",
    {"tensor.dim() < 2": "tensor.dim() != 3"},
)
mistake(
    "scores-returned",
    "The second thing that it returns are the scores: return the weights, which the softmax made of them.",
    RETURN="return weights @ value, scores",
)
mistake(
    "returns-nothing",
    says("returns-nothing", WHAT="the pair `(output, weights)`"),
    price=ALL,
    RETURN="weights @ value, weights",
)
BANK.share(roles.of(BANK))
forms.add_to(BANK)
