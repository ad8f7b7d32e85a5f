"""What goes wrong in `cached_attention(query, key, value)`, as edits of the course's own answer."""

from ...mistakes.bank import Bank
from ...mistakes.prices import ALL
from ...mistakes.signs import multiplies_infinity
from ..families import forms, roles
from ..families.wordings import says

BANK = Bank(
    "cached_attention",
    places={
        "SIZES": "t, s = query.shape[-2], key.shape[-2]",
        "TOO_MANY": "t > s",
        "ONES": "torch.ones(t, s, dtype=torch.bool, device=query.device)",
        "SHIFT": ".tril(s - t)",
        "MASK": "torch.ones(t, s, dtype=torch.bool, device=query.device).tril(s - t)",
        "RETURN": "return ",
        "OUTPUT": "F.scaled_dot_product_attention(query, key, value, attn_mask=past)",
    },
    seen_on_a_gpu="no-mask",
)
mistake, variant = BANK.mistake, BANK.variant

SCORES = "query @ key.transpose(-2, -1) / query.shape[-1] ** 0.5"
WEIGHTS = f"({SCORES}).masked_fill(~past, -torch.inf).softmax(dim=-1)"
OUTPUT = "return F.scaled_dot_product_attention(query, key, value, attn_mask=past)"

# --- who sees whom --------------------------------------------------------------------------------

BANK.released(
    "triangle-from-the-first-key",
    says("triangle-from-the-first-key"),
    original="pytorch/pytorch#103082",
)
mistake(
    "triangle-from-the-first-key-but-refused",
    "The triangle starts at the first key, so a single query sees key 0 alone: the queries stand at the last places, so"
    " shift it by s − t.",
    SHIFT=".tril()",
)
mistake(
    "no-mask",
    says("no-mask"),
    SHIFT="",
)
mistake(
    "one-step-ahead",
    "Each query also sees the place after its own: query i stands at place s − t + i, which is the last one it sees.",
    SHIFT=".tril(s - t + 1)",
)
mistake(
    "not-itself",
    "No query sees its own place: query i stands at place s − t + i, and sees it.",
    SHIFT=".tril(s - t - 1)",
)
mistake(
    "shifted-the-wrong-way",
    "The triangle is shifted by t − s, the wrong way: the queries are the last t of the s places, so it is s − t.",
    SHIFT=".tril(t - s)",
)
mistake(
    "shifted-by-the-queries",
    "The triangle is shifted by t, the number of queries: it is s − t, the number of places before the first query.",
    SHIFT=".tril(t)",
)
mistake(
    "upside-down",
    says("upside-down"),
    SHIFT=".triu(s - t)",
)
mistake(
    "inverted",
    says("inverted", WHAT="a place must be hidden", MEANS="may attend, as in torch's function"),
    SHIFT=".triu(s - t + 1)",
)
mistake(
    "one-query-only",
    "A single query sees all keys, but for several the triangle starts at the first key (as with `is_causal=t > 1`):"
    " shift it by s − t.",
    SHIFT=".tril(s if t == 1 else 0)",
)
mistake(
    "square-only",
    "With as many queries as keys it is causal, with fewer nothing is hidden (as with `is_causal=t == s`): shift the"
    " triangle by s − t.",
    SHIFT=".tril(0 if t == s else s)",
)
mistake(
    "new-places-alone",
    "Of the new places each query sees its own alone: the last t columns of the mask are a triangle, not a diagonal.",
    MASK="torch.cat([{ONES}[:, : s - t], torch.eye(t, dtype=torch.bool, device=query.device)], dim=1)",
)
mistake(
    "triangle-first",
    "The triangle and the block of what all see are in the wrong order: the places of the queries are the last t"
    " columns.",
    MASK="torch.cat([{ONES}[:, :t].tril(), {ONES}[:, t:]], dim=1)",
)
mistake(
    "keys-cut",
    "Only the last t keys are attended to, so nothing of what was there before is seen: queries see all before them.",
    OUTPUT="F.scaled_dot_product_attention(query, key[..., -t:, :], value[..., -t:, :], is_causal=True)",
)
mistake(
    "keys-flipped",
    "The order of the keys is turned round, so each query sees the newest places but not its own past.",
    OUTPUT="F.scaled_dot_product_attention(query, key, value, attn_mask=past.flip(-1))",
)

# --- the mask's form ------------------------------------------------------------------------------

mistake(
    "numbers-added",
    "The mask holds 1 and 0 as numbers, which torch adds to the scores, so nothing is hidden: make it boolean.",
    ONES="torch.ones(t, s, dtype=query.dtype, device=query.device)",
)
mistake(
    "mask-on-the-cpu",
    says("mask-on-the-cpu", WHAT="the query"),
    ONES="torch.ones(t, s, dtype=torch.bool)",
)
mistake(
    "filled-with-a-small-number",
    "Hidden scores are filled with a number that is not small enough: beside scores below it, hidden places get all the"
    " weight. Fill with minus infinity.",
    OUTPUT=f"({SCORES}).masked_fill(~past, -100.0).softmax(dim=-1) @ value",
)
mistake(
    "mask-fills-with-ten-thousand",
    says("mask-fills-with-ten-thousand", SCORED="scores", AND_WHERE_EMPTY=""),
    OUTPUT=f"({SCORES}).masked_fill(~past, -1e4).softmax(dim=-1) @ value",
)
variant(
    "mask-fills-with-ten-thousand",
    OUTPUT=f"({SCORES} + (~past).to(query.dtype) * -1e4).softmax(dim=-1) @ value",
)
mistake(
    "mask-after-softmax",
    says("mask-after-softmax", SCORED="scores"),
    OUTPUT=f"({SCORES}).softmax(dim=-1).masked_fill(~past, 0.0) @ value",
)
mistake(
    "zero-times-infinity",
    says("zero-times-infinity", SCORED="scores"),
    sign=multiplies_infinity,
    OUTPUT=f"({SCORES} + (~past).to(query.dtype) * -torch.inf).softmax(dim=-1) @ value",
)

# --- the rest of the formula ----------------------------------------------------------------------

mistake(
    "no-scale",
    says("no-scale", WIDTH="d"),
    OUTPUT="F.scaled_dot_product_attention(query, key, value, attn_mask=past, scale=1.0)",
)
mistake(
    "scaled-twice",
    "The scores are divided by √d twice, once by hand and once by torch's function.",
    OUTPUT="F.scaled_dot_product_attention(query / query.shape[-1] ** 0.5, key, value, attn_mask=past)",
)
mistake(
    "scaled-by-the-keys",
    "The scores are divided by the root of the number of keys: it is the width d that counts.",
    OUTPUT="F.scaled_dot_product_attention(query, key, value, attn_mask=past, scale=s**-0.5)",
)
mistake(
    "softmax-over-queries",
    says("softmax-over-queries"),
    OUTPUT=f"({SCORES}).masked_fill(~past, -torch.inf).softmax(dim=-2) @ value",
)
mistake(
    "keys-as-values",
    says("keys-as-values"),
    OUTPUT="F.scaled_dot_product_attention(query, key, key, attn_mask=past)",
)
mistake(
    "detached",
    "The keys and values are detached, so no gradient reaches them: here they are inputs like any other.",
    OUTPUT="F.scaled_dot_product_attention(query, key.detach(), value.detach(), attn_mask=past)",
)
mistake(
    "through-float32",
    says("through-float32"),
    OUTPUT="F.scaled_dot_product_attention(query.float(), key.float(), value.float(), attn_mask=past).to(query.dtype)",
)
mistake(
    "float32-comes-out",
    says("float32-comes-out"),
    OUTPUT="F.scaled_dot_product_attention(query.float(), key.float(), value.float(), attn_mask=past)",
)
mistake(
    "input-changed",
    says("input-changed", X="query"),
    OUTPUT="(query.mul_(query.shape[-1] ** -0.5) @ key.mT).masked_fill(~past, -torch.inf).softmax(dim=-1) @ value",
)

# --- what is returned, and refused ----------------------------------------------------------------

mistake(
    "weights-too",
    "A pair of output and weights is returned: return the output alone.",
    {OUTPUT: f"weights = {WEIGHTS}\n    return weights @ value, weights"},
)
mistake(
    "weights-only",
    "The weights are returned: mix the values with them, and return the output.",
    OUTPUT=WEIGHTS,
)
mistake(
    "last-query-only",
    "Only the last query's output is returned: each query has one.",
    OUTPUT="{OUTPUT}[..., -1:, :]",
)
mistake(
    "heads-merged",
    "The heads are put side by side: the output has the shape of the query, (b, h, t, d).",
    OUTPUT="{OUTPUT}.transpose(1, 2).flatten(2)",
)
mistake(
    "returns-nothing",
    says("returns-nothing", WHAT="the output"),
    price=ALL,
    RETURN="",
)
mistake(
    "more-queries-not-refused",
    "More queries than keys are taken, some of which would stand before the first place: raise a `ValueError`.",
    TOO_MANY="False",
)
mistake(
    "message-without-numbers",
    says("message-without-numbers", WHAT="more queries than keys", BOTH="how many of each there are"),
    {'f"{t} queries can\'t be the last of {s} places"': '"more queries than keys"'},
)
mistake(
    "as-many-refused",
    "As many queries as keys are refused: that is plain causal attention.",
    TOO_MANY="t >= s",
)
mistake(
    "asserted",
    says("asserted", WHAT="A call with more queries than keys"),
    {'if t > s:\n        raise ValueError(f"{t} queries can\'t be the last of {s} places")': "assert t <= s"},
)
BANK.share(roles.of(BANK))
forms.add_chunk(BANK)
variant(
    forms.CHUNK,
    MASK="torch.ones(t, t, dtype=torch.bool, device=query.device).tril()",
    OUTPUT=f"({SCORES}).masked_fill(~past, -torch.inf).softmax(dim=-1) @ value",
)
