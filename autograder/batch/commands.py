"""The commands for a whole class: grade and record its submissions, write its feedback and its report."""

from __future__ import annotations

import contextlib
import fcntl
import functools
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from ..errors import UsageError
from ..verdict import FULL

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from tqdm import tqdm

    from ..course import Assignment
    from ..grading.store import Store
    from ..grading.trials import Trial
    from ..nbgrader.runs import NbgraderCourse
    from ..report.class_text import ClassTable
    from ..report.gradebook_marks import Standing
    from ..submission.read import StrPath
    from ..verdict import Outcome, Verdict
    from .run import Batch, Engine, Recorder
    from .tasks import Task

T = TypeVar("T")
MOST_REMARKS = 20  # sentences about folders and files that belong to nobody


def grade_class(
    root: StrPath,
    assignment: Assignment,
    who: Sequence[str],
    engine: Engine,
    device: str = "cpu",
    sandbox: str = FULL,
    renew: bool = False,
    new_inputs: bool = False,
    is_draft: bool = False,
    as_json: bool = False,
) -> int:
    """Grade the submissions of the students `who`, record them, print a summary; returns the exit code.

    `renew` and `new_inputs` are those of `run.Batch`. A draft writes nothing, and says what would change.
    """
    from ..grading import gate
    from ..grading.store import Draft, Store
    from ..report import class_text
    from ..report.outcome_text import name_of
    from ..sandbox import jail
    from . import naming
    from .run import Batch, Nobody, remarks

    results = Draft(root) if is_draft else Store(root)
    with locked(root, assignment.name):
        results.sweep()
        batch = Batch(root, assignment, who, results, device, renew, new_inputs, sandbox)
        engine.warm(batch.at_once)  # starts up while nbgrader is imported, which takes as long as torch
        from ..nbgrader import options
        from ..nbgrader.members import enrolled

        runs = _runs(root, assignment, sandbox=sandbox, device=device)
        seed = batch.rounds.first()
        judge = functools.partial(judged, engine, seed)
        left_out = gate.require(assignment, judge, options.points_wanted(runs.config), results, seed)
        batch.score_by(options.scoring(runs.config))
        engine.warm(batch.at_once)
        with Nobody() if is_draft else _writer(runs, assignment, results) as writer:
            seeds = {*batch.seeds.values(), *batch.rounds.in_use()}
            naming.grade_examples(engine, results, assignment, seeds, device, sandbox)
            table, without = class_text.ClassTable(assignment), []
            for student, verdict in progress(f"grading {assignment.name}", batch.run(engine, writer), len(who)):
                table.add(student, results.names.told(verdict))
                without += [student] if all(e.status == "missing" for e in verdict.exercises) else []
        standings = standings_of(runs, results, assignment)
        _print_class(root, assignment, batch, table, standings, is_draft, as_json)
    found = [*jail.lowered(), *left_out, *(f"{student}: {why}" for student, why in batch.unreadable.items())]
    found += batch.mistaken(without)
    found += remarks(root, assignment.name, who, enrolled(runs))
    for remark in found[:MOST_REMARKS]:
        print(f"autograder: {name_of(remark)}", file=sys.stderr)
    if (more := len(found) - MOST_REMARKS) > 0:
        number = assignment.name.split("_")[0]
        print(f"autograder: and {more} more like these: `autograder doctor {number}` lists them", file=sys.stderr)
    problems = [*batch.problems, *writer.unrecorded]
    for student, problem in problems:
        print(f"autograder: {name_of(student)}: {name_of(problem)}", file=sys.stderr)
    for what, many in sorted(batch.unjudged.items()):
        print(
            f"autograder: {what}, for {many} student{'' if many == 1 else 's'}: the check has a bug, which costs nobody"
            " points. Give them by hand, or fix the check and grade again.",
            file=sys.stderr,
        )
    return 2 if problems or batch.unjudged else 0


def standings_of(runs: NbgraderCourse, results: Store, assignment: Assignment) -> dict[str, Standing]:
    """What the gradebook holds for everybody who handed in and was not dropped, by student."""
    from ..nbgrader.standings import standings

    with runs.gradebook() as gradebook:
        found = standings(gradebook, results, assignment)
    dropped = results.dropped()
    return {student: standing for student, standing in found.items() if student not in dropped}


def _waived_sentences(assignment: Assignment, batch: Batch) -> Iterator[str]:
    """What is waived in an assignment, a sentence for each exercise."""
    for exercise in assignment.exercises:
        if given := batch.scoring.waivers.given(exercise):
            many = f"{sum(given.values()):g} of {exercise.points:g} points"
            yield f"Waived in {exercise.name}: {', '.join(given)}, so everybody has {many} for that."


def _print_class(
    root: StrPath,
    assignment: Assignment,
    batch: Batch,
    table: ClassTable,
    standings: dict[str, Standing],
    is_draft: bool,
    as_json: bool,
) -> None:
    """Print the table, the summary, who gains or loses, and what waits; keep the whole list of changes in reports/."""
    from ..grading.store import write
    from ..report import class_text, regrade
    from ..report.gradebook_marks import again_sentence, blank_sentence, waiting_sentence

    if as_json:
        print(regrade.as_json(batch.changes), end="\n" if batch.changes else "")
    else:
        print(table.text(None if is_draft else standings))
        print(class_text.batch_summary(batch))
    listed = Path(root, "reports", f"{assignment.name}.changes.jsonl") if batch.changes and not is_draft else None
    if listed:
        write(listed, regrade.as_json(batch.changes) + "\n")
    if as_json:
        return
    for said in _waived_sentences(assignment, batch):
        print(said)
    if batch.changes or is_draft or batch.renew:
        print(regrade.as_text(batch.changes, table.total, standings, is_draft, batch.with_new_work))
    if listed:
        print(f"reports/{listed.name} has all of it.")
    counted = {student: standing for student, standing in standings.items() if not standing.is_excused}
    for said in (waiting_sentence(counted), blank_sentence(counted), again_sentence(counted)):
        if said:
            print(said)


def _runs(root: StrPath, assignment: Assignment, **settings: Any) -> NbgraderCourse:
    """The NbgraderCourse. Raises UsageError unless its gradebook knows the assignment as its source has it."""
    from ..nbgrader.changing import require_build
    from ..nbgrader.runs import NbgraderCourse

    runs = NbgraderCourse(root, **settings)
    with runs.gradebook() as gradebook:
        require_build(gradebook, assignment)
    return runs


def judged(engine: Engine, seed: int, assignment: Assignment, trial: Trial) -> Verdict:
    """The Verdict on an assignment's own notebook, from the engine that will grade the submissions."""
    from .tasks import Task

    task = Task("", f"{assignment.name}: {trial}", b"", assignment.name, seed, trial=trial)
    ((_, graded),) = engine.graded(iter([task]), 1)
    return graded.verdict


def _writer(runs: NbgraderCourse, assignment: Assignment, results: Store) -> Recorder:
    """The Recorder: it writes many submissions at a time, or has nbgrader do it where a course configures more."""
    from ..nbgrader import gradebook
    from ..nbgrader.runs import StockRecorder

    return (
        gradebook.GradebookWriter(runs, assignment, results)
        if gradebook.is_stock(runs)
        else StockRecorder(runs, assignment)
    )


def engine_for(
    scheduler: str | None,
    jobs: int,
    device: str,
    sandbox: str,
    learnt: Path | None = None,
    tell: Callable[[Task, Outcome], None] = lambda task, outcome: None,
    ahead: int | None = None,
) -> Engine:
    """The Engine that grades tasks: local processes, which share what is `learnt` in that folder, or a Dask cluster.

    `tell` is called with early outcomes of a task that `tells`. A worker of a cluster gets up to `ahead` tasks at a
    time (default: as many as it needs to never wait). Use it in a `with`. Raises UsageError.
    """
    if scheduler is None:
        from .pool import Pool

        return Pool(jobs, device, sandbox, learnt, tell)
    try:
        from .cluster import Cluster
    except ImportError as missing:
        raise UsageError(
            f"--scheduler needs Dask, and the package {missing.name} is not installed: "
            "`pip install distributed`, of the same version as on the workers."
        ) from None
    return Cluster(scheduler, device, sandbox, tell, ahead)


@contextlib.contextmanager
def locked(root: StrPath, assignment: str) -> Iterator[None]:
    """Keep other runs off this assignment. The lock is released when the process ends. Raises UsageError.

    Runs on different assignments share only the gradebook, which allows concurrent use.
    """
    from ..grading.store import FOLDER

    folder = os.path.join(root, FOLDER, "locks")
    os.makedirs(folder, exist_ok=True)
    with open(os.path.join(folder, assignment), "a") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise UsageError(f"Another run is already working on {assignment}: wait for it, or stop it.") from None
        yield


def report_class(
    root: StrPath, assignment: Assignment, jobs: int, only_by_hand: bool = False, formgrader: str = ""
) -> int:
    """Write feedback/ and reports/ for an assignment; returns the exit code.

    `only_by_hand`: only the page of answers to be graded by hand, with links to the Formgrader at that address.
    """
    from ..grading.rounds import Rounds
    from ..grading.store import Store
    from ..groups import grouping as groups
    from ..nbgrader import by_hand, penalties
    from ..nbgrader.members import roster_of
    from ..nbgrader.runs import NbgraderCourse
    from ..report import class_report as reports
    from ..report.gradebook_marks import again_sentence, totals_sentence, waiting_sentence
    from ..report.outcome_text import name_of
    from . import feedback_pool

    results = Store(root)
    graded = results.students(assignment.name)
    if not graded:
        raise UsageError(f"Nothing of {assignment.name} is graded yet: run `autograder grade` first.")
    runs = NbgraderCourse(root)
    penalties.settle(runs, assignment)
    roster = roster_of(runs, results, assignment)
    students = sorted([one.student for one in (*roster.members, *roster.excused) if one.standing])
    lost = 0
    if not only_by_hand:
        Rounds(results, assignment.name).give_out()
        written = feedback_pool.feedback(root, assignment.name, students, jobs)
        with contextlib.closing(written):
            for student, problem, is_written in (bar := progress("feedback", written, len(students))):
                if problem:
                    bar.write(f"autograder: {name_of(student)}: {name_of(problem)}", file=sys.stderr)
                lost += not is_written
        examples = functools.partial(groups.examples, root, assignment)
        path = reports.write(root, assignment, results.each(assignment.name), roster, examples)
        print(
            f"feedback/STUDENT/{assignment.name}/{assignment.name}.html and {os.path.relpath(path, root)} are written"
        )
        if gone := sorted(set(graded) - set(students)):
            print(f"left out, because the gradebook has nothing for them: {', '.join(map(name_of, gone))}")
    page = by_hand.write(root, assignment, roster, formgrader or by_hand.running_formgrader(root))
    print(f"{os.path.relpath(page, root)} is written{'' if roster.waiting else ': no answer waits'}")
    counted = {one.student: one.standing for one in roster.members if one.standing}
    excused = {one.student: one.standing for one in roster.excused if one.standing}
    for said in (totals_sentence({**counted, **excused}), waiting_sentence(counted), again_sentence(counted)):
        if said:
            print(said)
    return 2 if lost else 0


def progress(what: str, items: Iterable[T], total: int | None = None) -> tqdm[T]:
    """The items, with a progress bar on stderr if that is a terminal: how many are done, the rate, the time left."""
    from tqdm import tqdm

    return tqdm(items, what, total=total, file=sys.stderr, disable=None, leave=False)
