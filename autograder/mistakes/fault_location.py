"""Says where an answer goes wrong if no known mistake explains it: at which line, or in what."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .. import course
from ..verdict import CATEGORIES, NOT_READ, PLACE, Diagnosis
from .student_line import raised_at

if TYPE_CHECKING:
    from ..checks.runner import ExerciseRun

LINE = f"{PLACE}line"
ABOUT = {
    "shape": "shapes and sizes: of other inputs, or of the parameters that there are",
    "masking": "what must not be seen: masks, other places, other items of a batch",
    "gradients": "the gradients",
    "numerics": "extreme numbers and other dtypes",
    "device": "the device",
    "mode": "what a call leaves behind, and train and eval mode",
    "arguments": "which arguments are taken and which are refused",
}
BLANK = "NotImplementedError"  # in a line that is left to be written
MOST = 3  # kinds of failures that still are one place


def location(run: ExerciseRun) -> Diagnosis | None:
    """Where the answer of a run that failed goes wrong; None if that is not certain.

    Two things are certain: that all failures are errors raised at one line, and that what fails is of few kinds
    while all values are right.
    """
    failed = [check for check in run.rejected() if not check.reason.startswith(NOT_READ)]
    if line := raised_at(run.places.get(check.name) for check in failed):
        if BLANK in line:
            return None
        return Diagnosis(LINE, "Whatever fails stops at one and the same line.", line)
    kinds = [kind for kind in CATEGORIES if kind in {check.category for check in failed}]
    values = [check.passed for check in run.checks if check.category == "values"]
    if not kinds or len(kinds) > MOST or not values or not all(values):
        return None
    mode = getattr(course.module_of(run.exercise, "checks"), "ABOUT_MODE", ABOUT["mode"])
    about = "; and ".join(mode if kind == "mode" else ABOUT[kind] for kind in kinds)
    return Diagnosis(PLACE + kinds[0], f"The usual case is right. What is wrong has to do with {about}.")
