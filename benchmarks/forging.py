"""The same forging attacks on stock nbgrader and on this kit: `python benchmarks/forging.py [--only NAME…] [--write]`.

Takes all attacks of `tests/hostile/forging` on assignment 02 that do not aim at this kit's own insides. Each is handed
in as a notebook whose other answers are right, once to stock nbgrader (its own commands and preprocessors, a course in
a temporary folder, the tests in the student's kernel) and once to this kit. The attacked exercise is wrong, so what it
gets is forged. Prints a Markdown table; `--write` puts it into docs/comparison.md.

The stock side runs the attacks as they are, with all rights of whoever starts this. They harm nothing that is not in
the temporary folder; read them first all the same.
"""

import argparse
import copy
import importlib.metadata
import os
import platform
import re
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT / "tests"), str(ROOT / "tests" / "support")]
os.environ["PATH"] = os.path.dirname(os.path.abspath(sys.executable)) + os.pathsep + os.environ["PATH"]  # for alembic
os.environ["OMP_NUM_THREADS"] = "1"

import attacks  # noqa: E402
import measuring  # noqa: E402
import stock_nbgrader  # noqa: E402
from conftest import ASSIGNMENT, cell_of, load  # noqa: E402
from nbgrader.api import Gradebook  # noqa: E402

from autograder import course  # noqa: E402
from autograder.grading.grader import Grader  # noqa: E402
from autograder.grading.seeds import new_seed  # noqa: E402

PAGE = ROOT / "docs" / "comparison.md"
SOLUTION = ROOT / "solutions" / ASSIGNMENT / f"{ASSIGNMENT}.ipynb"
OWN_INSIDES = re.compile(r"inside\.wire|AGK1|RequestHandler|@\w+@")

WRONG = """
def attention(query, key, value, mask=None):
    return value.new_zeros(*query.shape[:-1], value.shape[-1]), query.new_zeros(*query.shape[:-1], key.shape[-2])
"""


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--only", nargs="+", metavar="NAME", help="attacks by name; all if not given")
    parser.add_argument("--write", action="store_true", help="write docs/comparison.md")
    options = measuring.options(parser, only=["equal_to_everything"], write=False)
    rows, left_out = submissions(options.only)
    here = on_this_kit(rows)
    stock = on_stock(rows)
    page = as_page(rows, stock, here, left_out, sum(not name.startswith("(") for name in submissions()[0]))
    print(page)
    if options.write:
        PAGE.write_text(page, encoding="utf-8")


def submissions(only=None):
    """({name: (what it tries, exercise, the notebook that is handed in)}, how many attacks were left out)."""
    right = stock_nbgrader.without_lessons(load(SOLUTION))
    rows = {
        "(no attack: a right answer)": ("the right answer, to see that points can be had", "attention", right),
        "(no attack: the wrong answer)": ("zeros of the right shape, as in most attacks below", "attention", None),
    }
    wrong = rows["(no attack: the wrong answer)"]
    rows["(no attack: the wrong answer)"] = (*wrong[:2], with_answer(right, "attention", WRONG))
    left_out = 0
    attacked = {exercise.name for exercise in course.assignments()[ASSIGNMENT].exercises}
    for attack in attacks.attacks():
        family, name = attack.name.split("/")
        if family != "forging" or attack.expect["exercise"] not in attacked:
            continue
        text = "".join(path.read_text(encoding="utf-8") for path in attack.folder.glob("*.py"))
        if OWN_INSIDES.search(text):
            left_out += 1
        elif not only or name in only:
            rows[name] = (attack.expect["tries"], attack.expect["exercise"], notebook_of(attack, right))
    return rows, left_out


def with_answer(notebook, exercise, code):
    """The notebook, with that code as its answer to one exercise."""
    notebook = copy.deepcopy(notebook)
    cell_of(notebook, f"{exercise}-solution")["source"] = code
    return notebook


def notebook_of(attack, right):
    """What an attack hands in, as a parsed notebook: its code is the answer to the exercise that it attacks."""
    for name in ("cell.py", "submission.py"):
        if (attack.folder / name).exists():
            code = (attack.folder / name).read_text(encoding="utf-8")
            return with_answer(right, attack.expect["exercise"], code)
    with tempfile.TemporaryDirectory() as place:
        return stock_nbgrader.without_lessons(load(attack.hand_in(Path(place), None)))


# --- stock nbgrader ---------------------------------------------------------------------------------


def on_stock(rows):
    """{name: points of the attacked exercise in stock nbgrader's gradebook}; None where it graded nothing."""
    with tempfile.TemporaryDirectory(prefix="stock-") as folder:
        place = Path(folder)
        stock_nbgrader.generate(place, [ASSIGNMENT])
        students = {f"student{number:02}": name for number, name in enumerate(rows)}
        for student, name in students.items():
            stock_nbgrader.write(place / "submitted" / student / ASSIGNMENT, rows[name][2])
        stock_nbgrader.nbgrader(place, "autograde", ASSIGNMENT)
        for student in students:  # nbgrader goes on after a submission that it could not grade; try such a one again
            if not is_graded(place, student):
                stock_nbgrader.nbgrader(place, "autograde", ASSIGNMENT, f"--student={student}")
        with Gradebook(f"sqlite:///{place}/gradebook.db") as gradebook:
            return {
                name: points(gradebook, student, rows[name][1]) if is_graded(place, student) else None
                for student, name in students.items()
            }


def is_graded(place, student):
    return (place / "autograded" / student / ASSIGNMENT / f"{ASSIGNMENT}.ipynb").is_file()


def points(gradebook, student, exercise):
    """The score of a student's exercise."""
    return gradebook.find_grade(exercise, ASSIGNMENT, ASSIGNMENT, student).score


# --- this kit ---------------------------------------------------------------------------------------


def on_this_kit(rows):
    """{name: points of the attacked exercise}, in the whole notebook, as `autograder check` grades it."""
    scores, seed = {}, new_seed()  # one seed: what there is to know about inputs is worked out once
    with Grader() as grader, tempfile.TemporaryDirectory() as folder:
        for number, (name, (_, exercise, notebook)) in enumerate(rows.items()):
            place = Path(folder) / str(number) / ASSIGNMENT
            stock_nbgrader.write(place, notebook)
            verdict = grader.grade_file(place / f"{ASSIGNMENT}.ipynb", seed=seed).verdict
            scores[name] = verdict.exercise(exercise).score
    return scores


# --- the page ---------------------------------------------------------------------------------------

INTRODUCTION = """# Forged scores: stock nbgrader and this kit

The same forging attacks against stock nbgrader autograde and against this kit, in one run of `python
benchmarks/forging.py --write`, with this repository's assignment 02.

- **Stock** is nbgrader {nbgrader} with its own preprocessors, one kernel (ipykernel {ipykernel}) per submission, tests
  in that kernel, no container, which would protect the machine, and not the score. Each visible check is its exercise's
  test.
- **Here** is what `autograder check` gives for the same notebook, with the hidden graders.
- In every notebook the attacked exercise is wrong and the others are right. The figures are its points; all points are
  bold. "No grade": the kernel had ended, and nbgrader graded nothing of that submission.
- This run has {run} of the {every} attacks that can be made on both; {left_out} more aim at this kit's own insides.
  [tests/hostile](../tests/hostile/README.md) has them all.

Python {python}, torch {torch}, IPython {ipython}, nbclient {nbclient}; commit {commit}.
"""


def as_page(rows, stock, here, left_out, every):
    """The whole page, as Markdown; `every` is the number of attacks that there are to run."""
    versions = {n: importlib.metadata.version(n) for n in ("nbgrader", "ipykernel", "torch", "ipython", "nbclient")}
    run = sum(not name.startswith("(") for name in rows)
    counts = {"left_out": left_out, "run": run, "every": every}
    lines = [INTRODUCTION.format(**versions, **counts, python=platform.python_version(), commit=measuring.commit())]
    lines += ["| attack | it … | of | stock | here |", "|---|---|---|---|---|"]
    most = {e["metadata"]["nbgrader"]["grade_id"]: e["metadata"]["nbgrader"]["points"] for e in graded_cells()}
    in_vain = 0
    for name, (tries, exercise, _) in rows.items():
        scores = stock[name], here[name]
        if scores == (0, 0) and not name.startswith("("):
            in_vain += 1
        else:
            points = " | ".join(as_points(score, most[exercise]) for score in scores)
            lines.append(f"| {name.replace('_', ' ')} | {tries} | {most[exercise]:g} | {points} |")
    if in_vain:
        lines.append(f"\nThe other {in_vain} attacks get nothing on either side.")
    forged = [name for name in rows if not name.startswith("(")]
    full = [sum((scores[name] or 0) >= most[rows[name][1]] for name in forged) for scores in (stock, here)]
    some = [sum((scores[name] or 0) > 0 for name in forged) for scores in (stock, here)]
    lines.append(
        f"\nFull marks for a wrong answer: {full[0]} of {len(forged)} attacks on stock nbgrader, {full[1]} here. "
        f"Any points at all: {some[0]} there, {some[1]} here.\n"
    )
    return "\n".join(lines)


def as_points(score, most):
    """A figure of the table: bold if it is all there is to get."""
    return "no grade" if score is None else f"**{score:g}**" if score >= most else f"{score:g}"


def graded_cells():
    return [c for c in load(SOLUTION)["cells"] if c["metadata"].get("nbgrader", {}).get("grade")]


if __name__ == "__main__":
    main()
