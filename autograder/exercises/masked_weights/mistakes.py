"""Wrong implementations of `masked_weights(query, key)`. Each one replaces a step of `right`."""

import torch

from ...mistakes.bank import misconception


def refuse(query, key):
    if query.dim() != 3 or key.dim() != 3:
        raise ValueError(f"expected (b, t, d) twice, got {tuple(query.shape)} and {tuple(key.shape)}")


def products(query, key):
    """(b, t, d) twice -> (b, t, t)."""
    return query @ key.mT


def past(scores):
    """(t, t), True for the query's own place and those before it."""
    return torch.ones(scores.shape[-2:], dtype=torch.bool, device=scores.device).tril()


def hide(scores):
    return scores.masked_fill(~past(scores), float("-inf"))


def over_keys(scores):
    return scores.softmax(-1)


def right(query, key, refuse=refuse, scores=products, hide=hide, weigh=over_keys):
    """Causal weights without a scale, of which any step can be replaced."""
    refuse(query, key)
    return weigh(hide(scores(query, key)))


# --- scores and softmax ---------------------------------------------------------------------------


@misconception(
    "scaled",
    "These are the values you get when scores are divided by √d: notebook 003's table has no scale in it, and neither"
    " has this exercise.",
)
def scaled(query, key):
    return right(query, key, scores=lambda q, k: products(q, k) / k.shape[-1] ** 0.5)


@misconception(
    "divided-by-width",
    "These are the values you get when scores are divided by d: here they are not divided at all.",
)
def divided_by_width(query, key):
    return right(query, key, scores=lambda q, k: products(q, k) / k.shape[-1])


@misconception(
    "key-not-transposed",
    "The key is not transposed in the product of query and key, which fits only when t = d: swap its last two"
    " dimensions.",
)
def key_not_transposed(query, key):
    return right(query, key, scores=lambda q, k: q @ k)


@misconception(
    "query-and-key-swapped",
    "These are the values you get when query and key change places: rows belong to queries, so the query comes first"
    " in the product.",
)
def query_and_key_swapped(query, key):
    return right(query, key, scores=lambda q, k: k @ q.mT)


@misconception(
    "query-with-itself",
    "These are the values you get when the query is multiplied with itself: the key has no part in them.",
)
def query_with_itself(query, key):
    return right(query, key, scores=lambda q, k: q @ q.mT)


@misconception(
    "softmax-over-queries",
    "These are the values you get when the softmax runs over the queries, so that columns sum to 1 and not rows: check"
    " `dim`, it should be the last.",
)
def softmax_over_queries(query, key):
    return right(query, key, weigh=lambda scores: scores.softmax(1))


@misconception(
    "softmax-over-batch",
    "The softmax runs over the batch (`dim=0`): the keys compete, and they are the last dimension.",
)
def softmax_over_batch(query, key):
    return right(query, key, weigh=lambda scores: scores.softmax(0))


@misconception(
    "exp-without-max",
    "The exponentials overflow for large scores and vanish for very negative ones: subtract each row's largest score"
    " before `exp`, or use torch's softmax.",
)
def exp_without_max(query, key):
    return right(query, key, weigh=lambda scores: scores.exp() / scores.exp().sum(-1, keepdim=True))


@misconception(
    "log-softmax",
    "These are the values you get from `log_softmax`, which gives the logarithms of the weights: use `softmax`.",
)
def log_softmax(query, key):
    return right(query, key, weigh=lambda scores: scores.log_softmax(-1))


# --- the mask -------------------------------------------------------------------------------------


@misconception("mask-missing", "These are the values you get without a mask: every token sees the future.")
def mask_missing(query, key):
    return right(query, key, hide=lambda scores: scores)


@misconception(
    "mask-after-softmax",
    "These are the values you get when the mask is applied to the weights: rows no longer sum to 1, and the future"
    " still counts in the softmax. Fill the scores, before it.",
)
def mask_after_softmax(query, key):
    return right(query, key, hide=lambda scores: scores, weigh=lambda scores: scores.softmax(-1) * past(scores))


@misconception(
    "renormalised-afterwards",
    "The weights are masked after the softmax and divided by their sum, which is 0 where a score of the future is far"
    " above the others: fill the scores, before the softmax.",
)
def renormalised_afterwards(query, key):
    def weigh(scores):
        weights = scores.softmax(-1) * past(scores)
        return weights / weights.sum(-1, keepdim=True)

    return right(query, key, hide=lambda scores: scores, weigh=weigh)


@misconception(
    "mask-fills-with-zero",
    "These are the values you get when masked scores become 0 (filled with 0, or multiplied by the mask): e⁰ is 1, so"
    " the future still takes part. Fill with -inf.",
)
def mask_fills_with_zero(query, key):
    return right(query, key, hide=lambda scores: scores * past(scores))


def filling_with(number):
    return lambda scores: scores.masked_fill(~past(scores), number)


@misconception(
    "mask-fills-with-small-number",
    "Masked scores are filled with -10 or so, which other scores easily reach: fill with -inf.",
)
def mask_fills_with_small_number(query, key):
    return right(query, key, hide=filling_with(-10.0))


@misconception(
    "mask-fills-with-ten-thousand",
    "Masked scores are filled with -10,000, which real scores can reach: fill with -inf.",
)
def mask_fills_with_ten_thousand(query, key):
    return right(query, key, hide=filling_with(-1e4))


@misconception(
    "mask-fills-with-billion",
    "Masked scores are filled with -1e9, and float16 has no such number: fill with -inf.",
)
def mask_fills_with_billion(query, key):
    return right(query, key, hide=filling_with(-1e9))


@misconception(
    "zero-times-infinity",
    "The mask is multiplied by -inf and added to the scores, but 0 times infinity is NaN: use `masked_fill`.",
)
def zero_times_infinity(query, key):
    return right(query, key, hide=lambda scores: scores + (~past(scores)) * float("-inf"))


@misconception(
    "diagonal-hidden",
    "A token may not attend to itself, and the first one has nothing left, which gives NaN: keep the diagonal.",
)
def diagonal_hidden(query, key):
    return right(query, key, hide=lambda scores: scores.masked_fill(~past(scores).tril(-1), float("-inf")))


@misconception(
    "one-step-ahead",
    "Each token also sees the next one, the very one that it should guess: hide all that is above the diagonal.",
)
def one_step_ahead(query, key):
    return right(query, key, hide=lambda scores: scores.masked_fill(past(scores).mT.triu(2), float("-inf")))


@misconception(
    "upside-down",
    "Each token sees itself and what comes after it, and the past is hidden: rows are queries, so the past is the lower"
    " triangle.",
)
def upside_down(query, key):
    return right(query, key, hide=lambda scores: scores.masked_fill(~past(scores).mT, float("-inf")))


@misconception(
    "mask-inverted",
    "The scores are filled where attending is allowed: `masked_fill` fills where its mask is True, so turn it round"
    " with `~`.",
)
def mask_inverted(query, key):
    return right(query, key, hide=lambda scores: scores.masked_fill(past(scores), float("-inf")))


@misconception(
    "always-eight",
    "The mask is 8 wide whatever t is, as in notebook 003, where the number stands in a global: take it from the shape"
    " of the query.",
    original="003",
)
def always_eight(query, key):
    def hide(scores):
        return scores.masked_fill(torch.tril(torch.ones(8, 8)) == 0, float("-inf"))

    return right(query, key, hide=hide)


@misconception(
    "mask-on-the-cpu",
    "The mask is made on the CPU: make it on the query's device, with `device=...`.",
    original="003",
)
def mask_on_the_cpu(query, key):
    def hide(scores):
        return scores.masked_fill(torch.tril(torch.ones(scores.shape[-2:])) == 0, float("-inf"))

    return right(query, key, hide=hide)


# --- gradients, dtypes, arguments -----------------------------------------------------------------


@misconception(
    "weights-detached",
    "The weights are cut out of the graph (`detach`, `.data`, `no_grad`), so query and key get no gradient.",
)
def weights_detached(query, key):
    return right(query, key).detach()


@misconception("float32-comes-out", "It returns float32 whatever goes in: leave the inputs' dtype as it is.")
def float32_comes_out(query, key):
    return right(query.float(), key.float())


@misconception(
    "through-float32",
    "It computes in float32 and turns the result back into the inputs' dtype, so the digits of float64 are lost.",
)
def through_float32(query, key):
    return right(query.float(), key.float()).to(query.dtype)


@misconception(
    "rank-not-checked",
    "Nothing refuses a query or a key that is not three-dimensional: raise a `ValueError`.",
)
def rank_not_checked(query, key):
    return right(query, key, refuse=lambda query, key: None)


@misconception(
    "key-rank-not-checked",
    "Only the query's rank is looked at: a key that is not three-dimensional should raise a `ValueError` as well.",
)
def key_rank_not_checked(query, key):
    return right(query, key, refuse=lambda query, key: refuse(query, query))


@misconception("squeezed", "`squeeze` drops every dimension of size 1, also a batch of one or a sequence of one token.")
def squeezed(query, key):
    return right(query, key).squeeze()


@misconception(
    "view-of-the-input",
    "`view` needs a tensor that lies contiguous in memory, and a transposed one does not: use `reshape`, or neither.",
)
def view_of_the_input(query, key):
    refuse(query, key)
    b, t, d = query.shape
    return right(query.view(b, t * d).view(b, t, d), key)


@misconception(
    "query-changed-in-place",
    "The query is changed in place, and whoever gave it still needs it: make a new tensor.",
)
def query_changed_in_place(query, key):
    refuse(query, key)
    weights = right(query, key)
    with torch.no_grad():
        query *= 2
    return weights
