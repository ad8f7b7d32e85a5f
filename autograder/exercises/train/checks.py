"""Checks of `train(model, data, steps, batch_size=32, lr=1e-3, generator=None)`: the loss of every step.

How a model's training is followed says families/training. Here a longer run must really learn, too: the trained weights
are evaluated here, on unseen text. Right answers are rejected by chance less than once in 10^6; where chance plays a
part, the check says how. Every check but the first stands on two steps, and those in which no weight moves, or has to,
also make sure that there is some training (`trier`). The form in which losses are returned is asked for in the first
check alone.
"""

from typing import Any

import torch

from ...checks.api import CheckFailed, Draw, check, frequencies, gate
from ...checks.gates import easy_case
from ...checks.proxies import Counts, Proxy, Submission
from ...sandbox.inside.wire import Generator
from ..families.drawing.checks import generator_told
from ..families.training import checks as training
from ..families.training.checks import (
    Model,
    TableModel,
    losses_in,
    same_losses,
    same_weights,
    seed_of,
    shortest,
    text_of,
    wanted,
    weights_of,
)
from ..reference import language

NO_DEVICE = "Its checks look at losses."  # why no check is made on a GPU
NO_TENSORS = "It gives a list of losses."  # why it is not tried with tensors of random values

TRAINER = training.Trainer("train", rates=lambda steps, lr: [lr] * steps)
RULE = {"vocab_size": 4, "noise": 0.15}
STEPS, LAST, LEARNT_BLOCK = 40, 10, 8
FLOOR = language.full_loss(**RULE, block_size=LEARNT_BLOCK)  # the loss of a model that knows the rule
BELOW, ABOVE = 0.15, 0.3


def ready(submission: Submission, draw: Draw) -> Proxy:
    """The function, after two steps of it have begun rightly."""
    begins(submission, draw)
    return submission.function("train")


@easy_case
def begins(submission: Submission, draw: Draw) -> None:
    """Raises CheckFailed unless two steps begin rightly (`training.begun`)."""
    training.begun(submission, draw, TRAINER, 2)


@gate()
def learner(submission: Submission, draw: Draw) -> Proxy:
    """The function, after 8 steps of it have lowered the loss about as far as they should."""
    function, model, data = ready(submission, draw), Model(submission, draw), shortest(draw)
    function.sample(model.proxy, data, 8, 2, 0.05, seed=1)
    before, right = model.loss(data).item(), model.losses(data, model.trained(data, [0.05] * 8)[1]).mean().item()
    way = (before - model.losses(data, weights_of(model)).mean().item()) / (before - right)
    submission.note(torch.tensor(way))
    if not 0.9 < way < 1.1:
        raise CheckFailed(f"In 8 steps the loss falls {'too far' if way > 1 else 'too little'}.")
    return function


def trier(submission: Submission, draw: Draw) -> Proxy:
    """The function, after it was seen to train."""
    tries(submission, draw)
    return submission.function("train")


@easy_case
def tries(submission: Submission, draw: Draw) -> None:
    """Raises CheckFailed unless it is seen to train, however badly."""
    training.tried(submission, draw, TRAINER)


@check("shape", points=0.5)
def test_list_of_losses(submission: Submission, draw: Draw) -> None:
    """It returns a list of plain numbers, of type float: the loss of each step, the first before anything is learnt."""
    training.listed(submission, draw, TRAINER)


@check("values", points=0.5)
def test_one_step(submission: Submission, draw: Draw) -> None:
    """A step of AdamW moves all weights, as far as `lr` says, and by default as far as 1e-3 says."""
    function, model, data = ready(submission, draw), Model(submission, draw), shortest(draw)
    for arguments, lr in (((2, 0.03), 0.03), ((2, 0.002), 0.002), ((), 1e-3)):
        model.reset()
        function.sample(model.proxy, data, 1, *arguments, seed=0)
        try:
            same_weights(model, model.trained(data, [lr])[1], f"a step with lr = {lr:g}")
        except CheckFailed:
            training.left_behind(model)
            raise
    large, data = Model(submission, draw, v=23, block_size=33, memory=3, n_hidden=9), shortest(draw, 33, 23)
    function.sample(large.proxy, data, 1, 9, 0.01, seed=0)
    same_weights(large, large.trained(data, [0.01])[1], "a step with 9 blocks of 33 tokens")


@check("values", points=1)
def test_steps(submission: Submission, draw: Draw) -> None:
    """120 steps are alike: each goes on from the weights of the one before, with its own gradients, the same `lr`."""
    function, model, data = ready(submission, draw), TableModel(submission, draw, in_train=6.0), shortest(draw)
    got = losses_in(submission, function.sample(model.proxy, data, 120, 3, 0.01, seed=1))
    right, state = model.trained(data, [0.01] * 120)
    if len(got):
        same_losses(submission, got, right, "of 120")
    same_weights(model, state, "120 steps")


def telling_text(model: Model, draw: Draw, blocks: int, apart: float) -> tuple[torch.Tensor, torch.Tensor]:
    """A text of a few blocks whose losses are at least `apart`, and these: (text, losses); the model may be made anew.

    For some weights there is hardly any such text.
    """
    while True:
        for _ in range(20):
            data = text_of(draw, model.block_size + blocks)
            losses = model.losses(data, model.state).mean(1)
            if losses.sort().values.diff().min() > apart:
                return data, losses
        model.start_anew()


@check("values", points=1)
def test_blocks(submission: Submission, draw: Draw) -> None:
    """Blocks of `model.block_size` tokens are drawn from all of the text, every start as likely as another.

    32 steps of one block each, of two; see `kit.frequencies` for how rarely a right answer is turned down.
    """
    function, model, steps = trier(submission, draw), Model(submission, draw), 32
    data, losses = telling_text(model, draw, 2, 0.5)
    got = wanted(losses_in(submission, function.sample(model.proxy, data, steps, 1, 0.0, seed=seed_of(draw))))
    far, starts = (got[:, None] - losses).abs().min(1)
    counts = torch.bincount(starts, minlength=2)
    strange = ~(far < (losses[0] - losses[1]).abs() / 4)  # what else is wrong with the losses has its own checks
    submission.note(bool(strange.any()), bool(strange.double().mean() > 0.5), Counts(counts))
    if strange.any():
        raise CheckFailed("With lr = 0 and batches of one block, there are losses that no block of the text has.")
    frequencies(counts, torch.full((2,), 0.5), "blocks", [f"those from start {i} of 2" for i in range(2)])


@check("values", points=0.5)
def test_batch_size(submission: Submission, draw: Draw) -> None:
    """A batch is `batch_size` blocks, by default 32, each drawn independently; its loss is the mean of theirs.

    From three blocks, that all batches of a size hold numbers of each that hide it happens about once in 10^7.
    """
    function, model = trier(submission, draw), Model(submission, draw)
    data, losses = telling_text(model, draw, 3, 0.1)
    for arguments, size, unit, steps in (((5,), 5, 5, 4), ((), 32, 2, 12)):
        value = function.sample(model.proxy, data, steps, *arguments, lr=0.0, seed=seed_of(draw))
        batches = torch.tensor([(i, j, size - i - j) for i in range(size + 1) for j in range(size + 1 - i)])
        means = batches.double() @ losses / size
        fits = (wanted(losses_in(submission, value))[:, None] - means).abs() < 1e-6  # (steps, batches)
        off = not fits.any(1).all()
        hidden = bool((fits & (batches % unit == 0).all(1)).any(1).all())
        submission.note(off, hidden)
        if off or hidden:
            raise CheckFailed(f"With lr = 0 and three blocks to draw from, the losses are no means over {size} blocks.")


@check("arguments", points=0.5)
def test_generator(submission: Submission, draw: Draw) -> None:
    """Chance comes from `generator`: one seed, the same losses; without one, from torch's own, never seeded."""
    function, model, data = trier(submission, draw), Model(submission, draw), text_of(draw, 60)
    seed, other = draw.integer(0, 2**30), draw.integer(2**30, 2**31)

    def drawn(**chance: Any) -> torch.Tensor:
        losses = losses_in(submission, function.sample(model.reset(), data, 2, 3, 0.01, **chance))
        return losses if len(losses) else torch.cat([w.flatten() for w in weights_of(model).values()])

    def same(one: torch.Tensor, two: torch.Tensor) -> bool:
        return one.shape == two.shape and torch.allclose(one, two, rtol=0, atol=1e-9)

    first, again = (drawn(generator=Generator(seed), seed=torchs) for torchs in (1, 2))
    another = drawn(generator=Generator(other), seed=1)
    one, next_one = drawn(seed=seed), drawn()  # the second goes on where the first has left torch's own generator
    two, next_two, repeated = drawn(seed=other), drawn(), drawn(seed=seed)
    generator_told(
        submission,
        "batches",
        not same(first, again),
        same(first, another),
        same(one, two),
        not same(one, repeated),
        same(one, next_one) or same(next_one, next_two),
    )


@check("mode", points=0.5)
def test_train_mode(submission: Submission, draw: Draw) -> None:
    """The model is in train mode during every step, also if it comes in eval mode."""
    trier(submission, draw)
    training.in_train_mode(submission, draw, TRAINER)


def learnt(submission: Submission, draw: Draw) -> tuple[float, float]:
    """Train on a text with rules: (the mean loss of the last steps, that of the trained weights on unseen text)."""
    text = language.made_text(5000, **RULE, draw=draw.generator)
    model = Model(submission, draw, RULE["vocab_size"], LEARNT_BLOCK, memory=3, width=6, n_hidden=32)
    value = submission.function("train").sample(model.proxy, text[:3000], STEPS, 32, 0.05, seed=seed_of(draw))
    weights, last = weights_of(model), losses_in(submission, value)[-LAST:]
    unseen = model.losses(text[3000:], weights).mean().item()
    return last.mean().item() if len(last) else unseen, unseen  # without losses, the weights count


@check("values", points=1)
def test_learns(submission: Submission, draw: Draw) -> None:
    """A text with rules is learnt: on text not seen before, the loss falls to what the rules leave to chance.

    The limits are 0.55 and 1.00 (a table of pairs: 1.39, copying: about 0). Of 250 right runs, in five styles, all
    losses lay between 0.67 and 0.79, which is 6 standard deviations and more away.
    """
    learner(submission, draw)
    _, loss = learnt(submission, draw)
    place = (loss > FLOOR - BELOW) + (loss >= FLOOR + ABOVE)
    submission.note(place)
    if place != 1:
        says = "a model that sees only what it should gets to" if place == 0 else "it should be near"
        raise CheckFailed(
            f"After {STEPS} steps the mean loss on text not seen before is {loss:.2f}; {says} {FLOOR:.2f}."
        )


@check("mode", points=0.5, witnessed=True)
def test_what_the_model_sees(submission: Submission, draw: Draw) -> None:
    """The model is given new batches of (batch_size, block_size) blocks; a generator leaves torch's own as it was."""
    ready(submission, draw)
    training.new_batches_seen(submission, draw, TRAINER)
