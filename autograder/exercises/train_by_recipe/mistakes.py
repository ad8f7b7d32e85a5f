"""What goes wrong in `train_by_recipe(model, data, steps, batch_size=32, peak=1e-3, warm_up=0, max_norm=1.0, …)`.

They are edits of an answer that has its own `get_batch`, `learning_rate` and `clip_gradients`; what goes wrong in these
is their own exercises'.
"""

from ...mistakes.bank import Bank
from ...mistakes.prices import ALL
from ..families.drawing import mistakes as family
from ..families.training import mistakes as training
from ..families.wordings import says

BANK = Bank(
    "train_by_recipe",
    answer="own_parts",
    places={
        "BATCH": "get_batch(data, model.block_size, batch_size, generator)",
        "START": "parameters = list(model.parameters())\n    optimizer",
        "OPTIMIZER": "torch.optim.AdamW(parameters, lr=peak)",
        "MODE": "model.train()\n    ",
        "RATE": 'optimizer.param_groups[0]["lr"] = learning_rate(step, steps, peak, warm_up)\n        ',
        "ARGUMENTS": "learning_rate(step, steps, peak, warm_up)\n        inputs",
        "LOSS": "_, loss = model(inputs, targets)",
        "CLEAR": "optimizer.zero_grad()\n        ",
        "BACKWARD": "loss.backward()\n        ",
        "CLIP": """shortened = clip_gradients([parameter.grad for parameter in parameters], max_norm)
        for parameter, gradient in zip(parameters, shortened, strict=True):
            parameter.grad = gradient
        """,
        "NORM": "parameters], max_norm)",
        "STEP": "optimizer.step()\n        ",
        "NOTED": "losses.append(loss.item())",
        "END": "return losses",
    },
    words={"WEIGHTS": "parameters", "LR": "peak", "DRAW": "get_batch", "THESE": "batches come"},
)
mistake = BANK.mistake

# --- the schedule ---------------------------------------------------------------------------------

mistake(
    "rate-never-set",
    "The optimiser keeps the `peak` in every step: write the schedule's rate into `group['lr']` of each group in"
    " `optimizer.param_groups` before it steps.",
    RATE="",
)
BANK.variant("rate-never-set", RATE="lr = learning_rate(step, steps, peak, warm_up)\n        ")
mistake(
    "rate-set-after-the-step",
    "The learning rate is set after the step that it is meant for, so every step has that of the one before: set it"
    " before `optimizer.step()`.",
    RATE="",
    STEP='{STEP}optimizer.param_groups[0]["lr"] = learning_rate(step, steps, peak, warm_up)\n        ',
)
mistake(
    "steps-from-one",
    "Steps are counted from 1: the first has the learning rate of step 0.",
    ARGUMENTS="learning_rate(step + 1, steps, peak, warm_up)\n        inputs",
)
mistake(
    "no-warm-up",
    "`warm_up` is not used: hand it on to `learning_rate`.",
    ARGUMENTS="learning_rate(step, steps, peak, 0)\n        inputs",
)
mistake(
    "rates-multiplied",
    "Each rate is multiplied by the one before, so they shrink to nothing: the schedule gives the rate itself, not a"
    " factor of the last one.",
    RATE='optimizer.param_groups[0]["lr"] *= learning_rate(step, steps, peak, warm_up) / peak\n        ',
)
mistake(
    "fraction-as-rate",
    "The peak is left out, so the rate is a share of 1: the learning rate is the peak times that share.",
    ARGUMENTS="learning_rate(step, steps, 1.0, warm_up)\n        inputs",
)
mistake(
    "fixed-peak",
    "`peak` is not used: the schedule should climb to it.",
    ARGUMENTS="learning_rate(step, steps, 1e-3, warm_up)\n        inputs",
)
mistake(
    "falls-twice",
    "Two schedules act at once, yours and one of torch's: one is enough.",
    RATE="{RATE}if step:\n            optimizer.param_groups[0]['lr'] *= 1 - step / steps\n        ",
)

# --- clipping -------------------------------------------------------------------------------------

mistake(
    "never-clipped",
    "The steps are those of gradients that were not clipped: shorten them after `backward` and before `step`, and put"
    " what `clip_gradients` returns back into each `parameter.grad`.",
    CLIP="",
)
BANK.variant("never-clipped", CLIP="", STEP="{STEP}{CLIP}")  # clipped after the step
BANK.variant(  # before there is a gradient
    "never-clipped",
    CLIP="",
    CLEAR="{CLEAR}if step:\n            clip_gradients([p.grad for p in parameters], max_norm)\n        ",
)
BANK.variant("never-clipped", CLIP="clip_gradients([parameter.grad for parameter in parameters], max_norm)\n        ")
mistake(
    "each-for-itself",
    says("each-for-itself"),
    CLIP="""for parameter in parameters:
            parameter.grad = clip_gradients([parameter.grad], max_norm)[0]
        """,
)
mistake(
    "numbers-clipped",
    "Single numbers are cut off at `max_norm` (`clip_grad_value_`): it is the length of all gradients together that"
    " must not be above it.",
    CLIP="torch.nn.utils.clip_grad_value_(parameters, max_norm)\n        ",
)
mistake(
    "weights-clipped",
    "The weights are clipped, not their gradients: shorten `parameter.grad`.",
    CLIP="""shortened = clip_gradients([parameter.detach() for parameter in parameters], max_norm)
        for parameter, weight in zip(parameters, shortened, strict=True):
            parameter.data = weight
        """,
)
mistake(
    "always-one",
    "`max_norm` is not used: the gradients are clipped to another length, such as 1.",
    NORM="parameters], 1.0)",
)
mistake(
    "always-that-long",
    "The gradients always get the length `max_norm`, also where they are shorter: those stay as they are.",
    {"factor = max_norm / length if length > max_norm else 1.0": "factor = max_norm / length"},
)

BANK.variant(  # an iterator, of which the optimiser leaves nothing
    "never-clipped", {"parameters = list(model.parameters())": "parameters = model.parameters()"}
)

# --- steps ----------------------------------------------------------------------------------------

mistake("no-step", says("no-step", WHAT="the clipping"), price=ALL, STEP="")
mistake(
    "cleared-before-the-step",
    "`optimizer.zero_grad()` stands between `loss.backward()` and `optimizer.step()`, so the step finds no gradients"
    " and the weights never move: clear them before `backward`.",
    CLEAR="",
    STEP="optimizer.zero_grad()\n        {STEP}",
)
BANK.share(training.SHARED, "gradients-pile-up", "sgd", "adam", "amsgrad", "label-smoothing")
mistake(
    "no-backward",
    says("no-backward"),
    price=ALL,
    BACKWARD="",
    CLIP="",
)
mistake(
    "new-optimizer-each-step",
    "The optimiser is created in each step, so it remembers nothing of those before: make it once, above the loop.",
    RATE="optimizer = {OPTIMIZER}\n        {RATE}",
)
mistake("one-step-short", says("one-step-short"), {"range(steps)": "range(steps - 1)"})

# --- batches, mode, what comes back ---------------------------------------------------------------

mistake(
    "batch-size-ignored",
    "`batch_size` is not used: a batch always has 32 blocks.",
    BATCH="get_batch(data, model.block_size, 32, generator)",
)
mistake(
    "one-batch-for-all",
    says("one-batch-for-all"),
    {"for step in range(steps):\n": "inputs, targets = {BATCH}\n    for step in range(steps):\n"},
    BATCH="inputs, targets",
)
BANK.share(family.SHARED, "seeded-as-well")
mistake(
    "generator-ignored",
    says("generator-ignored", DRAW="get_batch"),
    BATCH="get_batch(data, model.block_size, batch_size)",
)
BANK.share(training.SHARED, "mode-left-as-it-is", "eval-mode")
mistake("other-peak", "The default of `peak` is another one: it should be 1e-3.", {"peak=1e-3": "peak=3e-4"})
mistake(
    "other-batch-size",
    "The default of `batch_size` is another one: it should be 32.",
    {"batch_size=32": "batch_size=64"},
)
mistake("other-warm-up", "The default of `warm_up` is another one: it should be 0.", {"warm_up=0": "warm_up=1"})
mistake("other-norm", "The default of `max_norm` is another one: it should be 1.0.", {"max_norm=1.0": "max_norm=5.0"})
mistake(
    "warm-up-cut",
    "A `warm_up` above `steps` is cut to `steps`: refuse it with a `ValueError` that holds both numbers.",
    ARGUMENTS="learning_rate(step, steps, peak, min(warm_up, steps))\n        inputs",
)
mistake(
    "losses-and-rates",
    "More than the losses comes back: return the list of them alone.",
    END="return losses, optimizer.param_groups[0]['lr']",
)
BANK.share(training.SHARED, "tensors-kept", "running-average")
BANK.variant("running-average", NOTED="losses.append(0.9 * losses[-1] + 0.1 * loss.item() if losses else loss.item())")
mistake("nothing-returned", says("nothing-returned", WHAT="the list of losses"), {"\n    {END}": ""}, price=ALL)
