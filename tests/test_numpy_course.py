"""A course about NumPy: arrays and numbers go from its notebook through the checks to named mistakes."""

import json

import pytest
from conftest import load
from small_course import autograder

from autograder import course, new
from autograder.checks.proxies import Local
from autograder.checks.runner import Graders
from autograder.mistakes.bank import bank, right_answer
from autograder.mistakes.diagnosis import diagnose

NAME, EXERCISE = "01_first", "power_iteration"
SOLUTION = '''
def power_iteration(a, x, steps):
    """The largest eigenvalue of a and its vector, from a start x: (n, n) and (n,) -> (number, (n,))."""
    ### BEGIN SOLUTION
    if steps < 1:
        raise ValueError(f"{steps} steps lead nowhere")
    for _ in range(steps):
        x = a @ x
        x = x / np.linalg.norm(x)
    return x @ a @ x, x
    ### END SOLUTION
'''
VISIBLE = """
value, vector = power_iteration(np.diag([3.0, 1.0]), np.ones(2), 50)
assert abs(value - 3) < 1e-6, f"the largest eigenvalue is 3, yours is {value}"

### BEGIN HIDDEN TESTS
# exercise: power_iteration
### END HIDDEN TESTS
"""
CHECKS = '''
"""Checks of `power_iteration(a, x, steps)`: (n, n), (n,) -> (a number, (n,))."""

import numpy as np

from autograder.checks import check, close, pair, refuses, unchanged


def right(a, x, steps):
    for _ in range(steps):
        x = a @ x
        x = x / np.sqrt((x * x).sum())
    return (x * (a @ x)).sum(), x


@check("values", points=1)
def test_values(submission, draw):
    """After some steps the value and the vector are right; the start stays as it was."""
    b, x = draw.array(4, 4), draw.array(4)
    value, vector = pair(submission.function("power_iteration")(b @ b.T, x, 3), "`(value, vector)`")
    close(vector, right(b @ b.T, x, 3)[1], "the vector")
    close(value, right(b @ b.T, x, 3)[0], "the value")
    unchanged(submission)


@check("arguments", points=1)
def test_refused(submission, draw):
    """No step at all is refused with a `ValueError`."""
    power_iteration, a, x = submission.function("power_iteration"), draw.array(3, 3), draw.array(3)
    close(pair(power_iteration(a, x, 1))[1], right(a, x, 1)[1], "the vector")
    refuses(power_iteration.error(a, x, 0), "a run of 0 steps")
'''
MISTAKES = '''
"""What goes wrong in `power_iteration`."""

from autograder.mistakes import Bank

BANK = Bank("power_iteration", places={"VALUE": "x @ a @ x", "LENGTH": "np.linalg.norm(x)"})

BANK.mistake("largest-entry", "Divide by the length of the vector, not by its largest entry.", LENGTH="np.abs(x).max()")
BANK.mistake("length-for-value", "This is the length of a @ x: it loses the sign.", VALUE="-np.linalg.norm(a @ x)")
BANK.mistake("not-refused", "No step at all is not refused: raise a `ValueError`.", {"< 1": "< 0"})
'''
ANSWER = """
def power_iteration(a, x, steps):
    if not steps:
        raise ValueError("at least one step is needed")
    start = np.linalg.matrix_power(a, steps).dot(x)
    x = start / (start**2).sum() ** 0.5
    return float(x.dot(a).dot(x)), x
"""


@pytest.fixture
def place(tmp_path, monkeypatch):
    """A new course with the exercise."""
    place = tmp_path / "linalg"
    new.course(str(place))
    monkeypatch.chdir(place)
    new.exercise(EXERCISE)
    path = place / "source" / NAME / f"{NAME}.ipynb"
    notebook = load(path)
    cells = {cell["id"]: cell for cell in notebook["cells"]}
    cells["setup"]["source"] = "import numpy as np\nimport torch"
    cells[f"{EXERCISE}-solution"]["source"] = SOLUTION.strip()
    cells[f"{EXERCISE}-check"]["source"] = VISIBLE.strip()
    path.write_text(json.dumps(notebook), encoding="utf-8")
    folder = place / "exercises" / EXERCISE
    for name, text in {"checks": CHECKS, "mistakes": MISTAKES, "answers/powers": ANSWER}.items():
        (folder / f"{name}.py").write_text(text.lstrip(), encoding="utf-8")
    for skeleton in (folder / "answers").iterdir():
        if skeleton.stem != "powers":
            skeleton.unlink()
    course.forget()
    yield place
    course.forget()


@pytest.mark.slow("it goes through a course of its own, as test_contributing.py does")
def test_a_course_about_numpy_builds_and_grades_and_names_mistakes(place):
    code, _, said = autograder(place, "build")
    assert code == 0, said
    course.forget()
    told = {}
    for name, answer in {"right": ANSWER, **{id: one.source for id, one in bank(EXERCISE).items()}}.items():
        (place / f"{name}.py").write_text(f"import numpy as np\n{answer}", encoding="utf-8")
        told[name] = autograder(place, "check", f"{name}.py", "--exercise", EXERCISE)
    assert told["right"][0] == 0, told["right"]
    for id, mistake in bank(EXERCISE).items():
        code, out, _ = told[id]
        assert code == 1 and mistake.says in " ".join(out.split()), out


def test_each_mistake_is_named_and_each_answer_right(place):
    graders = Graders()
    for id, mistake in bank(EXERCISE).items():
        run = graders.run(EXERCISE, mistake.local(), 1)
        assert [d.id for d in diagnose(run, graders)] == [id], [check.reason for check in run.failed()]
    namespace: dict[str, object] = {}
    exec("import numpy as np\n" + right_answer(EXERCISE, "powers"), namespace)
    assert graders.run(EXERCISE, Local(namespace), 1).failed() == []
