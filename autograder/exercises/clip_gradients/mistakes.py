"""What goes wrong in `clip_gradients(gradients, max_norm)`, as edits of the course's own answer."""

from ...mistakes.bank import Bank
from ...mistakes.prices import ALL, HALF
from ...mistakes.signs import has, lacks
from ..families.wordings import says

BANK = Bank(
    "clip_gradients",
    places={
        "SQUARES": "gradient.double().square().sum()",
        "LENGTH": "sum(gradient.double().square().sum() for gradient in gradients if gradient is not None) ** 0.5",
        "FACTOR": "max_norm / length if length > max_norm else 1.0",
        "ONE": "None if gradient is None else (gradient * factor).to(gradient.dtype)",
        "ALL": "[None if gradient is None else (gradient * factor).to(gradient.dtype) for gradient in gradients]",
    },
    seen_on_a_gpu="never-shortened",
)
mistake = BANK.mistake

# --- the length -----------------------------------------------------------------------------------

mistake(
    "each-for-itself",
    says("each-for-itself"),
    {
        "length = sum(gradient.double().square().sum() for gradient in gradients if gradient is not None) ** 0.5\n"
        "    factor = max_norm / length if length > max_norm else 1.0": "lengths = [0 if gradient is None else"
        " gradient.double().square().sum() ** 0.5 for gradient in gradients]",
    },
    ALL="[None if gradient is None else (gradient * (max_norm / length if length > max_norm else 1.0))"
    ".to(gradient.dtype) for gradient, length in zip(gradients, lengths)]",
)
mistake(
    "lengths-added",
    "The lengths of the gradients are added up: add up their squares, and take the root once, at the end.",
    LENGTH="sum(gradient.double().square().sum() ** 0.5 for gradient in gradients if gradient is not None)",
)
mistake(
    "root-forgotten",
    "The sum of the squares is taken for the length: take its root.",
    LENGTH="sum({SQUARES} for gradient in gradients if gradient is not None)",
)
mistake(
    "sum-of-amounts",
    "The absolute values are added up: a length is the root of the sum of the squares.",
    LENGTH="sum(gradient.double().abs().sum() for gradient in gradients if gradient is not None)",
)
mistake(
    "largest-number",
    "The largest number is taken for the length: it is the root of the sum of all squares.",
    LENGTH="max([gradient.double().abs().max() for gradient in gradients if gradient is not None], default=0)",
)
mistake(
    "longest-gradient",
    "The longest single gradient is taken for the length: all of them together have one.",
    LENGTH="max([gradient.double().norm() for gradient in gradients if gradient is not None], default=0)",
)
mistake(
    "mean-of-squares",
    "The mean of the squares is taken, not their sum: many small numbers make a long vector, too.",
    SQUARES="gradient.double().square().mean()",
)
mistake(
    "squares-in-half-precision",
    "The squares are summed in the gradients' own dtype: in float16 that overflows at 65,504, and everything becomes 0"
    " or NaN. Sum in a wider one.",
    SQUARES="gradient.square().sum()",
)
mistake(
    "none-not-expected",
    "A parameter without a gradient stops it: leave out what is `None` when you measure, and keep it in its place.",
    LENGTH="sum({SQUARES} for gradient in gradients) ** 0.5",
)
mistake(
    "first-gradient-alone",
    "Only the first gradient is measured: all of them together have one length.",
    LENGTH="next((({SQUARES}) for gradient in gradients if gradient is not None), 0) ** 0.5",
)

# --- the factor -----------------------------------------------------------------------------------

mistake(
    "always-scaled",
    "Short gradients are made longer, up to `max_norm`: only what is longer than that is changed.",
    FACTOR="max_norm / length if length > 0 else 1.0",
)
mistake(
    "zero-divided",
    "Gradients that are all 0 become NaN: 0 is divided by 0. Shorten only what is too long.",
    FACTOR="max_norm / length",
)
mistake(
    "never-shortened",
    "Nothing is shortened: where the length is above `max_norm`, multiply by `max_norm` / length.",
    price=ALL,
    FACTOR="1.0",
    sign=lacks(has("mean")),
)
mistake(
    "root-of-the-mean",
    "The length is taken as the root of the mean of the squares, which is far shorter: it is the root of their sum.",
    LENGTH="torch.cat([g.double().flatten() for g in gradients if g is not None] or [torch.zeros(1)])"
    ".square().mean() ** 0.5",
    sign=has("mean"),
)
mistake(
    "small-number-added",
    "A small number is added to the length, so the gradients come out a little too short: divide by the length alone.",
    FACTOR="max_norm / (length + 1e-6) if length > max_norm else 1.0",
)
mistake(
    "length-1",
    "Long gradients are shortened to the length 1: multiply by `max_norm` as well.",
    FACTOR="1 / length if length > max_norm else 1.0",
)
mistake(
    "factor-is-the-limit",
    "Long gradients are multiplied by `max_norm` itself: the factor is `max_norm` / length.",
    FACTOR="max_norm if length > max_norm else 1.0",
)
mistake(
    "factor-upside-down",
    "The factor is upside down, so long gradients get longer: it is `max_norm` / length.",
    FACTOR="length / max_norm if length > max_norm else 1.0",
)
mistake(
    "condition-turned-round",
    "Short gradients are scaled and long ones left alone: the condition is turned round.",
    FACTOR="max_norm / length if 0 < length < max_norm else 1.0",
)
mistake(
    "too-long-thrown-away",
    "Where the gradients are too long they become 0, and the step is lost: shorten them.",
    price=HALF,
    FACTOR="0.0 if length > max_norm else 1.0",
)
mistake(
    "each-number-cut",
    "Each number is cut to ±`max_norm`, which changes the direction: shorten all gradients by one factor.",
    ONE="None if gradient is None else gradient.clamp(-max_norm, max_norm)",
)

# --- what comes back ------------------------------------------------------------------------------

mistake(
    "none-left-out",
    "What is `None` is left out, so the gradients no longer belong to their parameters: keep it in its place.",
    ALL="[(gradient * factor).to(gradient.dtype) for gradient in gradients if gradient is not None]",
)
mistake(
    "none-becomes-zeros",
    "A `None` becomes a number: it should stay `None`.",
    ONE="torch.zeros(1) if gradient is None else (gradient * factor).to(gradient.dtype)",
)
mistake(
    "changed-in-place",
    says("changed-in-place"),
    ONE="None if gradient is None else gradient.mul_(factor)",
)
mistake(
    "dtype-of-the-first",
    "All gradients come back in the dtype of the first one: keep that of each gradient.",
    ONE="None if gradient is None else (gradient * factor).to(next(g for g in gradients if g is not None).dtype)",
)
mistake(
    "other-dtype",
    says("other-dtype", WHAT="gradients"),
    ONE="None if gradient is None else gradient.double() * factor",
)
mistake(
    "tuple-returned",
    "A tuple comes back: return a list.",
    ALL="tuple({ALL})",
)
mistake(
    "one-long-vector",
    "One long vector comes back: return a list, each gradient in its own shape.",
    ALL="torch.cat([(gradient * factor).flatten() for gradient in gradients if gradient is not None]"
    " or [torch.zeros(0)])",
)
mistake(
    "returns-the-length",
    "The length comes back, as `clip_grad_norm_` has it: here it is the list of gradients.",
    ALL="length",
)
mistake(
    "torchs-own",
    "It is torch's own clipping that does the work: write it out.",
    {
        "length = sum(gradient.double().square().sum() for gradient in gradients if gradient is not None) ** 0.5\n"
        "    factor = max_norm / length if length > max_norm else 1.0": "parameters = [None if gradient is None else"
        " nn.Parameter(gradient.clone()) for gradient in gradients]\n"
        "    for parameter, gradient in zip(parameters, gradients):\n"
        "        if parameter is not None:\n"
        "            parameter.grad = gradient.clone()\n"
        "    nn.utils.clip_grad_norm_([one for one in parameters if one is not None], max_norm)",
    },
    ALL="[None if parameter is None else parameter.grad for parameter in parameters]",
)
