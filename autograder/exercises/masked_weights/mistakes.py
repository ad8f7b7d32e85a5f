"""What goes wrong in `masked_weights(query, key)`, as edits of an answer that makes its own mask (answers/)."""

from ...mistakes.bank import Bank
from ...mistakes.prices import ALL
from ..families import forms
from ..families.attention import mistakes as attention
from ..families.wordings import says

BANK = Bank(
    "masked_weights",
    answer="masked_fill",
    places={
        "CHECK": 'if query.ndim != 3 or key.ndim != 3:\n        raise ValueError("query and key must be (b, t, d)")',
        "LENGTH": "_, t, _ = query.shape",
        "PRODUCT": "query @ key.transpose(-2, -1)",
        "TRIANGLE": "torch.tril(torch.ones(t, t, device=query.device))",
        "MASK": "tril == 0",  # True where the key is hidden
        "FILL": 'float("-inf")',
        "HIDE": 'wei = wei.masked_fill(tril == 0, float("-inf"))',
        "SOFTMAX": "F.softmax(wei, dim=-1)",
        "END": "F.softmax(wei, dim=-1)",
    },
    words=attention.WORDS
    | {
        "Q": "query",
        "K": "key",
        "SCORES": "wei",
        "WIDTH": "d",
        "N": "t",
        "ONES": "torch.ones(t, t, device=query.device)",
        "ALLOWED": "(tril != 0)",
    },
    seen_on_a_gpu="scaled",
)
mistake = BANK.mistake

# --- scores and softmax ---------------------------------------------------------------------------

mistake(
    "scaled",
    "These are the values you get when scores are divided by √d: the table has no scale in it, and neither"
    " has this exercise.",
    PRODUCT="{PRODUCT} / key.shape[-1] ** 0.5",
)
mistake(
    "divided-by-width",
    "These are the values you get when scores are divided by d: here they are not divided at all.",
    PRODUCT="{PRODUCT} / key.shape[-1]",
)
mistake(
    "query-with-itself",
    "These are the values you get when the query is multiplied with itself: the key has no part in them.",
    PRODUCT="query @ query.transpose(-2, -1)",
)
BANK.share(
    attention.SHARED,
    "key-not-transposed",
    "query-and-key-swapped",
    "softmax-over-queries",
    "softmax-over-batch",
    "exp-without-max",
    "log-softmax",
)

# --- the mask -------------------------------------------------------------------------------------

BANK.share(
    attention.CAUSAL_MASK,
    "mask-missing",
    "mask-after-softmax",
    "renormalised-afterwards",
    "mask-fills-with-zero",
    "mask-fills-with-small-number",
    "mask-fills-with-ten-thousand",
    "mask-fills-with-billion",
    "zero-times-infinity",
    "diagonal-hidden",
    "one-step-ahead",
    "upside-down",
    "all-hidden",
    "mask-inverted",
    edits={
        "renormalised-afterwards": {
            "HIDE": "wei = {SOFTMAX}.masked_fill({MASK}, 0.0)",
            "SOFTMAX": "wei / wei.sum(dim=-1, keepdim=True)",
        },
        "mask-inverted": {"MASK": "tril == 1"},
    },
)
mistake(
    "always-eight",
    says("always-eight"),
    LENGTH="t = 8",
    TRIANGLE="torch.tril(torch.ones(t, t))",
    original="003",
)
mistake(
    "mask-on-the-cpu",
    says("mask-on-the-cpu", WHAT="the query"),
    TRIANGLE="torch.tril(torch.ones(t, t))",
    original="003",
)

# --- gradients, dtypes, arguments -----------------------------------------------------------------

BANK.share(
    attention.CARE,
    "weights-detached",
    "float32-comes-out",
    "through-float32",
    "squeezed",
    "view-of-the-input",
    edits={
        "float32-comes-out": {"PRODUCT": "query.float() @ key.float().transpose(-2, -1)"},
        "through-float32": {
            "PRODUCT": "query.float() @ key.float().transpose(-2, -1)",
            "SOFTMAX": "{SOFTMAX}.to(query.dtype)",
        },
        "view-of-the-input": {"CHECK": "{CHECK}\n    query = query.view(-1).view(query.shape)"},
    },
)
mistake(
    "rank-not-checked",
    says(
        "rank-not-checked", WHAT="a query or a key that is not three-dimensional", DIMS="`query.dim()` and `key.dim()`"
    ),
    CHECK="",
    LENGTH="t = query.shape[-2]",
)
mistake(
    "key-rank-not-checked",
    "Only the query's rank is looked at: a key that is not three-dimensional should raise a `ValueError` as well.",
    {" or key.ndim != 3": ""},
)
mistake(
    "query-changed-in-place",
    says("query-changed-in-place"),
    {"return": "with torch.no_grad():\n        query *= 2\n    return"},
)

# --- what students of other courses wrote ---------------------------------------------------------

BANK.share(
    attention.PRODUCT_BY_HAND,
    "reshaped-for-transposed",
    "all-dimensions-turned",
)
mistake(
    "transpose-of-a-matrix",
    "`.t()` takes a matrix, and refuses a batch: swap the last two dimensions with `transpose(-2, -1)`.",
    PRODUCT="query @ key.t()",
)
mistake(
    "scaled-by-number-of-tokens",
    "These are the values you get when scores are divided by √t: here they are not divided at all.",
    PRODUCT="{PRODUCT} / t ** 0.5",
)
mistake(
    "no-softmax",
    says("no-softmax", SCORED="scores"),
    SOFTMAX="wei",
)
BANK.share(
    attention.SOFTMAX_BY_HAND,
    "softmax-over-everything",
    "max-is-a-pair",
    "sum-subtracted",
    "not-divided",
    "epsilon-in-the-sum",
    "epsilon-of-a-millionth",
    "epsilon-of-a-billionth",
    "softmax-in-float32",
)
BANK.share(
    attention.SOFTMAX,
    "one-max-for-all-rows",
    "sigmoid-weights",
)
BANK.share(
    attention.MASK_BY_HAND,
    "mask-by-indexing",
    "mask-added-as-a-number",
    edits={"mask-added-as-a-number": {"HIDE": "wei = wei + tril"}},
)
mistake(
    "mask-added-in-float32",
    says("mask-added-in-float32"),
    HIDE='wei = wei + torch.zeros(t, t, device=wei.device).masked_fill({MASK}, float("-inf"))',
)
mistake(
    "size-from-the-width",
    "The mask has the size of d, the width of a query: it hides tokens from tokens, so t is its size.",
    LENGTH="_, _, t = query.shape",
)
mistake(
    "mask-of-eight-tokens",
    "Only the first eight tokens are masked, and later ones see the future: take the length"
    " from the shape of the query.",
    HIDE='wei[:, :8, :8] = wei[:, :8, :8].masked_fill(tril[:8, :8] == 0, float("-inf"))',
)
mistake(
    "returns-nothing",
    says("returns-nothing", WHAT="the weights"),
    {"return F.softmax": "wei = F.softmax"},
    price=ALL,
)
mistake(
    "float64-comes-out",
    says("float64-comes-out"),
    PRODUCT="query.double() @ key.double().transpose(-2, -1)",
)
mistake(
    "rank-asserted",
    says("rank-asserted", WHAT="A query or a key that is not three-dimensional"),
    CHECK="assert query.ndim == 3 and key.ndim == 3",
)
forms.add_to(BANK)
