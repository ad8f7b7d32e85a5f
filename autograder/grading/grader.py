"""Grades one submission: reads it, runs its cells in a sandboxed child, runs the graders on it, makes the Verdict."""

from __future__ import annotations

import functools
import itertools
import logging
import os
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Self, TypeAlias

from .. import course
from ..bounds import Barred
from ..checks.proxies import StudentError, unable
from ..checks.runner import Graders
from ..checks.source_text import names_used_by
from ..errors import ChildGone, CourseError, SandboxError, Unreadable
from ..mistakes.behaviour_cache import CacheFolder
from ..mistakes.diagnosis import Diagnostician
from ..sandbox.parent import WarmParent
from ..submission import read
from ..submission.assignments import assignment_of
from ..submission.read import StrPath, SubmittedFile
from ..submission.restore import RestoredCell, restore
from ..verdict import NOT_HERE, Check, Diagnosis, Graded, Outcome, Verdict, rejected, settled, without_grade
from . import gate, trials
from .blame import Blame, Tell, Wrong, by_prices, may_have_any_parts, note_whether_shaky, scaled
from .internal import internal_error
from .lending import lend
from .seeds import new_seed
from .store import course_version
from .watchdog import CHECKS, Endless
from .workspace import Deadline, Workspace, staged

if TYPE_CHECKING:
    from .ledger import Ledger

Waived: TypeAlias = Mapping[str, Sequence[str]]  # names of checks, by exercise: see waivers.py
# the diagnosis of an exercise with these results of its checks, if it is known already, else None
Known: TypeAlias = Callable[[str, list[Check]], list[Diagnosis] | None]

PAYS = 1  # after so many submissions with the same inputs, learning what the checks ask pays off: more will come
ATTEMPTS = 3  # for a submission if its process was ended, perhaps from outside
MAX_LISTED = 1000  # notebooks in a folder, of which the message names the first few

TWICE = "`{0}` is graded as {1} defines it, and that is not written yet: move your code from {2} there."
TWICE_IN_ONE = "You define `{0}` twice in {1}, and the last one counts, which is not written yet: take that one away."

log = logging.getLogger(__name__)


def nothing(*given: object) -> None:
    """What is called back if nobody wants to know."""


@dataclass(frozen=True)
class Program:
    """The parts of a file that are graded: its restored cells, and the exercises that they may be graded on.

    `assignment` is the name of a notebook's assignment, "" for a .py file. Without `wanted` exercises, those of the
    `candidates` count that the cells define, but for parts (`_handed_in`).
    """

    path: str
    cells: list[RestoredCell]
    assignment: str
    wanted: list[course.Exercise] | None
    candidates: list[course.Exercise]


class Grader:
    """Grades submissions one after another with one warm sandbox, which starts when it is first needed.

    Use it as a context manager, or call `close()`. `parent` is its sandbox, if not the usual one; see
    `start.started_grader`. `learnt` is the folder in which mistakes/behaviour_cache.py caches what mistakes do under
    the checks; without it, each process finds that out again. `ledger` counts what grading costs, if anybody asks.
    Raises SandboxError if there is no sandbox.
    """

    def __init__(
        self, parent: WarmParent | None = None, learnt: Path | None = None, ledger: Ledger | None = None
    ) -> None:
        self.parent = parent or WarmParent()
        self.graders = Graders()
        self.diagnostician = Diagnostician(self.graders, CacheFolder(learnt, course_version) if learnt else None)
        self.blame = Blame(self.graders, self.diagnostician)
        self.met: Counter[tuple[str, int]] = Counter()  # submissions graded so far, by (assignment, seed)
        self.learnt: set[tuple[str, int]] = set()  # (assignment, seed)
        self.waived: Waived = {}  # of the course, where `grade_cells` is given none
        self.ledger = ledger
        if ledger is not None:
            self.graders.after_run = ledger.checked

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()

    def close(self) -> None:
        self.parent.close()

    def grade_file(self, path: StrPath, exercise: str | None = None, seed: int | None = None) -> Graded:
        """Grade a notebook or a .py file. Bad input gives a Verdict that says so, never an exception."""
        seed = new_seed() if seed is None else seed
        try:
            program = read_program(path, exercise)
        except Unreadable as problem:
            wanted = [course.exercises()[exercise]] if exercise else exercises_of_name(path)
            reason = f"{problem}{_to_give(path)}"
            return Graded(rejected(path, wanted, reason, seed, sandbox=self.parent.level))
        return self.grade_program(program, program.wanted, seed)

    def grade_program(
        self,
        program: Program,
        wanted: Sequence[course.Exercise] | None,
        seed: int,
        known: Known | None = None,
        before_each: Callable[[], None] = nothing,
    ) -> Graded:
        """Grade the content of a file on the exercises `wanted`, as `grade_cells` does.

        `before_each` is called before each check, those of a diagnosis among them. To end the grading, it raises a
        BaseException that is no Exception.
        """
        settings = program.path, program.assignment, program.candidates
        self.graders.before_each, before = before_each, self.graders.before_each
        try:
            return self.grade_cells(program.cells, wanted, seed, *settings, known=known)
        finally:
            self.graders.before_each = before

    def grade_cells(
        self,
        cells: list[RestoredCell],
        wanted: Sequence[course.Exercise] | None,
        seed: int,
        path: str = "",
        assignment: str = "",
        candidates: Sequence[course.Exercise] = (),
        alone: bool = False,
        waived: Waived | None = None,
        known: Known | None = None,
        tell: Tell = nothing,
        note: Tell = nothing,
    ) -> Graded:
        """Grade restored cells on the exercises `wanted` (or, if None, on those of `candidates` that they hand in).

        If a process ends for no known reason (a SIGKILL, the death of the sandbox), the cause may be the submission or
        a machine that is out of memory. The submission is then graded again, under one deadline for all attempts, and
        the last attempt counts. With `alone`, it is graded as if no other submission had come before it. What is
        `known` of an exercise is not diagnosed again. Each outcome is also given to `tell`, as soon as it is there, and
        once more if the submission is graded again. `note` gets the outcomes by the checks alone, before any is named.
        Checks that are `waived` are not made: nothing is named or charged by them.
        """
        if self.ledger is not None:
            self.ledger.begin(path, assignment)
        if not alone:
            self._learn_what_pays(seed)
        deadline, attempts = Deadline(self.parent.limits.submission), []
        running = lend(cells, course.assignments().get(assignment))
        for _ in range(ATTEMPTS):
            workspace = Workspace(self.parent, running, deadline, prefetches=not alone, ledger=self.ledger)
            self.graders.waived = self.waived if waived is None else waived
            try:
                results = self._grade_workspace(workspace, wanted, candidates, seed, known, tell, note)
            finally:
                self.graders.waived = {}
            verdict = Verdict(path, results, seed, assignment, sandbox=self.parent.level)
            attempts.append(Graded(verdict, cells, workspace.outputs, dict(workspace.spent), workspace.stopped))
            if not workspace.unexplained or deadline.is_over():
                break
            log.warning("a sandboxed process was ended, perhaps from outside")
        graded = functools.reduce(settled, attempts)
        self.met.update({(course.exercises()[e.exercise].assignment, seed) for e in graded.verdict.exercises})
        if self.ledger is not None:
            graded.costs = self.ledger.close(graded)
        return graded

    def _learn_what_pays(self, seed: int) -> None:
        """Learn what the checks of an assignment ask, once enough submissions had the same inputs."""
        for (name, of), many in self.met.items():
            if of == seed and many >= PAYS and (name, seed) not in self.learnt:
                self.learn(name, seed)

    def worth(self) -> dict[str, float]:
        """The total points of each exercise's checks."""
        return {name: self._worth_of(name) for name in self.graders.checks}

    def _worth_of(self, exercise: str) -> float:
        return sum(check.points for check in self.graders.checks[exercise])

    def grade_trial(self, assignment: course.Assignment, trial: trials.Trial, seed: int) -> Verdict:
        """The Verdict on an assignment's own notebook, in which every exercise is worth the total of its checks."""
        has_checks = self.graders.checks.__contains__
        wanted = [replace(e, points=self._worth_of(e.name)) if has_checks(e.name) else e for e in assignment.exercises]
        cells = trials.cells_of(assignment, trial)
        if trial == trials.VISIBLE:
            outcomes = self._run_visible_checks(cells, wanted)
            return Verdict(str(assignment.path), outcomes, seed, assignment.name, sandbox=self.parent.level)
        settings = str(assignment.path), assignment.name
        return self.grade_cells(cells, wanted, seed, *settings, alone=True, known=lambda name, checks: []).verdict

    def _run_visible_checks(self, cells: Sequence[RestoredCell], wanted: Sequence[course.Exercise]) -> list[Outcome]:
        """The outcome of each exercise's visible check, which gets no points if it raises or is stopped."""
        at = {cell.exercise: index for index, cell in enumerate(cells)}
        workspace = Workspace(self.parent, list(map(trials.with_visible_check, cells)))
        try:
            workspace.run()
        except ChildGone as problem:
            return [without_grade(e.name, e.points, problem.status, f"{problem}.") for e in wanted]
        finally:
            workspace.close()
        outcomes = []
        for exercise in wanted:
            error = workspace.errors.get(at[exercise.name])
            lacking = error and trials.lacking_for(workspace.cells[at[exercise.name]].source, self.parent.lacks)
            if error is None or lacking:
                skipped = [{"name": "the visible check", "message": f"{NOT_HERE}{unable(lacking)}."}] if lacking else []
                full = exercise.points, exercise.points
                outcomes.append(Outcome(exercise.name, *full, "graded", skipped=skipped))
            else:
                why = error.what() if isinstance(error, StudentError) else f"{error}."
                outcomes.append(without_grade(exercise.name, exercise.points, "error", why))
        return outcomes

    def learn(self, name: str, seed: int) -> None:
        """Learn from an assignment's own solution which requests its checks make, so that they can be sent together.

        This never learns from a submission: what one student hands in does not change what another is asked.
        """
        self.learnt.add((name, seed))
        assignment = course.assignments()[name]
        workspace = Workspace(self.parent, cells_of(read.read_file(assignment.path)), ledger=self.ledger)
        try:
            with staged(self.ledger, "", "learning"):
                for exercise in assignment.exercises:
                    workspace.begin_exercise(exercise.name)
                    self.graders.run(exercise.name, workspace, seed, learning=True)
        except SandboxError:
            raise
        except Exception as problem:  # then requests are still sent one by one
            log.warning("the requests to %s could not be learnt (%r)", name, problem)
        finally:
            workspace.close()

    def _grade_workspace(
        self,
        workspace: Workspace,
        wanted: Sequence[course.Exercise] | None,
        candidates: Sequence[course.Exercise],
        seed: int,
        known: Known | None,
        tell: Tell,
        note: Tell,
    ) -> list[Outcome]:
        """The outcome of every exercise."""
        try:
            with staged(self.ledger, "", "cells"):
                workspace.run()
                workspace.look_at_worlds()
            if wanted is None:
                kinds = workspace.kinds([e.name for e in candidates])
                wanted = _handed_in([e for e in candidates if kinds[e.name] != "missing"], workspace.cells)
            known_here = course.assignments()
            # if the submission defines none, all of them are missing
            wanted = wanted or [e for e in candidates if not known_here[e.assignment].lacks]
            for name in {e.assignment for e in wanted}:
                gate.require_modules(known_here[name])
            outcomes, wrong = [], []
            by_name = {exercise.name: exercise for exercise in wanted}
            for exercise in map(by_name.__getitem__, workspace.by_world([*by_name])):
                with workspace.stage(exercise.name, "checks"):
                    outcome, left = self._grade_exercise(workspace, exercise, seed, known)
                outcomes.append(outcome)
                note(outcome)
                workspace.graded[exercise.name] = outcome
                if left:
                    wrong.append(left)
                else:
                    tell(outcome)
            order = [*by_name]
            outcomes.sort(key=lambda one: order.index(one.exercise))
            wrong.sort(key=lambda one: order.index(one.run.exercise))
            self.blame.name_mistakes(workspace, wrong, tell)
            return outcomes
        except ChildGone as problem:  # even a fresh child could not help
            stopped = problem.status, f"It could not be graded: {problem}."
            return [without_grade(e.name, e.points, *stopped) for e in wanted or candidates]
        except (SandboxError, CourseError):
            raise
        except Exception as mistake:
            problem = internal_error(mistake)
            return [without_grade(e.name, e.points, "error", problem) for e in wanted or candidates]
        finally:
            workspace.close()

    def _grade_exercise(
        self, workspace: Workspace, exercise: course.Exercise, seed: int, known: Known | None
    ) -> tuple[Outcome, Wrong | None]:
        """The outcome of one exercise by its checks, and what is left to do if its mistakes are yet to be named."""

        def without(status: str, message: str) -> tuple[Outcome, None]:
            return without_grade(exercise.name, exercise.points, status, message), None

        try:
            workspace.begin_exercise(exercise.name)
            kind = workspace.kind_of(exercise.name)
            if kind == "missing":
                outcome, _ = without(*workspace.why_missing(exercise.name))
                outcome.not_started = workspace.is_untouched(exercise.name)  # an original may stop before it defines it
                return outcome, None
            if kind == "other":
                return without("error", f"`{exercise.name}` should be a function or class, but it is something else.")
            with workspace.watched(f"{CHECKS}`{exercise.name}`"):
                run = self.graders.run(exercise.name, workspace, seed)
        except ChildGone as problem:
            return without(problem.status, f"`{exercise.name}` could not be graded: {problem}.")
        except (Endless, Barred) as mistake:
            return without("error", internal_error(mistake))
        finally:
            workspace.end_exercise()
        note_whether_shaky(workspace, run)
        if run.stopped:
            return without(run.stopped.status, f"`{exercise.name}` was stopped: {run.stopped}.")
        checks, score = scaled(run.checks, exercise.points)
        diagnosis = known(exercise.name, checks) if known else None
        if diagnosis and all(each.has_price for each in diagnosis):
            workspace.named[exercise.name] = [each for each in diagnosis if not each.base]
        if run.failed() and (cells := workspace.unwritten_beside(exercise.name)):
            diagnosis = [Diagnosis("defined-twice", TWICE.format(exercise.name, *cells))]
        elif run.failed() and (cell := workspace.unwritten_below(exercise.name)):
            diagnosis = [Diagnosis("defined-twice", TWICE_IN_ONE.format(exercise.name, cell))]
        if diagnosis is None and (not run.rejected() or workspace.is_stub(exercise.name)):
            diagnosis = []
        outcome = Outcome(
            exercise.name,
            score,
            exercise.points,
            "graded",
            checks,
            diagnosis or [],
            skipped=run.skipped,
            not_started=bool(run.failed()) and workspace.is_untouched(exercise.name),
            unjudged="; ".join(run.unjudged.values()),
            measured=run.measured,
            notes=workspace.notes_on(exercise.name),
        )
        outcome.by_prices = by_prices(run, outcome)
        return outcome, Wrong(outcome, run) if diagnosis is None else None


def _handed_in(defined: Sequence[course.Exercise], cells: Iterable[RestoredCell]) -> list[course.Exercise]:
    """Those of the exercises that a file defines on which it is graded: all, or one lesson's alone, as in its notebook.

    The latter if all others are parts of these: exercises that they use and that the lesson brings from earlier ones.
    """
    last = max((e.assignment for e in defined), key=list(course.assignments()).index, default="")
    own = [e for e in defined if e.assignment == last]
    called = {getattr(course.module_of(e.name, "checks"), "STANDS_FOR", e.name) for e in own} - {e.name for e in own}
    names = [*(e.name for e in own), *called]
    used = called | names_used_by(names, (cell.code for cell in cells if cell.runs))
    brought = used.intersection(course.assignments()[last].bases) if last else set[str]()
    parts = used if any(may_have_any_parts(e.name) for e in own) else brought
    return own if all(e in own or e.name in parts for e in defined) else list(defined)


def exercises_of_name(path: StrPath) -> list[course.Exercise]:
    """The exercises of the assignment that the file is named after, or all exercises of the course."""
    found = assignment_of([], path)
    return list(found.exercises) if found else list(course.exercises().values())


def _to_give(path: StrPath) -> str:
    """For a folder, a sentence with the first notebooks in it, which could have been given instead; else ""."""
    if not os.path.isdir(path):
        return ""
    found = itertools.chain.from_iterable(Path(path).glob(pattern) for pattern in ("*.ipynb", "*/*.ipynb"))
    shown = [ascii(str(notebook))[1:-1] for notebook in sorted(itertools.islice(found, MAX_LISTED))[:3]]
    return f" It holds {', '.join(shown)}." if shown else ""


def read_program(path: StrPath, exercise: str | None = None) -> Program:
    """Read a notebook or a .py file, to be graded on one `exercise` or on all. Raises Unreadable."""
    wanted = [course.exercises()[exercise]] if exercise else None
    file = read.read_file(path)
    if _is_program(file):
        return Program(file.path, cells_of(file), "", wanted, list(course.exercises().values()))
    submitted, is_script = file.cells, read.is_script(file.data)
    found = assignment_of(submitted, "" if is_script else path)
    if found is None and is_script:
        return Program(file.path, restore(submitted, ()), "", wanted, list(course.exercises().values()))
    if found is None and wanted:
        found = course.assignments()[wanted[0].assignment]
    if found is None:
        raise Unreadable(
            "It is not a notebook of this course: neither its name nor its cells belong to an assignment, nor its title"
            f" ({', '.join(course.assignments())})."
        )
    every = list(found.exercises)
    return Program(file.path, restore(submitted, found.cells, found), found.name, wanted or every, every)


def _is_program(file: SubmittedFile) -> bool:
    """Whether a file is called a .py file, and holds a program without cells."""
    return ".py" in Path(file.path).suffixes and read.is_plain_script(file.data)


def cells_of(file: SubmittedFile) -> list[RestoredCell]:
    """The restored cells of a notebook or .py file of this course. Raises Unreadable."""
    if _is_program(file):
        return [RestoredCell("code", read.read_script(file.data), "")]
    found = assignment_of(file.cells, file.path)
    return restore(file.cells, found.cells if found else (), found)
