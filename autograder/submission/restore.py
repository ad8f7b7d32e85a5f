"""Restores a submission's cells: test and setup cells get their released text, and missing cells are added."""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from .. import course
from . import hand_in_cell, prose
from .read import SubmittedCell

HIDDEN = re.compile(r"^[ \t]*### BEGIN HIDDEN TESTS\n.*?^[ \t]*### END HIDDEN TESTS[ \t]*$", re.M | re.S)
MOST_OF = 0.6  # of a check's lines, by which a copy of it without marks that a student has changed is known
ADDED = "This cell was missing from the submission and was put back."


@dataclass
class RestoredCell:
    """A cell of a restored submission. `known` is the course's cell behind it, or None for a cell of the student's.

    `lent` is what a `lesson` runs for those answers that use it, see `grading/lending.py`.
    """

    cell_type: str
    source: str
    id: str
    known: course.Cell | None = None
    added: bool = False
    lesson: bool = False
    copy_of: str | None = None  # in a duplicate cell: the grade id that it claims too
    lent: str = ""
    turned: bool = False  # whether it was handed in as a cell of another type
    number: int = 0  # among the code cells of what was handed in, from 1, as JupyterLab counts them; 0 if unknown

    @property
    def exercise(self) -> str | None:
        """The exercise that this cell grades, or None."""
        return self.known.exercise if self.known else None

    @property
    def runs(self) -> bool:
        """Whether code of it runs in the sandbox: the student's code and the setup do, tests and lessons do not."""
        shows = self.lesson and not self.lent
        return self.cell_type == "code" and not shows and not (self.known is not None and self.known.grade)

    @property
    def code(self) -> str:
        """What of it runs."""
        return self.lent if self.lesson else self.source


def restore(
    submitted: Iterable[SubmittedCell], known: Sequence[course.Cell], assignment: course.Assignment | None = None
) -> list[RestoredCell]:
    """The cells to grade, as a list of RestoredCell.

    `submitted` is what was handed in; `known` holds the course's cells in order (from the gradebook or the source).
    A locked cell gets the course's text; what a student wrote there as text, or as prose in its code, follows in a cell
    of the student's own that does not run. Of duplicate cells the first counts and the others lose their grade id; a
    duplicate of locked code is dropped, but for such prose. A
    missing graded or locked cell is added after the last cell that should precede it, a check where `_place_of_check`
    says. A copy without marks has its checks where their texts are. `assignment` says which cells are lessons.
    """
    submitted = list(submitted)
    cells, seen, code_cells = [], set(), 0
    for cell, claim in zip(submitted, _claims(submitted, known), strict=True):
        code_cells += cell.cell_type == "code"
        number = code_cells if cell.cell_type == "code" else 0
        if claim is None:
            lesson = _is_lesson(cell, assignment)
            cells.append(RestoredCell(cell.cell_type, cell.source, cell.id, lesson=lesson, number=number))
        elif claim.grade_id not in seen:
            seen.add(claim.grade_id)
            source = claim.source if claim.locked else cell.source
            turned = not claim.locked and cell.cell_type != claim.cell_type
            cells.append(RestoredCell(claim.cell_type, source, cell.id, known=claim, turned=turned, number=number))
            if claim.locked and (own := _own_text(cell, claim)):
                cells.append(RestoredCell(_kind_of_text(cell), own, "", copy_of=claim.grade_id))
        elif claim.locked:
            if own := _own_text(cell, claim):
                cells.append(RestoredCell(_kind_of_text(cell), own, cell.id, copy_of=claim.grade_id))
        else:
            cells.append(RestoredCell(cell.cell_type, cell.source, cell.id, copy_of=claim.grade_id, number=number))
    for position, claim in enumerate(known):
        if claim.grade_id not in seen and (claim.grade or claim.locked):
            before = {c.grade_id for c in known[:position]}
            after = [i for i, c in enumerate(cells) if (c.known.grade_id if c.known else c.copy_of) in before]
            place = after[-1] + 1 if after else 0
            if claim.exercise and claim.locked:
                place = _place_of_check(cells, claim, place)
            source = claim.source if claim.locked else claim.blank
            cells.insert(place, RestoredCell(claim.cell_type, source, "", claim, added=True))
    return cells


def _claims(submitted: Sequence[SubmittedCell], known: Sequence[course.Cell]) -> list[course.Cell | None]:
    """For each cell the course's cell that it is, by its mark; of checks without any, the first cell with that text."""
    by_id: dict[str | None, course.Cell] = {cell.grade_id: cell for cell in known}
    claims = [by_id.get(cell.grade_id) for cell in submitted]
    marked = {claim.grade_id for claim in claims if claim}
    texts = {tuple(_check_lines(c)): c for c in known if c.exercise and c.locked and c.grade_id not in marked}
    texts.pop((), None)
    for index, cell in enumerate(submitted):
        if claims[index] is None and cell.cell_type == "code":
            claims[index] = texts.pop(tuple(prose.lines_of(cell.source)), None)
    return claims


def _check_lines(check: course.Cell) -> list[str]:
    """The lines of a check cell as students get it."""
    return prose.lines_of(HIDDEN.sub("", check.source))


def _place_of_check(cells: Sequence[RestoredCell], check: course.Cell, place: int) -> int:
    """Where a missing check cell goes: behind the last cell with most of its lines, else behind what it checks.

    That is the cell for the answer, which ends at `place`, or without such a cell the last one that defines it.
    """
    lines = set(_check_lines(check))
    own = [i for i, cell in enumerate(cells) if cell.known is None and cell.cell_type == "code"]
    copies = [i for i in own if len(lines.intersection(prose.lines_of(cells[i].source))) >= MOST_OF * len(lines) > 0]
    if copies:
        return copies[-1] + 1
    defines = re.compile(rf"^[ \t]*(?:class|def)[ \t]+{check.exercise}\b", re.MULTILINE)
    defining = [i for i, cell in enumerate(cells) if cell.runs and defines.search(cell.source)]
    is_there = any(cells[i].known for i in defining)
    return place if is_there or not defining else defining[-1] + 1


def _own_text(cell: SubmittedCell, claim: course.Cell) -> str:
    """The text, if there is any of the student's own, in a cell that claims to be a locked one: of code, its prose."""
    there = {line.strip() for line in claim.source.splitlines()} | {""}
    own = "\n".join(line for line in cell.source.splitlines() if line.strip() not in there)
    if cell.cell_type != "code":
        return cell.source if own else ""
    return own if prose.says_something(own) or not prose.computes(own) else ""


def _kind_of_text(cell: SubmittedCell) -> str:
    """The type of a cell in which its text does not run."""
    return "raw" if cell.cell_type == "code" else cell.cell_type


def _is_lesson(cell: SubmittedCell, assignment: course.Assignment | None) -> bool:
    """Whether it is a released lesson cell into which the student has put no definition of an exercise.

    So is a cell that does nothing but hand in.
    """
    if cell.cell_type != "code":
        return False
    if hand_in_cell.only_hands_in(cell.source):
        return True
    if assignment is None:
        return False
    if cell.source.strip() in assignment.lesson_texts:
        return True
    defined = set(re.findall(r"^[ \t]*(?:class|def)[ \t]+(\w+)", cell.source, re.MULTILINE))
    return cell.id in assignment.lesson_ids and not defined & {e.name for e in assignment.exercises}
