"""What is checked of functions that train a model: `train`, and `train_by_recipe` with its schedule and clipping.

The model is a stub (`Window` or, for a long run, `Table`, in sandbox/inside/stubs.py). A text of block_size + 1 tokens
holds one block, so all batches from it are alike, and losses and weights are those that AdamW's definition gives,
however batches are drawn. With a learning rate of 0 the weights stay the same, so a loss tells which blocks it came
from.
"""

import functools
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import torch

from ....checks.api import CheckFailed, Draw, close, kind_of, number
from ....checks.proxies import Proxy, Submission
from ....checks.steps import Weights
from ....sandbox.inside.wire import Generator
from ...reference import language
from ...reference.remembered import remembered

V, BLOCK, MEMORY, WIDTH, HIDDEN = 5, 4, 2, 3, 4


@dataclass(frozen=True)
class Trainer:
    """A function that trains: its `name`, the learning rate of each step by (steps, lr), and further arguments.

    It is called as (model, data, steps, batch size, lr, …), with its `settings` by name.
    """

    name: str
    rates: Callable[[int, float], Sequence[float]]
    settings: dict[str, float] = field(default_factory=dict)

    def function(self, submission: Submission) -> Callable[..., Any]:
        """The submission's function, which takes the settings whenever it is sampled."""
        return functools.partial(submission.function(self.name).sample, **self.settings)


class Model:
    """A stub model in the sandbox, and its initial weights."""

    def __init__(
        self,
        submission: Submission,
        draw: Draw,
        v: int = V,
        block_size: int = BLOCK,
        memory: int = MEMORY,
        width: int = WIDTH,
        n_hidden: int = HIDDEN,
        in_train: float = 1.0,
    ) -> None:
        sizes = {"vocab_size": v, "block_size": block_size, "memory": memory, "width": width, "n_hidden": n_hidden}
        shapes = {
            "embedding.weight": (v + 1, width),
            "hidden.weight": (n_hidden, memory * width),
            "hidden.bias": (n_hidden,),
            "out.weight": (v, n_hidden),
            "out.bias": (v,),
        }
        self.memory, self.block_size, self.in_train = memory, block_size, in_train
        self.make(submission, draw, "Window", sizes, shapes)

    def make(
        self,
        submission: Submission,
        draw: Draw,
        stub: str,
        sizes: Mapping[str, int],
        shapes: dict[str, tuple[int, ...]],
    ) -> None:
        """Build the stub and draw its weights."""
        self.drawn = functools.partial(draw.state, shapes, torch.float64)
        self.proxy = submission.stub(stub, **sizes, in_train=self.in_train).to(dtype=torch.float64)
        self.start_anew()

    def start_anew(self) -> None:
        """Draw new initial weights and load them."""
        self.state = self.drawn()
        self.reset()

    def reset(self) -> Proxy:
        """Load the initial weights again and switch to train mode."""
        self.proxy.load(self.state)
        return self.proxy.train()

    def losses(self, data: torch.Tensor, state: Weights) -> torch.Tensor:
        """The losses in train mode in all blocks of a text with these weights: (n - block_size, block_size)."""
        return losses_in_blocks(data, state, self.block_size, self.memory, self.in_train)

    def loss(self, data: torch.Tensor, in_train: float | None = None) -> torch.Tensor:
        """The mean of these losses with the initial weights, (1,); with another factor, what it would be."""
        factor = self.in_train if in_train is None else in_train
        return losses_in_blocks(data, self.state, self.block_size, self.memory, factor).mean()[None]

    def tells(self, data: torch.Tensor) -> bool:
        """Whether the loss of a text of one block is far from that with wrong targets and that of its last token."""
        return tells(data, self.state, self.block_size, self.memory, self.in_train)

    def trained(
        self, data: torch.Tensor, rates: Iterable[float], max_norm: float = math.inf
    ) -> tuple[torch.Tensor, Weights]:
        """(the loss before each step, the weights after the last) for a text of one block, by AdamW's definition.

        `rates` are the learning rates of the steps; gradients longer than `max_norm` are clipped.
        """
        return trained(data, self.state, self.block_size, self.memory, self.in_train, list(rates), max_norm)

    def slope(self, data: torch.Tensor) -> float:
        """The length of all gradients together of the mean loss in all blocks of a text, with the initial weights."""
        state = {name: weight.detach().clone().requires_grad_() for name, weight in self.state.items()}
        loss = losses_in_blocks(data, state, self.block_size, self.memory, self.in_train).mean()
        return torch.cat([slope.flatten() for slope in torch.autograd.grad(loss, list(state.values()))]).norm().item()


class TableModel(Model):
    """The stub `Table`, each of whose steps takes half as long."""

    def __init__(self, submission: Submission, draw: Draw, in_train: float = 1.0) -> None:
        self.memory, self.block_size, self.in_train = 1, BLOCK, in_train
        self.make(submission, draw, "Table", {"vocab_size": V, "block_size": BLOCK}, {"rows.weight": (V, V)})


def logits_of(inputs: torch.Tensor, state: Weights, memory: int) -> torch.Tensor:
    """The logits in eval mode of the stub that has these weights."""
    if "rows.weight" in state:
        return language.table_logits(inputs, state)
    return language.window_logits(inputs, state, memory)


@remembered
def losses_in_blocks(data: torch.Tensor, state: Weights, block_size: int, memory: int, in_train: float) -> torch.Tensor:
    """See `Model.losses`."""
    inputs, targets = language.blocks(data, block_size)
    return language.losses(in_train * logits_of(inputs, state, memory), targets)


@remembered
def tells(data: torch.Tensor, state: Weights, block_size: int, memory: int, in_train: float) -> bool:
    """See `Model.tells`."""
    inputs, targets = language.blocks(data, block_size)
    logits = in_train * logits_of(inputs, state, memory)
    wrong = [language.losses(logits, other).mean() for other in (inputs, targets.roll(1, 1), targets.roll(-1, 1))]
    right = language.losses(logits, targets)
    return all((one - right.mean()).abs() > 0.05 * right.mean() for one in (*wrong, right[:, -1].mean()))


@remembered
def trained(
    data: torch.Tensor,
    state: Weights,
    block_size: int,
    memory: int,
    in_train: float,
    rates: Sequence[float],
    max_norm: float,
) -> tuple[torch.Tensor, Weights]:
    """See `Model.trained`."""
    inputs, targets = language.blocks(data, block_size)

    def mean(state: Weights) -> torch.Tensor:
        return language.losses(in_train * logits_of(inputs, state, memory), targets).mean()

    losses, state = language.adamw(state, mean, rates, max_norm)
    return torch.tensor(losses, dtype=torch.float64), state


def text_of(draw: Draw, n: int, v: int = V) -> torch.Tensor:
    return torch.randint(v, (n,), generator=draw.generator)


def shortest(draw: Draw, block_size: int = BLOCK, v: int = V) -> torch.Tensor:
    """A text of one block in which neighbours differ, without the last two tokens of the vocabulary.

    With equal neighbours, targets that are not shifted would be right.
    """
    return (1 + text_of(draw, block_size + 1, v - 3)).cumsum(0) % (v - 2)


def losses_of(submission: Submission, value: Any, steps: int) -> torch.Tensor:
    """The losses, (steps,), as float64. Raises CheckFailed unless they are that many numbers."""
    if not isinstance(value, (list, tuple)):
        submission.note(kind_of(value))
        raise CheckFailed(f"It should return the losses of all steps as a list, but it returned {kind_of(value)}.")
    numbers = [number(one) for one in value]
    submission.note(len(numbers))
    if not all(isinstance(one, (int, float)) for one in numbers):
        raise CheckFailed("The losses should be numbers.")
    if len(numbers) != steps:
        raise CheckFailed(f"After {steps} steps there should be as many losses; {len(numbers)} came.")
    return torch.tensor(numbers, dtype=torch.float64)


def losses_in(submission: Submission, value: Any) -> torch.Tensor:
    """The losses that came, (n,), as float64, in whatever form; none if none came."""
    for part in (value, *(value if isinstance(value, (list, tuple)) else ())):
        if isinstance(part, torch.Tensor) and part.dim() == 1:
            part = part.tolist()
        if isinstance(part, (list, tuple)) and part and all(isinstance(number(one), (int, float)) for one in part):
            submission.note(len(part))
            return torch.tensor([number(one) for one in part], dtype=torch.float64)
    submission.note(kind_of(value))
    return torch.zeros(0, dtype=torch.float64)


def wanted(losses: torch.Tensor) -> torch.Tensor:
    """The losses. Raises CheckFailed if there are none."""
    if len(losses) == 0:
        raise CheckFailed("It should return the losses of all steps as a list: without them nothing can be said here.")
    return losses


def same_losses(
    submission: Submission, got: torch.Tensor, right: torch.Tensor, what: str, tolerance: float = 1e-6
) -> None:
    """Raises CheckFailed unless the losses are these."""
    submission.note(got)
    if len(got) != len(right):
        raise CheckFailed(f"There should be {len(right)} losses; {len(got)} came.")
    wrong = (got - right).abs() > tolerance * right.abs().max()
    if wrong.any() or not torch.isfinite(got).all():
        step = int((wrong | ~torch.isfinite(got)).nonzero()[0])
        raise CheckFailed(f"The loss of step {step + 1} {what} should not be {got[step]:.5f}.")


def same_weights(model: Model, state: Weights, what: str, tolerance: float = 1e-6) -> None:
    """Raises CheckFailed unless the model's weights are these."""
    got = model.proxy.parameters(telling=True)
    for name, right in state.items():
        close(got.get(name), right, f"{name} after {what}", tolerance=tolerance, dtype=torch.float64)


def begun(submission: Submission, draw: Draw, trainer: Trainer, steps: int) -> tuple[Model, torch.Tensor, torch.Tensor]:
    """(the model, its text, the losses that came), after so many steps that began rightly.

    The first loss is about right, or the weights move to where they should: so a loss that is not returned, or too
    large by a factor, does not cost the points for the weights. Raises CheckFailed.
    """
    sample, model, data = trainer.function(submission), Model(submission, draw), shortest(draw)
    while not model.tells(data):  # wrong code would pass on half of the texts, and on all of them for some models
        model.start_anew()
        data = shortest(draw)
    got = losses_in(submission, sample(model.proxy, data, steps, 2, 0.05, seed=1))
    submission.note(got)
    losses, state = model.trained(data, trainer.rates(steps, 0.05))
    if len(got) == 0 or (got[0] - losses[0]).abs() > 0.01 * losses[0]:
        weights = weights_of(model)
        if any((weights[name] - state[name]).abs().max() > 1e-3 for name in state):
            same_losses(submission, wanted(got)[:1], losses[:1], f"of {steps}", tolerance=0.01)
    return model, data, got


def tried(submission: Submission, draw: Draw, trainer: Trainer) -> None:
    """Raises CheckFailed unless it is seen to train, however badly: losses alone do not show that.

    In 3 steps the loss falls by part of what it should, or the losses show that a copy of the model learns, or at least
    a gradient is left behind, or came back to the model.
    """
    model, data, got = begun(submission, draw, trainer, 3)
    losses, state = model.trained(data, trainer.rates(3, 0.05))
    fell, should = (losses[0] - model.losses(data, weights).mean() for weights in (weights_of(model), state))
    learns = bool(fell > 0.1 * should or (len(got) == 3 and torch.allclose(got, losses, rtol=1e-3)))
    submission.note(learns)
    left = learns or model.proxy.method("out").method("bias").attribute("grad") is not None
    if not left and model.proxy.attribute("differentiated") is not True:
        raise CheckFailed("In 3 steps no weight changed much, and none has a gradient: nothing was learnt.")


def left_behind(model: Model) -> None:
    """Observe whether a gradient was left, if no weight moved: was it cleared too soon, or never used?"""
    if all(torch.equal(weight, model.state[name]) for name, weight in weights_of(model).items()):
        model.proxy.method("out").method("bias").attribute("grad")


def weights_of(model: Model) -> Weights:
    """The model's weights by name. Raises CheckFailed if one is no longer a tensor of its original shape."""
    got = model.proxy.parameters()
    for name, weight in model.state.items():
        if not isinstance(got.get(name), torch.Tensor) or got[name].shape != weight.shape:
            raise CheckFailed(f"After training, {name} is not what it was made to be.")
    return {name: got[name].double() for name in model.state}


def seed_of(draw: Draw) -> int:
    return draw.integer(0, 2**30)


def listed(submission: Submission, draw: Draw, trainer: Trainer) -> None:
    """Raises CheckFailed unless the losses of all steps come as a list of floats, the first as before any learning."""
    sample, model, data = trainer.function(submission), Model(submission, draw), shortest(draw)
    for steps in (1, 4):
        model.reset()
        value = sample(model.proxy, data, steps, 3, 0.01, seed=0)
        losses = losses_of(submission, value, steps)
        submission.note(losses, [kind_of(one) for one in value])
        same_losses(submission, losses[:1], model.loss(data), f"of {steps}")
        if type(value) is not list or not all(isinstance(one, float) for one in value):  # np.float64 is a float, too
            wrong = next((one for one in value if not isinstance(one, float)), value)
            raise CheckFailed(f"It should be a list of numbers of type float; there is {kind_of(wrong)}.")


def in_train_mode(submission: Submission, draw: Draw, trainer: Trainer) -> None:
    """Raises CheckFailed unless the model is in train mode in every step, though it comes in eval mode."""
    sample, model, data = trainer.function(submission), Model(submission, draw, in_train=0.5), shortest(draw)
    while (model.loss(data) - model.loss(data, in_train=1.0)).abs() < 0.1 * model.loss(data):
        model.start_anew()
    model.proxy.eval()
    got = wanted(losses_in(submission, sample(model.proxy, data, 3, 2, 0.0, seed=1)))
    same_losses(submission, got, model.loss(data).repeat(len(got)), "in train mode", tolerance=0.02)


def new_batches_seen(submission: Submission, draw: Draw, trainer: Trainer) -> None:
    """Raises CheckFailed unless each step shows the model a new batch of blocks, drawn by the generator (witnessed)."""
    sample, steps, v, size = trainer.function(submission), 5, 40, 3
    model = Model(submission, draw, v=v)
    data = torch.randperm(v, generator=draw.generator)
    sample(model.proxy, data, steps, size, 0.01, generator=Generator(seed_of(draw)), seed=5)
    drew, seen = submission.last.drew, [call for call in model.proxy.seen() if call.graph and call.training]
    submission.note(drew)
    inputs, targets = language.blocks(data, BLOCK)
    place = {int(row[0]): start for start, row in enumerate(inputs)}
    batches = set()
    for call in seen:
        if tuple(call.idx.shape) != (size, BLOCK):
            raise CheckFailed(f"The model was given tokens of shape {tuple(call.idx.shape)}, not {(size, BLOCK)}.")
        starts = torch.tensor([place.get(int(row[0]), -1) for row in call.idx.tolist()])
        if (starts < 0).any() or not torch.equal(inputs[starts], call.idx.long()):
            raise CheckFailed("The model was given tokens that are no blocks of the text.")
        if call.targets is not None and not torch.equal(targets[starts].flatten(), call.targets.flatten().long()):
            raise CheckFailed("The model was given targets that are not the tokens that come next.")
        batches.add(tuple(starts.tolist()))
    if len(seen) < steps or len(batches) < 2:
        raise CheckFailed(
            "The model was not given a new batch in each step, in train mode and with gradients recorded."
        )
    if drew:
        raise CheckFailed("Torch's own generator was drawn from or seeded, though a generator was given.")
