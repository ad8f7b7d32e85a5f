"""What feedback and class report cost: `python benchmarks/feedback.py [--students N] [--classes N ...]`.

Grades a class of N once, then writes its feedback with `nbgrader generate_feedback` and with `autograder report`, in
turn, `--runs` times; and writes the class report of classes of made-up verdicts. Prints two Markdown tables.
"""

import argparse
import dataclasses
import json
import os
import random
import resource
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from autograder import course
from autograder.demo import run
from autograder.grading.store import Store
from autograder.report import class_report, gradebook_marks
from autograder.verdict import Check, Diagnosis, Outcome, Verdict

ASSIGNMENT = "02_queries_keys_values"
CHECKS = 20  # of an exercise
SENTENCE = (
    "The weights are finite, sum to 1 over the keys, and are 0 wherever the mask says so, for a batch of any shape."
)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--students", type=int, default=100, help="whose feedback is written")
    parser.add_argument("--runs", type=int, default=3, help="of each way to write it")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--classes", type=int, nargs="*", default=[100, 1000, 10_000], help="students of a report")
    parser.add_argument("--report", metavar="FOLDER", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.report:
        return write_report(Path(options.report))
    with tempfile.TemporaryDirectory() as folder:
        if options.classes:
            class_reports(Path(folder), options.classes)
        if options.students:
            feedback(Path(folder), options.students, options.runs, options.jobs)


# --- feedback -------------------------------------------------------------------------------------


def feedback(folder, students, runs, jobs):
    source = course.root()
    place = folder / "course"
    shutil.copytree(source / "source" / ASSIGNMENT, place / "source" / ASSIGNMENT)
    shutil.copy(source / "nbgrader_config.py", place)
    os.chdir(place)
    autograder = [sys.executable, "-m", "autograder"]
    timed([*autograder, "build"], place)
    assignment = course.find_assignment(ASSIGNMENT, place)
    run.hand_in(place, assignment, made_up_class(assignment, students))
    timed([*autograder, "grade", ASSIGNMENT], place)
    nbgrader = os.path.join(os.path.dirname(sys.executable), "nbgrader")
    ways = {
        "`nbgrader generate_feedback`": [nbgrader, "generate_feedback", ASSIGNMENT],
        "`autograder report --jobs 1`": [*autograder, "report", ASSIGNMENT, "--jobs", "1"],
        f"`autograder report --jobs {jobs}`": [*autograder, "report", ASSIGNMENT, "--jobs", str(jobs)],
    }
    spent = {way: [] for way in ways}
    for _ in range(runs):
        for way, command in ways.items():
            shutil.rmtree(place / "feedback", ignore_errors=True)
            spent[way].append(timed(command, place))
            assert len(list((place / "feedback").rglob("*.html"))) == students, way
    print(f"\n{students} students, median of {runs} runs in turn, start-up included:\n")
    print("| | wall | pages per second | CPU per page |\n|---|---|---|---|")
    for way, runs_of_it in spent.items():
        wall, cpu = (statistics.median(values) for values in zip(*runs_of_it, strict=True))
        print(f"| {way} | {wall:.1f} s | {students / wall:.1f} | {1000 * cpu / students:.0f} ms |")


def made_up_class(assignment, number):
    """Students of the demo's class over and over, each with an answer that nobody else has."""
    usual = [s for s in run.read_class(assignment) if all(e.status == "graded" for e in s.expected.values())]
    for n in range(number):
        one = usual[n % len(usual)]
        cells = tuple((title, f"{text}\n# {n}") for title, text in one.cells)
        yield dataclasses.replace(one, name=f"{one.name}{n:05d}", cells=cells)


def timed(command, place):
    """Run a command; returns its seconds of wall time and of CPU time, its children's included."""
    before, started = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    subprocess.run(command, cwd=place, check=True, capture_output=True)
    wall, after = time.perf_counter() - started, resource.getrusage(resource.RUSAGE_CHILDREN)
    return wall, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


# --- the class report -----------------------------------------------------------------------------


def class_reports(folder, sizes):
    print("| students | verdicts | CPU | peak memory | page |\n|---|---|---|---|---|")
    assignment = course.find_assignment(ASSIGNMENT)
    store = Store(folder)
    draw = random.Random(0)
    size = there = 0
    for students in sorted(sizes):
        for n in range(there, students):
            verdict = made_up_verdict(assignment, draw)
            store.put_latest(ASSIGNMENT, f"student{n:05d}", verdict)
            size += len(verdict.to_json())
        there = max(there, students)
        command = [sys.executable, __file__, "--report", str(folder)]
        done = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
        page = (folder / "reports" / f"{ASSIGNMENT}.html").stat().st_size
        memory = f"{done['before']:.0f} → {done['peak']:.0f} MB"
        print(
            f"| {students} | {size / 1e6:.1f} MB | {done['cpu']:.2f} s | {memory} | {page / 1e6:.2f} MB |", flush=True
        )


def write_report(folder):
    """Write the report of the verdicts in `folder`, and print what that took; a process of its own, for its memory."""
    before = peak()
    assignment, store = course.find_assignment(ASSIGNMENT), Store(folder)
    roster = gradebook_marks.of_verdicts(assignment, store.each(ASSIGNMENT))
    class_report.write(folder, assignment, store.each(ASSIGNMENT), roster)
    print(json.dumps({"before": before, "peak": peak(), "cpu": time.process_time()}))


def peak():
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def made_up_verdict(assignment, draw):
    outcomes = []
    for exercise in assignment.exercises:
        checks = []
        for n in range(CHECKS):
            passed = draw.random() < 0.7
            found = "" if passed else f" The largest difference is {draw.random():.6g} at {draw.randrange(10**6)}."
            points = exercise.points / CHECKS
            checks.append(Check(f"check_{n}", "values", points, passed, f"({n}) {SENTENCE}{found}"))
        named = [Diagnosis("no-scale", "The scores are not scaled.")] if draw.random() < 0.3 else []
        score = sum(c.points for c in checks if c.passed)
        status = draw.choices(["graded", "timeout"], [99, 1])[0]
        outcomes.append(Outcome(exercise.name, score, exercise.points, status, checks, named))
    return Verdict("", outcomes, 1, assignment.name)


if __name__ == "__main__":
    main()
