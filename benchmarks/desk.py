"""The desk under load, beside `autograder grade` on the same hand-ins: `python benchmarks/desk.py --students 200`.

Needs locust (`pip install locust`), which plays the students: all hand in 02 within `--seconds`, each a notebook of its
own. Printed are the seconds until receipts and verdicts, when the last verdict came after the first hand-in, the memory
of the desk, and what `grade` takes for the same class with as many workers. Before that, one student alone.
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

import classes
import measuring
import psutil

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT / "tests"), str(ROOT / "tests" / "support")]
NAME = "02_queries_keys_values"
ALONE = 5  # hand-ins of one student on an idle desk


def main():
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--students", type=int, default=200)
    options.add_argument("--seconds", type=float, default=60.0, help="within which all hand in")
    options.add_argument("--jobs", type=int, default=2)
    options.add_argument("--no-grade", action="store_true", help="without `grade` for comparison")
    given = options.parse_args()
    import desks

    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder, "course")
        classes.run.make_folder(ROOT, place)
        built = measuring.run([sys.executable, "-m", "autograder", "build", NAME], place, classes.ENVIRONMENT)
        assert built.code == 0, built.output
        notebooks = Path(folder, "notebooks")
        notebooks.mkdir()
        for student, _, notebook in classes.submissions(given.students, names=(NAME,)):
            (notebooks / f"{student}.ipynb").write_text(json.dumps(notebook))
        graded = None if given.no_grade else measuring_grade(place, notebooks, given.jobs)
        (place / "gradebook.db").unlink(missing_ok=True)
        desk = desks.Running(place, jobs=given.jobs)
        try:
            alone = Path(folder, "alone")
            alone.mkdir()
            solution = json.loads((place / "solutions" / NAME / f"{NAME}.ipynb").read_text())
            for number in range(ALONE):
                solution["metadata"]["number"] = number
                (alone / f"alone{number}.ipynb").write_text(json.dumps(solution))
            play(desk.url, alone, Path(folder, "warm"), 1, 1.0)
            tell("one hand-in of 02 on an idle desk", one_by_one(desk.url, alone, Path(folder, "one")))
            tell("one exercise (`ask`)", one_by_one(desk.url, alone, Path(folder, "ask"), "attention"))
            found = play(desk.url, notebooks, Path(folder, "all"), given.students, given.students / given.seconds)
            tell(f"{given.students} hand-ins within {given.seconds:g} s", found)
            last = max(one["end"] for one in found) - min(one["begun"] for one in found)
            memory = psutil.Process(desk.process.pid).memory_info().rss / 2**20
            print(f"the last verdict came {last:.1f} s after the first hand-in; the desk itself has {memory:.0f} MB")
            if graded is not None:
                print(f"`grade` took {graded:.1f} s for the same: {last / graded:.2f} times that")
        finally:
            desk.kill()


def measuring_grade(place, notebooks, jobs):
    """The seconds that `grade` takes for the class; the assignment has passed its gate before."""
    for path in notebooks.glob("*.ipynb"):
        target = place / "submitted" / path.stem / NAME / f"{NAME}.ipynb"
        target.parent.mkdir(parents=True)
        target.write_bytes(path.read_bytes())
    first = next(notebooks.glob("*.ipynb")).stem
    command = [sys.executable, "-m", "autograder", "grade", NAME, "--jobs", str(jobs)]
    for arguments in (["--student", first], ["--regrade"]):
        cost = measuring.run([*command, *arguments], place, classes.ENVIRONMENT)
        assert cost.code == 0, cost.output
    return cost.wall


def play(url, notebooks, file, users, rate, exercise=""):
    """Let locust play `users` students, `rate` more in each second; returns what was measured of each."""
    environment = {**os.environ, "NOTEBOOKS": str(notebooks), "ASSIGNMENT": NAME, "EXERCISE": exercise}
    command = [sys.executable, "-m", "locust", "-f", str(Path(__file__).with_name("desk_load.py")), "--headless"]
    command += ["-u", str(users), "-r", str(rate), "-H", url, "--only-summary", "--loglevel", "ERROR"]
    player = subprocess.Popen(
        command, env={**environment, "MEASURED": str(file)}, stdout=subprocess.DEVNULL, stderr=subprocess.STDOUT
    )
    try:
        while True:
            found = file.read_text().splitlines() if file.exists() else []
            if len(found) >= users:
                return [json.loads(line) for line in found[:users]]
            assert player.poll() is None, "locust has ended before all was graded"
            try:
                player.wait(0.5)
            except subprocess.TimeoutExpired:
                continue
    finally:
        player.terminate()
        player.wait()


def one_by_one(url, notebooks, file, exercise=""):
    """What was measured of one student who hands in again and again."""
    found = []
    for number, path in enumerate(sorted(notebooks.glob("*.ipynb"))):
        own = file.with_name(f"{file.name}{number}")
        folder = own.with_suffix(".notebooks")
        folder.mkdir()
        (folder / path.name).write_bytes(path.read_bytes())
        found += play(url, folder, own, 1, 1.0, exercise)
    return found


def tell(what, found):
    """Print the seconds until the receipt, the first exercise and the verdict."""
    print(f"{what} ({len(found)}):", flush=True)
    for kind in ("receipt", "first", "verdict"):
        seconds = sorted(one[kind] for one in found if one[kind] is not None)
        if len(seconds) > 1:
            parts = statistics.quantiles(seconds, n=100, method="inclusive")
            print(f"  {kind}: p50 {parts[49]:.2f}, p95 {parts[94]:.2f}, p99 {parts[98]:.2f}, most {seconds[-1]:.2f} s")


if __name__ == "__main__":
    main()
