"""What goes wrong in `softmax(scores, dim=-1)`, as edits of the course's own answer."""

from ...mistakes.bank import Bank
from ..families.attention import mistakes as attention

BANK = Bank(
    "softmax",
    places={
        "START": "largest = scores",
        "LARGEST": "scores.detach().amax(dim=dim, keepdim=True)",
        "MEND": 'largest = largest.masked_fill(largest == float("-inf"), 0.0)',
        "POWERS": "powers = torch.exp(scores - largest)",
        "TOTAL": "powers.sum(dim=dim, keepdim=True)",
        "WEIGHTS": "powers / total.masked_fill(total == 0, 1.0)",
    },
    seen_on_a_gpu="base-two",
)
mistake = BANK.mistake

# --- the shift ------------------------------------------------------------------------------------

BANK.rewritten(
    "textbook-formula",
    "This is the formula as it stands, exp(s) / sum of exp(s), as in notebook 002: it overflows for large scores and"
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
    POWERS="powers = torch.exp(scores)",
)
mistake(
    "one-max-for-all-slices",
    "The largest score of the whole tensor is subtracted before `exp`, so the exponentials of milder slices vanish:"
    " subtract each slice's own largest score.",
    LARGEST="scores.detach().max()",
)
mistake(
    "mean-subtracted",
    "The mean is subtracted before `exp`: the largest score can still be far above it and overflow, and one score of"
    " -inf makes the mean -inf. Subtract the largest.",
    LARGEST="scores.detach().mean(dim=dim, keepdim=True)",
    MEND="",
)
mistake(
    "min-subtracted",
    "The smallest score is subtracted before `exp`, which makes the others larger still: subtract the largest.",
    LARGEST="scores.detach().amin(dim=dim, keepdim=True)",
    MEND="",
)
mistake(
    "divided-by-max",
    "The scores are divided by the largest one, which changes the weights: only a shift cancels out, so subtract it.",
    LARGEST="scores.detach().abs().amax(dim=dim, keepdim=True)",
    MEND="",
    POWERS="powers = torch.exp(scores / largest)",
)
mistake(
    "scores-clamped",
    "The scores are cut off at ±80 to keep `exp` in its range, so that large ones become equal: subtract each slice's"
    " largest score instead.",
    POWERS='powers = torch.exp(scores.clamp(-80, 80)).masked_fill(scores == float("-inf"), 0.0)',
)

# --- dimensions -----------------------------------------------------------------------------------

mistake(
    "dim-ignored",
    "The weights always sum to 1 along the last dimension: `dim` has to be passed on.",
    LARGEST="scores.detach().amax(dim=-1, keepdim=True)",
    TOTAL="powers.sum(dim=-1, keepdim=True)",
)
mistake(
    "max-over-last-dimension",
    "The largest score is always taken along the last dimension, whatever `dim` says: shift each slice by its own"
    " largest score.",
    LARGEST="scores.detach().amax(dim=-1, keepdim=True)",
)
mistake(
    "default-is-first-dimension",
    "Without `dim` the weights sum to 1 along the first dimension: the default is the last, `dim=-1`.",
    {"dim=-1": "dim=0"},
)
mistake(
    "keepdim-forgotten",
    "The sums lose the dimension that they run over, so they meet the wrong powers or none: use `keepdim=True`.",
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
    "`squeeze` drops every dimension of size 1: the weights have the shape of the scores.",
    WEIGHTS="({WEIGHTS}).squeeze()",
)
mistake(
    "view-of-the-scores",
    "`view` needs a tensor that lies contiguous in memory, and a transposed one does not: use `reshape`, or neither.",
    START="scores = scores.view(scores.numel()).view(scores.shape)\n    {START}",
)

# --- what is made of the powers -------------------------------------------------------------------

mistake("log-softmax", "These are the logarithms of the weights: take `exp` of them.", WEIGHTS="torch.log({WEIGHTS})")
mistake(
    "sigmoid-weights",
    "These are the values of a sigmoid, each by itself: in a softmax the entries of a slice compete for a sum of 1.",
    WEIGHTS="torch.sigmoid(scores)",
)
mistake("not-divided", "The powers are not divided by their sum, so they don't sum to 1.", WEIGHTS="powers")
mistake(
    "no-exponential",
    "The scores themselves are divided by their sum: softmax takes `exp` of them first, which makes them positive.",
    POWERS="powers = scores",
    WEIGHTS="powers / total",
)
mistake(
    "base-two",
    "These are the weights for powers of 2: softmax uses e, by `exp`.",
    POWERS="powers = 2 ** (scores - largest)",
)
mistake(
    "epsilon-in-the-sum",
    "A small number is added to the sum of the powers, so weights sum to a little less than 1: with the largest power"
    " at 1 it is needed only where all scores are -inf.",
    WEIGHTS="powers / (total + 1e-6)",
)

# --- minus infinity -------------------------------------------------------------------------------

mistake(
    "nan-in-empty-slices",
    "Where all scores are -inf, so is the largest, and -inf minus -inf is NaN: replace the largest by 0 there, and the"
    " sum by 1.",
    MEND="",
)
mistake(
    "nan-patched-in-weights",
    "`nan_to_num` hides the NaN of slices that are all -inf, but their gradient stays NaN: don't let the NaN arise.",
    MEND="",
    WEIGHTS="torch.nan_to_num({WEIGHTS})",
)
mistake(
    "uniform-in-empty-slices",
    "-inf is replaced by the lowest finite number, so where all scores are -inf the weights are all equal: they should"
    " be 0.",
    START='scores = scores.masked_fill(scores == float("-inf"), torch.finfo(scores.dtype).min)\n    {START}',
)
mistake(
    "minus-infinity-becomes-zero",
    "Scores of -inf are replaced by 0, and e⁰ is 1, so they still take part: their weight should be 0.",
    START='scores = scores.masked_fill(scores == float("-inf"), 0.0)\n    {START}',
)
mistake(
    "asks-what-the-scores-hold",
    "An `if` asks what the scores hold, which a tensor on `meta` can't tell: let `masked_fill` or `where` decide entry"
    " by entry.",
    MEND='if (scores == float("-inf")).any():\n        {MEND}',
)

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
    MEND='largest = torch.where(largest == float("-inf"), torch.zeros(1), largest)',
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
    nothing = (scores == float("-inf")).all(dim=dim, keepdim=True)
    return F.softmax(scores.masked_fill(nothing, 0.0), dim=dim).masked_fill(nothing, 0.0)
""",
)
