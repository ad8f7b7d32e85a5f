"""Checks of `train_by_recipe(model, data, steps, batch_size=32, peak=1e-3, warm_up=0, max_norm=1.0, generator=None)`.

How a model's training is followed says families/training. The schedule is judged where no gradient is as long as 1, and
the clipping also with learning rates that stay at the peak, so that neither costs the points of the other.
"""

from collections.abc import Callable
from typing import Any

import torch

from ...checks.api import CheckFailed, Draw, check, refuses
from ...checks.gates import easy_case
from ...checks.proxies import Submission
from ...sandbox.inside.wire import Generator
from ..families.training import checks as training
from ..families.training.checks import (
    BLOCK,
    Model,
    TableModel,
    losses_in,
    same_losses,
    same_weights,
    seed_of,
    shortest,
    text_of,
    weights_of,
)
from ..reference import language

NO_DEVICE = "Its checks look at losses."  # why no check is made on a GPU
NO_TENSORS = "It gives a list of losses."  # why it is not tried with tensors of random values

NEVER = 1e6  # a length that no gradient has
STEPS, PEAK = 12, 0.1  # of a run in which gradients are clipped
TORCHS = 1e-4  # how near weights are to be: torch's own clipping adds a millionth to the length
IN_FLOAT32 = 1e-5  # as coarse, for that reason, are float64 values where a mistake is looked for


def schedule(steps: int, peak: float, warm_up: int = 0) -> list[float]:
    """The learning rates of all steps."""
    return [language.learning_rate(step, steps, peak, warm_up) for step in range(steps)]


TRAINER = training.Trainer("train_by_recipe", rates=schedule, settings={"max_norm": NEVER})


def sampled(submission: Submission, draw: Draw) -> Callable[..., Any]:
    """The function, to be sampled, after it was seen to train."""
    tries(submission, draw)
    return submission.function("train_by_recipe").sample


@easy_case
def begins(submission: Submission, draw: Draw) -> None:
    """Raises CheckFailed unless two steps begin rightly (`training.begun`)."""
    training.begun(submission, draw, TRAINER, 2)


@easy_case
def tries(submission: Submission, draw: Draw) -> None:
    """Raises CheckFailed unless it is seen to train, however badly."""
    training.tried(submission, draw, TRAINER)


@check("shape", points=0.5)
def test_list_of_losses(submission: Submission, draw: Draw) -> None:
    """It returns a list of plain numbers, of type float: the loss of each step, the first before anything is learnt."""
    training.listed(submission, draw, TRAINER)


@check("values", points=1)
def test_schedule(submission: Submission, draw: Draw) -> None:
    """Each step of AdamW has the learning rate that the schedule gives it: the warm-up, then half a cosine."""
    sample, model, data = sampled(submission, draw), TableModel(submission, draw), shortest(draw)
    for steps, warm_up in ((40, 7), (6, 0), (5, 5), (1, 1)):
        model.reset()
        got = losses_in(submission, sample(model.proxy, data, steps, 3, 0.05, warm_up, NEVER, seed=1))
        right, state = model.trained(data, schedule(steps, 0.05, warm_up))
        what = f"{steps} steps with a warm-up of {warm_up}"
        if len(got):
            same_losses(submission, got, right, f"of {what}")
        same_weights(model, state, what)


def clipping_case(
    submission: Submission, draw: Draw, in_train: float, max_norm: float | None = None
) -> tuple[Model, torch.Tensor, float]:
    """(a model, a text, a length) for which clipping changes what is learnt; the length may be given."""
    while True:
        model, data = Model(submission, draw, in_train=in_train), shortest(draw)
        norm = max_norm or 0.6 * model.slope(data)
        clipped, free = (model.trained(data, schedule(STEPS, PEAK), limit)[1] for limit in (norm, NEVER))
        if any((clipped[name] - free[name]).abs().max() > 0.02 for name in clipped):
            return model, data, norm


@check("values", points=1)
def test_clipping(submission: Submission, draw: Draw) -> None:
    """The gradients of a step are clipped together to the length `max_norm`, before AdamW sees them."""
    sample = sampled(submission, draw)
    model, data, max_norm = clipping_case(submission, draw, in_train=6.0)
    sample(model.proxy, data, STEPS, 2, PEAK, 0, max_norm, seed=1)
    got = weights_of(model)
    ends = [model.trained(data, rates, max_norm)[1] for rates in (schedule(STEPS, PEAK), [PEAK] * STEPS)]
    nearest = min(ends, key=lambda end: max((got[name] - end[name]).abs().max().item() for name in end))
    same_weights(model, nearest, f"{STEPS} steps, clipped to {max_norm:.3g}", TORCHS)


@check("mode", points=0.25, witnessed=True)
def test_what_the_model_sees(submission: Submission, draw: Draw) -> None:
    """The model is given new batches of (batch_size, block_size) blocks; a generator leaves torch's own as it was."""
    begins(submission, draw)
    training.new_batches_seen(submission, draw, TRAINER)
    model = Model(submission, draw)
    submission.function("train_by_recipe").sample(model.proxy, text_of(draw, 60), 1, seed=1)
    sizes = {tuple(call.idx.shape) for call in model.proxy.seen() if call.graph and call.training}
    if sizes != {(32, BLOCK)}:
        raise CheckFailed(f"By default the model is given 32 blocks in each step, not tokens of shape {sorted(sizes)}.")


@check("mode", points=0.5)
def test_train_mode(submission: Submission, draw: Draw) -> None:
    """The model is in train mode during every step, also if it comes in eval mode."""
    tries(submission, draw)
    training.in_train_mode(submission, draw, TRAINER)


@check("arguments", points=0.75)
def test_arguments(submission: Submission, draw: Draw) -> None:
    """The defaults, the generator, and a warm-up that is too long: a `ValueError`, before any weight has moved."""
    sample, model, data = sampled(submission, draw), Model(submission, draw), shortest(draw)
    sample(model.proxy, data, 1, seed=1)
    end = model.trained(data, [1e-3], 1.0)[1]
    same_weights(model, end, "a step with no more arguments than the model, the text and 1")
    model, data, _ = clipping_case(submission, draw, in_train=12.0, max_norm=1.0)
    sample(model.proxy, data, STEPS, 2, PEAK, seed=1)
    end = model.trained(data, schedule(STEPS, PEAK), 1.0)[1]
    same_weights(model, end, f"{STEPS} steps, with warm_up and max_norm as they are by default", TORCHS)

    text, seed = text_of(draw, 60), seed_of(draw)
    first, again = (
        losses_in(submission, sample(model.reset(), text, 2, 3, 0.01, generator=Generator(seed), seed=torchs))
        for torchs in (1, 2)
    )
    submission.note(torch.equal(first, again))
    if not torch.equal(first, again):
        raise CheckFailed("Two generators of one seed gave different losses.")

    error = submission.function("train_by_recipe").error(model.reset(), text, 4, 2, 0.01, 9)
    refuses(error, "a warm-up of 9 in 4 steps", 4, 9)
    same_weights(model, model.state, "a call that is refused")
