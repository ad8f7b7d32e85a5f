"""The example course, about linear algebra in NumPy: it keeps the kit's rules, and is a package that pip installs."""

import json
import os
import re
import subprocess
import sys

import packages
import pytest
from conftest import ROOT, load
from small_course import autograder

from autograder import course, installed, new
from autograder.checks.proxies import Local
from autograder.checks.runner import Graders
from autograder.doctor import course as doctor
from autograder.grading import course_faults
from autograder.mistakes.bank import bank, right_answer, styles_of
from autograder.mistakes.diagnosis import diagnose
from autograder.new import packaged, scratch

PACKAGE = ROOT / scratch.EXAMPLE
NAME = "01_length_and_direction"
EXERCISES = ("norm", "least_squares", "power_iteration")
SEEDS = (1, 2, 3, 77)
IMPORTS = "import numpy as np\n"
NOTHING = {"norm": "return 0.0", "least_squares": "return np.zeros(a.shape[1])", "power_iteration": "return 0.0, x"}
ARGUMENTS = {"norm": "x", "least_squares": "a, b", "power_iteration": "a, x, steps"}


@pytest.fixture
def here(monkeypatch):
    """Its own folder, as its author works in it."""
    monkeypatch.chdir(PACKAGE)
    course.forget()
    yield PACKAGE
    course.forget()


@pytest.fixture
def place(tmp_path, monkeypatch):
    """The course that `autograder new course` makes of it."""
    new.course(str(tmp_path / "mine"))
    monkeypatch.chdir(tmp_path / "mine")
    course.forget()
    yield tmp_path / "mine"
    course.forget()


def local(source):
    namespace: dict[str, object] = {}
    exec(IMPORTS + source, namespace)
    return Local(namespace, source)


def test_it_is_small_and_whole(here):
    assert tuple(course.exercises()) == EXERCISES
    assert not [*course_faults.of_cells(course.find_assignment("01"))]
    for exercise in EXERCISES:
        assert len(bank(exercise)) == 4 and len(styles_of(exercise)) == 2
        assert len(course.hints_of(exercise)) == doctor.HINTS
    imported = set()
    for path in PACKAGE.rglob("*.py"):
        imported |= set(re.findall(r"^\s*(?:from|import) ([\w.]+)", path.read_text(encoding="utf-8"), re.MULTILINE))
    assert imported == {"autograder.checks", "autograder.mistakes", "autograder.nbgrader", "numpy", "math"}


@pytest.mark.parametrize("exercise", EXERCISES)
def test_every_mistake_is_rejected_and_named_by_its_own_id(here, exercise):
    graders = Graders()
    rejected = set()
    for id, mistake in bank(exercise).items():
        for seed in SEEDS:
            run = graders.run(exercise, mistake.local(), seed)
            rejected |= {check.name for check in run.failed()}
            assert [d.id for d in diagnose(run, graders)] == [id], (seed, [check.reason for check in run.failed()])
    assert rejected == {check.name for check in graders.checks[exercise]}


@pytest.mark.parametrize("exercise", EXERCISES)
def test_right_answers_get_full_marks_and_nothing_gets_none(here, exercise):
    graders = Graders()
    answers = [right_answer(exercise), *(right_answer(exercise, style) for style in styles_of(exercise))]
    for seed in SEEDS:
        for answer in answers:
            run = graders.run(exercise, local(answer), seed)
            assert run.failed() == [], (seed, [check.reason for check in run.failed()], answer)
    for body in ("raise NotImplementedError()", NOTHING[exercise], "return np.nan"):
        run = graders.run(exercise, local(f"def {exercise}({ARGUMENTS[exercise]}):\n    {body}\n"), 1)
        assert len(run.failed()) == len(graders.checks[exercise]), body


def test_what_the_lesson_says_is_so(here):
    """The cells that show something run with the solutions, and print what the text around them says."""
    notebook = load(PACKAGE / "source" / NAME / f"{NAME}.ipynb")
    cells = {cell["id"]: "".join(cell["source"]) for cell in notebook["cells"]}
    assert not any(cell.get("outputs") for cell in notebook["cells"])
    values: dict[str, object] = {}
    exec(IMPORTS, values)
    for exercise in EXERCISES:
        exec(right_answer(exercise), values)
        exec(cells[f"{exercise}-check"], values)
    assert values["norm"](values["np"].array([3e200, 4e200])) == pytest.approx(5e200)  # type: ignore[operator]
    assert "NumPy says `inf`" in cells["intro"]
    with values["np"].errstate(over="ignore"):  # type: ignore[attr-defined]
        for small, length in (3e200, float("inf")), (3e-200, 0.0):
            vector = values["np"].array([small, small * 4 / 3])  # type: ignore[attr-defined]
            assert values["np"].linalg.norm(vector) == length  # type: ignore[attr-defined]
    rows = []
    exec(cells["digits"], values | {"print": lambda line: rows.append(line.split())})
    sizes, mine, formula = zip(*((row[0], row[1], " ".join(row[2:])) for row in rows[1:]), strict=True)
    assert sizes[-1] == "1e-09" and formula[-1] == "no answer", "below 1e-8 its matrix is singular"
    lost = [float(after) / float(before) for before, after in zip(formula[:-2], formula[1:-1], strict=True)]
    assert all(1e3 < factor < 1e5 for factor in lost), "a factor of 100 takes four digits"
    assert all(float(error) < 1e-9 for error in mine)
    assert "2^{3.3} \\approx 10" in cells["speed-answer"] and 2**3.3 == pytest.approx(10, rel=0.02)
    found = [values["power_iteration"](*_speeds(values["np"]), steps) for steps in (12, 13)]  # type: ignore[operator]
    (first, before), (second, after) = ((abs(value - 1), vector[1]) for value, vector in found)
    assert before / after == pytest.approx(2, rel=1e-3) and first / second == pytest.approx(4, rel=1e-3)


def _speeds(np):
    return np.diag([1.0, 0.5, 0.25]), np.ones(3)


WITHOUT_TORCH = """
import sys

class Refused:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] == "torch":
            raise ImportError("torch is wanted")

sys.meta_path.insert(0, Refused())
from autograder.cli import main

sys.exit(main())
"""


def test_hand_ins_are_graded_and_mistakes_named_where_there_is_no_torch(here, tmp_path):
    """In a process of its own, and those that it starts; tests/sandbox/test_without_torch.py has the sandbox."""
    wrong = {id: mistake for exercise in EXERCISES for id, mistake in bank(exercise).items()}
    for id, mistake in wrong.items():
        (tmp_path / f"{id}.py").write_text(IMPORTS + mistake.source)
    right = "".join(right_answer(exercise) for exercise in EXERCISES)
    (tmp_path / "right.py").write_text(IMPORTS + right)
    paths = [tmp_path / f"{name}.py" for name in (*wrong, "right")]
    command = [sys.executable, "-c", WITHOUT_TORCH, "check", "--format", "json", *map(str, paths)]
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    done = subprocess.run(command, cwd=PACKAGE, env=environment, capture_output=True, text=True)
    verdicts = [json.loads(line)["exercises"] for line in done.stdout.splitlines()]
    assert done.returncode == 1 and len(verdicts) == len(paths), done.stderr
    for (id, mistake), outcomes in zip(wrong.items(), verdicts, strict=False):
        named = {one["exercise"]: [said["id"] for said in one["diagnosis"]] for one in outcomes}
        assert named[mistake.exercise] == [id]
    assert [one["score"] for one in verdicts[-1]] == [3.0, 4.0, 4.0]


@pytest.mark.slow("it goes through a course of its own, as test_contributing.py does")
def test_a_new_course_is_made_of_it_and_its_release_has_no_solution(place):
    assert 'course_id = "mine"' in (place / "nbgrader_config.py").read_text()
    assert [path.name for path in sorted((place / "exercises").iterdir())] == sorted(EXERCISES)
    code, _, said = autograder(place, "build")
    assert code == 0, said
    course.forget()
    assignment = course.find_assignment("01")
    assert list(doctor._release(assignment)) == []
    assert doctor.secret_lines(assignment) >= {"largest = np.abs(x).max()", "v /= np.linalg.norm(v)"}
    assert (place / "release" / "requirements.txt").read_text().split() == ["matplotlib>=3.7", "numpy>=1.26"]
    code, out, said = autograder(place, "check", f"solutions/{NAME}/{NAME}.ipynb")
    assert code == 0 and "11 of 11 points" in out, out + said
    for exercise in EXERCISES:
        for id, mistake in bank(exercise).items():
            (place / f"{id}.py").write_text(IMPORTS + mistake.source)
            code, out, said = autograder(place, "check", f"{id}.py", "--exercise", exercise)
            assert code == 1 and mistake.says in " ".join(out.split()), out + said


def test_a_skeleton_in_it_is_numpys(place):
    """It builds as it is: `np` is what the notebook imports, and the checks draw arrays."""
    new.exercise("doubled")
    course.forget()
    last = course.find_assignment("01").cells[-1]
    assert "doubled(np.array([1.0, 2.0]))" in last.source
    checks = (place / "exercises" / "doubled" / "checks.py").read_text()
    assert "draw.array(5)" in checks and "double()" not in checks
    run = Graders().run("doubled", local("def doubled(x):\n    return 2 * x\n"), 1)
    assert run.failed() == []


def files(folder):
    found = (path for path in folder.rglob("*.*") if path.is_file() and path.suffix != ".pyc")
    return {path.relative_to(folder) for path in found}


@pytest.mark.slow("it runs pip")
def test_pip_installs_it_and_a_course_is_made_of_the_package(tmp_path, monkeypatch):
    """Without a network: nothing is fetched, and what builds it is here."""
    copied = tmp_path / "linalg"
    packages.copied(ROOT / "courses" / "linalg", copied)
    site = tmp_path / "site-packages"
    switches = ["--quiet", "--no-deps", "--no-build-isolation", "--no-index", "--target", site]
    command = [sys.executable, "-m", "pip", "--disable-pip-version-check", "install", *switches, copied]
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    subprocess.run(list(map(str, command)), check=True, capture_output=True, env=environment, cwd=tmp_path)
    packages.look(monkeypatch, site, first=True)
    found = installed.named("linalg-course")
    assert found and found.folder == site / "linalg_course"
    assert files(site / "linalg_course") == files(PACKAGE)
    said = packaged.course_from(["linalg"], str(tmp_path / "taught"))
    assert f"{NAME}, from linalg" in said and not (tmp_path / "taught" / "exercises").exists()
    monkeypatch.chdir(tmp_path / "taught")
    course.forget()
    assert {course.folder_of(exercise).parent for exercise in EXERCISES} == {site / "linalg_course" / "exercises"}
    assert json.loads((tmp_path / "taught" / "source" / NAME / f"{NAME}.ipynb").read_bytes())["cells"]
    course.forget()
