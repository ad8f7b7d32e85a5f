"""Wrong implementations of `self_attention(x)`. Each one replaces a step of `right`."""

import torch

from ...mistakes.bank import misconception

# --- the right steps ------------------------------------------------------------------------------


def refuse(x):
    if x.dim() != 3:
        raise ValueError(f"expected (b, t, k), got {tuple(x.shape)}")


def products(x):
    """(b, t, k) -> (b, t, t)."""
    return x @ x.mT


def right(
    x,
    refuse=refuse,
    compare=products,
    weigh=lambda scores: scores.softmax(-1),
    mix=lambda weights, x: weights @ x,
):
    """Self-attention without parameters, of which any step can be replaced."""
    refuse(x)
    return mix(weigh(compare(x)), x)


# --- softmax and scale ----------------------------------------------------------------------------


@misconception(
    "softmax-over-the-wrong-tokens",
    "These are the values you get when columns sum to 1 and not rows: the softmax has to run over the last dimension,"
    " the tokens that are looked at.",
)
def softmax_over_the_wrong_tokens(x):
    return right(x, weigh=lambda scores: scores.softmax(-2))


@misconception(
    "exp-without-max",
    "The exponentials overflow for large scores: subtract each row's largest score before `exp`, or use torch's"
    " softmax.",
)
def exp_without_max(x):
    return right(x, weigh=lambda scores: scores.exp() / scores.exp().sum(-1, keepdim=True))


@misconception(
    "one-max-for-all-rows",
    "The largest of all scores is subtracted before `exp`, so the exponentials of milder rows vanish: subtract each"
    " row's own largest score.",
)
def one_max_for_all_rows(x):
    def weigh(scores):
        powers = (scores - scores.detach().max()).exp()
        return powers / powers.sum(-1, keepdim=True)

    return right(x, weigh=weigh)


@misconception("no-softmax", "The scores are used as weights as they are: a softmax has to make weights of them.")
def no_softmax(x):
    return right(x, weigh=lambda scores: scores)


@misconception(
    "divided-by-the-sum",
    "The scores are divided by their sum, without `exp`: that gives negative weights, and is no softmax.",
)
def divided_by_the_sum(x):
    return right(x, weigh=lambda scores: scores / scores.sum(-1, keepdim=True))


@misconception(
    "log-softmax",
    "These are the values you get from `log_softmax`, which gives the logarithms of the weights: use `softmax`.",
)
def log_softmax(x):
    return right(x, weigh=lambda scores: scores.log_softmax(-1))


@misconception(
    "sigmoid-weights",
    "These are the values you get when weights are made by a sigmoid, each by itself: the tokens of a row compete, by a"
    " softmax.",
)
def sigmoid_weights(x):
    return right(x, weigh=lambda scores: scores.sigmoid())


@misconception(
    "scaled-already",
    "These are the values you get when scores are divided by the root of the number of features: here they are not"
    " scaled, that comes in exercise 5.",
)
def scaled_already(x):
    return right(x, compare=lambda x: x @ x.mT / x.shape[-1] ** 0.5)


@misconception(
    "scaled-without-root",
    "These are the values you get when scores are divided by the number of features: here they are not scaled at all.",
)
def scaled_without_root(x):
    return right(x, compare=lambda x: x @ x.mT / x.shape[-1])


# --- what is compared, and what is averaged -------------------------------------------------------


@misconception(
    "features-compared",
    "These are the values you get from Xᵀ X, as notebook 004 writes it: that compares features with features. With"
    " tokens as rows it is X Xᵀ.",
    original="004",
)
def features_compared(x):
    refuse(x)
    return x @ (x.mT @ x).softmax(-1)


@misconception(
    "own-vector",
    "Every token gets its own vector back: under the sum belongs x_j, the token that is looked at, and not x_i as"
    " notebook 000 writes.",
    original="000",
)
def own_vector(x):
    return right(x, mix=lambda weights, x: weights.sum(-1, keepdim=True) * x)


@misconception(
    "weights-applied-twice",
    "These are the values you get when the weights are applied twice: nothing comes after the weighted sum.",
    original="004",
)
def weights_applied_twice(x):
    return right(x, mix=lambda weights, x: weights @ (weights @ x))


@misconception(
    "multiplied-by-the-input",
    "The result is multiplied by the input once more, a step that notebook 004 lists and that does not exist.",
    original="004",
)
def multiplied_by_the_input(x):
    return right(x, mix=lambda weights, x: (weights @ x) * x)


@misconception("input-added", "The input is added to the result: that comes with transformer blocks, not here.")
def input_added(x):
    return right(x, mix=lambda weights, x: weights @ x + x)


@misconception(
    "cosine-similarity",
    "The tokens are brought to length 1 before they are compared: the score is the plain dot product.",
)
def cosine_similarity(x):
    def compare(x):
        unit = x / x.norm(dim=-1, keepdim=True)
        return unit @ unit.mT

    return right(x, compare=compare)


@misconception(
    "itself-left-out",
    "No token may look at itself here: each one takes part in its own average, like all others.",
)
def itself_left_out(x):
    def weigh(scores):
        own = torch.eye(scores.shape[-1], dtype=torch.bool, device=scores.device)
        return scores.masked_fill(own, -1e4).softmax(-1)

    return right(x, weigh=weigh)


@misconception("always-causal", "No token may look at later ones here: that is for lesson 03, here all look at all.")
def always_causal(x):
    def weigh(scores):
        later = torch.ones_like(scores, dtype=torch.bool).triu(1)
        return scores.masked_fill(later, float("-inf")).softmax(-1)

    return right(x, weigh=weigh)


@misconception("all-tokens-alike", "Every token gets the plain mean of all tokens: the weights play no part.")
def all_tokens_alike(x):
    return right(x, weigh=lambda scores: torch.full_like(scores, 1 / scores.shape[-1]))


# --- gradients, dtypes, arguments -----------------------------------------------------------------


@misconception(
    "weights-detached",
    "The weights are cut out of the graph (`detach`, `.data`, `no_grad`): the gradient through them is missing.",
)
def weights_detached(x):
    return right(x, weigh=lambda scores: scores.softmax(-1).detach())


@misconception(
    "input-detached",
    "The input is cut out of the graph (`torch.tensor(x)`, `.data`, `detach`), so it gets no gradient.",
)
def input_detached(x):
    return right(x.detach())


@misconception("float32-comes-out", "It returns float32 whatever goes in: leave the dtype as it is.")
def float32_comes_out(x):
    return right(x.float())


@misconception(
    "through-float32",
    "It computes in float32 and turns the result back into the input's dtype, so the digits of float64 are lost.",
)
def through_float32(x):
    return right(x.float()).to(x.dtype)


@misconception("squeezed", "`squeeze` drops every dimension of size 1, such as that of a single token: leave it away.")
def squeezed(x):
    return right(x).squeeze()


@misconception(
    "view-of-the-input",
    "`view` needs a tensor that lies contiguous in memory, and a transposed one does not: use `reshape`, or neither.",
)
def view_of_the_input(x):
    refuse(x)
    return right(x.view(x.numel()).view(x.shape))


@misconception(
    "asks-what-the-input-holds",
    "An `if` asks what the input holds, which a tensor on `meta` can't tell: no value needs to be looked at here.",
)
def asks_what_the_input_holds(x):
    if torch.isnan(x).any():
        raise ValueError("NaN")
    return right(x)


@misconception(
    "input-changed-in-place",
    "The input is changed in place (`/=`, `*=`, …), and whoever gave it still needs it: make a new tensor.",
)
def input_changed_in_place(x):
    refuse(x)
    output = right(x)
    x.data /= 2
    return output


@misconception(
    "rank-not-checked",
    "Nothing refuses an input that is not (b, t, k): look at `x.dim()` and raise a `ValueError`.",
    original="000",
)
def rank_not_checked(x):
    return right(x, refuse=lambda x: None)


# --- batches --------------------------------------------------------------------------------------


@misconception(
    "softmax-over-dim-0",
    "These are the values you get from a softmax with `dim=0`, over the sequences of the batch: the tokens that are"
    " looked at are the last dimension.",
)
def softmax_over_dim_0(x):
    return right(x, weigh=lambda scores: scores.softmax(0))


@misconception(
    "batch-flattened",
    "The sequences of the batch are joined into one long sequence, so they see each other: leave the batch dimension"
    " alone.",
)
def batch_flattened(x):
    refuse(x)
    return right(x.reshape(1, -1, x.shape[-1])).reshape(x.shape)


@misconception(
    "first-sequence-only",
    "Only the first sequence of the batch comes out: each sequence has an output of its own.",
)
def first_sequence_only(x):
    return right(x)[:1]


@misconception(
    "sequence-made-a-batch",
    "One sequence (t, k) is taken as a batch of one instead of being refused: this function wants a batch (b, t, k).",
)
def sequence_made_a_batch(x):
    return right(x.unsqueeze(0))[0] if x.dim() == 2 else right(x)
