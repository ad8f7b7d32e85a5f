"""What goes wrong in `indexed_attention(query, key, value, index_scores, top_k)`, as edits of our own answer."""

from ...mistakes.bank import Bank
from ...mistakes.prices import ALL
from ..families import forms, roles
from ..families.wordings import says

REFUSAL = """if top_k < 1:
        raise ValueError(f"top_k is {top_k}, and a query should see 1 key or more")
    """
NONE = "torch.zeros_like(index_scores, dtype=torch.bool)"

BANK = Bank(
    "indexed_attention",
    places={
        "REFUSAL": REFUSAL,
        "SIZE": "t = query.shape[2]",
        "PAST": "torch.ones(t, t, dtype=torch.bool, device=query.device).tril()",
        "VISIBLE": "index_scores.masked_fill(~past, -torch.inf)",
        "BEST": ".topk(min(top_k, t), dim=-1).indices",
        "FEW": "min(top_k, t)",
        "NONE": NONE,
        "PICKED": f"{NONE}.scatter(-1, best, True) & past",
        "SCALE": " / query.shape[3] ** 0.5",
        "SCORES": "query @ key.transpose(2, 3) / query.shape[3] ** 0.5",
        "WEIGHTS": "scores.masked_fill(~picked[:, None], -torch.inf).softmax(dim=-1)",
        "FILL": "-torch.inf).softmax(dim=-1)",
        "RETURN": "return weights @ value, weights",
    },
    seen_on_a_gpu="index-ignored",
)
mistake, variant = BANK.mistake, BANK.variant

# --- who is picked ----------------------------------------------------------------------------------

mistake(
    "index-ignored",
    "The index scores play no part: this is causal attention to all. Hide what is not among the best `top_k`.",
    price=ALL,
    PICKED="past.expand(index_scores.shape)",
)
mistake(
    "later-keys-take-places",
    "Keys that come later are picked first and hidden afterwards, so they take the places of others: fill their index"
    " scores with −∞ before `topk`.",
    VISIBLE="index_scores",
    FILL="-torch.inf).softmax(dim=-1).nan_to_num()",
)
variant("later-keys-take-places", VISIBLE="index_scores")  # NaN where nothing is left
variant(  # or, with the lowest number, all keys
    "later-keys-take-places", VISIBLE="index_scores", FILL="torch.finfo(scores.dtype).min).softmax(dim=-1)"
)
variant(  # or what is not later
    "later-keys-take-places",
    VISIBLE="index_scores",
    PICKED="{PICKED}\n    picked = torch.where(picked.any(-1, keepdim=True), picked, past)",
)
mistake(
    "index-filled-with-zero",
    "Keys that come later have an index score of 0, or one that is reached, and are picked before lower ones: fill with"
    " −∞ before `topk`.",
    VISIBLE="index_scores.masked_fill(~past, 0.0)",
    FILL="-torch.inf).softmax(dim=-1).nan_to_num()",
)
variant("index-filled-with-zero", VISIBLE="index_scores.masked_fill(~past, 0.0)")
mistake(
    "later-keys-seen",
    "Keys that come later are picked and seen: a query picks among itself and those before it.",
    VISIBLE="index_scores",
    PICKED="{NONE}.scatter(-1, best, True)",
)
mistake(
    "hidden-keys-seen-early",
    "A query with fewer than `top_k` keys to see also sees some that come later: these have −∞ among its best, so hide"
    " them once more.",
    PICKED="{NONE}.scatter(-1, best, True)",
)
mistake(
    "mask-fills-with-ten-thousand",
    says("mask-fills-with-ten-thousand", SCORED="scores", AND_WHERE_EMPTY=""),
    WEIGHTS="scores.masked_fill(~picked[:, None], -1e4).softmax(dim=-1)",
)
mistake(
    "index-rounded",
    "The index scores are rounded to a shorter float, where near ones are equal: compare them as they come.",
    VISIBLE="index_scores.bfloat16().masked_fill(~past, -torch.inf)",
)
mistake(
    "smallest-picked",
    "The keys of smallest index score are picked: it is the largest.",
    VISIBLE="(-index_scores).masked_fill(~past, -torch.inf)",
)
mistake(
    "one-too-many",
    "One key too many is picked: `top_k` of them.",
    FEW="min(top_k + 1, t)",
)
mistake(
    "one-too-few",
    "One key too few is picked: `top_k` of them.",
    FEW="min(max(top_k - 1, 1), t)",
)
mistake(
    "itself-always-seen",
    "Each query always sees itself, beside the best `top_k`: it is picked by its index score, like the others.",
    PICKED="({NONE}.scatter(-1, best, True) | torch.eye(t, dtype=torch.bool, device=query.device)) & past",
)
mistake(
    "itself-not-picked",
    "No query picks itself, but the first: it may see itself and those before it.",
    VISIBLE="index_scores.masked_fill(~past.tril(-1), -torch.inf)",
    FILL="-torch.inf).softmax(dim=-1).nan_to_num()",
)
mistake(
    "queries-picked-for-keys",
    "The best queries of each key are picked: each query (row) picks among the keys (columns).",
    BEST=".topk(min(top_k, t), dim=-2).indices",
    PICKED="{NONE}.scatter(-2, best, True) & past",
    FILL="-torch.inf).softmax(dim=-1).nan_to_num()",
)
mistake(
    "index-transposed",
    "Rows and columns of the index scores are exchanged: rows are queries.",
    VISIBLE="index_scores.transpose(1, 2).masked_fill(~past, -torch.inf)",
)
mistake(
    "by-the-scores",
    "The keys are picked by the scores of queries and keys: it is the index scores that pick, for all heads.",
    VISIBLE="(query @ key.transpose(2, 3)).mean(dim=1).masked_fill(~past, -torch.inf)",
)
mistake(
    "threshold-of-the-last-row",
    "The limit is that of the last query for all: each row has its own best `top_k`.",
    PICKED="(index_scores >= index_scores[:, -1:].topk(min(top_k, t), dim=-1).values[..., -1:]) & past",
    FILL="-torch.inf).softmax(dim=-1).nan_to_num()",
)
mistake(
    "one-text-for-all",
    "The index scores of the first text pick for the whole batch: each text has its own.",
    VISIBLE="index_scores[:1].expand_as(index_scores).masked_fill(~past, -torch.inf)",
)
# --- what weighs ------------------------------------------------------------------------------------

mistake(
    "index-added",
    "The index scores are added to the scores: they only pick, and are no part of the weights.",
    SCORES="{SCORES} + index_scores[:, None].to(query.dtype)",
)
mistake(
    "index-for-scores",
    "The weights are a softmax of the index scores: the picked keys are weighed by query · key / √d.",
    SCORES="index_scores[:, None].to(query.dtype).expand(-1, query.shape[1], -1, -1)",
)
mistake(
    "hidden-after-softmax",
    "What is not picked is hidden after the softmax, so its share is lost: fill the scores with −∞ before it.",
    WEIGHTS="scores.masked_fill(~past, -torch.inf).softmax(dim=-1) * picked[:, None]",
)
mistake(
    "renormalised-afterwards",
    says("renormalised-afterwards"),
    WEIGHTS="scores.masked_fill(~past, -torch.inf).softmax(dim=-1) * picked[:, None]\n"
    "    weights = weights / weights.sum(dim=-1, keepdim=True)",
)
mistake(
    "filled-with-zero",
    says("filled-with-zero"),
    FILL="0.0).softmax(dim=-1)",
)
mistake(
    "filled-with-hundred",
    "Hidden scores are filled with a number that real scores can reach: fill with −∞.",
    FILL="-100.0).softmax(dim=-1)",
)
mistake(
    "averaged",
    "The picked keys are all weighed alike: they are weighed by a softmax of query · key / √d.",
    SCORES="0 * {SCORES}",
)
mistake(
    "no-scale",
    says("no-scale", WIDTH="d"),
    SCALE="",
)
mistake(
    "scale-without-root",
    says("scale-without-root", WIDTH="d"),
    SCALE=" / query.shape[3]",
)
mistake(
    "scale-by-top-k",
    "Scores are divided by the root of `top_k`: it is the width of a key that counts.",
    SCALE=" / top_k ** 0.5",
)
mistake(
    "softmax-over-queries",
    says("softmax-over-queries"),
    FILL="-torch.inf).softmax(dim=-2).nan_to_num()",
)

# --- what is returned, and the rest -----------------------------------------------------------------

mistake(
    "output-alone",
    says("output-alone", PAIR="output, weights"),
    RETURN="return weights @ value",
)
mistake(
    "mask-for-weights",
    "The mask is returned in the place of the weights: return the pair (output, weights).",
    RETURN="return weights @ value, picked[:, None].expand_as(weights).to(weights.dtype)",
)
mistake(
    "pair-exchanged",
    says("pair-exchanged", PAIR="output, weights"),
    RETURN="return weights, weights @ value",
)
mistake(
    "top-k-not-refused",
    "A `top_k` below 1 is not refused with a sentence: raise a `ValueError`.",
    REFUSAL="top_k = max(top_k, 1)\n    ",
)
mistake(
    "large-top-k-refused",
    "A `top_k` above the number of tokens is refused: then all are picked.",
    FEW="top_k",
)
mistake(
    "through-float32",
    says("through-float32"),
    SCORES="(query.float() @ key.float().transpose(2, 3) / query.shape[3] ** 0.5).to(query.dtype)",
)
mistake(
    "float32-comes-out",
    says("float32-comes-out"),
    RETURN="return (weights @ value).float(), weights",
)
mistake(
    "weights-in-the-index-dtype",
    "The scores take the dtype of the index scores: what comes out has that of the query.",
    SCORES="(query @ key.transpose(2, 3) / query.shape[3] ** 0.5).to(index_scores.dtype)",
    RETURN="return weights @ value.to(weights.dtype), weights",
)
mistake(
    "mask-on-the-cpu",
    says("mask-on-the-cpu", WHAT="the query"),
    PAST="torch.ones(t, t, dtype=torch.bool).tril()",
)
mistake(
    "keys-detached",
    "The keys are cut out of the graph, so they get no gradient.",
    SCORES="query @ key.detach().transpose(2, 3) / query.shape[3] ** 0.5",
)
mistake(
    "index-changed",
    "The index scores are changed in place, though whoever called still needs them: make a new tensor.",
    VISIBLE="index_scores.masked_fill_(~past, -1e4)",
)
BANK.share(roles.of(BANK))
forms.add_to(BANK)
