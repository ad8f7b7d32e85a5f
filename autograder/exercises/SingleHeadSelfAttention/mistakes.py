"""What goes wrong in `SingleHeadSelfAttention(k)`, as edits of the course's own answer."""

from ...mistakes.bank import Bank
from ..families import roles
from ..families.attention import mistakes as attention
from ..families.wordings import says

BANK = Bank(
    "SingleHeadSelfAttention",
    places=attention.LAYERS
    | attention.CALLS
    | {
        "CHECK": """if x.dim() != 2:
            raise ValueError(f"expected one sequence of shape (t, k), got {tuple(x.shape)}")""",
        "PRODUCT": "torch.mm(queries, keys.transpose(0, 1))",
        "SCALE": " / self.k ** 0.5",
        "SOFTMAX": "F.softmax(scaled, dim=1)",
        "MIX": "torch.mm(weights, values)",
        "END": "torch.mm(weights, values)",
        "RETURN": "return torch.mm(weights, values)",
    },
    words=attention.WORDS
    | attention.NAMES_001
    | {"SCORES": "scaled", "SIZES": "k, k", "WIDTH": "k", "N": "t", "SHAPE": "(t, k)"},
)
mistake = BANK.mistake

# --- the original and its defects -----------------------------------------------------------------

BANK.released(
    "original-001",
    "This is the class as it was given. `super.init()` stops it: call `super`, then the parent's `__init__`."
    " Two more mistakes wait behind that one.",
    "001",
)
mistake(
    "transpose-of-nothing",
    "`keys.transpose()` is not told which two dimensions to swap: 0 and 1. A quiet mistake waits behind this one.",
    CHECK="",
    PRODUCT="torch.mm(queries, keys.transpose())",
    MIX="torch.mm(weights, x)",
    original="001",
)
BANK.share(
    attention.SHARED,
    "inputs-as-values",
    "rank-not-checked",
    originals={"inputs-as-values": "001", "rank-not-checked": "001"},
)

# --- projections ----------------------------------------------------------------------------------

mistake(
    "accepts-a-batch",
    "A batch (b, t, k) is accepted: here the contract is one sequence, so raise a `ValueError` unless `x.dim()` is 2.",
    CHECK="",
    PRODUCT="queries @ keys.transpose(-2, -1)",
    SOFTMAX="F.softmax(scaled, dim=-1)",
    MIX="weights @ values",
)
BANK.share(attention.SHARED, "keys-as-values")
mistake(
    "projected-twice",
    "These are the values you get when keys and values are made from the queries and not from the input.",
    KEYS="self.tokeys(queries)",
    VALUES="self.tovalues(queries)",
    original="000",
)
BANK.share(attention.SHARED, "one-projection", "with-bias")
mistake(
    "extra-parameters",
    "There is a layer after the attention that nobody asked for: the output is the weighted sum of the values.",
    W_VALUE="{W_VALUE}\n        self.unifyheads = nn.Linear(k, k, bias=False)",
    END="self.unifyheads({END})",
)
BANK.share(attention.SHARED, "layers-made-in-forward")

# --- scores, softmax and what follows -------------------------------------------------------------

BANK.share(
    attention.SHARED,
    "no-scale",
    "scale-without-root",
    "scale-by-number-of-tokens",
    "scale-after-softmax",
    "key-not-transposed",
    "query-and-key-swapped",
    "softmax-over-queries",
    "exp-without-max",
    "sigmoid-weights",
)
mistake(
    "inputs-again",
    "These are the values you get when the output is multiplied by the input again: nothing comes after the weighted"
    " sum.",
    END="{END} * x",
    original="004",
)
BANK.share(attention.SHARED, "input-added", "weights-detached", "float32-comes-out", "scale-tensor-on-the-cpu")

# --- what students of other courses wrote ---------------------------------------------------------

HALF_MENDED = "The constructor's first line should be `super().__init__()`: call `super`, then the parent's `__init__`."
mistake("super-without-call", HALF_MENDED, {"super().__init__()": "super.__init__()"}, original="001")
mistake(
    "init-without-underscores",
    says("init-without-underscores"),
    {"super().__init__()": "super().init()"},
    original="001",
)
BANK.share(attention.SOFTMAX_BY_HAND | attention.SHIFTED | attention.MIX_BY_HAND)
BANK.share(attention.SHARED, "one-max-for-all-rows")
BANK.share(
    attention.PRODUCT_BY_HAND, "scale-in-float32", "root-of-an-int", "scale-multiplied", "reshaped-for-transposed"
)
BANK.share(attention.RETURNED)
RANK = "An input of the wrong rank stops with another error than a `ValueError`, or is accepted: look at `x.dim()`."
mistake("rank-asserted", RANK, CHECK="assert x.dim() == 2")
mistake("rank-as-a-type-error", RANK, {"raise ValueError": "raise TypeError"})
mistake("vector-not-refused", RANK, {"x.dim() != 2": "x.dim() == 3"})
mistake(
    "reads-a-batch",
    "The shape is taken apart into three sizes, and one sequence (t, k) has only two (ValueError).",
    CHECK="b, t, k = x.shape",
)
BANK.share(roles.of(BANK))
