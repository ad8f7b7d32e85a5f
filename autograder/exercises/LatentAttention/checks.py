"""Checks of `LatentAttention(d_model, num_heads, head_dim, latent_dim)`: forward and `absorbed`, (b, t, d_model) each.

Checks that are not about values start with `finding`, an easy case, for the form that they ask about. That `absorbed`
makes neither keys nor values is told by numbers: where these would be infinite, and what is asked of them is 0, the
right result is finite all the same (`infinite_keys`, `infinite_values`).
"""

import functools
from dataclasses import dataclass
from typing import Any

import torch

from ...checks import steps
from ...checks.api import (
    HUGE,
    HUGE_TOLERANCE,
    CheckFailed,
    Draw,
    check,
    close,
    gate,
    gradient,
    on_cuda,
    on_meta,
    parameters,
    reacts,
    refuses,
    shape,
    stayed_on_cuda,
    unchanged,
)
from ...checks.gates import easy_case
from ...checks.proxies import Proxy, Submission
from ...checks.steps import Weights
from ..families import digits, easy_cases, hidden, later_calls
from ..reference import long, qkv

METHODS = ("absorbed",)
FORMS = ("forward", "absorbed")
B, T = 2, 5
NEARLY_INFINITE = 1e308  # in float64


@dataclass(frozen=True)
class Sizes:
    """The arguments of the constructor."""

    d_model: int = 7
    heads: int = 3
    width: int = 4
    latent: int = 6

    def shapes(self) -> dict[str, tuple[int, int]]:
        """The shapes of the parameters by name."""
        return {
            "W_query.weight": (self.heads * self.width, self.d_model),
            "W_down.weight": (self.latent, self.d_model),
            "W_up_key.weight": (self.heads * self.width, self.latent),
            "W_up_value.weight": (self.heads * self.width, self.latent),
            "out_proj.weight": (self.d_model, self.heads * self.width),
        }

    def build(self, submission: Submission) -> Proxy:
        return submission.build("LatentAttention", self.d_model, self.heads, self.width, self.latent)


USUAL = Sizes()
SQUARE = Sizes(8, 2, 4, 8)  # where heads are as wide together as the input and the latent vectors
ONE = Sizes(d_model=5, heads=1, width=4, latent=3)


def weights(draw: Draw, sizes: Sizes, dtype: torch.dtype = torch.float32) -> Weights:
    """Weights by name, those of queries and keys large enough for scores of a few."""
    state = draw.state(sizes.shapes(), dtype)
    for name in ("W_query.weight", "W_up_key.weight"):
        state[name] *= 2
    return state


def module_of(submission: Submission, sizes: Sizes, state: Weights, dtype: torch.dtype | None = None) -> Proxy:
    module = sizes.build(submission)
    if dtype is not None:
        module.to(dtype=dtype)
    module.load(state)
    return module


def form_of(module: Proxy, form: str) -> Proxy:
    """The module itself, whose call is `forward`, or its method `absorbed`."""
    return module if form == "forward" else module.method(form)


def right(x: torch.Tensor, state: Weights, sizes: Sizes) -> torch.Tensor:
    return long.latent_attention(x, state, sizes.heads)


def equal(submission: Submission, draw: Draw, form: str, sizes: Sizes, b: int = B, t: int = T, what: str = "") -> None:
    """Raises CheckFailed unless this form is right for random weights of these sizes."""
    state, x = weights(draw, sizes), draw.normal(b, t, sizes.d_model)
    close(form_of(module_of(submission, sizes, state), form)(x), right(x, state, sizes), f"the output{what}")


def finding(submission: Submission, draw: Draw, form: str) -> None:
    """Raises CheckFailed unless this form passed an easy case."""
    finds(submission, draw, form=form)


@easy_case
def finds(submission: Submission, draw: Draw, form: str) -> None:
    """Raises CheckFailed unless tokens find their like, when all weights are the identity.

    Those of two groups find their own, and mild ones each other by a softmax. No slip in the scale or the mask changes
    that.
    """
    d = 6
    x, middle = easy_cases.grouped(draw, 8, d)
    sizes = Sizes(d, 1, d, d)
    state = {name: torch.eye(d) for name in sizes.shapes()}
    attend, mild = form_of(module_of(submission, sizes, state), form), easy_cases.mild_tokens(draw, 5, d)
    # a token that sees itself alone of its group is off by less than 0.2; the largest number is at least 3.5
    close(attend(x[None]), middle[None], tolerance=6e-2)
    got = attend(mild[None])
    shape(got, (1, 5, d))
    easy_cases.last_mixes_softly(got, (mild @ mild.T)[None], mild[None], "the weights of mild scores")


def note_what_is_too_much(submission: Submission) -> None:
    """Note the shapes of parameters that nobody asked for, whatever their names are.

    They become 0 (`Proxy.load`), and where all that comes out is 0, no value tells one of them from another mistake.
    """
    submission.settle()
    seen = len(submission.transcript.entries)
    found = USUAL.build(submission).parameters()
    del submission.transcript.entries[seen:]
    submission.note(sorted({tuple(w.shape) for name, w in found.items() if name not in USUAL.shapes()}))


@check("shape", points=0.125)
def test_parameters(submission: Submission, draw: Draw) -> None:
    """The parameters are the weights of the five layers, without biases, in the shapes of the contract."""
    note_what_is_too_much(submission)
    finding(submission, draw, "forward")
    for sizes in (USUAL, ONE):
        parameters(sizes.build(submission).parameters(), sizes.shapes())


@check("values", points=0.75)
def test_forward(submission: Submission, draw: Draw) -> None:
    """`forward` makes keys and values of the latent vectors, and each head attends with a scale of 1/√head_dim."""
    equal(submission, draw, "forward", USUAL)
    equal(submission, draw, "forward", SQUARE, t=8, what=" where all widths are equal")


@check("values", points=0.75)
def test_absorbed(submission: Submission, draw: Draw) -> None:
    """`absorbed` gives the same, and makes neither keys nor values."""
    finding(submission, draw, "absorbed")
    with gate():
        makes_no_keys(submission, draw)
        makes_no_values(submission, draw)
    equal(submission, draw, "absorbed", USUAL)
    equal(submission, draw, "absorbed", SQUARE, t=8, what=" where all widths are equal")


@check("values", points=0.125)
def test_one_head(submission: Submission, draw: Draw) -> None:
    """Both forms are right with a single head, where no heads can be mixed up."""
    for form in FORMS:
        finding(submission, draw, form)
        equal(submission, draw, form, ONE, what=f" of `{form}`")


@check("values", points=0.25)
def test_no_keys(submission: Submission, draw: Draw) -> None:
    """`absorbed` makes no keys: where one feature of them would be infinite, and no query asks for it, it is right."""
    finding(submission, draw, "absorbed")
    makes_no_keys(submission, draw)


@easy_case
def makes_no_keys(submission: Submission, draw: Draw) -> None:
    """Raises CheckFailed unless `absorbed` is finite where keys would not be.

    All latent vectors are above 1, and the first feature of each head's keys sums them up, times nearly the largest
    number. The first feature of its queries is 0, and so is its product with these weights: 0 times infinity is NaN.
    """
    sizes = USUAL
    state, x = with_positive_latents(draw, sizes)
    state["W_query.weight"][:: sizes.width] = 0
    without = right(x, state, sizes)
    state["W_up_key.weight"][:: sizes.width] = NEARLY_INFINITE
    got = module_of(submission, sizes, state, torch.float64).method("absorbed")(x)
    told_apart(got, without, "keys", "multiply the queries by the weights of `W_up_key` first")


@check("values", points=0.25)
def test_no_values(submission: Submission, draw: Draw) -> None:
    """`absorbed` makes no values: where they would be infinite, and cancel out in the average, it is right."""
    finding(submission, draw, "absorbed")
    makes_no_values(submission, draw)


@easy_case
def makes_no_values(submission: Submission, draw: Draw) -> None:
    """Raises CheckFailed unless `absorbed` is finite where values would not be.

    All scores are 0, so each token averages what it sees. The latent vectors of two tokens in a row are opposite in one
    feature, which `W_up_value` multiplies by nearly the largest number. Their average has a 0 there, and comes to 0.
    """
    sizes = USUAL
    state, x = with_positive_latents(draw, sizes, t=4)
    state["W_query.weight"].zero_()
    state["W_down.weight"][0] = 0
    state["W_down.weight"][0, 0] = 1
    x[..., 0] = 4 * torch.tensor([1, -1, 1, -1])
    state["W_up_value.weight"][:, 0] = 0
    without = right(x, state, sizes)
    state["W_up_value.weight"][:, 0] = NEARLY_INFINITE
    got = module_of(submission, sizes, state, torch.float64).method("absorbed")(x)
    shape(got, without.shape)
    told_apart(got[:, 1::2], without[:, 1::2], "values", "average the latent vectors, and use `W_up_value` afterwards")


def with_positive_latents(draw: Draw, sizes: Sizes, t: int = T) -> tuple[Weights, torch.Tensor]:
    """Weights and an input (b, t, d_model), in float64, whose latent vectors are all above 1."""
    state, x = weights(draw, sizes, torch.float64), draw.normal(B, t, sizes.d_model, dtype=torch.float64)
    x[..., -1] = 1.0
    state["W_down.weight"] = 0.1 * state["W_down.weight"]
    state["W_down.weight"][:, -1] = 3.0
    state["out_proj.weight"] *= 0.1
    return state, x


def told_apart(got: Any, expected: torch.Tensor, what: str, instead: str) -> None:
    """Raises CheckFailed unless what `absorbed` gives is finite and right."""
    shape(got, expected.shape)
    if not got.isfinite().all():
        raise CheckFailed(f"It makes {what}, in which there are infinities here: {instead}.")
    close(got, expected, tolerance=1e-6)


@check("values", points=0.25)
def test_the_two_forms_agree(submission: Submission, draw: Draw) -> None:
    """`forward` and `absorbed` give the same, for one token as for many."""
    for form in FORMS:
        finding(submission, draw, form)
    for t in (1, 9):
        state, x = weights(draw, USUAL), draw.normal(B, t, USUAL.d_model)
        module = module_of(submission, USUAL, state)
        one, other = module(x), module.method("absorbed")(x)
        shape(one, x.shape)
        close(other, one.detach().double(), "what `absorbed` gives")


def looks_back(submission: Submission, draw: Draw, form: str) -> None:
    """Raises CheckFailed unless a later token changes nothing for an earlier one, and an earlier one something."""
    finding(submission, draw, form)
    state, x, place = weights(draw, USUAL), draw.normal(B, T, USUAL.d_model), draw.integer(1, T - 1)
    later, first = x.clone(), x.clone()
    later[:, place:] += draw.normal(B, T - place, USUAL.d_model)
    first[:, 0] += draw.normal(B, USUAL.d_model)
    call = form_of(module_of(submission, USUAL, state), form)
    plain, after, before = call(x), call(later), call(first)
    for got in (plain, after, before):
        shape(got, x.shape)
    close(after[:, :place], plain[:, :place].detach().double(), "what tokens get after a change of later ones")
    says = "There is a token that gets the same when the first one changes, which it should see."
    reacts(plain, before, right(x, state, USUAL), right(first, state, USUAL), says)


@check("masking", points=0.25)
def test_forward_is_causal(submission: Submission, draw: Draw) -> None:
    """In `forward` each token sees itself and those before it."""
    looks_back(submission, draw, "forward")


@check("masking", points=0.25)
def test_absorbed_is_causal(submission: Submission, draw: Draw) -> None:
    """In `absorbed` each token sees itself and those before it."""
    looks_back(submission, draw, "absorbed")


def right_gradients(submission: Submission, draw: Draw, form: str) -> None:
    """Raises CheckFailed unless the gradients of input and weights are those of the reference."""
    finding(submission, draw, form)
    state, x = weights(draw, USUAL), draw.normal(B, T, USUAL.d_model, grad=True)
    upstream = draw.normal(B, T, USUAL.d_model)
    module = module_of(submission, USUAL, state)
    got = form_of(module, form).gradients(x, upstream=upstream)
    wanted = [x, *(weight.requires_grad_() for weight in state.values())]
    expected = qkv.gradients(right(x, state, USUAL), upstream.double(), wanted)
    gradient(got.inputs[0], expected[0], "the input")
    for name, one in zip(state, expected[1:], strict=True):
        gradient(got.parameters[name], one, f"`{name}`")


@check("gradients", points=0.125)
def test_gradients(submission: Submission, draw: Draw) -> None:
    """In `forward` the input and all five weights get the right gradients."""
    right_gradients(submission, draw, "forward")


@check("gradients", points=0.125)
def test_gradients_of_absorbed(submission: Submission, draw: Draw) -> None:
    """In `absorbed` the input and all five weights get the right gradients."""
    right_gradients(submission, draw, "absorbed")


@check("shape", points=0.125)
def test_small_and_odd_inputs(submission: Submission, draw: Draw) -> None:
    """One token, a batch of one, more heads, wide latent vectors, and tensors that are not contiguous work as well."""
    many = Sizes(d_model=24, heads=8, width=2, latent=30)
    for form in FORMS:
        finding(submission, draw, form)
        equal(submission, draw, form, ONE, b=1, t=1, what=f" of `{form}` for one token")
        state, x = weights(draw, ONE), draw.normal(B, ONE.d_model, T).mT
        close(form_of(module_of(submission, ONE, state), form)(x), right(x, state, ONE))
        equal(submission, draw, form, many, t=33, what=f" of `{form}` with 8 heads")


@check("numerics", points=0.125)
def test_extreme_scores(submission: Submission, draw: Draw) -> None:
    """Scores of ±10,000 give no NaN, no infinity and no leak, in both forms."""
    cases = [(weights(draw, ONE), draw.normal(B, T, ONE.d_model)), all_alike(draw), low_then_high(draw)]
    for state, x in cases:
        latents = qkv.project(x, state["W_down.weight"])
        queries, keys = qkv.project(x, state["W_query.weight"]), qkv.project(latents, state["W_up_key.weight"])
        state["W_query.weight"] *= HUGE * ONE.width**0.5 / (queries @ keys.mT).abs().max().item()
    for form in FORMS:
        finding(submission, draw, form)
        for state, x in cases:
            got = form_of(module_of(submission, ONE, state), form)(x)
            close(got, right(x, state, ONE), f"the output of `{form}`", tolerance=HUGE_TOLERANCE)


def all_alike(draw: Draw) -> tuple[Weights, torch.Tensor]:
    """Weights and an input for which all scores are nearly the same, and below 0, and the values are not.

    The last feature of all tokens is 1, and so is the first of their latent vectors: the scores are made of these.
    """
    state, x = weights(draw, ONE), draw.normal(B, T, ONE.d_model)
    x[..., -1] = 1.0
    state["W_down.weight"][0], state["W_down.weight"][:, -1] = 0.0, 0.0
    state["W_down.weight"][0, -1] = 1.0
    state["W_query.weight"] *= 0.0
    state["W_query.weight"][:, -1] = 1.0
    state["W_up_key.weight"] *= 3e-5
    state["W_up_key.weight"][:, 0] = -1.0
    return state, x


def low_then_high(draw: Draw) -> tuple[Weights, torch.Tensor]:
    """Weights and an input for which the scores of the first half of the tokens are low, and the others high.

    The last feature of all tokens is 1, of which queries are made, and the one before is that of keys.
    """
    state, x = all_alike(draw)
    x[..., -2] = hidden.signs(T)
    state["W_down.weight"][:, -2] = 0.0
    state["W_down.weight"][0, -2:] = torch.tensor([1.0, 0.0])
    state["W_up_key.weight"] *= 0.0
    state["W_up_key.weight"][:, 0] = 1.0
    return state, x


@check("numerics", points=0.125)
def test_dtypes(submission: Submission, draw: Draw) -> None:
    """A module in float64, float32, float16 or bfloat16 gives that dtype, as accurate as it allows, in both forms."""
    for form in FORMS:
        finding(submission, draw, form)
        for dtype in (torch.float64, torch.float32, torch.float16, torch.bfloat16):
            state, x = draw.state(ONE.shapes(), dtype), draw.normal(B, T, ONE.d_model, dtype=dtype)
            state["W_query.weight"] *= digits.CALM  # half precision has few digits for large scores
            got = form_of(module_of(submission, ONE, state, dtype), form)(x)
            close(got, right(x, state, ONE), f"the output of `{form}`", dtype=dtype)


@check("device", points=0.125)
def test_device(submission: Submission, draw: Draw) -> None:
    """The output lies on the device of the input, and nothing is made or left elsewhere (tried on `meta`), in both
    forms."""
    for form in FORMS:
        finding(submission, draw, form)
        module, x = USUAL.build(submission), draw.normal(B, T, USUAL.d_model)
        later_calls.moved(module, x, form="" if form == "forward" else form)
        on_meta(form_of(module, form).on("meta", x), (B, T, USUAL.d_model))


@check("arguments", points=0.125)
def test_wrong_rank(submission: Submission, draw: Draw) -> None:
    """An input that is not (b, t, d_model) is refused with a `ValueError`, in both forms."""
    module = module_of(submission, USUAL, weights(draw, USUAL))
    for form in FORMS:
        finding(submission, draw, form)
        for size in ((T, USUAL.d_model), (1, B, T, USUAL.d_model)):
            refuses(form_of(module, form).error(draw.normal(*size)), f"an input of shape {size} in `{form}`")


@check("mode", points=0.125, witnessed=True)
def test_again(submission: Submission, draw: Draw) -> None:
    """The input stays as it was, a second call gives the same, and changes of weights in between take effect."""
    first, second, x = weights(draw, USUAL), weights(draw, USUAL), draw.normal(B, T, USUAL.d_model)
    module = module_of(submission, USUAL, first)
    for form in FORMS:
        finding(submission, draw, form)
        module.load(first)
        call = form_of(module, form)
        one = call(x)
        unchanged(submission)
        close(call(x), one.detach().double(), f"what the second call of `{form}` returns")
        module.load(second)
        close(call(x), right(x, second, USUAL), f"the output of `{form}` with other weights")
        later_calls.nothing_is_kept(
            functools.partial(module_of, submission, USUAL),
            Proxy.load,
            (first, second),
            ([x], [draw.normal(B, T, USUAL.d_model)]),
            [x[:, :1]],
            form="" if form == "forward" else form,
        )


@check("device", points=0)
def test_cuda(submission: Submission, draw: Draw) -> None:
    """On a GPU the values are the same, in both forms."""
    on_cuda(submission)
    for form in FORMS:
        state, x = weights(draw, USUAL), draw.normal(B, T, USUAL.d_model)
        module = module_of(submission, USUAL, state).to(device="cuda")
        got = form_of(module, form).on("cuda", x)
        stayed_on_cuda(submission)
        close(got, right(x, state, USUAL))


def wrong_step(submission: Submission, draw: Draw) -> steps.Step | None:
    """The first step at which forward goes wrong, in small cases."""
    sizes = Sizes(d_model=6, heads=1, width=6, latent=6)

    def case(state: Weights) -> steps.Case:
        x = draw.normal(B, 3, 6)
        state = state | {"out_proj.weight": torch.eye(6)}
        values = qkv.project(qkv.project(x, state["W_down.weight"]), state["W_up_value.weight"])
        return steps.Case(module_of(submission, sizes, state)(x), right(x, state, sizes), values)

    return steps.first_wrong_of_layers(case, lambda: weights(draw, sizes), "W_up_key.weight")
