"""Checks of `load_from_torch(module, mha)`: the weights of an nn.MultiheadAttention into a MultiHeadAttention.

The student's own module is built in the sandbox, and so is torch's, whose weights are sent from here. The module's
parameters are then read and compared here. Every check demands that weights arrive.
"""

from collections.abc import Sequence

import torch
from torch import nn

from ...checks.api import HUGE, HUGE_TOLERANCE, CheckFailed, Draw, check, close, gate, name_of, refuses
from ...checks.proxies import Proxy, StudentError, Submission
from ...checks.steps import Weights
from ..families import hidden

NO_DEVICE = "It writes into parameters, wherever they are."  # why no check is made on a GPU
ALSO_BUILDS = ("MultiHeadAttention",)  # the student's own, into which weights are loaded
NO_TENSORS = "It gives nothing, and writes into parameters."  # why it is not tried with tensors of random values

D, HEADS, N = 6, 2, 5
LAYERS = ("W_query", "W_key", "W_value")


def source_state(draw: Draw, bias: bool = True, dtype: torch.dtype = torch.float32) -> Weights:
    """Random weights for an nn.MultiheadAttention."""
    shapes: dict[str, tuple[int, ...]] = {"in_proj_weight": (3 * D, D), "out_proj.weight": (D, D)}
    if bias:
        shapes.update({"in_proj_bias": (3 * D,), "out_proj.bias": (D,)})
    return draw.state(shapes, dtype)


def source(submission: Submission, state: Weights, dtype: torch.dtype | None = None) -> Proxy:
    """An nn.MultiheadAttention in the sandbox with these weights loaded."""
    bias = "in_proj_bias" in state
    mha = submission.torch_module("MultiheadAttention", embed_dim=D, num_heads=HEADS, bias=bias, batch_first=True)
    if dtype:
        mha.to(dtype=dtype)
    mha.load(state)
    return mha


@gate()
def target(submission: Submission, draw: Draw, qkv_bias: bool) -> Proxy:
    """A module of the student's with random weights in all its parameters."""
    try:
        module = submission.build("MultiHeadAttention", D, D, N, 0.0, HEADS, qkv_bias=qkv_bias)
        shapes = {f"{name}.weight": (D, D) for name in (*LAYERS, "out_proj")}
        names = (*LAYERS, "out_proj") if qkv_bias else ("out_proj",)
        module.load(draw.state({**shapes, **{f"{name}.bias": (D,) for name in names}}))
        submission.settle()
    except StudentError as error:
        raise CheckFailed(
            f"First fix your `MultiHeadAttention`, whose layers are needed to load weights into. {error.sentence()}"
        ) from None
    return module


def expected(state: Weights, qkv_bias: bool) -> Weights:
    """The right parameters by name."""
    right = dict(zip([f"{name}.weight" for name in LAYERS], state["in_proj_weight"].chunk(3), strict=True))
    if qkv_bias:
        biases = state.get("in_proj_bias", torch.zeros(3 * D)).chunk(3)
        right.update(zip([f"{name}.bias" for name in LAYERS], biases, strict=True))
    right["out_proj.weight"] = state["out_proj.weight"]
    right["out_proj.bias"] = state.get("out_proj.bias", torch.zeros(D))
    return right


def arrived(module: Proxy, state: Weights, qkv_bias: bool, names: Sequence[str] | None = None) -> None:
    """Raises CheckFailed unless the parameters (all, or those in `names`) hold the source's numbers."""
    got = module.parameters(telling=True)
    for name, right in expected(state, qkv_bias).items():
        if names is None or name in names:
            close(got.get(name), right, f"{name} after loading", tolerance=1e-6)


def blocks_of(state: Weights) -> list[torch.Tensor]:
    """What any of the three layers may hold where it does not matter which is where: a block, or a turned one."""
    blocks = state["in_proj_weight"].chunk(3)
    return [*blocks, *(block.T for block in blocks)]


@gate()
def something_arrived(module: Proxy, state: Weights) -> None:
    """Raises CheckFailed unless queries, keys and values each hold a block of the source's weights, whichever."""
    got, blocks = module.parameters(telling=True), blocks_of(state)
    for name in LAYERS:
        weight = got.get(f"{name}.weight")
        if weight is None or not any(torch.allclose(weight.double(), block.double(), atol=1e-6) for block in blocks):
            raise CheckFailed(f"{name}.weight holds none of the three blocks of `in_proj_weight`.")


def loaded(
    submission: Submission, draw: Draw, bias: bool, qkv_bias: bool, state: Weights | None = None
) -> tuple[Proxy, Proxy, Weights]:
    """(module, source, the source's weights) after a call of the function."""
    state = state or source_state(draw, bias)
    module, mha = target(submission, draw, qkv_bias), source(submission, state)
    submission.function("load_from_torch").do(module, mha)
    return module, mha, state


WEIGHTS = [f"{name}.weight" for name in (*LAYERS, "out_proj")]
BIASES = [f"{name}.bias" for name in (*LAYERS, "out_proj")]


@check("values", points=1)
def test_weights(submission: Submission, draw: Draw) -> None:
    """The weights of queries, keys and values, in this order, and of the output projection are copied."""
    module, _, state = loaded(submission, draw, bias=False, qkv_bias=False)
    arrived(module, state, False, WEIGHTS)


@check("values", points=0.5)
def test_biases(submission: Submission, draw: Draw) -> None:
    """The biases of queries, keys and values, in this order, and of the output projection are copied."""
    module, _, state = loaded(submission, draw, bias=True, qkv_bias=True)
    something_arrived(module, state)
    arrived(module, state, True, BIASES)


@check("values", points=0.5)
def test_missing_biases_become_zero(submission: Submission, draw: Draw) -> None:
    """Where the source has no biases, all biases that the module has become 0."""
    cases = [(*loaded(submission, draw, bias=False, qkv_bias=room), room) for room in (True, False)]
    for module, _, state, room in cases:
        something_arrived(module, state)
        arrived(module, state, room, BIASES)


@check("arguments", points=0.5)
def test_no_room_for_biases(submission: Submission, draw: Draw) -> None:
    """Biases of queries, keys or values that are not 0, in a module without room for them, are a `ValueError`."""
    module, _, state = loaded(submission, draw, bias=True, qkv_bias=True)
    something_arrived(module, state)
    errors = []
    for part, signs in enumerate(torch.tensor([[-0.5, 0.0], [0.0, 1e-5], [-0.5, 0.5]])):
        state = source_state(draw)
        state["in_proj_bias"] = torch.zeros(3 * D)
        state["in_proj_bias"][part * D : part * D + 2] = signs
        cramped, mha = target(submission, draw, qkv_bias=False), source(submission, state)
        errors.append(submission.function("load_from_torch").refused(cramped, mha))
    for name, error in zip(("queries", "keys", "values"), errors, strict=True):
        refuses(error, f"a source whose biases of the {name} are not 0, without room for them,")


@check("arguments", points=0.5)
def test_biases_of_zero_need_no_room(submission: Submission, draw: Draw) -> None:
    """Biases of queries, keys and values that are all 0 need no room: the rest is copied."""
    state = source_state(draw)
    state["in_proj_bias"] = torch.zeros(3 * D)
    module, _, _ = loaded(submission, draw, True, qkv_bias=False, state=state)
    something_arrived(module, state)


@check("values", points=0.5)
def test_agreement(submission: Submission, draw: Draw) -> None:
    """After loading, the module gives what torch's layer gives under a causal mask."""
    module, _, state = loaded(submission, draw, bias=True, qkv_bias=True)
    with gate():
        arrived(module, state, True, WEIGHTS)
    x, far = draw.normal(2, N, D), source_state(draw)
    rows = far["in_proj_weight"][: 2 * D].zero_()
    rows[:D, 0], rows[D:, 1], far["in_proj_bias"][: 2 * D] = HUGE, (D // HEADS) ** -0.5, 0.0
    high = torch.cat([torch.ones(2, N, 1), hidden.signs(N).expand(2, N)[..., None], x[..., 2:]], dim=2)
    again, _, _ = loaded(submission, draw, bias=True, qkv_bias=True, state=far)
    close(module(x), under_a_mask(x, state), "the output after loading")
    what = "the output after loading, beside later tokens with far larger scores,"
    close(again(high), under_a_mask(high, far), what, tolerance=HUGE_TOLERANCE)


def under_a_mask(x: torch.Tensor, state: Weights) -> torch.Tensor:
    """What torch's layer gives under a causal mask, in float64."""
    layer, x = nn.MultiheadAttention(D, HEADS, batch_first=True, dtype=torch.float64), x.double()
    layer.load_state_dict(state)
    may_not = torch.ones(N, N, dtype=torch.bool).triu(1)
    return layer(x, x, x, attn_mask=may_not, need_weights=False)[0]


@check("numerics", points=0.5)
def test_dtype_and_requires_grad_stay(submission: Submission, draw: Draw) -> None:
    """Parameters keep their dtype, also where the source has another, and whether they ask for a gradient."""
    cases = []
    single, double = torch.float32, torch.float64
    for theirs, ours in [(double, single), (single, double), (double, double)]:
        state, module = source_state(draw, dtype=theirs), target(submission, draw, qkv_bias=True)
        module.to(dtype=ours)
        mha = source(submission, state, theirs)
        module.freeze("W_key.weight", "out_proj.bias")
        mha.freeze("in_proj_bias")
        submission.function("load_from_torch").do(module, mha)
        something_arrived(module, state)
        blocks = [block.to(ours) for block in blocks_of(state)]
        cases.append((module.parameters(telling=True), module.frozen(), blocks, ours))
    for got, frozen, blocks, ours in cases:
        if any(value.dtype != ours for value in got.values()):
            raise CheckFailed(f"The dtype of a parameter has changed: all were {name_of(ours)} before.")
        for name in LAYERS:
            if not any(torch.equal(got[f"{name}.weight"], block) for block in blocks):
                raise CheckFailed(f"Digits are lost on the way to {name}.weight.")
        if frozen != {"W_key.weight", "out_proj.bias"}:
            raise CheckFailed("Whether a parameter asks for a gradient has changed.")


@check("mode", points=0.5)
def test_source_stays_apart(submission: Submission, draw: Draw) -> None:
    """The source is left as it was, and changing it afterwards does not change the module: they share no memory."""
    module, mha, state = loaded(submission, draw, bias=True, qkv_bias=True)
    something_arrived(module, state)
    before, after = module.parameters(telling=True), mha.parameters(telling=True)
    for name, right in state.items():
        close(after.get(name), right, f"{name} of the source")
    if mha.frozen():
        raise CheckFailed("Parameters of the source no longer ask for a gradient.")
    mha.load(source_state(draw))
    now = module.parameters(telling=True)
    if any(not torch.equal(now[name], value) for name, value in before.items()):
        raise CheckFailed("When the source is changed after loading, the module changes with it.")


@check("mode", points=0.5, witnessed=True)
def test_same_parameters(submission: Submission, draw: Draw) -> None:
    """The parameters are the same objects as before, so that an optimiser still trains them, and modes stay as well."""
    for mode in (True, False):
        state = source_state(draw)
        module, mha = target(submission, draw, qkv_bias=True).train(mode), source(submission, state).train(mode)
        submission.function("load_from_torch").do(module, mha)
        replaced, modes = submission.last.replaced, (module.training(), mha.training())
        something_arrived(module, state)
        if replaced:
            raise CheckFailed("Parameters were replaced by new ones.")
        if modes != (mode, mode):
            raise CheckFailed("The module or its source has been set to another mode (`train`, `eval`).")
