"""The page that a student gets back: points, named mistakes and the next step first, then checks, then the notebook.

It is made of the Verdict, of what the gradebook has, and of the notebook's cells. The template escapes everything but
the HTML of cells and comments, which whoever makes them has made harmless. The page has no script and loads nothing.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from html import escape

from jinja2 import Template
from markupsafe import Markup

from .. import course
from ..verdict import CATEGORIES, Check, Outcome, Verdict
from . import lesson as lessons
from .gradebook_marks import GradedNotebook, Mark, duration
from .outcome_text import NOT_STARTED, charged, code_spans, failures, how_scored, measured, name_of, points, waived
from .pages import environment

NOT_ANSWERED = "no answer"
EMPTY = "the cell for it is empty: a person looks whether you answered in another one"
NO_RESPONSE = "No response."  # nbgrader's comment on a cell that was left as it was
_CODE_CELL = re.compile(r"\bcode cell (\d{1,4})\b")
CATEGORY_NAMES = {"shape": "shapes", "numerics": "extreme numbers", "device": "devices", "mode": "modes"}


@dataclass(frozen=True)
class ShownCell:
    """A cell of the notebook: `source` and `outputs` are HTML, `found` is what a test cell says, as text.

    `number` counts code cells as messages do, from 1; 0 for a text, or for a cell that was not handed in. `absent`
    names the modules that could not be imported.
    """

    kind: str
    number: int = 0
    grade_id: str = ""
    is_test: bool = False
    note: str = ""
    source: str = ""
    outputs: Sequence[str] = ()
    found: str = ""
    headings: Sequence[str] = ()
    absent: Sequence[str] = ()


@dataclass(frozen=True)
class Link:
    """A link to another place of the page."""

    place: str
    words: str


@dataclass
class Part:
    """An exercise or a written question as the page shows it."""

    label: str  # "Exercise 3"
    name: str  # "attention"; for a question, its whole heading
    grade_id: str
    anchor: str
    level: str  # full, partial, zero, waits
    mark: Mark
    notes: list[str] = field(default_factory=list)
    mistakes: list[tuple[str, str]] = field(default_factory=list)  # (what is wrong, the student's line or "")
    reason: str = ""  # why nothing could be graded, or where all checks stop
    right: str = ""  # the kinds of checks in which all is well
    links: list[Link] = field(default_factory=list)
    comment: str = ""
    checks: Checks | None = None
    found: str = ""  # what the test cell says, if there is no record
    later: list[str] = field(default_factory=list)  # what later cells change that the answer uses

    @property
    def is_exercise(self) -> bool:
        return bool(self.label)

    @property
    def is_empty(self) -> bool:
        """Whether it is a question with nothing in the cell of its answer."""
        return NOT_ANSWERED in self.notes or EMPTY in self.notes

    @property
    def empty_sentence(self) -> str:
        return lessons.empty_sentence(self.name)

    @property
    def to_do(self) -> str:
        """What to do next about it, as a verb."""
        if NOT_STARTED in self.notes:
            return "begin with"
        return "fix" if self.is_exercise else "read again"


@dataclass(frozen=True)
class Row:
    """A check: what it asks for, why it failed if its group does not say so, and its points."""

    sentence: str
    reason: str
    points: float


@dataclass
class Group:
    """Checks shown together. `heading` says the category, or what they have in common."""

    heading: str
    rows: list[Row]


@dataclass
class Checks:
    """The checks of an exercise: those that failed, and those that passed."""

    failed: list[Group]
    passed: list[Group]
    counts: tuple[int, int]  # passed, of
    is_explained: bool  # whether the page above says why they failed


def render(
    found: GradedNotebook,
    verdict: Verdict | None,
    cells: Sequence[ShownCell],
    comments: dict[str, str],
    assignment: course.Assignment | None,
    graded: datetime | None,
    plainly: bool = False,
    above: str = "",
    empty: Collection[str] = (),
) -> str:
    """The page as HTML. `comments` are HTML by grade id; `graded` is when it was graded (UTC).

    `plainly` says on the page that the cells are shown as plain text; `above` is HTML that comes before all else;
    `empty` are the grade ids of questions with nothing in their own cells.
    """
    lesson = lessons.of(assignment) if assignment else lessons.Lesson(verdict.assignment if verdict else "")
    problem = _problem(verdict)
    cells = [] if problem else cells  # only what was restored: nothing of it is the student's
    parts = _parts(found, verdict, cells, comments, assignment, lesson)
    for part in parts:
        if part.mark.ungraded and part.grade_id in empty and not problem:
            part.notes.append(EMPTY)
    wrong = [part for part in parts if part.level in ("partial", "zero") or part.is_empty]
    wrong.sort(key=lambda part: not part.is_exercise)  # what the kit grades can be fixed first
    return _template().render(
        title=lesson.title or (assignment.name if assignment else found.student),
        student=name_of(found.name or found.student),
        handed_in=_date(found.standing.handed_in),
        graded=_date(graded, "%-d %B %Y"),
        standing=found.standing,
        late_by=duration(found.standing.late) if found.standing.late else "",
        due=_date(found.standing.due),
        extra=found.standing.extra,
        problem=problem,
        absent=_absent(cells) if wrong else [],
        parts=parts,
        next_part=None if problem else next(iter(wrong), None),
        also_empty=[] if problem else [part for part in wrong[1:] if part.is_empty],
        all_right=not wrong and not problem,
        cells=list(enumerate(cells, 1)),
        plainly=plainly,
        above=above,
    )


def _problem(verdict: Verdict | None) -> str:
    """Why the whole file could not be read, or ""."""
    if verdict is None or not verdict.exercises or any(e.status != "rejected" for e in verdict.exercises):
        return ""
    return verdict.exercises[0].message


def _absent(cells: Iterable[ShownCell]) -> list[tuple[str, Link]]:
    """The modules that the student's cells could not import, each with a link to the first cell that wants it."""
    found = {
        module: Link(f"code-{cell.number}", f"code cell {cell.number}") for cell in cells for module in cell.absent
    }
    return sorted(found.items())


# --- exercises and questions ----------------------------------------------------------------------


def _parts(
    found: GradedNotebook,
    verdict: Verdict | None,
    cells: Sequence[ShownCell],
    comments: dict[str, str],
    assignment: course.Assignment | None,
    lesson: lessons.Lesson,
) -> list[Part]:
    """All that has points, in the order of the notebook."""
    exercises = {e.grade_id: e for e in assignment.exercises} if assignment else {}
    order = [c.grade_id for c in assignment.cells if c.grade] if assignment else []
    marks = {mark.cell: mark for mark in found.standing.marks}
    names = [name for name in order if name in marks] + [name for name in marks if name not in order]
    made = []
    for number, grade_id in enumerate(names, 1):
        mark, heading = marks[grade_id], lesson.heading(grade_id)
        exercise = exercises.get(grade_id)
        part = Part(
            label=(lessons.label_of(heading) or f"Exercise {number}") if exercise else "",
            name=exercise.name if exercise else heading or grade_id,
            grade_id=grade_id,
            anchor=f"part-{number}",
            level=_level(mark),
            mark=mark,
            links=_links(grade_id, exercise, heading, cells),
        )
        outcome = verdict.exercise(exercise.name) if verdict and exercise else None
        _add_notes(part, outcome, is_unread=bool(_problem(verdict)))
        if outcome is not None and outcome.status != "rejected":
            _add_outcome(part, outcome)
        elif exercise and verdict is None:
            part.found = next((cell.found for cell in cells if cell.is_test and cell.grade_id == grade_id), "")
        part.comment = _comment_on(grade_id, exercise, cells, comments, found)
        made.append(part)
    return made


def _level(mark: Mark) -> str:
    if mark.ungraded:
        return "waits"
    return "full" if mark.score >= mark.max_score else "partial" if mark.score > 0 else "zero"


def _add_notes(part: Part, outcome: Outcome | None, is_unread: bool) -> None:
    """Note who gave the points, where it was not the kit; of a file that `is_unread`, nobody knows what it answers."""
    mark = part.mark
    if mark.by_hand is not None and (mark.auto is None or not part.is_exercise):
        part.notes.append("graded by hand")
    elif mark.changed_by_hand:
        was, now = (points(round(score or 0.0, 2)) for score in (mark.auto, mark.by_hand))
        part.notes.append(f"changed by hand from {was} to {now}")
    elif mark.auto == 0 and not part.is_exercise and not is_unread:
        part.notes.append(NOT_ANSWERED)
    if mark.again:
        part.notes.append("changed since it was graded by hand: a person will look at it again")
    if mark.extra:
        part.notes.append(f"{points(round(mark.extra, 2))} more as extra credit")
    if outcome is not None and outcome.not_started and not mark.changed_by_hand:
        part.notes.append(NOT_STARTED)
    if outcome is not None and outcome.given and not mark.changed_by_hand:
        part.notes.append(waived(outcome))


def _add_outcome(part: Part, outcome: Outcome) -> None:
    if outcome.not_started:
        return
    part.mistakes = [(charged(named, outcome), named.line) for named in outcome.diagnosis]
    found = f"measured: {measured(outcome)}" if outcome.measured else ""
    part.notes += filter(None, [how_scored(outcome), found])
    part.reason, part.later = outcome.message, outcome.notes
    failed = failures(outcome.checks)
    if len(failed) == 1 and failed[0].heading and len(failed[0].checks) == len(outcome.checks):
        part.reason = f"All {len(outcome.checks)} checks stop here: {failed[0].shared}"
        more = [one for one in outcome.diagnosis if not one.is_place or one.has_price]
        part.mistakes = [(charged(one, outcome), one.line) for one in more]
        return
    if not outcome.checks:
        return
    passed = [check for check in outcome.checks if check.passed]
    explained = bool(part.mistakes or part.reason)
    groups = [Group(f.heading, [Row(c.sentence, "", c.points) for c in f.checks]) for f in failed if f.heading]
    single = [check for failure in failed if not failure.heading for check in failure.checks]
    part.checks = Checks(
        failed=_by_category(single) + groups,
        passed=_by_category(passed),
        counts=(len(passed), len(outcome.checks)),
        is_explained=explained,
    )
    if passed and len(passed) < len(outcome.checks):
        part.right = _right(outcome.checks)


def _by_category(checks: Sequence[Check]) -> list[Group]:
    """The checks in a group for each category, in the order in which to look at them."""
    return [
        Group(category_name(name).capitalize(), [_row(check) for check in checks if check.category == name])
        for name in _categories(checks)
    ]


def _row(check: Check) -> Row:
    return Row(check.sentence, "" if check.passed else check.reason, check.points)


def _categories(checks: Iterable[Check]) -> list[str]:
    """The categories of these checks, in the order in which to look at them."""
    found = dict.fromkeys(check.category for check in checks)
    return [name for name in (*CATEGORIES, *(name for name in found if name not in CATEGORIES)) if name in found]


def category_name(category: str) -> str:
    """A category of checks in words for students."""
    return CATEGORY_NAMES.get(category, category)


def _right(checks: Sequence[Check]) -> str:
    """The categories of which no check failed, as a list in words; "" if there is none."""
    failed = {check.category for check in checks if not check.passed}
    names = [category_name(c) for c in _categories(checks) if c not in failed]
    return ", ".join(names[:-1]) + " and " + names[-1] if len(names) > 1 else "".join(names)


def _links(grade_id: str, exercise: course.Exercise | None, heading: str, cells: Sequence[ShownCell]) -> list[Link]:
    """Links to the student's answer, to the text that asks for it, and to its hints, where the notebook has them."""
    found = []
    answer = _answer(grade_id, exercise, cells)
    if answer is not None:
        found.append(Link(f"cell-{answer + 1}", "your code" if exercise else "your answer"))
    text = next((n for n, cell in enumerate(cells) if heading and heading in cell.headings), None)
    if text is not None:
        found.append(Link(f"cell-{text + 1}", "what the exercise asks" if exercise else "the question"))
    if exercise and answer is not None and answer + 1 < len(cells) and "<summary>Hint" in cells[answer + 1].source:
        found.append(Link(f"cell-{answer + 2}", "its hints"))
    return found


def _answer(grade_id: str, exercise: course.Exercise | None, cells: Sequence[ShownCell]) -> int | None:
    """The index of the cell that holds the student's answer, or None."""
    wanted = grade_id
    if exercise:
        try:
            wanted = course.solution_of(exercise.name).grade_id
        except course.CourseError:
            return None
    return next((n for n, cell in enumerate(cells) if cell.grade_id == wanted), None)


def _comment_on(
    grade_id: str,
    exercise: course.Exercise | None,
    cells: Sequence[ShownCell],
    comments: dict[str, str],
    found: GradedNotebook,
) -> str:
    """The comment on an answer as HTML; not that it was left as it was, which the points say already."""
    answer = _answer(grade_id, exercise, cells)
    names = [grade_id] if answer is None else [grade_id, cells[answer].grade_id]
    for name in names:
        if name in comments and found.comments[name] != (NO_RESPONSE, False):
            return comments[name]
    return ""


# --- words and the template -----------------------------------------------------------------------


def _date(moment: datetime | None, form: str = "%-d %B %Y, %H:%M UTC") -> str:
    return moment.strftime(form) if moment else ""


def _linked(text: str) -> Markup:
    """Text as HTML: text between backticks as code, "code cell 7" outside of it as a link to that cell."""
    pieces = re.split(r"(`[^`]+`)", text)
    made = [
        code_spans(piece) if number % 2 else _CODE_CELL.sub(r'<a href="#code-\1">code cell \1</a>', escape(piece))
        for number, piece in enumerate(pieces)
    ]
    return Markup("".join(made))


@functools.lru_cache(maxsize=1)
def _template() -> Template:
    made = environment()
    made.filters["linked"] = _linked
    made.filters["harmless"] = Markup  # HTML of cells and comments, see above
    return made.get_template("feedback.html.j2")
