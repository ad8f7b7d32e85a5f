"""Wrong implementations of `softmax(scores, dim=-1)`. Each one replaces a step of `right`."""

import torch
import torch.nn.functional as F

from ...mistakes.bank import misconception

INF = float("inf")

# --- the right steps ------------------------------------------------------------------------------


def largest_of_slice(scores, dim):
    largest = scores.detach().amax(dim, keepdim=True)
    return largest.masked_fill(largest == -INF, 0.0)


def share(powers, dim):
    total = powers.sum(dim, keepdim=True)
    return powers / total.masked_fill(total == 0, 1.0)


def right(scores, dim=-1, shift=largest_of_slice, share=share, power=torch.exp):
    """A softmax of which any step can be replaced."""
    return share(power(scores - shift(scores, dim)), dim)


# --- the shift ------------------------------------------------------------------------------------


@misconception(
    "textbook-formula",
    "This is the formula as it stands, exp(s) / sum of exp(s), as in notebook 002: it overflows for large scores and"
    " gives 0 / 0 for very negative ones. Subtract each slice's largest score first.",
    original="002",
)
def textbook_formula(scores, dim=-1):
    return scores.exp() / scores.exp().sum(dim, keepdim=True)


@misconception(
    "sum-over-everything",
    "The powers are divided by the sum of all powers of the tensor, so that the whole tensor sums to 1: sum along"
    " `dim`, with `keepdim=True`.",
    original="002",
)
def sum_over_everything(scores, dim=-1):
    return right(scores, dim, share=lambda powers, dim: powers / powers.sum().clamp(min=1e-30))


@misconception(
    "exp-without-max",
    "The exponentials overflow for large scores and vanish for very negative ones: subtract each slice's largest score"
    " before `exp`.",
)
def exp_without_max(scores, dim=-1):
    return right(scores, dim, shift=lambda scores, dim: 0.0)


@misconception(
    "one-max-for-all-slices",
    "The largest score of the whole tensor is subtracted before `exp`, so the exponentials of milder slices vanish:"
    " subtract each slice's own largest score.",
)
def one_max_for_all_slices(scores, dim=-1):
    def shift(scores, dim):
        largest = scores.detach().max()
        return largest.masked_fill(largest == -INF, 0.0)

    return right(scores, dim, shift=shift)


@misconception(
    "mean-subtracted",
    "The mean is subtracted before `exp`: the largest score can still be far above it and overflow, and one score of"
    " -inf makes the mean -inf. Subtract the largest.",
)
def mean_subtracted(scores, dim=-1):
    return right(scores, dim, shift=lambda scores, dim: scores.detach().mean(dim, keepdim=True))


@misconception(
    "min-subtracted",
    "The smallest score is subtracted before `exp`, which makes the others larger still: subtract the largest.",
)
def min_subtracted(scores, dim=-1):
    return right(scores, dim, shift=lambda scores, dim: scores.detach().amin(dim, keepdim=True))


@misconception(
    "divided-by-max",
    "The scores are divided by the largest one, which changes the weights: only a shift cancels out, so subtract it.",
)
def divided_by_max(scores, dim=-1):
    largest = scores.detach().abs().amax(dim, keepdim=True)
    return right(scores / largest.masked_fill(largest == 0, 1.0), dim)


@misconception(
    "scores-clamped",
    "The scores are cut off at ±80 to keep `exp` in its range, so that large ones become equal: subtract each slice's"
    " largest score instead.",
)
def scores_clamped(scores, dim=-1):
    hidden = scores == -INF
    return right(scores.clamp(-80, 80).masked_fill(hidden, -INF), dim, shift=lambda scores, dim: 0.0)


# --- dimensions -----------------------------------------------------------------------------------


@misconception("dim-ignored", "The weights always sum to 1 along the last dimension: `dim` has to be passed on.")
def dim_ignored(scores, dim=-1):
    return right(scores, -1)


@misconception(
    "max-over-last-dimension",
    "The largest score is always taken along the last dimension, whatever `dim` says: shift each slice by its own"
    " largest score.",
)
def max_over_last_dimension(scores, dim=-1):
    return right(scores, dim, shift=lambda scores, dim: largest_of_slice(scores, -1))


@misconception(
    "default-is-first-dimension",
    "Without `dim` the weights sum to 1 along the first dimension: the default is the last, `dim=-1`.",
)
def default_is_first_dimension(scores, dim=0):
    return right(scores, dim)


@misconception(
    "keepdim-forgotten",
    "The sums lose the dimension that they run over, so they meet the wrong powers or none: use `keepdim=True`.",
)
def keepdim_forgotten(scores, dim=-1):
    def share(powers, dim):
        total = powers.sum(dim)
        return powers / total.masked_fill(total == 0, 1.0)

    return right(scores, dim, share=share)


@misconception(
    "matrices-only",
    "It works for matrices only: with `keepdim=True` the same lines do for any number of dimensions.",
)
def matrices_only(scores, dim=-1):
    if scores.dim() != 2:
        raise RuntimeError(f"expected a matrix, got {tuple(scores.shape)}")
    return right(scores, dim)


@misconception("squeezed", "`squeeze` drops every dimension of size 1: the weights have the shape of the scores.")
def squeezed(scores, dim=-1):
    return right(scores, dim).squeeze()


@misconception(
    "view-of-the-scores",
    "`view` needs a tensor that lies contiguous in memory, and a transposed one does not: use `reshape`, or neither.",
)
def view_of_the_scores(scores, dim=-1):
    return right(scores.view(scores.numel()).view(scores.shape), dim)


# --- what is made of the powers -------------------------------------------------------------------


@misconception(
    "log-softmax",
    "These are the logarithms of the weights: take `exp` of them.",
)
def log_softmax(scores, dim=-1):
    return right(scores, dim).log()


@misconception(
    "sigmoid-weights",
    "These are the values of a sigmoid, each by itself: in a softmax the entries of a slice compete for a sum of 1.",
)
def sigmoid_weights(scores, dim=-1):
    return scores.sigmoid()


@misconception(
    "not-divided",
    "The powers are not divided by their sum, so they don't sum to 1.",
)
def not_divided(scores, dim=-1):
    return right(scores, dim, share=lambda powers, dim: powers)


@misconception(
    "no-exponential",
    "The scores themselves are divided by their sum: softmax takes `exp` of them first, which makes them positive.",
)
def no_exponential(scores, dim=-1):
    return scores / scores.sum(dim, keepdim=True)


@misconception("base-two", "These are the weights for powers of 2: softmax uses e, by `exp`.")
def base_two(scores, dim=-1):
    return right(scores, dim, power=torch.exp2)


@misconception(
    "epsilon-in-the-sum",
    "A small number is added to the sum of the powers, so weights sum to a little less than 1: with the largest power"
    " at 1 it is needed only where all scores are -inf.",
)
def epsilon_in_the_sum(scores, dim=-1):
    return right(scores, dim, share=lambda powers, dim: powers / (powers.sum(dim, keepdim=True) + 1e-6))


# --- minus infinity -------------------------------------------------------------------------------


@misconception(
    "nan-in-empty-slices",
    "Where all scores are -inf, so is the largest, and -inf minus -inf is NaN: replace the largest by 0 there, and the"
    " sum by 1.",
)
def nan_in_empty_slices(scores, dim=-1):
    return right(scores, dim, shift=lambda scores, dim: scores.detach().amax(dim, keepdim=True))


@misconception(
    "nan-patched-in-weights",
    "`nan_to_num` hides the NaN of slices that are all -inf, but their gradient stays NaN: don't let the NaN arise.",
)
def nan_patched_in_weights(scores, dim=-1):
    return nan_in_empty_slices(scores, dim).nan_to_num(0.0)


@misconception(
    "uniform-in-empty-slices",
    "-inf is replaced by the lowest finite number, so where all scores are -inf the weights are all equal: they should"
    " be 0.",
)
def uniform_in_empty_slices(scores, dim=-1):
    return right(scores.masked_fill(scores == -INF, torch.finfo(scores.dtype).min), dim)


@misconception(
    "minus-infinity-becomes-zero",
    "Scores of -inf are replaced by 0, and e⁰ is 1, so they still take part: their weight should be 0.",
)
def minus_infinity_becomes_zero(scores, dim=-1):
    return right(scores.masked_fill(scores == -INF, 0.0), dim)


@misconception(
    "asks-what-the-scores-hold",
    "An `if` asks what the scores hold, which a tensor on `meta` can't tell: let `masked_fill` or `where` decide entry"
    " by entry.",
)
def asks_what_the_scores_hold(scores, dim=-1):
    if (scores == -INF).any():
        return right(scores, dim)
    return right(scores, dim)


# --- gradients, dtypes, devices, rules ------------------------------------------------------------


@misconception(
    "weights-detached",
    "The weights are cut out of the graph (`detach`, `.data`, `no_grad`), so no gradient gets to the scores.",
)
def weights_detached(scores, dim=-1):
    return right(scores, dim).detach()


@misconception(
    "sum-detached",
    "The sum of the powers is cut out of the graph, so the gradient misses that weights compete: only the shift may be"
    " detached.",
)
def sum_detached(scores, dim=-1):
    def share(powers, dim):
        total = powers.detach().sum(dim, keepdim=True)
        return powers / total.masked_fill(total == 0, 1.0)

    return right(scores, dim, share=share)


@misconception("float32-comes-out", "It returns float32 whatever goes in: leave the dtype as it is.")
def float32_comes_out(scores, dim=-1):
    return right(scores.float(), dim)


@misconception(
    "through-float32",
    "It computes in float32 and turns the result back into the scores' dtype, so the digits of float64 are lost.",
)
def through_float32(scores, dim=-1):
    return right(scores.float(), dim).to(scores.dtype)


@misconception(
    "zeros-on-the-cpu",
    "A tensor is made on the CPU and in float32, wherever the scores are: use `masked_fill` with a number, or"
    " `torch.zeros_like`.",
)
def zeros_on_the_cpu(scores, dim=-1):
    def shift(scores, dim):
        largest = scores.detach().amax(dim, keepdim=True)
        return torch.where(largest == -INF, torch.zeros(1), largest)

    return right(scores, dim, shift=shift)


@misconception(
    "scores-changed-in-place",
    "The scores are changed in place (`-=`, `exp_`, …), and whoever gave them still needs them: make a new tensor.",
)
def scores_changed_in_place(scores, dim=-1):
    scores.data -= largest_of_slice(scores, dim)
    return right(scores, dim)


@misconception(
    "torchs-own-softmax",
    "It leaves the work to torch's own softmax, log-softmax or logsumexp: build it from `exp`, a maximum and a sum.",
)
def torchs_own_softmax(scores, dim=-1):
    nothing = (scores == -INF).all(dim, keepdim=True)
    return F.softmax(scores.masked_fill(nothing, 0.0), dim).masked_fill(nothing, 0.0)
