"""What goes wrong in `SelfAttention(d_in, d_out, qkv_bias=False)`, as edits of the course's own answer."""

from ...mistakes.bank import Bank
from ..families.attention import mistakes as attention

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
    },
    words=attention.WORDS
    | attention.NAMES_004
    | {"SCORES": "(scores / K.shape[-1] ** 0.5)", "N": "n", "SHAPE": "(n, d_in) or (b, n, d_in)"},
)
mistake = BANK.mistake

# --- the original and its defects -----------------------------------------------------------------

BANK.released(
    "original-004",
    "This is notebook 004's class as it was given: `transpose(1, 2)` stops it for one sequence (IndexError), and for a"
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
    "keys-from-queries",
    "values-from-queries",
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
