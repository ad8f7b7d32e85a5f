"""What goes wrong in `MultiHeadSelfAttention(k, h=4)`, as edits of the course's own answer, or of the original."""

from ...mistakes.bank import Bank, edited
from ..families.many_heads import mistakes as family

LAYERS = """self.toqueries = nn.Linear(k, k, bias=False)
        self.tokeys = nn.Linear(k, k, bias=False)
        self.tovalues = nn.Linear(k, k, bias=False)"""

BANK = Bank(
    "MultiHeadSelfAttention",
    places={
        "DIVIDE": """if k % h != 0:
            raise ValueError(f"{h} heads do not divide a width of {k}")""",
        "LAYERS": LAYERS,
        "OUT_LAYER": "self.unifyheads = nn.Linear(k, k)",
        "OUT": "self.unifyheads = nn.Linear(k, k",
        "RANK": "if x.dim() not in (2, 3):",
        "START": """if x.dim() not in (2, 3):
            raise ValueError(f"expected (t, k) or (b, t, k), got {tuple(x.shape)}")
        *b, t, k = x.size()""",
        "SIZES": "*b, t, k = x.size()",
        "NUMBER": "h, s = self.heads, self.s",
        "QUERIES": "self.toqueries(x)",
        "KEYS": "self.tokeys(x)",
        "VALUES": "self.tovalues(x)",
        "CUT": """queries = queries.transpose(-3, -2)
        keys = keys.transpose(-3, -2)
        values = values.transpose(-3, -2)""",
        "SCALE": " / s ** 0.5",
        "SOFTMAX": "F.softmax(scores, dim=-1)",
        "MERGE": "out.transpose(-3, -2).reshape(*b, t, k)",
        "END": "self.unifyheads(out)",
    },
    words={
        "PROJECTION": "unifyheads",
        "ALL": "the width",
        "REST": "k % h",
        "BIASED": LAYERS.replace(", bias=False", ""),
        "INPUT": "k",
        "INNER": "k",
        "DIVIDED_BY": " /",
        "WIDTH": "s",
        "HEADS": "h",
        "TOKENS": "t",
        "SCORES": "scores",
        "FOUND": "out",
        "SHAPE": "*b, t, k",
        "RESHAPED": "queries, keys, values = (z.reshape(*b, h, t, s) for z in (queries, keys, values))",
        "FASTEST": "queries, keys, values = (z.reshape(*b, t, s, h).movedim(-1, -3) for z in (queries, keys, values))",
        "ONE": "h, s = 1, k",
        "SOFTMAX_OVER_HEADS": "F.softmax(scores, dim=-3)",
    },
)
mistake = BANK.mistake

# --- the original and its defects -----------------------------------------------------------------

BANK.released(
    "original-001",
    "This is notebook 001's class as it was given. `super.init()` stops it: call `super`, then the parent's `__init__`."
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
    "This is notebook 001's class with its crashes mended: no output projection, the head is the fastest index, no"
    " batch.",
    edited(ORIGINAL, {"t, h = x.size()": "(t, _), h = x.size(), self.heads"}, "crashes-mended"),
    original="001",
)
BANK.share(
    family.NARROW,
    "no-output-projection",
    "projection-never-used",
    originals={"no-output-projection": "001", "projection-never-used": "001"},
)
mistake(
    "no-batch",
    "A batch (b, t, k) is refused: one sequence and a batch should both work.",
    RANK="if x.dim() != 2:",
    original="001",
)
BANK.share(
    family.NARROW,
    "assert-instead-of-an-error",
    originals={"assert-instead-of-an-error": "001"},
)

# --- others ---------------------------------------------------------------------------------------

BANK.share(family.NARROW, "indivisible-floored", "error-without-numbers")
mistake(
    "only-batches",
    "One sequence (t, k) without a batch is refused or fails: both should work.",
    RANK="if x.dim() != 3:",
)
mistake(
    "batch-added",
    "One sequence (t, k) comes out as a batch of one: take the dimension that you added away again.",
    SIZES="x = x if x.dim() == 3 else x[None]\n        {SIZES}",
)
mistake(
    "batch-flattened",
    "The sequences of a batch are joined into one long sequence, so they see each other.",
    SIZES="shape = x.shape\n        x = x.reshape(-1, shape[-1])\n        {SIZES}",
    END="{END}.reshape(shape)",
)
mistake(
    "wide-heads",
    "The heads are as wide as the input: here they share the width, and the layers go from k to k.",
    {"self.s = k // h": "self.s = k"},
    LAYERS=LAYERS.replace("nn.Linear(k, k", "nn.Linear(k, k * h"),
    OUT="self.unifyheads = nn.Linear(k * h, k",
    MERGE="out.transpose(-3, -2).flatten(-2)",
)
mistake(
    "always-four-heads",
    "There are four heads whatever `h` says: use the parameter.",
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
BANK.share(family.EVERYWHERE, originals={"fast-head-index": "001"})
BANK.share(family.NEVER_BIASED)
