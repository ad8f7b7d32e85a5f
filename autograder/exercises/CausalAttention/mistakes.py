"""What goes wrong in `CausalAttention(d_in, d_out, context_length, dropout, qkv_bias=False)`, as edits of an answer
that does every step itself; the course's own uses `attention` and `causal_mask`."""

from ...mistakes.bank import Bank
from ..families import forms, roles
from ..families.attention import mistakes as attention
from ..families.wordings import says

BANK = Bank(
    "CausalAttention",
    answer="step_by_step",
    places=attention.LAYERS
    | attention.CALLS
    | {
        "DROPOUT": "nn.Dropout(dropout)",
        "BUFFER": 'self.register_buffer("mask", torch.tril(torch.ones(context_length, context_length,'
        " dtype=torch.bool)))",
        "TRIANGLE": "torch.tril(torch.ones(context_length, context_length, dtype=torch.bool))",
        "CHECK": """if x.dim() != 3:
            raise ValueError(f"expected a batch (b, n, d_in), got {tuple(x.shape)}")
        n = x.shape[1]""",
        "LENGTH": "n = x.shape[1]",
        "TOO_LONG": "if n > self.context_length:\n"
        '            raise ValueError(f"a sequence of {n} tokens is longer than the context of {self.context_length}")',
        "LONGER": "n > self.context_length",
        "MESSAGE": 'f"a sequence of {n} tokens is longer than the context of {self.context_length}"',
        "MASK_IN_USE": "self.mask[:n, :n]",
        "PADDING": "if padding_mask is not None:\n            allowed = allowed & padding_mask[:, None, :]",
        "JOINED": "allowed & padding_mask[:, None, :]",
        "REAL": "padding_mask[:, None, :]",
        "NOTHING": "nothing = ~allowed.any(-1, keepdim=True)",
        "SCALED": "Q @ K.transpose(-2, -1) / K.shape[-1] ** 0.5",
        "PRODUCT": "Q @ K.transpose(-2, -1)",
        "SCALE": " / K.shape[-1] ** 0.5",
        "HIDE": 'scores = scores.masked_fill(~allowed, float("-inf"))',
        "FILL": 'float("-inf")',
        "HARMLESS": "scores = scores.masked_fill(nothing, 0.0)",
        "WEIGH": "weights = F.softmax(scores, dim=-1)",
        "SOFTMAX": "F.softmax(scores, dim=-1)",
        "CLEAR": "weights = weights.masked_fill(nothing, 0.0)",
        "DROP": "self.dropout(weights)",
        "RETURN": "return weights @ V",
        "MIX": "weights @ V",
        "END": "weights @ V",
    },
    words=attention.WORDS
    | attention.NAMES_004
    | {
        "N": "n",
        "SHAPE": "(b, n, d_in)",
        "BLOCK": "context",
        "LONGEST": "self.context_length",
        "GLOBAL_LONGEST": "context_length",
        "MASK": "self.mask",
        "ONES": "torch.ones(context_length, context_length, dtype=torch.bool)",
        "ALLOWED": "allowed",
        "UNDROPPED": "weights",
        "RENORMALISED": "weights / weights.sum(-1, keepdim=True).masked_fill(nothing, 1.0)",
        "UNCHECKED": "n = x.shape[-2]",
    },
)
mistake = BANK.mistake

# --- notebook 004 ---------------------------------------------------------------------------------

BANK.rewritten(
    "notebook-004",
    "This is the class as it was published: it takes no padding mask (TypeError), and leaves a sequence"
    " longer than the context to torch.",
    """\
class CausalAttention(nn.Module):
    def __init__(self, d_in, d_out, context_length, dropout, qkv_bias=False):
        super().__init__()
        self.W_query = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_key = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_value = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.dropout = nn.Dropout(dropout)
        self.register_buffer("mask", torch.triu(torch.ones(context_length, context_length), diagonal=1))

    def forward(self, x):
        b, n, _ = x.shape
        Q = self.W_query(x)             # (b, n, d_out)
        K = self.W_key(x)               # (b, n, d_out)
        V = self.W_value(x)             # (b, n, d_out)
        scores = Q @ K.transpose(1, 2)  # (b, n, n)
        scores.masked_fill_(self.mask[:n, :n].bool(), float("-inf"))
        weights = F.softmax(scores / (K.shape[-1] ** 0.5), dim=-1)
        weights = self.dropout(weights)
        return weights @ V              # (b, n, d_out)
""",
    original="004",
)

# --- padding --------------------------------------------------------------------------------------

mistake("padding-ignored", "These are the values you get when the padding mask plays no part.", PADDING="")
mistake(
    "padding-inverted",
    "These are the values you get when the padding mask is read the other way round: True means a real token.",
    REAL="~{REAL}",
)
mistake(
    "padding-masks-queries",
    "The padding mask hides rows, the queries, and padded keys are still seen: its new dimension belongs in the middle,"
    " (b, 1, n).",
    REAL="padding_mask[:, :, None]",
)
mistake(
    "padding-masks-both",
    "The padding mask hides keys, as it should, and padded queries too, which come out as 0: a padded query still"
    " attends to what is real.",
    JOINED="{JOINED} & padding_mask[:, :, None]",
)
mistake(
    "padding-or-past",
    "These are the values you get when a key is allowed that is real **or** in the past: it must be both, so join the"
    " masks by `&`.",
    JOINED="allowed | {REAL}",
)
mistake(
    "padding-alone",
    "When there is a padding mask it takes the place of the causal mask, and the future is seen: join the two by `&`.",
    JOINED="{REAL}",
)
mistake(
    "padding-in-the-values",
    "The values of the padding are set to 0, but its keys still take weight from the others: hide the keys, before the"
    " softmax.",
    PADDING="",
    VALUES="{VALUES}\n        if padding_mask is not None:\n            V = V * padding_mask[:, :, None]",
)
mistake(
    "padding-of-the-first",
    "The padding of the first sequence is used for all: each sequence of the batch has its own.",
    REAL="padding_mask[0]",
)
mistake(
    "padding-without-dimension",
    "The padding mask (b, n) is joined with the causal mask (n, n) as it is, which fits only when b = n or b = 1: put a"
    " dimension in, (b, 1, n).",
    REAL="padding_mask",
)
mistake(
    "padding-mask-changed-in-place",
    "The padding mask is changed in place, and whoever gave it still needs it: work on a copy.",
    JOINED="{JOINED}\n            padding_mask[:] = True",
)

# --- nothing left to attend to --------------------------------------------------------------------

EMPTY = {"HARMLESS": "", "CLEAR": ""}  # these queries get no special treatment
BANK.share(
    attention.MASKS,
    "asks-what-the-mask-holds",
    "nan-in-empty-rows",
    "nan-patched-in-weights",
    "nan-patched-in-output",
    edits={
        "asks-what-the-mask-holds": {
            "if padding_mask is not None:": "if padding_mask is not None and not padding_mask.all():"
        },
        "nan-in-empty-rows": EMPTY,
        "nan-patched-in-weights": {
            "HIDE": 'scores = scores + torch.zeros_like(scores).masked_fill(~allowed, float("-inf"))',
            "HARMLESS": "",
            "CLEAR": "weights = torch.nan_to_num(weights)",
        },
        "nan-patched-in-output": EMPTY | {"END": "torch.nan_to_num({END})"},
    },
)
BANK.variant(
    "nan-in-empty-rows",
    **EMPTY,
    HIDE='scores = scores + torch.zeros_like(scores).masked_fill(~allowed, float("-inf"))',
)
mistake(
    "uniform-in-empty-rows",
    "A query with nothing left to attend to spreads its weights over all keys, as when hidden scores are filled with"
    " the lowest finite number: its weights should be 0.",
    HARMLESS="",
    CLEAR="",
    FILL="torch.finfo(scores.dtype).min",
)
mistake(
    "sees-itself-when-empty",
    "A query with nothing left is made to attend to itself, though it is padding: it should get 0.",
    NOTHING="{NOTHING}\n        allowed = allowed | nothing & torch.eye(n, dtype=torch.bool, device=x.device)",
    HARMLESS="",
    CLEAR="",
)
mistake(
    "bias-in-empty-rows",
    "A query with nothing left gets the bias of `W_value`: the attention output is a sum of values times their weights,"
    " and all of these are 0.",
    MIX="self.W_value(weights @ x)",
)

# --- what goes wrong in any head, and in any causal one -------------------------------------------

BANK.share(attention.BIASES)
BANK.share(
    attention.SHARED,
    "scale-by-input-width",
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
    originals={"scale-by-input-width": "003"},
)
BANK.share(attention.CAUSAL_MASK | attention.DROPOUT)
BANK.variant("mask-inverted", HIDE='scores = scores.masked_fill(allowed, float("-inf"))')
BANK.share(attention.LENGTH, originals={"too-long-not-refused": "004"})
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
    | attention.RETURNED,
    edits={"dropout-on-masked-scores": {"SOFTMAX": "F.softmax(self.dropout(scores), dim=-1)", "DROP": "weights"}},
)
BANK.share(attention.SHARED, "output-projection-added")
NONE = says("none-inverted", MASK="padding_mask")
mistake("none-as-a-mask", NONE, PADDING="allowed = {JOINED}")
mistake("none-inverted", NONE, PADDING="allowed = allowed & ~(~padding_mask)[:, None, :]")
mistake("none-with-a-dimension", NONE, PADDING="allowed = allowed & padding_mask.unsqueeze(1)")
mistake(
    "none-as-a-condition",
    NONE,
    PADDING="allowed = torch.where(padding_mask, 1, 0)[:, None, :] * allowed == 1",
)
CAUSAL = 'scores = scores.masked_fill(~self.mask[:n, :n], float("-inf"))'
mistake(
    "padding-fills-with-ten-thousand",
    "Scores of the padding are filled with -10,000 or so, which real scores can reach: fill with -inf, as in the"
    " future.",
    HIDE=CAUSAL + "\n        if padding_mask is not None:\n            scores = scores.masked_fill(~{REAL}, -1e4)",
)
mistake(
    "padding-fills-with-billion",
    "Scores of the padding are filled with -1e9, and float16 has no such number: fill with -inf, as in the future.",
    HIDE=CAUSAL + "\n        if padding_mask is not None:\n            scores = scores.masked_fill(~{REAL}, -1e9)",
)
mistake(
    "padding-by-indexing",
    "The padding mask hides rows of the scores, the queries, as `scores[~padding_mask]` does, and makes them NaN: hide"
    " the keys, by `masked_fill` and a mask (b, 1, n).",
    PADDING="",
    HIDE="{HIDE}\n        if padding_mask is not None:\n            scores[~padding_mask] = {FILL}",
)
mistake(
    "padding-only-in-eval",
    "The padding mask is used in eval mode alone: padding is to be hidden in training as well.",
    {"if padding_mask is not None:": "if padding_mask is not None and not self.training:"},
)
mistake(
    "first-padding-kept",
    "The padding mask of the first call is kept and used again for the next: each call has its own.",
    PADDING="if padding_mask is not None:\n"
    "            self.padding = getattr(self, 'padding', padding_mask)\n"
    "            same = self.padding.shape == padding_mask.shape and self.padding.device == x.device\n"
    "            allowed = allowed & (self.padding if same else padding_mask)[:, None, :]",
)
RANK = "An input of the wrong rank stops with another error than a `ValueError`, or is accepted: look at `x.dim()`."
mistake("rank-asserted", RANK, CHECK="assert x.dim() == 3\n        n = x.shape[1]")
mistake(
    "rank-as-a-type-error",
    RANK,
    {'raise ValueError(f"expected a batch': 'raise TypeError(f"expected a batch'},
)
BANK.share(roles.of(BANK))
forms.add_to(BANK)
