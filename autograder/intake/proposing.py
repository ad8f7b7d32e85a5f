"""Makes a `--pattern` from names that hold a student of the roster, and are in no layout that is known here."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence

from .people import Roster, words

MOST = 200  # names that are looked at
SEPARATORS = re.compile(r"[\W_]*")


def proposed(names: Sequence[str], roster: Roster) -> tuple[str, list[str], list[str]]:
    """(a pattern or "", the names that hold a student, the students); the pattern finds the student in each name."""
    found = [(name, said) for name in names[:MOST] if (said := roster.mentioned(name))]
    if not found:
        return "", [], []
    before = [name[: said[0]] for name, said in found]
    after = [name[said[1] :] for name, said in found]
    start = re.escape(before[0]) if len(set(before)) == 1 else ".*" + re.escape(_ending(before))
    behind = SEPARATORS.match(os.path.commonprefix(after))
    between = behind[0] if behind else ""
    rest = re.escape(between) + (".*" if any(text != between for text in after) else "")
    by_id = all(words(name[said[0] : said[1]]) == words(said[2]) for name, said in found)
    group = "student_id" if by_id else "name"
    pattern = next(
        (
            made
            for kind in (".+?", "[^_]+", "[^-]+", r"\w+?")
            if _finds(made := f"{start}(?P<{group}>{kind}){rest}", group, found)
        ),
        "",
    )
    return pattern, [name for name, _ in found], [said[2] for _, said in found]


def _ending(texts: Sequence[str]) -> str:
    """The separators at the end of all of these texts."""
    same = os.path.commonprefix([text[::-1] for text in texts])
    behind = SEPARATORS.match(same)
    return behind[0][::-1] if behind else ""


def _finds(pattern: str, group: str, found: Sequence[tuple[str, tuple[int, int, str]]]) -> bool:
    matches = [(re.fullmatch(pattern, name), name[said[0] : said[1]]) for name, said in found]
    return all(match is not None and match[group] == text for match, text in matches)
