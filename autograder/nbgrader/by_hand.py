"""The page for grading by hand: each question with its marking scheme and all answers, by student.

Answers are rendered as `safe_markdown` does it, with formulas as on the students' pages. Points are given in
Formgrader; each answer has a link to it there, if the address of a running one is known.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from jinja2 import Template
from markupsafe import Markup

from .. import course
from ..errors import Unreadable
from ..grading import store
from ..groups.grouping import cells_of, code_of, shown
from ..report.pages import environment
from ..submission.written import elsewhere, is_blank
from .pictures import Pictures, Room
from .safe_markdown import with_formulas

if TYPE_CHECKING:
    from ..report.gradebook_marks import Mark, Member, Roster
    from ..submission.read import StrPath
    from ..submission.restore import RestoredCell
    from ..submission.written import ReleasedCell

SCHEME = re.compile(r"### BEGIN (SOLUTION|MARK SCHEME)\n(.*?)\n### END \1", re.DOTALL)
FLAGGED = (
    "Code, which the checks grade. The gradebook says that a person has to look at it, because a check"
    " has a bug, or because its points were changed by hand and it was graded again."
)
NOTHING = Markup("<p><em>Nothing was answered.</em></p>")
GONE = Markup("<p><em>The notebook is gone from autograded/.</em></p>")
ELSEWHERE = "These cells are the student’s own or changed, so the answer may be here:"
NOT_FOUND = "Look at the answers to the other questions: it may be in one of them."
IN_A_FILE = "It may be in what was handed in beside the notebook: see below."
PICTURE = Markup("<p><em>It has a picture that is not shown here: open the notebook in submitted/.</em></p>")
PICTURES = re.compile(r"!\[|<img\b", re.IGNORECASE)
NOT_SHOWN = re.compile(r"!\[|<[a-zA-Z!?]|^\s*\[[^\]\n]*\]:", re.MULTILINE)  # pictures, HTML, comments of Markdown
LONGEST = 20_000  # characters of an answer that is shown
MOST_CELLS = 20  # other cells of a student that are shown
CELLS = 3  # Markdown cells of a question, at most


@dataclass(frozen=True)
class Answer:
    """A student's answer to a question, as HTML."""

    member: Member
    mark: Mark
    html: Markup
    link: str


@dataclass(frozen=True)
class Beside:
    """What a student handed in beside the notebook, as HTML."""

    member: Member
    html: Markup


@dataclass(frozen=True)
class Question:
    """A question with its marking scheme, as HTML: the answers that wait, those that are graded, and the blank ones.

    A blank one has 0 points by itself, until a person gives it others.
    """

    cell: str
    points: float
    text: Markup
    scheme: Markup
    waiting: list[Answer]
    graded: list[Answer]
    blank: list[Answer]


def write(root: StrPath, assignment: course.Assignment, roster: Roster, formgrader: str = "") -> Path:
    """Write reports/<assignment>-by-hand.html; returns its path. `formgrader` is its address, if it is known."""
    path = Path(root) / "reports" / f"{assignment.name}-by-hand.html"
    store.write(path, render(root, assignment, roster, formgrader))
    path.chmod(0o644)
    return path


def render(root: StrPath, assignment: course.Assignment, roster: Roster, formgrader: str = "") -> str:
    """The page as HTML text."""
    asked = course.cells_in(assignment.path)
    answers = {cell: [] for cell in _cells(assignment, roster)}
    released = store.Store(root).released(assignment.name)
    beside: list[Beside] = []
    room = Room()
    for one in roster.handed_in if answers else ():
        cells = _cells_of(root, assignment, one.student)
        pictures = Pictures(root, assignment.name, one.student, room)
        shown, places = _answers(assignment, one, cells, released, pictures), _places(cells)
        if pictures.files:
            beside.append(Beside(one, pictures.shown()))
        page = f"{formgrader}formgrader/submissions/{quote(one.page)}/" if formgrader and one.page else ""
        for cell, found in answers.items():
            mark = one.mark(cell)
            if mark is not None:
                link = page and f"{page}?index={places.get(cell, 0)}#{quote(cell)}"
                found.append(Answer(one, mark, shown.get(cell, GONE), link))
    questions = []
    for number, cell in enumerate(asked):
        name = _grade_id(cell)
        if name in answers:
            of = answers[name]
            points = of[0].mark.max_score if of else float(cell["metadata"]["nbgrader"].get("points", 0))
            waiting = [answer for answer in of if answer.mark.waits]
            if name in roster.by_hand:
                done = [answer for answer in of if not answer.mark.waits]
                graded = [answer for answer in done if not answer.mark.is_blank]
                blank = [answer for answer in done if answer.mark.is_blank]
                about = _question(asked, number), _scheme(cell)
                questions.append(Question(name, points, *about, waiting, graded, blank))
            else:
                questions.append(Question(name, points, _markdown(FLAGGED), Markup(), waiting, [], []))
    about = {"formgrader": formgrader, "waiting": roster.waiting, "beside": beside}
    return _template().render(title=assignment.name, questions=questions, **about)


@functools.lru_cache(maxsize=1)
def _template() -> Template:
    return environment().get_template("by_hand.html.j2")


def _cells(assignment: course.Assignment, roster: Roster) -> list[str]:
    """The cells that are graded by hand, and those of exercises that wait for it."""
    waiting = {cell for one in roster.handed_in for cell in one.waiting}
    return [c.grade_id for c in assignment.cells if c.grade_id in waiting or c.grade_id in roster.by_hand]


def _grade_id(cell: Mapping[str, Any]) -> str:
    return cell["metadata"].get("nbgrader", {}).get("grade_id", "")


def _question(cells: Sequence[Mapping[str, Any]], number: int) -> Markup:
    """The text before an answer, from its heading on."""
    texts: list[str] = []
    for cell in reversed(cells[max(0, number - CELLS) : number]):
        if cell["cell_type"] != "markdown" or cell["metadata"].get("nbgrader", {}).get("grade"):
            break
        texts.insert(0, course.source_of(cell))
        if texts[0].startswith("#"):
            break
    own = SCHEME.sub("", course.source_of(cells[number])).strip() if cells[number]["cell_type"] == "markdown" else ""
    return _markdown("\n\n".join([*texts, own]))


def _scheme(cell: Mapping[str, Any]) -> Markup:
    """The marking scheme, and the model answer, of a source cell."""
    return _markdown("\n\n".join(found[1] for found in SCHEME.findall(course.source_of(cell))))


def _cells_of(root: StrPath, assignment: course.Assignment, student: str) -> list[RestoredCell]:
    """A student's cells as they were graded; none if the notebook cannot be read."""
    try:
        return cells_of(root, assignment, student)
    except Unreadable:
        return []


def _places(cells: Sequence[RestoredCell]) -> dict[str, int]:
    """By grade id: which of the fields on Formgrader's page is for the points of that cell, from 0.

    A graded cell has a field for points and one for extra credit, and each cell to write into one for a comment.
    """
    found, number = {}, 0
    for known in (cell.known for cell in cells if cell.known):
        if known.grade:
            found[known.grade_id] = number
        number += 2 * known.grade + known.solution
    return found


def _answers(
    assignment: course.Assignment,
    one: Member,
    cells: Sequence[RestoredCell],
    released: Collection[ReleasedCell],
    pictures: Pictures,
) -> dict[str, Markup]:
    """A student's answers by cell, as HTML."""
    exercises = {e.grade_id: e.name for e in assignment.exercises}
    found = {}
    for cell in cells:
        name = cell.known.grade_id if cell.known else ""
        if name in exercises:
            code = shown(code_of(cells, exercises[name]))
            found[name] = _code(code) if code else NOTHING
        elif name:
            written = Markup() if is_blank(cell, released) else _as_html(cell, pictures)
            mark = one.mark(name)
            if mark and mark.auto is None:  # something was written, here or elsewhere
                others = elsewhere(cells, assignment, name, released)
                if written:
                    others = [other for other in others if other.cell_type != "code"]
                written += _others(others[:MOST_CELLS], len(others) - MOST_CELLS, bool(written), pictures)
            found[name] = written or NOTHING
    return found


def _others(cells: Sequence[RestoredCell], more: int, is_answered: bool, pictures: Pictures) -> Markup:
    """The text that a student wrote in other cells, some of which may be the answer."""
    shown = Markup("").join(_as_html(cell, pictures) for cell in cells)
    if more > 0:
        shown += Markup("<p><em>… and {} more cells: Formgrader shows them.</em></p>").format(more)
    if is_answered:
        what = "Other cells that the student wrote or changed"
        return Markup("<details><summary>{}</summary>{}</details>").format(what, shown) if shown else Markup()
    said = Markup("<p><em>The answer’s own cell is empty, as released, or deleted. {}</em></p>")
    return said.format(ELSEWHERE if shown else IN_A_FILE if pictures.files else NOT_FOUND) + shown


def _as_html(cell: RestoredCell, pictures: Pictures) -> Markup:
    """A cell, with its pictures, and with its source where a page does not show all of it."""
    source = cell.source
    if len(source) > LONGEST:
        source = source[:LONGEST] + "\n\n… (cut off here; Formgrader shows all of it)"
    if cell.cell_type != "markdown":
        return _code(source)
    made = _markdown(source)
    if not NOT_SHOWN.search(source) and made.striptags().strip():
        return made
    picture = pictures.of(cell.source) or (PICTURE if PICTURES.search(source) else Markup())
    return made + picture + Markup("<p><em>As it was written:</em></p>") + _code(source)


def _code(source: str) -> Markup:
    return Markup(f"<pre><code>{Markup.escape(source)}</code></pre>")


def _markdown(text: str) -> Markup:
    """A text as harmless HTML, in which headings are paragraphs: the page has an outline of its own."""
    made = re.sub(r"<h[1-6]>", "<p><strong>", with_formulas(text))
    return Markup(re.sub(r"</h[1-6]>", "</strong></p>", made))


def running_formgrader(root: StrPath) -> str:
    """The address of a Jupyter server of this user's that shows the course, ending in a slash; "" without one."""
    return next(_servers_at(Path(root).resolve()), "")


def _servers_at(root: Path) -> Iterator[str]:
    try:
        from jupyter_server.serverapp import list_running_servers
    except ImportError:
        return
    for server in list_running_servers():
        folder, url = server.get("root_dir"), server.get("url")
        if isinstance(folder, str) and isinstance(url, str) and url.startswith(("http://", "https://")):
            if root == Path(folder).resolve():
                yield url if url.endswith("/") else url + "/"
