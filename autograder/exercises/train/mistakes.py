"""Wrong implementations of `train(model, data, steps, batch_size=32, lr=1e-3, generator=None)`.

Each replaces a step of `right`.
"""

import copy

import torch

from ...mistakes.bank import misconception

# --- the right steps ------------------------------------------------------------------------------


def draw(many, batch_size, generator):
    return torch.randint(many, (batch_size,), generator=generator)


def pair(data, starts, size):
    """Inputs and targets, each (b, t)."""
    index = starts[:, None] + torch.arange(size)
    return data[index], data[index + 1]


def loss_of(model, x, y):
    return model(x, y)[1]


def adamw(weights, lr):
    return torch.optim.AdamW(weights, lr=lr)


def right(
    model,
    data,
    steps,
    batch_size=32,
    lr=1e-3,
    generator=None,
    before=lambda model: model.train(),
    weights=lambda model: model.parameters(),
    optimizer=adamw,
    many=lambda data, size: len(data) - size,
    size=lambda model: model.block_size,
    draw=draw,
    pair=pair,
    loss_of=loss_of,
    clear=lambda optimizer: optimizer.zero_grad(),
    step=lambda optimizer: optimizer.step(),
    told=lambda losses, loss: loss,
):
    """Train, of which any step can be replaced."""
    before(model)
    optimizer, losses = optimizer(weights(model), lr), []
    for _ in range(steps):
        block = size(model)
        x, y = pair(data, draw(many(data, block), batch_size, generator), block)
        loss = loss_of(model, x, y)
        clear(optimizer)
        loss.backward()
        step(optimizer)
        losses.append(told(losses, loss.item()))
    return losses


# --- what is learnt -------------------------------------------------------------------------------


@misconception(
    "targets-not-shifted",
    "The targets are the inputs themselves, so the model only learns to copy: they come one token later.",
)
def targets_not_shifted(*args, **kwargs):
    return right(*args, **kwargs, pair=lambda data, starts, size: pair(data, starts, size)[:1] * 2)


@misconception("shifted-twice", "The targets are two tokens ahead of the inputs: it should be one.")
def shifted_twice(*args, **kwargs):
    def two_on(data, starts, size):
        return pair(data, starts, size)[0], pair(data.roll(-2), starts, size)[0]

    return right(*args, **kwargs, pair=two_on)


@misconception(
    "targets-behind",
    "Inputs and targets have changed places, so the model learns what came before: it should learn what comes next.",
)
def targets_behind(*args, **kwargs):
    return right(*args, **kwargs, pair=lambda data, starts, size: pair(data, starts, size)[::-1])


@misconception(
    "last-position-alone",
    "The loss is that of the last position alone: every position of a block has a target.",
)
def last_position_alone(*args, **kwargs):
    def last(model, x, y):
        return torch.nn.functional.cross_entropy(model(x)[0][:, -1], y[:, -1])

    return right(*args, **kwargs, loss_of=last)


@misconception(
    "loss-summed", "The loss is a sum over tokens: take the mean, so that it does not hang on the batch's size."
)
def loss_summed(*args, **kwargs):
    return right(*args, **kwargs, loss_of=lambda model, x, y: model(x, y)[1] * y.numel())


# --- steps ----------------------------------------------------------------------------------------


@misconception("no-step", "The weights never move: call `optimizer.step()` after `loss.backward()`.")
def no_step(*args, **kwargs):
    return right(*args, **kwargs, step=lambda optimizer: None)


@misconception(
    "gradients-pile-up",
    "The gradients of all steps pile up: call `optimizer.zero_grad()` before each `loss.backward()`.",
)
def gradients_pile_up(*args, **kwargs):
    return right(*args, **kwargs, clear=lambda optimizer: None)


@misconception("sgd", "Plain gradient descent is used: AdamW is asked for, `torch.optim.AdamW`.")
def sgd(*args, **kwargs):
    return right(*args, **kwargs, optimizer=lambda weights, lr: torch.optim.SGD(weights, lr=lr))


@misconception("adam", "Adam is used, which lets no weight decay: AdamW is asked for, `torch.optim.AdamW`.")
def adam(*args, **kwargs):
    return right(*args, **kwargs, optimizer=lambda weights, lr: torch.optim.Adam(weights, lr=lr))


@misconception(
    "no-decay",
    "The weight decay of AdamW is switched off or changed: leave its settings but `lr` as torch has them.",
)
def no_decay(*args, **kwargs):
    return right(*args, **kwargs, optimizer=lambda weights, lr: torch.optim.AdamW(weights, lr=lr, weight_decay=0.1))


@misconception("lr-ignored", "`lr` is not used: hand it on to the optimiser.")
def lr_ignored(*args, **kwargs):
    return right(*args, **kwargs, optimizer=lambda weights, lr: torch.optim.AdamW(weights, lr=1e-3))


@misconception("other-default", "The default of `lr` is another one: it should be 1e-3.")
def other_default(model, data, steps, batch_size=32, lr=3e-4, generator=None):
    return right(model, data, steps, batch_size, lr, generator)


@misconception(
    "new-optimizer-each-step",
    "The optimiser is made anew in each step, so it remembers nothing of those before: make it once, above the loop.",
)
def new_optimizer_each_step(*args, **kwargs):
    def forget(optimizer):
        optimizer.state.clear()
        optimizer.zero_grad()

    return right(*args, **kwargs, clear=forget)


@misconception("some-weights-only", "Only some of the weights are trained: give the optimiser `model.parameters()`.")
def some_weights_only(*args, **kwargs):
    return right(*args, **kwargs, weights=lambda model: list(model.parameters())[-2:])


@misconception("copy-trained", "A copy of the model is trained, and the model itself stays as it was.")
def copy_trained(model, *args, **kwargs):
    return right(copy.deepcopy(model), *args, **kwargs)


@misconception("one-step-short", "There is one step too few: as many as `steps` says are asked for.")
def one_step_short(model, data, steps, *args, **kwargs):
    return right(model, data, steps - 1, *args, **kwargs)


# --- batches --------------------------------------------------------------------------------------


@misconception("batch-size-ignored", "`batch_size` is not used: a batch always has 32 blocks.")
def batch_size_ignored(*args, **kwargs):
    return right(*args, **kwargs, draw=lambda many, size, generator: draw(many, 32, generator))


@misconception("other-batch-size", "The default of `batch_size` is another one: it should be 32.")
def other_batch_size(model, data, steps, batch_size=64, lr=1e-3, generator=None):
    return right(model, data, steps, batch_size, lr, generator)


@misconception(
    "block-size-a-constant",
    "Blocks have a fixed length: they have `model.block_size` tokens.",
)
def block_size_a_constant(*args, **kwargs):
    return right(*args, **kwargs, size=lambda model: 3)


@misconception(
    "one-batch-for-all",
    "The batch is drawn once, above the loop, and used in each step: draw a new one for each.",
)
def one_batch_for_all(*args, **kwargs):
    first = []

    def once(*args):
        if not first:
            first.append(draw(*args))
        return first[0]

    return right(*args, **kwargs, draw=once)


@misconception("one-block-for-all", "All rows of a batch are the same block: draw a start for each row.")
def one_block_for_all(*args, **kwargs):
    return right(*args, **kwargs, draw=lambda many, size, generator: draw(many, 1, generator).expand(size))


@misconception("always-the-beginning", "Every batch holds the text's beginning: draw starts from all of the text.")
def always_the_beginning(*args, **kwargs):
    return right(*args, **kwargs, draw=lambda many, size, generator: torch.zeros(size, dtype=torch.int64))


@misconception(
    "last-start-missing",
    "The end of the text is never drawn: there are len(data) - block_size starts, and splitting off validation data is"
    " the caller's affair.",
)
def last_start_missing(*args, **kwargs):
    return right(*args, **kwargs, many=lambda data, size: max(1, len(data) - size - 1))


# --- mode and generator ---------------------------------------------------------------------------


@misconception(
    "mode-left-as-it-is",
    "The model trains in the mode in which it comes, perhaps eval mode, without dropout: call `model.train()`.",
)
def mode_left_as_it_is(*args, **kwargs):
    return right(*args, **kwargs, before=lambda model: None)


@misconception("eval-mode", "The model is in eval mode while it trains: call `model.train()`.")
def eval_mode(*args, **kwargs):
    return right(*args, **kwargs, before=lambda model: model.eval())


@misconception(
    "eval-after-a-look",
    "The model stays in eval mode after its loss was looked at in between: call `model.train()` again.",
)
def eval_after_a_look(*args, **kwargs):
    def look(model, x, y):
        loss = model(x, y)[1]
        model.eval()
        return loss

    return right(*args, **kwargs, loss_of=look)


@misconception(
    "generator-ignored",
    "`generator` is not used, so that nobody can repeat a run: draw the starts from it.",
)
def generator_ignored(model, data, steps, batch_size=32, lr=1e-3, generator=None):
    return right(model, data, steps, batch_size, lr)


@misconception(
    "seed-of-its-own",
    "It seeds torch itself, so the same batches come whoever asks: seeds are the caller's affair.",
)
def seed_of_its_own(model, data, steps, batch_size=32, lr=1e-3, generator=None):
    torch.default_generator.manual_seed(1337)
    return right(model, data, steps, batch_size, lr)


# --- what comes back ------------------------------------------------------------------------------


@misconception(
    "tensors-kept", "The losses are tensors, which hold on to their graphs: take their numbers, `loss.item()`."
)
def tensors_kept(*args, **kwargs):
    return [torch.tensor(loss, dtype=torch.float64) for loss in right(*args, **kwargs)]


@misconception("one-tensor", "The losses come as one tensor: return a list of numbers.")
def one_tensor(*args, **kwargs):
    return torch.tensor(right(*args, **kwargs), dtype=torch.float64)


@misconception("last-loss-alone", "Only the last loss comes back: return those of all steps.")
def last_loss_alone(*args, **kwargs):
    return right(*args, **kwargs)[-1]


@misconception("nothing-returned", "Nothing comes back: return the list of losses.")
def nothing_returned(*args, **kwargs):
    right(*args, **kwargs)


@misconception("model-returned", "More than the losses comes back: return the list of them alone.")
def model_returned(model, *args, **kwargs):
    return model, right(model, *args, **kwargs)


@misconception(
    "running-average",
    "The losses are smoothed, each a mean over the steps so far: return each step's own.",
)
def running_average(*args, **kwargs):
    losses = right(*args, **kwargs)
    return [sum(losses[: i + 1]) / (i + 1) for i in range(len(losses))]


@misconception(
    "loss-after-the-step",
    "The losses are measured after the step: a step's loss is the one that its gradients come from.",
)
def loss_after_the_step(model, data, steps, batch_size=32, lr=1e-3, generator=None):
    model.train()
    optimizer, losses = adamw(model.parameters(), lr), []
    for _ in range(steps):
        x, y = pair(data, draw(len(data) - model.block_size, batch_size, generator), model.block_size)
        optimizer.zero_grad()
        loss_of(model, x, y).backward()
        optimizer.step()
        losses.append(loss_of(model, x, y).item())
    return losses


@misconception("losses-rounded", "The losses are rounded: return them as they are, and round when you print.")
def losses_rounded(*args, **kwargs):
    return right(*args, **kwargs, told=lambda losses, loss: round(loss, 2))
