"""What a mistake costs: you pay for what you did wrong, once, and not for every check that it fails.

A price is a share of an exercise's points. It is that of the dearest kind of check that an answer with this mistake
alone fails, unless the mistake's author gives it another. Prices count where the mistakes that are named explain all
that a student's code does. Then the smallest repair is known, and the score is what they leave of the points, if the
checks that pass give less. Else the checks decide, as they do for a mistake that costs ALL.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, NamedTuple

from ..verdict import NOT_TRIED, Diagnosis

if TYPE_CHECKING:
    from .bank import Mistake
    from .evidence import Observation

HALF = 0.5  # the most that one slip costs, whose answer does something of what is asked
ALL = 1.0  # the price of what computes next to nothing, and where more may be wrong than what is named
MOST = 2  # mistakes that are paid for: three edits make nearly anything of a right answer, such as a constant
PRICES = {  # by the category of a check
    "shape": 0.4,  # nothing that builds on it can use it: as dear as wrong values
    "values": 0.4,  # the formula is wrong in the usual case: two such slips leave little, and three nothing
    "masking": 0.3,  # the formula is right, and meets what it must not see
    "gradients": 0.3,  # what is computed is right, and cannot be learnt
    "numerics": 0.2,  # right but for numbers and dtypes that are out of the ordinary
    "mode": 0.2,  # right, but a call leaves something behind, or train and eval are taken for each other
    "device": 0.1,  # right on the CPU
    "arguments": 0.1,  # right for whoever calls it rightly
}


class Slip(NamedTuple):
    """A kind of slips, what it is, and the share of an exercise's points that one of them costs at most."""

    kind: str
    says: str
    price: float


# what each kind of slip costs in each exercise: docs/prices.md has it as a table
SLIPS = (
    Slip("name", "a layer, a parameter or a method has another name than the statement gives it", PRICES["arguments"]),
    Slip("refusal", "what should be refused is accepted, or refused by another error", PRICES["arguments"]),
    Slip("device", "a tensor is made on the CPU, wherever the input is", PRICES["device"]),
    Slip("dtype", "digits or a dtype are lost, or numbers out of the ordinary overflow", PRICES["numerics"]),
    Slip("kept", "a call changes its input, or leaves something behind for the next one", PRICES["mode"]),
    Slip("mask", "only what a mask should hide is wrong, or what it should show", PRICES["masking"]),
    Slip("gradient", "values are right, and a gradient is cut or wrong", PRICES["gradients"]),
    Slip("number", "a number, a sign, a dimension, an operator or the order of operands is wrong", PRICES["values"]),
    Slip("form", "what is returned has another form: a tuple, a dimension too many, parts exchanged", PRICES["shape"]),
    Slip("roles", "queries, keys and values, or layers of other roles, have changed places", PRICES["values"]),
    Slip("layers", "layers are in a plain list, or one layer is in several places", PRICES["values"]),
    Slip("stops", "it stops with an error at every turn: a missing argument, a constructor not called", HALF),
    Slip("nothing", "it computes nothing of what is asked, or leaves out the step that the exercise is about", ALL),
)
COSTS = {slip.kind: slip.price for slip in SLIPS}


def price(mistake: Mistake, alone: Mapping[str, Observation], categories: Mapping[str, str]) -> float:
    """The price of a mistake: what the checks find of an answer with it `alone`, and their `categories`, by name.

    What stops with an error at every turn was never run.
    """
    if mistake.price is not None:
        return mistake.price
    if mistake.edits is None:  # a whole answer, and no edit of a right one
        return ALL
    failed = {name: seen for name, seen in alone.items() if seen.failed}
    names = tried({name: seen.reason for name, seen in failed.items()})
    runs = any(not seen.failed for seen in alone.values()) or any(not failed[name].line for name in names)
    return dearest(categories[name] for name in names) if runs else ALL


def tried(reasons: Mapping[str, str]) -> list[str]:
    """The names of the checks that failed after they were tried, from the `reasons` of all that failed.

    A check that was not tried says nothing of what is wrong, unless none was: then an easier case of all ended each.
    """
    return [name for name, reason in reasons.items() if not reason.startswith(NOT_TRIED)] or [*reasons]


def dearest(categories: Iterable[str]) -> float:
    """The price of the dearest of these categories of checks; ALL if there is none."""
    return max((PRICES[category] for category in categories), default=ALL)


def left(found: Iterable[Diagnosis]) -> float:
    """The share of the points that the mistakes of a diagnosis leave; 0 without any, since then nothing is known."""
    prices = [diagnosis.price for diagnosis in found]
    return max(0.0, 1 - sum(prices)) if prices else 0.0
