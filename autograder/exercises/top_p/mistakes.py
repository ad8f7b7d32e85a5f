"""What goes wrong in `top_p(logits, p)`, as edits of the course's own answer."""

from ...mistakes.bank import Bank
from ...mistakes.prices import ALL
from ..families import forms
from ..families.wordings import says

BANK = Bank(
    "top_p",
    places={
        "REFUSE": """if not 0 < p <= 1:
        raise ValueError(f"p is a probability above 0 and at most 1, and not {p}")
    """,
        "SORT": "logits.sort(dim=-1, descending=True)",
        "CHANCES": "ordered.softmax(dim=-1)",
        "LIKELIER": "probabilities.cumsum(dim=-1) - probabilities",
        "GOES": "likelier >= p",
        "CUT": "ordered.masked_fill(likelier >= p, -torch.inf)",
        "BACK": "torch.empty_like(logits).scatter(-1, order, ordered)",
    },
    seen_on_a_gpu="order-not-undone",
)
mistake = BANK.mistake

# --- what comes back ------------------------------------------------------------------------------

mistake(
    "order-not-undone",
    "The row comes back sorted, so the logits belong to other tokens: put each back where it stood.",
    BACK="ordered",
)
mistake(
    "scattered-the-wrong-way",
    "The order is applied once more, where it should be undone: `scatter` by it, or `gather` by its own `argsort`.",
    BACK="ordered.gather(-1, order)",
)
mistake(
    "zeros-for-minus-infinity",
    "Tokens that go get the logit 0, whose probability is not 0: it is minus infinity that is never drawn.",
    CUT="ordered.masked_fill(likelier >= p, 0.0)",
)
mistake(
    "large-negative-number",
    "Tokens that go get a large negative number: minus infinity is what is never drawn, whatever the logits are.",
    CUT="ordered.masked_fill(likelier >= p, -1e4)",
)
mistake(
    "probabilities-returned",
    "Probabilities come back: return the logits, with minus infinity for those that go.",
    BACK="torch.empty_like(logits).scatter(-1, order, ordered.softmax(dim=-1)).masked_fill_("
    "~torch.empty_like(logits).scatter(-1, order, ordered).isfinite(), -torch.inf)",
)
BANK.variant("probabilities-returned", CUT="ordered.masked_fill(likelier >= p, -torch.inf).softmax(dim=-1)")
mistake(
    "renormalised",
    "The logits that stay are shifted, as by `log_softmax`: leave them as they are. The softmax of the draw does the"
    " rest.",
    BACK="torch.empty_like(logits).scatter(-1, order, ordered).log_softmax(dim=-1)",
)
BANK.variant("renormalised", SORT="logits.log_softmax(dim=-1).sort(dim=-1, descending=True)")
mistake(
    "cut-out",
    "What goes is cut out of the row, so the places no longer belong to their tokens: keep the shape.",
    BACK="logits[torch.empty_like(logits).scatter(-1, order, ordered).isfinite()]",
)
mistake(
    "mask-returned",
    "A mask comes back, True and False: return the logits.",
    BACK="torch.empty_like(logits).scatter(-1, order, ordered).isfinite()",
)
mistake(
    "input-changed",
    says("input-changed", X="logits"),
    BACK="logits.copy_(torch.empty_like(logits).scatter(-1, order, ordered))",
)
mistake(
    "other-dtype",
    says("other-dtype", WHAT="logits"),
    BACK="torch.empty_like(logits).scatter(-1, order, ordered).float()",
)
mistake(
    "plain-exponentials",
    "The exponentials overflow for large logits, and inf / inf is NaN: take torch's softmax.",
    CHANCES="ordered.exp() / ordered.exp().sum(dim=-1, keepdim=True)",
)

# --- which tokens stay ----------------------------------------------------------------------------

mistake(
    "one-token-too-few",
    "The token that reaches p is cut off as well, so what stays has less than p together: look at what the tokens"
    " before it have.",
    LIKELIER="probabilities.cumsum(dim=-1)",
)
BANK.variant("one-token-too-few", GOES="(likelier + probabilities > p) & (likelier > 0)")  # the likeliest stays
mistake(
    "one-token-too-many",
    "One token more stays than is needed: those before it have p already.",
    LIKELIER="probabilities.cumsum(dim=-1) - probabilities - probabilities.roll(1, -1)",
)
mistake(
    "first-never-kept",
    "Where the likeliest token alone has more than p, nothing is left: it always stays.",
    CUT="ordered.masked_fill((likelier >= p) | (probabilities > p), -torch.inf)",
)
mistake(
    "likely-ones-dropped",
    "The likeliest tokens go and the tail stays: the comparison is turned round.",
    GOES="likelier < p",
)
BANK.variant("likely-ones-dropped", GOES="likelier + probabilities < p")  # the token that reaches p stays
mistake(
    "sorted-upwards",
    "The row is sorted upwards, so the least likely tokens are kept first: sort with `descending=True`.",
    {", descending=True": ""},
)
mistake(
    "not-sorted",
    "The probabilities are added up in the order of the vocabulary: sort them first, the likeliest first.",
    SORT="(logits, torch.arange(logits.shape[-1], device=logits.device).expand(logits.shape))",
)
mistake(
    "each-against-p",
    "Each probability is compared with p for itself: it is their sum, from the likeliest down, that has to reach p.",
    GOES="(probabilities < p) & (likelier > 0)",
)
mistake(
    "share-of-the-likeliest",
    "What has at least p times the largest probability stays: that is min-p. Here the sum from the likeliest down has"
    " to reach p.",
    GOES="probabilities < p * probabilities[..., :1]",
)
mistake(
    "share-of-the-vocabulary",
    "A share p of the tokens stays, whatever their probabilities are: as many should stay as have p together.",
    GOES="torch.arange(logits.shape[-1], device=logits.device).expand(logits.shape) >= p * logits.shape[-1]",
)
mistake(
    "tail-of-p",
    "The tokens stay that have 1 − p together: p is what stays, not what goes.",
    GOES="likelier >= 1 - p",
)
mistake(
    "sums-of-logits",
    "The logits themselves are added up: make probabilities of them first, with a softmax.",
    CHANCES="ordered",
)
mistake(
    "sigmoid-for-softmax",
    "A sigmoid is taken, and its values do not sum to 1: probabilities come from a softmax over the row.",
    CHANCES="ordered.sigmoid()",
)

# --- rows -----------------------------------------------------------------------------------------

mistake(
    "softmax-over-the-batch",
    "The softmax runs along the first dimension: each row is judged by itself, along the last.",
    CHANCES="ordered.softmax(dim=0)",
)
mistake(
    "sum-over-the-batch",
    "The running sum goes along the first dimension: it belongs to the last.",
    LIKELIER="probabilities.cumsum(dim=0) - probabilities",
)
mistake(
    "first-row-for-all",
    "The first row decides for all of them: each row is judged by itself.",
    GOES="(likelier >= p).reshape(-1, logits.shape[-1])[0].expand(logits.shape)",
)
mistake(
    "two-dimensions-only",
    "It works for two dimensions only: take any number of leading ones, or none, with `dim=-1`.",
    SORT="logits.sort(dim=1, descending=True)",
)

# --- p --------------------------------------------------------------------------------------------

mistake("p-not-checked", "Any p is accepted: below or at 0, or above 1, raise a `ValueError`.", REFUSE="")
mistake(
    "zero-accepted",
    "A p of 0 is accepted, with which nothing has to stay: raise a `ValueError`.",
    {"if not 0 < p <= 1": "if not 0 <= p <= 1"},
)
mistake(
    "above-1-accepted",
    "A p above 1 is accepted, which no tokens can have together: raise a `ValueError`.",
    {"if not 0 < p <= 1": "if p <= 0"},
)
mistake(
    "one-refused",
    "A p of 1 is refused, with which all tokens stay: only what is above 1 is no probability.",
    {"if not 0 < p <= 1": "if not 0 < p < 1"},
)
mistake(
    "likeliest-alone",
    "The likeliest token alone stays, whatever p is: as many should stay as have p together.",
    GOES="likelier > 0",
)
mistake(
    "nothing-cut",
    "Nothing is cut off: minus infinity belongs to all tokens that are not needed for p.",
    price=ALL,
    CUT="ordered",
)
forms.add_to(BANK, "logits")
