"""What one submission costs, against the least that it could: `python benchmarks/floor.py [--submissions N] …`.

The floor is a fork of a warm process that runs the same cells with `exec` and the same checks on what they defined:
no isolation, no wire, no pytest session, no diagnosis, no record, no gradebook. It is measured twice: on the inputs
that the process warmed up with, so that the fork inherits whatever the reference remembers of them, and on inputs that
are new to it. Against the first stand a worker of this kit (sandbox, graders, diagnosis, verdict) and the whole command
with the gradebook, from two classes of different size. All is CPU of all processes, user and system, after everything
was used once. Right and wrong submissions apart.
"""

import argparse
import contextlib
import io
import json
import multiprocessing
import os
import resource
import tempfile
import traceback
from dataclasses import dataclass
from pathlib import Path

os.environ["OMP_NUM_THREADS"] = "1"

import classes  # noqa: E402
import measuring  # noqa: E402
import plain  # noqa: E402

from autograder import course
from autograder.batch import tasks  # noqa: E402
from autograder.grading.grader import Grader  # noqa: E402

SEED = plain.SEED
WARM = 70  # submissions, of other numbers than those that are measured
SMALL = 70
HEADER = ["submissions", "floor", "floor, new inputs", "", "worker", "", "command, one more", ""]


@dataclass
class Work:
    """A submission's cells as the floor runs them: texts, and at their places the exercises to be checked."""

    cells: list
    exercises: list


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--submissions", type=int, default=140, metavar="N", help="of each kind (default: 140)")
    parser.add_argument("--rounds", type=int, default=3, metavar="N", help="of floor and worker in turn (default: 3)")
    parser.add_argument("--no-command", action="store_true", help="leave out the whole command")
    parser.add_argument("--only", nargs="+", metavar="NN", help="assignments (default: all)")
    parser.add_argument("--warm", type=int, default=WARM, metavar="N", help=f"before these (default: {WARM})")
    options = measuring.options(parser, submissions=2, rounds=1, warm=1, only=["01"], no_command=True)
    names = [course.find_assignment(name).name for name in options.only or course.assignments(classes.ROOT)]
    os.chdir(classes.ROOT)
    rows = []
    with contextlib.ExitStack() as stack:
        floor = stack.enter_context(multiprocessing.get_context("spawn").Pool(1, warm_up, (names,)))
        grader = stack.enter_context(Grader())
        for kind in ("right", "wrong"):
            measuring.say(f"{kind} submissions: the floor and a worker in turn ...")
            rows.append([kind, *compare(floor, grader, kind, names, options)])
    if not options.no_command:
        for found, kind in zip(rows, ("right", "wrong"), strict=True):
            measuring.say(f"{kind} submissions: whole commands ...")
            found.append(of_command(kind, options.submissions, names))
    measuring.report(
        f"CPU of one submission (`autograder`, {options.submissions} of each kind)",
        HEADER[: 2 * len(rows[0]) - 2],
        [as_row(*found) for found in rows],
        "The floor: a fork of a warm process, the cells by `exec`, the checks by a plain function, on inputs whose"
        " reference values the process remembers; then on new inputs. The worker: the sandbox, the graders, the"
        " diagnosis and the verdict, without a gradebook, on known inputs. The command: what a class costs beyond one"
        f" of {SMALL}, for each submission that it has more, gradebook included. × is against the floor.",
    )


def compare(floor, grader, kind, names, options):
    """CPU seconds of one submission on the floor, there with new inputs, and in a worker: the best round of each."""
    for task in made(kind, options.warm, names, first=options.submissions):
        floor.apply(on_the_floor, ([work_of(task)], SEED))
        tasks.grade(grader, task)
    given = list(made(kind, options.submissions, names))
    works = [work_of(task) for task in given]
    rounds = []
    for number in range(options.rounds):
        known, scores = floor.apply(on_the_floor, (works, SEED))
        new, _ = floor.apply(on_the_floor, (works, SEED + 1 + number))
        before = measuring.cpu_of_tree(os.getpid())
        graded = [tasks.grade(grader, task) for task in given]
        worker = measuring.cpu_of_tree(os.getpid()) - before
        rounds.append([seconds / len(given) for seconds in (known, new, worker)])
        measuring.say("  floor, with new inputs, worker: " + ", ".join(map(milliseconds, rounds[-1])))
    same = [
        abs(score - sum(e.score for e in g.verdict.exercises)) < 1e-9 for score, g in zip(scores, graded, strict=True)
    ]
    measuring.say(f"  {sum(same)} of {len(same)} submissions have the same score on both sides")
    return [min(found) for found in zip(*rounds, strict=True)]


def made(kind, number, names, first=0):
    """Tasks of submissions, as a worker gets them."""
    for student, name, notebook in classes.submissions(number, kind, bare=True, first=first, names=names):
        yield tasks.Task(student, student, json.dumps(notebook).encode(), name, SEED)


def of_command(kind, number, names):
    """CPU seconds of one submission more in `autograder grade`, gradebook included."""
    with tempfile.TemporaryDirectory(prefix="benchmark-") as folder:
        built = classes.build(Path(folder) / "built", names)
        sizes = SMALL, SMALL + number
        places = [classes.with_class(built, Path(folder) / str(n), n, kind, names=names) for n in sizes]
        costs = [classes.grade(place, "--jobs", "2").cpu for place in places]
    return (costs[1] - costs[0]) / number


def as_row(kind, floor, *others):
    """A line of the table."""
    cells = [kind, milliseconds(floor)]
    for seconds in others:
        cells += [milliseconds(seconds), f"{seconds / floor:.2f} ×"]
    return cells


def milliseconds(seconds):
    return f"{1000 * seconds:.0f} ms"


# --- the floor --------------------------------------------------------------------------------------


def work_of(task):
    """What the floor runs of a task."""
    cells, exercises = [], []
    for cell in tasks.cells(task):
        if cell.exercise:
            exercises.append((len(cells), cell.exercise))
        elif cell.runs:
            cells.append(cell.source)
    return Work(cells, exercises)


def warm_up(names):
    """Run the solutions in the floor's process, so that whatever is made once is made."""
    import gc

    for name in names:
        data = (classes.ROOT / "solutions" / name / f"{name}.ipynb").read_bytes()
        score_of(work_of(tasks.Task("", "", data, name, SEED)), SEED)
    gc.collect()
    gc.freeze()


def on_the_floor(works, seed):
    """(CPU seconds of all, their scores): a fork for each, with its cells and its checks."""
    before, scores = spent(), []
    for work in works:
        ours, theirs = os.pipe()
        pid = os.fork()
        if not pid:
            try:
                os.write(theirs, json.dumps(score_of(work, seed)).encode())
            except BaseException:
                traceback.print_exc()
            finally:
                os._exit(0)
        os.close(theirs)
        with os.fdopen(ours) as answer:
            scores.append(json.loads(answer.read() or "NaN"))
        os.waitpid(pid, 0)
    return spent() - before, scores


def score_of(work, seed):
    """Run the cells and, at their places, the checks: the points of a submission."""
    namespace, points = {"__name__": "__main__"}, 0.0
    with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
        for number, text in enumerate([*work.cells, ""]):
            for place, exercise in work.exercises:
                if place == number:
                    points += plain.score(exercise, namespace, work.cells[:number], seed)
            with contextlib.suppress(Exception):
                exec(compile(text, f"cell {number}", "exec"), namespace)
    return points


def spent():
    """CPU seconds of this process and of its children that have ended."""
    both = resource.getrusage(resource.RUSAGE_SELF), resource.getrusage(resource.RUSAGE_CHILDREN)
    return sum(usage.ru_utime + usage.ru_stime for usage in both)


if __name__ == "__main__":
    main()
