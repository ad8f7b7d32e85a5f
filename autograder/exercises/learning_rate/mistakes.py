"""What goes wrong in `learning_rate(step, steps, peak, warm_up)`, as edits of the course's own answer."""

from ...mistakes.bank import Bank
from ...mistakes.prices import ALL
from ..families.wordings import says

BANK = Bank(
    "learning_rate",
    places={
        "REFUSE": """if warm_up > steps:
        raise ValueError(f"a warm-up of {warm_up} steps does not fit into {steps} steps")
    """,
        "EARLY": "step < warm_up",
        "CLIMB": "peak * (step + 1) / warm_up",
        "BEHIND": "(step - warm_up) / (steps - warm_up)",
        "FALL": "peak * (1 + math.cos(math.pi * behind)) / 2",
    },
)
mistake = BANK.mistake

# --- the climb ------------------------------------------------------------------------------------

mistake(
    "first-step-is-nothing",
    "The first step has a learning rate of 0, so it changes nothing: step 0 is the first of `warm_up` equal parts, so"
    " count step + 1.",
    CLIMB="peak * step / warm_up",
)
mistake(
    "warm-up-ignored",
    "There is no warm-up: the first steps should climb along a line to the peak.",
    {"if step < warm_up:\n        return peak * (step + 1) / warm_up\n    ": ""},
)
mistake(
    "peak-from-the-start",
    "During the warm-up the peak is given at once: climb in equal parts.",
    CLIMB="peak",
)
mistake(
    "climb-over-all-steps",
    "The climb is spread over all steps and breaks off at the end of the warm-up: divide by `warm_up`.",
    CLIMB="peak * (step + 1) / steps",
)
mistake(
    "climb-of-one-part-more",
    "The climb is divided by `warm_up` + 1, so it ends below the peak: it has `warm_up` parts.",
    CLIMB="peak * (step + 1) / (warm_up + 1)",
)
mistake(
    "climb-without-peak",
    "The climb goes to 1, not to the peak: multiply by `peak`.",
    CLIMB="(step + 1) / warm_up",
)
mistake(
    "climb-one-step-longer",
    "The climb takes one step too many: the peak belongs to step `warm_up` − 1, and the fall begins at step `warm_up`.",
    EARLY="step <= warm_up",
)
mistake(
    "climb-counted-in-whole-parts",
    "`//` cuts the parts of the climb to whole numbers: divide with `/`.",
    CLIMB="peak * ((step + 1) // warm_up)",
)
mistake(
    "climb-along-a-cosine",
    "The climb goes along half a cosine: it is a line.",
    CLIMB="peak * (1 - math.cos(math.pi * (step + 1) / warm_up)) / 2",
)

# --- the fall -------------------------------------------------------------------------------------

mistake(
    "fall-along-a-line",
    "After the warm-up it falls along a line: it should be half a cosine.",
    FALL="peak * (1 - behind)",
)
mistake(
    "no-fall",
    "After the warm-up it stays at the peak: it should fall along half a cosine.",
    FALL="peak",
)
mistake(
    "whole-cosine",
    "A whole turn of the cosine is taken, so that the rate comes back to the peak at the end: the angle goes up to π.",
    FALL="peak * (1 + math.cos(2 * math.pi * behind)) / 2",
)
mistake(
    "quarter-cosine",
    "A quarter turn of the cosine is taken: the angle goes up to π, and 1 is added before halving.",
    FALL="peak * math.cos(math.pi * behind / 2)",
)
mistake(
    "plain-cosine",
    "The cosine itself is taken, which is negative in the second half: add 1, and halve.",
    FALL="peak * math.cos(math.pi * behind)",
)
mistake(
    "not-halved",
    "The sum 1 + cos goes from 2 to 0, so the rate is twice too large: halve it.",
    FALL="peak * (1 + math.cos(math.pi * behind))",
)
mistake(
    "upside-down",
    "The cosine is subtracted, so the rate climbs after the warm-up: add it.",
    FALL="peak * (1 - math.cos(math.pi * behind)) / 2",
)
mistake(
    "degrees",
    "`math.cos` takes radians, and is given degrees: half a turn is π.",
    FALL="peak * (1 + math.cos(180 * behind)) / 2",
)
mistake(
    "pi-forgotten",
    "The angle goes up to 1 only: multiply the share that lies behind by π.",
    FALL="peak * (1 + math.cos(behind)) / 2",
)
mistake(
    "fall-from-step-0",
    "The cosine is counted from step 0, so there is a jump at the end of the warm-up: count the steps after it.",
    BEHIND="step / steps",
)
mistake(
    "fall-over-all-steps",
    "The fall is spread over all steps, so it ends above 0: divide by the steps after the warm-up.",
    BEHIND="(step - warm_up) / steps",
)
mistake(
    "fall-counts-one-more",
    "The fall is one step ahead: at step `warm_up` nothing lies behind yet, and the peak holds.",
    BEHIND="(step - warm_up + 1) / (steps - warm_up)",
)
mistake(
    "zero-at-the-last-step",
    "It reaches 0 at the last step already, which then changes nothing: 0 belongs to step `steps`, after the end.",
    BEHIND="(step - warm_up) / max(1, steps - warm_up - 1)",
)
mistake(
    "floor-of-a-tenth",
    "It falls to a tenth of the peak, as in nanoGPT: here it falls to 0.",
    FALL="peak / 10 + 0.5 * (1 + math.cos(math.pi * behind)) * (peak - peak / 10)",
)
mistake(
    "fall-without-peak",
    "The fall begins at 1, not at the peak: multiply by `peak`.",
    FALL="(1 + math.cos(math.pi * behind)) / 2",
)

# --- what comes in, and what comes out ------------------------------------------------------------

mistake(
    "longer-warm-up-accepted",
    "A warm-up of more steps than there are is accepted, and the peak never comes: raise a `ValueError`.",
    REFUSE="",
)
mistake(
    "longer-warm-up-asserted",
    "A warm-up of more steps than there are stops with an AssertionError: raise a `ValueError` that holds both"
    " numbers.",
    REFUSE='assert warm_up <= steps, f"{warm_up} > {steps}"\n    ',
)
mistake(
    "whole-warm-up-refused",
    "A warm-up of all steps is refused: it fits, and ends at the peak.",
    {"warm_up > steps": "warm_up >= steps"},
)
mistake(
    "message-without-numbers",
    says(
        "message-without-numbers",
        WHAT="a warm-up that is too long",
        BOTH="how long it is, and how many steps there are",
    ),
    {'f"a warm-up of {warm_up} steps does not fit into {steps} steps"': '"the warm-up is too long"'},
)
mistake(
    "no-warm-up-refused",
    "A warm-up of 0 steps stops with an error: then there is no line, and the cosine begins at once.",
    EARLY="step / warm_up < 1",
)
mistake(
    "returns-nothing",
    "Nothing is returned after the warm-up, so None comes back: `return` it.",
    {"return peak * (1 + math": "rate = peak * (1 + math"},
    price=ALL,
)
mistake(
    "tensor-after-the-warm-up",
    "A tensor comes back, where a float should: compute with `math`, or take the number out with `.item()`.",
    FALL="peak * (1 + torch.cos(torch.tensor(math.pi * behind))) / 2",
)
BANK.variant(
    "tensor-after-the-warm-up",
    CLIMB="torch.tensor({CLIMB})",
    FALL="peak * (1 + torch.cos(torch.tensor(math.pi * behind))) / 2",
)
