"""Reads when something was handed in from text that cannot be trusted, and never guesses.

A text is a time only if all of it is one of the FORMS below. A library that guesses (dateutil) takes a part of
`2026-11-20-10-11-12` for a time zone, the month for the day, and drops a "PM" that it does not expect.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable
from datetime import UTC, datetime, timedelta, timezone, tzinfo

from .months import DOUBTFUL, MONTH_OF

LONGEST = 100  # characters
CLOCK = r"(?P<hour>\d{1,2})[:.](?P<minute>\d\d)(?:[:.](?P<second>\d\d)(?:[.,]\d{1,9})?)?"
DIGITS = r"(?P<hour2>\d{1,2})(?P<minute2>\d\d)"  # of a clock in a file's name, which cannot hold a colon
HALF = r"(?:\s*(?P<half>[ap])\.?m\.?)?"
ZONE = r"(?:\s*(?P<zone>Z|[A-Z]{2,5}|(?:UTC|GMT)?[+-]\d\d:?\d\d))?"
AT = r"(?:(?:at|um|à|às|a las|a les|alle ore|ore|om|klo|kello|kl\.?|godz\.?|v|в|о)\s+)?"
AFTER = rf"(?:(?:\s*,)?\s+{AT}(?:{CLOCK}|{DIGITS}){HALF}(?:\s+Uhr)?{ZONE})?"
MONTH = r"(?P<month>[^\W\d_]{3,})\.?"
WEEKDAY = r"(?:(?P<weekday>[^\W\d_]{2,})\.?,?\s+)?"
WEEKDAY_BEHIND = r"[^\W\d_]+"
# all with four digits of the year
FORMS = tuple(
    re.compile(form, re.IGNORECASE)
    for form in (
        # ISO, and as databases and nbgrader write it: 2026-11-20 10:11:12.5 UTC, 2026-11-20T10:11:12+01:00
        rf"(?P<year>\d{{4}})([-/.])(?P<m>\d\d?)\2(?P<d>\d\d?)(?:(?:T|,?\s+|_){CLOCK}{HALF}{ZONE})?",
        # Blackboard: 2026-11-20-10-11-12
        r"(?P<year>\d{4})([-_])(?P<m>\d\d)\2(?P<d>\d\d)[-_T](?P<hour>\d\d)([-_])(?P<minute>\d\d)\6(?P<second>\d\d)",
        # ILIAS: 20261120101112; Sakai: with milliseconds behind
        r"(?P<year>(?:19|20)\d\d)(?P<m>\d\d)(?P<d>\d\d)"
        r"(?:[T_-]?(?P<hour>\d\d)(?P<minute>\d\d)(?P<second>\d\d)(?:\d{3})?(?P<zone>Z)?)?",
        # Brightspace: Nov 21, 2026 900 AM
        rf"{WEEKDAY}{MONTH}\s+(?P<d>\d\d?)(?:st|nd|rd|th)?,?\s+(?P<year>\d{{4}}){AFTER}",
        # Moodle: Tuesday, 3 November 2026, 11:25 AM; 3. Nov. 2026 11.25
        rf"{WEEKDAY}(?P<d>\d\d?)(?:st|nd|rd|th|\.|º)?[\s-]+(?:de\s+)?{MONTH},?[\s-]+(?:de\s+)?(?P<year>\d{{4}}){AFTER}",
        # Hungarian, Lithuanian, Latvian: 2026. november 3., kedd, 11:25; 2026 m. lapkričio 3 d., 11:25
        rf"(?P<year>\d{{4}})\.?,?\s+(?:m\.\s+|gada\s+)?{MONTH}\s+(?P<d>\d\d?)\.?(?:\s?d\.)?(?:,\s+{WEEKDAY_BEHIND})?{AFTER}",
        # Chinese, Japanese, Korean: 2026年11月3日 星期二 11:25, 2026년 11월 3일 (화) 11:25
        rf"(?P<year>\d{{4}})[年년]\s?(?P<m>\d\d?)[月월]\s?(?P<d>\d\d?)[日일](?:,?\s?\(?{WEEKDAY_BEHIND}\)?)?{AFTER}",
        # Vietnamese: 3 tháng 11 2026, 11:25
        rf"(?P<d>\d\d?)\s+tháng\s+(?P<m>\d\d?),?\s+(?:năm\s+)?(?P<year>\d{{4}}){AFTER}",
        # 3.11.2026 11:25: with dots, the day comes first everywhere
        rf"{WEEKDAY}(?P<d>\d\d?)\.\s?(?P<m>\d\d?)\.\s?(?P<year>\d{{4}}){AFTER}",
        # 25/11/2026 or 11/25/2026: which is the month is known only if the other one cannot be
        rf"{WEEKDAY}(?P<one>\d\d?)(?P<mark>[-/])(?P<other>\d\d?)(?P=mark)(?P<year>\d{{4}}){AFTER}",
    )
)
# hours from UTC; names that mean several zones (CST, IST, BST) are not here. RFC 5322 gives those of America
ZONES = {"Z": 0, "UTC": 0, "GMT": 0, "WET": 0, "WEST": 1, "CET": 1, "CEST": 2, "MEZ": 1, "MESZ": 2, "EET": 2, "EEST": 3}
ZONES |= {"EST": -5, "EDT": -4, "MST": -7, "MDT": -6, "PST": -8, "PDT": -7}


def time_of(text: object, zone: tzinfo | None = UTC, day_first: bool | None = None) -> datetime | None:
    """The time (UTC) that a text gives, or None if it gives none, or may mean two.

    A text that names no time zone is in `zone`; None is this machine's. `day_first` says what 03-11 means, if known.
    """
    said = _said(text)
    return _time(said, zone, day_first) if said else None


def times_of(text: object, zone: tzinfo | None = UTC) -> list[datetime]:
    """The times (UTC) that a text may mean, in order."""
    return sorted({time for day_first in (True, False) if (time := time_of(text, zone, day_first))})


def day_comes_first(texts: Iterable[object]) -> bool | None:
    """Whether the day comes before the month in times of one origin; None if none of them proves it, or they differ."""
    dates = [(int(said["one"] or 0), int(said["other"] or 0)) for text in texts if (said := _said(text)).get("one")]
    proven = {one > 12 for one, other in dates if (one > 12) != (other > 12)}
    return proven.pop() if len(proven) == 1 else None


def _said(text: object) -> dict[str, str | None]:
    """What the first form that fits has found in a text; nothing if none does."""
    if not isinstance(text, str) or len(text) > LONGEST:
        return {}
    text = unicodedata.normalize("NFC", " ".join(text.split()))
    return next((found.groupdict() for form in FORMS if (found := form.fullmatch(text))), {})


def _time(said: dict[str, str | None], zone: tzinfo | None, day_first: bool | None) -> datetime | None:
    """The time (UTC) of what a form has found, or None."""
    date = _date(said, day_first)
    clock = _clock(said)
    zone = _zone(name) if (name := said.get("zone")) else zone
    if date is None or clock is None or zone is NO_ZONE:
        return None
    try:
        time = datetime(*date, *clock)
    except ValueError:  # no such day or hour
        return None
    return in_utc(time.replace(tzinfo=zone))


def _date(said: dict[str, str | None], day_first: bool | None) -> tuple[int, int, int] | None:
    year = int(said["year"] or 0)
    if said.get("one"):
        one, other = int(said["one"] or 0), int(said["other"] or 0)
        if one <= 12 and other <= 12 and one != other and day_first is None:
            return None  # 03-11 is in March or in November
        day, month = (other, one) if other > 12 or (one <= 12 and day_first is False) else (one, other)
    else:
        day = int(said["d"] or 0)
        month = int(said["m"] or 0) if said.get("m") else _month(said["month"] or "", said.get("weekday") or "")
    return (year, month, day)


def _month(name: str, weekday: str) -> int:
    """The number of a month, 0 if it is none that is known, or may be two."""
    name, weekday = name.casefold(), weekday.casefold()
    sure = (number for number, weekdays in DOUBTFUL.get(name, {}).items() if weekday in weekdays)
    return MONTH_OF.get(name) or next(sure, 0)


def _clock(said: dict[str, str | None]) -> tuple[int, int, int] | None:
    """(hour, minute, second); midnight for a date alone."""
    hour = int(said.get("hour") or said.get("hour2") or 0)
    minute, second = int(said.get("minute") or said.get("minute2") or 0), int(said.get("second") or 0)
    if half := (said.get("half") or "").lower():
        if hour > 12 and half == "a":
            return None
        hour = hour % 12 + 12 * (half == "p") if hour <= 12 else hour
    return hour, minute, second


NO_ZONE = timezone(timedelta(hours=23))  # of a name that is none


def _zone(name: str) -> tzinfo:
    name = name.upper()
    if found := re.fullmatch(r"(?:UTC|GMT)?([+-])(\d\d):?(\d\d)", name):
        minutes = int(found[2]) * 60 + int(found[3])
        return timezone(timedelta(minutes=-minutes if found[1] == "-" else minutes)) if minutes < 24 * 60 else NO_ZONE
    return timezone(timedelta(hours=ZONES[name])) if name in ZONES else NO_ZONE


def in_utc(time: datetime) -> datetime | None:
    """A time in UTC, without saying so, as nbgrader has it; None beyond an end of the calendar.

    A time without a zone is in that of this machine.
    """
    try:
        return time.astimezone(UTC).replace(tzinfo=None)
    except (OverflowError, ValueError):
        return None
