"""What goes wrong in `CausalAttention(d_in, d_out, context_length, dropout, qkv_bias=False)`, as edits of an answer
that does every step by itself: the course's own stands on `attention` and `causal_mask`."""

from ...mistakes.bank import Bank
from ..families.single_head import mistakes as family

BANK = Bank(
    "CausalAttention",
    answer="step_by_step",
    places={
        "QUERY_LAYER": "self.W_query = nn.Linear(d_in, d_out, bias=qkv_bias)",
        "KEY_LAYER": "self.W_key = nn.Linear(d_in, d_out, bias=qkv_bias)",
        "VALUE_LAYER": "self.W_value = nn.Linear(d_in, d_out, bias=qkv_bias)",
        "DROPOUT": "nn.Dropout(dropout)",
        "BUFFER": 'self.register_buffer("mask", torch.tril(torch.ones(context_length, context_length,'
        " dtype=torch.bool)))",
        "TRIANGLE": "torch.tril(torch.ones(context_length, context_length, dtype=torch.bool))",
        "WRONG_RANK": 'if x.dim() != 3:\n            raise ValueError(f"expected a batch (b, n, d_in), got'
        ' {tuple(x.shape)}")',
        "LENGTH": "n = x.shape[1]",
        "TOO_LONG": "if n > self.context_length:\n"
        '            raise ValueError(f"a sequence of {n} tokens is longer than the context of {self.context_length}")',
        "LONGER": "n > self.context_length",
        "MESSAGE": 'f"a sequence of {n} tokens is longer than the context of {self.context_length}"',
        "CUT": "self.mask[:n, :n]",
        "PADDING": "if padding_mask is not None:\n            allowed = allowed & padding_mask[:, None, :]",
        "JOINED": "allowed & padding_mask[:, None, :]",
        "REAL": "padding_mask[:, None, :]",
        "NOTHING": "nothing = ~allowed.any(-1, keepdim=True)",
        "MAKE_QUERIES": "Q = self.W_query(x)",
        "MAKE_KEYS": "K = self.W_key(x)",
        "MAKE_VALUES": "V = self.W_value(x)",
        "SCALED": "Q @ K.transpose(-2, -1) / K.shape[-1] ** 0.5",
        "PRODUCT": "Q @ K.transpose(-2, -1)",
        "TRANSPOSE": ".transpose(-2, -1)",
        "SCALE": " / K.shape[-1] ** 0.5",
        "HIDE": 'scores = scores.masked_fill(~allowed, float("-inf"))',
        "FILL": 'float("-inf")',
        "HARMLESS": "scores = scores.masked_fill(nothing, 0.0)",
        "WEIGH": "weights = F.softmax(scores, dim=-1)",
        "SOFTMAX": "F.softmax(scores, dim=-1)",
        "DIM": "dim=-1",
        "CLEAR": "weights = weights.masked_fill(nothing, 0.0)",
        "DROP": "self.dropout(weights)",
        "RETURN": "return weights @ V",
        "OUTPUT": "weights @ V",
    },
    words={
        "QUERY": "W_query",
        "KEY": "W_key",
        "VALUE": "W_value",
        "Q": "Q",
        "K": "K",
        "V": "V",
        "SCORES": "scores",
        "WEIGHTS": "weights",
        "SIZES": "d_in, d_out",
        "WIDTH": "d_out",
        "INPUT": "d_in",
        "N": "n",
        "SHAPE": "(b, n, d_in)",
        "BLOCK": "context",
        "LONGEST": "self.context_length",
        "MASK": "self.mask",
        "ONES": "torch.ones(context_length, context_length, dtype=torch.bool)",
        "ALLOWED": "allowed",
        "UNDROPPED": "weights",
        "RENORMALISED": "weights / weights.sum(-1, keepdim=True).masked_fill(nothing, 1.0)",
    },
)
mistake = BANK.mistake

# --- notebook 004 ---------------------------------------------------------------------------------

BANK.rewritten(
    "notebook-004",
    "This is notebook 004's class as it stands there: it takes no padding mask (TypeError), and leaves a sequence"
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
    MAKE_VALUES="{MAKE_VALUES}\n        if padding_mask is not None:\n            V = V * padding_mask[:, :, None]",
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
mistake(
    "asks-what-the-mask-holds",
    "An `if` asks what the padding mask holds, which a tensor on `meta` can't tell: let `masked_fill` or `where` decide"
    " entry by entry.",
    {"if padding_mask is not None:": "if padding_mask is not None and not padding_mask.all():"},
)

# --- nothing left to attend to --------------------------------------------------------------------

mistake(
    "nan-in-empty-rows",
    "A query with nothing left has only scores of -inf, of which softmax makes NaN: give that row harmless scores"
    " before the softmax, and weights of 0 after it.",
    HARMLESS="",
    CLEAR="",
)
mistake(
    "nan-patched-in-weights",
    "-inf is added to masked scores and `nan_to_num` hides the NaN of a query with nothing left, but its gradient stays"
    " NaN: give that row harmless scores before the softmax.",
    HIDE='scores = scores + torch.zeros_like(scores).masked_fill(~allowed, float("-inf"))',
    HARMLESS="",
    CLEAR="weights = torch.nan_to_num(weights)",
)
mistake(
    "nan-patched-in-output",
    "`nan_to_num` on the output hides the NaN of a query with nothing left, and gradients that go through the weights"
    " are NaN: give that row harmless scores before the softmax.",
    HARMLESS="",
    CLEAR="",
    OUTPUT="torch.nan_to_num({OUTPUT})",
)
mistake(
    "uniform-in-empty-rows",
    "Hidden scores are filled with the lowest finite number, so a query with nothing left spreads its weights over all"
    " keys, the future too: its weights should be 0.",
    FILL="torch.finfo(scores.dtype).min",
    HARMLESS="",
    CLEAR="",
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
    OUTPUT="self.W_value(weights @ x)",
)

# --- what all heads with biases, and all causal heads, have in common -----------------------------

BANK.share(family.BIASES)
BANK.share(family.SHARED, "scale-by-input-width", originals={"scale-by-input-width": "003"})
BANK.share(family.PROJECTIONS)
BANK.share(family.SCORES)
BANK.share(family.CAUSAL_MASK)
BANK.share(family.DROPOUT)
BANK.share(family.CALLS, originals={"too-long-not-refused": "004"})
