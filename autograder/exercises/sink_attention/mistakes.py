"""What goes wrong in `sink_attention(query, key, value, sink, mask=None)`, as edits of the course's own answer."""

from ...mistakes.bank import Bank
from ...mistakes.prices import ALL
from ..families import forms, roles
from ..families.attention import mistakes as attention
from ..families.wordings import says

WEIGH = "weights = torch.cat([scores, column], dim=-1).softmax(dim=-1)[..., :-1]"

BANK = Bank(
    "sink_attention",
    places={
        "PRODUCT": "query @ key.transpose(-2, -1)",
        "SCALE": " / query.shape[-1] ** 0.5",
        "HIDE": "scores.masked_fill(~mask, -torch.inf)",
        "FILL": "-torch.inf",
        "SIGNATURE": "mask=None):",
        "HIDING": "scores = scores.masked_fill",
        "COLUMN": "sink[:, None, None].expand(*scores.shape[:-1], 1)",
        "WEIGH": WEIGH,
        "LOGITS": "torch.cat([scores, column], dim=-1)",
        "SOFTMAX": "{LOGITS}.softmax(dim=-1)",
        "DROP": "[..., :-1]",
        "RETURN": "return weights @ value, weights",
    },
    words=attention.WORDS
    | {
        "LOGITS": "torch.cat([scores, column], dim=-1)",
        "Q": "query",
        "K": "key",
        "V": "value",
        "SCORES": "torch.cat([scores, column], dim=-1)",
        "WEIGHTS": "weights",
        "WIDTH": "d, the key's width",
        "N": "s",
    },
)
mistake = BANK.mistake

# --- the sink's value, and its column -------------------------------------------------------------

mistake(
    "column-returned",
    "The weights still have the sink's column, so there is one more than there are keys: take it off, `[..., :-1]`.",
    DROP="",
    RETURN="return weights[..., :-1] @ value, weights",
)
mistake(
    "column-kept",
    "The sink's column stays among the weights, and there is no value for it: take it off before the values are mixed.",
    DROP="",
)
mistake(
    "wrong-column-dropped",
    "It is a key's weight that is taken off, and the sink's stays: where the sink comes first, drop the first column.",
    {"[scores, column]": "[column, scores]"},
)
mistake(
    "sink-has-a-value",
    "The sink's share goes to a value, the average of all: it should go nowhere.",
    DROP="",
    RETURN="value = torch.cat([value, value.sum(dim=-2, keepdim=True) / max(value.shape[-2], 1)], dim=-2)\n"
    "    return weights @ value, weights[..., :-1]",
)
BANK.variant(
    "sink-has-a-value",
    DROP="",
    RETURN="value = torch.cat([value, torch.ones_like(value.sum(dim=-2, keepdim=True))], dim=-2)\n"
    "    return weights @ value, weights[..., :-1]",
)
mistake(
    "share-to-the-first-key",
    "The sink's share is given to the first key: it should go nowhere.",
    DROP="",
    RETURN="weights = torch.cat([weights[..., :1] + weights[..., -1:], weights[..., 1:-1]], dim=-1)\n    {RETURN}",
)
mistake(
    "renormalised",
    "The weights are divided by their sum, so rows sum to 1 again and the sink has taken nothing: leave them as the"
    " softmax gives them.",
    WEIGH="{WEIGH}\n    weights = weights / weights.sum(dim=-1, keepdim=True).clamp(min=1e-30)",
)
mistake(
    "share-spread-evenly",
    "The sink's share is spread over all keys, so rows sum to 1 again: it should go nowhere.",
    WEIGH="{WEIGH}\n    weights = weights + (1 - weights.sum(dim=-1, keepdim=True)) / max(weights.shape[-1], 1)",
)

# --- which logit ----------------------------------------------------------------------------------

mistake(
    "sink-ignored",
    "These are the values you get without the sink: its logit takes part in the softmax, beside the scores.",
    price=ALL,
    LOGITS="scores",
    DROP="",
)
mistake(
    "sink-added-to-the-scores",
    "The sink is added to all scores, where it cancels out: it is one more logit beside them.",
    WEIGH="weights = (scores + sink[:, None, None]).softmax(dim=-1)",
)
mistake(
    "sink-added-to-the-first-key",
    "The sink is added to the score of the first key: it is one more logit beside the scores, and belongs to no key.",
    WEIGH="""extra = torch.zeros_like(scores)
    extra[..., 0] = 1.0
    weights = (scores + extra * sink[:, None, None]).softmax(dim=-1)""",
)
mistake(
    "one-sink-for-all-heads",
    "All heads have the same sink: `sink` holds one logit for each head, and dimension 1 counts the heads.",
    COLUMN="sink[:1, None, None].expand(*scores.shape[:-1], 1)",
)
BANK.variant("one-sink-for-all-heads", COLUMN="sink.mean().expand(*scores.shape[:-1], 1)")
mistake(
    "sink-along-the-batch",
    "The sink is put along the batch, dimension 0: it belongs to the heads, dimension 1, `sink[:, None, None]`.",
    COLUMN="sink[:, None, None, None].expand(*scores.shape[:-1], 1)",
)
mistake(
    "sink-along-the-queries",
    "The sink is put along the queries, dimension 2: it belongs to the heads, dimension 1, `sink[:, None, None]`.",
    COLUMN="sink[:, None].expand(*scores.shape[:-1], 1)",
)
mistake(
    "a-column-for-each-head",
    "All heads' sinks stand in every row, one column each: a row has the sink of its own head, and no other.",
    COLUMN="sink.expand(*scores.shape[:-1], -1)",
    DROP="[..., : scores.shape[-1]]",
)
mistake(
    "a-sink-for-each-key",
    "The sink takes part once for each key: it is one logit more, and no more than one.",
    COLUMN="sink[:, None, None].expand(*scores.shape)",
    DROP="[..., : scores.shape[-1]]",
)
mistake(
    "sinks-reversed",
    "The heads' sinks stand in reversed order: the first is that of head 0.",
    COLUMN="sink.flip(0)[:, None, None].expand(*scores.shape[:-1], 1)",
)
mistake(
    "sink-scaled",
    "The sink is divided by √d together with the scores: it is a logit already, and takes part as it is.",
    COLUMN="{COLUMN} / query.shape[-1] ** 0.5",
)
mistake(
    "sink-negated",
    "The sink has the wrong sign: the larger its logit, the more it takes.",
    COLUMN="-{COLUMN}",
)
mistake(
    "sink-is-always-zero",
    "The sink's logit is always 0, as if 1 were added to the sum of the exponentials: it is the argument `sink`.",
    COLUMN="(0 * sink[:, None, None]).expand(*scores.shape[:-1], 1)",
)
mistake(
    "sink-without-exp",
    "The sink itself is added to the sum of the exponentials: it is a logit, so its exponential is.",
    WEIGH="""top = torch.cat([scores, column], dim=-1).amax(dim=-1, keepdim=True)
    powers = (scores - top).exp()
    weights = powers / (powers.sum(dim=-1, keepdim=True) + column)""",
)
mistake(
    "sink-not-shifted",
    "The scores have their largest subtracted before `exp`, and the sink does not: subtract the same from both.",
    WEIGH="""top = torch.cat([scores, column], dim=-1).amax(dim=-1, keepdim=True)
    powers = (scores - top).exp()
    weights = powers / (powers.sum(dim=-1, keepdim=True) + column.exp())""",
)
for largest in ("scores.amax(dim=-1, keepdim=True)", "scores.amax(dim=-1, keepdim=True) if scores.shape[-1] else 0.0"):
    BANK.variant(
        "sink-not-shifted",
        WEIGH=f"""top = {largest}
    powers = (scores - top).exp()
    weights = powers / (powers.sum(dim=-1, keepdim=True) + column.exp())""",
    )
mistake(
    "largest-of-no-keys",
    says("largest-of-no-keys", THEN="the sink's logit is the largest"),
    WEIGH="""top = torch.maximum(scores.amax(dim=-1, keepdim=True), column)
    powers = (scores - top).exp()
    weights = powers / (powers.sum(dim=-1, keepdim=True) + (column - top).exp())""",
)
mistake(
    "nan-where-all-is-hidden",
    "Where all keys are hidden there is NaN, of -inf less -inf: the sink's logit counts for the largest of a row as"
    " well as for the sum, and then such a row gives 0.",
    WEIGH="""top = scores.amax(dim=-1, keepdim=True) if scores.shape[-1] else 0.0
    powers = (scores - top).exp()
    weights = powers / (powers.sum(dim=-1, keepdim=True) + (column - top).exp())""",
)
BANK.variant(
    "nan-where-all-is-hidden",
    WEIGH="""lse = scores.logsumexp(dim=-1, keepdim=True)
    weights = scores.softmax(dim=-1) * torch.sigmoid(lse - column)""",
)
mistake(
    "exp-of-everything",
    "The exponentials overflow for large logits and vanish for very negative ones: subtract the largest of a row before"
    " `exp`, the sink's among them, or use torch's softmax.",
    WEIGH="""powers = scores.exp()
    weights = powers / (powers.sum(dim=-1, keepdim=True) + column.exp())""",
)
BANK.variant(
    "exp-of-everything",
    HIDE="scores",
    WEIGH="""powers = scores.exp() if mask is None else scores.exp() * mask
    weights = powers / (powers.sum(dim=-1, keepdim=True) + column.exp())""",
)
mistake(
    "sink-after-the-softmax",
    "The sink comes after the softmax, where the keys have shared everything already: its logit competes with the"
    " scores, in one softmax.",
    WEIGH="weights = scores.softmax(dim=-1) / (1 + column.exp())\n"
    "    weights = weights.nan_to_num(0.0) if mask is None else weights.masked_fill(~mask, 0.0)",
)
mistake(
    "weights-times-the-sinks-share",
    "Plain weights are multiplied by σ(sink - lse), the share that the sink takes: what it leaves is σ(lse - sink).",
    WEIGH="""lse = scores.logsumexp(dim=-1, keepdim=True)
    weights = scores.softmax(dim=-1) * torch.sigmoid(column - lse)
    weights = weights if mask is None else weights.masked_fill(~mask, 0.0)""",
)
mistake(
    "sink-detached",
    "The sink is cut out of the graph (`detach`, `.data`, `.item()`), so it never learns.",
    COLUMN="sink.detach()[:, None, None].expand(*scores.shape[:-1], 1)",
)
mistake(
    "sink-in-float32",
    "The sink is turned into float32, and the weights with it, so that they do not fit to values of another dtype:"
    " leave the dtype as it is.",
    COLUMN="{COLUMN}.float()",
)
mistake(
    "column-on-the-cpu",
    "The sink's column is made on the CPU: make new tensors on the input's device, or `expand` the sink.",
    COLUMN="torch.ones(*scores.shape[:-1], 1, dtype=scores.dtype) * sink[:, None, None]",
)

# --- the mask -------------------------------------------------------------------------------------

mistake(
    "mask-hides-the-sink",
    "With a mask the sink is hidden as well: the mask is about keys, and the sink always takes part.",
    COLUMN="sink[:, None, None].expand(*scores.shape[:-1], 1) if mask is None else torch.full_like(scores[..., :1],"
    " -torch.inf) + 0 * sink[:, None, None]",
)
mistake(
    "mask-of-the-last-key-hides-the-sink",
    "Where the last key is hidden, the sink is hidden as well: a mask that is one column longer needs True there.",
    COLUMN="{COLUMN} if mask is None or not scores.shape[-1] else"
    " {COLUMN}.masked_fill(~mask.expand(scores.shape)[..., -1:], -torch.inf)",
)
mistake(
    "sink-hidden-where-all-is",
    "Where all keys are hidden the sink is hidden as well, and the softmax of nothing but -inf is NaN: the sink takes"
    " everything there, so that the weights are 0.",
    COLUMN="{COLUMN} if mask is None else"
    " {COLUMN}.masked_fill(~mask.expand(scores.shape).any(dim=-1, keepdim=True), -torch.inf)",
)
mistake(
    "uniform-where-all-is-hidden",
    "Where all keys are hidden they share alike, as if nothing were hidden there: the sink takes everything, so that"
    " the weights are 0.",
    HIDE="scores.masked_fill(~mask, -torch.inf)\n"
    "        scores = scores.masked_fill(~mask.any(dim=-1, keepdim=True), 0.0)",
)
BANK.share(
    attention.SHARED,
    "mask-after-softmax",
    "mask-fills-with-zero",
    "mask-fills-with-billion",
    "asks-what-the-mask-holds",
    edits={
        "mask-after-softmax": {
            "HIDE": "scores",
            "WEIGH": "{WEIGH}\n    weights = weights if mask is None else weights * mask",
        },
        "mask-fills-with-zero": {"FILL": "0.0"},
        "mask-fills-with-billion": {"FILL": "-1e9"},
        "asks-what-the-mask-holds": {"if mask is not None:": "if mask is not None and not mask.all():"},
    },
)
mistake(
    "mask-fills-with-ten-thousand",
    says("mask-fills-with-ten-thousand", SCORED="scores", AND_WHERE_EMPTY=""),
    FILL="-1e4",
)
mistake(
    "mask-inverted",
    "These are the values you get when the mask is read the other way round: True means may attend, so fill where it"
    " is False, at `~mask`.",
    HIDE="scores.masked_fill(mask, -torch.inf)",
)
BANK.share(
    attention.MASK_BY_HAND,
    "mask-by-indexing",
    edits={"mask-by-indexing": {"scores = {HIDE}": "scores[~mask] = -torch.inf"}},
)
BANK.share(attention.MASK_AS_AN_ARGUMENT)
mistake(
    "mask-ignored",
    "These are the values you get when the mask plays no part.",
    HIDE="scores",
)

# --- plain attention ------------------------------------------------------------------------------

BANK.share(
    attention.SHARED,
    "no-scale",
    "scale-without-root",
    "query-and-key-swapped",
    "keys-as-values",
    "weights-detached",
    "float32-comes-out",
    "through-float32",
    edits={
        "keys-as-values": {"RETURN": "return weights @ key, weights"},
        "weights-detached": {"DROP": "[..., :-1].detach()"},
        "float32-comes-out": {"RETURN": "return (weights @ value).float(), weights.float()"},
        "through-float32": {
            "    scores = query": "    dtype = query.dtype\n"
            "    query, key, value, sink = query.float(), key.float(), value.float(), sink.float()\n    scores = query",
            "RETURN": "return (weights @ value).to(dtype), weights.to(dtype)",
        },
    },
)
mistake(
    "softmax-over-queries",
    says("softmax-over-queries"),
    {".softmax(dim=-1)": ".softmax(dim=-2)"},
)
mistake("output-alone", says("output-alone", PAIR="output, weights"), RETURN="return weights @ value")
mistake(
    "pair-swapped",
    says("pair-swapped", PAIR="weights, output"),
    RETURN="return weights, weights @ value",
)
mistake(
    "query-changed-in-place",
    says("query-changed-in-place"),
    PRODUCT="(query if query.requires_grad else query.mul_(2) / 2) @ key.transpose(-2, -1)",
)
BANK.share(roles.of(BANK))
forms.add_to(BANK)
