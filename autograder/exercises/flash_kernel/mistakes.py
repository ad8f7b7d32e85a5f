"""What goes wrong in `flash_kernel(…)`, as edits of our own answer.

Two shipped: a mask that is left away on tiles which reach over the diagonal where BLOCK_M < BLOCK_N
(triton-lang/triton#8853), and an lse to the base 2 (ROCm/aotriton#108).
"""

from ...mistakes.bank import Bank
from ...mistakes.prices import ALL
from ..families.wordings import says

BANK = Bank(
    "flash_kernel",
    places={
        "FIRST": "first, head = tl.program_id(0) * BLOCK_M, tl.program_id(1)",
        "ROWS": "rows, features = first + tl.arange(0, BLOCK_M), tl.arange(0, D)",
        "ROW_PLACES": "head * t * D + rows[:, None] * D + features[None, :] ",
        "Q": "tl.load(q_ptr + row_places, mask=rows[:, None] < t, other=0.0)",
        "LARGEST": 'tl.full((BLOCK_M,), -float("inf"), tl.float32)',
        "END": "end = tl.minimum(first + BLOCK_M, t)",
        "LOOP": "for start in range(0, end, BLOCK_N):",
        "COLUMNS": "columns = start + tl.arange(0, BLOCK_N)",
        "COLUMN_PLACES": "head * t * D + columns[:, None] * D + features[None, :]",
        "K": "tl.load(k_ptr + column_places, mask=columns[:, None] < t, other=0.0)",
        "V": "tl.load(v_ptr + column_places, mask=columns[:, None] < t, other=0.0)",
        "SCALE": " * scale  ",
        "SEEN": "seen = columns[None, :] < t",
        "PAST": "seen = seen & (columns[None, :] <= rows[:, None])",
        "FILL": 'scores = tl.where(seen, scores, -float("inf"))',
        "LARGER": "tl.maximum(largest, tl.max(scores, axis=1))",
        "OLD": "old = tl.exp(largest - larger)",
        "NEW": "new = tl.exp(scores - larger[:, None])",
        "TOTAL": "total = total * old + tl.sum(new, axis=1)",
        "FOUND": 'found = found * old[:, None] + tl.dot(new.to(v.dtype), v, input_precision="ieee")',
        "CARRIED": "largest = larger\n",
        "OUT": "found / total[:, None]",
        "STORE_MASK": "found / total[:, None], mask=rows[:, None] < t",
        "LSE": "largest + tl.log(total)",
        "STORE_LSE": "tl.store(lse_ptr + head * t + rows, largest + tl.log(total), mask=rows < t)",
    },
)
mistake, variant = BANK.mistake, BANK.variant

# --- places ---------------------------------------------------------------------------------------

mistake(
    "first-block-by-all",
    says("first-block-by-all", WHERE="query i · BLOCK_M"),
    FIRST="first, head = 0 * tl.program_id(0), tl.program_id(1)",
)
mistake(
    "first-head-by-all",
    "Every program works on the first head: its number is `tl.program_id(1)`.",
    FIRST="first, head = tl.program_id(0) * BLOCK_M, 0 * tl.program_id(1)",
)
mistake(
    "axes-exchanged",
    "Blocks and heads are exchanged: axis 0 of the grid has the blocks of queries, axis 1 the heads.",
    FIRST="first, head = tl.program_id(1) * BLOCK_M, tl.program_id(0)",
)
mistake(
    "blocks-by-the-keys",
    "Program i begins at query i · BLOCK_N: blocks of queries have BLOCK_M.",
    FIRST="first, head = tl.program_id(0) * BLOCK_N, tl.program_id(1)",
)
mistake(
    "keys-of-the-first-head",
    "Keys and values are always those of the first head: a head's begin at head · t · D.",
    COLUMN_PLACES="columns[:, None] * D + features[None, :]",
)
mistake(
    "heads-not-apart-by-t",
    "Heads are taken to lie D numbers apart: they lie t · D apart.",
    ROW_PLACES="head * D + rows[:, None] * D + features[None, :] ",
    COLUMN_PLACES="head * D + columns[:, None] * D + features[None, :]",
)
mistake(
    "lse-of-the-first-head",
    "The lse of all heads is written to the place of the first one: a head's begins at head · t.",
    STORE_LSE="tl.store(lse_ptr + rows, largest + tl.log(total), mask=rows < t)",
)
mistake(
    "tiles-by-the-queries",
    "The loop over keys goes on by BLOCK_M: tiles of keys have BLOCK_N.",
    LOOP="for start in range(0, end, BLOCK_M):",
)
mistake(
    "first-tile-alone",
    "It ends after the first tile of keys: all of them are needed, or all up to the diagonal.",
    LOOP="for start in range(0, tl.minimum(end, 1), BLOCK_N):",
)

# --- tails ----------------------------------------------------------------------------------------

mistake(
    "tail-of-keys-seen",
    "Keys behind the end are loaded as 0, so their score is 0, and exp(0) counts: hide them with −∞.",
    SEEN="seen = columns[None, :] < t + BLOCK_N",
)
mistake(
    "rest-of-the-keys-dropped",
    says("rest-of-the-keys-dropped"),
    LOOP="for start in range(0, end // BLOCK_N * BLOCK_N, BLOCK_N):",
)
mistake(
    "loads-not-masked",
    says("loads-not-masked"),
    K="tl.load(k_ptr + column_places)",
    V="tl.load(v_ptr + column_places)",
)
variant("loads-not-masked", K="tl.load(k_ptr + column_places)")
variant("loads-not-masked", V="tl.load(v_ptr + column_places)")
mistake(
    "queries-not-masked",
    "Queries are loaded without a mask, so the last block reads behind the end.",
    Q="tl.load(q_ptr + row_places)",
)
mistake(
    "output-not-masked",
    "The output is stored without a mask, so the last block writes behind the end of its head.",
    STORE_MASK="found / total[:, None]",
)
mistake(
    "lse-not-masked",
    "The lse is stored without a mask, so the last block writes behind the end of its head.",
    STORE_LSE="tl.store(lse_ptr + head * t + rows, largest + tl.log(total))",
)

# --- the mask -------------------------------------------------------------------------------------

mistake(
    "causal-ignored",
    says("causal-ignored", CAUSAL="CAUSAL"),
    END="end = t",
    PAST="seen = seen",
)
mistake(
    "always-causal",
    says("always-causal", WHEN="hide them only where CAUSAL is True"),
    SEEN="seen = (columns[None, :] < t) & (columns[None, :] <= rows[:, None])",
)
mistake(
    "causal-by-tiles",
    "Tiles above the diagonal are left out, but in those on it nothing is hidden: a query sees all of its tile.",
    PAST="seen = seen",
)
mistake(
    "diagonal-by-number",
    "The mask is put on the tile that begins where the queries do: where BLOCK_M and BLOCK_N differ, several tiles"
    " lie on the diagonal, or one that begins before them.",
    PAST="seen = seen & ((columns[None, :] <= rows[:, None]) | (start != first))",
)
mistake(
    "diagonal-by-tile-number",
    "The mask is put on tile i for block i of the queries, by places within the tile: that is right only where BLOCK_M"
    " and BLOCK_N are equal. Compare `columns` with `rows` in every tile.",
    PAST="seen = seen & ((start // BLOCK_N != tl.program_id(0))"
    " | (tl.arange(0, BLOCK_N)[None, :] <= tl.arange(0, BLOCK_M)[:, None]))",
)
mistake(
    "mask-begins-too-late",
    "Tiles up to the first query of the block, rounded up, go without a mask: where BLOCK_M < BLOCK_N, the last of them"
    " reaches over the diagonal.",
    PAST="seen = seen & ((columns[None, :] <= rows[:, None]) | (start < tl.cdiv(first, BLOCK_N) * BLOCK_N))",
)
mistake(
    "one-ahead",
    "Each query also sees the key after it: hide columns that are larger than the row.",
    PAST="seen = seen & (columns[None, :] <= rows[:, None] + 1)",
)
mistake(
    "itself-hidden",
    says("itself-hidden"),
    PAST="seen = seen & (columns[None, :] < rows[:, None])",
)
mistake(
    "future-seen",
    says("future-seen"),
    PAST="seen = seen & (columns[None, :] >= rows[:, None])",
    END="end = t",
)
mistake(
    "places-within-the-tile",
    "The mask compares places within the tile: it is the places in the text that count, `start` and `first` included.",
    PAST="seen = seen & (tl.arange(0, BLOCK_N)[None, :] <= tl.arange(0, BLOCK_M)[:, None])",
)
mistake(
    "filled-with-zero",
    says("filled-with-zero"),
    FILL="scores = tl.where(seen, scores, 0.0)",
)
mistake(
    "hidden-not-infinite",
    "Hidden scores become a number such as -10,000, which counts where all scores are as negative as that: fill with"
    " −∞.",
    FILL="scores = tl.where(seen, scores, -1e4)",
)
mistake(
    "diagonal-tile-left-out",
    "The last tile that a block of queries sees is left out: the loop goes to the end of the block of queries.",
    END="end = tl.minimum(tl.maximum(first, 1), t)",
)
variant("diagonal-tile-left-out", END="end = first")
mistake(
    "end-by-the-keys",
    "The loop of program i ends at key (i + 1) · BLOCK_N: it ends where its queries do, at (i + 1) · BLOCK_M.",
    END="end = tl.minimum((tl.program_id(0) + 1) * BLOCK_N, t)",
)
mistake(
    "hidden-tiles-loaded",
    "Tiles above the diagonal are loaded and then hidden: end the loop before them.",
    END="end = t",
)
mistake(
    "one-tile-too-many",
    "The loop goes one tile beyond the diagonal: it ends where the block of queries ends.",
    END="end = tl.minimum(first + BLOCK_M + BLOCK_N, t)",
)

# --- the softmax ----------------------------------------------------------------------------------

mistake("no-scale", "These are the values you get without `scale`: multiply the scores by it.", SCALE="  ")
mistake("scale-divides", "The scores are divided by `scale`: it is 1/√d already, so multiply.", SCALE=" / scale  ")
mistake(
    "nothing-subtracted",
    says("nothing-subtracted", LARGEST="the largest score so far"),
    price=0.4,
    LARGEST="tl.zeros((BLOCK_M,), tl.float32)",
    LARGER="largest",
)
mistake(
    "largest-from-zero",
    "The largest score begins at 0, so very negative scores vanish: begin at −∞.",
    LARGEST="tl.zeros((BLOCK_M,), tl.float32)",
)
mistake(
    "largest-of-the-tile",
    "The largest score is that of the tile alone: where an earlier one was larger, the factor overflows. Take the"
    " larger of both.",
    LARGER="tl.max(scores, axis=1)",
)
variant(
    "largest-of-the-tile",
    LARGER="tl.max(scores, axis=1)",
    FILL="scores = tl.where(seen, scores, -1e30)",
)
mistake(
    "output-not-rescaled",
    "When a new largest score comes, what was found so far is not scaled down to it: multiply it by exp(old largest -"
    " new largest), as the sum is.",
    FOUND='found = found + tl.dot(new.to(v.dtype), v, input_precision="ieee")',
)
mistake(
    "sum-not-rescaled",
    "When a new largest score comes, the sum so far is not scaled down to it: multiply it by exp(old largest - new"
    " largest), as the output is.",
    TOTAL="total = total + tl.sum(new, axis=1)",
)
mistake(
    "nothing-rescaled",
    says("nothing-rescaled"),
    OLD="old = tl.full((BLOCK_M,), 1.0, tl.float32)",
)
mistake(
    "rescaled-the-wrong-way",
    "The factor is exp(new largest - old largest), which grows: what was found before is scaled *down*.",
    OLD="old = tl.where(total > 0, tl.exp(larger - largest), 0.0)",
)
mistake(
    "largest-not-carried",
    "The largest score is not carried on to the next tile: assign it at the end of the loop.",
    CARRIED="\n",
)
mistake(
    "never-divided",
    says("never-divided", HOW=": do it once, after the loop"),
    OUT="found + 0 * total[:, None]",
)
mistake(
    "divided-in-the-loop",
    "The output is divided by the sum in each tile: do it once, after the loop.",
    FOUND='found = (found * old[:, None] + tl.dot(new.to(v.dtype), v, input_precision="ieee")) / total[:, None]',
)
variant(
    "divided-in-the-loop",
    FOUND='found = (found * old[:, None] + tl.dot(new.to(v.dtype), v, input_precision="ieee")) / total[:, None]',
    OUT="found + 0 * total[:, None]",
)
mistake(
    "summed-in-float16",
    "The output is summed in float16: keep it in float32 until it is stored.",
    FOUND='found = (found * old[:, None] + tl.dot(new.to(v.dtype), v, input_precision="ieee"))'
    ".to(tl.float16).to(tl.float32)",
)
mistake(
    "dtypes-mixed",
    "The weights are float32 and the values may be float16, but `tl.dot` multiplies tiles of one dtype:"
    " `new.to(v.dtype)`.",
    FOUND='found = found * old[:, None] + tl.dot(new, v, input_precision="ieee")',
)
mistake(
    "powers-of-two",
    says("powers-of-two"),
    OLD="old = tl.exp2(largest - larger)",
    NEW="new = tl.exp2(scores - larger[:, None])",
)

# --- lse ------------------------------------------------------------------------------------------

mistake(
    "lse-without-the-largest",
    says("lse-without-the-largest"),
    LSE="tl.log(total)",
)
mistake(
    "largest-for-lse",
    says("largest-for-lse"),
    LSE="largest + 0 * total",
)
mistake(
    "lse-in-base-2",
    "The lse is a logarithm to the base 2: the natural one is asked for.",
    LSE="(largest + tl.log(total)) * 1.4426950408889634",
)
mistake(
    "lse-mixed",
    "The largest score is in units of e and the logarithm of the sum in units of 2: take `tl.log` with `tl.exp`.",
    LSE="largest + tl.log2(total)",
)
mistake("sum-for-lse", says("sum-for-lse"), LSE="total")

# --- the rest -------------------------------------------------------------------------------------

mistake(
    "keys-taken-for-transposed",
    "Keys are read as if they were stored as (D, t): feature f of key c is at place c · D + f of its head.",
    K="tl.trans(tl.load(k_ptr + head * t * D + features[:, None] * t + columns[None, :], mask=columns[None, :] < t,"
    " other=0.0))",
)
mistake(
    "keys-as-values",
    "Keys are loaded in the place of values: read `v_ptr`.",
    V="tl.load(k_ptr + column_places, mask=columns[:, None] < t, other=0.0)",
)
mistake(
    "queries-read-again",
    "Queries are loaded again for each tile of keys: once before the loop is enough.",
    COLUMNS="columns = start + tl.arange(0, BLOCK_N)\n        q = {Q}",
)
mistake(
    "values-read-twice",
    "A tile of values is loaded twice: what was loaded once can be used again.",
    CARRIED="largest = larger\n        found += 0.0 * tl.sum({V})\n",
)
mistake(
    "written-in-the-loop",
    "The output is written after each tile: it is right after the last one, so write it once.",
    CARRIED="largest = larger\n        tl.store(out_ptr + row_places, found, mask=rows[:, None] < t)\n",
)
mistake(
    "not-triton",
    "It uses what Triton's compiler does not know, such as torch or a module: a kernel has `tl` and numbers.",
    price=ALL,
    ROWS="{ROWS}\n    torch.is_tensor(t)",
)

# --- what the interpreter runs, and no GPU --------------------------------------------------------

mistake(
    "break-at-the-diagonal",
    "The loop ends by a `break`, which Triton does not compile: give the loop an end.",
    END="end = t",
    LOOP="for start in range(0, end, BLOCK_N):\n        if CAUSAL and start >= first + BLOCK_M:\n            break",
)
mistake(
    "arange-from-the-start",
    "A `tl.arange` begins at `start`, and Triton compiles constants alone: add `start` to `tl.arange(0, BLOCK_N)`.",
    COLUMNS="columns = tl.arange(start, start + BLOCK_N)",
)
mistake(
    "one-number-before-the-loop",
    "The loop begins with one number where it goes on with a block, and Triton compiles no such change: begin with a"
    " block.",
    LARGEST='-float("inf")',
)
