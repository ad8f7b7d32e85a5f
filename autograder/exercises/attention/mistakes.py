"""Wrong implementations of `attention(query, key, value, mask=None)`. Each one replaces a step of `right`."""

import torch

from ...mistakes.bank import misconception

# --- the right steps ------------------------------------------------------------------------------


def refuse_vectors(query, key, value):
    for name, given in (("query", query), ("key", key), ("value", value)):
        if given.dim() < 2:
            raise ValueError(f"{name} needs at least 2 dimensions, got shape {tuple(given.shape)}")


def scaled(query, key, value):
    """(…, t, d), (…, s, d) -> (…, t, s)."""
    return query @ key.transpose(-2, -1) / key.shape[-1] ** 0.5


def hide(scores, mask):
    """Forbidden scores become -inf."""
    return scores if mask is None else scores.masked_fill(~mask, float("-inf"))


def over_keys(scores, mask):
    """The weights: (…, t, s). Rows that see nothing hold harmless numbers in the softmax, and 0 afterwards."""
    if mask is None:
        return scores.softmax(-1)
    nothing = ~mask.any(-1, keepdim=True)
    return scores.masked_fill(nothing, 0.0).softmax(-1).masked_fill(nothing, 0.0)


def plain_softmax(scores, mask):
    """A softmax that knows nothing of empty rows."""
    return scores.softmax(-1)


def right(query, key, value, mask=None, refuse=refuse_vectors, scores=scaled, hide=hide, weigh=over_keys):
    """Scaled dot-product attention, of which any step can be replaced."""
    refuse(query, key, value)
    weights = weigh(hide(scores(query, key, value), mask), mask)
    return weights @ value, weights


# --- scores and scale -----------------------------------------------------------------------------


@misconception("no-scale", "These are the values you get without a scale: divide the scores by √d before the softmax.")
def no_scale(query, key, value, mask=None):
    return right(query, key, value, mask, scores=lambda q, k, v: q @ k.mT)


@misconception(
    "scale-without-root",
    "These are the values you get when scores are divided by d, the width of the key: it should be its square root.",
)
def scale_without_root(query, key, value, mask=None):
    return right(query, key, value, mask, scores=lambda q, k, v: q @ k.mT / k.shape[-1])


@misconception(
    "scale-by-value-width",
    "These are the values you get when scores are divided by √dv: it is the width of the key that counts, not that of"
    " the value.",
)
def scale_by_value_width(query, key, value, mask=None):
    return right(query, key, value, mask, scores=lambda q, k, v: q @ k.mT / v.shape[-1] ** 0.5)


@misconception(
    "scale-by-number-of-keys",
    "These are the values you get when scores are divided by √s: it is the width of a key, `key.shape[-1]`, that"
    " counts, not the number of keys.",
)
def scale_by_number_of_keys(query, key, value, mask=None):
    return right(query, key, value, mask, scores=lambda q, k, v: q @ k.mT / max(k.shape[-2], 1) ** 0.5)


@misconception(
    "scale-after-softmax",
    "These are the values you get when the weights are divided by √d: scale the scores, before the softmax, else rows"
    " no longer sum to 1.",
)
def scale_after_softmax(query, key, value, mask=None):
    def weigh(scores, mask):
        return over_keys(scores, mask) / key.shape[-1] ** 0.5

    return right(query, key, value, mask, scores=lambda q, k, v: q @ k.mT, weigh=weigh)


@misconception(
    "scale-in-float32",
    "The scale is a float32 tensor, which has too few digits for float64: divide by a Python number, such as"
    " `d ** 0.5`.",
)
def scale_in_float32(query, key, value, mask=None):
    return right(
        query, key, value, mask, scores=lambda q, k, v: q @ k.mT / torch.sqrt(torch.tensor(float(k.shape[-1])))
    )


@misconception(
    "key-not-transposed",
    "The key is not transposed in the product of query and key, which fits only when d = s: swap its last two"
    " dimensions.",
)
def key_not_transposed(query, key, value, mask=None):
    return right(query, key, value, mask, scores=lambda q, k, v: q @ k / k.shape[-1] ** 0.5)


@misconception(
    "query-and-key-swapped",
    "These are the scores you get when query and key change places: rows belong to queries, so the query comes first"
    " in the product.",
)
def query_and_key_swapped(query, key, value, mask=None):
    return right(query, key, value, mask, scores=lambda q, k, v: k @ q.mT / k.shape[-1] ** 0.5)


@misconception(
    "fixed-dimensions",
    "`transpose(1, 2)` counts dimensions from the front, so it is right for one leading dimension only: count from"
    " the end, `transpose(-2, -1)`.",
)
def fixed_dimensions(query, key, value, mask=None):
    return right(query, key, value, mask, scores=lambda q, k, v: q @ k.transpose(1, 2) / k.shape[-1] ** 0.5)


@misconception(
    "only-three-dimensions",
    "`torch.bmm` takes three dimensions only: `@` and `torch.matmul` work with any number of leading dimensions.",
)
def only_three_dimensions(query, key, value, mask=None):
    return right(query, key, value, mask, scores=lambda q, k, v: torch.bmm(q, k.mT) / k.shape[-1] ** 0.5)


# --- softmax and values ---------------------------------------------------------------------------


def softmax_over(dim):
    """Weights from a softmax over another dimension, rows that see nothing set to 0."""

    def weigh(scores, mask):
        weights = scores.softmax(dim)
        return weights if mask is None else weights.masked_fill(~mask, 0.0)

    return weigh


@misconception(
    "softmax-over-queries",
    "These are the values you get when the softmax runs over the queries, so that columns sum to 1 and not rows:"
    " check `dim`, it should be the last.",
)
def softmax_over_queries(query, key, value, mask=None):
    return right(query, key, value, mask, weigh=softmax_over(-2))


@misconception(
    "softmax-over-dim-1",
    "These are the values you get from a softmax with `dim=1`, which for a batch are the queries: the keys are the last"
    " dimension, `dim=-1`, whatever comes before.",
)
def softmax_over_dim_1(query, key, value, mask=None):
    return right(query, key, value, mask, weigh=softmax_over(1))


@misconception(
    "softmax-over-dim-0",
    "These are the values you get from a softmax with `dim=0`, over the batch: the keys compete, and they are the last"
    " dimension.",
)
def softmax_over_dim_0(query, key, value, mask=None):
    return right(query, key, value, mask, weigh=softmax_over(0))


def exponentials(scores, mask, shift, epsilon=0.0):
    powers = (scores - shift).exp()
    return powers / (powers.sum(-1, keepdim=True) + epsilon)


@misconception(
    "exp-without-max",
    "The exponentials overflow for large scores and vanish for very negative ones: subtract each row's largest score"
    " before `exp`, or use torch's softmax.",
)
def exp_without_max(query, key, value, mask=None):
    def weigh(scores, mask):
        weights = exponentials(scores, mask, 0.0)
        return weights if mask is None else torch.where(mask.any(-1, keepdim=True), weights, 0.0)

    return right(query, key, value, mask, weigh=weigh)


@misconception(
    "one-max-for-all-rows",
    "The largest score of the whole tensor is subtracted before `exp`, so the exponentials of milder rows vanish:"
    " subtract each row's own largest score.",
)
def one_max_for_all_rows(query, key, value, mask=None):
    def weigh(scores, mask):
        powers = (scores - (scores.detach().max() if scores.numel() else 0.0)).exp()
        total = powers.sum(-1, keepdim=True)
        empty = torch.zeros_like(total, dtype=torch.bool) if mask is None else ~mask.any(-1, keepdim=True)
        return powers / total.masked_fill(empty, 1.0)

    return right(query, key, value, mask, weigh=weigh)


@misconception(
    "epsilon-in-the-sum",
    "A small number is added to the sum of the exponentials, so rows sum to a little less than 1: take care of the"
    " queries that see nothing by the mask, not by an epsilon.",
)
def epsilon_in_the_sum(query, key, value, mask=None):
    def weigh(scores, mask):
        if scores.shape[-1] == 0:
            return scores
        largest = scores.detach().amax(-1, keepdim=True)
        return exponentials(scores, mask, largest.masked_fill(largest.isinf(), 0.0), 1e-6)

    return right(query, key, value, mask, weigh=weigh)


@misconception(
    "sigmoid-weights",
    "These are the values you get when weights are made by a sigmoid, each by itself: the keys compete, by a softmax.",
)
def sigmoid_weights(query, key, value, mask=None):
    return right(query, key, value, mask, weigh=lambda scores, mask: scores.sigmoid())


@misconception(
    "log-softmax",
    "These are the values you get from `log_softmax`, which gives the logarithms of the weights: use `softmax`.",
)
def log_softmax(query, key, value, mask=None):
    return right(query, key, value, mask, weigh=lambda scores, mask: scores.log_softmax(-1))


@misconception(
    "empty-softmax",
    "The largest score of a row is asked for where there are no keys at all: with s = 0 there is none, and the output"
    " is 0.",
)
def empty_softmax(query, key, value, mask=None):
    def weigh(scores, mask):
        scores.amax(-1, keepdim=True)  # raises for an empty row
        return over_keys(scores, mask)

    return right(query, key, value, mask, weigh=weigh)


@misconception(
    "keys-as-values",
    "These are the values you get when the weights are applied to the key: the output is a sum of values.",
)
def keys_as_values(query, key, value, mask=None):
    return right(query, key, key, mask)


# --- masks ----------------------------------------------------------------------------------------


@misconception(
    "mask-inverted",
    "These are the values you get when the mask is read the other way round: True means may attend, so fill where it"
    " is False, at `~mask`.",
)
def mask_inverted(query, key, value, mask=None):
    return right(query, key, value, None if mask is None else ~mask)


@misconception("mask-ignored", "These are the values you get when the mask plays no part.")
def mask_ignored(query, key, value, mask=None):
    return right(query, key, value, None)


@misconception(
    "mask-after-softmax",
    "These are the values you get when the mask is applied to the weights: what the masked keys had got is lost, and"
    " rows no longer sum to 1. Fill the scores, before the softmax.",
)
def mask_after_softmax(query, key, value, mask=None):
    def weigh(weights, mask):
        return weights if mask is None else weights * mask

    return right(query, key, value, mask, hide=lambda scores, mask: plain_softmax(scores, mask), weigh=weigh)


@misconception(
    "mask-fills-with-zero",
    "These are the values you get when masked scores become 0 (filled with 0, or multiplied by the mask): e⁰ is 1, so"
    " those keys still take part. Fill with -inf.",
)
def mask_fills_with_zero(query, key, value, mask=None):
    return right(query, key, value, mask, hide=lambda scores, m: scores if m is None else scores.masked_fill(~m, 0.0))


def filling_with(number):
    """A softmax after a fill with a finite number, and what becomes of it in a row that sees nothing."""
    return {
        "hide": lambda scores, mask: scores if mask is None else scores.masked_fill(~mask, number),
        "weigh": plain_softmax,
    }


@misconception(
    "mask-fills-with-small-number",
    "Masked scores are filled with -10 or so, which other scores easily reach: fill with -inf, and set to 0 the weights"
    " of queries that see nothing.",
)
def mask_fills_with_small_number(query, key, value, mask=None):
    return right(query, key, value, mask, **filling_with(-10.0))


@misconception(
    "mask-fills-with-ten-thousand",
    "Masked scores are filled with -10,000, which real scores can reach, and a query that sees nothing gets uniform"
    " weights: fill with -inf, and set to 0 the weights of queries that see nothing.",
)
def mask_fills_with_ten_thousand(query, key, value, mask=None):
    return right(query, key, value, mask, **filling_with(-1e4))


@misconception(
    "mask-fills-with-billion",
    "Masked scores are filled with -1e9: float16 has no such number, and a query that sees nothing gets uniform"
    " weights. Fill with -inf, and set to 0 the weights of queries that see nothing.",
)
def mask_fills_with_billion(query, key, value, mask=None):
    return right(query, key, value, mask, **filling_with(-1e9))


@misconception(
    "lowest-number-in-empty-rows",
    "Masked scores are filled with the lowest finite number, so a query that sees nothing spreads its weights over all"
    " keys: its weights should be 0.",
)
def lowest_number_in_empty_rows(query, key, value, mask=None):
    return right(query, key, value, mask, **filling_with(torch.finfo(query.dtype).min))


@misconception(
    "nan-in-empty-rows",
    "A query that sees nothing has only scores of -inf, of which softmax makes NaN: give that row harmless scores"
    " before the softmax, and weights of 0 after it (see “The trap”).",
)
def nan_in_empty_rows(query, key, value, mask=None):
    return right(query, key, value, mask, weigh=plain_softmax)


@misconception(
    "nan-patched-in-weights",
    "-inf is added to masked scores and `nan_to_num` hides the NaN of a query that sees nothing, but its gradient stays"
    " NaN: give that row harmless scores before the softmax (see “The trap”).",
)
def nan_patched_in_weights(query, key, value, mask=None):
    # After `masked_fill` the patch would do: no gradient goes back through what was filled. A sum passes it on.
    def hide(scores, mask):
        return scores if mask is None else scores + torch.zeros_like(scores).masked_fill(~mask, float("-inf"))

    return right(query, key, value, mask, hide=hide, weigh=lambda scores, mask: torch.nan_to_num(scores.softmax(-1)))


@misconception(
    "nan-patched-in-output",
    "`nan_to_num` on the output alone hides the NaN of a query that sees nothing: its weights are still NaN, and so are"
    " gradients. Give that row harmless scores before the softmax (see “The trap”).",
)
def nan_patched_in_output(query, key, value, mask=None):
    output, weights = right(query, key, value, mask, weigh=plain_softmax)
    return torch.nan_to_num(output), weights


@misconception(
    "zero-times-infinity",
    "The mask is multiplied by -inf and added to the scores, but 0 times infinity is NaN: use `masked_fill`.",
)
def zero_times_infinity(query, key, value, mask=None):
    def hide(scores, mask):
        return scores if mask is None else scores + (~mask) * float("-inf")

    return right(query, key, value, mask, hide=hide)


@misconception(
    "mask-as-padding",
    "Each mask gets a dimension put in before its last one, as if it were (b, s): broadcast it as it is, by torch's"
    " rules.",
)
def mask_as_padding(query, key, value, mask=None):
    return right(query, key, value, None if mask is None else mask.unsqueeze(-2))


@misconception(
    "mask-changed-in-place",
    "The mask is changed in place for queries that see nothing, and whoever gave it still needs it: work on a copy.",
)
def mask_changed_in_place(query, key, value, mask=None):
    if mask is None:
        return right(query, key, value)
    nothing = ~mask.any(-1, keepdim=True)
    mask |= nothing
    weights = hide(scaled(query, key, value), mask).softmax(-1).masked_fill(nothing, 0.0)
    return weights @ value, weights


@misconception(
    "asks-what-the-mask-holds",
    "An `if` asks what the mask holds, which a tensor on `meta` can't tell: let `masked_fill` or `where` decide entry"
    " by entry.",
)
def asks_what_the_mask_holds(query, key, value, mask=None):
    return right(query, key, value, None if mask is None or mask.all() else mask)


@misconception(
    "mask-on-the-cpu",
    "When no mask is given one is made, on the CPU: make new tensors on the input's device, with `device=...`.",
)
def mask_on_the_cpu(query, key, value, mask=None):
    refuse_vectors(query, key, value)
    everything = torch.ones(query.shape[-2], key.shape[-2], dtype=torch.bool)
    return right(query, key, value, everything if mask is None else mask)


# --- gradients, dtypes, arguments -----------------------------------------------------------------


@misconception(
    "weights-detached",
    "The weights are cut out of the graph (`detach`, `.data`, `no_grad`), so query and key get no gradient.",
)
def weights_detached(query, key, value, mask=None):
    return right(query, key, value, mask, weigh=lambda scores, mask: over_keys(scores, mask).detach())


@misconception(
    "inputs-detached",
    "The inputs are cut out of the graph (`torch.tensor(x)`, `.data`, `detach`), so none of them gets a gradient.",
)
def inputs_detached(query, key, value, mask=None):
    return right(query.detach(), key.detach(), value.detach(), mask)


@misconception(
    "weights-returned-detached",
    "The weights that you return are cut out of the graph: return them as they are.",
)
def weights_returned_detached(query, key, value, mask=None):
    output, weights = right(query, key, value, mask)
    return output, weights.detach()


@misconception(
    "float32-comes-out",
    "It returns float32 whatever goes in: leave the inputs' dtype as it is.",
)
def float32_comes_out(query, key, value, mask=None):
    return right(query.float(), key.float(), value.float(), mask)


@misconception(
    "through-float32",
    "It computes in float32 and turns the result back into the inputs' dtype, so the digits of float64 are lost.",
)
def through_float32(query, key, value, mask=None):
    output, weights = right(query.float(), key.float(), value.float(), mask)
    return output.to(query.dtype), weights.to(query.dtype)


@misconception(
    "query-changed-in-place",
    "The query is scaled in place (`/=`), and whoever gave it still needs it: make a new tensor.",
)
def query_changed_in_place(query, key, value, mask=None):
    refuse_vectors(query, key, value)
    query /= key.shape[-1] ** 0.5
    return right(query, key, value, mask, scores=lambda q, k, v: q @ k.mT)


@misconception(
    "rank-not-checked",
    "Nothing refuses a query, key or value with fewer than two dimensions: raise a `ValueError` for each of the three.",
)
def rank_not_checked(query, key, value, mask=None):
    return right(
        query, key, value, mask, refuse=lambda q, k, v: None, scores=lambda q, k, v: q @ k.mT / k.shape[-1] ** 0.5
    )


@misconception(
    "output-alone",
    "It returns the output alone: return the pair `(output, weights)`.",
)
def output_alone(query, key, value, mask=None):
    return right(query, key, value, mask)[0]


@misconception(
    "pair-swapped",
    "It returns the pair `(weights, output)`: the output comes first.",
)
def pair_swapped(query, key, value, mask=None):
    return right(query, key, value, mask)[::-1]


@misconception(
    "always-causal",
    "These are the values you get when no query may look at later keys: nothing is hidden here but by the mask.",
)
def always_causal(query, key, value, mask=None):
    earlier = torch.ones(query.shape[-2], key.shape[-2], dtype=torch.bool, device=query.device).tril()
    return right(query, key, value, earlier if mask is None else mask & earlier)
