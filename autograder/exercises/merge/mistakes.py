"""What goes wrong in `merge(output_a, lse_a, output_b, lse_b)`, as edits of the course's own answer."""

from ...mistakes.bank import Bank
from ...mistakes.prices import ALL
from ..families.wordings import says

NOTHING = "nothing = (lse_a == -torch.inf) & (lse_b == -torch.inf)"
LSE = "lse = torch.logaddexp(lse_a.masked_fill(nothing, 0.0), lse_b.masked_fill(nothing, 0.0))"
OUTPUT = "share_a[..., None] * output_a + share_b[..., None] * output_b"

BANK = Bank(
    "merge",
    places={
        "NOTHING": NOTHING,
        "LSE": LSE,
        "SAFE_A": "lse_a.masked_fill(nothing, 0.0)",
        "SAFE_B": "lse_b.masked_fill(nothing, 0.0)",
        "SHARES": "share_a, share_b = (lse_a - lse).exp(), (lse_b - lse).exp()",
        "SHARE_A": "(lse_a - lse).exp()",
        "SHARE_B": "(lse_b - lse).exp()",
        "OUTPUT": OUTPUT,
        "RETURN": "return output, lse.masked_fill(nothing, -torch.inf)",
        "EMPTY": "lse.masked_fill(nothing, -torch.inf)",
    },
    seen_on_a_gpu="plain-average",
)
mistake = BANK.mistake

# --- what each side counts ------------------------------------------------------------------------

mistake(
    "plain-average",
    "The two outputs are averaged: each counts by exp(lse), the sum of its exponentials.",
    price=ALL,
    SHARES="share_a, share_b = 0.5 * (lse_a > -torch.inf), 0.5 * (lse_b > -torch.inf)",
)
BANK.variant("plain-average", SHARES="share_a = share_b = torch.full_like(lse, 0.5)")
mistake(
    "outputs-added",
    "The two outputs are added, where the shares with which they count should sum to 1.",
    price=ALL,
    SHARES="share_a, share_b = torch.ones_like(lse), torch.ones_like(lse)",
)
mistake(
    "shares-exchanged",
    "Each output counts by the other side's lse: exchange the two shares.",
    SHARES="share_b, share_a = {SHARE_A}, {SHARE_B}",
)
mistake(
    "shares-by-the-lse-itself",
    "Each output counts by its lse, which is a logarithm: it is exp(lse) that counts.",
    price=ALL,
    SHARES="share_a, share_b = lse_a / (lse_a + lse_b), lse_b / (lse_a + lse_b)",
)
mistake(
    "not-normalised",
    "The outputs count by exp(lse) less the largest, and nothing divides by the sum of both: the two shares should sum"
    " to 1.",
    SHARES="largest = torch.maximum({SAFE_A}, {SAFE_B})\n"
    "    share_a, share_b = (lse_a - largest).exp(), (lse_b - largest).exp()",
)
mistake(
    "winner-takes-all",
    "The side with the larger lse takes everything: each output counts by its share of the exponentials.",
    price=ALL,
    SHARES="share_a = (lse_a > lse_b).to(lse.dtype) + 0.5 * (lse_a == lse_b)\n"
    "    share_a, share_b = share_a.masked_fill(nothing, 0.0), (1 - share_a).masked_fill(nothing, 0.0)",
)
mistake(
    "base-two",
    "The exponentials and the logarithm are to the base 2: an lse is a natural logarithm, so take `exp` and `log`.",
    LSE="lse = torch.logaddexp2({SAFE_A}, {SAFE_B})",
    SHARES="share_a, share_b = (lse_a - lse).exp2(), (lse_b - lse).exp2()",
)
mistake(
    "lse-returned-to-base-two",
    "The lse that comes out is to the base 2, and those that come in are natural logarithms: return one of these.",
    EMPTY="{EMPTY} / 0.6931471805599453",
)
mistake(
    "shares-of-all-tokens",
    "The shares are a softmax over the queries: the two sides compete, for each query by itself.",
    SHARES="share_a, share_b = torch.stack([lse_a, lse_b]).softmax(dim=-1).unbind()",
)
mistake(
    "shares-doubled",
    "The shares are taken of e^(2 lse): the lse is that of exponentials already, and counts once.",
    SHARES="share_a, share_b = torch.stack([2 * lse_a, 2 * lse_b]).masked_fill(nothing, 0.0).softmax(dim=0)\n"
    "    share_a, share_b = share_a.masked_fill(nothing, 0.0), share_b.masked_fill(nothing, 0.0)",
)
mistake(
    "epsilon-in-the-sum",
    says("epsilon-in-the-sum"),
    SHARES="largest = torch.maximum({SAFE_A}, {SAFE_B})\n"
    "    share_a, share_b = (lse_a - largest).exp(), (lse_b - largest).exp()\n"
    "    share_a, share_b = share_a / (share_a + share_b + 1e-6), share_b / (share_a + share_b + 1e-6)",
)

# --- the lse that comes out -----------------------------------------------------------------------

mistake(
    "lse-added",
    "The two lse are added, which multiplies the sums: it is log(exp(lse_a) + exp(lse_b)) that comes out.",
    EMPTY="lse_a + lse_b",
)
mistake(
    "lse-averaged",
    "The lse that comes out is an average: it is log(exp(lse_a) + exp(lse_b)), above both of them.",
    EMPTY="(lse_a + lse_b) / 2",
)
mistake(
    "log-of-the-average",
    "The lse that comes out is the logarithm of half the sum: nothing divides the two exponentials by 2.",
    EMPTY="{EMPTY} - 0.6931471805599453",
)
mistake(
    "lse-is-the-larger",
    "The lse that comes out is the larger of the two: it is log(exp(lse_a) + exp(lse_b)), which is above both.",
    EMPTY="torch.maximum(lse_a, lse_b)",
)
mistake(
    "largest-not-added-again",
    "The largest is subtracted before `exp`, and not added to the logarithm again: add it to the lse that comes out.",
    EMPTY="(lse - torch.maximum({SAFE_A}, {SAFE_B})).masked_fill(nothing, -torch.inf)",
)
mistake(
    "sum-without-log",
    "The sum of the exponentials comes out: it is its logarithm that is asked for.",
    EMPTY="lse_a.exp() + lse_b.exp()",
)
mistake(
    "log1p-of-the-wrong-difference",
    "The smaller lse is taken off where the larger one should be: with the larger one m, log1p(exp(-|lse_a - lse_b|))"
    " is what is added to m.",
    EMPTY="(torch.maximum({SAFE_A}, {SAFE_B}) + torch.log1p((lse_a - lse_b).abs().exp())).masked_fill(nothing,"
    " -torch.inf)",
)
mistake(
    "log1p-without-exp",
    "`log1p` gets the difference of the two lse: it is the exponential of that which is added to 1.",
    EMPTY="(torch.maximum({SAFE_A}, {SAFE_B}) + torch.log1p((lse_a - lse_b).abs())).masked_fill(nothing, -torch.inf)",
)
mistake(
    "lse-of-the-first",
    "The lse that comes out is that of the first side: the second side's keys count as well.",
    EMPTY="lse_a",
)
mistake(
    "output-alone",
    says("output-alone", PAIR="output, lse"),
    RETURN="return output",
)
mistake(
    "pair-swapped",
    says("pair-swapped", PAIR="lse, output"),
    RETURN="return lse.masked_fill(nothing, -torch.inf), output",
)
mistake(
    "lse-with-a-dimension-more",
    "The lse keeps a last dimension of size 1, which helps with the output: take it away again, (…, t).",
    EMPTY="{EMPTY}[..., None]",
)

# --- large numbers --------------------------------------------------------------------------------

mistake(
    "largest-not-subtracted",
    "The exponentials overflow for a large lse, and vanish for a very negative one: subtract the larger of the two"
    " before `exp`.",
    LSE="lse = ({SAFE_A}.exp() + {SAFE_B}.exp()).log()",
    SHARES="total = lse_a.exp() + lse_b.exp()\n"
    "    total = total.masked_fill(nothing, 1.0)\n"
    "    share_a, share_b = lse_a.exp() / total, lse_b.exp() / total",
)
mistake(
    "one-largest-for-all",
    "The largest lse of all queries is subtracted before `exp`, so that the exponentials of others vanish: subtract the"
    " larger of the two sides, for each query by itself.",
    LSE="largest = torch.stack([{SAFE_A}, {SAFE_B}]).detach().clamp(min=-1e30)\n"
    "    largest = largest.max() if largest.numel() else 0.0\n"
    "    lse = (({SAFE_A} - largest).exp() + ({SAFE_B} - largest).exp()).log() + largest",
)
mistake(
    "first-lse-subtracted",
    "It is always the first side's lse that is subtracted before `exp`, so that a second one far above it overflows,"
    " and a first one of -inf makes NaN: subtract the larger of the two.",
    LSE="lse = {SAFE_A} + torch.log1p((lse_b - lse_a).exp())",
    SHARES="share_b = (lse_b - lse_a).exp() / (1 + (lse_b - lse_a).exp())\n    share_a = 1 - share_b",
)

# --- empty sides ----------------------------------------------------------------------------------

mistake(
    "nan-with-two-empty-sides",
    "Where both sides are empty there is NaN, of -inf less -inf: let such a query have output 0 and lse -inf.",
    NOTHING="nothing = torch.zeros_like(lse_a, dtype=torch.bool)",
)
mistake(
    "nan-in-gradients-of-two-empty-sides",
    "The values are right, and where both sides are empty the gradients are NaN, of a NaN that is patched afterwards,"
    " or of a logarithm of 0: put a harmless number there before anything is made of it, and -inf afterwards.",
    NOTHING="nothing = torch.zeros_like(lse_a, dtype=torch.bool)",
    SHARES="share_a, share_b = torch.nan_to_num({SHARE_A}), torch.nan_to_num({SHARE_B})",
)
BANK.variant(
    "nan-in-gradients-of-two-empty-sides",
    NOTHING="nothing = torch.zeros_like(lse_a, dtype=torch.bool)",
    OUTPUT="torch.nan_to_num({OUTPUT}, nan=0.0)",
)
BANK.variant(
    "nan-in-gradients-of-two-empty-sides",
    LSE="largest = torch.maximum({SAFE_A}, {SAFE_B})\n"
    "    part_a, part_b = (lse_a - largest).exp(), (lse_b - largest).exp()\n"
    "    lse = (part_a + part_b).log() + largest",
    SHARES="total = (part_a + part_b).masked_fill(nothing, 1.0)\n    share_a, share_b = part_a / total, part_b / total",
)
mistake(
    "two-empty-sides-averaged",
    "Where both sides are empty their outputs are averaged, or half of each comes out: an empty side counts nothing, so"
    " the output is 0.",
    SHARES="share_a, share_b = {SHARE_A}.masked_fill(nothing, 0.5), {SHARE_B}.masked_fill(nothing, 0.5)",
)
mistake(
    "lse-of-two-empty-sides-finite",
    "Where both sides are empty the lse is a finite number: it is -inf, so that the next merge knows that nothing was"
    " there.",
    EMPTY="lse.masked_fill(nothing, 0.0)",
)
BANK.variant("lse-of-two-empty-sides-finite", EMPTY="lse.masked_fill(nothing, torch.finfo(lse.dtype).min)")
mistake(
    "empty-side-gives-nothing",
    "Where one side is empty the output is 0: it is the other side's, unchanged.",
    NOTHING="nothing = (lse_a == -torch.inf) | (lse_b == -torch.inf)",
    SHARES="share_a, share_b = {SHARE_A}.masked_fill(nothing, 0.0), {SHARE_B}.masked_fill(nothing, 0.0)",
)
mistake(
    "asks-what-the-lse-holds",
    "What the lse holds is looked at (by an `if`, an `assert` or `.item()`), and a tensor on `meta` can't tell; nor is"
    " it the same for all queries: let"
    " `masked_fill` or `where` decide entry by entry.",
    NOTHING="if (lse_b == -torch.inf).all():\n        return output_a, lse_a\n    {NOTHING}",
)

# --- shapes, gradients, dtypes --------------------------------------------------------------------

mistake(
    "shares-not-unsqueezed",
    "The shares (…, t) line up with the last dimension of the outputs (…, t, dv), the width of the values: they belong"
    " to the queries, so give them a last dimension of their own, `share[..., None]`.",
    OUTPUT="share_a * output_a + share_b * output_b",
)
BANK.variant(
    "shares-not-unsqueezed",
    OUTPUT="share_a[..., None, :] * output_a + share_b[..., None, :] * output_b",
)
mistake(
    "shares-detached",
    "The shares are cut out of the graph, so that no gradient goes from the output to the lse.",
    OUTPUT="share_a.detach()[..., None] * output_a + share_b.detach()[..., None] * output_b",
)
mistake(
    "lse-detached",
    "The lse that comes out is cut out of the graph: it passes gradients on, as the output does.",
    EMPTY="{EMPTY}.detach()",
)
mistake(
    "float32-comes-out",
    says("float32-comes-out"),
    RETURN="return output.float(), lse.masked_fill(nothing, -torch.inf).float()",
)
mistake(
    "through-float32",
    says("through-float32"),
    NOTHING="lse_a, lse_b, dtype = lse_a.float(), lse_b.float(), lse_a.dtype\n    {NOTHING}",
    RETURN="return output.to(dtype), lse.masked_fill(nothing, -torch.inf).to(dtype)",
)
mistake(
    "lse-changed-in-place",
    "An lse is changed in place (`sub_`, `fill_`, `[…] = …`), and whoever gave it still needs it: make a new tensor.",
    NOTHING="{NOTHING}\n    with torch.no_grad():\n        lse_a.masked_fill_(nothing, -1e4)",
)
