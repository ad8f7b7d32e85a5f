"""A course in a folder of its own, and made-up classes of any size: answers of the demo and the tests, mixed anew.

An exercise is answered rightly or wrongly with equal chances: rightly in any of the styles that the tests hold or by
any of the demo's students who did so, wrongly by any of those who did so; "wrong" is also what stays as it was
released. Every answer holds a comment with the submission's number, so that no two are the same.
Left out are those of the demo who test deadlines, end their process, cheat, or hand in more cells than there are.
"""

import functools
import json
import os
import random
import shutil
import sqlite3
import sys
from dataclasses import dataclass
from typing import Any

import measuring

from autograder import course
from autograder.demo import run
from autograder.mistakes.bank import right_answer, styles_of

ROOT = measuring.ROOT
NOT_FOR_SPEED = {"timeout", "killed", "rejected"}
CHEATS = {"quentin"}
KINDS = {"mixed": ("full", "wrong"), "right": ("full",), "wrong": ("wrong",)}
ENVIRONMENT = {
    **os.environ,
    "PATH": os.path.dirname(os.path.abspath(sys.executable)) + os.pathsep + os.environ["PATH"],
    "OMP_NUM_THREADS": "1",
}


@dataclass(frozen=True)
class Drawn:
    """A submission that was drawn, and where its `answers` come from, by exercise."""

    student: str
    assignment: str
    notebook: dict[str, Any]
    answers: dict[str, str]


def environment(tree=ROOT):
    """That of a command of the kit in a tree."""
    return {**ENVIRONMENT, "PYTHONPATH": str(tree)}


def build(folder, names=(), tree=ROOT):
    """A course without students in `folder`, as `autograder build` leaves it; `names`: some assignments, not all."""
    run.make_folder(tree, folder)
    made = measuring.run([sys.executable, "-m", "autograder", "build", *names], folder, environment(tree))
    if made.code:
        raise SystemExit(made.output)
    return folder


def with_class(built, folder, number, kind="mixed", bare=False, names=()):
    """A copy of a built course with `number` submissions, over the assignments in equal shares: its folder.

    `bare`: notebooks that another grader can run, see `_bare`. `names`: of some assignments, instead of all.
    """
    shutil.copytree(built, folder)
    for student, name, notebook in submissions(number, kind, bare, names=names):
        path = folder / "submitted" / student / name / f"{name}.ipynb"
        path.parent.mkdir(parents=True)
        path.write_text(json.dumps(notebook, ensure_ascii=False, indent=1) + "\n", encoding="utf-8")
    return folder


def submissions(number, kind="mixed", bare=False, first=0, names=()):
    """(student, assignment, notebook) of every submission, the first of them number `first`."""
    for one in drawn(number, kind, bare, first, names):
        yield one.student, one.assignment, one.notebook


def drawn(number, kind="mixed", bare=False, first=0, names=()):
    """Every submission as Drawn, by its own seed: that of a number is the same in each run, whatever else is drawn."""
    releases = [_given(name, bare) for name in names or course.assignments(ROOT)]
    for index in range(first, first + number):
        assignment, release, answers = releases[index % len(releases)]
        chance = random.Random(index)
        cells, expected, origins = [], {}, {}
        for exercise in assignment.exercises:
            expected[exercise.name] = None
            origins[exercise.name], answer = chance.choice(answers[exercise.name][chance.choice(KINDS[kind])])
            if answer is not None:
                cells.append((exercise.name, f"{answer}\n# {index}"))
        student = f"student{index // len(releases):05}"
        notebook = run.fill_in(release, run.Student(student, "", expected, tuple(cells)))
        yield Drawn(student, assignment.name, notebook, origins)


@functools.cache
def _given(name, bare):
    """An assignment, its released notebook, and the answers that there are."""
    assignment = course.assignments(ROOT)[name]
    return assignment, _release(assignment, bare), _answers(assignment)


def _release(assignment, bare):
    path = ROOT / "release" / assignment.name / f"{assignment.name}.ipynb"
    notebook = json.loads(path.read_text(encoding="utf-8"))
    return _bare(assignment, notebook) if bare else notebook


def _bare(assignment, notebook):
    """Without the cells that only show, and with the course's own parts of earlier lessons in place of `bring(…)`.

    This kit lends these parts where a submission lacks them. Another grader does not, so that all would be wrong there
    that uses them.
    """
    lent = {cell.grade_id: course.answer_of(cell.source) for cell in assignment.cells if not cell.locked}
    answered = {f"{exercise.grade_id}-solution" for exercise in assignment.exercises}
    notebook["cells"] = [c for c in notebook["cells"] if "lesson" not in c["metadata"].get("tags", [])]
    for cell in notebook["cells"]:
        known = cell["metadata"].get("nbgrader", {})
        if cell["cell_type"] == "code" and known.get("solution") and known["grade_id"] not in answered:
            cell["source"] = lent[known["grade_id"]]
    return notebook


def _answers(assignment):
    """{exercise: {"full": answers, "wrong": answers}}; an answer is (where it comes from, a cell's text), in which the
    text is None for what was released.
    """
    found = {
        e.name: {"full": [(f"style {style}", right_answer(e.name, style)) for style in styles_of(e.name)], "wrong": []}
        for e in assignment.exercises
    }
    for student in run.read_class(assignment):
        titles = [title for title, _ in student.cells]
        plain = len(set(titles)) == len(titles) and not any(title.startswith("new") for title in titles)
        if not plain or student.name in CHEATS or NOT_FOR_SPEED & {e.status for e in student.expected.values()}:
            continue
        for name, expected in student.expected.items():
            answer = f"{student.name} of the demo", dict(student.cells).get(name)
            found[name]["full" if expected.level == "full" else "wrong"].append(answer)
    return found


def grade(folder, *options, tree=ROOT):
    """`autograder grade` of the whole class, one command for all assignments: its measuring.Cost."""
    names = sorted({path.name for path in (folder / "submitted").glob("*/*")})
    cost = measuring.run([sys.executable, "-m", "autograder", "grade", *names, *options], folder, environment(tree))
    if cost.code:
        raise SystemExit(cost.output)
    return cost


def scores(folder):
    """{(student, assignment, exercise): (score, maximum)} from a course's gradebook, of all that is graded by code."""
    with sqlite3.connect(folder / "gradebook.db") as gradebook:
        rows = gradebook.execute(
            "SELECT submitted_assignment.student_id, assignment.name, base_cell.name, auto_score, grade_cells.max_score"
            " FROM grade JOIN grade_cells ON grade_cells.id = grade.cell_id JOIN base_cell ON base_cell.id = cell_id"
            " JOIN submitted_notebook ON submitted_notebook.id = grade.notebook_id"
            " JOIN submitted_assignment ON submitted_assignment.id = submitted_notebook.assignment_id"
            " JOIN assignment ON assignment.id = submitted_assignment.assignment_id"
        ).fetchall()
    coded = {e.grade_id for e in course.exercises(ROOT).values()}
    return {(s, a, name): (score, most) for s, a, name, score, most in rows if name in coded and score is not None}


def share_right(folder):
    """What share of a class's exercises got full marks, as text."""
    found = scores(folder).values()
    return f"{sum(score == most for score, most in found) / max(1, len(found)):.0%}"


# the graded class of a benchmark in a word, for the notes below a table
MAKE_OF_ANY = "Each exercise is right, in one of many styles, or wrong with equal chances; all notebooks are different"
MAKE = f"{MAKE_OF_ANY}, all assignments in equal shares"
