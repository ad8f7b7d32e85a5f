"""Checks of `generate(model, idx, max_new_tokens, generator=None)`: (b, t) -> (b, t + new).

The model is a stub whose next token follows from all tokens of its context by a rule (`Rolled`, in
sandbox/inside/stubs.py). Where its profile has a peak, nothing is left to chance and tokens are compared; where it has
none, tokens are counted. Right answers are rejected by chance less than once in 10^6 (see `frequencies` in
checks/api.py). Every check but the first starts by asking for a single token after a short prompt.
"""

import torch

from ...checks.api import CheckFailed, check, frequencies, name_of, shape, unchanged
from ...checks.proxies import Counts, StudentError
from ...sandbox.inside.wire import Generator
from ..reference import language

NO_DEVICE = "Its checks look at the values that are drawn."  # why no check is made on a GPU

V, BLOCK = 7, 4
PEAK = [60.0, 2.0, -1.0, 0.0, 1.0, -2.0, 0.5]  # the next token is the sum itself, as sure as 1 - e^-57
MILD = [1.2, -0.3, 0.6, -0.9, 0.3]


def model_of(submission, draw, profile=PEAK, block_size=BLOCK, training=False):
    """(a stub model, the weights of its rule)."""
    weights = [draw.integer(1, len(profile) - 1) for _ in range(block_size)]
    return submission.stub("Rolled", profile=profile, weights=weights).train(training), weights


def prompts(draw, b, t, v=V):
    """(b, t) random tokens."""
    return torch.randint(v, (b, t), generator=draw.generator)


def generated(value, idx, new, v=V):
    """The tokens returned, (b, t + new), with the prompt in front. Raises CheckFailed for anything else."""
    b, t = idx.shape
    shape(value, (b, t + new), "the tokens")
    if value.is_floating_point() or not torch.equal(value[:, :t].long(), idx):
        raise CheckFailed("The tokens do not start with the prompt.")
    if new and (value.min() < 0 or value.max() >= v):
        raise CheckFailed("There are tokens that the model has no logits for.")
    return value.long()


def right_tokens(got, idx, weights, new, what="the new tokens"):
    """Raises CheckFailed unless the tokens are those with which a model with a peak continues."""
    got = generated(got, idx, new)
    right = language.continued(idx, weights, V, new)
    wrong = got != right
    if wrong.any():
        first = int(wrong.any(0).nonzero()[0]) - idx.shape[1] + 1
        raise CheckFailed(
            f"Of {what}, {max(wrong[:, idx.shape[1] :].double().mean().item(), 0.01):.0%} are wrong, the earliest being"
            f" new token {first}, though the model leaves no choice."
        )


def ready(submission, draw):
    """The function, after it has continued short prompts by one token."""
    function, (model, weights) = submission.function("generate"), model_of(submission, draw)
    idx = prompts(draw, 3, BLOCK - 1)
    right_tokens(function.seeded(0, model, idx, 1), idx, weights, 1)
    return function


def places(tokens, t, weights, v):
    """The place of every new token in the profile, (b, new): what remains after subtracting the model's rule."""
    found = [(tokens[:, i] - language.rolled_sum(tokens[:, :i], weights, v)) % v for i in range(t, tokens.shape[1])]
    return torch.stack(found, dim=1)


@check("values", points=1)
def test_next_tokens(submission, draw):
    """The prompt stays in front, and the new tokens are those that the logits of the last position ask for."""
    function, (model, weights) = submission.function("generate"), model_of(submission, draw)
    cases = [(prompts(draw, 3, 1), 1), (prompts(draw, 5, 2), 3), (prompts(draw, 2, 3), 2)]
    got = [function.seeded(0, model, idx, new) for idx, new in cases]
    for value, (idx, new) in zip(got, cases, strict=True):
        right_tokens(value, idx, weights, new)
        if value.dtype != torch.int64:
            raise CheckFailed(
                f"The dtype of the tokens should be the prompt's, int64, but it is {name_of(value.dtype)}."
            )


@check("masking", points=1.5)
def test_context(submission, draw):
    """The model sees the last `model.block_size` tokens, no more and no fewer, whatever the length of the prompt."""
    function = ready(submission, draw)
    cases, errors = [], []
    for block_size, t, new in [(4, 2, 9), (4, 4, 6), (4, 9, 5), (1, 3, 4), (6, 5, 8)]:
        model, weights = model_of(submission, draw, block_size=block_size)
        idx = prompts(draw, 3, t)
        try:
            got = function.seeded(0, model, idx, new)
        except StudentError as error:  # kept for later, since the other calls tell mistakes apart
            errors.append(error)
        else:
            cases.append((got, idx, weights, new, f"{new} tokens after {t} in blocks of {block_size}"))
    if errors:
        raise errors[0]
    for case in cases:
        right_tokens(*case)


@check("values", points=1)
def test_sampled(submission, draw):
    """Tokens are drawn from the softmax of the last position's logits over the vocabulary.

    1600 draws; see `kit.frequencies` for how rarely a right answer is turned down.
    """
    function, v, b, t, new = ready(submission, draw), len(MILD), 800, 3, 2
    model, weights = model_of(submission, draw, MILD)
    idx = prompts(draw, b, t, v)
    idx[: b // 2] = idx[0]
    tokens = generated(function.sample(model, idx, new, Generator(draw.integer(0, 2**30))), idx, new, v)
    counts = torch.bincount(places(tokens, t, weights, v).flatten(), minlength=v)
    submission.note(Counts(counts))
    chances = torch.tensor(MILD, dtype=torch.float64).exp()
    frequencies(counts, chances / chances.sum(), "tokens", [f"of the logit {logit:g}" for logit in MILD])


@check("values", points=0.5)
def test_independent(submission, draw):
    """The sequences of a batch are continued independently of one another, and so is each token of the one before.

    Of 1200 equal prompts, pairs of tokens are counted; see `kit.frequencies`.
    """
    function, v, b, t = ready(submission, draw), len(MILD), 1200, 2
    model, weights = model_of(submission, draw, MILD)
    idx = prompts(draw, 1, t, v).repeat(b, 1)
    tokens = generated(function.sample(model, idx, 2, Generator(draw.integer(0, 2**30))), idx, 2, v)
    found = places(tokens, t, weights, v)
    chances = torch.tensor(MILD, dtype=torch.float64).softmax(0)
    names = [f"of the logits {one:g} and {other:g}" for one in MILD for other in MILD]
    pairs = {
        "pairs of one token and the next": found,
        "pairs of the first tokens of neighbouring sequences": found[:, 0].reshape(-1, 2),
    }
    counts = {what: torch.bincount(pair[:, 0] * v + pair[:, 1], minlength=v * v) for what, pair in pairs.items()}
    submission.note(*(Counts(count) for count in counts.values()))
    for what, count in counts.items():
        frequencies(count, torch.outer(chances, chances).flatten(), what, names)


@check("arguments", points=0.5)
def test_generator(submission, draw):
    """Chance comes from `generator`: one seed, the same tokens; without one, torch's own generator is drawn from."""
    function, v, b, new = ready(submission, draw), len(MILD), 60, 3
    model, _ = model_of(submission, draw, MILD)
    idx, seed = prompts(draw, b, 2, v), draw.integer(0, 2**30)
    first = function.sample(model, idx, new, generator=Generator(seed), seed=1)
    again = function.sample(model, idx, new, generator=Generator(seed), seed=2)
    other = function.sample(model, idx, new, generator=Generator(seed + 1), seed=1)
    alone = [function.sample(model, idx, new, seed=seed) for seed in (1, 2)]
    first, again, other, *alone = (generated(value, idx, new, v) for value in (first, again, other, *alone))
    seen = torch.equal(first, again), torch.equal(first, other), torch.equal(*alone)
    submission.note(*seen)
    if not seen[0]:
        raise CheckFailed("Two generators of one seed gave different tokens.")
    if seen[1]:
        raise CheckFailed("Generators of different seeds gave the same tokens.")
    if seen[2]:
        raise CheckFailed(
            "Without a generator, the tokens were the same twice, though torch's own was in another state."
        )


@check("shape", points=0.5)
def test_small_and_odd(submission, draw):
    """No new tokens give the prompt; one sequence, one token and prompts that are not contiguous work; `idx` stays."""
    function, (model, weights) = ready(submission, draw), model_of(submission, draw)
    cases = {
        "no tokens after a short prompt": (prompts(draw, 3, 2), 0),
        "no tokens after a long prompt": (prompts(draw, 2, BLOCK + 3), 0),
        "tokens after a single one": (prompts(draw, 1, 1), 3),
        "tokens after prompts that are not contiguous": (prompts(draw, 3, 2).mT.contiguous().mT, 2),
    }
    got = []
    for idx, new in cases.values():
        got.append(function.seeded(0, model, idx, new))
        unchanged(submission)
    for value, (what, (idx, new)) in zip(got, cases.items(), strict=True):
        right_tokens(value, idx, weights, new, what)


@check("mode", points=0.5)
def test_eval_mode(submission, draw):
    """A model in train mode is asked in eval mode: no dropout while sampling."""
    function = ready(submission, draw)
    model, weights = model_of(submission, draw, training=True)
    idx = prompts(draw, 3, 2)
    right_tokens(function.seeded(0, model, idx, 2), idx, weights, 2)


@check("mode", points=0.5, witnessed=True)
def test_leaves_no_trace(submission, draw):
    """The model's mode is the same afterwards, no graph is recorded, and a generator leaves torch's own as it was."""
    function, modes = ready(submission, draw), []
    for training in (False, True):
        model, weights = model_of(submission, draw, training=training)
        idx = prompts(draw, 2, 2)
        got = function(model, idx, 2, generator=Generator(3))
        modes.append((training, model.training(), submission.last.drew, model.seen()))
        if not training:
            right_tokens(got, idx, weights, 2)
    submission.note(*(drew for _, _, drew, _ in modes))
    for before, after, drew, seen in modes:
        if after != before:
            was, got = ("train", "eval") if before else ("eval", "train")
            raise CheckFailed(f"A model that was in {was} mode was left in {got} mode.")
        if not seen or any(call.graph for call in seen):
            raise CheckFailed("The model was called while gradients are recorded.")
        if drew:
            raise CheckFailed("Torch's own generator was drawn from or seeded, though a generator was given.")
