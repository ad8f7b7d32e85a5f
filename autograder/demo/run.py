"""The demo: builds, grades and reports on a course with a made-up class, and checks each outcome."""

from __future__ import annotations

import contextlib
import io
import json
import os
import shlex
import shutil
import statistics
import sys
import textwrap
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from .. import course
from ..batch import commands
from ..batch.pool import Pool
from ..course import Assignment
from ..errors import UsageError
from ..grading.store import Store
from ..report import outcome_text
from ..verdict import FACT, Outcome, Verdict
from .made_up import CLASS, LESS, Expected, Student, fill_in, read_class, size
from .ticker import Ticker

if TYPE_CHECKING:  # it imports nbgrader
    from ..batch.tasks import Task
    from ..verdict import Graded

MARKER = ".made-by-demo"
LOG = "demo.log"
WIDTH = 80
COLUMNS = ("students", "all right", "mean points", "by hand", "mistakes")
FIRST = "02_queries_keys_values"  # whose class report is shown first
LAST = "12_your_model"  # which trains the model of each student
LAST_SECONDS = 23.0  # of one processor, for one of its students: measured over the class, beside other work
WORTH_OPENING = {
    ("greta", FIRST): "quiet mistakes, named",
    ("oskar", FIRST): "a loop that never ends, and what it did not take along",
}


def run(
    folder: str | Path,
    jobs: int,
    device: str,
    sandbox: str,
    wanted: Sequence[str] = (),
    verbose: bool = False,
) -> int:
    """Make the course, build it, grade the made-up class, report; returns 1 if an outcome is not the expected one.

    `wanted` are the numbers or names of assignments; if empty, all of them. What the commands for a class print goes
    to the folder's LOG, and with `verbose` to the screen as well. Raises CourseError for an unknown assignment.
    """
    root, folder = course.root(), Path(folder)
    every, left_out = course.complete()
    names = {course.find_assignment(name).name for name in wanted} or {assignment.name for assignment in every}
    if unknown := sorted(name for name in names if not (CLASS / f"{name}.py").is_file()):
        raise UsageError(f"The demo's made-up class handed in nothing for {', '.join(unknown)}.")
    make_folder(root, folder)
    start = os.getcwd()
    with _working_in(folder), Ticker(sys.stdout, sum(1 + size(name) for name in names)) as ticker:
        some = f"{len(names)} assignment{'s' if len(names) > 1 else ''}"
        ticker.say(f"A course of its own in {folder}: {some} and a made-up class.")
        for problem in left_out if not wanted else ():
            ticker.say(f"Left out: {problem}")
        here = course.root()
        handed_in: dict[Assignment, list[Student]] = {}
        surprises = []
        for part in parts(names):
            # its processes know the course as it was when they got their first task: each part has some of its own
            engine = _Pool(ticker, jobs, device, sandbox, Store(here).learnt)
            with engine:
                engine.warm(jobs)  # they start while the part is built
                for assignment in build(here, part, ticker):
                    students, before = read_class(assignment), ticker.done
                    follows = None if handed_in else what_follows(students, names, jobs)
                    grading = Grading(here, assignment, engine, device, sandbox, start, verbose)
                    surprises += grading.run(students, follows)
                    handed_in[assignment] = students
                    ticker.reach(before + len(students))
        with ticker.doing("exporting all grades"):
            export(here, here / "grades.csv")
        ticker.say(f"\n{about_the_table(handed_in)}\n\n{what_to_open(here, handed_in, start)}")
        ticker.say("\n" + conclusion(handed_in.values(), surprises))
    return 1 if surprises else 0


def parts(names: Collection[str]) -> list[list[str]]:
    """The assignments in the order in which they are built and graded: the one to be shown first, then the others."""
    order = sorted(names, key=lambda name: (name != FIRST, name == LAST, name))
    return [part for part in (order[:1], order[1:]) if part]


def build(root: Path, names: Sequence[str], ticker: Ticker) -> list[Assignment]:
    """Build assignments; returns them in this order."""
    with ticker.doing("starting torch and nbgrader"):
        from ..nbgrader import building
        from ..nbgrader.runs import NbgraderCourse

    with ticker.doing(f"building {names[0] if len(names) == 1 else f'{len(names)} assignments'}"):
        for done in building.build(root, sorted(names), NbgraderCourse(root)):
            if isinstance(done, Assignment):
                ticker.step()
    return [course.find_assignment(name) for name in names]


class _Pool(Pool):
    """The Engine that shows how many submissions it has graded, and when it ends its processes."""

    def __init__(self, ticker: Ticker, jobs: int, device: str, sandbox: str, learnt: Path | None = None) -> None:
        super().__init__(jobs, device, sandbox, learnt)
        self.ticker = ticker

    def __exit__(self, *exc: object) -> None:
        with self.ticker.doing("ending the processes that graded"):  # they clear away their sandboxes first
            super().__exit__(*exc)

    def graded(self, coming: Iterator[Task], total: int, alone: bool = False) -> Iterator[tuple[Task, Graded]]:
        for task, graded in super().graded(coming, total, alone):
            if task.student and not alone:  # those were graded before, and stopped
                self.ticker.step()
            yield task, graded


@dataclass(frozen=True)
class Grading:
    """One assignment, to be graded in the course in `root` for a user who is in `start`."""

    root: Path
    assignment: Assignment
    engine: _Pool
    device: str
    sandbox: str
    start: str
    verbose: bool = False

    def run(self, students: Sequence[Student], follows: str | None = None) -> list[str]:
        """Hand in, grade and report; returns a sentence for every outcome that was not expected.

        If there is something that `follows`, even if nothing is to be said of it, the first pages are shown as soon as
        there are some, without those whose grading takes long; only these are graded after that.
        """
        ticker, printed = self.engine.ticker, ""
        quick = [student for student in students if not student.slow]
        for those in [students] if follows is None or quick == students else [quick, students]:
            hand_in(self.root, self.assignment, those)
            printed = self.grade(those)
            if follows is not None:
                said = first_page(self.root, self.assignment, self.start), follows, headings()
                ticker.say("\n" + "\n\n".join(filter(None, said)))
                follows = None
        about = f"The class of {len(students)}, made up for {self.assignment.name}:\n\n{introduce(students)}\n\n"
        with open(self.root / LOG, "a", encoding="utf-8") as log:
            log.write(f"{about}{printed}\n")
        if self.verbose:
            ticker.say(f"\n{about}{printed}\n{headings()}")
        ticker.say(row(self.assignment, Store(self.root).latest(self.assignment.name).values()))
        return compare(students, self.root, self.assignment)

    def grade(self, students: Sequence[Student]) -> str:
        """Grade and report on what was handed in; returns what the commands print. If they stop, that is shown."""
        ticker, name, printed = self.engine.ticker, self.assignment.name, io.StringIO()
        who = [student.name for student in students]
        try:
            with contextlib.redirect_stdout(printed), contextlib.redirect_stderr(printed):
                with ticker.doing(f"grading {name}"):
                    commands.grade_class(self.root, self.assignment, who, self.engine, self.device, self.sandbox)
                with ticker.doing(f"writing the pages of {name}"):
                    commands.report_class(self.root, self.assignment, self.engine.jobs)
        except BaseException:
            ticker.say(printed.getvalue())
            raise
        return printed.getvalue()


# --- the folder -----------------------------------------------------------------------------------


def make_folder(root: Path, folder: Path) -> None:
    """Make a fresh copy of the course's source in `folder`. Raises UsageError if `folder` holds files of no demo."""
    inside = folder.resolve()
    if inside.is_relative_to((root / "source").resolve()):
        raise UsageError(f"{folder} lies within the course's source: choose another folder.")
    if folder.is_symlink() or (folder.exists() and not folder.is_dir()):
        raise UsageError(f"{folder} is there already and is no folder: choose another one with --folder.")
    if folder.is_dir() and any(folder.iterdir()):
        if not (folder / MARKER).is_file():
            raise UsageError(
                f"{folder} is there already, and no demo made it: choose another one with --folder, or remove it."
            )
        shutil.rmtree(folder)
    try:
        folder.mkdir(parents=True, exist_ok=True)
        (folder / MARKER).write_text("Made by `autograder demo`, which replaces this folder when it runs again.\n")
        shutil.copytree(root / "source", folder / "source", ignore=shutil.ignore_patterns(".ipynb_checkpoints"))
        shutil.copy(root / "nbgrader_config.py", folder)
    except OSError as error:
        raise UsageError(f"The demo cannot be written to {folder}: {error.strerror or error}.") from None


@contextlib.contextmanager
def _working_in(folder: Path) -> Iterator[None]:
    before = os.getcwd()
    os.chdir(folder)
    try:
        yield
    finally:
        os.chdir(before)


def hand_in(root: Path, assignment: Assignment, students: Iterable[Student]) -> None:
    """Write submitted/STUDENT/ASSIGNMENT/ASSIGNMENT.ipynb, made from the release, for every student who has none."""
    release = json.loads((root / "release" / assignment.name / f"{assignment.name}.ipynb").read_text(encoding="utf-8"))
    for student in students:
        path = root / "submitted" / student.name / assignment.name / f"{assignment.name}.ipynb"
        if path.exists():
            continue
        path.parent.mkdir(parents=True)
        if student.raw is not None:
            path.write_bytes(student.raw)
        else:
            notebook = fill_in(release, student)
            path.write_text(json.dumps(notebook, ensure_ascii=False, indent=1) + "\n", encoding="utf-8")


# --- what came out --------------------------------------------------------------------------------


def export(root: Path, path: Path) -> None:
    """Write nbgrader's own export of all grades, as CSV."""
    from nbgrader.plugins import CsvExportPlugin

    from ..nbgrader.runs import NbgraderCourse

    plugin = CsvExportPlugin(to=str(path))
    with NbgraderCourse(root).gradebook() as gradebook:
        plugin.export(gradebook)


def compare(students: Iterable[Student], root: Path, assignment: Assignment) -> list[str]:
    """A sentence for every outcome that is not the expected one."""
    latest = Store(root).latest(assignment.name)
    surprises = []
    for student in students:
        for name, expected in student.expected.items():
            verdict = latest.get(student.name)
            outcome = verdict and verdict.exercise(name)
            if outcome is None:
                surprises.append(f"{student.name}, {name}: expected {expected}, but there is no record of it.")
            elif not fits(outcome, expected):
                surprises.append(f"{student.name}, {name}: expected {expected}, got {describe(outcome)}.")
    return surprises


def fits(outcome: Outcome, expected: Expected) -> bool:
    """Whether an exercise came out as expected; the mistakes named may include more than the expected ones.

    A `stands-on-` diagnosis is ignored: the mistake is in the exercise below, and expected there. Where no name is
    expected, a fact may be told.
    """
    named = {d.id for d in outcome.diagnosis if not d.base}
    right_names = expected.mistakes <= named if expected.mistakes else all(id.startswith(FACT) for id in named)
    level = level_of(outcome)
    is_level = level != "full" if expected.level == LESS else level == expected.level
    return is_level and outcome.status == expected.status and right_names


def level_of(outcome: Outcome) -> str:
    """The level of an outcome: full, partial or zero."""
    if outcome.score <= 0:
        return "zero"
    return "full" if outcome.score == outcome.max_score else "partial"


def describe(outcome: Outcome) -> str:
    """An outcome in the words of an expectation, with its points."""
    got = Expected(level_of(outcome), outcome.status, frozenset(d.id for d in outcome.diagnosis))
    return f"{got} ({outcome_text.points(outcome.score)} of {outcome_text.points(outcome.max_score)} points)"


def introduce(students: Sequence[Student]) -> str:
    """The students of the class, one line each."""
    width = max(len(s.name) for s in students)
    return "\n".join(f"  {s.name.ljust(width)}  {s.about}" for s in students)


def headings() -> str:
    """The heading of the table of assignments."""
    return f"{'':23}  {'  '.join(COLUMNS)}"


def row(assignment: Assignment, verdicts: Collection[Verdict]) -> str:
    """An assignment as a row of that table."""
    mean = statistics.fmean(verdict.score for verdict in verdicts) if verdicts else 0.0
    most = sum(exercise.points for exercise in assignment.exercises)
    outcomes = [outcome for verdict in verdicts for outcome in verdict.exercises if not outcome.not_started]
    cells = (
        f"{len(verdicts)}",
        f"{sum(verdict.full for verdict in verdicts)}",
        f"{mean:.1f} of {most:g}",
        f"+{assignment.points_by_hand:g}" if assignment.points_by_hand else "-",
        f"{sum(len(outcome.diagnosis) for outcome in outcomes)}",
    )
    aligned = (cell.rjust(len(column)) for cell, column in zip(cells, COLUMNS, strict=True))
    return f"{assignment.name:23}  {'  '.join(aligned)}"


def about_the_table(assignments: Iterable[Assignment]) -> str:
    """What stands in the table's columns."""
    mistakes = "Mistakes are those named to students who had begun the exercise."
    by_hand = "Points by hand are for written answers, which wait for you; the means are without them. "
    return textwrap.fill((by_hand if any(a.points_by_hand for a in assignments) else "") + mistakes, WIDTH)


def first_page(root: Path, assignment: Assignment, start: str) -> str:
    """Which pages to open while the rest is graded, for a user who is in `start`."""
    pages = {page: about for page, about in worth_opening([assignment.name]).items() if (root / page).is_file()}
    return f"{report_to_open(root, assignment.name, start)}\n\n{listed(root, pages, start)}".strip()


def what_follows(students: Collection[Student], names: Collection[str], jobs: int) -> str:
    """What the demo does after its first page, and how long the last assignment takes."""
    slow = ["those of the class who take longer to grade"] if any(student.slow for student in students) else []
    more = len(names) - 1
    others = [f"{more} more assignment{'s' if more > 1 else ''}"] if more else []
    said = f"It goes on with {' and '.join(slow + others)}." if slow or others else ""
    if more and LAST in names:
        seconds = 10 * round(LAST_SECONDS * size(LAST) / jobs / 10)
        said += f" The last, {LAST}, takes about {seconds} s, longer on a busy machine: each model is trained."
    return textwrap.fill(said, WIDTH)


def what_to_open(root: Path, assignments: Collection[Assignment], start: str) -> str:
    """Which page to open first, which others there are, and how to open Formgrader, for a user who is in `start`."""
    names = sorted(assignment.name for assignment in assignments)
    pages = worth_opening(names)
    pages |= {"reports/": "The class reports of all assignments."} if len(names) > 1 else {}
    pages["grades.csv"] = "All grades, as nbgrader exports them."
    pages[LOG] = "Every student's scores, as `autograder grade` prints them."
    lines = [report_to_open(root, FIRST if FIRST in names else names[0], start), "", "Then:", ""]
    lines += [listed(root, pages, start)]
    lines += ["", "To grade the written answers by hand, in Formgrader (menu Nbgrader):", ""]
    return "\n".join([*lines, *(f"  {command}" for command in formgrader(root, start))])


def worth_opening(names: Collection[str]) -> dict[str, str]:
    """The pages of students that are worth opening, of these assignments: what is there to see, by path."""
    return {
        f"feedback/{student}/{name}/{name}.html": f"What {student} reads: {about}."
        for (student, name), about in WORTH_OPENING.items()
        if name in names
    }


def report_to_open(root: Path, name: str, start: str) -> str:
    """That an assignment's class report is to be opened first."""
    path = os.path.relpath(root / "reports" / f"{name}.html", start)
    return f"Open this first, in a browser. It is what an instructor reads:\n\n  {path}"


def listed(root: Path, pages: Mapping[str, str], start: str) -> str:
    """These pages, with a line each that says what they are."""
    return "\n".join(f"{about}\n  {os.path.relpath(root / page, start)}" for page, about in pages.items())


def formgrader(root: Path, start: str) -> list[str]:
    """The commands that open JupyterLab in the folder `root`, as they can be pasted by a user who is in `start`."""
    activate = Path(sys.prefix, "bin", "activate")
    known = sys.prefix == sys.base_prefix or not activate.is_file()  # then its commands are where all others are
    place = os.path.relpath(activate, start)
    place = str(activate) if place.startswith("..") else place
    lab = "jupyter lab --allow-root" if os.geteuid() == 0 else "jupyter lab"
    return [
        *([] if known else [f". {shlex.quote(place)}"]),
        f"cd {shlex.quote(os.path.relpath(root, start))} && {lab}",
    ]


def conclusion(classes: Iterable[Sequence[Student]], surprises: Sequence[str]) -> str:
    """The demo's conclusion: whether each made-up student got what is noted beside the submission."""
    handed_in = [student for students in classes for student in students]
    outcomes = sum(len(s.expected) for s in handed_in)
    names = {s.name for s in handed_in}
    noted = (
        f"Was that graded rightly? For each of the {len(names)} made-up students it was noted beforehand, exercise by"
        " exercise, whether it deserves full, some or no points, and which mistakes should be named."
    )
    if not surprises:
        return textwrap.fill(f"{noted} All {outcomes} exercises came out as noted.", WIDTH)
    found = textwrap.fill(f"{noted} {len(surprises)} of {outcomes} exercises came out otherwise:", WIDTH)
    return "\n".join([found, *(f"  {surprise}" for surprise in surprises)])
