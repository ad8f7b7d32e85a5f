"""What goes wrong in `capped_attention(query, key, value, cap, mask=None)`, as edits of the course's own answer."""

from ...mistakes.bank import Bank
from ...mistakes.prices import ALL
from ..families import forms, roles
from ..families.attention import mistakes as attention
from ..families.wordings import says

CAPPED = "scores = cap * torch.tanh(scores / cap)"
HIDDEN = """if mask is not None:
        scores = scores.masked_fill(~mask, -torch.inf)"""
CLEARED = """if mask is not None:
        weights = weights.masked_fill(~mask, 0.0)"""
ADDED = "scores + torch.zeros_like(scores).masked_fill(~mask, -torch.inf)"
BY_INDEX = {"scores = scores.masked_fill(~mask, -torch.inf)": "scores[~mask] = -torch.inf"}

BANK = Bank(
    "capped_attention",
    places={
        "PRODUCT": "query @ key.transpose(-2, -1)",
        "SCALE": " / query.shape[-1] ** 0.5",
        "CAPPED": CAPPED,
        "FACTOR": "cap * torch.tanh",
        "INSIDE": "(scores / cap)",
        "HIDDEN": HIDDEN,
        "HIDE": "scores.masked_fill(~mask, -torch.inf)",
        "FILL": "-torch.inf",
        "SIGNATURE": "mask=None):",
        "HIDING": "scores = scores.masked_fill",
        "SOFTMAX": "scores.softmax(dim=-1)",
        "CLEARED": CLEARED,
        "KEPT": "weights.masked_fill(~mask, 0.0)",
        "RETURN": "return weights @ value, weights",
    },
    words=attention.WORDS
    | {
        "Q": "query",
        "K": "key",
        "V": "value",
        "SCORES": "scores",
        "WEIGHTS": "weights",
        "WIDTH": "d, the key's width",
        "N": "s",
        "ALLOWED": "mask",
        "AND_WHERE_EMPTY": ", and set to 0 the weights of queries that see nothing",
    },
)
mistake = BANK.mistake

# --- the cap --------------------------------------------------------------------------------------

BANK.released(
    "as-given",
    "The scores are still multiplied by the tanh, which caps nothing and makes negative scores positive, and still"
    " after the mask: it is `cap` times the tanh, and the mask comes after that.",
    original="unslothai/unsloth-zoo#593",
)
mistake(
    "scores-times-tanh",
    "The scores are multiplied by the tanh, which caps nothing: beyond the cap it is ±1, so that large scores stay what"
    " they are and negative ones turn positive. Multiply by `cap`.",
    FACTOR="scores * torch.tanh",
)
mistake(
    "cap-after-mask",
    "The cap comes after the mask and turns the -inf of hidden keys into -cap, so that they get some weight: cap first,"
    " then hide.",
    CAPPED="",
    HIDDEN="{HIDDEN}\n    {CAPPED}",
    CLEARED="",
)
mistake(
    "cap-after-mask-and-cleared",
    "The cap comes after the mask and turns -inf into -cap. Weights of hidden keys are set to 0 afterwards, but they"
    " have had their share, and rows no longer sum to 1: cap first, then hide.",
    CAPPED="",
    HIDDEN="{HIDDEN}\n    {CAPPED}",
)
mistake(
    "tanh-times-scores-after-mask-cleared",
    "The scores are multiplied by the tanh, and after the mask, where -inf times -1 is +inf: it is `cap` times the"
    " tanh, and the mask comes after that.",
    CAPPED="",
    HIDDEN="{HIDDEN}\n    scores = scores * torch.tanh{INSIDE}",
)
mistake(
    "cap-before-scale",
    "The products are capped before they are divided by √d, so that the scores end at cap / √d: scale first, then cap.",
    SCALE="",
    CAPPED="{CAPPED}{SCALE}",
)
mistake(
    "no-cap",
    "These are the values you get without a cap: the scores should become cap · tanh(score / cap).",
    CAPPED="",
    price=ALL,
)
mistake(
    "clamped",
    "The scores are clamped, cut off at ±cap: the cap is soft, cap · tanh(score / cap), and bends all of them.",
    CAPPED="scores = scores.clamp(-cap, cap)",
)
mistake(
    "not-divided-by-cap",
    "The tanh is taken of the scores themselves, so that most end near ±cap: divide them by `cap` first.",
    INSIDE="(scores)",
)
mistake(
    "not-multiplied-by-cap",
    "The capped scores end at ±1: multiply the tanh by `cap` again.",
    FACTOR="torch.tanh",
)
mistake(
    "multiplied-inside",
    "Inside the tanh the scores are multiplied by `cap`: divide them by it.",
    INSIDE="(scores * cap)",
)
mistake(
    "tanh-forgotten",
    "Another function stands in the place of the tanh, such as a sigmoid, which is above 0 wherever scores are not: it"
    " is cap · tanh(score / cap).",
    {"cap * torch.tanh(scores / cap)": "cap * torch.sigmoid(scores / cap)"},
    price=ALL,
)
mistake(
    "arctan-for-tanh",
    "The scores are bent by another function than tanh: the cap is cap · tanh(score / cap).",
    {"cap * torch.tanh(scores / cap)": "cap * 2 / torch.pi * torch.atan(scores / cap * torch.pi / 2)"},
)
mistake(
    "softsign-for-tanh",
    "The scores are divided by 1 + |score| / cap, which stays below the cap and is no tanh: use `torch.tanh`.",
    {"cap * torch.tanh(scores / cap)": "cap * F.softsign(scores / cap)"},
)
mistake(
    "only-from-above",
    "Only positive scores are capped: negative ones are bounded by -cap in the same way.",
    CAPPED="scores = torch.where(scores > 0, cap * torch.tanh{INSIDE}, scores)",
)
mistake(
    "cap-on-the-weights",
    "The cap acts on the weights, after the softmax: it belongs on the scores, before it.",
    CAPPED="",
    SOFTMAX="cap * torch.tanh({SOFTMAX} / cap)",
)
mistake(
    "cap-on-the-output",
    "The cap acts on the output: it belongs on the scores, before the softmax.",
    CAPPED="",
    RETURN="return cap * torch.tanh(weights @ value / cap), weights",
)
mistake(
    "capped-twice",
    "The scores are capped twice: once is enough, between the scale and the mask.",
    CAPPED="{CAPPED}\n    {CAPPED}",
)
mistake(
    "cap-of-gemma",
    "The cap is always 50, that of Gemma 2: it is the argument `cap`.",
    CAPPED="scores = 50.0 * torch.tanh(scores / 50.0)",
)
mistake(
    "tanh-without-gradient",
    "The tanh is cut out of the graph, so that no gradient goes through it: compute it with the scores as they are.",
    {"torch.tanh(scores / cap)": "torch.tanh(scores / cap).detach() + 0 * scores"},
)
mistake(
    "capped-in-float32",
    "The cap is applied in float32 whatever comes in, so that float64 loses its digits: leave the dtype as it is.",
    CAPPED="scores = (cap * torch.tanh(scores.float() / cap)).to(scores.dtype)",
)

# --- scores, softmax, mask ------------------------------------------------------------------------

BANK.share(attention.SHARED, "no-scale", "scale-without-root", "query-and-key-swapped", "key-not-transposed")
BANK.share(
    attention.SHARED,
    "softmax-over-queries",
    "exp-without-max",
    "keys-as-values",
    "mask-after-softmax",
    "mask-fills-with-zero",
    "mask-fills-with-billion",
    "nan-in-empty-rows",
    "nan-patched-in-weights",
    "nan-patched-in-output",
    "asks-what-the-mask-holds",
    "weights-detached",
    "float32-comes-out",
    "through-float32",
    edits={
        "keys-as-values": {"RETURN": "return weights @ key, weights"},
        "mask-after-softmax": {"HIDE": "scores"},
        "mask-fills-with-zero": {"FILL": "0.0"},
        "mask-fills-with-billion": {"FILL": "-1e9", "CLEARED": ""},
        "nan-in-empty-rows": {"CLEARED": ""},
        "nan-patched-in-weights": {"HIDE": ADDED},
        "nan-patched-in-output": {
            "CLEARED": "",
            "RETURN": "return torch.nan_to_num(weights @ value), weights",
        },
        "asks-what-the-mask-holds": {"HIDDEN": "if mask is not None and not mask.all():\n        scores = {HIDE}"},
        "float32-comes-out": {"RETURN": "return (weights @ value).float(), weights.float()"},
        "through-float32": {
            "    scores = query": "    dtype = query.dtype\n"
            "    query, key, value = query.float(), key.float(), value.float()\n    scores = query",
            "RETURN": "return (weights @ value).to(dtype), weights.to(dtype)",
        },
    },
)
BANK.variant("nan-in-empty-rows", HIDE=ADDED, CLEARED="")
BANK.share(attention.MASK_BY_HAND, "mask-by-indexing", edits={"mask-by-indexing": BY_INDEX})
mistake(
    "largest-of-no-keys",
    says("largest-of-no-keys", THEN="the output is 0"),
    SOFTMAX="(scores - scores.amax(dim=-1, keepdim=True)).softmax(dim=-1)",
)
mistake(
    "mask-inverted",
    "These are the values you get when the mask is read the other way round: True means may attend, so fill where it"
    " is False, at `~mask`.",
    HIDE="scores.masked_fill(mask, -torch.inf)",
    KEPT="weights.masked_fill(mask, 0.0)",
)
BANK.variant("mask-inverted", HIDE="scores.masked_fill(mask, -torch.inf)")
BANK.share(attention.MASK_AS_AN_ARGUMENT)
mistake(
    "mask-ignored",
    "These are the values you get when the mask plays no part.",
    HIDDEN="",
    CLEARED="",
)
mistake(
    "lowest-number-in-empty-rows",
    says("lowest-number-in-empty-rows"),
    FILL="torch.finfo(scores.dtype).min",
    CLEARED="",
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
    "scores-returned",
    "The second thing that it returns are the scores: return the weights, which the softmax made of them.",
    RETURN="return weights @ value, scores",
)
mistake(
    "query-changed-in-place",
    says("query-changed-in-place"),
    PRODUCT="(query if query.requires_grad else query.mul_(2) / 2) @ key.transpose(-2, -1)",
)
mistake(
    "fixed-dimensions",
    says("fixed-dimensions", DIMS="2, 3", MANY="two leading dimensions"),
    PRODUCT="query @ key.transpose(2, 3)",
)
BANK.share(roles.of(BANK))
forms.add_to(BANK)
