"""What is said and logged where the kit itself fails."""

import logging
import os

log = logging.getLogger(__name__)


def internal_error(error: BaseException) -> str:
    """Log an internal error; returns what a student reads in place of a grade."""
    log.error("internal error (%r); AUTOGRADER_DEBUG=1 shows the traceback", error, exc_info=_debugging())
    return (
        f"It could not be graded because of an internal error in autograder ({type(error).__name__}): tell your"
        " instructor."
    )


def _debugging() -> bool:
    return bool(os.environ.get("AUTOGRADER_DEBUG"))
