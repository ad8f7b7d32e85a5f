"""Checks of `GroupedQueryAttention(d_model, num_heads, num_kv_heads, head_dim=None, rope_base=None, qk_norm=False)`.

Causal, with narrow heads of which several share a key head: (b, t, d_model) -> (b, t, d_model).

The checks that it inherits build it without rotation and norms, so that a slip in these costs only the checks that are
about them. Where the values of shared heads are not the point, each query head has a key head of its own.
"""

from dataclasses import dataclass, replace
from functools import partial

import torch

from ...checks.api import Draw, check, close, gradient, on_meta, parameters, reacts, refuses, shape, tensor
from ...checks.proxies import Proxy, StudentError, Submission
from ...checks.steps import Weights
from ..families import later_calls
from ..families.many_heads import checks
from ..families.many_heads.checks import CausalHeadChecks, plain, tokens, weights
from ..reference import heads as multi_head
from ..reference import modern as reference
from ..reference import qkv

IN_FLOAT32 = reference.IN_FLOAT32


@dataclass(frozen=True)
class Sizes(checks.Sizes):
    """The sizes of self-attention, in which at most `group` query heads share a key head."""

    group: int = 1
    rope_base: float | None = None
    qk_norm: bool = False
    out_bias: bool = False

    @property
    def kv_heads(self) -> int:
        return -(-self.heads // self.group)

    def rows(self, part: str) -> int:
        return (self.heads if part == "query" else self.kv_heads) * self.width


class Layout(checks.Layout):
    def right(self, x: torch.Tensor, state: Weights, sizes: Sizes) -> torch.Tensor:
        return right(x, self.rename(state, sizes.heads), sizes)

    def largest_score(self, x: torch.Tensor, state: Weights, sizes: Sizes) -> float:
        return multi_head.largest_score(x, copied(state, sizes), sizes.heads)


def right(x: torch.Tensor, named: Weights, sizes: Sizes) -> torch.Tensor:
    """The output for weights under the module's own names."""
    return reference.grouped_attention(x, named, sizes.heads, sizes.kv_heads, sizes.rope_base)


def build(submission: Submission, sizes: Sizes, dropout: float, bias: bool) -> Proxy:
    """A module of these sizes; what is as by default is left out."""
    options = {}
    if sizes.heads * sizes.width != sizes.d_in:
        options["head_dim"] = sizes.width
    if sizes.rope_base is not None:
        options["rope_base"] = sizes.rope_base
    if sizes.qk_norm:
        options["qk_norm"] = True
    return submission.build("GroupedQueryAttention", sizes.d_in, sizes.heads, sizes.kv_heads, **options)


def copied(state: Weights, sizes: Sizes) -> Weights:
    """The weights of the multi-head attention in which each query head has a copy of the key head that it shares."""
    state = dict(state)
    for part in ("key", "value"):
        of_heads = state[f"{part}.weight"].unflatten(0, (sizes.kv_heads, sizes.width))
        owner = torch.arange(sizes.heads) * sizes.kv_heads // sizes.heads
        state[f"{part}.weight"] = of_heads[owner].flatten(0, 1)
    return state


LAYOUT = Layout(
    exercise="GroupedQueryAttention",
    names=("W_query", "W_key", "W_value", "out_proj"),
    build=build,
    sizes=Sizes(d_in=24, width=4, heads=6, d_out=24, group=2),
    plain_sizes=Sizes(d_in=6, width=3, heads=2, d_out=6),
    square=Sizes(d_in=16, width=4, heads=4, d_out=16, b=4, n=4, context=4, group=2),
    large=(
        Sizes(d_in=32, width=2, heads=16, d_out=32, b=9, n=3, context=3, group=4),
        Sizes(d_in=36, width=18, heads=2, d_out=36, b=2, n=70, context=70, group=2),
    ),
    is_causal=True,
)
OWN = Sizes(d_in=12, width=4, heads=3, d_out=12)  # as many key heads as query heads
OTHER_WIDTH = Sizes(d_in=10, width=6, heads=4, d_out=10, group=2)  # which is not d_model / num_heads
ALL = replace(OTHER_WIDTH, rope_base=100.0, qk_norm=True)
FAR = Sizes(d_in=8, width=8, heads=1, d_out=8, b=1, n=264, rope_base=10000.0)  # positions that bfloat16 does not have


def named(draw: Draw, sizes: Sizes, dtype: torch.dtype = torch.float32, state: Weights | None = None) -> Weights:
    """Weights under the module's own names, norms included; queries and keys are larger if they are not normalised."""
    found = LAYOUT.rename(weights(draw, sizes, dtype=dtype) if state is None else state, sizes.heads)
    for layer in ("W_query", "W_key"):
        found[f"{layer}.weight"] = 2 * found[f"{layer}.weight"]
    for norm in ("q_norm", "k_norm") if sizes.qk_norm else ():
        found[f"{norm}.weight"] = (1 + draw.normal(sizes.width, scale=0.5)).to(dtype)
    return found


def module(submission: Submission, state: Weights, sizes: Sizes, dtype: torch.dtype | None = None) -> Proxy:
    """A module with weights under its own names. If its projection does nothing, it may lack it."""
    built = build(submission, sizes, 0.0, False)
    if dtype:
        built.to(dtype=dtype)
    out = state["out_proj.weight"]
    does_nothing = out.shape[0] == out.shape[1] and torch.equal(out, torch.eye(len(out), dtype=out.dtype))
    built.load(state, ["out_proj.weight"] if does_nothing else [])
    return built.eval()


def right_values(submission: Submission, draw: Draw, *many_sizes: Sizes, what: str = "the output") -> None:
    """Raises CheckFailed unless the values are right for these sizes, without a projection where it can do nothing."""
    cases = []
    for sizes in many_sizes:
        is_square = sizes.heads * sizes.width == sizes.d_out
        state, x = named(draw, sizes, state=plain(draw, sizes) if is_square else None), tokens(draw, sizes)
        cases.append((module(submission, state, sizes)(x), right(x, state, sizes)))
    for got, expected in cases:
        close(got, expected, what)


def behind_others(draw: Draw, sizes: Sizes) -> Weights:
    """Weights with which all tokens ignore those whose second feature is 1, if their first one is 1.

    That is done by the last pair of each head, which hardly turns for a base as large as that of `sizes`.
    """
    state, half = named(draw, sizes, state=plain(draw, sizes)), sizes.width // 2
    for layer, feature, size in (("W_query", 0, 30.0), ("W_key", 1, -30.0)):
        rows = state[f"{layer}.weight"].view(sizes.heads, sizes.width, sizes.d_in)
        rows[:, :, :2] = rows[:, half - 1] = rows[:, -1] = 0.0
        rows[:, half - 1, feature] = size
    return state


class TestGroupedQueryAttention(CausalHeadChecks):
    layout = LAYOUT
    test_dropout = None  # pyright: ignore[reportAssignmentType]  # it has none
    test_too_long = None  # pyright: ignore[reportAssignmentType]  # nor a longest sequence
    points = {
        "test_extreme_scores": 0.25,
        "test_dtypes": 0.25,
        "test_wrong_rank": 0.25,
        "test_again": 0.25,
    }
    sentences = {
        "test_output": "The output is what all heads find, side by side, head 0 first, through `out_proj`.",
    }

    @check("shape", points=0.25)
    def test_parameters(self, submission: Submission, draw: Draw) -> None:
        """The parameters are those of the four layers, without biases, and with `qk_norm` those of the two norms."""
        self.averaging(submission, draw)
        expected = {"W_query.weight": (24, 12), "out_proj.weight": (12, 24)}
        expected |= {"W_key.weight": (12, 12), "W_value.weight": (12, 12)}
        usual = {"d_model": 12, "num_heads": 4, "num_kv_heads": 2, "head_dim": 6}
        parameters(submission.build("GroupedQueryAttention", **usual).parameters(), expected)
        built = submission.build("GroupedQueryAttention", **usual, rope_base=100.0, qk_norm=True)
        parameters(built.parameters(), {**expected, "q_norm.weight": (6,), "k_norm.weight": (6,)})

    @check("values", points=1)
    def test_shared_heads(self, submission: Submission, draw: Draw) -> None:
        """Neighbours share a key head and its values: the same comes out if each query head has a copy of its own."""
        self.averaging(submission, draw)
        cases = []
        for heads, group in ((4, 4), (4, 2), (6, 2), (6, 3)):
            sizes = replace(OWN, d_in=4 * heads, d_out=4 * heads, heads=heads, group=group)
            state, x = plain(draw, sizes), tokens(draw, sizes)
            of_its_own = copied(state, sizes)
            each = self.module(submission, of_its_own, replace(sizes, group=1))
            cases.append((sizes, self.output(self.module(submission, state, sizes), x), self.output(each, x)))
        for sizes, shared, own in cases:
            shape(own, (sizes.b, sizes.n, sizes.d_out))
            what = f"{sizes.heads} query heads that share {sizes.kv_heads} key heads"
            close(shared, tensor(own).double(), f"the output of {what}, compared with {sizes.heads} copies of them,")

    @check("values", points=0.5)
    def test_head_dim(self, submission: Submission, draw: Draw) -> None:
        """A `head_dim` that is given is the width of each head, need not be d_model / num_heads, and sets the scale."""
        right_values(submission, draw, replace(OTHER_WIDTH, group=1), OTHER_WIDTH)

    @check("values", points=0.75)
    def test_rope(self, submission: Submission, draw: Draw) -> None:
        """With a `rope_base`, `apply_rope` turns the queries and keys of each head, not the values, at positions 0 to
        t - 1."""
        rotated = [replace(OWN, rope_base=base) for base in (10000.0, 100.0)]
        right_values(submission, draw, *rotated, replace(rotated[0], n=21), what="the output with rotated heads")

    @check("values", points=0.25)
    def test_only_distances_count(self, submission: Submission, draw: Draw) -> None:
        """With a `rope_base` the order of the tokens counts, and of their positions only the distance."""
        self.averaging(submission, draw)
        sizes = Sizes(d_in=12, width=6, heads=2, d_out=12, rope_base=1e8)
        state, x, before = behind_others(draw, sizes), tokens(draw, sizes), tokens(draw, replace(sizes, n=17))
        x[..., 0] = before[..., 0] = before[..., 1] = 1.0
        x[..., 1] = 0.0
        built = module(submission, state, sizes)
        other = torch.cat([x[:, :-1].flip(1), x[:, -1:]], dim=1)
        usual, turned = self.output(built, x), self.output(built, other)
        shifted = {many: self.output(built, torch.cat([before[:, :many], x], dim=1)) for many in (3, 17)}
        shape(usual, (sizes.b, sizes.n, sizes.d_out))
        shape(turned, usual.shape)
        says = "The last token's output stays the same when those before it come in another order."
        before, after = (right(one, state, sizes)[:, -1].flatten() for one in (x, other))
        reacts(usual[:, -1].flatten(), turned[:, -1].flatten(), before, after, says)
        for many, got in shifted.items():
            shape(got, (sizes.b, many + sizes.n, sizes.d_out))
            close(got[:, many:], usual.double(), f"the output of tokens behind {many} others that they ignore")

    @check("values", points=0.75)
    def test_norms(self, submission: Submission, draw: Draw) -> None:
        """With `qk_norm`, `q_norm` and `k_norm` bring each head's queries and keys to their length, not the values."""
        right_values(submission, draw, replace(OWN, qk_norm=True), what="the output with normalised heads")

    @check("values", points=0.25)
    def test_all_together(self, submission: Submission, draw: Draw) -> None:
        """Norms, then the rotation, then shared heads: together they give the right values."""
        right_values(submission, draw, replace(LAYOUT.sizes, rope_base=100.0, qk_norm=True))  # type: ignore[arg-type]

    @check("gradients", points=0.25)
    def test_gradients_of_all(self, submission: Submission, draw: Draw) -> None:
        """With norms and rotation the gradients of the input and of all weights are right, those of the norms too."""
        state = named(draw, ALL, torch.float64)
        x, upstream = (tokens(draw, ALL, dtype=torch.float64, grad=grad) for grad in (True, False))
        leaves = {name: w.clone().requires_grad_() for name, w in state.items()}
        expected = qkv.gradients([right(x, leaves, ALL)], [upstream], [x, *leaves.values()])
        got = module(submission, state, ALL, torch.float64).gradients(x, upstream=upstream)
        gradient(got.inputs[0], expected[0], "the input", torch.float64, IN_FLOAT32)
        for name, grad in zip(leaves, expected[1:], strict=True):
            gradient(got.parameters.get(name), grad, f"`{name}`", torch.float64, IN_FLOAT32)

    @check("numerics", points=0.25)
    def test_dtypes_with_all(self, submission: Submission, draw: Draw) -> None:
        """With norms and rotation, too, the dtype that comes in goes out, and positions are whole numbers in each."""
        sizes, cases = replace(OWN, rope_base=100.0, qk_norm=True), []
        for dtype in (torch.float64, torch.float32, torch.float16, torch.bfloat16):
            state, x = named(draw, sizes, dtype, plain(draw, sizes, dtype)), tokens(draw, sizes, dtype=dtype)
            cases.append((module(submission, state, sizes, dtype)(x), right(x, state, sizes), dtype))
        state, x = plain(draw, FAR, torch.bfloat16), tokens(draw, FAR, dtype=torch.bfloat16)
        for part in ("query", "key"):  # the same for all tokens, so each finds itself, by its position alone
            state[f"{part}.weight"] = torch.zeros_like(state[f"{part}.weight"])
            state[f"{part}.weight"][:, 0] = 4.0
        x[..., 0] = 1.0
        state = named(draw, FAR, state=state)
        far, own = module(submission, state, FAR, torch.bfloat16)(x), right(x, state, FAR)
        for got, expected, dtype in cases:
            close(got, expected, dtype=dtype, tolerance=IN_FLOAT32 if dtype is torch.float64 else None)
        close(far, own, f"the output for {FAR.n} tokens", dtype=torch.bfloat16)

    @check("shape", points=0.25)
    def test_small_and_odd_inputs(self, submission: Submission, draw: Draw) -> None:
        """A batch of one, a sequence of one token or of thousands, and a tensor that is not contiguous work like any
        other."""
        super().test_small_and_odd_inputs(submission, draw)
        sizes = Sizes(d_in=2, width=2, heads=1, d_out=2, b=1)
        built = module(submission, named(draw, sizes, state=plain(draw, sizes)), sizes).to(device="meta")
        call = partial(built.on, "meta")  # where sizes have to fit, and nothing is computed
        try:
            call(tokens(draw, sizes))
        except StudentError:  # which is told elsewhere
            return
        on_meta(self.output(call, torch.ones(1, 5000, 2)), (1, 5000, 2), "the output for 5,000 tokens")

    @check("device", points=0.25)
    def test_device(self, submission: Submission, draw: Draw) -> None:
        """The output lies on the device of the input, and nothing is made or left elsewhere, also where heads are
        rotated (tried on `meta`)."""
        super().test_device(submission, draw)
        sizes = replace(OWN, rope_base=100.0, qk_norm=True)
        x = tokens(draw, sizes)
        built = later_calls.moved(module(submission, named(draw, sizes, state=plain(draw, sizes)), sizes), x)
        on_meta(self.output(partial(built.on, "meta"), x), (sizes.b, sizes.n, sizes.d_out))

    @check("arguments", points=0.25)
    def test_heads_that_do_not_divide(self, submission: Submission, draw: Draw) -> None:
        """Numbers of heads that don't divide are refused with a `ValueError` whose message holds both numbers."""
        self.averaging(submission, draw)
        wrong = {
            "6 query heads for 4 key heads": ((12, 6, 4), (6, 4)),
            "4 query heads for 8 key heads": ((12, 4, 8), (4, 8)),
            "a width of 15 with 4 heads and no `head_dim`": ((15, 4, 2), (15, 4)),
        }
        for what, (given, numbers) in wrong.items():
            error = None
            try:
                submission.build("GroupedQueryAttention", *given)
                submission.settle()
            except StudentError as raised:
                error = raised
            refuses(error, what, *numbers)
