"""What goes wrong in `tiled_attention(q, k, v, block_size, causal=False)`, as edits of the course's own answer."""

from ...mistakes.bank import Bank
from ..families import forms, roles
from ..families.attention import mistakes as attention
from ..families.wordings import says

REFUSAL = """if block_size < 1:
        raise ValueError(f"a block of {block_size} keys holds nothing: it must be 1 at least")"""
HIDDEN = """if causal:
            columns = torch.arange(start, start + keys.shape[-2], device=q.device)
            scores = scores.masked_fill(columns > rows, -torch.inf)"""

BANK = Bank(
    "tiled_attention",
    places={
        "REFUSAL": REFUSAL,
        "ROWS": "rows = torch.arange(q.shape[-2], device=q.device)[:, None]",
        "FIRST_LARGEST": "q.new_full(q.shape[:-1], -torch.inf)",
        "FIRST_TOTAL": "q.new_zeros(q.shape[:-1])",
        "FIRST_FOUND": "q.new_zeros(*q.shape[:-1], v.shape[-1])",
        "LOOP": "for start in range(0, k.shape[-2], block_size):",
        "STARTS": "range(0, k.shape[-2], block_size)",
        "KEYS": "k[..., start : start + block_size, :]",
        "VALUES": "v[..., start : start + block_size, :]",
        "PRODUCT": "q @ keys.transpose(-2, -1)",
        "SCALE": " / q.shape[-1] ** 0.5",
        "HIDDEN": HIDDEN,
        "COLUMNS": "torch.arange(start, start + keys.shape[-2], device=q.device)",
        "LATER": "columns > rows",
        "FILL": "masked_fill(columns > rows, -torch.inf)",
        "LARGER": "torch.maximum(largest, scores.amax(dim=-1))",
        "OLD": "(largest - larger).exp()",
        "NEW": "(scores - larger[..., None]).exp()",
        "TOTAL": "total = total * old + new.sum(dim=-1)",
        "FOUND": "found = found * old[..., None] + new @ values",
        "RETURN": "return found / total.clamp(min=1)[..., None]",
        "SUM": "total.clamp(min=1)[..., None]",
    },
    words=attention.WORDS | {"Q": "q", "K": "keys", "WIDTH": "d, the key's width", "N": "the block"},
)
mistake = BANK.mistake

# --- what was found so far, and the new maximum ---------------------------------------------------

mistake(
    "output-not-rescaled",
    "When a new largest score comes, what was found so far is not scaled down to it: multiply it by exp(old largest -"
    " new largest), as the sum is.",
    FOUND="found = found + new @ values",
)
mistake(
    "sum-not-rescaled",
    "When a new largest score comes, the sum so far is not scaled down to it: multiply it by exp(old largest - new"
    " largest), as the output is.",
    TOTAL="total = total + new.sum(dim=-1)",
)
mistake(
    "nothing-rescaled",
    says("nothing-rescaled"),
    OLD="torch.ones_like(total)",
)
BANK.variant(
    "nothing-rescaled",
    {"        larger = torch.maximum(largest, scores.amax(dim=-1)) ": "        largest = larger = {LARGER} "},
)
mistake(
    "rescaled-upwards",
    "The factor is exp(new largest - old largest), which is above 1: what was found so far gets smaller when a larger"
    " score comes.",
    OLD="(larger - largest.clamp(min=-1e4)).exp()",
)
mistake(
    "only-old-output-kept-once",
    "The new block is multiplied by the factor as well: it is relative to the new largest score already.",
    FOUND="found = (found + new @ values) * old[..., None]",
)
mistake(
    "largest-of-the-block",
    "The largest score is that of the block alone: where an earlier one was larger the factor overflows. Take the"
    " larger of both.",
    LARGER="scores.amax(dim=-1)",
)
mistake(
    "largest-not-carried-on",
    "The largest score so far is never carried on to the next block: store it when the block is done.",
    {"\n        largest = larger\n": "\n"},
)
mistake(
    "largest-of-everything",
    "The largest score of all queries is subtracted, so that the exponentials of others vanish: each query has a"
    " largest of its own, `amax(dim=-1)`.",
    LARGER="torch.maximum(largest, scores.detach().max() if scores.numel() else largest)",
)
mistake(
    "nothing-subtracted",
    says("nothing-subtracted", LARGEST="the largest score so far"),
    OLD="torch.ones_like(total)",
    NEW="scores.exp()",
    SUM="torch.where(total > 0, total, 1.0)[..., None]",
)
BANK.variant(
    "nothing-subtracted",
    OLD="torch.ones_like(total)",
    NEW="scores.exp()",
    SUM="total[..., None]",
)
mistake(
    "largest-starts-at-zero",
    "The largest score starts at 0, as if there were a key of score 0: where all scores are far below, their"
    " exponentials vanish. Start at -inf.",
    FIRST_LARGEST="q.new_zeros(q.shape[:-1])",
    SUM="torch.where(total > 0, total, 1.0)[..., None]",
)
mistake(
    "sum-starts-at-one",
    "The sum of the exponentials starts at 1, or has 1 added to it, as if there were one key more: it starts at 0.",
    RETURN="return found / (total + 1)[..., None]",
)
mistake(
    "epsilon-in-the-sum",
    says("epsilon-in-the-sum"),
    SUM="(total + 1e-6)[..., None]",
)

# --- how blocks are put together ------------------------------------------------------------------

mistake(
    "blocks-averaged",
    says("blocks-averaged"),
    OLD="torch.ones_like(total)",
    NEW="scores.masked_fill(scores == -torch.inf, -1e4).softmax(dim=-1)",
)
mistake(
    "divided-in-each-block",
    "What was found is divided by the sum in each block, and the next block takes it as if it were not: divide once,"
    " after the loop, or multiply by the old sum again first.",
    FOUND="found = (found * old[..., None] + new @ values) / total[..., None]",
    RETURN="return found",
)
mistake(
    "divided-in-each-block-and-after",
    "What was found is divided by the sum in each block and after the loop once more: divide once, after the loop.",
    FOUND="found = (found * old[..., None] + new @ values) / total[..., None]",
)
mistake(
    "never-divided",
    says("never-divided", HOW=": do it once, after the loop"),
    RETURN="return found",
)
mistake(
    "sum-over-everything",
    "The exponentials of all queries are summed up together: each query has a sum of its own, `sum(dim=-1)`.",
    TOTAL="total = total * old + new.sum()",
)
mistake(
    "sum-of-the-last-block",
    "The sum is that of the last block alone: add up the exponentials of all blocks.",
    TOTAL="total = new.sum(dim=-1)",
)
mistake(
    "output-of-the-last-block",
    "The output is that of the last block alone: add up what all blocks give.",
    FOUND="found = new @ values",
)

# --- which keys are in a block --------------------------------------------------------------------

mistake(
    "rest-dropped",
    "Keys after the last whole block are left out: the number of blocks is rounded up, and the last may be shorter.",
    STARTS="range(0, k.shape[-2] // block_size * block_size, block_size)",
)
mistake(
    "last-block-dropped",
    "The last block is left out, also where it is a whole one: the loop goes on to the last key.",
    STARTS="range(0, k.shape[-2] - block_size, block_size)",
)
mistake(
    "rest-refused",
    "A number of keys that the blocks don't divide is refused: the last block may be shorter.",
    REFUSAL="""if block_size < 1 or k.shape[-2] % block_size:
        raise ValueError(f"{k.shape[-2]} keys can't be cut into blocks of {block_size}")""",
)
mistake(
    "large-blocks-refused",
    "A block size above the number of keys is refused: then there is one block, of all keys.",
    REFUSAL="""if not 1 <= block_size <= k.shape[-2]:
        raise ValueError(f"a block of {block_size} keys, where there are {k.shape[-2]}")""",
)
mistake(
    "padding-takes-part",
    "The last block is filled up with keys of zeros, and these take part, with a score of 0: let it be shorter, or hide"
    " them.",
    KEYS="F.pad(k, (0, 0, 0, -k.shape[-2] % block_size))[..., start : start + block_size, :]",
    VALUES="F.pad(v, (0, 0, 0, -k.shape[-2] % block_size))[..., start : start + block_size, :]",
)
mistake(
    "last-block-reaches-back",
    "The last block starts earlier to be a whole one, so that some keys count twice: let it be shorter.",
    LOOP="{LOOP}\n        start = max(0, min(start, k.shape[-2] - block_size))",
)
mistake(
    "blocks-overlap",
    "Each block has one key too many, the first of the next block, which counts twice.",
    KEYS="k[..., start : start + block_size + 1, :]",
    VALUES="v[..., start : start + block_size + 1, :]",
)
mistake(
    "blocks-by-the-queries",
    "The loop ends with the number of queries: it is the keys that are cut into blocks.",
    STARTS="range(0, min(q.shape[-2], k.shape[-2]), block_size)",
)
mistake(
    "one-step-for-each-key",
    "The loop goes on by one key, and takes a whole block each time: its step is `block_size`.",
    STARTS="range(0, k.shape[-2])",
)
mistake(
    "first-block-alone",
    "It ends after the first block: look for a `return` or a `break` inside the loop.",
    {"\n        largest = larger\n": "\n        largest = larger\n        break\n"},
)
mistake(
    "same-values-in-each-block",
    "Each block has the values of the first one: cut the values as you cut the keys.",
    VALUES="v[..., : keys.shape[-2], :]",
)

# --- causal ---------------------------------------------------------------------------------------

mistake(
    "causal-ignored",
    says("causal-ignored", CAUSAL="causal"),
    HIDDEN="",
)
mistake(
    "always-causal",
    says("always-causal", WHEN="hide them only with `causal=True`"),
    HIDDEN="if True:\n            columns = {COLUMNS}\n            scores = scores.{FILL}",
)
mistake(
    "one-step-ahead",
    says("one-step-ahead"),
    LATER="columns > rows + 1",
)
mistake(
    "itself-hidden",
    says("itself-hidden"),
    LATER="columns >= rows",
)
mistake(
    "future-seen",
    says("future-seen"),
    LATER="columns < rows",
)
mistake(
    "causal-by-blocks",
    says("causal-by-blocks"),
    LATER="columns // block_size > rows // block_size",
)
mistake(
    "causal-within-each-block",
    "The keys' places are counted from 0 in each block: add where the block starts.",
    COLUMNS="torch.arange(keys.shape[-2], device=q.device)",
)
mistake(
    "causal-fills-with-zero",
    "These are the values you get when hidden scores become 0: exp(0) is 1, so hidden tokens still get weight. Fill"
    " with -inf.",
    FILL="masked_fill(columns > rows, 0.0)",
)
mistake(
    "causal-fills-with-ten-thousand",
    "Hidden scores are filled with -10,000 or so, and real scores can reach that: fill with -inf.",
    FILL="masked_fill(columns > rows, -1e4)",
)
mistake(
    "nan-in-hidden-blocks",
    "The last block comes first, and for early tokens it is hidden altogether: -inf less -inf is NaN. Begin with the"
    " first block, or put a harmless number in place of a largest score of -inf.",
    STARTS="reversed(range(0, k.shape[-2], block_size))",
)

# --- all at once ----------------------------------------------------------------------------------

mistake(
    "all-scores-first",
    "All scores are made at once, (b, h, t, s) numbers, whatever the block size is: make each block's scores in its"
    " turn.",
    LOOP="products = q @ k.transpose(-2, -1)\n    {LOOP}",
    PRODUCT="products[..., start : start + block_size]",
)
BANK.variant(
    "all-scores-first",
    STARTS="range(0, k.shape[-2], max(k.shape[-2], 1))",
    KEYS="k",
    VALUES="v",
)
mistake(
    "whole-mask-first",
    "The whole mask is made before the loop, (t, s) entries, and the loop only cuts it: compare places block by block.",
    LOOP="future = torch.ones(q.shape[-2], k.shape[-2], dtype=torch.bool, device=q.device).triu(1) if"
    " causal else None\n    {LOOP}",
    LATER="future[:, start : start + block_size]",
)
BANK.variant(
    "whole-mask-first",
    LOOP="future = torch.ones(q.shape[-2], k.shape[-2], dtype=torch.bool, device=q.device).triu(1)\n    {LOOP}",
    LATER="future[:, start : start + block_size]",
)
mistake(
    "fused",
    "It calls torch's own attention, which does all this inside: here it is to be built of products, maxima and sums.",
    {"    rows = torch": "    return F.scaled_dot_product_attention(q, k, v, is_causal=causal)\n    rows = torch"},
)

# --- the rest -------------------------------------------------------------------------------------

BANK.share(attention.SHARED, "no-scale", "scale-without-root", "scale-tensor-on-the-cpu")
mistake(
    "scale-by-block-size",
    "These are the values you get when scores are divided by the root of the block size: it is the width of a key that"
    " counts.",
    SCALE=" / block_size ** 0.5",
)
mistake(
    "max-is-a-pair",
    "`max` with a `dim` gives a pair, the largest values and where they are: take its `.values`, or use `amax`.",
    LARGER="torch.maximum(largest, scores.max(dim=-1))",
)
mistake(
    "sums-in-float32",
    "The sums are float32 whatever comes in, so half precision does not fit to them: make them with the dtype of q,"
    " `q.new_zeros`, or turn the output back at the end.",
    FIRST_LARGEST="torch.full(q.shape[:-1], -torch.inf, device=q.device)",
    FIRST_TOTAL="torch.zeros(q.shape[:-1], device=q.device)",
    FIRST_FOUND="torch.zeros(*q.shape[:-1], v.shape[-1], device=q.device)",
)
mistake(
    "through-float32",
    says("through-float32"),
    ROWS="q, k, v, dtype = q.float(), k.float(), v.float(), q.dtype\n    {ROWS}",
    RETURN="return (found / {SUM}).to(dtype)",
)
mistake(
    "float32-comes-out",
    says("float32-comes-out"),
    RETURN="return (found / {SUM}).float()",
)
mistake(
    "sums-on-the-cpu",
    "The sums are made on the CPU: make new tensors on the input's device, as `q.new_zeros` does.",
    FIRST_TOTAL="torch.zeros(q.shape[:-1], dtype=q.dtype)",
    FIRST_FOUND="torch.zeros(*q.shape[:-1], v.shape[-1], dtype=q.dtype)",
)
mistake(
    "places-on-the-cpu",
    "The places of queries or keys are made on the CPU: make them on the input's device, with `device=q.device`.",
    ROWS="rows = torch.arange(q.shape[-2])[:, None]",
    COLUMNS="torch.arange(start, start + keys.shape[-2])",
)
mistake(
    "factor-detached",
    "The factor by which old sums are scaled is cut out of the graph, so that the gradients are wrong: detach the"
    " largest score, in both exponents, or nothing.",
    OLD="(largest - larger).exp().detach()",
)
mistake(
    "no-gradient",
    "It runs without a graph (`no_grad`, `detach`, `.data`), so nothing gets a gradient.",
    ROWS="q, k, v = q.detach(), k.detach(), v.detach()\n    {ROWS}",
)
mistake(
    "no-keys-nan",
    "Without any keys the sum is 0, and 0 / 0 is NaN: the output is 0 there.",
    SUM="total[..., None]",
)
mistake(
    "block-size-not-checked",
    "A negative block size is not refused: the loop is empty then, and zeros come out. Raise a `ValueError` below 1.",
    REFUSAL="",
)
mistake(
    "block-size-asserted",
    "A block size below 1 stops with an AssertionError: raise a `ValueError`.",
    REFUSAL='assert block_size >= 1, f"a block of {block_size} keys"',
)
mistake(
    "lse-returned-as-well",
    "It returns a pair: here the output alone is asked for.",
    RETURN="return found / {SUM}, largest + total.log()",
)
mistake(
    "queries-scaled-in-place",
    "The queries are scaled in place (`*=`, `mul_`), and whoever gave them still needs them: make a new tensor.",
    ROWS="q = q if q.requires_grad else q.mul_(2) / 2\n    {ROWS}",
)
BANK.share(roles.of(BANK))
forms.add_to(BANK)
