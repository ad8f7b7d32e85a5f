"""What grading one submission costs, and where it goes: `python benchmarks/one_submission.py [--runs N]`.

Grades the solutions and the release N times each with one warm sandbox, and prints medians. The sandbox's and the
misconceptions' one-time costs are printed apart.
"""

import argparse
import resource
import statistics
import time
from collections import defaultdict
from pathlib import Path

from autograder import course, grading
from autograder.graders.session import Graders
from autograder.grading import Grader, Workspace
from autograder.sandbox.warm import Child, WarmParent

SPENT = defaultdict(float)


def timed(owner, name, stage):
    """Add up the wall time that calls of `owner.name` take, under `stage`."""
    plain = getattr(owner, name)

    def with_clock(*args, **kwargs):
        started = time.perf_counter()
        try:
            return plain(*args, **kwargs)
        finally:
            SPENT[stage] += time.perf_counter() - started

    setattr(owner, name, with_clock)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--runs", type=int, default=20)
    runs = parser.parse_args().runs
    timed(WarmParent, "fork", "fork and lock")
    timed(Workspace, "run", "fork, lock and cells")
    timed(Graders, "run", "checks")
    timed(Child, "request", "in the child, and on the wire")
    timed(Child, "kill", "end the child")

    root = course.root()
    name = next(iter(course.assignments()))
    files = [root / folder / name / f"{name}.ipynb" for folder in ("solutions", "release")]
    used = []
    close = Workspace.close

    def close_and_note(workspace):
        close(workspace)
        used.append(workspace.used)

    Workspace.close = close_and_note
    started = time.perf_counter()
    with Grader() as grader:
        grader.parent.start()
        print(f"start of the sandbox and the graders: {time.perf_counter() - started:.2f} s, once")
        for path in files:
            report(grader, path, runs, used)
    print(f"memory of the grading process: {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024:.0f} MB")


def report(grader, path: Path, runs, used):
    seed = grading.new_seed()
    started = time.perf_counter()
    grader.grade_file(path, seed=seed)
    first = time.perf_counter() - started
    walls, cpus, stages = [], [], defaultdict(list)
    for _ in range(runs):
        SPENT.clear()
        wall, cpu = time.perf_counter(), time.process_time()
        grader.grade_file(path, seed=seed)
        walls.append(time.perf_counter() - wall)
        cpus.append(time.process_time() - cpu)
        for stage, seconds in SPENT.items():
            stages[stage].append(seconds)
    child = statistics.median(u["cpu"] for u in used[-runs:])
    memory = max(u["memory"] for u in used[-runs:]) / 2**20
    print(f"\n{path.parent.parent.name} (median of {runs}; the first, with its misconceptions: {first * 1000:.0f} ms)")
    print(f"  wall {1000 * statistics.median(walls):6.0f} ms")
    print(f"  CPU  {1000 * statistics.median(cpus):6.0f} ms in the grading process, {1000 * child:.0f} ms in the child")
    print(f"  memory of the child {memory:.0f} MB, most of it shared with the warm parent")
    for stage, values in sorted(stages.items(), key=lambda item: -statistics.median(item[1])):
        print(f"  {stage:<30} {1000 * statistics.median(values):6.0f} ms")


if __name__ == "__main__":
    main()
