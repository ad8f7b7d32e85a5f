"""What goes wrong in `train(model, data, steps, batch_size=32, lr=1e-3, generator=None)`, as edits of a right answer.

The answer has its own `get_batch`: wrong batches may be the fault of either function.
"""

from ...mistakes.bank import Bank
from ...mistakes.prices import ALL
from ..families.drawing import mistakes as family
from ..families.training import mistakes as training
from ..families.wordings import says

BANK = Bank(
    "train",
    answer="two_functions",
    places={
        "MANY": "torch.randint(possible,",
        "STARTS": "torch.randint(possible, (batch_size,), generator=generator)",
        "HANDED": ", generator=generator",
        "PAIR": "data[places], data[places + 1]",
        "TARGETS": "data[places + 1]",
        "START": "optimizer = torch.optim.AdamW(model.parameters(), lr=lr)",
        "OPTIMIZER": "torch.optim.AdamW(model.parameters(), lr=lr)",
        "MODE": "model.train()\n    ",
        "BATCH": "inputs, targets = get_batch(data, model.block_size, batch_size, generator)",
        "LOSS": "_, loss = model(inputs, targets)",
        "CLEAR": "optimizer.zero_grad()\n        ",
        "STEP": "optimizer.step()\n        ",
        "NOTED": "losses.append(loss.item())",
        "END": "return losses",
    },
    words={"WEIGHTS": "model.parameters()", "LR": "lr", "DRAW": "torch.randint", "THESE": "batches come"},
)
mistake = BANK.mistake

# --- what is learnt -------------------------------------------------------------------------------

BANK.share(family.BLOCKS)
mistake(
    "last-position-alone",
    "The loss is that of the last position alone: every position of a block has a target.",
    LOSS="logits, _ = model(inputs)\n        loss = torch.nn.functional.cross_entropy(logits[:, -1], targets[:, -1])",
)
mistake(
    "loss-summed",
    says("loss-summed"),
    LOSS="{LOSS}\n        loss = loss * targets.numel()",
)

# --- steps ----------------------------------------------------------------------------------------

mistake("no-step", says("no-step", WHAT="`loss.backward()`"), price=ALL, STEP="")
mistake(
    "cleared-before-the-step",
    "`optimizer.zero_grad()` stands between `loss.backward()` and `optimizer.step()`, so the step finds no gradients"
    " and the weights never move: clear them before `backward`.",
    {"loss.backward()\n        ": "loss.backward()\n        optimizer.zero_grad()\n        "},
    CLEAR="",
)
mistake(
    "no-backward",
    says("no-backward"),
    {"loss.backward()\n        ": ""},
    price=ALL,
)
BANK.share(training.SHARED, "gradients-pile-up", "sgd", "adam", "amsgrad", "label-smoothing")
mistake(
    "no-decay",
    "The weight decay of AdamW is switched off or changed: leave its settings but `lr` as torch has them.",
    OPTIMIZER="torch.optim.AdamW(model.parameters(), lr=lr, weight_decay=0.1)",
)
mistake(
    "lr-ignored",
    "`lr` is not used: hand it on to the optimiser.",
    OPTIMIZER="torch.optim.AdamW(model.parameters())",
)
mistake("other-default", "The default of `lr` is another one: it should be 1e-3.", {"lr=1e-3": "lr=3e-4"})
mistake(
    "new-optimizer-each-step",
    "The optimiser is created in each step, so it remembers nothing of those before: make it once, above the loop.",
    CLEAR="optimizer = {OPTIMIZER}\n        {CLEAR}",
)
mistake(
    "gradients-clipped",
    "The gradients are clipped: larger models do that, here each step takes them as they are.",
    STEP="torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)\n        {STEP}",
)
mistake(
    "warm-up",
    "The learning rate changes from step to step (a warm-up, a schedule): here it is `lr` in every step.",
    START="{START}\n    schedule = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda i: min(1.0, (i + 1) / 10))",
    STEP="{STEP}schedule.step()\n        ",
)
mistake(
    "lr-falls",
    "The learning rate falls as the steps go on (a schedule): here it is `lr` in every step.",
    START="{START}\n    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, max(1, steps))",
    STEP="{STEP}schedule.step()\n        ",
)
mistake(
    "some-weights-only",
    "Only some of the weights are trained: give the optimiser `model.parameters()`.",
    {"model.parameters()": "list(model.parameters())[-2:]"},
)
mistake(
    "copy-trained",
    "A copy of the model is trained, and the model itself stays as it was.",
    {"import torch\n": "import copy\n\nimport torch\n"},
    START="model = copy.deepcopy(model)\n    {START}",
)
mistake(
    "one-step-short",
    says("one-step-short"),
    {"range(steps)": "range(steps - 1)"},
)

# --- batches --------------------------------------------------------------------------------------

mistake(
    "batch-size-ignored",
    "`batch_size` is not used: a batch always has 32 blocks.",
    BATCH="inputs, targets = get_batch(data, model.block_size, 32, generator)",
)
mistake(
    "other-batch-size",
    "The default of `batch_size` is another one: it should be 32.",
    {"batch_size=32": "batch_size=64"},
)
mistake(
    "block-size-a-constant",
    says("block-size-a-constant"),
    BATCH="inputs, targets = get_batch(data, 3, batch_size, generator)",
)
mistake(
    "one-batch-for-all",
    says("one-batch-for-all"),
    {"for _ in range(steps):\n        {BATCH}": "{BATCH}\n    for _ in range(steps):"},
)
mistake(
    "one-block-for-all",
    "All rows of a batch are the same block: draw a start for each row.",
    STARTS="torch.randint(possible, (1,), generator=generator).expand(batch_size)",
)
mistake(
    "always-the-beginning",
    says("always-the-beginning"),
    price=ALL,
    STARTS="torch.zeros(batch_size, dtype=torch.long)",
)
mistake(
    "last-start-missing",
    "The end of the text is never drawn: there are len(data) - block_size starts, and splitting off validation data is"
    " the caller's affair.",
    MANY="torch.randint(max(1, possible - 1),",
)

# --- mode and generator ---------------------------------------------------------------------------

BANK.share(training.SHARED, "mode-left-as-it-is", "eval-mode")
mistake(
    "eval-after-a-look",
    "The model stays in eval mode after its loss was looked at in between: call `model.train()` again.",
    NOTED="{NOTED}\n        model.eval()",
)
mistake(
    "eval-after-a-hundred",
    "After 100 steps the model stays in eval mode, as when its loss was looked at in between: call `model.train()`"
    " again.",
    NOTED="{NOTED}\n        if len(losses) % 100 == 0:\n            model.eval()",
)
BANK.share(family.SHARED, "generator-ignored", "seed-of-its-own", "seeded-as-well", "seeded-afresh")
mistake(
    "generator-not-taken",
    "The function takes no `generator` (TypeError): give it that parameter, None by default, and hand it on to"
    " `get_batch`.",
    {"lr=1e-3, generator=None": "lr=1e-3"},
    BATCH="inputs, targets = get_batch(data, model.block_size, batch_size)",
)

# --- how the model is called ----------------------------------------------------------------------

mistake(
    "batch-of-003",
    'Batches are asked for by `get_batch("train")`: hand on `data`, the sizes and `generator`.',
    original="003",
    BATCH='inputs, targets = get_batch("train")',
)
mistake(
    "three-things-expected",
    says("three-things-expected"),
    original="003",
    LOSS="_, loss, _ = model(inputs, targets)",
)
mistake(
    "targets-not-given",
    "The model is not given the targets, so its loss is None: call it with both, `model(inputs, targets)`.",
    LOSS="_, loss = model(inputs)",
)
mistake(
    "logits-as-loss",
    "The model's logits are taken for its loss, which is the second of the two things that it returns.",
    LOSS="loss, _ = model(inputs, targets)",
)

# --- what comes back ------------------------------------------------------------------------------

BANK.share(training.SHARED, "tensors-kept")
mistake("one-tensor", "The losses come as one tensor: return a list of numbers.", END="return torch.tensor(losses)")
mistake(
    "last-loss-alone",
    "A single loss comes back, such as the last one or a mean: return those of all steps, in a list.",
    END="return losses[-1]",
)
mistake("nothing-returned", says("nothing-returned", WHAT="the list of losses"), {"\n    {END}": ""}, price=ALL)
mistake(
    "model-returned",
    "More than the losses comes back: return the list of them alone.",
    END="return model, losses",
)
BANK.share(training.SHARED, "running-average")
BANK.variant("running-average", NOTED="losses.append(0.9 * losses[-1] + 0.1 * loss.item() if losses else loss.item())")
mistake(
    "loss-after-the-step",
    "The losses are measured after the step: a step's loss is the one that its gradients come from.",
    NOTED="losses.append(model(inputs, targets)[1].item())",
)
mistake(
    "losses-rounded",
    "The losses are rounded: return them as they are, and round when you print.",
    NOTED="losses.append(round(loss.item(), 2))",
)
