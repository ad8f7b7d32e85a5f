"""What goes wrong in `masked_weights(query, key)`, as edits of an answer that makes its mask itself (answers/)."""

from ...mistakes.bank import Bank
from ..families.parameter_free import mistakes as family

BANK = Bank(
    "masked_weights",
    answer="masked_fill",
    places={
        "CHECK": 'if query.ndim != 3 or key.ndim != 3:\n        raise ValueError("query and key must be (b, t, d)")',
        "LENGTH": "_, t, _ = query.shape",
        "PRODUCT": "query @ key.transpose(-2, -1)",
        "TRIL": "torch.tril(torch.ones(t, t, device=query.device))",
        "MASK": "tril == 0",  # True where the key is hidden
        "FILL": 'float("-inf")',
        "HIDE": 'wei = wei.masked_fill(tril == 0, float("-inf"))',
        "SOFTMAX": "F.softmax(wei, dim=-1)",
        "RETURN": "return",
    },
    words={"QUERY": "query", "SCORES": "wei", "SEEN": "values", "FITS": "t = d"},
)
mistake = BANK.mistake

# --- scores and softmax ---------------------------------------------------------------------------

mistake(
    "scaled",
    "These are the values you get when scores are divided by √d: notebook 003's table has no scale in it, and neither"
    " has this exercise.",
    PRODUCT="{PRODUCT} / key.shape[-1] ** 0.5",
)
mistake(
    "divided-by-width",
    "These are the values you get when scores are divided by d: here they are not divided at all.",
    PRODUCT="{PRODUCT} / key.shape[-1]",
)
BANK.share(family.QUERY_AND_KEY, "key-not-transposed", "query-and-key-swapped")
mistake(
    "query-with-itself",
    "These are the values you get when the query is multiplied with itself: the key has no part in them.",
    PRODUCT="query @ query.transpose(-2, -1)",
)
BANK.share(family.QUERY_AND_KEY, "softmax-over-queries")
mistake(
    "softmax-over-batch",
    "The softmax runs over the batch (`dim=0`): the keys compete, and they are the last dimension.",
    SOFTMAX="F.softmax(wei, dim=0)",
)
BANK.share(family.QUERY_AND_KEY, "exp-without-max")
BANK.share(family.SOFTMAX, "log-softmax")

# --- the mask -------------------------------------------------------------------------------------

mistake("mask-missing", "These are the values you get without a mask: every token sees the future.", HIDE="")
mistake(
    "mask-after-softmax",
    "These are the values you get when the mask is applied to the weights: rows no longer sum to 1, and the future"
    " still counts in the softmax. Fill the scores, before it.",
    HIDE="",
    SOFTMAX="{SOFTMAX}.masked_fill({MASK}, 0.0)",
)
mistake(
    "renormalised-afterwards",
    "The weights are masked after the softmax and divided by their sum, which is 0 where a score of the future is far"
    " above the others: fill the scores, before the softmax.",
    HIDE="wei = {SOFTMAX}.masked_fill({MASK}, 0.0)",
    SOFTMAX="wei / wei.sum(dim=-1, keepdim=True)",
)
mistake(
    "mask-fills-with-zero",
    "These are the values you get when masked scores become 0 (filled with 0, or multiplied by the mask): e⁰ is 1, so"
    " the future still takes part. Fill with -inf.",
    FILL="0.0",
)
mistake(
    "mask-fills-with-small-number",
    "Masked scores are filled with -10 or so, which other scores easily reach: fill with -inf.",
    FILL="-10.0",
)
mistake(
    "mask-fills-with-ten-thousand",
    "Masked scores are filled with -10,000, which real scores can reach: fill with -inf.",
    FILL="-1e4",
)
mistake(
    "mask-fills-with-billion",
    "Masked scores are filled with -1e9, and float16 has no such number: fill with -inf.",
    FILL="-1e9",
)
mistake(
    "zero-times-infinity",
    "The mask is multiplied by -inf and added to the scores, but 0 times infinity is NaN: use `masked_fill`.",
    HIDE="wei = wei + ({MASK}) * {FILL}",
)
mistake(
    "diagonal-hidden",
    "A token may not attend to itself, and the first one has nothing left, which gives NaN: keep the diagonal.",
    TRIL="torch.tril(torch.ones(t, t, device=query.device), -1)",
)
mistake(
    "one-step-ahead",
    "Each token also sees the next one, the very one that it should guess: hide all that is above the diagonal.",
    TRIL="torch.tril(torch.ones(t, t, device=query.device), 1)",
)
mistake(
    "upside-down",
    "Each token sees itself and what comes after it, and the past is hidden: rows are queries, so the past is the lower"
    " triangle.",
    TRIL="torch.triu(torch.ones(t, t, device=query.device))",
)
mistake(
    "mask-inverted",
    "The scores are filled where attending is allowed: `masked_fill` fills where its mask is True, so turn it round"
    " with `~`.",
    MASK="tril == 1",
)
mistake(
    "always-eight",
    "The mask is 8 wide whatever t is, as in notebook 003, where the number stands in a global: take it from the shape"
    " of the query.",
    LENGTH="t = 8",
    TRIL="torch.tril(torch.ones(t, t))",
    original="003",
)
mistake(
    "mask-on-the-cpu",
    "The mask is made on the CPU: make it on the query's device, with `device=...`.",
    TRIL="torch.tril(torch.ones(t, t))",
    original="003",
)

# --- gradients, dtypes, arguments -----------------------------------------------------------------

BANK.share(family.QUERY_AND_KEY, "weights-detached")
mistake(
    "float32-comes-out",
    "It returns float32 whatever goes in: leave the inputs' dtype as it is.",
    PRODUCT="query.float() @ key.float().transpose(-2, -1)",
)
mistake(
    "through-float32",
    "It computes in float32 and turns the result back into the inputs' dtype, so the digits of float64 are lost.",
    PRODUCT="query.float() @ key.float().transpose(-2, -1)",
    SOFTMAX="{SOFTMAX}.to(query.dtype)",
)
mistake(
    "rank-not-checked",
    "Nothing refuses a query or a key that is not three-dimensional: raise a `ValueError`.",
    CHECK="",
    LENGTH="t = query.shape[-2]",
)
mistake(
    "key-rank-not-checked",
    "Only the query's rank is looked at: a key that is not three-dimensional should raise a `ValueError` as well.",
    {" or key.ndim != 3": ""},
)
mistake(
    "squeezed",
    "`squeeze` drops every dimension of size 1, also a batch of one or a sequence of one token.",
    SOFTMAX="{SOFTMAX}.squeeze()",
)
mistake(
    "view-of-the-input",
    "`view` needs a tensor that lies contiguous in memory, and a transposed one does not: use `reshape`, or neither.",
    LENGTH="b, t, d = query.shape\n    query = query.view(b, t * d).view(b, t, d)",
)
mistake(
    "query-changed-in-place",
    "The query is changed in place, and whoever gave it still needs it: make a new tensor.",
    RETURN="with torch.no_grad():\n        query *= 2\n    return",
)
