"""What goes wrong in `MultiHeadSelfAttention(k, h=4)`, as edits of the course's own answer, or of the original."""

from ...mistakes.bank import Bank, edited
from ..families import roles
from ..families.attention import mistakes as attention
from ..families.many_heads import mistakes as family
from ..families.wordings import says

BANK = Bank(
    "MultiHeadSelfAttention",
    places=attention.LAYERS
    | attention.CALLS
    | attention.OUT_LAYER
    | {
        "DIVIDES": """if k % h != 0:
            raise ValueError(f"{h} heads do not divide a width of {k}")""",
        "RANK": "if x.dim() not in (2, 3):",
        "CHECK": """if x.dim() not in (2, 3):
            raise ValueError(f"expected (t, k) or (b, t, k), got {tuple(x.shape)}")""",
        "NUMBER": "h, s = self.heads, self.s",
        "CUT": """queries = queries.transpose(-3, -2)
        keys = keys.transpose(-3, -2)
        values = values.transpose(-3, -2)""",
        "PRODUCT": "queries @ keys.transpose(-2, -1)",
        "SCALE": " / s ** 0.5",
        "SOFTMAX": "F.softmax(scores, dim=-1)",
        "MIX": "weights @ values",
        "MERGE": "out.transpose(-3, -2).reshape(*b, t, k)",
        "END": "self.unifyheads(out)",
        "RETURN": "return self.unifyheads(out)",
        "SUPER": "super().__init__()",
    },
    words=attention.WORDS
    | attention.NAMES_001
    | {
        "SIZES": "k, k",
        "OUT_SIZES": "k, k",
        "WIDTH": "a head's width",
        "N": "t",
        "SHAPE": "(t, k) or (b, t, k)",
        "ALL": "the width",
        "REST": "k % h",
        "HEADS": "h",
        "ONE": "h, s = 1, k",
        "FOUND": "out",
        "MERGED": "out",
        "MERGED_SHAPE": "*b, t, k",
        "RESHAPED": "queries, keys, values = (z.reshape(*b, h, t, s) for z in (queries, keys, values))",
        "FASTEST": "queries, keys, values = (z.reshape(*b, t, s, h).movedim(-1, -3) for z in (queries, keys, values))",
        "UNCHECKED": "x = x if x.dim() < 4 else x.flatten(0, 1)",
    },
)
mistake = BANK.mistake

# --- the original and its defects -----------------------------------------------------------------

BANK.released(
    "original-001",
    "This is the class as it was given. `super.init()` stops it: call `super`, then the parent's `__init__`."
    " More mistakes wait behind that one.",
    "001",
)
ORIGINAL = BANK["original-001"].source.replace("super.init()", "super().__init__()")
BANK.rewritten(
    "number-of-heads-overwritten",
    "`t, h = x.size()` calls the width of the input h, so that the reshape does not fit (RuntimeError), and it has no"
    " room for a batch (ValueError): the number of heads is `self.heads`.",
    ORIGINAL,
    original="001",
)
BANK.rewritten(
    "crashes-mended",
    "This is the published class with its crashes fixed: no output projection, the head is the fastest index, no"
    " batch.",
    edited(ORIGINAL, {"t, h = x.size()": "(t, _), h = x.size(), self.heads"}, "crashes-mended"),
    original="001",
)
BANK.share(attention.OUTPUT, originals={"no-output-projection": "001", "projection-never-used": "001"})
mistake(
    "no-batch",
    "A batch (b, t, k) is refused: one sequence and a batch should both work.",
    RANK="if x.dim() != 2:",
    original="001",
)

mistake(
    "no-batch-unpacked",
    "A batch (b, t, k) does not fit to `t, k = x.size()` (ValueError): one sequence and a batch should both work.",
    {"*b, t, k = x.size()": "(t, k), b = x.size(), ()"},
    original="001",
)
mistake(
    "another-number-by-default",
    "Without a second argument there are not four heads: the default of `h` is 4.",
    {"h=4": "h=2"},
)

# --- others ---------------------------------------------------------------------------------------

BANK.share(attention.NUMBER_OF_HEADS, originals={"assert-instead-of-an-error": "001"})
mistake(
    "only-batches",
    "One sequence (t, k) without a batch is refused or fails: both should work.",
    RANK="if x.dim() != 3:",
)
mistake(
    "only-batches-multiplied",
    "The product of queries and keys takes a batch alone (`einsum` with a letter for it, `transpose(2, 3)`): write"
    " `...` for what may come before, or count dimensions from the end.",
    PRODUCT='torch.einsum("bhis,bhjs->bhij", queries, keys)',
)
BANK.share(attention.SHARED, "batch-added", "batch-flattened")
mistake(
    "wide-heads",
    "The heads are as wide as the input: here they share the width, and the layers go from k to k.",
    {"self.s = k // h": "self.s = k"},
    W_QUERY="self.toqueries = nn.Linear(k, k * h, bias=False)",
    W_KEY="self.tokeys = nn.Linear(k, k * h, bias=False)",
    W_VALUE="self.tovalues = nn.Linear(k, k * h, bias=False)",
    OUT_LAYER="self.unifyheads = nn.Linear(k * h, k)",
    MERGE="out.transpose(-3, -2).flatten(-2)",
)
mistake(
    "always-four-heads",
    says("always-four-heads", NUMBER_OF_HEADS="h"),
    {"self.heads = h": "self.heads = h = 4"},
)
mistake(
    "input-cut",
    "Each head sees only its own share of the input: cut queries, keys and values after the projection, not the input.",
    NUMBER="{NUMBER}\n        own = torch.block_diag(*[torch.ones(s, s)] * h).to(x)  # (k, k), 1 where a head may look",
    QUERIES="F.linear(x, self.toqueries.weight * own)",
    KEYS="F.linear(x, self.tokeys.weight * own)",
    VALUES="F.linear(x, self.tovalues.weight * own)",
)
BANK.share(
    attention.IN_ANY_HEAD | attention.HEADS | attention.NO_BIASES,
    originals={"fast-head-index": "001"},
)
BANK.share(family.WRITTEN_OUT)
BANK.share(roles.of(BANK))
