"""What one more submission of a class costs, right or mixed: `python benchmarks/one_more.py [NN ...] [--number N]`.

Of every assignment a class is graded with one warm sandbox, on the same inputs: first MET mixed submissions, which fill
the store of what mistakes do, then N right ones and N other mixed ones. In a mixed one every exercise is right or wrong
with equal chances (classes.py). Prints means of CPU seconds, of the grading processes and the sandbox together. These
do not depend much on what else the machine does, but on a full one they are up to 1.5 times as large.
"""

import argparse
import functools
import json
import mmap
import os
import struct
import tempfile
import time
from pathlib import Path

os.environ.setdefault("OMP_NUM_THREADS", "1")  # before torch, as `autograder` itself does

import classes
import measuring

from autograder import course
from autograder.grading.apart import GraderApart
from autograder.submission import read, restore

SEED = 1
AGAIN = 3  # right ones after that, before those that count: what is asked for at once is prepared at the first
MET = 20  # mixed submissions before those that count


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("assignments", nargs="*", metavar="NN", help="default: all")
    parser.add_argument("--number", type=int, default=10, metavar="N", help="of each kind (default: 10)")
    parser.add_argument("--met", type=int, default=MET, metavar="N", help=f"before them (default: {MET})")
    options = parser.parse_args()
    chosen = [course.find_assignment(name) for name in options.assignments] or list(course.assignments().values())
    rows = []
    with tempfile.TemporaryDirectory(prefix="benchmark-") as folder:
        for assignment in chosen:
            rows.append(row(assignment, Path(folder), options.met, options.number))
            measuring.say("  " + " | ".join(rows[-1]))
    measuring.report(
        f"One more submission, CPU seconds (means of {options.number}, after {options.met} mixed ones)",
        ["assignment", "right", "mixed", "mixed / right", "of it the diagnosis", f"the first {options.met}, each"],
        rows,
        f"{classes.MAKE_OF_ANY}.",
    )


def row(assignment, folder, met, number):
    """A line of the table."""
    with GraderApart(learnt=folder) as grader:
        grader.parent.start()
        spent = Spent()
        grader.diagnostician.diagnose = timed(grader.diagnostician.diagnose, spent)
        grade = functools.partial(cost, grader, assignment)
        first = grade("mixed", 0, met)
        grader.learn(assignment.name, SEED)  # what is asked of every submission, as a batch does after some of them
        grade("right", met, AGAIN)
        right = grade("right", met + AGAIN, number)
        spent.seconds = 0.0
        mixed = grade("mixed", met + AGAIN + number, number)
    return [
        assignment.name[:2],
        f"{right:.2f}",
        f"{mixed:.2f}",
        f"{mixed / right:.2f}",
        f"{spent.seconds / number:.2f}",
        f"{first:.2f}",
    ]


def cost(grader, assignment, kind, first, number):
    """The CPU seconds that each of `number` submissions takes, the mean."""
    made = list(classes.submissions(number, kind, first=first, names=[assignment.name]))
    before = cpu_of_all(grader)
    for student, _, notebook in made:
        cells = restore.restore(read.read_notebook(json.dumps(notebook).encode()), assignment.cells, assignment)
        grader.grade_cells(cells, assignment.exercises, SEED, student, assignment.name)
    return (cpu_of_all(grader) - before) / number


def cpu_of_all(grader):
    """The CPU seconds of this process, the one that grades, the warm parent, and the children that it waited for."""
    fields = Path(f"/proc/{parent_of(grader.parent.process)}/stat").read_text().rpartition(")")[2].split()
    apart = grader.process.cpu() if grader.process else 0.0
    return time.process_time() + apart + sum(map(int, fields[11:15])) / os.sysconf("SC_CLK_TCK")


class Spent:
    """Seconds that two processes add up, in memory that they share."""

    def __init__(self):
        self.memory = mmap.mmap(-1, mmap.PAGESIZE)

    @property
    def seconds(self):
        return struct.unpack_from("d", self.memory)[0]

    @seconds.setter
    def seconds(self, value):
        struct.pack_into("d", self.memory, 0, value)


def timed(diagnose, spent):
    """The same function, which adds up the CPU seconds that it takes in `spent`."""

    def and_note(run):
        began = time.process_time()
        try:
            return diagnose(run)
        finally:
            spent.seconds += time.process_time() - began

    return and_note


def parent_of(process):
    """The warm parent: the process that bubblewrap's own process ended in starting."""
    pid = process.pid
    while children := Path(f"/proc/{pid}/task/{pid}/children").read_text().split():
        pid = int(children[0])
    return pid


if __name__ == "__main__":
    main()
