"""Checks of `generate(model, idx, max_new_tokens, generator=None)`: (b, t) -> (b, t + new).

The model is a stub whose next token follows from all tokens of its context by a rule (`Rolled`, in
sandbox/inside/stubs.py). Where its profile has a peak, nothing is left to chance and tokens are compared; where it has
none, tokens are counted. Right answers are rejected by chance less than once in 10^6 (see `frequencies` in
checks/api.py). Every check but the first starts by asking what comes after a single token. Whether the right number of
tokens comes, in the right form, is asked for in two checks alone: the others look at what came.
"""

import math
from collections.abc import Sequence
from typing import Any

import torch

from ...checks.api import CheckFailed, Draw, check, frequencies, name_of, shape, tensor, unchanged
from ...checks.gates import easy_case
from ...checks.proxies import Counts, Proxy, StudentError, Submission
from ...sandbox.inside.wire import Generator
from ..families.drawing.checks import generator_told
from ..reference import language

NO_DEVICE = "Its checks look at the values that are drawn."  # why no check is made on a GPU

V, BLOCK = 7, 4
PEAK = [60.0, 2.0, -1.0, 0.0, 1.0, -2.0, 0.5]  # the next token is the sum itself, as sure as 1 - e^-57
SURE = [60.0, *[0.0] * 100]  # guessing is of little use
MILD = [1.2, -0.3, 0.6, -0.9, 0.3]
FEW = {  # a small vocabulary: how many tokens, and how likely they are together; a temperature moves the first a lot
    "the likeliest token": (1, 0.8),
    "among the 5 next to it": (5, 0.13),
    "among the 6 rarest ones": (6, 0.07),
}
MANY = {  # a large one, of which the rarest tokens are easily left out
    "the likeliest token": (1, 0.45),
    "among the 9 next to it": (9, 0.1),
    "among the 50 next to those": (50, 0.1),
    "among the 150 rarer ones": (150, 0.2),
    "among the 50 still rarer ones": (50, 0.1),
    "among the 40 rarest ones": (40, 0.05),
}


def model_of(
    submission: Submission, draw: Draw, profile: Sequence[float] = PEAK, block_size: int = BLOCK, training: bool = False
) -> tuple[Proxy, list[int]]:
    """(a stub model, the weights of its rule)."""
    weights = [draw.integer(2, len(profile) - 1) for _ in range(block_size)]
    return submission.stub("Rolled", profile=profile, weights=weights).train(training), weights


def prompts(draw: Draw, b: int, t: int, v: int = V) -> torch.Tensor:
    """(b, t) random tokens."""
    return torch.randint(v, (b, t), generator=draw.generator)


def generated(value: Any, idx: torch.Tensor, new: int, v: int = V) -> torch.Tensor:
    """The tokens returned, (b, t + new), with the prompt in front. Raises CheckFailed for anything else."""
    b, t = idx.shape
    shape(value, (b, t + new), "the tokens")
    if value.is_floating_point() or not torch.equal(value[:, :t].long(), idx):
        raise CheckFailed("The tokens do not start with the prompt.")
    if new and (value.min() < 0 or value.max() >= v):
        raise CheckFailed("There are tokens that the model has no logits for.")
    return value.long()


def tokens_in(value: Any, idx: torch.Tensor, new: int, v: int = V) -> torch.Tensor:
    """The prompt and up to `new` tokens after it, at least one, (b, t + …), in whatever form they were returned."""
    value = tensor(value[0] if isinstance(value, (tuple, list)) and value else value, "the tokens")
    if value.shape == (len(idx), new) and not torch.equal(value[:, : idx.shape[1]], idx):  # the new ones alone
        value = torch.cat([idx, value], dim=1)
    if value.dim() != 2 or len(value) != len(idx) or value.shape[1] <= idx.shape[1]:
        raise CheckFailed(f"The tokens should be {(len(idx), idx.shape[1] + new)}; they are {tuple(value.shape)}.")
    value = value[:, : idx.shape[1] + new]
    return generated(value.long(), idx, value.shape[1] - idx.shape[1], v)


def right_tokens(
    got: torch.Tensor, idx: torch.Tensor, weights: Sequence[int], v: int = V, what: str = "the new tokens"
) -> None:
    """Raises CheckFailed unless the tokens are those with which a model with a peak continues."""
    right = language.continued(idx, weights, v, got.shape[1] - idx.shape[1])
    wrong = got != right
    if wrong.any():
        first = int(wrong.any(0).nonzero()[0]) - idx.shape[1] + 1
        raise CheckFailed(
            f"Of {what}, {max(wrong[:, idx.shape[1] :].double().mean().item(), 0.01):.0%} are wrong, the earliest being"
            f" new token {first}, though the model leaves no choice."
        )


def ready(submission: Submission, draw: Draw) -> Proxy:
    """The function, after it has found what comes after single tokens."""
    finds_the_next(submission, draw)
    return submission.function("generate")


@easy_case
def finds_the_next(submission: Submission, draw: Draw) -> None:
    """Raises CheckFailed unless it finds what comes after two single tokens, out of 101.

    They are in one batch, or if that is an error, in two.
    """
    function, (model, weights) = submission.function("generate"), model_of(submission, draw, SURE)
    idx = 1 + torch.randperm(len(SURE) - 1, generator=draw.generator)[:2, None]  # token 0 is followed by itself
    try:
        next_one(function.seeded(0, model, idx, 2), idx, weights, len(SURE))
    except StudentError:
        for one in idx.split(1):
            next_one(function.seeded(0, model, one, 2), one, weights, len(SURE))


def next_one(value: Any, idx: torch.Tensor, weights: Sequence[int], v: int = V) -> None:
    """Raises CheckFailed unless the first new token is the right one."""
    right_tokens(tokens_in(value, idx, 2, v)[:, : idx.shape[1] + 1], idx, weights, v, "the tokens that come next")


def places(tokens: torch.Tensor, t: int, weights: Sequence[int], v: int) -> torch.Tensor:
    """The place of every new token in the profile, (b, new): what remains after subtracting the model's rule."""
    found = [(tokens[:, i] - language.rolled_sum(tokens[:, :i], weights, v)) % v for i in range(t, tokens.shape[1])]
    return torch.stack(found, dim=1)


@check("values", points=1)
def test_next_tokens(submission: Submission, draw: Draw) -> None:
    """The prompt stays in front, and the new tokens are those that the logits of the last position ask for."""
    function, small, large = (
        submission.function("generate"),
        model_of(submission, draw),
        model_of(submission, draw, block_size=33),
    )
    cases = [(small, 3, 1, 1), (small, 5, 2, 3), (small, 2, 3, 2), (large, 9, 30, 3)]
    cases = [(model, weights, prompts(draw, b, t), new) for (model, weights), b, t, new in cases]
    got = [function.seeded(0, model, idx, new) for model, _, idx, new in cases]
    for value, (_, weights, idx, new) in zip(got, cases, strict=True):
        right_tokens(generated(value, idx, new), idx, weights)
        if value.dtype != torch.int64:
            raise CheckFailed(
                f"The dtype of the tokens should be the prompt's, int64, but it is {name_of(value.dtype)}."
            )


@check("masking", points=1.5)
def test_context(submission: Submission, draw: Draw) -> None:
    """The model sees the last `model.block_size` tokens, no more and no fewer, whatever the length of the prompt."""
    function = ready(submission, draw)
    cases, errors = [], []
    for block_size, t, new in [
        (4, 2, 9),
        (4, 4, 6),
        (4, 9, 5),
        (4, 7, 1),
        (1, 3, 4),
        (6, 5, 8),
        (33, 40, 2),
        (40, 36, 6),
    ]:
        model, weights = model_of(submission, draw, block_size=block_size)
        idx = prompts(draw, 1, t)
        try:
            got = function.seeded(0, model, idx, new)
        except StudentError as error:  # kept for later, since the other calls tell mistakes apart
            errors.append(error)
        else:
            cases.append((got, idx, new, weights, f"{new} tokens after {t} in blocks of {block_size}"))
    if errors:
        raise errors[0]
    for got, idx, new, weights, what in cases:
        right_tokens(tokens_in(got, idx, new), idx, weights, what=what)


@check("values", points=1)
def test_sampled(submission: Submission, draw: Draw) -> None:
    """Tokens are drawn from the softmax of the last position's logits over the vocabulary, which may be large.

    7200 draws from 12 tokens show a temperature, 500 from 300 tokens show whether any are left out; see
    `kit.frequencies` for how rarely a right answer is turned down.
    """
    function = ready(submission, draw)
    drawn = [
        (groups, draws_by_group(submission, draw, function, groups, b)) for groups, b in ((FEW, 7200), (MANY, 500))
    ]
    submission.note(*(Counts(counts) for _, counts in drawn))
    for groups, counts in drawn:
        chances = torch.tensor([share for _, share in groups.values()], dtype=torch.float64)
        v = sum(size for size, _ in groups.values())
        frequencies(counts, chances, "tokens", [f"{name} of {v}" for name in groups])


def draws_by_group(
    submission: Submission, draw: Draw, function: Proxy, groups: dict[str, tuple[int, float]], b: int
) -> torch.Tensor:
    """How many of b tokens, one each after b prompts of which half are equal, were of each group: (groups,)."""
    profile = [math.log(share / size) for size, share in groups.values() for _ in range(size)]
    group = torch.tensor([i for i, (size, _) in enumerate(groups.values()) for _ in range(size)])
    (model, weights), v = model_of(submission, draw, profile), len(profile)
    idx = prompts(draw, b, 1, v)
    idx[: b // 2] = idx[0]
    tokens = tokens_in(function.sample(model, idx, 1, seed=draw.integer(0, 2**30)), idx, 1, v)
    return torch.bincount(group[places(tokens, 1, weights, v).flatten()], minlength=len(groups))


@check("values", points=0.5)
def test_independent(submission: Submission, draw: Draw) -> None:
    """The sequences of a batch are continued independently of one another, and so is each token of the one before.

    Of 800 equal prompts, pairs of tokens are counted; see `kit.frequencies`.
    """
    function, v, b, t = ready(submission, draw), len(MILD), 800, 2
    model, weights = model_of(submission, draw, MILD)
    idx = prompts(draw, 1, t, v).repeat(b, 1)
    tokens = tokens_in(function.sample(model, idx, 2, seed=draw.integer(0, 2**30)), idx, 2, v)
    found = places(tokens, t, weights, v)
    chances = torch.tensor(MILD, dtype=torch.float64).softmax(0)
    names = [f"of the logits {one:g} and {other:g}" for one in MILD for other in MILD]
    pairs = {"pairs of the first tokens of neighbouring sequences": found[:, 0].reshape(-1, 2)}
    if found.shape[1] == 2:
        pairs["pairs of one token and the next"] = found
    counts = {what: torch.bincount(pair[:, 0] * v + pair[:, 1], minlength=v * v) for what, pair in pairs.items()}
    submission.note(*(Counts(count) for count in counts.values()))
    for what, count in counts.items():
        frequencies(count, torch.outer(chances, chances).flatten(), what, names)


@check("arguments", points=0.5)
def test_generator(submission: Submission, draw: Draw) -> None:
    """Chance comes from `generator`: one seed, the same tokens; without one, from torch's own, never seeded."""
    function, v, b, new = ready(submission, draw), len(MILD), 60, 2
    model, _ = model_of(submission, draw, MILD)
    idx, seed, other = prompts(draw, b, 2, v), draw.integer(0, 2**30), draw.integer(2**30, 2**31)

    def drawn(**chance: Any) -> torch.Tensor:
        return tokens_in(function.sample(model, idx, new, **chance), idx, new, v)

    first, again = (drawn(generator=Generator(seed), seed=torchs) for torchs in (1, 2))
    another = drawn(generator=Generator(other), seed=1)
    one, next_one = drawn(seed=seed), drawn()  # the second goes on where the first has left torch's own generator
    two, next_two, repeated = drawn(seed=other), drawn(), drawn(seed=seed)
    generator_told(
        submission,
        "tokens",
        not torch.equal(first, again),
        torch.equal(first, another),
        torch.equal(one, two),
        not torch.equal(one, repeated),
        torch.equal(one, next_one) or torch.equal(next_one, next_two),
    )


@check("shape", points=0.5)
def test_small_and_odd(submission: Submission, draw: Draw) -> None:
    """No new tokens give the prompt; one sequence, one token and prompts that are not contiguous work; `idx` stays."""
    function, (model, weights) = ready(submission, draw), model_of(submission, draw)
    cases = {
        "no tokens after a short prompt": (prompts(draw, 3, 2), 0),
        "no tokens after a long prompt": (prompts(draw, 2, BLOCK + 3), 0),
        "tokens after a single one": (prompts(draw, 1, 1), 3),
        "tokens after a prompt that is not contiguous": (prompts(draw, 1, 6)[:, ::2], 2),
    }
    got = []
    for idx, new in cases.values():
        got.append(function.seeded(0, model, idx, new))
        unchanged(submission)
    for value, (what, (idx, new)) in zip(got, cases.items(), strict=True):
        right_tokens(generated(value, idx, new), idx, weights, what=what)


@check("mode", points=0.5)
def test_eval_mode(submission: Submission, draw: Draw) -> None:
    """A model in train mode is asked in eval mode: no dropout while sampling."""
    function = ready(submission, draw)
    model, weights = model_of(submission, draw, training=True)
    idx = prompts(draw, 1, 1)
    next_one(function.seeded(0, model, idx, 2), idx, weights)


@check("mode", points=0.5, witnessed=True)
def test_leaves_no_trace(submission: Submission, draw: Draw) -> None:
    """The model's mode is the same afterwards, no graph is recorded, and a generator leaves torch's own as it was."""
    function, modes = ready(submission, draw), []
    for training in (False, True):
        model, weights = model_of(submission, draw, training=training)
        idx = prompts(draw, 1, 1)
        got = function(model, idx, 2, generator=Generator(3))
        modes.append((training, model.training(), submission.last.drew, model.seen()))
        if not training:
            next_one(got, idx, weights)
    submission.note(*(drew for _, _, drew, _ in modes))
    for before, after, drew, seen in modes:
        if after != before:
            was, got = ("train", "eval") if before else ("eval", "train")
            raise CheckFailed(f"A model that was in {was} mode was left in {got} mode.")
        if not seen or any(call.graph for call in seen):
            raise CheckFailed("The model was called while gradients are recorded.")
        if drew:
            raise CheckFailed("Torch's own generator was drawn from or seeded, though a generator was given.")
