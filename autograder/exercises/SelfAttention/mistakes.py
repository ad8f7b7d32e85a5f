"""What goes wrong in `SelfAttention(d_in, d_out, qkv_bias=False)`, as edits of the course's own answer."""

from ...mistakes.bank import Bank
from ..families import roles
from ..families.attention import mistakes as attention
from ..families.wordings import says

BANK = Bank(
    "SelfAttention",
    places=attention.LAYERS
    | attention.CALLS
    | {
        "CHECK": """if x.dim() not in (2, 3):
            raise ValueError(f"expected (n, d_in) or (b, n, d_in), got {tuple(x.shape)}")""",
        "PRODUCT": "Q @ K.transpose(-2, -1)",
        "SOFTMAX": "F.softmax(scores / K.shape[-1] ** 0.5, dim=-1)",
        "SCALE": " / K.shape[-1] ** 0.5",
        "MIX": "weights @ V",
        "END": "weights @ V",
        "RETURN": "return weights @ V",
    },
    words=attention.WORDS
    | attention.NAMES_004
    | {"SCORES": "(scores / K.shape[-1] ** 0.5)", "N": "n", "SHAPE": "(n, d_in) or (b, n, d_in)"},
)
mistake = BANK.mistake

# --- the original and its defects -----------------------------------------------------------------

BANK.released(
    "original-004",
    "This is the class as it was given: `transpose(1, 2)` stops it for one sequence (IndexError), and for a"
    " batch `dim=1` lets the queries compete instead of the keys.",
    "004",
)
mistake(
    "transpose-from-the-front",
    "`transpose(1, 2)` counts dimensions from the front, and one sequence (n, d_in) has no dimension 2: count from the"
    " end, `transpose(-2, -1)`.",
    PRODUCT="Q @ K.transpose(1, 2)",
    original="004",
)
BANK.share(
    attention.SHARED,
    "softmax-over-dim-1",
    "rank-not-checked",
    originals={"softmax-over-dim-1": "004", "rank-not-checked": "004"},
)

# --- projections, biases, scores, softmax ---------------------------------------------------------

BANK.share(attention.BIASES)
BANK.share(
    attention.SHARED,
    "keys-as-values",
    "inputs-as-values",
    "one-projection",
    "layers-made-in-forward",
    "no-scale",
    "scale-without-root",
    "scale-by-input-width",
    "scale-by-number-of-tokens",
    "scale-after-softmax",
    "key-not-transposed",
    "query-and-key-swapped",
    "softmax-over-queries",
    "softmax-over-dim-0",
    "exp-without-max",
    originals={"inputs-as-values": "001"},
)

# --- batches, gradients, dtypes -------------------------------------------------------------------

BANK.share(
    attention.SHARED,
    "batch-flattened",
    "batch-added",
    "squeezed",
    "view-of-the-input",
    "weights-applied-twice",
    "weights-detached",
    "float32-comes-out",
    "scale-tensor-on-the-cpu",
)

# --- what students of other courses wrote ---------------------------------------------------------

BANK.share(
    attention.SOFTMAX_BY_HAND
    | attention.SHIFTED
    | attention.PRODUCT_BY_HAND
    | attention.MIX_BY_HAND
    | attention.RETURNED,
)
BANK.share(attention.SHARED, "one-max-for-all-rows")
RANK = "An input of the wrong rank stops with another error than a `ValueError`, or is accepted: look at `x.dim()`."
mistake("rank-asserted", RANK, CHECK="assert x.dim() in (2, 3)")
mistake("rank-as-a-type-error", RANK, {"raise ValueError": "raise TypeError"})
mistake("four-dimensions-accepted", RANK, {"x.dim() not in (2, 3)": "x.dim() < 2"})
mistake(
    "first-two-swapped",
    "`transpose(0, 1)` swaps the first two dimensions, which in a batch are not those of the keys: swap the last two,"
    " `transpose(-2, -1)`.",
    PRODUCT="Q @ K.transpose(0, 1)",
)
mistake(
    "softmax-without-dim",
    says("softmax-without-dim"),
    SOFTMAX="F.softmax({SCORES})",
)
mistake(
    "einsum-for-a-batch",
    "The pattern of `einsum` names a batch, which one sequence (n, d_in) does not have: write `...` for what comes"
    " before the last two dimensions.",
    PRODUCT='torch.einsum("bid,bjd->bij", Q, K)',
)
mistake(
    "bmm-for-a-batch",
    "`torch.bmm` takes a batch only, and one sequence (n, d_in) is none: `@` takes both.",
    PRODUCT="torch.bmm(Q, K.transpose(-2, -1))",
)
mistake(
    "batch-of-one-squeezed",
    "`squeeze(0)` takes away the first dimension whenever it is 1, also that of a batch of one or a sequence of one"
    " token: take away only what you have added.",
    END="({END}).squeeze(0)",
)
BANK.share(attention.SHARED, "output-projection-added")
BANK.share(roles.of(BANK))
