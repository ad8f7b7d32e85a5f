"""What goes wrong in `Head(n_embd, head_size, block_size, dropout)`, as edits of the course's own answer."""

from ...mistakes.bank import Bank
from ..families import forms, roles
from ..families.attention import mistakes as attention

BANK = Bank(
    "Head",
    places=attention.LAYERS
    | attention.CALLS
    | {
        "BUFFER": 'self.register_buffer("tril", torch.tril(torch.ones(block_size, block_size)))',
        "TRIANGLE": "torch.tril(torch.ones(block_size, block_size))",
        "DROPOUT": "nn.Dropout(dropout)",
        "CHECK": """if x.dim() != 3:
            raise ValueError(f"expected a batch (b, t, n_embd), got {tuple(x.shape)}")
        t = x.shape[1]""",
        "LENGTH": "t = x.shape[1]",
        "TOO_LONG": """if t > self.block_size:
            raise ValueError(f"a sequence of {t} tokens is longer than the block of {self.block_size}")""",
        "LONGER": "t > self.block_size",
        "MESSAGE": 'f"a sequence of {t} tokens is longer than the block of {self.block_size}"',
        "SCALED": "q @ k.transpose(-2, -1) * k.shape[-1] ** -0.5",
        "PRODUCT": "q @ k.transpose(-2, -1)",
        "SCALE": " * k.shape[-1] ** -0.5",
        "HIDE": 'wei = wei.masked_fill(self.tril[:t, :t] == 0, float("-inf"))',
        "MASK_IN_USE": "self.tril[:t, :t]",
        "FILL": 'float("-inf")',
        "WEIGH": "wei = self.dropout(F.softmax(wei, dim=-1))",
        "DROP": "self.dropout(F.softmax(wei, dim=-1))",
        "SOFTMAX": "F.softmax(wei, dim=-1)",
        "RETURN": "return wei @ v",
        "MIX": "wei @ v",
        "END": "wei @ v",
    },
    words=attention.WORDS
    | attention.NAMES_003
    | {
        "N": "t",
        "SHAPE": "(b, t, n_embd)",
        "BLOCK": "block",
        "LONGEST": "self.block_size",
        "GLOBAL_LONGEST": "block_size",
        "MASK": "self.tril",
        "ONES": "torch.ones(block_size, block_size)",
        "ALLOWED": "(self.tril[:t, :t] != 0)",
        "RENORMALISED": "self.dropout(wei / wei.sum(-1, keepdim=True))",
        "UNCHECKED": "t = x.shape[-2]",
    },
)
mistake = BANK.mistake

# --- the original and its defects -----------------------------------------------------------------

BANK.released(
    "original-003",
    "This is the class as it was given: its constructor takes the head's size alone, and the embedding's"
    " size, the block's and the dropout come from globals (NameError). Its scale goes by the wrong width.",
    "003",
)
mistake(
    "dropout-left-global",
    "The constructor lacks one of its four parameters, such as the dropout, which still comes from a global: it should"
    " take n_embd, head_size, block_size and dropout, in this order.",
    {"block_size, dropout):": "block_size):"},
    DROPOUT="nn.Dropout(0.0)",
    original="003",
)
mistake(
    "two-left-global",
    "The constructor lacks two of its four parameters, which still come from globals: it should take n_embd, head_size,"
    " block_size and dropout, in this order.",
    {"head_size, block_size, dropout):": "head_size):"},
    BUFFER='self.register_buffer("tril", torch.tril(torch.ones(8, 8)))',
    DROPOUT="nn.Dropout(0.0)",
    original="003",
)
mistake(
    "three-left-global",
    "The constructor takes the head's size alone, and the rest still comes from globals: it should take n_embd,"
    " head_size, block_size and dropout, in this order.",
    {"n_embd, head_size, block_size, dropout):": "head_size):"},
    BUFFER='self.register_buffer("tril", torch.tril(torch.ones(8, 8)))',
    DROPOUT="nn.Dropout(0.0)",
    original="003",
)
BANK.share(attention.SHARED, "scale-by-embedding-width", originals={"scale-by-embedding-width": "003"})
mistake(
    "always-bias",
    attention.SHARED["bias-everywhere"].says,
    {BANK.places[place]: line for place, line in attention.WITH_BIAS.items()},
)

# --- what goes wrong in any head, and in any causal one -------------------------------------------

BANK.share(
    attention.SHARED,
    "one-projection",
    "keys-as-values",
    "inputs-as-values",
    "layers-made-in-forward",
    "no-scale",
    "scale-without-root",
    "scale-by-number-of-tokens",
    "scale-after-softmax",
    "key-not-transposed",
    "query-and-key-swapped",
    "softmax-over-queries",
    "softmax-over-batch",
    "exp-without-max",
)
BANK.share(attention.CAUSAL_MASK | attention.DROPOUT)
BANK.share(attention.LENGTH, originals={"too-long-not-refused": "003"})
BANK.share(
    attention.SHARED,
    "rank-not-checked",
    "squeezed",
    "view-of-the-input",
    "weights-detached",
    "float32-comes-out",
    "scale-tensor-on-the-cpu",
    "input-changed-in-place",
)

# --- what students of other courses wrote ---------------------------------------------------------

BANK.share(
    attention.SOFTMAX_BY_HAND
    | attention.PRODUCT_BY_HAND
    | attention.MIX_BY_HAND
    | attention.MASK_BY_HAND
    | attention.RETURNED
)
NUMBERS = (
    "`masked_fill` takes a boolean mask, and `tril` holds numbers: compare them, such as `self.tril[:t, :t] == 0`."
)
mistake("mask-of-numbers", NUMBERS, HIDE='wei = wei.masked_fill(self.tril[:t, :t], float("-inf"))')
mistake("mask-of-numbers-inverted", NUMBERS, HIDE='wei = wei.masked_fill(~self.tril[:t, :t], float("-inf"))')
RANK = "An input of the wrong rank stops with another error than a `ValueError`, or is accepted: look at `x.dim()`."
mistake("rank-asserted", RANK, CHECK="assert x.dim() == 3\n        t = x.shape[1]")
mistake(
    "rank-as-a-type-error",
    RANK,
    {'raise ValueError(f"expected a batch': 'raise TypeError(f"expected a batch'},
)
BANK.share(attention.SHARED, "output-projection-added")
BANK.share(roles.of(BANK))
forms.add_to(BANK)
