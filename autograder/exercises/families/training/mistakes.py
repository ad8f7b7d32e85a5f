"""Mistakes in a loop that trains a model.

Places: `OPTIMIZER` makes the optimiser, `MODE` is the line that sets the mode, with what indents the next, `CLEAR` the
one that clears the gradients, `LOSS` computes a step's loss, `NOTED` notes it, and `END` returns all of them. Words:
`WEIGHTS` is what is trained, `LR` how fast.
"""

from ....mistakes.bank import shared

SHARED = {
    "gradients-pile-up": shared(
        "The gradients of all steps pile up: call `optimizer.zero_grad()` before each `loss.backward()`.",
        CLEAR="",
    ),
    "sgd": shared(
        "Plain gradient descent is used: AdamW is asked for, `torch.optim.AdamW`.",
        OPTIMIZER="torch.optim.SGD({WEIGHTS}, lr={LR})",
    ),
    "adam": shared(
        "Adam is used, which lets no weight decay: AdamW is asked for, `torch.optim.AdamW`.",
        OPTIMIZER="torch.optim.Adam({WEIGHTS}, lr={LR})",
    ),
    "amsgrad": shared(
        "The optimiser has `amsgrad`, which AdamW has not by itself: leave its settings but `lr` as torch has them.",
        OPTIMIZER="torch.optim.AdamW({WEIGHTS}, lr={LR}, amsgrad=True)",
    ),
    "label-smoothing": shared(
        "The loss has label smoothing, so some of it comes from wrong tokens: take the loss that the model returns.",
        LOSS="""logits, _ = model(inputs, targets)
        logits, answers = logits.flatten(0, 1), targets.flatten()
        loss = torch.nn.functional.cross_entropy(logits, answers, label_smoothing=0.1)""",
    ),
    "running-average": shared(
        "The losses are smoothed, each a mean over the steps so far: return each step's own.",
        END="return [sum(losses[: i + 1]) / (i + 1) for i in range(steps)]",
    ),
    "mode-left-as-it-is": shared(
        "The model trains in the mode in which it comes, perhaps eval mode, without dropout: call `model.train()`.",
        MODE="",
    ),
    "eval-mode": shared(
        "The model is in eval mode while it trains: call `model.train()`.",
        MODE="model.eval()\n    ",
    ),
    "tensors-kept": shared(
        "The losses are tensors, which hold on to their graphs: take their numbers, `loss.item()`.",
        NOTED="losses.append(loss)",
    ),
}
