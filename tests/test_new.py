"""`autograder new` and `autograder doctor`: a course to start from, a skeleton, and what it lacks."""

import json
import re
import shutil

import pytest
from conftest import load
from runaways import KINDS
from small_course import autograder, copy, first

from autograder import bounds, cli, course, new
from autograder.doctor import course as looks
from autograder.doctor import finding, machine, pairs
from autograder.errors import UsageError
from autograder.grading import course_faults
from autograder.grading.apart import GraderApart

NAME = "01_first"
HINTS = "".join(f"<details><summary>Hint {n}</summary>{text}</details>" for n, text in enumerate(("Look.", "TODO"), 1))


@pytest.fixture
def place(tmp_path, monkeypatch):
    """A small course, in which the test works."""
    first(tmp_path / "first course")
    monkeypatch.chdir(tmp_path / "first course")
    yield tmp_path / "first course"
    course.forget()


def main(*arguments):
    """The command, within this process, where torch is imported already."""
    return cli.main([*arguments])


def source(place):
    return place / "source" / NAME / f"{NAME}.ipynb"


def ill(found):
    return [f.says for f in found if f.well is False]


@pytest.mark.slow("it goes through a course of its own, as test_contributing.py does")
def test_a_new_course_goes_through_with_a_skeleton_in_it(place, capsys):
    """It builds and grades; the doctor says what the skeleton lacks, and has nothing to say of the rest."""
    said = new.exercise("doubled")
    assert "exercises/doubled/checks.py" in said and "cells at its end" in said
    assert autograder(place, "build") == (
        0,
        f"The course in {place.resolve()}\nrelease/{NAME} and solutions/{NAME} are made\n",
        "",
    )
    assert autograder(place, "build")[1].endswith(f"release/{NAME} and solutions/{NAME} are up to date\n")
    assert "autograder check" in (place / "release" / "AGENTS.md").read_text(encoding="utf-8")
    table = "".join(load(source(place))["cells"][0]["source"])
    assert "| 3. `doubled` | implement | 1 | 10 |" in table and "| **total** | | **6** | **25** |" in table
    (place / "submitted" / "ada" / NAME).mkdir(parents=True)
    shutil.copy(place / "solutions" / NAME / f"{NAME}.ipynb", place / "submitted" / "ada" / NAME)
    code, out, said = autograder(place, "grade", "01", "--jobs", "1")
    assert code == 0 and "ada      3/3      1/1      4 of 4 so far" in out, out + said

    course.forget()
    assert main("doctor") == 1
    told = capsys.readouterr().out.partition("The course:")[2]
    for lack in ("0 of 3 hints", "doubled has 1 right answer ", "doubled has no mistakes", "TODO is left in 4 cells"):
        assert lack in told
    assert "rescale" not in told
    for well in (
        "belongs to an exercise",
        "gives nothing away",
        "its visible checks",
        "a stub gets no points",
        "are named",
    ):
        assert re.search(f"✓ .*{well}", told), told


def test_a_new_course_is_not_made_where_something_is(place, tmp_path):
    (tmp_path / "file").touch()
    for folder in (place, tmp_path, tmp_path / "file", place / "within"):
        with pytest.raises(UsageError):
            new.course(str(folder))
    (tmp_path / "empty").mkdir()
    new.course(str(tmp_path / "empty"))
    assert 'course_id = "empty"' in (tmp_path / "empty" / "nbgrader_config.py").read_text()


def test_the_kits_own_course_can_be_had_to_teach_with(tmp_path, monkeypatch):
    said = new.course(str(tmp_path / "taught"), attention=True)
    assert "autograder build" in said and "demo" not in said
    monkeypatch.chdir(tmp_path / "taught")
    course.forget()
    assert course.here() == tmp_path / "taught"
    assert [*course.assignments()] == [*course.assignments(course.kits_own())]
    assert course.folder_of("attention").parent == course.EXERCISES
    readme = (tmp_path / "taught" / "README.md").read_text(encoding="utf-8")
    assert readme.startswith("# taught\n") and "--bundle" in readme
    assert 'course_id = "attention"' in (tmp_path / "taught" / "nbgrader_config.py").read_text()


@pytest.mark.parametrize("name", ["", "a b", "2nd", "for", "é", "a" * 41, "rescale", "setup", "taken"])
def test_a_name_that_cannot_be_is_refused(place, name):
    before = source(place).read_bytes()
    (place / "exercises" / "taken").mkdir()
    if name == "setup":
        edit(place, lambda cells: cells["setup"].update(source="def setup():\n    pass"))
        before = source(place).read_bytes()
    with pytest.raises(UsageError):
        new.exercise(name)
    assert source(place).read_bytes() == before and not (place / "exercises" / "setup").exists()


def test_the_exercises_of_a_course_are_its_own_and_those_of_the_kits_course_are_the_kits(place):
    assert course.own_exercises(place) == place / "exercises"
    assert course.own_exercises(course.kits_own()) == course.EXERCISES


def test_a_notebook_without_headings_and_table_stays_without(tmp_path, monkeypatch):
    monkeypatch.chdir(copy(tmp_path / "course"))
    path = course.find_assignment("01").path
    notebook = json.loads(path.read_text())
    notebook["cells"] = [c for c in notebook["cells"] if c["cell_type"] == "code"]
    path.write_text(json.dumps(notebook))
    course.forget()
    new.exercise("doubled", "01")
    text = "".join(load(path)["cells"][-4]["source"])
    assert text.startswith("## Exercise 3: implement `doubled(x)`") and "point" not in text
    course.forget()


# --- the doctor -----------------------------------------------------------------------------------


def edit(place, change):
    notebook = load(source(place))
    change({cell["id"]: cell for cell in notebook["cells"]})
    source(place).write_text(json.dumps(notebook))
    course.forget()


def found(place):
    """What is found without grading anything."""
    assignment = course.find_assignment("01")
    looked = (course_faults.of_cells, looks._hints, looks._todo)
    return [line for look in looked for line in look(assignment)]


def test_graded_cells_without_exercise_and_missing_hints_are_found(place):
    assert found(place) == []
    edit(place, lambda cells: cells["rescale-hints"].update(source=HINTS))
    assert [line.split(":")[0] for line in found(place)] == [
        "rescale has 1 of 3 hints",
        "TODO is left in 1 cell of source/01_first",
    ]
    edit(place, lambda cells: cells["rescale-check"].update(source="rescale(1)"))
    assert "the graded cell 'rescale' belongs to no exercise" in found(place)[0]


def test_a_release_that_is_not_the_sources_or_gives_something_away_is_found(place):
    assignment = course.find_assignment("01")
    assert list(looks._release(assignment)) == ["01_first has no release: run `autograder build 01`"]
    released = load(source(place))
    for cell in released["cells"]:
        text = "".join(cell["source"])
        cell["source"] = looks.original_of(text) or text.split("### BEGIN")[0]
    path = looks.release_of(assignment)
    path.parent.mkdir(parents=True)
    path.write_text(json.dumps(released))
    assert list(looks._release(assignment)) == []
    released["cells"][0]["source"] += "\n    spread = x.max() - x.min()\n"
    path.write_text(json.dumps(released))
    assert list(looks._release(assignment)) == [
        "release/01_first is not what source/ now makes: run `autograder build 01`",
        "release/01_first gives away a line of a solution: spread = x.max() - x.min()",
    ]


@pytest.mark.slow("it makes a course")
def test_a_stub_that_scores_and_a_mistake_that_nobody_sees_are_found(place, capsys):
    """And a right answer that fails; one file that is broken does not hide the others."""
    folder = place / "exercises" / "rescale"
    checks = (folder / "checks.py").read_text()
    free = '\n\n@check("values", points=1)\ndef test_free():\n    """This is for everybody who comes along."""\n'
    (folder / "checks.py").write_text(checks + free)
    mistakes = re.sub(r"BANK.released.*\n", "", (folder / "mistakes.py").read_text())
    none = 'BANK.mistake("none", "This changes nothing at all.", {"x.max() - x.min()": "x.max() - x.min() "})\n'
    (folder / "mistakes.py").write_text(mistakes + none)
    (folder / "answers" / "wrong.py").write_text("def rescale(x):\n    return x\n")
    edit(place, lambda cells: cells["rescale-solution"].update(source=STUB))
    refused = "01_first: rescale as it is released gets 1 of 4 points: test_free in rescale/checks.py must not pass it."
    code, _, said = autograder(place, "build")
    assert code == 2 and said.startswith(f"autograder: {refused} ") and said.count("\n") == 1
    assert not (place / "release").exists()
    course.forget()
    assert main("doctor") == 1
    out = capsys.readouterr().out
    for lack in (
        refused,
        "the mistake none of rescale gets full marks",
        "the right answer wrong of rescale fails test_values",
    ):
        assert lack in out, out


STUB = """def rescale(x):
    ### BEGIN SOLUTION
    spread = x.max() - x.min()
    if spread == 0:
        return torch.zeros_like(x)
    return (x - x.min()) / spread
    ### END SOLUTION
"""


@pytest.mark.slow("it waits for what runs away")
@pytest.mark.parametrize("kind", KINDS)
def test_mistakes_that_run_away_are_named(kind, place, monkeypatch):
    """The doctor tries them, bounded, and says so; it does the rest of its work all the same."""
    monkeypatch.setattr(bounds, "SECONDS", 1.0)
    monkeypatch.setattr(bounds, "LATE", 0.5)
    monkeypatch.setattr(bounds.State, "barred", set())
    folder = place / "exercises" / "rescale"
    runaway = f'BANK.mistake("runaway", "It never ends.", {{"    spread =": """    {KINDS[kind]}\n    spread ="""}})\n'
    with (folder / "mistakes.py").open("a") as mistakes:
        mistakes.write(runaway)
    (folder / "answers" / "wrong.py").write_text("def rescale(x):\n    return x\n")
    with GraderApart() as grader:
        lines = list(looks._own_answers(grader, "rescale"))
    assert any(line.startswith("the mistake runaway of rescale runs away: ") for line in lines), lines
    assert any(line.startswith("the right answer wrong of rescale fails test_values") for line in lines), lines
    if kind == "a loop in C":
        found = pairs.of_exercise("rescale")
        assert found.well is None and "runaway" in found.says


def test_what_cannot_be_imported_is_a_line(place):
    (place / "exercises" / "rescale" / "mistakes.py").write_text("1 / 0\n")
    lines = [str(f) for f in looks._all_or_each(["rescale"], looks._mistakes, "")]
    assert lines == ["✗ exercises/rescale/mistakes.py cannot be imported: ZeroDivisionError: division by zero"]


def test_what_cannot_be_looked_at_is_a_line_however_large_the_course():
    def look(item):
        raise ModuleNotFoundError("No module named 'x'")

    assignments = [course.find_assignment("01"), course.find_assignment("02")]
    (line,) = [str(f) for f in looks._all_or_each([assignments], look, "")]
    assert line == "✗ the course: ModuleNotFoundError: No module named 'x'"
    (line,) = [str(f) for f in looks._all_or_each(assignments[:1], look, "")]
    assert line == f"✗ {assignments[0].name}: ModuleNotFoundError: No module named 'x'"


def test_without_a_course_the_machine_alone_is_looked_at(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    code, out = main("doctor"), capsys.readouterr().out
    assert "No course here" in out and "Landlock" in out and code == int("✗" in out)
    assert main("doctor", "02") == 2 and capsys.readouterr().err.count("\n") == 1


@pytest.mark.slow("it starts commands on a machine that lacks something")
def test_a_machine_without_sandbox_is_told_what_it_lacks(monkeypatch):
    from autograder.sandbox import jail
    from autograder.sandbox.inside import lockdown

    without = {"full": "There is no bubblewrap.", "process": None}
    monkeypatch.setattr(jail, "refusal", lambda level="full": without[level])
    lines = list(machine.findings())
    assert "There is no bubblewrap." in ill(lines)
    assert any(f.well is None and f.says.startswith("with --sandbox process, Landlock") for f in lines)
    without["process"] = "Root lacks a capability."
    lines = list(machine.findings())
    assert any(f.well is None and f.says.startswith("with --unsafe, Landlock") for f in lines)
    monkeypatch.setattr(lockdown, "landlock_version", lambda: 0)
    assert any(
        "no sandbox at all, because of missing bubblewrap and Landlock" in says for says in ill(machine.findings())
    )
    monkeypatch.setattr(lockdown, "landlock_version", lambda: 3)
    lines = [f for f in machine.findings() if f.says.startswith("Landlock, version 3: without TCP")]
    assert lines == [finding.Finding(True, lines[0].says)]


def test_versions_that_are_not_supported_are_named(monkeypatch):
    from importlib import metadata

    wanted = ["torch>=99", "no-such-package>=1", "numpy", "ruff>=99; extra == 'dev'"]
    monkeypatch.setattr(metadata, "requires", lambda name: wanted)
    lines = ill(machine._versions())
    assert len(lines) == 2 and "torch" in lines[0] and "no-such-package is not installed" in lines[1]
