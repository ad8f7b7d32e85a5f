"""What grading one submission costs, stage by stage: `python benchmarks/one_submission.py [NN ...] [--runs N]`.

For every assignment a right submission (the solution) and then a wrong one (a student of the demo's class) are graded
with one warm sandbox: twice (which pays what a batch pays once), then N times on the same inputs. Prints means per
submission as Markdown: CPU time of the grading process and of the sandbox (its warm parent and the child, looked at
from outside), and wall time.
"""

import argparse
import functools
import importlib
import json
import os
import pkgutil
import resource
import time
from collections import Counter, defaultdict
from pathlib import Path

os.environ.setdefault("OMP_NUM_THREADS", "1")  # before torch, as `autograder` itself does

from autograder import course
from autograder.checks.runner import Graders
from autograder.demo import run
from autograder.exercises import reference
from autograder.grading.blame import Blame
from autograder.grading.grader import Grader, Workspace
from autograder.grading.seeds import new_seed
from autograder.sandbox import child as talk
from autograder.sandbox import parent as warm
from autograder.sandbox.inside import wire
from autograder.submission import read, restore
from autograder.verdict import Verdict

WRONG = "farid"  # whose mistakes are all in the values, in every assignment
HERE = ("read", "restore", "fork and lock", "cells", "wire", "graders", "reference", "diagnosis", "verdict", "end")
INSIDE = ("fork, end (parent)", "lock", "cells", "checks")


class Clock:
    """Charges the time that passes to the stage that was entered last, of those not yet left."""

    def __init__(self):
        self.stack = ["rest"]
        self.cpu, self.wall = Counter(), Counter()
        self.last = self.now()

    @staticmethod
    def now():
        return time.process_time(), time.perf_counter()

    def charge(self):
        now = self.now()
        self.cpu[self.stack[-1]] += now[0] - self.last[0]
        self.wall[self.stack[-1]] += now[1] - self.last[1]
        self.last = now

    def stage(self, owner, name, stage):
        """Let calls of `owner.name` be charged to `stage`; what a diagnosis calls is charged to the diagnosis."""
        plain = getattr(owner, name)

        def with_clock(*args, **kwargs):
            self.charge()
            self.stack.append("diagnosis" if "diagnosis" in self.stack else stage)
            try:
                return plain(*args, **kwargs)
            finally:
                self.charge()
                self.stack.pop()

        setattr(owner, name, with_clock)


class Inside:
    """The CPU time of the warm parent and of its child at the marks of a submission's way."""

    def __init__(self):
        self.spent = Counter()
        self.child = None
        self.seen = 0.0
        self.begun = False
        for owner, name, stage in ((talk.Child, "greeted", "lock"), (Workspace, "run", "cells")):
            self.mark(owner, name, stage)
        kill = talk.Child.kill

        def kill_and_note(child):
            ended = kill(child)
            if ended and self.child:
                self.spent["checks"] += ended["cpu"] - self.seen
                self.child = None
            return ended

        talk.Child.kill = kill_and_note

    def mark(self, owner, name, stage):
        """When `owner.name` returns, what the child has used since the last mark was for `stage`."""
        plain = getattr(owner, name)

        def and_mark(this, *args):
            result = plain(this, *args)
            if stage == "lock":
                self.child, self.seen = pid_of(this.pidfd), 0.0
            spent = cpu_of(self.child)
            self.spent[stage if stage == "lock" or not self.begun else "checks"] += spent - self.seen
            self.begun = stage != "lock"
            self.seen = spent
            return result

        setattr(owner, name, and_mark)


def cpu_of(pid):
    """The CPU time that a process has used, in seconds."""
    try:
        return int(Path(f"/proc/{pid}/schedstat").read_text().split()[0]) / 1e9
    except OSError:
        return 0.0


def pid_of(pidfd):
    """The process that a pidfd is of."""
    lines = Path(f"/proc/self/fdinfo/{pidfd}").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("Pid:"))


def parent_of(process):
    """The warm parent: the process that bubblewrap's own process ended in starting."""
    pid = process.pid
    while children := Path(f"/proc/{pid}/task/{pid}/children").read_text().split():
        pid = int(children[0])
    return pid


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("assignments", nargs="*", metavar="NN")
    parser.add_argument("--runs", type=int, default=10)
    options = parser.parse_args()
    chosen = [course.find_assignment(name) for name in options.assignments] or list(course.assignments().values())
    clock, inside = Clock(), Inside()
    put_clocks(clock)
    started = time.perf_counter(), time.process_time()
    with Grader() as grader:
        grader.parent.start()
        parent = parent_of(grader.parent.process)
        wall, cpu = time.perf_counter() - started[0], time.process_time() - started[1]
        print(f"Start of the sandbox and the graders, once: {wall:.1f} s;", end=" ")
        print(f"CPU {cpu:.1f} s here, {cpu_of(parent):.1f} s inside.\n")
        columns = {}
        for assignment in chosen:
            seed = new_seed()
            learn_once = functools.cache(functools.partial(grader.learn, assignment.name, seed))
            for kind, data in submissions(assignment).items():
                grade = grading_of(grader, assignment, data, seed)
                measured = measure(grade, learn_once, options.runs, clock, inside, parent)
                columns[f"{assignment.name[:2]} {kind}"] = measured
    show(columns)
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(f"Memory of the grading process at the end: {memory:.0f} MB.")


def put_clocks(clock):
    """Take the time of every stage in the grading process."""
    for owner, name, stage in (
        (read, "read_notebook", "read"),
        (restore, "restore", "restore"),
        (warm.WarmParent, "fork", "fork and lock"),
        (Workspace, "run", "cells"),
        (Graders, "run", "graders"),
        (Blame, "_diagnose", "diagnosis"),
        (Verdict, "to_json", "verdict"),
        (talk.Child, "kill", "end"),
    ):
        clock.stage(owner, name, stage)
    for name in ("pack", "unpack", "send_frame", "receive_frame"):
        clock.stage(wire, name, "wire")
    clock.stage(wire, "_read", "waiting for the child")
    for module in pkgutil.iter_modules(reference.__path__):
        module = importlib.import_module(f"{reference.__name__}.{module.name}")
        for name, value in list(vars(module).items()):
            if callable(value) and getattr(value, "__module__", "") == module.__name__ and not isinstance(value, type):
                clock.stage(module, name, "reference")


def submissions(assignment):
    """The bytes of a right notebook and of a wrong one."""
    right = course.root() / "solutions" / assignment.name / f"{assignment.name}.ipynb"
    release = course.root() / "release" / assignment.name / f"{assignment.name}.ipynb"
    student = next(s for s in run.read_class(assignment) if s.name == WRONG)
    wrong = run.fill_in(json.loads(release.read_text(encoding="utf-8")), student)
    return {"right": right.read_bytes(), "wrong": json.dumps(wrong).encode()}


def grading_of(grader, assignment, data, seed):
    """What is measured: from a notebook's bytes to its verdict, on inputs that stay the same."""

    def grade():
        cells = restore.restore(read.read_notebook(data), assignment.cells, assignment)
        grader.grade_cells(cells, assignment.exercises, seed, "", assignment.name).verdict.to_json()

    return grade


def measure(grade, learn, runs, clock, inside, parent):
    """Means per submission in seconds: {"first": …, "cpu": {stage: …}, "inside": {stage: …}, "wall": {stage: …}}."""

    def total():
        return time.process_time() + sum(inside.spent.values()) + cpu_of(parent)

    before = total()
    grade()
    first = total() - before
    learn()  # what is asked of every submission, as a batch does after some of them
    grade()
    inside.spent.clear()
    clock.charge()
    clock.cpu.clear(), clock.wall.clear()
    before = cpu_of(parent)
    for _ in range(runs):
        grade()
    clock.charge()
    inside.spent["fork, end (parent)"] = cpu_of(parent) - before
    mean = lambda counts: {stage: seconds / runs for stage, seconds in counts.items()}  # noqa: E731
    return {"first": first, "cpu": mean(clock.cpu), "inside": mean(inside.spent), "wall": mean(clock.wall)}


def show(columns):
    """Print the measurements as Markdown tables, in milliseconds."""
    tables = (
        ("CPU", [("cpu", s) for s in (*HERE, "rest")] + [("inside", s) for s in INSIDE]),
        ("Wall time", [("wall", s) for s in (*HERE, "rest", "waiting for the child")]),
    )
    for title, rows in tables:
        print(f"{title}, milliseconds per submission:\n")
        print("| stage | " + " | ".join(columns) + " | mean |")
        print("|---|" + "---:|" * (len(columns) + 1))
        sums = defaultdict(float)
        for table, stage in rows:
            values = [1000 * column[table].get(stage, 0.0) for column in columns.values()]
            for name, value in zip(columns, values, strict=True):
                sums[name] += value
            print_row(f"sandbox: {stage}" if table == "inside" else stage, values)
        print_row("**sum**", list(sums.values()))
        if title == "CPU":
            print_row("the first one of a batch", [1000 * column["first"] for column in columns.values()])
        print()


def print_row(name, values):
    cells = " | ".join(f"{value:.1f}" if value < 9.95 else f"{value:.0f}" for value in values)
    print(f"| {name} | {cells} | {sum(values) / len(values):.1f} |")


if __name__ == "__main__":
    main()
