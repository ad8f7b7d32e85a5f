"""What goes wrong in `softmax_kernel(…)`, as edits of our own answer."""

from ...mistakes.bank import Bank
from ...mistakes.prices import ALL
from ...mistakes.signs import has, lacks, loads_infinity
from ..families.wordings import says

BANK = Bank(
    "softmax_kernel",
    places={
        "ROW": "row = tl.program_id(0)",
        "PLACES": "places = tl.arange(0, BLOCK)",
        "INSIDE": "inside = places < columns",
        "LOAD": 'tl.load(x_ptr + row * x_stride + places, mask=inside, other=-float("inf"))',
        "X_ROW": "row * x_stride",
        "OTHER": 'other=-float("inf")',
        "LARGEST": "tl.max(x, axis=0)",
        "NEW": "tl.exp(x - largest)",
        "SUM": "tl.sum(new, axis=0)",
        "STORE": "tl.store(out_ptr + row * out_stride + places, new / total, mask=inside)",
        "OUT_ROW": "row * out_stride",
        "RESULT": "new / total",
    },
)
mistake, variant = BANK.mistake, BANK.variant

# --- which numbers --------------------------------------------------------------------------------

mistake(
    "first-row-by-all", "Every program works on the first row: program i has row i.", ROW="row = 0 * tl.program_id(0)"
)
mistake(
    "columns-for-the-stride",
    "Rows are taken to lie `columns` apart: they lie `x_stride` apart, and `out_stride` where they go.",
    X_ROW="row * columns",
    OUT_ROW="row * columns",
)
mistake(
    "columns-for-the-stride-of-x",
    "The rows of x are taken to lie `columns` apart: they lie `x_stride` apart.",
    X_ROW="row * columns",
)
mistake(
    "columns-for-the-stride-of-the-output",
    "The rows of the output are taken to lie `columns` apart: they lie `out_stride` apart.",
    OUT_ROW="row * columns",
)
mistake(
    "one-stride-for-both",
    "The stride of x is used for the output: rows lie `out_stride` apart there.",
    OUT_ROW="row * x_stride",
)
mistake(
    "block-for-the-stride",
    "Rows are taken to lie BLOCK apart: they lie `x_stride` apart, and `out_stride` where they go.",
    X_ROW="row * BLOCK",
    OUT_ROW="row * BLOCK",
)
mistake(
    "no-row-in-the-output",
    "All rows are written to the place of the first one: row i goes to i · out_stride.",
    OUT_ROW="0",
)
mistake(
    "all-rows-by-each",
    "Each program makes all rows: program i makes row i alone.",
    ROW="row = 0 * tl.program_id(0)",
    STORE="""tl.store(out_ptr + row * out_stride + places, new / total, mask=inside)
    for row in range(1, tl.num_programs(0)):
        x = tl.load(x_ptr + row * x_stride + places, mask=inside, other=-float("inf")).to(tl.float32)
        new = tl.exp(x - tl.max(x, axis=0))
        tl.store(out_ptr + row * out_stride + places, new / tl.sum(new, axis=0), mask=inside)""",
)

# --- the tail -------------------------------------------------------------------------------------

mistake(
    "tail-counts-as-zero",
    "Behind the end of a row 0 is loaded, or whatever is there, and exp(0) counts in the sum: load −∞ there.",
    OTHER="other=0.0",
    sign=lacks(loads_infinity),
)
variant("tail-counts-as-zero", LOAD="tl.load(x_ptr + row * x_stride + places, mask=inside)")
mistake(
    "zero-in-the-maximum",
    "Behind the end of a row 0 is loaded and kept out of the sum alone: in a very negative row it is the largest, and"
    " all exponentials vanish. Load −∞ there.",
    OTHER="other=0.0",
    NEW="tl.where(inside, tl.exp(x - largest), 0.0)",
    sign=lacks(loads_infinity, has("abs")),
)
mistake(
    "largest-of-sizes",
    "The largest absolute value is subtracted: in a very negative row it is far above all numbers, and all exponentials"
    " vanish. Subtract the largest number.",
    LARGEST="tl.max(tl.where(inside, tl.abs(x), 0.0), axis=0)",
    sign=has("abs"),
)
mistake(
    "tail-not-infinite",
    "Behind the end of a row a number such as -10,000 is loaded, which counts in rows as negative as that: load −∞.",
    OTHER="other=-1e4",
    sign=lacks(loads_infinity),
)
mistake(
    "mask-by-the-place-in-memory",
    "The mask compares places in memory with `columns`, so that later rows are left out: compare the place within the"
    " row.",
    LOAD='tl.load(x_ptr + row * x_stride + places, mask=row * x_stride + places < columns, other=-float("inf"))',
    STORE="tl.store(out_ptr + row * out_stride + places, new / total, mask=row * out_stride + places < columns)",
)
mistake(
    "load-not-masked",
    "The load has no mask, so the numbers behind a row count in its sum: mask it, with −∞ for what is outside.",
    LOAD="tl.load(x_ptr + row * x_stride + places)",
)
mistake(
    "store-not-masked",
    says("store-not-masked"),
    STORE="tl.store(out_ptr + row * out_stride + places, new / total)",
)
mistake(
    "one-too-many",
    "The mask lets one place too many through: the last one of a row is columns - 1.",
    INSIDE="inside = places <= columns",
)
mistake(
    "one-too-few",
    "The mask leaves the last number of a row out: places up to columns - 1 are inside.",
    INSIDE="inside = places < columns - 1",
)

# --- the softmax ----------------------------------------------------------------------------------

mistake(
    "nothing-subtracted",
    says("nothing-subtracted", LARGEST="the largest of the row"),
    price=0.4,
    LARGEST="0.0",
)
mistake(
    "scores-clipped",
    "Scores are clipped to a range instead of subtracting the largest: beyond it, different scores get equal weights.",
    NEW="tl.where(inside, tl.exp(tl.minimum(tl.maximum(x, -80.0), 80.0)), 0.0)",
)
mistake(
    "largest-not-above-zero",
    "What is subtracted is 0 where all of a row is negative, so very negative rows vanish: start the maximum from −∞.",
    LARGEST="tl.maximum(tl.max(x, axis=0), 0.0)",
)
mistake(
    "smallest-subtracted",
    "The smallest number of the row is subtracted: with the largest no exponential overflows.",
    LARGEST="tl.min(tl.where(inside, x, float('inf')), axis=0)",
)
mistake(
    "mean-subtracted",
    says("mean-subtracted"),
    LARGEST="tl.sum(tl.where(inside, x, 0.0), axis=0) / columns",
)
mistake("never-divided", says("never-divided", HOW=""), RESULT="new")
mistake(
    "divided-by-the-number",
    "The exponentials are divided by the number of columns: divide by their sum.",
    SUM="columns",
)
mistake(
    "powers-of-two",
    says("powers-of-two"),
    NEW="tl.exp2(x - largest)",
)
mistake(
    "logarithm",
    "The logarithm of the softmax is written: leave the last `log` away.",
    RESULT="x - largest - tl.log(total)",
)
mistake(
    "rounded-to-float16",
    "The weights are rounded to float16 whatever the dtype of the output: the store changes the dtype by itself.",
    RESULT="(new / total).to(tl.float16)",
)
mistake(
    "two-passes",
    "`x` is read twice: the row is in registers after the first load, so use it again.",
    NEW='tl.exp(tl.load(x_ptr + row * x_stride + places, mask=inside, other=-float("inf")).to(tl.float32) - largest)',
)
mistake(
    "written-twice",
    "The output is written twice, once before it is divided: write it once, at the end.",
    SUM="tl.sum(new, axis=0)\n    tl.store(out_ptr + {OUT_ROW} + places, new, mask=inside)",
)
mistake(
    "written-to-x",
    says("written-to-x", WHAT="softmax"),
    STORE="tl.store(x_ptr + row * x_stride + places, new / total, mask=inside)",
)
mistake(
    "not-triton",
    "It uses what Triton's compiler does not know, such as torch or a module: a kernel has `tl` and numbers.",
    price=ALL,
    INSIDE="inside = places < columns\n    torch.is_tensor(columns)",
)
mistake(
    "and-for-a-mask",
    says("and-for-a-mask"),
    INSIDE="inside = (places < columns) and (places >= 0)",
)
