"""The page for grading by hand: each question with its marking scheme and all answers, by student.

Answers are rendered as `safe_markdown` does it, with formulas as on the students' pages. Points are given in
Formgrader; each answer has a link to it there, if the address of a running one is known.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from markupsafe import Markup

from .. import course
from ..errors import Unreadable
from ..grading import store
from ..report.groups import cells_of, code_of, shown
from ..report.pages import environment
from .safe_markdown import with_formulas

if TYPE_CHECKING:
    from ..report.standing import Mark, Member, Roster
    from ..submission.read import StrPath

SCHEME = re.compile(r"### BEGIN (SOLUTION|MARK SCHEME)\n(.*?)\n### END \1", re.DOTALL)
FLAGGED = (
    "Code, whose points the checks give. The gradebook says that a person has to look at it: because a check of it"
    " ended by a mistake of its own, or because its points were changed by hand and it was graded again."
)
LONGEST = 20_000  # characters of an answer that is shown
CELLS = 3  # Markdown cells of a question, at most


@dataclass(frozen=True)
class Answer:
    """A student's answer to a question, as HTML; `empty` if it is as it was released."""

    member: Member
    mark: Mark
    html: Markup
    link: str
    empty: bool


@dataclass(frozen=True)
class Question:
    """A question with its marking scheme, as HTML, the answers that wait, and those that are graded."""

    cell: str
    points: float
    text: Markup
    scheme: Markup
    waiting: list[Answer]
    graded: list[Answer]


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
    for one in roster.handed_in if answers else ():
        texts = _texts(root, assignment, one.student, answers)
        for cell, found in answers.items():
            mark = one.mark(cell)
            if mark is not None:
                link = f"{formgrader}formgrader/submissions/{one.page}/" if formgrader and one.page else ""
                text = texts.get(cell)
                empty = text is not None and text[2]
                found.append(Answer(one, mark, _as_html(text), link, empty))
    questions = []
    for number, cell in enumerate(asked):
        name = _grade_id(cell)
        if name in answers:
            of = answers[name]
            points = of[0].mark.max_score if of else float(cell["metadata"]["nbgrader"].get("points", 0))
            waiting = [answer for answer in of if answer.mark.waits]
            if name in roster.by_hand:
                graded = [answer for answer in of if not answer.mark.waits]
                questions.append(Question(name, points, _question(asked, number), _scheme(cell), waiting, graded))
            else:
                questions.append(Question(name, points, _markdown(FLAGGED), Markup(), waiting, []))
    template = environment().get_template("by_hand.html.j2")
    return template.render(title=assignment.name, questions=questions, formgrader=formgrader, waiting=roster.waiting)


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


def _texts(
    root: StrPath, assignment: course.Assignment, student: str, wanted: Mapping[str, object]
) -> dict[str, tuple[str, str, bool]]:
    """By cell: (type, text, whether it is as it was released) of a student's answers, as far as they can be read."""
    exercises = {e.grade_id: e.name for e in assignment.exercises}
    try:
        cells = cells_of(root, assignment, student)
    except Unreadable:
        return {}
    found = {}
    for cell in cells:
        name = cell.known.grade_id if cell.known else ""
        if name not in wanted or cell.known is None:
            continue
        if name in exercises:
            code = code_of(cells, exercises[name])
            found[name] = "code", shown(code), not code
        else:
            released = SCHEME.sub("", cell.known.source).strip() or "YOUR ANSWER HERE"
            found[name] = cell.cell_type, cell.source, cell.source.strip() in ("", released, "YOUR ANSWER HERE")
    return found


def _as_html(text: tuple[str, str, bool] | None) -> Markup:
    if text is None:
        return Markup("<p><em>The notebook is not in autograded/ any more.</em></p>")
    kind, source, empty = text
    if empty:
        return Markup("<p><em>Nothing was answered.</em></p>")
    if len(source) > LONGEST:
        source = source[:LONGEST] + "\n\n… (cut off here; Formgrader shows all of it)"
    return _markdown(source) if kind == "markdown" else Markup(f"<pre><code>{Markup.escape(source)}</code></pre>")


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
