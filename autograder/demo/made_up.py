"""The made-up class of the demo: pages of recipes, from which notebooks are made, and what is expected of each.

`students/ASSIGNMENT.py` is the class of an assignment. Each student begins with a line `# === NAME: ABOUT`, then comes
what they hand in, one line per exercise:

    # EXERCISE: solution                     the course's own
    # EXERCISE: answer STYLE                 a right answer, from the exercise's `answers/STYLE.py`
    # EXERCISE: mistake ID [and ID ...]      the right answer with these mistakes of the bank, which must be named
    # EXERCISE: untouched                    the cell as it was released
    # EXERCISE: own text                     a text of the student's own, below
    # EXERCISE: RECIPE, LEVEL [STATUS] [ID ...]     what it comes to, where that does not follow from the recipe
    # otherwise: solution | answer STYLE     of exercises without a line (default: untouched)
    # delete-tests                           hands in the notebook without its visible tests
    # slow                                   takes long to grade: the demo's first page is without it
    # instead of a notebook: TEXT            hands in a file with this text

Cells for what is brought along from earlier lessons hold the course's own, except in a notebook that is as it was
released. `otherwise: answer STYLE` is the solution where an exercise has no answer in that style.

What is expected follows from the recipe, but not of an own text, nor of a right answer that depends on a wrong one. For
these, LEVEL is full, partial or zero; without a status it is `graded`, without ids no mistake may be named.

Then come cells of the student's own. The first line of each says where it goes:

    # %% EXERCISE                replaces the exercise's solution cell; a second one is a copy of the cell, put after it
    # %% QUESTION                replaces a written answer, given by its grade id; the text stands behind `# `
    # %% new                     a code cell at the end
    # %% new after EXERCISE      a code cell after the exercise's test cell
"""

from __future__ import annotations

import copy
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from .. import course
from ..course import Assignment
from ..errors import CourseError
from ..mistakes.bank import Bank, bank, right_answer
from ..verdict import STATUSES

CLASS = Path(__file__).parent / "students"
LESS = "less"  # than full marks: how much less, the checks say
LEVELS = ("full", "partial", "zero")
RAW = "instead of a notebook"
OWN = "own text"
STUDENT = re.compile(r"^# === *", re.MULTILINE)
MARKS = ("delete-tests", "slow")


@dataclass(frozen=True)
class Expected:
    """The expected outcome of one exercise: a level, a status, and the ids of the mistakes to be named."""

    level: str
    status: str = "graded"
    mistakes: frozenset[str] = frozenset()

    def __str__(self) -> str:
        return " ".join([self.level, self.status, *sorted(self.mistakes)])


@dataclass(frozen=True)
class Student:
    """A made-up student: `cells` are pairs of a title and a text; `raw` is handed in instead of a notebook.

    `expected` maps the name of each exercise to its expected outcome.
    """

    name: str
    about: str
    expected: dict[str, Expected]
    cells: tuple[tuple[str, str], ...] = ()
    delete_tests: bool = False
    raw: bytes | None = None
    slow: bool = False


def read_class(assignment: Assignment) -> list[Student]:
    """All students who handed in the assignment, sorted by name. Raises CourseError for a malformed page."""
    page = (CLASS / f"{assignment.name}.py").read_text(encoding="utf-8")
    names = [exercise.name for exercise in assignment.exercises]
    _, *students = STUDENT.split(page)
    brought = _brought_along(assignment)
    made = (parse(text, names) for text in students)
    began = (replace(s, cells=(*brought, *s.cells)) if s.expected.keys() & dict(s.cells).keys() else s for s in made)
    return sorted(began, key=lambda student: student.name)


def size(assignment: str) -> int:
    """How many students an assignment's page has."""
    return len(STUDENT.findall((CLASS / f"{assignment}.py").read_text(encoding="utf-8")))


def _brought_along(assignment: Assignment) -> list[tuple[str, str]]:
    """The cells in which students put what they made in earlier lessons, with the course's own: (title, text)."""
    own = {course.solution_of(exercise.name).grade_id for exercise in assignment.exercises}
    open_cells = (c for c in assignment.cells if c.cell_type == "code" and c.solution and not c.grade)
    return [(c.grade_id, course.answer_of(c.source)) for c in open_cells if c.grade_id not in own]


def parse(text: str, exercises: Sequence[str]) -> Student:
    """The Student that a part of a page describes, without the `# ===` before it. Raises CourseError."""
    head, *parts = re.split(r"^# %% *", text, flags=re.MULTILINE)
    first, *lines = head.strip().split("\n")
    name, _, about = (part.strip() for part in first.partition(":"))
    recipes = dict.fromkeys(exercises, "")
    otherwise, raw, marks = "untouched", None, dict.fromkeys(MARKS, False)
    for line in filter(None, (line.removeprefix("#").strip() for line in lines)):
        what, _, recipe = (part.strip() for part in line.partition(":"))
        if what in marks:
            marks[what] = True
        elif what == "otherwise":
            otherwise = recipe
        elif what == RAW:
            raw = recipe.encode()
        elif what in recipes:
            recipes[what] = recipe
        else:
            raise CourseError(f"The demo's {name} has a line for {what!r}, which is no exercise of the assignment.")
    if raw is not None:
        return Student(name, about, dict.fromkeys(exercises, Expected("zero", "rejected")), raw=raw)
    own = [(title.strip(), body.strip("\n")) for title, _, body in (part.partition("\n") for part in parts)]
    expected, cells = {}, []
    for exercise, recipe in recipes.items():
        recipe, _, outcome = (recipe or _where_there_is(otherwise, exercise)).partition(", ")
        made, follows = _made(exercise, recipe, name)
        expected[exercise] = _expectation(name, outcome) if outcome or follows is None else follows
        if made is not None:
            cells.append((exercise, made))
        if (recipe == OWN) != (exercise in dict(own)):
            raise CourseError(f"The demo's {name} has a recipe for {exercise} and a text, or neither.")
    return Student(name, about, expected, (*cells, *own), marks["delete-tests"], slow=marks["slow"])


def _where_there_is(recipe: str, exercise: str) -> str:
    """The recipe, or `solution` for a style in which the exercise has no answer."""
    kind, _, style = recipe.partition(" ")
    has_style = (course.folder_of(exercise) / "answers" / f"{style}.py").is_file()
    return recipe if kind != "answer" or has_style else "solution"


def _made(exercise: str, recipe: str, student: str) -> tuple[str | None, Expected | None]:
    """(the text that a recipe makes for an exercise, what is expected of it); None for what does not follow from it."""
    kind, _, rest = recipe.partition(" ")
    if recipe == "solution":
        return right_answer(exercise), Expected("full")
    if recipe == "untouched":
        return None, _of_the_release(exercise)
    if recipe == OWN:
        return None, None
    try:
        if kind == "answer":
            return right_answer(exercise, rest), Expected("full")
        if kind == "mistake":
            ids = rest.split(" and ")
            return _with_mistakes(exercise, ids), Expected(LESS, mistakes=frozenset(ids))
    except (KeyError, FileNotFoundError):
        pass
    raise CourseError(f"The demo's {student} hands in for {exercise} what cannot be made: {recipe!r}.")


def _of_the_release(exercise: str) -> Expected:
    """What is expected of a cell as it was released: nothing for a stub; an original is named, or does not even run."""
    if given := [mistake.id for mistake in bank(exercise).values() if mistake.as_given]:
        return Expected(LESS, mistakes=frozenset(given))
    does_not_run = course.original_of(course.solution_of(exercise).source) is not None
    return Expected("zero", "error" if does_not_run else "graded")


def _with_mistakes(exercise: str, ids: Sequence[str]) -> str:
    """The right answer with these mistakes. Raises KeyError for what the bank does not hold or cannot put together."""
    known = bank(exercise)
    if len(ids) == 1:
        return known[ids[0]].source
    from ..mistakes import hypotheses  # imports torch

    assert isinstance(known, Bank)
    made = hypotheses.composed(hypotheses.right(known), *(known[id] for id in ids))
    if made is None:
        raise KeyError(ids)
    return made.source


def _expectation(name: str, outcome: str) -> Expected:
    level, *words = outcome.split() or [""]
    statuses = [word for word in words if word in STATUSES]
    if level not in LEVELS or len(statuses) > 1:
        raise CourseError(f"The demo's {name} expects what cannot be read: {outcome.strip()!r}.")
    return Expected(level, (statuses or ["graded"])[0], frozenset(words) - set(statuses))


def fill_in(release: Mapping[str, Any], student: Student) -> dict[str, Any]:
    """The released notebook as the student hands it in. Raises CourseError for a cell that does not fit into it."""
    notebook = copy.deepcopy(dict(release))
    cells = notebook["cells"]
    seen: set[str] = set()
    for number, (title, text) in enumerate(student.cells):
        new: dict[str, Any] = {"cell_type": "code", "id": f"new-{number}", "metadata": {}, "source": text}
        new.update(execution_count=None, outputs=[])
        if title == "new":
            cells.append(new)
        elif title.startswith("new after "):
            cells.insert(_place(cells, title.removeprefix("new after "), student) + 1, new)
        elif title in student.expected:
            place = _place(cells, f"{title}-solution", student)
            if title in seen:  # a copied cell keeps its metadata
                new["metadata"] = copy.deepcopy(cells[place]["metadata"])
                cells.insert(place + 1, new)
            else:
                cells[place]["source"] = text
            seen.add(title)
        else:
            cell = cells[_place(cells, title, student)]
            is_text = cell["cell_type"] == "markdown"
            cell["source"] = re.sub(r"^# ?", "", text, flags=re.MULTILINE) if is_text else text
    if student.delete_tests:
        cells[:] = [c for c in cells if not _is_test(c)]
    return notebook


def _place(cells: Iterable[Mapping[str, Any]], grade_id: str, student: Student) -> int:
    for place, cell in enumerate(cells):
        if cell["metadata"].get("nbgrader", {}).get("grade_id") == grade_id:
            return place
    raise CourseError(f"The demo's {student.name} has a cell for {grade_id!r}, which is not in the notebook.")


def _is_test(cell: Mapping[str, Any]) -> bool:
    known = cell["metadata"].get("nbgrader", {})
    return bool(known.get("grade")) and not known.get("solution")
