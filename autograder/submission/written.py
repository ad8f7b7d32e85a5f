"""Tells a written answer from an untouched one, and finds answers that were written elsewhere in the notebook.

A written answer gets 0 points without a person only if its cell is as it was released (or empty) and nothing else in
the notebook can be the answer. What can be: text of the student's own in any cell of text, in a code cell beside the
question, in code that is no Python, or in a long comment or string, in the course's own cells, too (`restore.py`).
Everything else is for a person to look at.

A comment in the answer to an exercise, or in a function or class of the student's own, is about that code, and no
answer to a question. Only where it names the question, by its number or its title, a person looks at it.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from .. import course
from .prose import computes, is_partly_text, lines_of, outside_definitions, said, says_something
from .restore import RestoredCell

ReleasedCell: TypeAlias = tuple[str, tuple[str, ...]]  # its grade id, or "" if it has none, and its lines

HEADING = re.compile(r"^#{1,6} +(.+?) *$", re.MULTILINE)
LABEL = re.compile(r"(?:(?:[^\W\d]+ )?(?P<number>\d+)(?!\w)[ .:)–—-]*)?(?P<title>.*)")  # "Question 4: why?", "4. Why?"
# "Question 4", "Frage 4", "Q4", "问题4", "第4题", or "4)" at the beginning; a number alone is mostly one of the code's
NUMBERED = (
    r"(?<![^\W\d_])(?:questions?|q|answers?|tasks?|exercises?|no|nr|frage|antwort|aufgabe|réponse|pregunta"
    r"|respuesta|domanda|risposta|vraag|antwoord|pytanie|odpowiedź|вопрос|ответ|问题?|問題?|题目?|答案?|質問|回答|질문|문제|답)"
    r"[ \t.:#№-]*NUMBER(?!\w|[.,]\d)|第 ?NUMBER ?[题題问問]|^[\s#\"']*NUMBER ?[.):](?!\d)"
)
REGION = re.compile(r"^[ \t]*### BEGIN (SOLUTION|MARK SCHEME|HIDDEN TESTS)\n.*?^[ \t]*### END \1[ \t]*$", re.M | re.S)


def released_cells(assignment: course.Assignment) -> list[ReleasedCell]:
    """The cells of an assignment as students get them, in order."""
    return [(p.grade_id, tuple(lines_of(released_text(p.cell_type, p.source, p.solution)))) for p in assignment.outline]


def unanswered(
    cells: Sequence[RestoredCell], assignment: course.Assignment | None, earlier: Collection[ReleasedCell] = ()
) -> set[str]:
    """The grade ids of the answers for a person to grade that were not given: not in their cells, nor elsewhere.

    `earlier` holds cells of earlier releases, which some students may still have.
    """
    blank = [cell for cell in cells if _is_for_a_person(cell) and is_blank(cell, earlier)]
    found = set()
    for cell in blank:
        others = cell.added and any(_is_for_a_person(c) and not is_blank(c, earlier) for c in cells)
        merged = others and cell.known and _was_asked(cells, assignment, cell.known.grade_id)
        if cell.known and not merged and not elsewhere(cells, assignment, cell.known.grade_id, earlier):
            found.add(cell.known.grade_id)
    return found


def empty(
    texts: Mapping[str, str], assignment: course.Assignment, earlier: Collection[ReleasedCell] = ()
) -> frozenset[str]:
    """The grade ids of the answers for a person to grade whose own cells are blank; `texts` are theirs, by grade id."""
    cells = [RestoredCell(c.cell_type, texts.get(c.grade_id, ""), "", c) for c in assignment.cells]
    return frozenset(c.known.grade_id for c in cells if c.known and _is_for_a_person(c) and is_blank(c, earlier))


def is_blank(cell: RestoredCell, earlier: Collection[ReleasedCell] = ()) -> bool:
    """Whether the cell of an answer is as it was released, but for blanks and its placeholder, or empty."""
    known = cell.known
    if known is None:
        return False
    written = lines_of(cell.source)
    return not written or written == _blank(known) or (known.grade_id, tuple(written)) in earlier


def elsewhere(
    cells: Sequence[RestoredCell],
    assignment: course.Assignment | None,
    grade_id: str,
    earlier: Collection[ReleasedCell] = (),
) -> list[RestoredCell]:
    """The cells, other than its own, in which a student may have answered the question `grade_id`."""
    released = released_cells(assignment) if assignment else []
    own = _own_lines(cells, released, earlier)
    there = {line for _, lines in (*released, *earlier) for line in lines}
    near = _beside(cells, released, grade_id)
    names, code = _Names.of(assignment, grade_id), _code_of_exercises(assignment)
    found = []
    for index, cell in enumerate(cells):
        if not own[index] or (cell.known is not None and (cell.known.locked or cell.known.grade)):
            of_another = _is_for_a_person(cell) and cell.known is not None and cell.known.grade_id != grade_id
            if own[index] and of_another and names.are_in("\n".join(own[index])):
                found.append(cell)  # two questions were answered in the cell of one
            continue
        if cell.cell_type != "code" or any(map(names.are_in, said(cell.source, there))):
            is_one = True
        elif _is_of_an_exercise(cell, *code):
            is_one = is_partly_text(cell.source, there)
        elif (cell.known is None and index in near) or not computes(cell.source):
            is_one = True
        else:
            is_one = says_something(outside_definitions(cell.source), there)
        if is_one:
            found.append(cell)
    return found


@dataclass(frozen=True)
class _Names:
    """How a comment may name a question: by its number, its title or its grade id."""

    number: str
    names: tuple[str, ...]

    @classmethod
    def of(cls, assignment: course.Assignment | None, grade_id: str) -> _Names:
        outline = assignment.outline if assignment else ()
        graded = [cell.grade_id for cell in assignment.cells if cell.grade] if assignment else []
        at = next((number for number, part in enumerate(outline) if part.grade_id == grade_id), 0)
        texts = [part.source for part in outline[: at + 1] if part.cell_type == "markdown"]
        headings = HEADING.findall("\n\n".join(texts))
        label = LABEL.match(headings[-1]) if headings else None
        number = label["number"] if label else None
        if number is None and grade_id in graded:
            number = str(graded.index(grade_id) + 1)
        found = (label["title"] if label else "", grade_id, re.sub(r"^(question|answer)[-_ ]", "", grade_id))
        return cls(number or "", tuple(name for name in map(_words, found) if len(name) > 2))

    def are_in(self, said: str) -> bool:
        """Whether a comment or string names the question."""
        if self.number and re.search(NUMBERED.replace("NUMBER", re.escape(self.number)), said, re.IGNORECASE):
            return True
        words = _words(said)
        return any(f" {name} " in f" {words} " or (not name.isascii() and name in words) for name in self.names)


def _words(text: str) -> str:
    return " ".join(re.findall(r"[^\W_]+", text.casefold()))


def _code_of_exercises(assignment: course.Assignment | None) -> tuple[set[str], set[str]]:
    """The grade ids of the cells in which exercises are solved, and the names that these define."""
    cells = [c for c in assignment.cells if c.solution and c.cell_type == "code" and not c.grade] if assignment else []
    names = {name for cell in cells for name in course.defined_in(cell.source)}
    return {cell.grade_id for cell in cells}, names | {e.name for e in (assignment.exercises if assignment else ())}


def _is_of_an_exercise(cell: RestoredCell, solutions: Collection[str], names: Collection[str]) -> bool:
    """Whether a code cell solves an exercise, or is a copy of one that does; without nbgrader's marks, by its names."""
    if cell.known is not None or cell.copy_of is not None:
        return (cell.known.grade_id if cell.known else cell.copy_of) in solutions
    return not course.defined_in(cell.source).isdisjoint(names)


def _blank(known: course.Cell) -> list[str]:
    """The lines of a cell as it was released."""
    return lines_of(known.blank or released_text(known.cell_type, known.source, known.solution))


def _is_for_a_person(cell: RestoredCell) -> bool:
    known = cell.known
    return known is not None and known.grade and known.solution and not known.exercise


def _was_asked(cells: Sequence[RestoredCell], assignment: course.Assignment | None, grade_id: str) -> bool:
    """Whether a question was there when it was handed in: it may have been added to the assignment since.

    One with no line of its own, by which it could be known, counts as asked.
    """
    released = released_cells(assignment) if assignment else []
    at = next((number for number, (name, _) in enumerate(released) if name == grade_id), 0)
    if not at:
        return True
    others = {line for number, (_, lines) in enumerate(released) if number != at - 1 for line in lines}
    asked = set(released[at - 1][1]) - others
    return not asked or any(line in asked for cell in cells for line in lines_of(cell.source))


def _own_lines(
    cells: Sequence[RestoredCell], released: Sequence[ReleasedCell], earlier: Collection[ReleasedCell]
) -> list[list[str]]:
    """The lines of each cell that no release has, or not so often.

    Whole cells are found first: of a released line and a copy of it in an answer, the copy is the student's own.
    """
    now = Counter(lines for _, lines in released)
    before = Counter({lines for _, lines in earlier} - set(now))
    there = {line for text in now for line in text}
    lines = [tuple(lines_of(cell.source)) for cell in cells]
    own: dict[int, list[str]] = {}
    for index, cell in enumerate(cells):
        if cell.known is not None:
            blank = set(_blank(cell.known))
            own[index] = [line for line in lines[index] if line not in blank]
        elif (of := now if now[lines[index]] > 0 else before)[lines[index]] > 0:
            of[lines[index]] -= 1
            own[index] = []
    left = Counter(line for text, many in now.items() for line in text * max(many, 0))
    for text, many in before.items():
        left |= Counter(line for line in text if many > 0 and line not in there)
    for index in range(len(cells)):
        if index not in own:
            own[index] = []
            for line in lines[index]:
                left[line] -= 1
                if left[line] < 0:
                    own[index].append(line)
    return [own[index] for index in range(len(cells))]


def _beside(cells: Sequence[RestoredCell], released: Sequence[ReleasedCell], grade_id: str) -> range:
    """The indices of the cells around a question: after what the release has before it, up to what it has after it."""
    by_id = {name: number for number, (name, _) in enumerate(released) if name}
    by_text = {lines: number for number, (_, lines) in enumerate(released) if lines}
    at = by_id.get(grade_id)
    if at is None:
        return range(0)
    places = [by_id.get(c.known.grade_id) if c.known else by_text.get(tuple(lines_of(c.source))) for c in cells]
    before = [(place, index) for index, place in enumerate(places) if place is not None and place < at]
    start = max(before)[1] + 1 if before else 0
    after = (i for i in range(start, len(cells)) if (place := places[i]) is not None and place > at)
    return range(start, next(after, len(cells)))


def released_text(cell_type: str, source: str, is_solution: bool) -> str:
    """What students get of a source cell, with nothing in place of each solution."""
    if cell_type == "code" and "### BEGIN ORIGINAL" in source:
        return course.original_of(source) or ""
    left = REGION.sub("", source)
    return "" if is_solution and "### BEGIN SOLUTION" not in source else left
