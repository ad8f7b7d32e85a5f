"""What goes wrong in `MultiHeadAttention(d_in, d_out, context_length, dropout, num_heads, qkv_bias=False)`.

The mistakes are edits of the course's own answer, where one line makes queries, keys and values: it is the place ROLES.
"""

from ...mistakes.bank import Bank, shared
from ..families.many_heads import mistakes as family

LAYERS = """self.W_query = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_key = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_value = nn.Linear(d_in, d_out, bias=qkv_bias)"""

BANK = Bank(
    "MultiHeadAttention",
    places={
        "DIVIDE": """if d_out % num_heads != 0:
            raise ValueError(f"num_heads = {num_heads} does not divide d_out = {d_out}")""",
        "LAYERS": LAYERS,
        "OUT_LAYER": "self.out_proj = nn.Linear(d_out, d_out)",
        "OUT": "self.out_proj = nn.Linear(d_out, d_out",
        "DROPOUT": "nn.Dropout(dropout)",
        "TRIANGLE": "torch.ones(context_length, context_length, dtype=torch.bool).tril()",
        "BUFFER": 'self.register_buffer("mask", allowed, persistent=False)',
        "START": """if x.dim() != 3:
            raise ValueError(f"expected (b, n, d_in), got {tuple(x.shape)}")
        b, n, _ = x.shape""",
        "SIZES": "b, n, _ = x.shape",
        "TOO_LONG": "if n > self.mask.shape[0]:",
        "ROLES": "(self.W_query, self.W_key, self.W_value)",
        "CUT": ".reshape(b, n, self.num_heads, -1).transpose(1, 2)",
        "NUMBER": ".reshape(b, n, self.num_heads, -1)",
        "SCALE": " / K.shape[-1] ** 0.5",
        "HIDE": 'scores = scores.masked_fill(~self.mask[:n, :n], float("-inf"))',
        "HIDDEN": "~self.mask[:n, :n]",
        "CORNER": "[:n, :n]",
        "FILL": 'float("-inf")',
        "DROP": "self.dropout(F.softmax(scores, dim=-1))",
        "SOFTMAX": "F.softmax(scores, dim=-1)",
        "MIX": "weights @ V",
        "MERGE": "found.transpose(1, 2).flatten(2)",
        "END": "self.out_proj(found)",
    },
    words={
        "PROJECTION": "out_proj",
        "ALL": "`d_out`",
        "REST": "d_out % num_heads",
        "CONTEXT": "context_length",
        "SIDE": "context_length",
        "ALLOWED": "self.mask[:n, :n]",
        "DIVIDED_BY": " /",
        "WIDTH": "K.shape[-1]",
        "HEADS": "self.num_heads",
        "TOKENS": "n",
        "SCORES": "scores",
        "FOUND": "found",
        "SHAPE": "b, n, -1",
        "RESHAPED": ".reshape(b, self.num_heads, n, -1)",
        "FASTEST": ".reshape(b, n, -1, self.num_heads).permute(0, 3, 1, 2)",
        "ONE": ".reshape(b, n, 1, -1)",
        "SOFTMAX_OVER_HEADS": "F.softmax(scores, dim=1)",
    },
    # Both leave the mask on the CPU, with the same error from the same operation.
    alike={"mask-made-on-the-cpu": "mask-is-a-plain-attribute"},
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
)
mistake(
    "mask-is-a-parameter",
    "The mask is an `nn.Parameter`, so that it counts among what is learnt: register it as a buffer.",
    BUFFER="self.mask = nn.Parameter(allowed, requires_grad=False)",
)

# --- projections and heads ------------------------------------------------------------------------

BY_ROLES = {
    "keys-from-queries": {"ROLES": "(self.W_query, self.W_query, self.W_value)"},
    "values-from-queries": {"ROLES": "(self.W_query, self.W_key, self.W_query)"},
    "keys-as-values": {"ROLES": "(self.W_query, self.W_key, self.W_key)"},
    "query-and-key-swapped": {"ROLES": "(self.W_key, self.W_query, self.W_value)"},
    "layers-made-in-forward": {
        "LAYERS": "",
        "ROLES": "[nn.Linear(x.shape[-1], self.out_proj.in_features, bias=False) for _ in range(3)]",
    },
    "values-detached": {"MIX": "weights @ V.detach()"},
}
BANK.share(family.EVERYWHERE | {id: shared(family.ONE_HEAD[id].says, **new) for id, new in BY_ROLES.items()})
mistake(
    "never-bias",
    "The layers have no bias even when `qkv_bias` is true: pass it on to all three.",
    LAYERS=LAYERS.replace("bias=qkv_bias", "bias=False"),
)
mistake(
    "always-bias",
    "The layers for queries, keys and values have a bias also when `qkv_bias` is false.",
    LAYERS=LAYERS.replace(", bias=qkv_bias", ""),
)
mistake(
    "value-without-bias",
    "With `qkv_bias=True` only queries and keys have a bias: `W_value` should have one as well.",
    {"self.W_value = nn.Linear(d_in, d_out, bias=qkv_bias)": "self.W_value = nn.Linear(d_in, d_out, bias=False)"},
)
BANK.share(family.NARROW)

# --- the causal mask, dropout ---------------------------------------------------------------------

BANK.share(family.CAUSAL)
mistake(
    "dropout-alike-in-all-heads",
    "All heads drop the same weights: the chance should be drawn for each head by itself.",
    DROP="{SOFTMAX} * self.dropout(torch.ones_like(scores[:, :1]))",
)
mistake(
    "scale-by-input-width",
    "These are the values you get when scores are divided by the root of the input's width: it is one head's width"
    " that counts.",
    SCALE=" / x.shape[-1] ** 0.5",
)
