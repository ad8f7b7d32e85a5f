"""What changed between two texts, line by line, in a time that nobody's text can make long."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

SAME, GONE, NEW, GAP = " ", "-", "+", "…"
CONTEXT = 2  # lines around a change that are shown
BUDGET = 60_000  # pairs of lines that are compared: beyond them, all of the changed part is replaced


@dataclass(frozen=True)
class Change:
    """A line: its `sign` says whether it is the SAME, GONE or NEW; a GAP is in place of lines that are the same."""

    sign: str
    text: str


def differences(before: Sequence[str], after: Sequence[str], budget: int = BUDGET) -> list[Change]:
    """The lines that are gone and new, with some of those around them; none if the texts are the same."""
    if list(before) == list(after):
        return []
    start = _alike(before, after)
    end = _alike(before[start:][::-1], after[start:][::-1])
    old, new = before[start : len(before) - end], after[start : len(after) - end]
    changes = [Change(SAME, line) for line in before[:start]]
    changes += _changed(old, new, budget)
    changes += [Change(SAME, line) for line in before[len(before) - end :]]
    return list(_near(changes))


def _alike(one: Sequence[str], other: Sequence[str]) -> int:
    """How many lines two texts have in common at their beginning."""
    count = 0
    for first, second in zip(one, other, strict=False):
        if first != second:
            break
        count += 1
    return count


def _changed(old: Sequence[str], new: Sequence[str], budget: int) -> list[Change]:
    """The lines of two texts, by a longest common subsequence where it is not too much to look for one."""
    if len(old) * len(new) > budget:
        return [*(Change(GONE, line) for line in old), *(Change(NEW, line) for line in new)]
    longest = [[0] * (len(new) + 1) for _ in range(len(old) + 1)]
    for i in range(len(old) - 1, -1, -1):
        row, below, line = longest[i], longest[i + 1], old[i]
        for j in range(len(new) - 1, -1, -1):
            row[j] = below[j + 1] + 1 if line == new[j] else max(below[j], row[j + 1])
    found, i, j = [], 0, 0
    while i < len(old) or j < len(new):
        if i < len(old) and j < len(new) and old[i] == new[j]:
            found.append(Change(SAME, old[i]))
            i, j = i + 1, j + 1
        elif i < len(old) and (j == len(new) or longest[i + 1][j] >= longest[i][j + 1]):
            found.append(Change(GONE, old[i]))
            i += 1
        else:
            found.append(Change(NEW, new[j]))
            j += 1
    return found


def _near(changes: Sequence[Change]) -> Iterator[Change]:
    """The changes with CONTEXT lines around each, and a GAP for what is left out."""
    wanted = set[int]()
    for place, change in enumerate(changes):
        if change.sign != SAME:
            wanted |= set(range(place - CONTEXT, place + CONTEXT + 1))
    is_left_out = False
    for place, change in enumerate(changes):
        if place in wanted:
            yield change
        elif not is_left_out:
            yield Change(GAP, "")
        is_left_out = place not in wanted
