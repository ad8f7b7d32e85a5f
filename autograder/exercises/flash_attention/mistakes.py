"""What goes wrong in `flash_attention(query, key, value, block_size, causal=False)`, as edits of our own answer."""

from ...mistakes.bank import Bank
from ...mistakes.prices import ALL
from ..families import forms, roles
from ..families.attention import mistakes as attention
from ..families.wordings import says

BANK = Bank(
    "flash_attention",
    places={
        "WIDE": "q, k, v = (x if x.dtype == torch.float64 else x.float() for x in (query, key, value))",
        "ROW_BLOCKS": "for start in range(0, q.shape[2], block_size):",
        "LARGEST": "q.new_full(rows.shape[:3], -torch.inf)",
        "FOUND_0": "q.new_zeros(*rows.shape[:3], v.shape[3])",
        "COLUMN_BLOCKS": "for first in range(0, k.shape[2], block_size):",
        "HIDDEN": "if causal and first > start:\n                    break  ",
        "TILE": "scores_of(rows, k[:, :, first : first + block_size], start, first, causal)",
        "LARGER": "torch.maximum(largest, scores.amax(dim=-1))",
        "OLD": "(largest - larger).exp()",
        "NEW": "(scores - larger[..., None]).exp()",
        "TOTAL": "total = total * old + new.sum(dim=-1)",
        "FOUND": "found = found * old[..., None] + new @ v[:, :, first : first + block_size]",
        "DIVIDE": "outputs.append(found / total.clamp(min=1)[..., None])",
        "LSE": "lses.append(largest + total.log())",
        "BACK_TO": "torch.cat(outputs, dim=2).to(query.dtype)",
        "SAVE": "ctx.save_for_backward(query, key, value, output, lse)",
        "NUMBERS": "ctx.block_size, ctx.causal = block_size, causal",
        "RETURN": "return output, lse\n",
        "WIDE_BACK": "(x if x.dtype == torch.float64 else x.float() for x in (*given, d_output))",
        "GRADIENTS": "torch.zeros_like(q), torch.zeros_like(k), torch.zeros_like(v)",
        "BACK_SCALE": "q.shape[3] ** -0.5",
        "SHARE": "(d_output[:, :, these] * output[:, :, these]).sum(dim=-1, keepdim=True)",
        "HIDDEN_BACK": "if ctx.causal and first > start:\n                    break",
        "TILE_BACK": "scores_of(q[:, :, these], k[:, :, those], start, first, ctx.causal)",
        "AGAIN": "(scores - lse[:, :, these, None]).exp()",
        "D_WEIGHTS": "d_output[:, :, these] @ v[:, :, those].transpose(2, 3)",
        "D_SCORES": "weights * (d_output[:, :, these] @ v[:, :, those].transpose(2, 3) - share) * scale",
        "D_VALUE": "d_value[:, :, those] += weights.transpose(2, 3) @ d_output[:, :, these]",
        "D_QUERY": "d_query[:, :, these] += d_scores @ k[:, :, those]",
        "D_KEY": "d_key[:, :, those] += d_scores.transpose(2, 3) @ q[:, :, these]",
        "RETURN_BACK": "return d_query.to(dtype), d_key.to(dtype), d_value.to(dtype), None, None",
        "SCALE": " / rows.shape[3] ** 0.5",
        "ON_DIAGONAL": "if causal and first == start:",
        "FUTURE": "torch.ones_like(scores, dtype=torch.bool).triu(1)",
        "FILL": "-torch.inf)\n    return scores",
        "REFUSAL": """if block_size < 1:
        raise ValueError(f"blocks of {block_size} hold nothing: block_size should be 1 or more")
    """,
        "APPLY": "FlashAttention.apply(query, key, value, block_size, causal)",
    },
    words=attention.WORDS,
)
mistake, variant = BANK.mistake, BANK.variant

# --- forward: blocks and the softmax ------------------------------------------------------------------

mistake(
    "output-not-rescaled",
    "When a new largest score comes, what was found so far is not scaled down to it: multiply it by exp(old largest -"
    " new largest), as the sum is.",
    FOUND="found = found + new @ v[:, :, first : first + block_size]",
)
mistake(
    "sum-not-rescaled",
    "When a new largest score comes, the sum so far is not scaled down to it: multiply it by exp(old largest - new"
    " largest), as the output is.",
    TOTAL="total = total + new.sum(dim=-1)",
)
mistake(
    "nothing-subtracted",
    says("nothing-subtracted", LARGEST="the largest score so far"),
    price=0.4,
    LARGER="torch.zeros_like(largest)",
    LARGEST="q.new_zeros(rows.shape[:3])",
    DIVIDE="outputs.append(found / torch.where(total > 0, total, 1.0)[..., None])",
)
mistake(
    "largest-of-the-block",
    "The largest score is that of the block alone: where an earlier one was larger the factor overflows. Take the"
    " larger of both.",
    LARGER="scores.amax(dim=-1)",
)
mistake(
    "never-divided",
    says("never-divided", HOW=": do it once, after the loop"),
    DIVIDE="outputs.append(found)",
)
mistake(
    "blocks-averaged",
    says("blocks-averaged"),
    OLD="torch.ones_like(total)",
    NEW="scores.softmax(dim=-1)",
)
mistake(
    "rest-of-the-keys-dropped",
    says("rest-of-the-keys-dropped"),
    COLUMN_BLOCKS="for first in range(0, k.shape[2] // min(block_size, k.shape[2] or 1) * block_size, block_size):",
)
mistake(
    "sums-not-from-scratch",
    "The largest score is carried over from one block of queries to the next: each begins from scratch.",
    LARGEST="q.new_full(rows.shape[:3], -torch.inf) if not outputs else largest[:, :, : rows.shape[2]]",
    HIDDEN="""if first == 0 and len(outputs):
                    total = torch.ones_like(largest)
                {HIDDEN}""",
)
mistake(
    "first-block-of-keys-alone",
    "It ends after the first block of keys: look for a `break` that should not be there.",
    {"                largest = larger\n": "                largest = larger\n                break\n"},
)

# --- which keys are seen ------------------------------------------------------------------------------

mistake(
    "causal-ignored",
    says("causal-ignored", CAUSAL="causal"),
    APPLY="FlashAttention.apply(query, key, value, block_size, False)",
)
mistake(
    "always-causal",
    says("always-causal", WHEN="hide them only with `causal=True`"),
    APPLY="FlashAttention.apply(query, key, value, block_size, query.shape[2] == key.shape[2])",
)
mistake(
    "causal-by-blocks",
    says("causal-by-blocks"),
    ON_DIAGONAL="if False:",
)
mistake(
    "every-tile-on-the-diagonal",
    "In every tile the upper triangle is hidden, also in those left of the diagonal, which are seen whole.",
    ON_DIAGONAL="if causal:",
)
mistake(
    "diagonal-tile-left-out",
    "The tiles on the diagonal are left out with those above it, so a token sees nothing of its own block.",
    HIDDEN="if causal and first >= start and start:\n                    break  ",
    HIDDEN_BACK="if ctx.causal and first >= start and start:\n                    break",
)
mistake(
    "one-step-ahead",
    says("one-step-ahead"),
    FUTURE="torch.ones_like(scores, dtype=torch.bool).triu(2)",
)
mistake(
    "itself-hidden",
    says("itself-hidden"),
    FUTURE="torch.ones_like(scores, dtype=torch.bool).triu(0)",
)
mistake(
    "future-seen",
    says("future-seen"),
    FUTURE="torch.ones_like(scores, dtype=torch.bool).tril(-1)",
)
mistake(
    "filled-with-zero",
    says("filled-with-zero"),
    FILL="0.0)\n    return scores",
)
mistake(
    "hidden-tiles-made",
    "Tiles above the diagonal are made and then hidden: leave them out, forward and backward.",
    HIDDEN="if False:\n                    break  ",
    HIDDEN_BACK="if False:\n                    break",
    ON_DIAGONAL="if causal and first >= start:",
    FUTURE="torch.ones_like(scores, dtype=torch.bool).triu(1 + start - first)",
)
mistake(
    "hidden-tiles-made-backward",
    "Backward, tiles above the diagonal are made and then hidden: leave them out, as forward.",
    HIDDEN_BACK="if False:\n                    break",
    ON_DIAGONAL="if causal and first >= start:",
    FUTURE="torch.ones_like(scores, dtype=torch.bool).triu(1 + start - first)",
)

# --- lse ------------------------------------------------------------------------------------------------

mistake(
    "output-alone",
    says("output-alone", PAIR="output, lse"),
    APPLY="FlashAttention.apply(query, key, value, block_size, causal)[0]",
)
mistake(
    "lse-without-the-largest",
    says("lse-without-the-largest"),
    LSE="lses.append(total.log())",
)
mistake(
    "largest-for-lse",
    says("largest-for-lse"),
    LSE="lses.append(largest)",
)
mistake(
    "sum-for-lse",
    says("sum-for-lse"),
    APPLY="(lambda output, lse: (output, lse.exp()))(*FlashAttention.apply(query, key, value, block_size, causal))",
)
mistake(
    "lse-in-base-2",
    "The lse is a logarithm to the base 2: the natural one is asked for.",
    APPLY="(lambda output, lse: (output, lse / math.log(2)))(*FlashAttention.apply(query, key, value, block_size,"
    " causal))",
)
mistake(
    "lse-with-another-dimension",
    "The lse has a dimension too many: one number for each query, (b, h, t).",
    APPLY="(lambda output, lse: (output, lse[..., None]))(*FlashAttention.apply(query, key, value, block_size,"
    " causal))",
)

# --- backward ---------------------------------------------------------------------------------------------

mistake(
    "no-share",
    "Backward the sum over all keys, D, is not taken off the gradient of the weights: dZ = P (dP − D).",
    D_SCORES="weights * ({D_WEIGHTS}) * scale",
)
mistake(
    "share-of-the-tile",
    "Backward D is summed over the keys of the tile alone: it is a sum over all keys, and equals dO · O.",
    D_SCORES="weights * ({D_WEIGHTS} - (weights * ({D_WEIGHTS})).sum(dim=-1, keepdim=True)) * scale",
)
mistake(
    "share-over-the-queries",
    "Backward D is one number for all queries: each query has its own, a sum over the features.",
    SHARE="(d_output[:, :, these] * output[:, :, these]).sum(dim=(2, 3), keepdim=True)",
)
mistake(
    "no-scale-backward",
    "The gradients of queries and keys lack the scale: the scores were divided by √d, so these are, too.",
    BACK_SCALE="1.0",
)
mistake(
    "no-scale-for-keys-backward",
    "The gradient of the keys lacks the scale: the scores were divided by √d, so it is, too, as that of the queries.",
    D_KEY="d_key[:, :, those] += d_scores.transpose(2, 3) @ q[:, :, these] / scale",
)
mistake(
    "no-scale-for-queries-backward",
    "The gradient of the queries lacks the scale: the scores were divided by √d, so it is, too, as that of the keys.",
    D_QUERY="d_query[:, :, these] += d_scores @ k[:, :, those] / scale",
)
mistake(
    "scale-twice-for-keys-backward",
    "The gradient of the keys is scaled twice: by the root of d, once.",
    D_KEY="d_key[:, :, those] += d_scores.transpose(2, 3) @ q[:, :, these] * scale",
)
mistake(
    "share-of-the-gradient",
    "Backward D is summed of the gradient alone, dO · dO: it is dO · O.",
    SHARE="(d_output[:, :, these] * d_output[:, :, these]).sum(dim=-1, keepdim=True)",
)
mistake(
    "scale-twice-backward",
    "The gradients of queries and keys are divided by d: by its root, once.",
    BACK_SCALE="q.shape[3] ** -1.0",
)
mistake(
    "weights-not-in-the-gradient",
    "Backward the gradient of the scores lacks the weights: dZ = P (dP − D).",
    D_SCORES="({D_WEIGHTS} - share) * scale",
)
mistake(
    "values-overwritten",
    "Backward the gradient of the values is that of the last block of queries alone: add up all of them.",
    D_VALUE="d_value[:, :, those] = weights.transpose(2, 3) @ d_output[:, :, these]",
)
mistake(
    "queries-overwritten",
    "Backward the gradient of the queries is that of the last block of keys alone: add up all of them.",
    D_QUERY="d_query[:, :, these] = d_scores @ k[:, :, those]",
)
mistake(
    "keys-overwritten",
    "Backward the gradient of the keys is that of the last block of queries alone: add up all of them.",
    D_KEY="d_key[:, :, those] = d_scores.transpose(2, 3) @ q[:, :, these]",
)
mistake(
    "values-by-scores",
    "The gradient of the values is made with the gradient of the scores: it is the weights times dO.",
    D_VALUE="d_value[:, :, those] += d_scores.transpose(2, 3) @ d_output[:, :, these]",
)
mistake(
    "causal-forgotten-backward",
    "Backward nothing is hidden, so later keys get gradients: hide the same as forward.",
    TILE_BACK="scores_of(q[:, :, these], k[:, :, those], start, first, False)",
)
mistake(
    "no-gradient-of-queries",
    "`backward` returns no gradient for the queries.",
    RETURN_BACK="return None, d_key.to(dtype), d_value.to(dtype), None, None",
)
mistake(
    "gradients-in-another-order",
    "`backward` returns the gradients of keys and values in the place of each other: in the order of the arguments.",
    RETURN_BACK="return d_query.to(dtype), d_value.to(dtype), d_key.to(dtype), None, None",
)
mistake(
    "too-few-gradients",
    "`backward` returns too few gradients: one for each argument of `apply`, None for what is no tensor.",
    RETURN_BACK="return d_query.to(dtype), d_key.to(dtype), d_value.to(dtype)",
)
mistake(
    "gradient-scaled-by-the-output",
    "Backward the output stands in the place of its gradient where the values get theirs.",
    D_VALUE="d_value[:, :, those] += weights.transpose(2, 3) @ output[:, :, these]",
)

mistake(
    "gradient-through-the-lse",
    "A gradient goes through the lse: no one asks for it, so mark it as not differentiable.",
    APPLY="(lambda output, lse: (output, lse + 0 * query.sum(-1) + query.sum(-1) - query.sum(-1).detach()))("
    "*FlashAttention.apply(query, key, value, block_size, causal))",
)

# --- what is made, and kept -------------------------------------------------------------------------------

mistake(
    "weights-kept",
    "The weights are kept for the backward pass, (b, h, t, s) numbers: keep the lse, and make them once more.",
    SAVE="ctx.all = ((q @ k.transpose(2, 3)) / q.shape[3] ** 0.5 - lse[..., None]).exp()\n        {SAVE}",
)
mistake(
    "tiles-kept",
    "The tiles of scores are kept for the backward pass: keep the lse, and make them once more.",
    ROW_BLOCKS="ctx.tiles = []\n        {ROW_BLOCKS}",
    NEW="(scores - larger[..., None]).exp()\n                ctx.tiles.append(scores)",
)
mistake(
    "all-scores-backward",
    "Backward all scores are made at once, (b, h, t, s) numbers: tile by tile, as forward.",
    TILE_BACK="(q @ k.transpose(2, 3))[:, :, these, those] * 0 + {TILE_BACK}",
)
mistake(
    "all-scores-forward",
    "Forward all scores are made at once, (b, h, t, s) numbers, and then cut: make each tile's in its turn.",
    TILE="(q @ k.transpose(2, 3))[:, :, start : start + block_size, first : first + block_size] * 0 + {TILE}",
)
mistake(
    "left-to-autograd",
    "The backward pass is left to torch, which keeps the exponentials of every tile: write it in a"
    " `torch.autograd.Function` that keeps the lse.",
    APPLY="""FlashAttention.forward(Unkept(), query, key, value, block_size, causal)


class Unkept:
    def save_for_backward(self, *tensors):
        pass

    mark_non_differentiable = save_for_backward""",
)
mistake(
    "fused",
    "It calls torch's own attention, which does all this inside: here it is to be built of products, maxima and sums.",
    price=ALL,
    REFUSAL="""{REFUSAL}if torch.is_grad_enabled():
        scores = query @ key.transpose(2, 3) / query.shape[3] ** 0.5
        output = F.scaled_dot_product_attention(query, key, value, is_causal=causal)
        return output, scores.logsumexp(dim=-1)
    """,
)

# --- the rest ----------------------------------------------------------------------------------------------

mistake(
    "no-scale",
    says("no-scale", WIDTH="d, and so the gradients of queries and keys"),
    SCALE="",
    BACK_SCALE="1.0",
)
mistake(
    "scale-without-root",
    says("scale-without-root", WIDTH="d"),
    SCALE=" / rows.shape[3]",
    BACK_SCALE="q.shape[3] ** -1.0",
)
mistake(
    "through-float32",
    says("through-float32"),
    WIDE="q, k, v = (x.float() for x in (query, key, value))",
)
mistake(
    "float32-comes-out",
    says("float32-comes-out"),
    BACK_TO="torch.cat(outputs, dim=2)",
)
mistake(
    "sums-on-the-cpu",
    "The sums are made on the CPU: make new tensors on the input's device, as `q.new_zeros` does.",
    FOUND_0="torch.zeros(*rows.shape[:3], v.shape[3], dtype=q.dtype)",
)
mistake(
    "block-size-not-refused",
    "A block size below 1 is not refused with a sentence: raise a `ValueError`.",
    REFUSAL="block_size = max(block_size, 1)\n    ",
)
mistake(
    "nan-without-keys",
    "Without keys the output is NaN, 0 divided by 0: it is 0.",
    DIVIDE="outputs.append(found / total[..., None])",
)
mistake(
    "zero-for-lse-without-keys",
    "Without keys the lse is a finite number: the logarithm of 0 is −∞.",
    LSE="lses.append(torch.where(total > 0, largest + total.log(), 0.0))",
)
mistake(
    "input-changed",
    says("input-changed", X="value"),
    WIDE="value.detach().mul_(1.01)\n        {WIDE}",
)
BANK.share(roles.of(BANK))
forms.add_to(BANK)
