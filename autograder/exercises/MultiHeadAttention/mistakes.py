"""What goes wrong in `MultiHeadAttention(d_in, d_out, context_length, dropout, num_heads, qkv_bias=False)`.

The mistakes are edits of the course's own answer. The one line that makes queries, keys and values is the place ROLES.
"""

from ...mistakes.bank import Bank
from ...mistakes.signs import keeps_tensor
from ..families import forms, roles
from ..families.attention import mistakes as attention
from ..families.many_heads import mistakes as family

BANK = Bank(
    "MultiHeadAttention",
    places=attention.LAYERS
    | attention.OUT_LAYER
    | {
        "DIVIDES": """if d_out % num_heads != 0:
            raise ValueError(f"num_heads = {num_heads} does not divide d_out = {d_out}")""",
        "DROPOUT": "nn.Dropout(dropout)",
        "TRIANGLE": "torch.ones(context_length, context_length, dtype=torch.bool).tril()",
        "BUFFER": 'self.register_buffer("mask", allowed, persistent=False)',
        "CHECK": """if x.dim() != 3:
            raise ValueError(f"expected (b, n, d_in), got {tuple(x.shape)}")""",
        "TOO_LONG": """if n > self.mask.shape[0]:
            raise ValueError(f"{n} tokens are more than context_length = {self.mask.shape[0]}")""",
        "ROLES": "(self.W_query, self.W_key, self.W_value)",
        "CUT": ".reshape(b, n, self.num_heads, -1).transpose(1, 2)",
        "NUMBER": ".reshape(b, n, self.num_heads, -1)",
        "SCALED": "Q @ K.transpose(2, 3) / K.shape[-1] ** 0.5",
        "PRODUCT": "Q @ K.transpose(2, 3)",
        "SCALE": " / K.shape[-1] ** 0.5",
        "HIDE": 'scores = scores.masked_fill(~self.mask[:n, :n], float("-inf"))',
        "MASK_IN_USE": "self.mask[:n, :n]",
        "FILL": 'float("-inf")',
        "DROP": "self.dropout(F.softmax(scores, dim=-1))",
        "SOFTMAX": "F.softmax(scores, dim=-1)",
        "MIX": "weights @ V",
        "MERGE": "found.transpose(1, 2).flatten(2)",
        "END": "self.out_proj(found)",
        "RETURN": "return self.out_proj(found)",
        "SUPER": "super().__init__()",
        "LENGTH": "b, n, _ = x.shape",
        "LONGER": "n > self.mask.shape[0]",
    },
    words=attention.WORDS
    | attention.NAMES_004
    | {
        "PROJECTION": "out_proj",
        "OUT_SIZES": "d_out, d_out",
        "WIDTH": "a head's width",
        "N": "n",
        "SHAPE": "(b, n, d_in)",
        "ALL": "`d_out`",
        "REST": "d_out % num_heads",
        "HEADS": "self.num_heads",
        "ONE": ".reshape(b, n, 1, -1)",
        "FOUND": "found",
        "MERGED": "found",
        "MERGED_SHAPE": "b, n, -1",
        "RESHAPED": ".reshape(b, self.num_heads, n, -1)",
        "FASTEST": ".reshape(b, n, -1, self.num_heads).permute(0, 3, 1, 2)",
        "BLOCK": "context",
        "MASK": "self.mask",
        "ONES": "torch.ones(context_length, context_length, dtype=torch.bool)",
        "ALLOWED": "self.mask[:n, :n]",
        "LONGEST": "self.mask.shape[0]",
        "GLOBAL_LONGEST": "context_length",
        "UNCHECKED": "x = x if x.dim() < 4 else x.flatten(0, 1)",
    },
)
mistake = BANK.mistake

# --- heads ----------------------------------------------------------------------------------------

mistake(
    "heads-in-a-loop",
    "The heads are computed one after another in a Python loop: give the tensors a head dimension, and multiply all at"
    " once.",
    MIX="torch.stack([weights[:, i] @ V[:, i] for i in range(self.num_heads)], dim=1)",
)

# --- buffers --------------------------------------------------------------------------------------

mistake(
    "mask-is-a-plain-attribute",
    "The mask is a plain attribute, which `.to(device)` leaves behind: register it as a buffer.",
    BUFFER="self.mask = allowed",
    sign=keeps_tensor,
)
mistake(
    "mask-is-a-parameter",
    "The mask is an `nn.Parameter`, so that it counts among what is learnt: register it as a buffer.",
    BUFFER="self.mask = nn.Parameter(allowed, requires_grad=False)",
)

# --- projections and heads ------------------------------------------------------------------------

BANK.share(
    attention.IN_ANY_HEAD | attention.HEADS,
    edits={
        "layers-made-in-forward": {
            "W_QUERY": "",
            "W_KEY": "",
            "W_VALUE": "",
            "ROLES": "[nn.Linear(x.shape[-1], self.out_proj.in_features, bias=False) for _ in range(3)]",
        },
    },
)
BANK.share(attention.BIASES | attention.OUTPUT | attention.NUMBER_OF_HEADS)

# --- the causal mask, dropout ---------------------------------------------------------------------

BANK.share(family.CAUSAL)
mistake(
    "dropout-alike-in-all-heads",
    "All heads drop the same weights: the chance should be drawn for each head by itself.",
    DROP="{SOFTMAX} * self.dropout(torch.ones_like(scores[:, :1]))",
)
BANK.share(attention.SHARED, "scale-by-input-width")
BANK.share(
    family.WRITTEN_OUT | family.CAUSAL_WRITTEN_OUT,
    edits={
        "first-weights-kept": {
            "ROLES": "(self.W_query, self.first_keys, self.W_value)",
            "    def forward(self, x):": """    def first_keys(self, x):
        if not hasattr(self, "kept"):
            self.kept = self.W_key.weight.detach().clone()
        return F.linear(x, self.kept)

    def forward(self, x):""",
        },
    },
)
BANK.share(roles.of(BANK))
forms.add_to(BANK)
