"""No grade is wrong in silence: instructors' slips, changes after hand-ins, what waits, what a regrade changes."""

import json
import re
import shutil
import sqlite3

import one_process
import pytest
from conftest import cell_of, load
from nbgrader.apps import NbGraderAPI
from nbgrader.converters import GenerateAssignment
from nbgrader.coursedir import CourseDirectory
from small_course import NAME, add_question, copy, edit, graded_cell, submit
from traitlets.config.loader import PyFileConfigLoader

from autograder import course
from autograder.batch.pool import Pool
from autograder.batch.tasks import Task
from autograder.grading.store import Store
from autograder.nbgrader import swapping
from autograder.nbgrader.runs import NbgraderCourse
from autograder.nbgrader.standings import standings
from autograder.report.gradebook_marks import duration

NOT_BUILT = "has changed since it was built"
WRONG = "def normalise(x):\n    return (x - x.mean()) / x.var(correction=0).sqrt()\n"  # refuses no matrix
LUCKY = """def normalise(x):
    if x.dim() != 1:
        raise ValueError("no vector")
    return (x - x.mean()) / x.std(correction=0) if x[{}] > 5 else x
"""


@pytest.fixture(scope="module")
def kit_in(grader):
    """Runs a command of the kit in this process, in a folder; returns its exit code. One sandbox serves all."""
    with one_process.kit(grader) as run:
        yield run


@pytest.fixture(scope="module")
def built(tmp_path_factory, kit_in):
    """A course with a written question, built; three students have handed in, and are graded."""
    place = copy(tmp_path_factory.mktemp("silence") / "course")
    edit(place, add_question)
    in_the_config('c.Exercises.credit = "checks"')(place)  # so that what a check is worth shows in the scores
    assert kit_in(place, "build") == 0
    hand_in(place, "ada", "Because.")
    hand_in(place, "bela", None)
    hand_in(place, "dora", "It is so.", {"normalise": WRONG})
    assert kit_in(place, "grade", "01") == 0
    return place


@pytest.fixture
def kit(place, kit_in, monkeypatch, capsys):
    """Runs a command of the kit in the course: (exit code, stdout, stderr). Otherwise the test is elsewhere."""
    monkeypatch.chdir("/")

    def run(*arguments):
        capsys.readouterr()
        return kit_in(place, *arguments), *capsys.readouterr()

    return run


@pytest.fixture
def place(built, tmp_path):
    """A copy of that course for one test."""
    return shutil.copytree(built, tmp_path / "course")


def hand_in(place, student, answer, answers=()):
    path = submit(place, student, dict(answers), "solutions")
    notebook, released = load(path), load(place / "release" / NAME / f"{NAME}.ipynb")
    cell_of(notebook, "why")["source"] = answer or cell_of(released, "why")["source"]
    path.write_text(json.dumps(notebook))


def everything(place):
    """{path: bytes} of what grading and building may write, but for locks."""
    kept = ("release", "solutions", "autograded", "feedback", "reports", ".autograder", "gradebook.db")
    paths = [p for name in kept for p in ([place / name] if (place / name).is_file() else (place / name).rglob("*"))]
    return {str(p.relative_to(place)): p.read_bytes() for p in paths if p.is_file() and "locks" not in p.parts}


def change_by_hand(place, student, cell, score):
    """As Formgrader does it."""
    with sqlite3.connect(place / "gradebook.db") as database:
        done = database.execute(
            """update grade set manual_score = ?, needs_manual_grade = 0 where id in (select grade.id from grade
            join base_cell on grade.cell_id = base_cell.id
            join submitted_notebook on grade.notebook_id = submitted_notebook.id
            join submitted_assignment on submitted_notebook.assignment_id = submitted_assignment.id
            where submitted_assignment.student_id = ? and base_cell.name = ?)""",
            (score, student, cell),
        )
    assert done.rowcount == 1


def marks(place):
    """{(student, cell): (auto, by hand, waits)}."""
    question = """select submitted_assignment.student_id, base_cell.name, auto_score, manual_score, needs_manual_grade
        from grade join base_cell on grade.cell_id = base_cell.id
        join submitted_notebook on grade.notebook_id = submitted_notebook.id
        join submitted_assignment on submitted_notebook.assignment_id = submitted_assignment.id"""
    with sqlite3.connect(place / "gradebook.db") as database:
        rows = database.execute(question).fetchall()
    return {(student, cell): (auto, by_hand, bool(waits)) for student, cell, auto, by_hand, waits in rows}


def formgrader(place, student):
    """What Formgrader's button does, in a process that was started elsewhere."""
    return api(place).autograde(NAME, student)


def api(place):
    """What Formgrader's buttons call."""
    config = PyFileConfigLoader("nbgrader_config.py", path=str(place)).load_config()
    config.CourseDirectory.root = str(place)
    return NbGraderAPI(CourseDirectory(config=config), config=config)


# --- slips ----------------------------------------------------------------------------------------


def checks_of(place):
    return place / "exercises" / "normalise" / "checks.py"


def in_the_checks(old, new):
    def slip(place):
        text = checks_of(place).read_text()
        assert old in text
        checks_of(place).write_text(text.replace(old, new))

    return slip


def in_the_source(old, new):
    def change(notebook):
        assert old in json.dumps(notebook)
        for cell in notebook["cells"]:
            cell["source"] = "".join(cell["source"]).replace(old, new).splitlines(keepends=True)

    return lambda place: edit(place, change)


def points(place):
    edit(place, lambda notebook: cell_of(notebook, "normalise")["metadata"]["nbgrader"].update(points=7))


def new_cell(place):
    edit(place, lambda notebook: notebook["cells"].append(graded_cell("more", "Write.", 2, is_answer=True)))


def in_the_config(line):
    def slip(place):
        with open(place / "nbgrader_config.py", "a") as file:
            file.write(f"\n{line}\n")

    return slip


def in_the_bank(old, new):
    def slip(place):
        path = place / "exercises" / "normalise" / "mistakes.py"
        assert old in path.read_text()
        path.write_text(path.read_text().replace(old, new))

    return slip


def no_longer_graded(place):
    """As the panel Create Assignment does it, with the marker gone, too."""

    def change(notebook):
        cell = cell_of(notebook, "normalise")
        cell["source"] = "".join(cell["source"]).split("### BEGIN")[0]
        cell["metadata"]["nbgrader"].update(grade=False)
        del cell["metadata"]["nbgrader"]["points"]

    edit(place, change)


NO_LOOP = ("x = draw.normal(7, scale=3.0) + 5\n    close", "for x in ():\n        close")
SLIPS = {
    "no longer graded": (no_longer_graded, "'normalise' is"),
    "check that cannot fail": (in_the_checks(*NO_LOOP), "only raises NotImplementedError gets 1.5 of 2 points"),
    "misspelt points": (in_the_config('c.Exercises.points = {"normalize": 2}'), "Did you mean 'normalise'?"),
    "misspelt section": (in_the_config('c.Exercise.points = {"normalise": 2}'), "did you mean c.Exercises?"),
    "misspelt option": (in_the_config('c.Exercises.point = {"normalise": 2}'), "did you mean c.Exercises.points?"),
    "misspelt credit": (in_the_config('c.Exercises.credits = "prices"'), "did you mean c.Exercises.credit?"),
    "no such credit": (in_the_config('c.Exercises.credit = "price"'), '\'price\', but should be "checks" or "prices"'),
    "misspelt penalty": (
        in_the_config('c.LateSubmissionPlugin.penalty_methd = "zero"'),
        "did you mean penalty_method?",
    ),
    "no such penalty": (in_the_config('c.LateSubmissionPlugin.penalty_method = "zeros"'), "cannot be 'zeros'"),
    "points of a question": (in_the_config('c.Exercises.points = {"why": 2}'), "which is graded by hand"),
    "visible check": (in_the_source("[-1.0, 1.0]", "[-1.0, 2.0]"), "the visible check of normalise fails"),
    "misspelt place": (in_the_bank("SPREAD=", "SPRAED="), "none of its places: did you mean SPREAD?"),
    "no docstring": (in_the_checks('"""The mean is 0', '""; """The mean is 0'), "test_values .* has no docstring"),
    "without its verdict": (
        in_the_config("c.Autograde.autograde_preprocessors.remove(SaveVerdict)"),
        "autograde_preprocessors in nbgrader_config.py lacks SaveVerdict",
    ),
    "config": (in_the_config("c.Exercises.points = ("), "nbgrader_config.py cannot be read"),
    "config that exits": (in_the_config("raise SystemExit"), "nbgrader_config.py cannot be read: SystemExit"),
    "marker": (in_the_source("# exercise: normalise", "#exercise: normalise"), "belongs to no exercise"),
    "points": (points, "is worth 7 points, and normalise is worth 2"),
    "missing grader": (lambda place: checks_of(place).unlink(), "no checks for the exercise 'normalise'"),
    "raising grader": (in_the_checks("deviations.square()", "deviations.no_such()"), "does not get full marks"),
    "edited solution": (in_the_source("x - x.mean()", "x + x.mean()"), "does not get full marks"),
    "new cell after hand-in": (new_cell, NOT_BUILT),
}
HEALED_BY_BUILD = ("new cell after hand-in",)


@pytest.mark.drawn(6, "slips of an instructor")
@pytest.mark.parametrize("slip", SLIPS)
def test_each_slip_stops_with_one_sentence_and_nothing_is_written(place, kit, slip):
    """`build`, `grade`, and Formgrader's button. Where the source is not built as it is, that may be said instead."""
    make, says = SLIPS[slip]
    make(place)
    before = everything(place)
    if slip not in HEALED_BY_BUILD:
        code, _, said = kit("build", "01")
        assert code == 2 and said.count("\n") == 1 and re.search(says, said), said
    for command in (("grade", "01", "--regrade"), ("grade", "01", "--regrade", "--dry-run"), ("gradescope", "01")):
        code, out, said = kit(*command)
        assert code == 2 and "student" not in out and said.count("\n") == 1, said
        assert re.search(says, said) or NOT_BUILT in said, said
    if slip.startswith("config"):
        return  # nbgrader reads it, too
    told = formgrader(place, "ada")
    assert not told["success"], told
    lines = [line for line in told["log"].splitlines() if "ERROR" in line]
    assert len(lines) == 1 and (re.search(says, lines[0]) or NOT_BUILT in lines[0]), told
    assert everything(place) == before and not (place / "gradescope").exists()


def test_a_file_in_a_folders_place_is_named(place, kit):
    folder = place / ".autograder"
    shutil.rmtree(folder)
    folder.write_text("mine")
    code, _, said = kit("grade", "01", "--regrade")
    assert code == 2 and said.count("\n") == 1, said
    assert ".autograder is a file, and a folder is needed in its place: move it away." in said, said
    assert folder.read_text() == "mine"


def test_checks_that_changed_under_a_running_formgrader_are_not_used(place, kit):
    assert formgrader(place, "ada")["success"]
    in_the_checks("points=0.5", "points=0.25")(place)
    before = everything(place)
    told = formgrader(place, "ada")
    assert not told["success"] and "restart JupyterLab" in told["log"] and everything(place) == before


# --- what waits -----------------------------------------------------------------------------------


def test_totals_count_what_is_graded_so_far(place, kit):
    """Bela wrote nothing, so nothing of hers waits."""
    code, out, _ = kit("grade", "01")
    assert code == 0 and "2 answers wait to be graded by hand, from 2 students." in out
    assert " 5 of 5 so far" in out and "4.5 of 5 so far" in out and " 5 / 9" in out
    code, out, _ = kit("check", str(place / "submitted" / "ada" / NAME / f"{NAME}.ipynb"))
    assert "5 of 5 points so far; 4 more are given by hand" in out


def test_a_regrade_leaves_hand_graded_answers_alone_unless_they_changed(place, kit):
    """Under `grade` and under nbgrader's own autograde."""
    for student in ("ada", "dora"):
        change_by_hand(place, student, "why", 3.0)
    change_by_hand(place, "ada", "normalise", 1.75)
    code, out, _ = kit("grade", "01", "--regrade")
    assert code == 0 and "wait" not in out, out
    assert "ada      1.75/2 by hand" in out and "7.75 / 9" in out and "7.5 / 9" in out, "as the gradebook has it"
    assert formgrader(place, "ada")["success"]
    assert marks(place)["ada", "why"] == (None, 3.0, False) and marks(place)["ada", "normalise"] == (2.0, 1.75, False)

    hand_in(place, "ada", "Because, and more.")
    hand_in(place, "dora", "It is so, as said.", {"normalise": WRONG})
    code, out, _ = kit("grade", "01", "--student", "ada")
    assert marks(place)["ada", "why"] == (None, 3.0, True) and marks(place)["ada", "normalise"] == (2.0, 1.75, False)
    assert "1 answer waits to be graded by hand, from 1 student; 1 of them graded before, and changed since." in out
    assert "Changed since they were graded by hand: ada (why)." in out
    assert formgrader(place, "dora")["success"] and marks(place)["dora", "why"] == (None, 3.0, True)


def test_a_standing_says_what_waits_what_is_by_hand_extra_and_late(place, kit):
    (place / "submitted" / "dora" / NAME / "timestamp.txt").write_text("2026-05-03 14:30:00 UTC")
    with NbgraderCourse(place).gradebook() as gradebook:
        gradebook.update_or_create_assignment(NAME, duedate="2026-05-01 12:00:00")
        gradebook.find_grade("normalise", NAME, NAME, "ada").extra_credit = 0.5
        gradebook.db.commit()
    change_by_hand(place, "ada", "normalise", 1.0)
    code, out, _ = kit("grade", "01", "--student", "dora")
    assert code == 0 and "4.5 of 5 so far, 2 days 2 hours late" in out
    with NbgraderCourse(place).gradebook() as gradebook:
        found = standings(gradebook, Store(place), course.find_assignment("01", place))
        assert standings(gradebook, Store(place), course.find_assignment("01", place), "ada") == {"ada": found["ada"]}
    ada, dora = found["ada"], found["dora"]
    assert ada.total() == "4.5 of 5 so far" and found["bela"].total() == "5 / 9" and ada.extra == 0.5
    assert [mark.cell for mark in ada.waiting] == ["why"] and not found["bela"].waiting
    assert ada.of_exercise("normalise").changed_by_hand and not ada.of_exercise("moving_average").changed_by_hand
    assert duration(dora.late) == "2 days 2 hours" and not ada.late


# --- grading again --------------------------------------------------------------------------------


def test_a_regrade_says_first_and_afterwards_who_loses_for_which_check(place, kit):
    in_the_checks("points=0.5", "points=1")(place)
    in_the_checks("points=1.5", "points=1")(place)
    before = everything(place)
    code, out, _ = kit("grade", "01", "--regrade", "--dry-run")
    lines = "  dora  normalise: 1.5 -> 1 of 2 (-0.5 test_values)"
    assert code == 0 and lines in out
    assert "Nothing is written. The change would be: 0 gain, 1 lose, 2 stay as they are." in out
    assert everything(place) == before
    code, out, _ = kit("grade", "01")  # the edited checks are noticed
    assert code == 0 and lines in out and "normalise, test_values (1 lose): The mean is 0" in out
    (kept,) = (place / "reports" / f"{NAME}.changes.jsonl").read_text().splitlines()
    assert json.loads(kept)["student"] == "dora" and json.loads(kept)["gain"] == -0.5
    hand_in(place, "dora", "It is so.", {"normalise": WRONG.replace("correction=0", "correction=1")})
    code, out, _ = kit("grade", "01")
    assert code == 0 and "1 graded" in out and " lose" not in out, "another answer is no regrade"
    code, out, _ = kit("grade", "01", "--regrade", "--format", "json")
    assert (code, out) == (0, "")


def test_what_mistakes_do_is_kept_beside_the_results(place, monkeypatch):
    """By `grade`, and by the processes of a pool, if they are told where; the dry run above has written nothing."""
    folder = Store(place).learnt
    assert list(folder.glob("*.sqlite"))
    shutil.rmtree(folder)
    monkeypatch.chdir(place)
    task = Task("dora", "", (place / "submitted" / "dora" / NAME / f"{NAME}.ipynb").read_bytes(), NAME, 1)
    with Pool(1, learnt=folder) as engine:
        ((_, graded),) = engine.graded(iter([task]), 1)
    assert not graded.verdict.full and list(folder.glob("*.sqlite"))


def test_other_work_than_before_is_no_regrade_and_does_not_count_as_unchanged(place, kit):
    submit(place, "dora", {}, "solutions")
    submit(place, "eve", {}, "solutions")
    code, out, _ = kit("grade", "01", "--dry-run")
    assert code == 0 and "The change would be: 0 gain, 0 lose, 2 stay as they are, 2 with new work." in out


@pytest.mark.slow("it grades a class, as others here do")
def test_a_regrade_has_the_same_inputs_so_that_luck_changes_nothing(place, kit):
    """Seven answers, each of which is right or wrong with another of the numbers that are drawn."""

    def passed():
        found = Store(place).latest(NAME)
        return [found[f"s{n}"].exercise("normalise").checks[0].passed for n in range(7)]

    def seeds():
        return {verdict.seed for verdict in Store(place).latest(NAME).values()}

    for number in range(7):
        submit(place, f"s{number}", {"normalise": LUCKY.format(number)}, "solutions")
    assert kit("grade", "01")[0] == 0
    first, before = passed(), seeds()
    in_the_checks("points=0.5", "points=1")(place)
    in_the_checks("points=1.5", "points=1")(place)
    assert kit("grade", "01")[0] == 0
    assert (seeds(), passed()) == (before, first)
    code, out, _ = kit("grade", "01", "--regrade")
    assert code == 0 and "0 gain, 0 lose, 10 stay as they are" in out and passed() == first
    kit("grade", "01", "--new-inputs", "--student", "s0")
    assert Store(place).latest(NAME)["s0"].seed not in before


# --- a course that has begun ----------------------------------------------------------------------


def test_a_course_that_has_begun_can_be_changed(place, kit):
    """A new question, other points and a mended text, after hand-ins; nothing that was given is lost."""
    change_by_hand(place, "ada", "why", 3.0)

    def change(notebook):
        add_question(notebook, "where", 2)
        cell_of(notebook, "setup")["source"] = ["import torch  # the setup"]
        cell_of(notebook, "why")["metadata"]["nbgrader"]["points"] = 5

    edit(place, change)
    code, out, said = kit("build", "01")
    assert (code, said) == (0, ""), said
    assert "'where' is new, and 3 students have handed in without it: who did has 0 of its 2 points" in out
    assert "'why' was worth 4 points when 3 students have handed in, and is worth 5 now" in out
    assert "1 mark that was given by hand stays as it is" in out
    released = load(place / "release" / NAME / f"{NAME}.ipynb")
    assert cell_of(released, "where") and "# the setup" in "".join(cell_of(released, "setup")["source"])
    assert marks(place)["bela", "where"] == (0.0, None, False) and marks(place)["ada", "why"] == (None, 3.0, False)
    code, out, said = kit("grade", "01")
    assert (code, said) == (0, "") and "8 / 12" in out and "4.5 of 7 so far" in out, out
    assert marks(place)["ada", "why"] == (None, 3.0, False)
    assert formgrader(place, "ada")["success"]
    hand_in(place, "bela", "Since.")
    assert kit("grade", "01")[0] == 0 and marks(place)["bela", "why"] == (None, None, True)
    assert kit("report", "01", "--jobs", "1")[0] == 0


@pytest.mark.parametrize("cell", ["normalise", "why", "moving_average-solution"])
def test_what_cannot_be_changed_is_said_in_a_sentence_and_nothing_is_lost(place, kit, cell):
    def rename(notebook):
        cell_of(notebook, cell)["metadata"]["nbgrader"]["grade_id"] = "renamed"

    edit(place, rename)
    before = everything(place)
    code, out, said = kit("build", "01")
    assert code == 2 and said.count("\n") == 1 and f"3 students have handed in, and the cell {cell!r} is gone" in said
    told = api(place).generate_assignment(NAME)
    assert not told["success"] and f"the cell {cell!r} is gone" in told["log"] and "Traceback" not in told["log"]
    assert everything(place) == before


def test_the_gradebook_of_another_course_is_not_used(place, kit):
    in_the_config('c.CourseDirectory.course_id = "other"')(place)
    before = marks(place)
    for command in ("build", "grade", "gradescope"):
        code, _, said = kit(command, "01")
        assert code == 2 and said.count("\n") == 1 and "belongs to the course 'averages', but this is 'other'" in said
    assert marks(place) == before


def test_an_assignment_is_not_renamed_after_somebody_has_handed_in(place, kit):
    (place / "source" / NAME / f"{NAME}.ipynb").rename(place / "source" / NAME / "01_better.ipynb")
    code, _, said = kit("build")
    assert code == 2 and said.count("\n") == 1 and f"source/{NAME} holds 01_better.ipynb and no {NAME}.ipynb" in said
    (place / "source" / NAME).rename(place / "source" / "01_better")
    before = everything(place)
    code, _, said = kit("build", "01")
    assert code == 2 and said.count("\n") == 1 and f"01_better has the cells of {NAME}, which is gone" in said
    assert everything(place) == before


@pytest.mark.parametrize("where, step", [(GenerateAssignment, "write_single_notebook"), (swapping, "swap")])
def test_a_build_that_is_killed_leaves_the_old_release(place, kit, monkeypatch, where, step):
    """As at a kill, nothing after the step is done, nor cleared away; the next build goes on from there."""
    edit(place, add_another)
    before = {path: bytes for path, bytes in everything(place).items() if path.startswith("release")}

    def stop(*args):
        raise SystemExit

    with monkeypatch.context() as patch:
        patch.setattr(where, step, stop)
        with pytest.raises(SystemExit):
            kit("build", "01")
    after = everything(place)
    assert {path: after[path] for path in before} == before
    assert kit("build", "01")[0] == 0
    assert [path.name for path in (place / "release").iterdir()] == [NAME]
    assert cell_of(load(place / "release" / NAME / f"{NAME}.ipynb"), "where")
    assert kit("grade", "01")[0] == 0


def add_another(notebook):
    add_question(notebook, "where", 2)


# --- folders and files that belong to nobody --------------------------------------------------------


@pytest.mark.slow("it starts three commands, as others here do")
def test_what_belongs_to_nobody_is_named_at_the_end_of_grade_and_by_doctor(place, kit):
    submitted = place / "submitted"
    shutil.copytree(submitted / "ada", submitted / "zoe")
    (submitted / "zoe" / NAME).rename(submitted / "zoe" / "1_averages")
    shutil.copytree(submitted / "ada", submitted / "Ada\x1b")
    shutil.copy(submitted / "ada" / NAME / f"{NAME}.ipynb", submitted / "bela" / NAME / "other.ipynb")
    code, out, said = kit("grade", "01")
    assert code == 0 and f"submitted/zoe/{NAME}/" in said and "bela: 01_averages/other.ipynb is not graded" in said
    assert "look alike" in said and "\x1b" not in out + said
    code, out, said = kit("doctor", "01")
    assert f"submitted/zoe/{NAME}/" in out and "other.ipynb is not graded" in out and "\x1b" not in out + said


def test_who_was_dropped_is_not_counted_among_what_waits(place, kit):
    assert kit("roster", "--drop", "ada")[0] == 0
    code, out, _ = kit("grade", "01")
    assert code == 0 and "1 answer waits to be graded by hand, from 1 student." in out
    assert "1 answer waits" in kit("report", "01", "--jobs", "1")[1]
