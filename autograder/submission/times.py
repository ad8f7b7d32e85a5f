"""When something was handed in, in the words of a stranger."""

import re
from datetime import datetime

from nbgrader.utils import parse_utc

TIME = re.compile(r"[\w :.,/+-]{1,100}")
PLACE = re.compile(r"[\s:][/~]|\.\.")  # a zone may be the path of a file, which would be read


def time_of(text: object) -> datetime | None:
    """The time (UTC) that a text says; None where it says none."""
    text = text.strip() if isinstance(text, str) else ""
    if not TIME.fullmatch(text) or PLACE.search(text):
        return None
    try:
        return parse_utc(text)
    except Exception:  # dateutil has a dozen ways to say that something is no time
        return None
