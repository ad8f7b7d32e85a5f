"""Checks of `BigramLanguageModel(vocab_size, n_embd, block_size, num_heads, dropout=0.0)`.

`forward(idx, targets=None)`: (b, t) twice -> logits (b, t, vocab_size) and the mean loss or None. It uses the student's
own `StackedHeads`: checks of the whole formula look at that first, and say so if it is wrong.

Checks that are not about the whole formula start with `looking`, an easy case. Code that does not attend gets no points
there, while a wrong head does not cost the points for, say, the loss. Returning something else than the pair that was
asked for, as long as the logits are in it, costs only the check about that. A layer that is missing after the heads, or
a bias, costs only the checks of values and of the parameters.
"""

from dataclasses import dataclass, replace
from typing import Any

import torch

from ...checks.api import (
    HUGE,
    HUGE_TOLERANCE,
    TOLERANCE,
    CheckFailed,
    Draw,
    check,
    close,
    gradient,
    kind_of,
    number,
    on_cuda,
    on_meta,
    pair,
    parameters,
    plausible,
    reacts,
    refuses,
    shape,
    stayed_on_cuda,
    tensor,
    unchanged,
)
from ...checks.gates import easy_case
from ...checks.proxies import Proxy, StudentError, Submission
from ...checks.steps import Weights
from ..families import easy_cases, hidden, later_calls
from ..families.many_heads.checks import DROPPED, dropped_in_heads
from ..families.many_heads.checks import Sizes as HeadSizes
from ..reference import bigram as reference

NEIGHBOURS = 2.0**-10  # how far apart float32's numbers near 10,000 are
TABLES = ("token_embedding_table.weight", "position_embedding_table.weight")


@dataclass(frozen=True)
class Sizes:
    """Sizes of a model, and its usual input: b sequences of t tokens."""

    vocab: int
    n_embd: int
    block: int
    heads: int
    b: int = 2
    t: int = 5


USUAL = Sizes(vocab=11, n_embd=12, block=7, heads=4)  # all different from one another and from a head's width
SQUARE = Sizes(vocab=4, n_embd=4, block=4, heads=2, b=4, t=4)
ROOMY = Sizes(vocab=13, n_embd=8, block=9, heads=4, t=7)
LARGE = Sizes(vocab=50, n_embd=36, block=80, heads=9, b=2, t=66)


def weights(draw: Draw, sizes: Sizes, dtype: torch.dtype = torch.float32) -> Weights:
    """Different random weights for all layers and tables."""
    state = draw.state(reference.shapes(sizes.vocab, sizes.n_embd, sizes.block, sizes.heads), dtype)
    for table in TABLES:
        state[table] = draw.normal(*state[table].shape, dtype=dtype)
    return state


def plain(draw: Draw, sizes: Sizes, dtype: torch.dtype = torch.float32) -> Weights:
    """Random weights, but queries of 0: each token attends equally to all that it may see."""
    state = weights(draw, sizes, dtype)
    for name in state:
        if name.endswith("query.weight"):
            state[name].zero_()
    return state


def later_high(draw: Draw, sizes: Sizes) -> Weights:
    """Weights with scores of -10,000 for keys in the first half of a sequence, and 10,000 for the others."""
    state = weights(draw, sizes)
    for table in TABLES:
        state[table][:, :2] = 0.0
    state[TABLES[1]][:, 0], state[TABLES[1]][: sizes.t, 1] = 1.0, hidden.signs(sizes.t)
    for head in range(sizes.heads):
        query, key = (state[f"sa_head.heads.{head}.{part}.weight"].zero_() for part in ("query", "key"))
        query[:, 0], key[:, 1] = HUGE, key.shape[0] ** -0.5
    return state


def tolerance_of_loss(expected: torch.Tensor) -> float:
    """The tolerance for the loss of logits near ±10,000: a logsumexp of them is rounded as numbers of that size are."""
    return TOLERANCE["float32"] + NEIGHBOURS / float(expected)


def tokens(draw: Draw, sizes: Sizes, b: int | None = None, t: int | None = None) -> torch.Tensor:
    """Random tokens (b, t)."""
    return torch.randint(sizes.vocab, (b or sizes.b, t or sizes.t), generator=draw.generator)


def build(
    submission: Submission, state: Weights, sizes: Sizes, dropout: float | None = None, dtype: torch.dtype | None = None
) -> Proxy:
    """A model in eval mode with these weights loaded."""
    options = {} if dropout is None else {"dropout": dropout}
    model = submission.build("BigramLanguageModel", sizes.vocab, sizes.n_embd, sizes.block, sizes.heads, **options)
    if dtype:
        model.to(dtype=dtype)
    model.load(state, optional=optional(state))
    return model.eval()


def optional(state: Weights) -> list[str]:
    """The weights that a model may lack and still be tried: of the layers after the heads."""
    return [name for name in state if name.startswith(("lm_head.", "sa_head.proj."))]


def logits_of(value: Any) -> torch.Tensor:
    """The logits among the values returned: wherever they are, a tensor that is no single number."""
    parts = value if isinstance(value, (tuple, list)) else [value]
    found = next((part for part in parts if isinstance(part, torch.Tensor) and part.dim() > 1), None)
    return tensor(value if found is None else found, "the logits")


def loss_of(value: Any) -> torch.Tensor:
    """The loss among the values returned for targets: a single number."""
    parts = value if isinstance(value, (tuple, list)) else [value]
    loss = next((part for part in parts if isinstance(part, torch.Tensor) and part.dim() == 0), None)
    if loss is None:
        raise CheckFailed(f"With targets there should be a loss, a tensor of shape (); what came is {kind_of(value)}.")
    return loss


@easy_case
def looks(submission: Submission, draw: Draw, sizes: Sizes = USUAL) -> None:
    """Raises CheckFailed unless a model passes an easy case.

    There a token finds two others, and its logits have to be the mean of what each of those gives alone. The logits
    themselves are not checked, and it does not matter what else reads the embeddings, since `lm_head` reads other
    features. All rows of the position table are the same, so it does not matter which one is used.
    """
    half, (tokens, vectors) = sizes.n_embd // 2, easy_cases.opposites(draw, sizes.n_embd // 2)
    vectors[:, 0] -= 1.0  # to cancel what the positions add
    state = weights(draw, sizes)
    for table, rows in zip(TABLES, (vectors, torch.ones(sizes.block, half)), strict=True):
        state[table].zero_()[: len(rows), :half] = rows
    state["lm_head.weight"][:, :half] = 0.0
    state["sa_head.proj.bias"] += 10.0  # so that an activation after it changes nothing
    for head in range(sizes.heads):
        names = (f"sa_head.heads.{head}.{part}.weight" for part in ("query", "key"))
        easy_cases.find_alike(state, sizes.n_embd // sizes.heads, *names, sign=-1)
    model = build(submission, state, sizes)
    same = torch.tensor([0, 1, 2, 3, 0])[:, None].repeat(1, tokens.shape[1])  # five, for b to differ from t
    idx = torch.cat([tokens, same])
    logits = logits_of(model(idx))
    shape(logits, (*idx.shape, sizes.vocab), "the logits")
    together, alone = comparable(logits).split((len(tokens), len(same)))
    alone = alone[:4].mean(1)  # all tokens are the same, so only one token is seen
    found = alone[:2].mean(0)
    if ((alone[2:] - found).abs().amax(1) < 1e-3).any():
        raise CheckFailed("Different tokens have the same logits.")
    what = "the logits of a token that attends to two others, compared with theirs,"
    close(together[:, 2], found.expand(2, -1), what, tolerance=2e-3)


def comparable(logits: torch.Tensor) -> torch.Tensor:
    """Logits up to a number that is added to all of a place, also if a softmax was taken of them, maybe of its log."""
    logits = logits.double()
    if ((logits.sum(-1) - 1).abs() < 1e-3).all() and (logits > 0).all():
        logits = logits.log()
    return logits - logits.mean(-1, keepdim=True)


def speaking(submission: Submission, draw: Draw, sizes: Sizes = USUAL) -> Proxy:
    """A model with random weights, after its class has passed the easy case."""
    looks(submission, draw, sizes=sizes)
    return build(submission, weights(draw, sizes), sizes)


def heads_first(submission: Submission, draw: Draw) -> None:
    """Raises CheckFailed, naming `StackedHeads`, if nothing but the heads is wrong in a model without positions."""
    sizes = replace(ROOMY, t=4)
    state, even = weights(draw, sizes), plain(draw, sizes)
    state["position_embedding_table.weight"].zero_()
    even["position_embedding_table.weight"].zero_()
    idx = tokens(draw, sizes)
    got, easy = (logits_of(build(submission, s, sizes)(idx)) for s in (state, even))
    shape(easy, (sizes.b, sizes.t, sizes.vocab), "the logits")
    try:
        close(easy[:, -1], reference.logits(idx, even)[:, -1])
    except CheckFailed:
        return  # then the heads are not the only thing that is wrong
    try:
        close(got, reference.logits(idx, state), "the logits of a small model without positions")
    except CheckFailed as wrong:
        raise CheckFailed(f"First fix your `StackedHeads` or its `Head`, which the model uses: {wrong}") from None


# --- the checks -----------------------------------------------------------------------------------


@check("shape", points=0.5)
def test_parameters(submission: Submission, draw: Draw) -> None:
    """The parameters are those of the two tables, `sa_head` and `lm_head`, no others; `block_size` is an attribute."""
    looks(submission, draw, sizes=USUAL)
    model = submission.build("BigramLanguageModel", vocab_size=13, n_embd=6, block_size=5, num_heads=2, dropout=0.1)
    parameters(model.parameters(), reference.shapes(13, 6, 5, 2))
    block_size = number(model.attribute("block_size"))
    is_number = isinstance(block_size, (int, float))
    if not is_number or block_size != 5:
        said = block_size if is_number else kind_of(block_size)
        raise CheckFailed(f"The attribute `block_size` should be 5, as the constructor was told, but it is {said}.")


@check("values", points=1)
def test_logits(submission: Submission, draw: Draw) -> None:
    """The logits are those of the formula: embeddings of token and place, added, through the heads and `lm_head`."""
    heads_first(submission, draw)
    state, idx = weights(draw, USUAL), tokens(draw, USUAL, b=9)
    close(logits_of(build(submission, state, USUAL).train()(idx)), reference.logits(idx, state), "the logits")
    state, idx = weights(draw, LARGE), tokens(draw, LARGE)
    close(
        logits_of(build(submission, state, LARGE)(idx)), reference.logits(idx, state), f"the logits of {LARGE.t} tokens"
    )


@check("values", points=0.5)
def test_sizes_that_are_equal(submission: Submission, draw: Draw) -> None:
    """Logits and loss are right also when many sizes are equal, where a mix-up of dimensions does not crash."""
    heads_first(submission, draw)
    state, idx, targets = weights(draw, SQUARE), tokens(draw, SQUARE), tokens(draw, SQUARE)
    model = build(submission, state, SQUARE)
    plain, loss = logits_of(model(idx)), loss_of(model(idx, targets))
    expected = reference.logits(idx, state)
    close(plain, expected, "the logits")
    close(loss, reference.loss(expected, targets), "the loss")


@check("values", points=0.5)
def test_positions(submission: Submission, draw: Draw) -> None:
    """Row i of the position table is added at place i, counted from 0, whatever token stands there."""
    looks(submission, draw, sizes=USUAL)
    sizes = ROOMY
    state = plain(draw, sizes)
    model = build(submission, state, sizes)
    inputs = [tokens(draw, sizes, t=t) for t in range(1, sizes.block + 1)]
    got = [logits_of(model(idx)) for idx in inputs]
    alone = {**state, "token_embedding_table.weight": torch.zeros(sizes.vocab, sizes.n_embd)}
    model.load(alone)
    few = [inputs[0], inputs[2], inputs[-1]]
    without = [logits_of(model(idx)) for idx in few]
    for found, given, held, what in (
        (got, inputs, state, ""),
        (without, few, alone, ", when all tokens' embeddings are 0,"),
    ):
        for one, idx in zip(found, given, strict=True):
            expected, t = reference.logits(idx, held), idx.shape[1]
            shape(one, expected.shape, f"the logits of {t} tokens")
            close(one[:, -1], expected[:, -1], f"the logits at the last of {t} tokens{what}")


@check("masking", points=0.5)
def test_no_looking_ahead(submission: Submission, draw: Draw) -> None:
    """The logits at a place depend on the tokens up to there, on each of them, and on no later or other sequence's."""
    sizes = ROOMY
    looks(submission, draw, sizes=sizes)
    state, idx = weights(draw, sizes), tokens(draw, sizes)
    model = build(submission, state, sizes)
    others = torch.cat([idx[:1].repeat(sizes.t, 1), idx[1:]])  # of the first sequence, one token changed in each
    shifts = torch.randint(1, sizes.vocab, (sizes.t,), generator=draw.generator)
    others[: sizes.t] += torch.diag(shifts)
    others %= sizes.vocab
    before, changed = logits_of(model(idx)), logits_of(model(others))
    high = later_high(draw, sizes)
    beside = logits_of(build(submission, high, sizes)(idx))
    shape(before, (*idx.shape, sizes.vocab), "the logits")
    shape(changed, (*others.shape, sizes.vocab), "the logits")
    close(changed[-1], before[-1].double(), "the logits of a sequence in which nothing changed")
    what = "the logits beside later tokens with far larger scores"
    close(beside, reference.logits(idx, high), what, tolerance=HUGE_TOLERANCE)
    right = reference.logits(torch.cat([idx[:1], others[: sizes.t]]), state)
    for place, got in enumerate(changed[: sizes.t]):
        close(got[:place], before[0, :place].double(), "the logits before the token that changed")
        says = "There is a place whose logits stay the same when a token up to there changes."
        reacts(before[0, place:], got[place:], right[0, place:], right[1 + place, place:], says)


@check("values", points=0.5)
def test_loss(submission: Submission, draw: Draw) -> None:
    """With targets the loss is the mean of −log softmax(logits)[target] over all b·t places; without, it is None."""
    model = speaking(submission, draw)
    idx, targets = tokens(draw, USUAL), tokens(draw, USUAL)
    targets[0, 0], targets[-1, -1] = 0, USUAL.vocab - 1
    untold, told = model(idx), model(idx, targets)
    logits, loss = logits_of(untold), loss_of(told)
    trained = loss_of(model.train()(idx, targets))
    shape(logits, (*idx.shape, USUAL.vocab), "the logits")
    for value, what in ((loss, "the loss"), (trained, "the loss in train mode")):
        close(value, reference.loss(logits, targets), what)
    parts = untold if isinstance(untold, (list, tuple)) and len(untold) > 1 else pair(untold, "`(logits, None)`")
    if all(part is not None for part in parts):
        raise CheckFailed(f"Without targets the loss should be None, but it is {kind_of(list(parts)[1])}.")


@check("shape", points=0.5)
def test_what_is_returned(submission: Submission, draw: Draw) -> None:
    """It returns exactly two things, and the logits are (b, t, vocab_size) and the same with targets as without."""
    model = speaking(submission, draw)
    idx, targets = tokens(draw, USUAL), tokens(draw, USUAL)
    untold, told = model(idx), model(idx, targets)
    for value in (untold, told):
        shape(pair(value, "`(logits, loss)`")[0], (*idx.shape, USUAL.vocab), "the logits")
    close(told[0], untold[0].double(), "the logits with targets, compared with those without,")


@check("gradients", points=0.5)
def test_gradients(submission: Submission, draw: Draw) -> None:
    """The gradients of all parameters are right, both those of the loss and those of the logits."""
    heads_first(submission, draw)
    state = weights(draw, USUAL, torch.float64)
    idx, targets = tokens(draw, USUAL), tokens(draw, USUAL)
    upstream = draw.normal(USUAL.b, USUAL.t, USUAL.vocab, dtype=torch.float64)
    half = torch.tensor(0.5, dtype=torch.float64)
    of_logits, of_loss = reference.gradients(idx, targets, state, upstream, half)
    model = build(submission, state, USUAL, dtype=torch.float64)
    first = model.gradients(idx, upstream=(upstream,)).parameters
    second = model.train().gradients(idx, targets, upstream=(None, half)).parameters
    for found, right, what in ((first, of_logits, "the logits"), (second, of_loss, "the loss")):
        for name, one in right.items():
            gradient(found.get(name), one, f"{name}, from {what},", torch.float64)


@check("numerics", points=0.5)
def test_extreme_logits(submission: Submission, draw: Draw) -> None:
    """Logits of ±10,000 give a loss that is finite and right: far apart, or all of them near ±10,000."""
    looks(submission, draw, sizes=USUAL)
    idx, targets, state, cases = tokens(draw, USUAL), tokens(draw, USUAL), plain(draw, USUAL), []
    largest = reference.logits(idx, state).abs().max()
    apart = {name: w * HUGE / largest if name.startswith("lm_head") else w for name, w in state.items()}
    near = [{**state, "lm_head.bias": state["lm_head.bias"] + far} for far in (HUGE, -HUGE)]
    for extreme in (apart, *near):
        value = build(submission, extreme, USUAL)(idx, targets)
        cases.append((logits_of(value), loss_of(value)))
    for logits, loss in cases:
        expected = reference.loss(logits.reshape(*idx.shape, -1), targets)
        close(loss, expected, "the loss", tolerance_of_loss(expected))


@check("numerics", points=0.5)
def test_dtypes(submission: Submission, draw: Draw) -> None:
    """A model in float64, float16 or bfloat16 returns logits and loss of that dtype, as accurate as it allows."""
    looks(submission, draw, sizes=USUAL)
    cases = []
    for dtype in (torch.float64, torch.float16, torch.bfloat16):
        state, idx, targets = plain(draw, USUAL, dtype), tokens(draw, USUAL), tokens(draw, USUAL)
        state[TABLES[1]].zero_()  # positions have their own checks
        model, last = build(submission, state, USUAL, dtype=dtype), reference.logits(idx, state)[:, -1]
        value = model(idx, targets)
        cases.append((logits_of(value), loss_of(value), last, targets, dtype))
    for got, loss, expected, targets, dtype in cases:
        got = got.reshape(*targets.shape, -1)
        close(got[:, -1], expected, "the logits at the last token, for queries that are 0,", dtype=dtype)
        close(loss, reference.loss(got, targets), "the loss", dtype=dtype)


@check("device", points=0.5)
def test_device(submission: Submission, draw: Draw) -> None:
    """Logits and loss lie on the device of the tokens, and nothing is made or left elsewhere (tried on `meta`)."""
    idx, targets = tokens(draw, USUAL), tokens(draw, USUAL)
    model = later_calls.moved(speaking(submission, draw), idx, targets)
    told = model.on("meta", idx, targets)
    logits = logits_of(told)
    on_meta(logits, logits.shape, "the logits")
    on_meta(loss_of(told), (), "the loss")


@check("mode", points=0.5)
def test_dropout(submission: Submission, draw: Draw) -> None:
    """In train mode each head drops weights with probability `dropout`, and nothing else is dropped; in eval none is.

    All values are 1 and weights are equal for all tokens of a kind, and `proj` and `lm_head` do nothing: the logits
    tell how many weights were kept. Without the argument nothing is dropped.
    """
    inside = HeadSizes(d_in=6, width=3, heads=2, d_out=6, b=4, n=16, context=16)
    sizes = Sizes(vocab=6, n_embd=6, block=17, heads=2, b=4, t=16)
    state, kinds = (
        weights(draw, sizes),
        torch.stack([easy_cases.shuffled(draw, torch.arange(16) % 2) for _ in range(4)]),
    )
    idx = 2 * torch.randint(3, (4, 16), generator=draw.generator) + kinds  # three tokens of each kind
    state[TABLES[0]][:, 0] = torch.tensor([1.0, -1.0]).repeat(3)
    state[TABLES[0]][:, -1] = 1.0
    state[TABLES[1]][:, [0, -1]] = 0.0
    for head in ("sa_head.heads.0", "sa_head.heads.1"):
        easy_cases.find_alike(state, inside.width, f"{head}.query.weight", f"{head}.key.weight")
        state[f"{head}.value.weight"].zero_()[:, -1] = 1.0
    state["sa_head.proj.weight"] = state["lm_head.weight"] = torch.eye(6)
    state["sa_head.proj.bias"] = state["lm_head.bias"] = torch.zeros(6)
    model, calm = build(submission, state, sizes, dropout=DROPPED), build(submission, state, sizes).train()
    still = logits_of(model(idx))
    model.train()
    first, second, undropped = (logits_of(m.seeded(seed, idx)) for m, seed in ((model, 1), (model, 2), (calm, 3)))
    dropped_in_heads(still, first, second, inside, kinds)
    close(undropped, torch.ones(4, 16, 6), "the logits in train mode of a model built without `dropout`")
    lonely = logits_of(build(submission, state, sizes, dropout=0.8).train().seeded(4, idx.reshape(-1, 1).repeat(8, 1)))
    shape(lonely, (512, 1, 6), "the logits of 512 single tokens")
    kept = lonely.double() > 2.5
    close(lonely, 5.0 * kept, "the logits of single tokens, with dropout 0.8,")
    if not plausible(int(kept[:, 0, [0, -1]].sum()), 1024, 0.2):
        raise CheckFailed(f"With dropout 0.8, {kept.double().mean():.0%} of the weights of single tokens were kept.")


@check("arguments", points=0.5)
def test_what_is_refused(submission: Submission, draw: Draw) -> None:
    """Heads that don't divide n_embd, too many tokens, another rank: a `ValueError`, for numbers with both of them."""
    model = speaking(submission, draw)
    whole = logits_of(model(tokens(draw, USUAL, t=USUAL.block)))
    shape(whole, (USUAL.b, USUAL.block, USUAL.vocab), f"the logits of block_size = {USUAL.block} tokens")
    too_long = model.error(tokens(draw, USUAL, t=12))
    refuses(too_long, f"12 tokens, where block_size is {USUAL.block},", 12, USUAL.block)
    for n_embd, heads in ((15, 4), (6, 8)):
        error = None
        try:
            submission.build("BigramLanguageModel", 9, n_embd, 5, heads)
            submission.settle()
        except StudentError as raised:
            error = raised
        refuses(error, f"n_embd = {n_embd} with {heads} heads", n_embd, heads)
    refuses(model.error(tokens(draw, USUAL)[0]), "tokens of shape (t,)")
    refuses(model.error(tokens(draw, USUAL)[None]), "tokens of shape (1, b, t)")


@check("shape", points=0.5)
def test_small_and_odd_inputs(submission: Submission, draw: Draw) -> None:
    """One token, a batch of one, as many tokens as the block holds, and tensors that are not contiguous work."""
    model, sizes = speaking(submission, draw), USUAL
    text = tokens(draw, sizes, t=sizes.block + 1)
    idx, targets = text[:, :-1].contiguous(), text[:, 1:].contiguous()
    cases = {
        "one token": (idx[:, :1], targets[:, :1]),
        "a batch of one token": (idx[:1, :1], targets[:1, :1]),
        "transposed tokens and targets": (idx.mT.contiguous().mT, targets.mT.contiguous().mT),
        "tokens and targets cut from one text": (text[:, :-1], text[:, 1:]),
    }
    whole, alone = logits_of(model(idx)), logits_of(model(idx[:1]))
    odd = [(model(i), model(i, t)) for i, t in cases.values()]
    first, whole_told = (model(i.contiguous(), t.contiguous()) for i, t in (cases["one token"], (idx, targets)))
    usual = [first, odd[1][1], whole_told, whole_told]  # a batch of one token has no other form
    close(alone, whole[:1].double(), "the logits of a batch of one")
    for (what, (i, _)), (untold, told), right in zip(cases.items(), odd, usual, strict=True):
        shape(logits_of(untold), (*i.shape, sizes.vocab), f"the logits for {what}")
        close(logits_of(told), logits_of(right).double(), f"the logits for {what}")
        close(loss_of(told), loss_of(right).double(), f"the loss for {what}")


@check("mode", points=0.5, witnessed=True)
def test_again(submission: Submission, draw: Draw) -> None:
    """Tokens and targets stay as they were, and a call depends on nothing but its own input and the weights."""
    looks(submission, draw, sizes=USUAL)
    states = [weights(draw, USUAL) for _ in range(2)]
    model, fresh, other = (build(submission, states[i], USUAL) for i in (0, 0, 1))
    idx, targets = tokens(draw, USUAL), tokens(draw, USUAL)
    longer = tokens(draw, USUAL, USUAL.b + 1, USUAL.block - 1)
    right = [logits_of(one(i)) for one, i in ((fresh, longer), (other, idx))]
    first = logits_of(model(idx))
    unchanged(submission)
    if model.error(idx, targets) is None:  # an error here has its own check
        unchanged(submission)
    later, second = logits_of(model(longer)), logits_of(model(idx))
    model.load(states[1], optional=optional(states[1]))
    reloaded = logits_of(model(idx))
    shape(first, (USUAL.b, USUAL.t, USUAL.vocab), "the logits")
    close(second, first.double(), "the logits of the second call")
    close(later, right[0].double(), "the logits of a longer call, compared with those of a new model,")
    close(reloaded, right[1].double(), "the logits after new weights were loaded, compared with those of a new model,")
    later_calls.nothing_is_kept(
        lambda state: build(submission, state, USUAL),
        lambda one, state: one.load(state, optional=optional(state)),
        (states[0], states[1]),
        ([idx], [targets]),
        [idx[:, :1]],
        lambda one, given: {"the logits": logits_of(one(*given))},
    )


@check("device", points=0)
def test_cuda(submission: Submission, draw: Draw) -> None:
    """On a GPU logits and loss have the same values, in float32 and in float16."""
    on_cuda(submission)
    for dtype in (torch.float32, torch.float16):
        state, idx, targets = weights(draw, USUAL, dtype), tokens(draw, USUAL), tokens(draw, USUAL)
        model = build(submission, state, USUAL, dtype=dtype).to(device="cuda")
        got = logits_of(model.on("cuda", idx))
        stayed_on_cuda(submission, "The logits are", "where the tokens are")
        loss, expected = loss_of(model.on("cuda", idx, targets)), reference.logits(idx, state)
        close(got, expected, "the logits", dtype=dtype)
        close(loss, reference.loss(expected, targets), "the loss", dtype=dtype)
