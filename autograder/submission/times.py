"""Reads when something was handed in from text that cannot be trusted."""

import re
from datetime import UTC, datetime

from nbgrader.utils import parse_utc

TIME = re.compile(r"[\w :.,/+-]{1,100}")
PLACE = re.compile(r"[\s:][/~]|\.\.")  # a time zone may be a file's path, and that file would be read


def time_of(text: object) -> datetime | None:
    """The time (UTC) that a text gives, or None if it gives none."""
    text = text.strip() if isinstance(text, str) else ""
    if not TIME.fullmatch(text) or PLACE.search(text):
        return None
    try:
        return parse_utc(text)
    except Exception:  # dateutil raises many kinds of errors for a text that is no time
        return None


def in_utc(time: datetime) -> datetime | None:
    """A time in UTC, without saying so, as nbgrader has it; None beyond an end of the calendar.

    A time without a zone is in that of this machine.
    """
    try:
        return time.astimezone(UTC).replace(tzinfo=None)
    except (OverflowError, ValueError):
        return None
