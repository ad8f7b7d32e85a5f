"""What one more submission of a class costs, right or mixed: `python benchmarks/one_more.py [NN ...] [--number N]`.

Of every assignment a class is graded with one warm sandbox, on the same inputs: first MET mixed submissions, which fill
the store of what mistakes do, then N right ones and N other mixed ones. In a mixed one every exercise is right or wrong
with equal chances (classes.py); each submission is drawn by a seed of its own, so that all runs have the same ones.
Prints CPU seconds of the grading processes and the sandbox together: the mean with its 95% interval, the median, the
95th percentile, and the dearest submission with what it was dear for, as `AUTOGRADER_COSTS` tells it. These do not
depend much on what else the machine does, but on a full one they are up to 1.5 times as large.

`--against REV` grades the same submissions with the kit of another commit as well, one here and one there in turn, and
prints both means and how they differ.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

os.environ.setdefault("OMP_NUM_THREADS", "1")  # before torch, as `autograder` itself does

import classes
import measuring

from autograder import course
from autograder.grading.apart import GraderApart
from autograder.submission import read, restore

SEED = 1
AGAIN = 3  # right ones after that, before those that count: what is asked for at once is prepared at the first
MET = 20  # mixed submissions before those that count
NUMBER = 100  # that count, of each kind
KINDS = "right", "mixed"
HEAD = ["assignment", "kind", "mean", "median", "95%", "dearest", "for"]
AGAINST = ["assignment", "kind", "there", "here", "here / there"]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("assignments", nargs="*", metavar="NN", help="default: all")
    parser.add_argument("--number", type=int, default=NUMBER, metavar="N", help=f"of each kind (default: {NUMBER})")
    parser.add_argument("--met", type=int, default=MET, metavar="N", help=f"before them (default: {MET})")
    parser.add_argument("--against", metavar="REV", help="another commit, to be measured in turn with this tree")
    parser.add_argument("--serve", action="store_true", help=argparse.SUPPRESS)
    options = measuring.options(parser, assignments=["01"], number=2, met=1)
    chosen = [course.find_assignment(name) for name in options.assignments] or list(course.assignments().values())
    if options.serve:
        serve(chosen[0])
        return
    with contextlib.ExitStack() as stack:
        there = options.against and stack.enter_context(measuring.worktree(options.against))
        rows = []
        for assignment in chosen:
            rows += compared(assignment, there, options) if there else measured(assignment, options)
            measuring.say("\n".join("  " + " | ".join(row) for row in rows[-len(KINDS) :]))
    measuring.report(
        f"One more submission, CPU seconds ({options.number} of each kind, after {options.met} mixed ones)",
        AGAINST if there else HEAD,
        rows,
        f"{classes.MAKE_OF_ANY}.",
        *([f"There: {options.against}, graded in turn with this tree; intervals of 95%."] if there else []),
    )


def numbers(options: argparse.Namespace) -> Iterator[tuple[str, list[int]]]:
    """Each kind, and the numbers of its submissions that count; those below MET + AGAIN come before."""
    first = options.met + AGAIN
    for place, kind in enumerate(KINDS):
        yield kind, [first + place * options.number + each for each in range(options.number)]


def measured(assignment: course.Assignment, options: argparse.Namespace) -> list[list[str]]:
    """The lines of the table for an assignment."""
    rows = []
    with tempfile.TemporaryDirectory(prefix="benchmark-") as folder, grader_of(Path(folder)) as grader:
        warm_up(grader, assignment, options.met)
        for kind, counted in numbers(options):
            found = [cost(grader, assignment, kind, number) for number in counted]
            dearest, causes = max(found, key=lambda one: one[0])
            spent = measuring.Summary.of([seconds for seconds, _ in found])
            rows.append([assignment.name[:2], kind, *spent.cells(), f"{dearest:.2f}", causes])
    return rows


def grader_of(folder: Path) -> GraderApart:
    """A grader that counts what it does, if its kit knows how: older ones do not."""
    try:
        from autograder.grading.ledger import Ledger
    except ImportError:
        return GraderApart(learnt=folder)
    return GraderApart(learnt=folder, ledger=Ledger(Path(os.devnull)))


def warm_up(grader: GraderApart, assignment: course.Assignment, met: int) -> None:
    """Grade what a class has had before."""
    grader.parent.start()
    for number in range(met):
        cost(grader, assignment, "mixed", number)
    grader.learn(assignment.name, SEED)  # what is asked of every submission, as a batch does after some of them
    for number in range(met, met + AGAIN):
        cost(grader, assignment, "right", number)


def cost(grader: GraderApart, assignment: course.Assignment, kind: str, number: int) -> tuple[float, str]:
    """(CPU seconds that one submission takes, what it is dearest for, if that is known)."""
    (made,) = classes.drawn(1, kind, first=number, names=[assignment.name])
    data = json.dumps(made.notebook).encode()
    before = cpu_of_all(grader)
    cells = restore.restore(read.read_notebook(data), assignment.cells, assignment)
    graded = grader.grade_cells(cells, assignment.exercises, SEED, made.student, assignment.name)
    return cpu_of_all(grader) - before, cause(getattr(graded, "costs", []), made.answers)


def cause(lines: Sequence[Mapping[str, Any]], answers: Mapping[str, str]) -> str:
    """What a submission was dearest for, by its costs: the exercise, where its answer comes from, and the stage."""
    stages = [
        (spent.get("cpu_grading", 0.0) + spent.get("cpu_sandbox", 0.0), stage, line.get("exercise", ""))
        for line in lines
        for stage, spent in line["stages"].items()
    ]
    if not stages:
        return ""
    seconds, stage, exercise = max(stages)
    whose = f"`{exercise}`, {answers.get(exercise, 'its own')}: " if exercise else ""
    return f"{whose}{stage} {seconds:.2f} s"


def cpu_of_all(grader: GraderApart) -> float:
    """The CPU seconds of this process, those that grade or have graded, the warm parent, and what that waited for."""
    fields = Path(f"/proc/{parent_of(grader.parent.process)}/stat").read_text().rpartition(")")[2].split()
    ended = resource.getrusage(resource.RUSAGE_CHILDREN)
    apart = measuring.cpu_of(grader.process.id) if grader.process else 0.0
    of_sandbox = sum(map(int, fields[11:15])) / measuring.TICK
    return time.process_time() + ended.ru_utime + ended.ru_stime + apart + of_sandbox


def parent_of(process: subprocess.Popen[bytes]) -> int:
    """The warm parent: the process that bubblewrap's own process ended in starting."""
    pid = process.pid
    while children := Path(f"/proc/{pid}/task/{pid}/children").read_text().split():
        pid = int(children[0])
    return pid


# --- two trees in turn ------------------------------------------------------------------------------


def compared(assignment: course.Assignment, there: Path, options: argparse.Namespace) -> list[list[str]]:
    """The lines of the table for an assignment, of another tree and this one."""
    rows = []
    with Served(there, assignment) as other, Served(measuring.ROOT, assignment) as this:
        for one in (other, this):
            one.ask("warm", options.met)
        for kind, counted in numbers(options):
            pairs = []
            for number in counted:
                in_turn = (other, this) if number % 2 else (this, other)
                spent = {one: one.ask(kind, number) for one in in_turn}
                pairs.append((spent[other], spent[this]))
            rows.append([assignment.name[:2], kind, *difference(pairs)])
    return rows


def difference(pairs: Sequence[tuple[float, float]]) -> list[str]:
    """The cells of (there, here): both means, and their ratio, with an interval by the differences of the pairs."""
    before, after = (measuring.Summary.of(side) for side in zip(*pairs, strict=True))
    change = measuring.Summary.of([here - there for there, here in pairs])
    ratio = f"{after.mean / before.mean:.3f} ± {change.within / before.mean:.3f}"
    return [before.cells()[0], after.cells()[0], ratio]


class Served:
    """This program with the kit of some tree, which grades what it is asked to."""

    def __init__(self, tree: Path, assignment: course.Assignment) -> None:
        command = [sys.executable, __file__, assignment.name, "--serve"]
        pipes: dict[str, Any] = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
        self.process = subprocess.Popen(command, cwd=tree, env=classes.environment(tree), **pipes)

    def __enter__(self) -> Served:
        return self

    def __exit__(self, *exc: object) -> None:
        self.process.communicate()

    def ask(self, kind: str, number: int) -> float:
        """The CPU seconds that a submission of this kind and number takes; of "warm", those of what comes before."""
        assert self.process.stdin and self.process.stdout
        self.process.stdin.write(f"{kind} {number}\n")
        self.process.stdin.flush()
        answer = self.process.stdout.readline()
        if not answer:
            raise SystemExit(f"one_more: the kit in {self.process.args} could not be measured: see above.")
        return float(answer)


def serve(assignment: course.Assignment) -> None:
    """Answer what `Served.ask` asks, until nobody does."""
    with tempfile.TemporaryDirectory(prefix="benchmark-") as folder, GraderApart(learnt=Path(folder)) as grader:
        for line in iter(sys.stdin.readline, ""):
            kind, number = line.split()
            if kind == "warm":
                spent = warm_up(grader, assignment, int(number)) or 0.0
            else:
                spent, _ = cost(grader, assignment, kind, int(number))
            print(spent, flush=True)


if __name__ == "__main__":
    main()
