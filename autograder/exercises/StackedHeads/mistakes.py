"""What goes wrong in `StackedHeads(num_heads, head_size, n_embd, block_size, dropout)`.

The mistakes are edits of `answers/plain.py`, which holds a `Head` as well; mistakes in the `Head` say so.
"""

from ...mistakes.bank import Bank
from ..families import forms
from ..families.attention import mistakes as attention
from ..families.many_heads import mistakes as family
from ..families.wordings import says

BANK = Bank(
    "StackedHeads",
    answer="plain",
    places=attention.LAYERS
    | attention.CALLS
    | attention.OUT_LAYER
    | {
        # of the stack
        "HEADS": "nn.ModuleList([Head(n_embd, head_size, block_size, dropout) for _ in range(num_heads)])",
        "FIND": "found = [head(x) for head in self.heads]",
        "JOIN": "torch.cat(found, dim=-1)",
        "PROJECT": "self.proj(torch.cat(found, dim=-1))",
        # of a head
        "TRIANGLE": "torch.tril(torch.ones(block_size, block_size))",
        "DROPOUT": "nn.Dropout(dropout)",
        "CHECK": "B, T, C = x.shape",  # which refuses other ranks
        "TOO_LONG": """if T > len(self.tril):
            raise ValueError(f"{T} tokens, but the block size is {len(self.tril)}")""",
        "SCALED": "q @ k.transpose(-2, -1) * k.shape[-1] ** -0.5",
        "PRODUCT": "q @ k.transpose(-2, -1)",
        "SCALE": " * k.shape[-1] ** -0.5",
        "HIDE": 'wei = wei.masked_fill(self.tril[:T, :T] == 0, float("-inf"))',
        "MASK_IN_USE": "self.tril[:T, :T]",
        "FILL": 'float("-inf")',
        "DROP": "self.dropout(F.softmax(wei, dim=-1))",
        "SOFTMAX": "F.softmax(wei, dim=-1)",
        "MIX": "torch.bmm(wei, v)",
        "END": "torch.bmm(wei, v)",
        "RETURN": "return torch.bmm(wei, v)",
        "BUFFER": 'self.register_buffer("tril", torch.tril(torch.ones(block_size, block_size)))',
        "LENGTH": "B, T, C = x.shape",
        "LONGER": "T > len(self.tril)",
        "SUPER": "super().__init__()\n        self.heads",
    },
    words=attention.WORDS
    | attention.NAMES_003
    | {
        "PROJECTION": "proj",
        "OUT_SIZES": "num_heads * head_size, n_embd",
        "N": "T",
        "SHAPE": "(b, t, n_embd)",
        "BLOCK": "block",
        "MASK": "self.tril",
        "ONES": "torch.ones(block_size, block_size)",
        "ALLOWED": "(self.tril[:T, :T] != 0)",
        "LONGEST": "len(self.tril)",
        "GLOBAL_LONGEST": "block_size",
        "UNCHECKED": "x = x if x.dim() < 4 else x.flatten(0, 1)\n        {CHECK}",
    },
)
mistake = BANK.mistake

# --- stacking -------------------------------------------------------------------------------------

BANK.share(
    attention.STACK,
    edits={"plain-list": {"HEADS": "[Head(n_embd, head_size, block_size, dropout) for _ in range(num_heads)]"}},
)
mistake(
    "the-same-head-many-times",
    "It is one head, many times over (`[head] * n`): make a new one for each place.",
    HEADS="nn.ModuleList([Head(n_embd, head_size, block_size, dropout)] * num_heads)",
)
BANK.share(
    attention.SHARED,
    "no-output-projection",
    "projection-never-used",
    "projection-without-bias",
    edits={
        "no-output-projection": {"OUT_LAYER": "", "PROJECT": "{JOIN}"},
        "projection-never-used": {"PROJECT": "{JOIN}"},
    },
    originals={"no-output-projection": "003"},
)
mistake(
    "projection-of-the-embedding",
    "`proj` does not start from num_heads * head_size, the width of all heads together, which need not be n_embd.",
    OUT_LAYER="self.proj = nn.Linear(n_embd, n_embd)",
)
mistake(
    "heads-added",
    "What the heads find is added: place it side by side, so that `proj` can tell the heads apart.",
    JOIN="sum(found).repeat(1, 1, len(found))",
)
mistake(
    "heads-summed",
    "What the heads find is summed, and `proj` is as narrow as one head: place it side by side, num_heads * head_size"
    " features in all.",
    JOIN="sum(found)",
    OUT_LAYER="self.proj = nn.Linear(head_size, n_embd)",
)
BANK.share(
    attention.HEADS,
    "heads-averaged",
    "heads-reversed",
    "features-interleaved",
    edits={
        "heads-averaged": {"JOIN": "(sum(found) / len(found)).repeat(1, 1, len(found))"},
        "heads-reversed": {"JOIN": "torch.cat(found[::-1], dim=-1)"},
        "features-interleaved": {"JOIN": "torch.stack(found, dim=-1).flatten(2)"},
    },
)
mistake(
    "joined-along-the-tokens",
    "The heads' outputs are joined along the tokens: join them along the features, the last dimension.",
    JOIN="torch.cat(found, dim=1).reshape(x.shape[0], x.shape[1], -1)",
)
mistake(
    "heads-in-a-row",
    "Each head gets what the head before it returned: each should see the input.",
    FIND="found = []\n        for head in self.heads:\n            x = head(x)\n            found.append(x)",
)
mistake(
    "dropout-on-the-output-as-well",
    family.CAUSAL["dropout-on-the-output-as-well"].says,
    OUT_LAYER="{OUT_LAYER}\n        self.drop = nn.Dropout(dropout)",
    PROJECT="self.drop({PROJECT})",
)

# --- a wrong Head ---------------------------------------------------------------------------------

IN_A_HEAD = attention.IN_ANY_HEAD | family.CAUSAL
for id in ("layers-made-in-forward", "root-of-root-once", "dropout-on-the-output-as-well"):
    del IN_A_HEAD[id]
BANK.share(IN_A_HEAD, within="Head")
BANK.share(
    attention.SHARED,
    "scale-by-embedding-width",
    "bias-everywhere",
    within="Head",
    originals={"scale-by-embedding-width": "003"},
)
WRITTEN_OUT = family.WRITTEN_OUT | family.WITHOUT_DIM | family.CAUSAL_WRITTEN_OUT
OF_THE_STACK = "super-forgotten", "super-without-brackets", "init-without-underscores"
BANK.share({id: one for id, one in WRITTEN_OUT.items() if id not in OF_THE_STACK}, within="Head")
BANK.share(
    WRITTEN_OUT,
    *OF_THE_STACK,
    edits={id: {"SUPER": f"{WRITTEN_OUT[id].changes['SUPER']}\n        self.heads"} for id in OF_THE_STACK},
)
mistake(
    "heads-cut-again",
    "The heads are `head_size // num_heads` wide: `head_size` is the width of each already.",
    HEADS="nn.ModuleList([Head(n_embd, head_size // num_heads, block_size, dropout) for _ in range(num_heads)])",
    OUT_LAYER="self.proj = nn.Linear(num_heads * (head_size // num_heads), n_embd)",
)
mistake(
    "heads-share-the-embedding",
    "The heads are `n_embd // num_heads` wide: their width is `head_size`, which need not be that.",
    HEADS="nn.ModuleList([Head(n_embd, n_embd // num_heads, block_size, dropout) for _ in range(num_heads)])",
    OUT_LAYER="self.proj = nn.Linear(num_heads * (n_embd // num_heads), n_embd)",
)
mistake(
    "sizes-left-global",
    says("sizes-left-global", PARAMETERS="num_heads, head_size, n_embd, block_size and dropout"),
    {"num_heads, head_size, n_embd, block_size, dropout):": "num_heads, head_size):"},
    original="003",
)
forms.add_to(BANK)
