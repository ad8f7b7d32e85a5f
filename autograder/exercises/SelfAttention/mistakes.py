"""What goes wrong in `SelfAttention(d_in, d_out, qkv_bias=False)`, as edits of the course's own answer."""

from ...mistakes.bank import Bank
from ..families.single_head import mistakes as family

BANK = Bank(
    "SelfAttention",
    places={
        "QUERY_LAYER": "self.W_query = nn.Linear(d_in, d_out, bias=qkv_bias)",
        "KEY_LAYER": "self.W_key = nn.Linear(d_in, d_out, bias=qkv_bias)",
        "VALUE_LAYER": "self.W_value = nn.Linear(d_in, d_out, bias=qkv_bias)",
        "WRONG_RANK": "if x.dim() not in (2, 3):\n"
        '            raise ValueError(f"expected (n, d_in) or (b, n, d_in), got {tuple(x.shape)}")',
        "MAKE_QUERIES": "Q = self.W_query(x)",
        "MAKE_KEYS": "K = self.W_key(x)",
        "MAKE_VALUES": "V = self.W_value(x)",
        "PRODUCT": "Q @ K.transpose(-2, -1)",
        "TRANSPOSE": ".transpose(-2, -1)",
        "SOFTMAX": "F.softmax(scores / K.shape[-1] ** 0.5, dim=-1)",
        "SCALE": " / K.shape[-1] ** 0.5",
        "DIM": "dim=-1",
        "OUTPUT": "weights @ V",
    },
    words={
        "QUERY": "W_query",
        "KEY": "W_key",
        "VALUE": "W_value",
        "Q": "Q",
        "K": "K",
        "V": "V",
        "SCORES": "(scores / K.shape[-1] ** 0.5)",
        "WEIGHTS": "weights",
        "SIZES": "d_in, d_out",
        "WIDTH": "d_out",
        "INPUT": "d_in",
        "N": "n",
        "SHAPE": "(n, d_in) or (b, n, d_in)",
    },
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
    TRANSPOSE=".transpose(1, 2)",
    original="004",
)
mistake(
    "softmax-over-dim-1",
    "These are the values you get from a softmax with `dim=1`, which in a batch are the queries: the keys are the last"
    " dimension, `dim=-1`.",
    DIM="dim=1",
    original="004",
)
BANK.share(family.SHARED, "rank-not-checked", originals={"rank-not-checked": "004"})

# --- projections and biases -----------------------------------------------------------------------

BANK.share(family.BIASES)
BANK.share(
    family.SHARED,
    "keys-as-values",
    "keys-from-queries",
    "values-from-queries",
    "inputs-as-values",
    "one-projection",
    "layers-made-in-forward",
    originals={"inputs-as-values": "001"},
)

# --- scores and softmax ---------------------------------------------------------------------------

BANK.share(
    family.SHARED,
    "no-scale",
    "scale-without-root",
    "scale-by-input-width",
    "scale-by-number-of-tokens",
    "scale-after-softmax",
    "key-not-transposed",
    "query-and-key-swapped",
    "softmax-over-queries",
)
mistake(
    "softmax-over-dim-0",
    "These are the values you get from a softmax with `dim=0`, in a batch over its sequences: the keys are the last"
    " dimension.",
    DIM="dim=0",
)
BANK.share(family.SHARED, "exp-without-max")

# --- batches, gradients, dtypes -------------------------------------------------------------------

mistake(
    "batch-flattened",
    "The sequences of a batch are joined into one long sequence, so they see each other: leave the batch dimension"
    " alone.",
    MAKE_QUERIES="shape, x = x.shape, x.reshape(-1, x.shape[-1])\n        {MAKE_QUERIES}",
    OUTPUT="({OUTPUT}).reshape(*shape[:-1], -1)",
)
mistake(
    "batch-added",
    "One sequence (n, d_in) comes out as a batch of one: take the dimension that you added away again.",
    MAKE_QUERIES="if x.dim() == 2:\n            x = x.unsqueeze(0)\n        {MAKE_QUERIES}",
)
BANK.share(family.SHARED, "squeezed", "view-of-the-input")
mistake(
    "weights-applied-twice",
    "These are the values you get when the weights are applied twice: nothing comes after the weighted sum.",
    OUTPUT="weights @ ({OUTPUT})",
)
BANK.share(family.SHARED, "weights-detached", "float32-comes-out", "scale-tensor-on-the-cpu")
