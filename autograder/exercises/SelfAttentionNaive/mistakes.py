"""Wrong implementations of `SelfAttentionNaive()`. Each replaces a step of `right`, or is the original."""

import torch
import torch.nn.functional as F
from torch import nn

from ...mistakes.bank import misconception as named

# --- the right steps ------------------------------------------------------------------------------


def refuse(x):
    if x.dim() != 2:
        raise ValueError(f"expected (n, d), got {tuple(x.shape)}")


def right(
    x,
    refuse=refuse,
    compare=lambda x: x @ x.mT,
    weigh=lambda scores: scores.softmax(-1),
    mix=lambda weights, x: weights @ x,
):
    """Self-attention without parameters, (n, d) -> (n, d), of which any step can be replaced."""
    refuse(x)
    return mix(weigh(compare(x)), x)


def misconception(id, says, original=None):
    """Marks a function of the input as the `forward` of a wrong module."""

    def mark(forward):
        module = type(forward.__name__, (nn.Module,), {"forward": lambda self, x: forward(x), "__module__": __name__})
        return named(id, says, original)(module)

    return mark


# --- the original and its defects -----------------------------------------------------------------


# Typed as the notebook has it.
# fmt: off
@named(
    "original-004",
    "This is notebook 004's class as it was given: with `dim=0` the columns of the weights sum to 1 and not the rows,"
    " and nothing refuses a batch.",
    original="004",
)
class SelfAttentionNaive(nn.Module):
    """Self-attention without anything to learn, for one sequence: (n, d) -> (n, d)."""

    def forward(self, inputs):
        attention_scores = inputs @ inputs.T                    # (n, d) x (d, n) -> (n, n)
        attention_weights = F.softmax(attention_scores, dim=0)  # (n, n)
        return attention_weights @ inputs                       # (n, n) x (n, d) -> (n, d)
# fmt: on


# --- softmax and scale ----------------------------------------------------------------------------


@misconception(
    "softmax-over-the-wrong-tokens",
    "These are the values you get when columns sum to 1 and not rows: the softmax has to run over the last dimension,"
    " the tokens that are looked at.",
    original="004",
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
    "Nothing refuses an input that is not (n, d): look at `inputs.dim()` and raise a `ValueError`.",
    original="004",
)
def rank_not_checked(x):
    return right(x, refuse=lambda x: None)


@misconception(
    "batch-accepted",
    "A vector is refused, but a batch is not: only (n, d) is wanted here, so compare `dim()` with 2.",
)
def batch_accepted(x):
    def refuse(x):
        if x.dim() < 2:
            raise ValueError(f"expected (n, d), got {tuple(x.shape)}")

    return right(x, refuse=refuse)


@named(
    "layers-of-its-own",
    "The module has layers of its own: there is nothing to learn here, so it should have no parameters.",
)
class LayersOfItsOwn(nn.Module):
    def __init__(self):
        super().__init__()
        self.W_query = nn.Linear(6, 6, bias=False)

    def forward(self, x):
        return right(x)


@misconception("batch-added", "One sequence (n, d) comes out as a batch of one: take that dimension away again.")
def batch_added(x):
    return right(x).unsqueeze(0)
