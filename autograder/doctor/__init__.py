"""`autograder doctor`: reports, one line each, what is right in a course and on this machine, and what is wrong."""

from collections.abc import Iterable

from ..course import Assignment
from .finding import Finding


def run(assignments: list[Assignment] | None, pairs: bool = False) -> int:
    """Print the findings on this machine and these assignments (None: there is no course); returns the exit code.

    With `pairs`, all pairs of mistakes are run instead.
    """
    if pairs:
        from . import pairs as of_mistakes

        return int(_print("Pairs of mistakes", of_mistakes.findings(assignments or [])))
    from . import machine

    ill = _print("This machine", machine.findings())
    if assignments is None:
        print("No course here, so only this machine was checked.")
        return int(ill)
    try:
        from . import course
    except ImportError as missing:
        print(f"The course was not checked: {missing}.")
        return 1
    return int(_print("The course", course.findings(assignments)) or ill)


def _print(title: str, findings: Iterable[Finding]) -> bool:
    """Print findings as they come; returns whether anything needs fixing."""
    print(f"{title}:", flush=True)
    ill = False
    for finding in findings:
        print(f"  {finding}", flush=True)
        ill = ill or finding.well is False
    return ill
