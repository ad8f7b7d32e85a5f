"""Calls that should be refused, for the checks of arguments."""

from collections.abc import Mapping
from typing import Any

from ...checks.proxies import Proxy, StudentError, Submission


def refusals(
    submission: Submission, module: Proxy, wrong: Mapping[str, tuple[Any, ...]]
) -> dict[str, StudentError | None]:
    """The errors, by what is wrong with them, that calls with `wrong` inputs end in; None where there was none.

    What code that refuses nothing makes of such inputs differs with every line of it. So the transcript, by which a
    mistake is recognised, gets only whether they are refused, and by an assertion or as they should be.
    """
    errors: dict[str, StudentError | None] = {}
    kinds: list[str] = []
    for what, given in wrong.items():
        submission.settle()
        seen = len(submission.transcript.entries)
        errors[what] = module.refused(*given)
        raised = [kind for what, kind, *_ in submission.transcript.entries[seen:] if what == "error"]
        del submission.transcript.entries[seen:]
        kinds.append(raised[0] if raised and raised[0] in ("ValueError", "AssertionError") else "not refused")
    submission.note(*kinds)
    return errors
