"""Plug-ins for `nbgrader autograde`: an exporter that reads submissions, preprocessors that restore and grade.

They are set through nbgrader's own options; what has no option is in `patches.py`.
"""

from __future__ import annotations

import atexit
import functools
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import nbformat
from nbconvert.exporters import NotebookExporter
from nbformat.v4 import new_notebook
from nbgrader.api import Gradebook
from nbgrader.preprocessors import NbGraderPreprocessor, SaveAutoGrades
from nbgrader.utils import compute_checksum, is_grade, is_solution
from traitlets import Bool, Enum, Unicode

from .. import course, verdict
from ..errors import CourseError, Unreadable, UsageError
from ..grading import gate, start, store
from ..grading.rounds import Rounds
from ..report import outcome_text
from ..submission import files, read
from ..submission.answers import answers_of, unchanged
from ..submission.restore import ADDED, RestoredCell, restore
from ..submission.written import unanswered
from . import changing, options

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping, Sequence

    from nbformat import NotebookNode

    from ..grading.grader import Grader
    from ..grading.trials import Trial

    Metadata = dict[str, dict[str, Any]]  # nbgrader's, by the name of a cell


class SubmissionExporter(NotebookExporter):
    """Reads a submission, which may be anything. One that cannot be read becomes an empty notebook that says why."""

    def from_filename(self, filename: str, resources: Any = None, **kwargs: Any) -> tuple[Any, Any]:
        if not getattr(self.parent, "_sanitizing", False):
            return super().from_filename(filename, resources=resources, **kwargs)
        try:
            file = files.read_submission(filename)
            cells, about = file.cells, {"problem": "", "digest": file.digest}
        except Unreadable as problem:
            cells, about = (), {"problem": str(problem), "digest": ""}
        notebook = new_notebook()
        for number, cell in enumerate(cells):
            made = _new_cell(cell.cell_type, cell.source, number)
            made.metadata["autograder"] = {"id": cell.id, "grade_id": cell.grade_id}
            notebook.cells.append(made)
        notebook.metadata["autograder"] = about
        return self.from_notebook_node(notebook, resources=resources, **kwargs)


class RestoreCells(NbGraderPreprocessor):
    """Restores test and setup cells from the gradebook: adds missing ones, drops duplicates, undoes edits."""

    def preprocess(self, nb: NotebookNode, resources: Any) -> tuple[NotebookNode, Any]:
        known, metadata = cells_of_gradebook(resources)
        submitted = [
            read.SubmittedCell(c.cell_type, c.source, c.metadata.autograder["id"], c.metadata.autograder["grade_id"])
            for c in nb.cells
        ]
        assignment = course.assignments().get(resources["nbgrader"]["notebook"])
        restored = restore(submitted, known, assignment)
        nb.cells = notebook_cells(restored, metadata)
        return nb, resources


def notebook_cells(restored: Iterable[RestoredCell], metadata: Metadata) -> list[NotebookNode]:
    """Restored cells as notebook cells; `metadata` is nbgrader's, by grade id."""
    return [_notebook_cell(cell, number, metadata) for number, cell in enumerate(restored)]


def _notebook_cell(cell: RestoredCell, number: int, metadata: Metadata) -> NotebookNode:
    made = _new_cell(cell.cell_type, cell.source, number)
    if cell.known is not None:
        made.metadata.update(metadata[cell.known.grade_id])
    if cell.lesson:
        made.metadata["tags"] = ["lesson"]
    if cell.added:
        made.metadata["autograder"] = {"note": ADDED}
    return made


def _new_cell(cell_type: str, source: str, number: int) -> NotebookNode:
    """A notebook cell. nbformat's own functions validate each against the schema, which takes half of the time."""
    made = {"cell_type": cell_type, "id": f"cell-{number}", "metadata": {}, "source": source}
    cell: Any = nbformat.from_dict({**made, "execution_count": None, "outputs": []} if cell_type == "code" else made)
    return cell


def cells_of_gradebook(resources: Any) -> tuple[list[course.Cell], Metadata]:
    """The assignment's cells as the gradebook knows them, in order, and nbgrader's metadata for each, by grade id."""
    where = resources["nbgrader"]
    with Gradebook(where["db_url"]) as gradebook:
        return known_cells(gradebook.find_notebook(where["notebook"], where["assignment"]))


def known_cells(notebook: Any) -> tuple[list[course.Cell], Metadata]:
    """The cells of an nbgrader Notebook, in order, and nbgrader's metadata for each, by grade id."""
    points = {c.name: c.max_score for c in notebook.grade_cells}
    solutions = {c.name for c in notebook.solution_cells}
    known = [
        course.Cell(
            grade_id=c.name,
            cell_type=c.cell_type,
            source=c.source,
            grade=c.name in points,
            solution=c.name in solutions,
            locked=c.locked,
            points=points.get(c.name, 0.0),
            blank=c.source,
        )
        for c in notebook.source_cells
    ]
    checksums = {c.name: c.checksum for c in notebook.source_cells}
    order = {c.grade_id: n for n, c in enumerate(_source_cells(notebook.name))}
    known.sort(key=lambda c: order.get(c.grade_id, len(order)))
    return known, {c.grade_id: {"nbgrader": metadata_of(c, checksums[c.grade_id])} for c in known}


def _source_cells(notebook: str) -> Sequence[course.Cell]:
    assignment = course.assignments().get(notebook)
    return assignment.cells if assignment else ()


def metadata_of(cell: course.Cell, checksum: str = "") -> dict[str, Any]:
    """nbgrader's metadata for a cell."""
    metadata = {
        "schema_version": 3,
        "grade_id": cell.grade_id,
        "grade": cell.grade,
        "solution": cell.solution,
        "locked": cell.locked,
        "task": False,
        "cell_type": cell.cell_type,
        "checksum": checksum,
    }
    return {**metadata, "points": cell.points} if cell.grade else metadata


class GradeInSandbox(NbGraderPreprocessor):
    """Replaces nbgrader's Execute: runs the student's cells and the graders in the sandbox, or takes the stored result
    of exactly the same submission. The Verdict goes to `resources["autograder"]` and, as text, into the test cells.
    """

    sandbox = Enum(verdict.LEVELS, verdict.FULL, help="The level of the sandbox: docs/security.md.").tag(config=True)
    unsafe = Bool(False, help="The same as the level unsafe, by its older name.").tag(config=True)
    device = Unicode("cpu", help="cpu, or cuda for the checks on a GPU as well.").tag(config=True)
    settled = Bool(False, help="Take a stored result even if it was stopped: it was just tried again.").tag(config=True)

    def preprocess(self, nb: NotebookNode, resources: Any) -> tuple[NotebookNode, Any]:
        known = {c.grade_id: c for c in cells_of_gradebook(resources)[0]}
        cells = [_cell_of(c, known) for c in nb.cells]
        where = resources["nbgrader"]
        about = nb.metadata.pop("autograder")
        assignment = course.assignments()[where["notebook"]]
        results = store.Store(course.root())
        rounds, scoring = Rounds(results, assignment.name), options.scoring(self.config)
        where_graded = self.device, level_of(self)
        if about["problem"]:
            problem, seed = about["problem"], rounds.seed()
            rejected = verdict.rejected("", assignment.exercises, problem, seed, assignment.name, level_of(self))
            graded = verdict.Graded(rejected)
        else:
            seed = rounds.take({where["student"]: about["digest"]})[where["student"]]
            key = scoring.waivers.key_of(results, about["digest"], assignment.name, seed, *where_graded)
            graded = results.get(key) or (results.get_stopped(key) if self.settled else None)
            if graded is None or len(graded.cells) != len(cells):
                waived = scoring.waivers.of_assignment(assignment.name)
                graded = self._graded(cells, assignment, seed, waived)
                results.put(results.key(about["digest"], assignment.name, seed, *where_graded, waived), graded)
        scored = results.names.credited(scoring.waivers.applied(graded.verdict), scoring.credit)
        graded = replace(graded, verdict=scored)
        resources["autograder"] = graded.verdict
        resources["autograder_answers"] = answers_of(cells)
        beside = Path(course.root(), "submitted", where["student"], assignment.name)
        in_files = files.may_hold_answers(beside, Path(course.root(), "release", assignment.name))
        released = results.released(assignment.name)
        resources["autograder_unanswered"] = set() if in_files else unanswered(cells, assignment, released)
        write_outputs(nb.cells, cells, graded)
        return nb, resources

    def _graded(
        self,
        cells: list[RestoredCell],
        assignment: course.Assignment,
        seed: int,
        waived: Mapping[str, Sequence[str]],
    ) -> verdict.Graded:
        """The Graded of a submission; if a deadline or a kill stops it, it is graded once more before that counts."""
        grader: Any = warm_grader(level_of(self), self.device)
        settings = assignment.exercises, seed, "", assignment.name
        graded = grader.grade_cells(cells, *settings, waived=waived)
        if graded.final:
            return graded
        return verdict.settled(graded, grader.grade_cells(cells, *settings, alone=True, waived=waived))


def level_of(settings: GradeInSandbox) -> str:
    """The level of the sandbox that nbgrader's configuration asks for."""
    return verdict.UNSAFE if settings.unsafe else settings.sandbox


def _cell_of(cell: NotebookNode, known: dict[str, course.Cell]) -> RestoredCell:
    claim = known.get(cell.metadata.get("nbgrader", {}).get("grade_id"))
    lesson, added = "lesson" in cell.metadata.get("tags", []), "autograder" in cell.metadata
    return RestoredCell(cell.cell_type, cell.source, "", claim, lesson=lesson, added=added)


def write_outputs(
    notebook_cells: Sequence[NotebookNode], cells: Sequence[RestoredCell], graded: verdict.Graded
) -> None:
    """Write outputs and results into a notebook's cells; `cells` are the same cells as they were restored."""
    for index, (made, cell) in enumerate(zip(notebook_cells, cells, strict=True)):
        if made.cell_type != "code":
            continue
        outcome = graded.verdict.exercise(cell.exercise)
        if outcome is not None:
            made.outputs = [_told(outcome)]
        else:
            made.outputs = [nbformat.from_dict(o) for o in graded.outputs.get(index, [])]


def _told(outcome: verdict.Outcome) -> NotebookNode:
    """The output of a test cell: what was found out about its exercise."""
    data = {"text/html": outcome_text.as_html(outcome), "text/plain": outcome_text.as_text(outcome)}
    output: Any = nbformat.from_dict({"output_type": "display_data", "data": data, "metadata": {}})
    return output


def require_gate(assignment: str, config: Any, directory: Any) -> list[str]:
    """Raises UserError if an assignment may not be graded, see `gate.require`, or if it is not built as it is now.

    Returns sentences about the checks that can't be tried on this machine.
    `config` is nbgrader's, `directory` its CourseDirectory. The working directory must be the course's folder.
    """
    settings = config.GradeInSandbox
    device = settings.get("device", "cpu")
    level = verdict.UNSAFE if settings.get("unsafe", False) else settings.get("sandbox", verdict.FULL)

    look_again()
    found, results = course.find_assignment(assignment), store.Store(course.root())
    seed = Rounds(results, found.name).first()

    def judge(found: course.Assignment, trial: Trial) -> verdict.Verdict:
        return warm_grader(level, device).grade_trial(found, trial, seed)

    with Gradebook(directory.db_url, directory.course_id) as gradebook:
        changing.require_build(gradebook, found)
    return gate.require(found, judge, options.points_wanted(config), results, seed)


def look_again() -> None:
    """Read the course again, which may have changed since a server was started.

    Raises UsageError if its checks have: they are modules of this process, and stay as they were.
    """
    course.forget()
    store.parts_of.cache_clear()
    now = store.course_parts()
    before = _parts_at_first.setdefault(course.root(), now)
    if any(now[part] != before[part] for part in ("kit", "exercises of the course")):
        raise UsageError(
            "The checks have changed since this server was started: restart JupyterLab, or run `autograder grade"
            " NN`; nothing is graded."
        )


_parts_at_first: dict[Path, dict[str, str]] = {}


def warm_grader(sandbox: str, device: str) -> Grader:
    """One Grader, with its sandbox, for all submissions to a course that this process grades."""
    return _warm_grader(sandbox, device, course.root())


@functools.lru_cache(maxsize=4)
def _warm_grader(sandbox: str, device: str, root: Path) -> Grader:
    grader = start.started_grader(device, sandbox, store.Store(root).learnt)
    atexit.register(grader.close)
    return grader


def score_of(cell: str, outcome: verdict.Outcome | None) -> float | None:
    """The points of a graded cell of code; None if a person has to give them, because a check had a bug.

    Raises CourseError if nothing was found out about it: what its visible check says is no grade.
    """
    if outcome is None:
        raise CourseError(f"The graded cell {cell!r} belongs to no exercise that was graded, so nothing is recorded.")
    return None if outcome.unjudged else outcome.score


def is_by_code(cell: NotebookNode) -> bool:
    """Whether a graded cell holds a check, and no answer that a person grades."""
    return cell.cell_type == "code" and not is_solution(cell)


def comment_on(cell: NotebookNode, unanswered: Collection[str]) -> str | None:
    """nbgrader's comment on a solution cell in which nothing was written; None elsewhere."""
    if is_grade(cell):
        return "No response." if cell.metadata.nbgrader["grade_id"] in unanswered else None
    return "No response." if cell.metadata.nbgrader.get("checksum") == compute_checksum(cell) else None


def waits(auto: float | None, by_hand: float | None, waited: bool, same: bool) -> bool:
    """Whether a person has to look at a cell; `waited` says whether so before, `same` that the answer is as it was.

    nbgrader's own rule sends back whatever a person has graded, with each regrade.
    """
    if by_hand is None:
        return auto is None
    return waited or not same


def answers_in(recorded: Any) -> Any:
    """The hashes of a student's answers, from what was recorded with the latest verdict; None if there are none."""
    return recorded.get("answers") if isinstance(recorded, dict) else None


class SaveVerdict(SaveAutoGrades):
    """nbgrader's SaveAutoGrades, with the scores of the Verdict; a cell's outputs never count.

    What a person has graded stays so while the answer is the same, see `waits`.
    """

    def preprocess(self, nb: NotebookNode, resources: Any) -> tuple[NotebookNode, Any]:
        where, results = resources["nbgrader"], store.Store(course.root())
        latest = where["assignment"], where["student"]
        self.before = answers_in(results.latest_of(*latest)[1])
        nb, resources = super().preprocess(nb, resources)
        self._carry_extension(results, *latest)
        results.put_latest(*latest, resources["autograder"], {"answers": resources["autograder_answers"]})
        return nb, resources

    def _carry_extension(self, results: store.Store, assignment: str, student: str) -> None:
        """Give a submission the extension that the student had before there was one: penalties come next."""
        with Gradebook(self.db_url) as gradebook:
            submission: Any = gradebook.find_submission(assignment, student)
            if not submission.extension:
                submission.extension = results.extensions(assignment).get(student)
                gradebook.db.commit()

    def _add_score(self, cell: NotebookNode, resources: Any) -> None:
        name = cell.metadata.nbgrader["grade_id"]
        assignment = course.assignments()[self.notebook_id]
        exercise = {e.grade_id: e.name for e in assignment.exercises}.get(name)
        outcome = resources["autograder"].exercise(exercise)
        score = score_of(name, outcome) if is_by_code(cell) or exercise else None
        grade: Any = self.gradebook.find_grade(name, self.notebook_id, self.assignment_id, self.student_id)
        waited = grade.needs_manual_grade
        if exercise is None:  # an answer for a person to grade, or 0 if there is none
            grade.auto_score = 0.0 if name in resources["autograder_unanswered"] else None
        else:
            grade.auto_score = score
        same = unchanged(self.before, resources["autograder_answers"], name, exercise is not None)
        grade.needs_manual_grade = waits(grade.auto_score, grade.manual_score, waited, same)
        self.gradebook.db.commit()

    def _add_comment(self, cell: NotebookNode, resources: Any) -> None:
        where = self.notebook_id, self.assignment_id, self.student_id
        comment: Any = self.gradebook.find_comment(cell.metadata["nbgrader"]["grade_id"], *where)
        comment.auto_comment = comment_on(cell, resources["autograder_unanswered"])
        self.gradebook.db.commit()


class HideTests(NbGraderPreprocessor):
    """For an older configuration, with a template of nbgrader's: hides the source of a test cell in feedback."""

    def preprocess_cell(self, cell: NotebookNode, resources: Any, cell_index: int) -> tuple[NotebookNode, Any]:
        metadata = cell.metadata.get("nbgrader", {})
        if cell.cell_type == "code" and metadata.get("grade") and not metadata.get("solution"):
            cell.source = f"# {metadata['grade_id']}: what the graders found"
        return cell, resources
