"""Mistakes in a loop that trains a model.

Places: `OPTIMIZER` makes the optimiser, `MODE` is the line that sets the mode, with what indents the next, `CLEAR` the
one that clears the gradients, and `NOTED` notes a step's loss. Words: `WEIGHTS` is what is trained, `LR` how fast.
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
