"""What goes wrong in `add_kernel(x_ptr, y_ptr, out_ptr, n, BLOCK)`, as edits of our own answer."""

from ...mistakes.bank import Bank
from ...mistakes.prices import ALL
from ..families.wordings import says

BANK = Bank(
    "add_kernel",
    places={
        "FIRST": "tl.program_id(0) * BLOCK",
        "PLACES": "tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)",
        "INSIDE": "places < n",
        "X": "tl.load(x_ptr + places, mask=inside)",
        "Y": "tl.load(y_ptr + places, mask=inside)",
        "STORE": "tl.store(out_ptr + places, x + y, mask=inside)",
    },
)
mistake, variant = BANK.mistake, BANK.variant

# --- which places ---------------------------------------------------------------------------------

mistake(
    "first-block-by-all",
    says("first-block-by-all", WHERE="place i · BLOCK"),
    FIRST="0",
)
mistake(
    "blocks-overlap",
    "Program i begins at place i, so that blocks overlap: it begins at i · BLOCK.",
    FIRST="tl.program_id(0)",
)
mistake(
    "places-in-strides",
    "A program's numbers lie apart, a number of each other program between them: those of block i lie side by side.",
    PLACES="tl.program_id(0) + tl.arange(0, BLOCK) * tl.num_programs(0)",
)
mistake(
    "one-block-too-far",
    "The blocks begin one block too late: the first program has the number 0.",
    FIRST="(tl.program_id(0) + 1) * BLOCK",
)
mistake(
    "first-place-alone",
    "Each program adds the first number of its block alone: `tl.arange(0, BLOCK)` has the places of all of them.",
    PLACES="tl.program_id(0) * BLOCK + tl.arange(0, 1)",
)
mistake(
    "block-of-four",
    "A block has 4 numbers whatever BLOCK says: use the argument.",
    PLACES="tl.program_id(0) * 4 + tl.arange(0, 4)",
)
mistake(
    "everything-in-each-program",
    "Each program adds all n numbers: program i adds block i, and the others do the rest.",
    PLACES="tl.arange(0, BLOCK)",
    INSIDE="""places < n
    for start in range(BLOCK, n, BLOCK):
        later = start + tl.arange(0, BLOCK)
        both = tl.load(x_ptr + later, mask=later < n) + tl.load(y_ptr + later, mask=later < n)
        tl.store(out_ptr + later, both, mask=later < n)""",
)

mistake(
    "grid-stride",
    "Each program goes on with later blocks, in a grid-stride loop: program i adds block i alone.",
    INSIDE="""places < n
    for start in range((tl.program_id(0) + tl.num_programs(0)) * BLOCK, n, tl.num_programs(0) * BLOCK):
        later = start + tl.arange(0, BLOCK)
        both = tl.load(x_ptr + later, mask=later < n) + tl.load(y_ptr + later, mask=later < n)
        tl.store(out_ptr + later, both, mask=later < n)""",
)
mistake(
    "places-in-bytes",
    "Places are counted in bytes: a pointer moves by whole numbers, so number i is at `x_ptr + i`.",
    X="tl.load(x_ptr + 4 * places, mask=inside)",
    Y="tl.load(y_ptr + 4 * places, mask=inside)",
    STORE="tl.store(out_ptr + 4 * places, x + y, mask=inside)",
)
mistake(
    "clamped-to-the-last",
    "Places behind the end are moved to the last number, which is then read and written several times: mask them.",
    PLACES="tl.minimum(tl.program_id(0) * BLOCK + tl.arange(0, BLOCK), n - 1)",
)

# --- masks ----------------------------------------------------------------------------------------

mistake(
    "no-mask",
    "There is no mask, so the last program reads and writes behind the end: what is there belongs to others.",
    X="tl.load(x_ptr + places)",
    Y="tl.load(y_ptr + places)",
    STORE="tl.store(out_ptr + places, x + y)",
)
mistake(
    "loads-not-masked",
    says("loads-not-masked"),
    X="tl.load(x_ptr + places)",
    Y="tl.load(y_ptr + places)",
)
variant("loads-not-masked", X="tl.load(x_ptr + places)")
variant("loads-not-masked", Y="tl.load(y_ptr + places)")
mistake(
    "store-not-masked",
    says("store-not-masked"),
    STORE="tl.store(out_ptr + places, x + y)",
)
mistake(
    "and-for-a-mask",
    says("and-for-a-mask"),
    INSIDE="(places < n) and (places >= 0)",
)
mistake(
    "one-too-many",
    "The mask lets one place too many through: the last one is n - 1.",
    INSIDE="places <= n",
)
mistake(
    "one-too-few",
    "The mask leaves the last number out: places up to n - 1 are inside.",
    INSIDE="places < n - 1",
)
mistake(
    "mask-within-the-block",
    "The mask compares places within the block with n: it is the place in the whole vector that counts.",
    INSIDE="tl.arange(0, BLOCK) < n",
)
mistake(
    "mask-by-the-block",
    "The mask compares places with BLOCK, so that all blocks but the first are left out: compare with n.",
    INSIDE="places < BLOCK",
)
mistake(
    "last-block-left-out",
    "A block that is not full is left out: the last program adds what is left.",
    INSIDE="tl.program_id(0) * BLOCK + BLOCK + 0 * places <= n",
)

mistake(
    "full-last-block-left-out",
    "Where BLOCK divides n, the last block is left out: the last program has n % BLOCK numbers only if that is not 0.",
    INSIDE="tl.arange(0, BLOCK) < tl.where(tl.program_id(0) == (n - 1) // BLOCK, n % BLOCK, BLOCK)",
)

# --- sums -----------------------------------------------------------------------------------------

mistake(
    "x-twice",
    "`x` is added to itself: one of the two loads should read from `y_ptr`.",
    Y="tl.load(x_ptr + places, mask=inside)",
)
mistake(
    "difference", "`y` is subtracted: the sum is asked for.", STORE="tl.store(out_ptr + places, x - y, mask=inside)"
)
mistake(
    "product",
    "`x` and `y` are multiplied: the sum is asked for.",
    STORE="tl.store(out_ptr + places, x * y, mask=inside)",
)
mistake(
    "nothing-stored",
    "Nothing is stored: a sum in a variable stays with the program, so write it to `out_ptr` by `tl.store`.",
    STORE="x + y",
)
mistake(
    "written-to-x",
    says("written-to-x", WHAT="sum"),
    STORE="tl.store(x_ptr + places, x + y, mask=inside)",
)
mistake(
    "added-to-what-was-there",
    "The sum is added to what was in `out_ptr`: nobody has set that to 0.",
    STORE="tl.store(out_ptr + places, x + y + tl.load(out_ptr + places, mask=inside), mask=inside)",
)
mistake(
    "through-float32",
    says("through-float32"),
    X="tl.load(x_ptr + places, mask=inside).to(tl.float32)",
    Y="tl.load(y_ptr + places, mask=inside).to(tl.float32)",
)
mistake(
    "read-twice",
    "`x` is read twice: what was loaded once can be used again.",
    STORE="tl.store(out_ptr + places, tl.load(x_ptr + places, mask=inside) + y, mask=inside)",
)
mistake(
    "not-triton",
    "It uses what Triton's compiler does not know, such as torch or a module: a kernel has `tl` and numbers.",
    price=ALL,
    INSIDE="places < n\n    torch.is_tensor(n)",
)

# --- what the interpreter runs, and no GPU --------------------------------------------------------

mistake(
    "comparisons-in-a-row",
    "Two comparisons in a row, `a < b < c`, are none for Triton: write each by itself, with `&` between them.",
    INSIDE="0 <= places < n",
)
