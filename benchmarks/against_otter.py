"""Submissions per second of this kit and of Otter: `python benchmarks/against_otter.py [--submissions N] [--jobs N]`.

Otter is installed with pip into an environment of its own, in a temporary folder. Both grade the same answers, one
after the other; Otter by `otter run`, one command for each notebook, as an autograder on Gradescope does. Its tests are
the checks of this kit's graders, one test case each, run in the kernel by a plain function (`plain.py`). Lesson cells
are in neither side's notebooks, and the visible checks are not in Otter's, since this kit does not run them either.
"""

import argparse
import copy
import importlib.metadata
import json
import subprocess
import sys
import tempfile
from pathlib import Path

import classes
import measuring

from autograder import course

BENCHMARKS = Path(__file__).resolve().parent
OTTER = "otter-grader==7.0.0"
SAME = ("torch", "numpy", "pytest", "safetensors", "tqdm", "matplotlib", "ipykernel")  # for answers and checks
ENVIRONMENT = {**classes.ENVIRONMENT, "PYTHONPATH": f"{classes.ROOT}:{BENCHMARKS}"}
TEST_FILE = """from otter.test_files import test_case
from plain import checks, passes

OK_FORMAT = False
name = {exercise!r}


def case(check, worth):
    @test_case(name=check, points=worth)
    def test(env):
        assert passes(name, check, env, env["In"])

    return test


for check, (_, worth) in checks(name).items():
    globals()[f"case_{{check}}"] = case(check, worth)
"""


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--submissions", type=int, default=28, metavar="N", help="for both sides (default: 28)")
    parser.add_argument("--jobs", type=int, default=2, metavar="N", help="of `autograder grade` (default: 2)")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="benchmark-") as folder:
        place = Path(folder)
        measuring.say("installing Otter ...")
        install(place / "environment")
        measuring.say("building the course ...")
        ours = classes.with_class(classes.build(place / "built"), place / "ours", options.submissions, lessons=False)
        measuring.say(f"grading {options.submissions} submissions here ...")
        here = classes.grade(ours, "--jobs", str(options.jobs))
        measuring.say(f"grading {options.submissions} submissions with Otter ...")
        there, found = otter(place, options.submissions)
        report(options, here, there, totals(ours), found, classes.share_right(ours))


def install(environment):
    """An environment with Otter, and with what answers and checks need in the versions that are used here."""
    wanted = [f"{name}=={importlib.metadata.version(name).split('+')[0]}" for name in SAME]
    subprocess.run([sys.executable, "-m", "venv", environment], check=True)
    subprocess.run([environment / "bin" / "pip", "install", "--quiet", OTTER, *wanted], check=True)


def otter(place, number):
    """(the Cost of grading every submission, {(student, assignment): points})."""
    program = place / "environment" / "bin" / "otter"
    autograders = {
        a.name: autograder(place / "otter" / a.name, a, program) for a in course.assignments(classes.ROOT).values()
    }
    costs, found = [], {}
    for student, name, notebook in classes.submissions(number, lessons=False):
        folder = place / "otter" / "submitted" / student / name
        folder.mkdir(parents=True)
        path = folder / f"{name}.ipynb"
        path.write_text(json.dumps(without_checks(notebook)), encoding="utf-8")
        command = [program, "run", "--no-logo", "-a", autograders[name], "-o", folder, path]
        costs.append(measuring.run(command, folder, ENVIRONMENT))
        if costs[-1].code:
            raise SystemExit(costs[-1].output)
        tests = json.loads((folder / "results.json").read_text())["tests"]
        found[student, name] = sum(test.get("score", 0.0) for test in tests)
        measuring.say(f"  {student} {name}: {costs[-1].wall:.1f} s")
    return measuring.total(costs), found


def autograder(folder, assignment, program):
    """The zip file with which Otter grades an assignment."""
    tests = folder / "tests"
    tests.mkdir(parents=True)
    for exercise in assignment.exercises:
        (tests / f"{exercise.name}.py").write_text(TEST_FILE.format(exercise=exercise.name))
    zipped = folder / "autograder.zip"
    made = measuring.run([program, "generate", "--tests-dir", tests, "-o", zipped], folder, ENVIRONMENT)
    if made.code:
        raise SystemExit(made.output)
    return zipped


def without_checks(notebook):
    """The notebook without its test cells."""
    notebook = copy.deepcopy(notebook)
    notebook["cells"] = [c for c in notebook["cells"] if not c["metadata"].get("nbgrader", {}).get("grade")]
    return notebook


def totals(folder):
    """{(student, assignment): points} from a course's gradebook."""
    found = {}
    for (student, name, _), (score, _) in classes.scores(folder).items():
        found[student, name] = found.get((student, name), 0.0) + score
    return found


def report(options, here, there, ours, otters, right):
    """The table, and what was compared."""
    number = options.submissions
    rows = [
        [
            name,
            f"{cost.wall:.1f} s",
            f"{number / cost.wall:.2f}",
            f"{cost.cpu / number:.2f} s",
            f"{there.wall / cost.wall:.1f} ×",
        ]
        for name, cost in ((f"`otter run` ({OTTER})", there), (f"`autograder grade --jobs {options.jobs}`", here))
    ]
    differing = [
        f"- {student}, {name}: {ours[student, name]:g} here, {otters[student, name]:g} with Otter"
        for student, name in ours
        if abs(ours[student, name] - otters[student, name]) > 1e-9
    ]
    measuring.report(
        f"This kit and Otter ({number} submissions)",
        ["", "wall", "per second", "CPU of one", "as fast as Otter"],
        rows,
        f"{classes.MAKE}; {right} of the exercises are right. Otter: one `otter run` per notebook, whose tests run the"
        " checks of this kit's graders in the kernel by a plain function; no sandbox, no diagnosis, no gradebook. This"
        " kit: whole commands, with their start and the gradebook. No lesson cells on either side.",
        f"{len(ours) - len(differing)} of {len(ours)} submissions have the same points on both sides.",
        *differing,
    )


if __name__ == "__main__":
    main()
