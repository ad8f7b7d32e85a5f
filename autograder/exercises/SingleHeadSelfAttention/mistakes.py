"""What goes wrong in `SingleHeadSelfAttention(k)`, as edits of the course's own answer."""

from ...mistakes.bank import Bank
from ..families.single_head import mistakes as family

BANK = Bank(
    "SingleHeadSelfAttention",
    places={
        "QUERY_LAYER": "self.toqueries = nn.Linear(k, k, bias=False)",
        "KEY_LAYER": "self.tokeys = nn.Linear(k, k, bias=False)",
        "VALUE_LAYER": "self.tovalues = nn.Linear(k, k, bias=False)",
        "WRONG_RANK": "if x.dim() != 2:\n"
        '            raise ValueError(f"expected one sequence of shape (t, k), got {tuple(x.shape)}")',
        "MAKE_QUERIES": "queries = self.toqueries(x)",
        "MAKE_KEYS": "keys = self.tokeys(x)",
        "MAKE_VALUES": "values = self.tovalues(x)",
        "PRODUCT": "torch.mm(queries, keys.transpose(0, 1))",
        "TRANSPOSE": ".transpose(0, 1)",
        "SCALE": " / self.k ** 0.5",
        "SOFTMAX": "F.softmax(scaled, dim=1)",
        "DIM": "dim=1",
        "OUTPUT": "torch.mm(weights, values)",
    },
    words={
        "QUERY": "toqueries",
        "KEY": "tokeys",
        "VALUE": "tovalues",
        "Q": "queries",
        "K": "keys",
        "V": "values",
        "SCORES": "scaled",
        "WEIGHTS": "weights",
        "SIZES": "k, k",
        "WIDTH": "k",
        "N": "t",
        "SHAPE": "(t, k)",
    },
)
mistake = BANK.mistake

# --- the original and its defects -----------------------------------------------------------------

BANK.released(
    "original-001",
    "This is notebook 001's class as it was given. `super.init()` stops it: call `super`, then the parent's `__init__`."
    " Two more mistakes wait behind that one.",
    "001",
)
mistake(
    "transpose-of-nothing",
    "`keys.transpose()` is not told which two dimensions to swap: 0 and 1. A quiet mistake waits behind this one.",
    WRONG_RANK="",
    TRANSPOSE=".transpose()",
    OUTPUT="torch.mm(weights, x)",
    original="001",
)
BANK.share(
    family.SHARED,
    "inputs-as-values",
    "rank-not-checked",
    originals={"inputs-as-values": "001", "rank-not-checked": "001"},
)

# --- projections ----------------------------------------------------------------------------------

mistake(
    "accepts-a-batch",
    "A batch (b, t, k) is accepted: here the contract is one sequence, so raise a `ValueError` unless `x.dim()` is 2.",
    WRONG_RANK="",
    PRODUCT="queries @ keys.transpose(-2, -1)",
    DIM="dim=-1",
    OUTPUT="weights @ values",
)
BANK.share(family.SHARED, "keys-as-values", "keys-from-queries", "values-from-queries")
mistake(
    "projected-twice",
    "These are the values you get when keys and values are made from the queries and not from the input.",
    MAKE_KEYS="keys = self.tokeys(queries)",
    MAKE_VALUES="values = self.tovalues(queries)",
    original="000",
)
BANK.share(family.SHARED, "one-projection")
mistake("with-bias", "The layers have a bias, and there should be none: `bias=False`.", **family.WITH_BIAS)
mistake(
    "extra-parameters",
    "There is a layer after the attention that nobody asked for: the output is the weighted sum of the values.",
    VALUE_LAYER="{VALUE_LAYER}\n        self.unifyheads = nn.Linear(k, k, bias=False)",
    OUTPUT="self.unifyheads({OUTPUT})",
)
BANK.share(family.SHARED, "layers-made-in-forward")

# --- scores, softmax and what follows -------------------------------------------------------------

BANK.share(
    family.SHARED,
    "no-scale",
    "scale-without-root",
    "scale-by-number-of-tokens",
    "scale-after-softmax",
    "key-not-transposed",
    "query-and-key-swapped",
    "softmax-over-queries",
    "exp-without-max",
)
mistake(
    "sigmoid-weights",
    "These are the values you get when weights are made by a sigmoid, each by itself: the keys compete, by a softmax.",
    SOFTMAX="torch.sigmoid(scaled)",
)
mistake(
    "inputs-again",
    "These are the values you get when the output is multiplied by the input again: nothing comes after the weighted"
    " sum.",
    OUTPUT="{OUTPUT} * x",
    original="004",
)
mistake(
    "input-added",
    "These are the values you get when the input is added to the output: nothing comes after.",
    OUTPUT="{OUTPUT} + x",
)
BANK.share(family.SHARED, "weights-detached", "float32-comes-out", "scale-tensor-on-the-cpu")
