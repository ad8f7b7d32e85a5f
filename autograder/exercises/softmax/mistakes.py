"""What goes wrong in `softmax(scores, dim=-1)`, as edits of a right answer with one line for each step (answers/)."""

from ...mistakes.bank import Bank
from ...mistakes.prices import ALL
from ..families.attention import mistakes as attention
from ..families.wordings import says

BANK = Bank(
    "softmax",
    answer="one_step_a_line",
    places={
        "START": "largest = scores",
        "LARGEST": "scores.amax(dim=dim, keepdim=True)",
        "POWERS": "powers = torch.exp(scores - largest)",
        "TOTAL": "powers.sum(dim=dim, keepdim=True)",
        "WEIGHTS": "powers / total",
    },
    seen_on_a_gpu="base-two",
)
mistake = BANK.mistake

NO_SHIFT = 0.5  # of the points: what has the formula right and lacks the one idea of this exercise

# --- the shift ------------------------------------------------------------------------------------

BANK.rewritten(
    "textbook-formula",
    "This is the formula as it stands, exp(s) / sum of exp(s): it overflows for large scores and"
    " gives 0 / 0 for very negative ones. Subtract each slice's largest score first.",
    """\
def softmax(scores, dim=-1):
    return torch.exp(scores) / torch.exp(scores).sum(dim=dim, keepdim=True)
""",
    original="002",
)
mistake(
    "sum-over-everything",
    "The powers are divided by the sum of all powers of the tensor, so that the whole tensor sums to 1: sum along"
    " `dim`, with `keepdim=True`.",
    TOTAL="powers.sum()",
    original="002",
)
mistake(
    "exp-without-max",
    "The exponentials overflow for large scores and vanish for very negative ones: subtract each slice's largest score"
    " before `exp`.",
    price=NO_SHIFT,
    POWERS="powers = torch.exp(scores)",
    # unlike the textbook formula, which gives 0 / 0; written as no student would, or this line would be pointed to
    WEIGHTS="powers / torch.where(total == 0, torch.ones_like(total), total)",
)
mistake(
    "one-max-for-all-slices",
    "The largest score of the whole tensor is subtracted before `exp`, so the exponentials of milder slices vanish:"
    " subtract each slice's own largest score.",
    price=NO_SHIFT / 2,  # scores of one size survive
    LARGEST="scores.max()",
)
BANK.variant(
    "one-max-for-all-slices",
    LARGEST="scores.max()",
    WEIGHTS="powers / total.masked_fill(total == 0, 1.0)",  # so that the weights are 0, not NaN
)
mistake(
    "mean-subtracted",
    says("mean-subtracted"),
    price=NO_SHIFT,
    LARGEST="scores.mean(dim=dim, keepdim=True)",
)
mistake(
    "min-subtracted",
    "The smallest score is subtracted before `exp`, which makes the others larger still: subtract the largest.",
    price=NO_SHIFT,
    LARGEST="scores.amin(dim=dim, keepdim=True)",
)
mistake(
    "divided-by-max",
    "The scores are divided by the largest one, which changes the weights: only a shift cancels out, so subtract it.",
    POWERS="powers = torch.exp(scores / largest)",
)
mistake(
    "scores-clamped",
    "The scores are cut off at ±80 to keep `exp` in its range, so that large ones become equal: subtract each slice's"
    " largest score instead.",
    price=NO_SHIFT,
    POWERS="powers = torch.exp(scores.clamp(-80, 80))",
)
mistake(
    "sum-subtracted",
    "The sum of a slice is subtracted before `exp`, which can make all scores very low or very high: subtract its"
    " largest score.",
    price=NO_SHIFT,
    LARGEST="scores.sum(dim=dim, keepdim=True)",
)
mistake(
    "largest-size-subtracted",
    "The largest score without its sign is subtracted before `exp`, so very negative scores become lower still and all"
    " vanish: subtract the largest score as it is.",
    price=NO_SHIFT,
    LARGEST="scores.abs().amax(dim=dim, keepdim=True)",
)
mistake(
    "max-and-its-place-subtracted",
    "With `dim`, `max` returns two tensors, the largest scores and their places: take `.values`, or use `amax`.",
    LARGEST="scores.max(dim=dim, keepdim=True)",
)
mistake(
    "everything-as-one-slice",
    "The largest score and the sum are those of the whole tensor, so that all its weights together sum to 1: take both"
    " along `dim`, with `keepdim=True`.",
    LARGEST="scores.max()",
    TOTAL="powers.sum()",
)

# --- dimensions -----------------------------------------------------------------------------------

mistake(
    "dim-ignored",
    "The weights always sum to 1 along the last dimension: `dim` has to be passed on.",
    LARGEST="scores.amax(dim=-1, keepdim=True)",
    TOTAL="powers.sum(dim=-1, keepdim=True)",
)
mistake(
    "dim-not-taken",
    "The function has no argument `dim`, along which the weights sum to 1: add `dim=-1`, and pass it on.",
    {"scores, dim=-1": "scores"},
    LARGEST="scores.amax(dim=-1, keepdim=True)",
    TOTAL="powers.sum(dim=-1, keepdim=True)",
)
BANK.rewritten(
    "loop-over-rows",
    "A loop over `scores` takes what it gives for rows, which is right for matrices only, and `dim` plays no part: give"
    " `amax` and `sum` the `dim`, with `keepdim=True`, and no loop is needed.",
    """\
def softmax(scores, dim=-1):
    rows = []
    for row in scores:
        powers = torch.exp(row - row.max())
        rows.append(powers / powers.sum())
    return torch.stack(rows)
""",
)
mistake(
    "max-over-last-dimension",
    "The largest score is always taken along the last dimension, whatever `dim` says: shift each slice by its own"
    " largest score.",
    LARGEST="scores.amax(dim=-1, keepdim=True)",
)
mistake(
    "default-is-first-dimension",
    "Without `dim` the weights sum to 1 along the first dimension: the default is the last, `dim=-1`.",
    {"dim=-1": "dim=0"},
)
mistake(
    "keepdim-forgotten",
    says("keepdim-forgotten"),
    TOTAL="powers.sum(dim=dim)",
)
mistake(
    "matrices-only",
    "It works for matrices only: with `keepdim=True` the same lines do for any number of dimensions.",
    START="if scores.dim() != 2:\n"
    '        raise RuntimeError(f"expected a matrix, got {tuple(scores.shape)}")\n    {START}',
)
mistake(
    "squeezed",
    says("squeezed", SUCH="that of a single row"),
    WEIGHTS="({WEIGHTS}).squeeze()",
)
mistake(
    "view-of-the-scores",
    "`view` needs a tensor that lies contiguous in memory, and a transposed one does not: use `reshape`, or neither.",
    START="scores = scores.view(scores.numel()).view(scores.shape)\n    {START}",
)

# --- what is made of the powers -------------------------------------------------------------------

mistake("log-softmax", says("log-softmax"), WEIGHTS="torch.log({WEIGHTS})")
mistake(
    "sigmoid-weights",
    says("sigmoid-weights"),
    WEIGHTS="torch.sigmoid(scores)",
)
mistake("not-divided", says("not-divided"), WEIGHTS="powers")
mistake(
    "sum-taken-off",
    "The sum of the powers is subtracted from them: divide by it, so that the weights sum to 1.",
    WEIGHTS="powers - total",
)
mistake(
    "nothing-returned",
    says("nothing-returned", WHAT="the weights"),
    {"return ": "weights = "},
    price=ALL,
)
mistake(
    "no-exponential",
    "The scores themselves are divided by their sum: softmax takes `exp` of them first, which makes them positive.",
    price=ALL,
    POWERS="powers = scores",
)
mistake(
    "base-two",
    "These are the weights for powers of 2: softmax uses e, by `exp`.",
    POWERS="powers = 2 ** (scores - largest)",
)
mistake(
    "epsilon-in-the-sum",
    says("epsilon-in-the-sum"),
    WEIGHTS="powers / (total + 1e-6)",
)

# --- minus infinity -------------------------------------------------------------------------------

mistake(
    "minus-infinity-becomes-zero",
    "Scores of -inf are replaced by 0, and e⁰ is 1, so they still take part: their weight should be 0.",
    START='scores = scores.masked_fill(scores == float("-inf"), 0.0)\n    {START}',
)
mistake(
    "minus-infinity-becomes-low",
    "Scores of -inf are replaced by -10,000 or so, which real scores can reach, and then they take part: leave them,"
    " `exp` makes 0 of them by itself.",
    START='scores = scores.masked_fill(scores == float("-inf"), -1e4)\n    {START}',
)
mistake(
    "asks-what-the-scores-hold",
    "What the scores hold is looked at (by an `if`, an `assert` or `.item()`), and a tensor on `meta` can't tell:"
    " subtract the largest score whatever they hold, and let `masked_fill` or `where` decide entry by entry.",
    START='if torch.isnan(scores).any():\n        raise RuntimeError("NaN among the scores")\n    {START}',
)
BANK.variant("asks-what-the-scores-hold", START="assert not torch.isnan(scores).any().item()\n    {START}")

# --- gradients, dtypes, devices, rules ------------------------------------------------------------

BANK.share(
    attention.CARE,
    "weights-detached",
    "float32-comes-out",
    "through-float32",
    edits={
        "weights-detached": {"WEIGHTS": "({WEIGHTS}).detach()"},
        "float32-comes-out": {"START": "scores = scores.float()\n    {START}"},
        "through-float32": {
            "START": "dtype, scores = scores.dtype, scores.float()\n    {START}",
            "WEIGHTS": "({WEIGHTS}).to(dtype)",
        },
    },
)
mistake(
    "sum-detached",
    "The sum of the powers is cut out of the graph, so the gradient misses that weights compete: only the shift may be"
    " detached.",
    TOTAL="{TOTAL}.detach()",
)
mistake(
    "zeros-on-the-cpu",
    "A tensor is made on the CPU and in float32, wherever the scores are: use `masked_fill` with a number, or"
    " `torch.zeros_like`.",
    POWERS='largest = torch.where(largest == float("-inf"), torch.zeros(1), largest)\n    {POWERS}',
)
mistake(
    "float64-comes-out",
    says("float64-comes-out"),
    START="scores = scores.double()\n    {START}",
)
mistake(
    "exp-by-numpy",
    "NumPy's `exp` takes the scores out of the graph, off their device, and knows no bfloat16: use `torch.exp`.",
    POWERS="import numpy\n    powers = torch.as_tensor(numpy.exp((scores - largest).numpy()))",
)
mistake(
    "changed-by-minus-equals",
    "`-=` changes the scores in place, which whoever gave them still needs, and which torch refuses where a gradient is"
    " wanted: write `scores - largest`, which makes a new tensor.",
    POWERS="scores -= largest\n    powers = torch.exp(scores)",
)
mistake(
    "scores-changed-in-place",
    "The scores are changed in place (`-=`, `exp_`, …), and whoever gave them still needs them: make a new tensor.",
    POWERS="scores.data -= largest\n    powers = torch.exp(scores)",
)
BANK.rewritten(
    "torchs-own-softmax",
    "It leaves the work to torch's own softmax, log-softmax or logsumexp: build it from `exp`, a maximum and a sum.",
    """\
def softmax(scores, dim=-1):
    return F.softmax(scores, dim=dim)
""",
)
