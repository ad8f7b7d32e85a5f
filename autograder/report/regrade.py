"""Who gains and who loses when the same work is graded again: by how much, in which exercise, by which check."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass

from ..verdict import CHECKS, PRICES, Check, Outcome, Verdict
from .gradebook_marks import Standing
from .outcome_text import STATUS, name_of, points

MOST = 20  # changes that a terminal shows, at most
MOST_CHECKS = 12  # and checks


@dataclass(frozen=True)
class CheckChange:
    """A check that gives a student other points than before; `gain` is below 0 for who loses."""

    name: str
    gain: float
    sentence: str


@dataclass(frozen=True)
class Change:
    """An exercise for which a student gets other points than before, for the same work.

    `why` says what the `checks` do not: that the exercise is worth something else, was stopped, is left to a person,
    has a check waived, or has its score by prices.
    `by_inputs`: on the earlier inputs the same code still gets other points than on the new ones.
    """

    student: str
    exercise: str
    before: float
    after: float
    max_before: float
    max_after: float
    checks: tuple[CheckChange, ...]
    why: str = ""
    by_inputs: bool = False

    @property
    def gain(self) -> float:
        return round(self.after - self.before, 4)


def changes(student: str, before: Verdict, after: Verdict) -> Iterator[Change]:
    """The exercises that have other points in `after` than in `before`; those that are new are left out."""
    for now in after.exercises:
        was = before.exercise(now.exercise)
        if was is None or (_close(was.score, now.score) and was.max_score == now.max_score and not now.unjudged):
            continue
        if now.unjudged and was.unjudged:
            continue
        why = _why(was, now)
        checks = () if was.max_score != now.max_score else tuple(_checks(was, now))
        yield Change(student, now.exercise, was.score, now.score, was.max_score, now.max_score, checks, why)


def _why(was: Outcome, now: Outcome) -> str:
    said = []
    if was.max_score != now.max_score:
        said.append(f"it is worth {points(now.max_score)}, and was worth {points(was.max_score)}")
    if now.status != was.status:
        said.append(f"it {STATUS[now.status]}" if STATUS[now.status] else "it could be graded now")
    if now.unjudged:
        said.append("it is left to a person, because a check has a bug")
    if set(now.waived) - set(was.waived):
        said.append(f"waived: {', '.join(sorted(set(now.waived) - set(was.waived)))}")
    if set(was.waived) - set(now.waived):
        said.append(f"no longer waived: {', '.join(sorted(set(was.waived) - set(now.waived)))}")
    if now.is_priced != was.is_priced:
        said.append(f"by {PRICES if now.is_priced else CHECKS} now")
    return "; ".join(said)


def _checks(was: Outcome, now: Outcome) -> Iterator[CheckChange]:
    before = {check.name: check for check in was.checks}
    after = {check.name: check for check in now.checks}
    for name in {**before, **after}:
        gain = round(_earned(after.get(name)) - _earned(before.get(name)), 4)
        if gain:
            yield CheckChange(name, gain, (after.get(name) or before[name]).sentence)


def _earned(check: Check | None) -> float:
    return check.points if check is not None and check.passed else 0.0


def _close(a: float, b: float) -> bool:
    return abs(a - b) < 1e-6


def as_json(found: Sequence[Change]) -> str:
    """Changes as JSON, one line each."""
    return "\n".join(json.dumps({**asdict(change), "gain": change.gain}) for change in found)


def as_text(
    found: Sequence[Change],
    many: int,
    standings: Mapping[str, Standing],
    is_draft: bool = False,
    with_new_work: Collection[str] = (),
) -> str:
    """Who gains and who loses of `many` students, as lines for a terminal: the largest losses first, up to MOST.

    `standings` say where a person has given points, which stay. A draft says what would change. Those `with_new_work`
    are counted apart: what they had before was for other work.
    """
    lose = {c.student for c in found if c.gain < 0}
    gain = {c.student for c in found if c.gain > 0}
    new = set(with_new_work) - gain - lose
    others = many - len({c.student for c in found} | new)
    said = [f"{len(gain)} gain", f"{len(lose)} lose", f"{others} stay as they are"]
    said += [f"{len(new)} with new work"] if new else []
    lines = [f"{'Nothing is written. The change would be: ' if is_draft else 'For the same work: '}{', '.join(said)}."]
    shown = sorted(found, key=lambda c: (c.gain, c.student))
    lines += [_line(change, standings.get(change.student)) for change in shown[:MOST]]
    if len(shown) > MOST:
        lines.append(f"  … and {len(shown) - MOST} more")
    return "\n".join([*lines, *_legend(found), *_by_inputs(found)])


def _by_inputs(found: Sequence[Change]) -> list[str]:
    """One sentence on changes that the inputs alone have made."""
    them = sorted({f"{name_of(c.student)} ({c.exercise})" for c in found if c.by_inputs})
    if not them:
        return []
    shown = ", ".join(them[:MOST]) + (f" and {len(them) - MOST} more" if len(them) > MOST else "")
    return [f"The inputs alone changed the points of unchanged code, so a check depends on luck: {shown}."]


def _line(change: Change, standing: Standing | None) -> str:
    """`  ada  normalise: 2 -> 1.5 of 2 (-0.5 test_wrong_rank)`."""
    checks = [f"{check.gain:+g} {check.name}" for check in change.checks]
    reasons = "; ".join([*([", ".join(checks)] if checks else []), *([change.why] if change.why else [])])
    mark = standing.of_exercise(change.exercise) if standing else None
    stays = f"; {points(mark.by_hand)} by hand stay" if mark and mark.by_hand is not None else ""
    score = f"{points(change.before)} -> {points(change.after)} of {points(change.max_after)}"
    return f"  {name_of(change.student)}  {change.exercise}: {score} ({reasons or f'{change.gain:+g}'}{stays})"


def _legend(found: Sequence[Change]) -> list[str]:
    """The sentences of the checks concerned, and how many students lose or gain by each."""
    tally: dict[tuple[str, str], list[CheckChange]] = {}
    for change in found:
        for check in change.checks:
            tally.setdefault((change.exercise, check.name), []).append(check)
    lines = []
    for (exercise, name), each in sorted(tally.items(), key=lambda item: -len(item[1]))[:MOST_CHECKS]:
        lost = sum(check.gain < 0 for check in each)
        counts = [f"{lost} lose"] * bool(lost) + [f"{len(each) - lost} gain"] * (len(each) > lost)
        lines.append(f"  {exercise}, {name} ({', '.join(counts)}): {name_of(each[0].sentence)}")
    return lines
