"""Calls that should be refused, for the checks of arguments."""

from collections.abc import Mapping
from typing import Any

from ...checks.proxies import OF_TORCH, Proxy, StudentError, Submission


def refusals(
    submission: Submission, module: Proxy, wrong: Mapping[str, tuple[Any, ...]], right: tuple[Any, ...] = ()
) -> dict[str, StudentError | None]:
    """The errors, by what is wrong with them, that calls with `wrong` inputs end in; None where there was none.

    What code that refuses nothing makes of such inputs differs with every line of it. So the transcript, by which a
    mistake is recognised, gets only whether they are refused, and by an assertion or as they should be, or whether
    something else stops them than torch: that is another mistake. So is what stops a call with `right` inputs, which
    costs nothing here.
    """
    errors: dict[str, StudentError | None] = {}
    kinds: list[str] = []
    for what, given in wrong.items():
        errors[what], kind = _ended(submission, module, given)
        kinds.append("not refused" if kind in ("", *OF_TORCH) else kind)
    if right:
        kinds.append(_ended(submission, module, right)[1])
    submission.note(*kinds)
    return errors


def ended(submission: Submission, called: Proxy, *given: Any) -> StudentError | None:
    """The error in which a call ends that should end in one; None without.

    Everybody words it differently, with these numbers or with those. So the transcript gets its type alone.
    """
    error, kind = _ended(submission, called, given)
    submission.note(kind)
    return error


def _ended(submission: Submission, module: Proxy, given: tuple[Any, ...]) -> tuple[StudentError | None, str]:
    """The error that a call ends in, and its kind, which is empty if there was none. The transcript stays as it was."""
    submission.settle()
    seen = len(submission.transcript.entries)
    error = module.refused(*given)
    raised = [kind for what, kind, *_ in submission.transcript.entries[seen:] if what == "error"]
    del submission.transcript.entries[seen:]
    return error, raised[0] if raised else ""
