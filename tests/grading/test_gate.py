"""What must hold before anything is graded: a course that would grade wrongly is refused, in one sentence."""

import json
import re
import shutil
import sqlite3
from dataclasses import replace as replaced

import one_process
import pytest
from conftest import ROOT
from small_course import autograder, command, real

from autograder import course
from autograder.errors import CourseError
from autograder.grading import course_faults, gate, store, trials
from autograder.grading.grader import Grader, scaled
from autograder.grading.store import Store
from autograder.verdict import Check, Outcome, Verdict

NAME = "01_averages"
CHECK = """from autograder.checks import check


@check("values", points={points})
def test_it(submission, draw):
    \"\"\"It is as it should be.\"\"\"
    pass
"""
CHECKS = [Check("test_a", "values", 1.5, True, "A."), Check("test_b", "values", 0.5, True, "B.")]


@pytest.fixture
def place(tmp_path, monkeypatch):
    """The course about averages, in which a test works."""
    folder = tmp_path / "course"
    shutil.copytree(ROOT / "tests" / "courses" / "averages", folder)
    monkeypatch.chdir(folder)
    one_process.forget()
    yield folder
    one_process.forget()


def edit(place, change):
    path = place / "source" / NAME / f"{NAME}.ipynb"
    notebook = json.loads(path.read_text())
    change({cell["id"]: cell for cell in notebook["cells"]})
    path.write_text(json.dumps(notebook, indent=1, ensure_ascii=False) + "\n")


def replace(old, new):
    def change(cells):
        for cell in cells.values():
            cell["source"] = "".join(cell["source"]).replace(old, new).splitlines(keepends=True)

    return change


def right(exercise, checks=CHECKS, **fields):
    return Outcome(exercise, 2.0, 2.0, "graded", checks, **fields)


# --- the source notebook --------------------------------------------------------------------------


def cell(id, change):
    """Changes the nbgrader metadata of a cell."""
    return lambda cells: cells[id]["metadata"]["nbgrader"].update(change)


def text(id, old, new):
    """Changes the text of a cell."""

    def change(cells):
        assert old in "".join(cells[id]["source"])
        cells[id]["source"] = "".join(cells[id]["source"]).replace(old, new).splitlines(keepends=True)

    return change


MARKER = "### BEGIN HIDDEN TESTS\n# exercise: moving_average\n### END HIDDEN TESTS"
CELLS = {
    "#exercise": (replace("# exercise: normalise", "#exercise: normalise"), "'normalise' belongs to no exercise"),
    "# Exercise": (replace("# exercise: normalise", "# Exercise: normalise"), "'normalise' belongs to no exercise"),
    "no checks": (
        replace("# exercise: normalise", "# exercise: normalize"),
        "no checks for the exercise 'normalize'.*exercises/normalize/checks.py. Did you mean 'normalise'?",
    ),
    "not graded": (cell("normalise-check", {"grade": False}), "'normalise' has hidden tests and is not graded"),
    "no metadata": (lambda cells: cells["normalise-check"]["metadata"].clear(), "'normalise-check' has hidden tests"),
    "points alone": (cell("setup", {"points": 2}), "'setup' has points and is not graded"),
    "negative": (cell("normalise-check", {"points": -2}), "'normalise' is worth -2 points: give it a number from 0 up"),
    "not a number": (cell("normalise-check", {"points": float("nan")}), "'normalise' is worth nan points"),
    "true": (cell("normalise-check", {"points": True}), "'normalise' is worth True points"),
    "task": (cell("setup", {"task": True, "points": 1}), "'setup' is an nbgrader task"),
    "twice": (
        replace("# exercise: normalise", "# exercise: moving_average"),
        "2 graded cells name the exercise 'moving_average'",
    ),
    "two in one": (
        lambda cells: cells["normalise-check"]["source"].append(f"\n{MARKER}"),
        "'normalise' names 2 exercises .normalise, moving_average.",
    ),
    "same id": (cell("normalise-check", {"grade_id": "setup"}), "two cells have the id 'setup'"),
    "text that is graded": (
        lambda cells: cells["normalise-check"].update(cell_type="markdown"),
        "'normalise' is graded and is text that students cannot change: make it a Manually graded answer",
    ),
    **{
        f"mark {line}": (
            text(id, mark, line),
            f"'{id.removesuffix('-check')}' has the line '{line}', which has no effect: did you mean '{mark}'",
        )
        for id, mark, line in (
            ("normalise-check", "### BEGIN HIDDEN TESTS", "### BEGIN HIDDEN TEST"),
            ("normalise-check", "### END HIDDEN TESTS", "### END HIDEN TESTS"),
            ("normalise-check", "### BEGIN HIDDEN TESTS", "## BEGIN HIDDEN TESTS"),
            ("normalise-solution", "### BEGIN SOLUTION", "###BEGIN SOLUTION"),
            ("normalise-solution", "### BEGIN SOLUTION", "### Begin Solution"),
            ("normalise-solution", "### END SOLUTION", "### END SOLUTION:"),
            ("normalise-solution", "### BEGIN ORIGINAL", "### BEGIN ORGINAL"),
        )
    },
    "mark of a scheme": (
        lambda cells: cells["normalise-exercise"]["source"].append("\n### BEGIN MARKSCHEME\n"),
        "the cell 'normalise-exercise' has the line '### BEGIN MARKSCHEME', .* did you mean '### BEGIN MARK SCHEME'",
    ),
    "answer and check": (
        cell("normalise-check", {"solution": True}),
        "'normalise' is an answer and names the exercise",
    ),
}


@pytest.mark.parametrize("slip", CELLS)
def test_a_cell_that_could_not_be_graded_is_refused(place, slip):
    change, says = CELLS[slip]
    edit(place, change)
    with pytest.raises(CourseError, match=f"^{NAME}: .*{says}") as refused:
        gate.require_cells(course.find_assignment("01"))
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize(
    "slip",
    [
        lambda notebook: notebook.update(nbformat=3),
        lambda notebook: notebook.update(metadata=[]),
        lambda notebook: notebook["cells"][0].update(metadata=[]),
        lambda notebook: notebook["cells"][0]["metadata"].update(nbgrader="x"),
        lambda notebook: notebook["cells"].insert(0, "x"),
    ],
)
def test_what_is_no_notebook_of_jupyters_is_refused_in_a_sentence(place, slip):
    path = place / "source" / NAME / f"{NAME}.ipynb"
    notebook = json.loads(path.read_text())
    slip(notebook)
    path.write_text(json.dumps(notebook))
    course.forget()
    with pytest.raises(CourseError, match=f"{NAME}.ipynb: not a source notebook of this course"):
        course.find_assignment("01")


def test_a_merge_conflict_in_a_source_is_named(place):
    path = place / "source" / NAME / f"{NAME}.ipynb"
    path.write_text(path.read_text().replace("\n", "\n<<<<<<< ours\n", 1))
    course.forget()
    with pytest.raises(CourseError, match=f"{NAME}.ipynb: line 2 is the mark of a merge conflict .*: settle it"):
        course.find_assignment("01")


def test_a_heading_or_comment_that_begins_something_is_no_mark(place):
    def change(cells):
        cells["normalise-exercise"]["source"] += ["\n# Begin with the mean\n", "# End\n", "### Begin\n"]
        cells["normalise-solution"]["source"] += ["\n# begin: the test comes later\n", "# END of it\n"]

    edit(place, change)
    gate.require_cells(course.find_assignment("01"))


def test_code_that_is_graded_by_hand_is_let_through(place):
    edit(place, replace(MARKER.replace("moving_average", "normalise"), ""))
    edit(place, cell("normalise-check", {"solution": True}))
    gate.require_cells(course.find_assignment("01"))


def test_a_notebook_of_no_assignment_is_named(place):
    own = place / "source" / NAME
    assert list(course_faults.of_source(own.parent)) == []
    (own.parent / "02_more").mkdir()
    shutil.copy(own / f"{NAME}.ipynb", own.parent / "02_more")
    shutil.copy(own / f"{NAME}.ipynb", own / "more.ipynb")
    beside, renamed = course_faults.of_source(own.parent)
    assert beside.startswith(f"source/{NAME} holds more.ipynb beside {NAME}.ipynb, and only {NAME}.ipynb")
    assert renamed.startswith(f"source/02_more holds {NAME}.ipynb and no 02_more.ipynb, so it is not an assignment")


# --- checks and mistakes --------------------------------------------------------------------------


def change_file(place, kind, old, new):
    path = place / "exercises" / "normalise" / f"{kind}.py"
    assert old in path.read_text()
    path.write_text(path.read_text().replace(old, new))


DOCSTRING = '    """The mean is 0 and the standard deviation 1."""\n'
LOST = """class {}:
    @check("values", points=1)
    def {}(self, submission, draw):
        '''It is lost.'''


"""
LOST_CLASS = LOST.format("Checks", "test_lost")
LOST_METHOD = LOST.format("TestMore", "tset_lost")
TWICE = LOST.format("TestMore", "test_lost") + LOST.format("TestMore", "test_found")
FILES = {
    "import": ("checks", "import torch\n", "import torsh\n", "exercises/normalise/checks.py cannot be imported: Mod"),
    "exit": ("checks", "import torch\n", "raise SystemExit\n", "normalise/checks.py cannot be imported: SystemExit"),
    "no checks": ("checks", "@check", "# @check", "the check test_values in normalise/checks.py is not marked"),
    "no names": ("checks", "def test_", "def tset_", "tset_values in normalise/checks.py is marked with .*, but never"),
    "shadowed": ("checks", "test_wrong_rank", "test_values", "marks test_values in line .* never called"),
    "class": ("checks", "@check", LOST_CLASS + "@check", "marks test_lost in line .* that of its class with Test"),
    "method": ("checks", "@check", LOST_METHOD + "@check", "marks tset_lost in line .* must begin with test_"),
    "covered class": ("checks", "@check", TWICE + "@check", "marks test_lost in line .* never called"),
    "unsaid": ("checks", DOCSTRING, "", "the check test_values in normalise/checks.py has no docstring"),
    "negative": ("checks", "points=1.5", "points=-1.5", "test_values .* is worth -1.5 points"),
    "nan": ("checks", "points=1.5", 'points=float("nan")', "test_values .* is worth nan points"),
    "text": ("checks", "points=1.5", 'points="1.5"', "test_values .* is worth '1.5' points"),
    "place": ("mistakes", "SPREAD=", "SPRAED=", "no-root changes SPRAED, .* none of its places: did you mean SPREAD"),
    "variant": (
        "mistakes",
        'BANK.mistake("rank',
        'BANK.variant("no-rot", {"x": "y"})\nBANK.mistake("rank',
        "a variant of no-rot, which is none of its mistakes: did you mean no-root",
    ),
    "gone": ("mistakes", '"deviations /"', '"deviation /"', "mean-not-removed: 'deviation /' occurs 0 times"),
    "same": ("mistakes", '"x /"', '"deviations /"', "mean-not-removed changes nothing"),
    "broken": ("mistakes", '"x /"', '"x / )("', "the text of mean-not-removed cannot be run.*SyntaxError"),
    "name": ("mistakes", '"x /"', '"{WIDTH} /"', "the text of mean-not-removed holds {WIDTH}, none of its places"),
    "bank": ("mistakes", "BANK", "BANC", "mistakes.py has no BANK"),
    "other bank": ("mistakes", "BANK = Bank(", "BANK = print(", "mistakes.py cannot be imported: TypeError"),
}


@pytest.mark.parametrize("slip", FILES)
def test_checks_and_mistakes_that_would_not_do_what_they_say_are_refused(place, slip):
    kind, old, new, says = FILES[slip]
    change_file(place, kind, old, new)
    one_process.forget()
    with pytest.raises(CourseError, match=says) as refused:
        gate.require_files(course.find_assignment("01"))
    assert "\n" not in str(refused.value) and "normalise" in str(refused.value)


@pytest.mark.parametrize("checks", ["", "# all of them are gone\n", CHECK.format(points=0)])
def test_an_exercise_whose_checks_give_no_points_is_refused(place, checks):
    (place / "exercises" / "normalise" / "checks.py").write_text(checks)
    one_process.forget()
    with pytest.raises(CourseError, match="normalise/checks.py: it.* no (checks|points)"):
        gate.require_files(course.find_assignment("01"))


def test_the_bank_of_another_exercise_is_refused(place):
    shutil.copy(place / "exercises" / "moving_average" / "mistakes.py", place / "exercises" / "normalise")
    with pytest.raises(CourseError, match="normalise/mistakes.py has a BANK that is that of moving_average"):
        gate.require_files(course.find_assignment("01"))


def test_the_course_has_no_such_fault(place):
    gate.require_cells(course.find_assignment("01"))
    gate.require_files(course.find_assignment("01"))


def test_data_that_checks_read_is_part_of_the_version(place):
    def version():
        store.parts_of.cache_clear()
        return store.course_version()

    before, folder = version(), place / "exercises" / "normalise"
    (folder / "__pycache__").mkdir(exist_ok=True)
    (folder / "__pycache__" / "checks.cpython-311.pyc").touch()
    (folder / ".checks.py.swp").touch()
    assert version() == before
    (folder / "right.json").write_text("[1]")
    assert version() != before


# --- what grading gives ---------------------------------------------------------------------------


def verdict(*outcomes):
    return Verdict("", list(outcomes), 1, NAME)


def test_a_solution_with_less_than_full_marks_is_refused():
    failed = [CHECKS[0], Check("test_b", "values", 0.5, False, "B. It is not.")]
    (said,) = course_faults._of_solution(verdict(right("e"), right("f", failed)))
    assert "the solution of f in source/ does not get full marks" in said and said.endswith("says: B. It is not.")
    stopped = Outcome("f", 0.0, 2.0, "timeout", message="It ran too long.")
    assert [said[-17:] for said in course_faults._of_solution(verdict(stopped))] == [" It ran too long."]
    assert list(course_faults._of_solution(verdict(right("e")))) == []


def test_points_that_disagree_are_refused(place):
    assignment, found = course.find_assignment("01"), verdict(right("normalise"), right("moving_average"))
    (said,) = course_faults._of_points(assignment, found, {})
    assert "the cell 'moving_average' is worth 3 points, and moving_average is worth 2" in said
    assert list(course_faults._of_points(assignment, found, {"moving_average": 3.0})) == []


def test_what_has_passed_is_not_tried_again(place):
    """Unless the points or the inputs are others."""
    assignment, results, tried = course.find_assignment("01"), Store(place), []

    def judge(assignment, trial):
        tried.append(trial)
        lacks = [] if trial in (trials.SOLUTION, trials.VISIBLE) else [replaced(c, passed=False) for c in CHECKS]
        return verdict(*(right(name, lacks or CHECKS) for name in ("normalise", "moving_average")))

    for wanted in ({"moving_average": 3.0}, {"moving_average": 3.0, "elsewhere": 1.0}):
        gate.require(assignment, judge, wanted, results, 1)
    assert tried == [*trials.TRIALS]
    gate.require(assignment, judge, {"moving_average": 3.0}, results, 2)
    assert tried == [*trials.TRIALS] * 2
    with pytest.raises(CourseError):
        gate.require(assignment, judge, {}, results, 2)


NOTHING = "\n    for x in ():\n        close(x, x)\n"
LENIENT = """
    x, function = draw.normal(7), submission.function("{}")
    assert function(x{}) is None
"""
GIVEN = {
    "a stub": (
        "moving_average",
        NOTHING,
        "moving_average as it is released gets 3 of 3 points: test_values and test_t",
    ),
    "an original": (
        "normalise",
        NOTHING,
        "the original of normalise gets 2 of 2 points as it is released, so there is nothing",
    ),
    "nothing": ("moving_average", LENIENT.format("moving_average", ", 2"), "only returns None gets 3 of 3 points"),
}


@pytest.mark.parametrize("case", GIVEN)
def test_points_for_nothing_are_refused(place, grader, case):
    """Each check of the exercise is replaced by one that passes for what it should not."""
    exercise, body, says = GIVEN[case]
    path = place / "exercises" / exercise / "checks.py"
    head, *checks = re.split(r"(?=^@check)", path.read_text(), flags=re.MULTILINE)
    path.write_text(head + "\n\n".join(re.sub(r'(?s)(""".*?""").*', rf"\1{body}", check) for check in checks))
    one_process.forget()
    again = Grader(one_process.Shared(grader.parent))
    found = [
        said
        for trial in (trials.RELEASED, trials.RAISES, trials.EMPTY)
        for outcome in again.grade_trial(course.find_assignment("01"), trial, 1).exercises
        for said in course_faults._of_stub(course.find_assignment("01"), outcome, trial)
    ]
    assert any(says in said for said in found), found
    assert all(f"{exercise} " in said for said in found), "of the other exercise, there is nothing to say"


def test_an_original_may_earn_what_it_does_right(place, grader):
    """The checks of `normalise` with one more, which the original passes."""
    more = CHECK.format(points=0.5).replace(
        "pass", 'assert submission.function("normalise")(draw.normal(4)).dim() == 1'
    )
    path = place / "exercises" / "normalise" / "checks.py"
    path.write_text(path.read_text() + more)
    one_process.forget()
    again, assignment = Grader(one_process.Shared(grader.parent)), course.find_assignment("01")
    verdict = again.grade_trial(assignment, trials.RELEASED, 1)
    assert verdict.exercise("normalise").score == 0.5
    assert [*course_faults._of_stub(assignment, verdict.exercise("normalise"), trials.RELEASED)] == []
    for trial in (trials.RAISES, trials.EMPTY):
        assert again.grade_trial(assignment, trial, 1).score == 0


@pytest.mark.slow("it builds and grades")
def test_a_visible_check_that_fails_for_the_solution_is_refused(place, grader):
    edit(place, text("moving-average-check", "[2.0, 4.0], f", "[2.0, 5.0], f"))
    edit(place, text("normalise-check", "got = ", "while True: pass\ngot = "))
    again = Grader(one_process.Shared(grader.parent))
    stopped, wrong = course_faults._of_visible_checks(
        again.grade_trial(course.find_assignment("01"), trials.VISIBLE, 1)
    )
    assert "the visible check of normalise fails for the course's own solution" in stopped and "stopped" in stopped
    assert "the visible check of moving_average fails" in wrong
    assert "AssertionError: the means of neighbours in 1, 3, 5 are 2 and 4, yours gives [2.0, 4.0]" in wrong


def test_definitions_are_emptied():
    kind = "class A(B):\n    x = 1\n    def __init__(self, n):\n        self.n = n\n"
    assert trials.hollow(f"import math\n{kind}\ndef f(x):\n    return x\n", "return None").split("\n") == [
        *("import math", "", "class A(B):", "    x = 1", ""),
        *("    def __init__(self, n):", "        super().__init__()", "        return None", ""),
        *("def f(x):", "    return None"),
    ]
    assert trials.hollow("%magic", "return None") == ""


@pytest.mark.parametrize("points, score", [(20.0, 20.0), (7.0, 7.0), (1.0, 1.0), (2.0, 2.0)])
def test_checks_are_scaled_to_the_points(points, score):
    checks, got = scaled(CHECKS, points)
    assert got == score and sum(c.points for c in checks) == pytest.approx(points)
    half = [CHECKS[0], Check("test_b", "values", 0.5, False, "B.")]
    assert scaled(half, points)[1] == 0.75 * points


@pytest.mark.slow("it builds, grades and runs nbgrader")
def test_build_grade_and_nbgrader_refuse_and_cost_nobody_points(place):
    """A slip in the course stops `build`; after that, `grade` and `nbgrader autograde`: nothing is recorded."""
    checks = place / "exercises" / "normalise" / "checks.py"
    right_checks = checks.read_text()
    checks.write_text(right_checks.replace("x = draw.normal(7", "x = draw.no_such_thing(7"))
    code, _, said = autograder(place, "build")
    assert code == 2 and said.count("\n") == 1 and not (place / "release").exists(), said
    assert said.startswith(f"autograder: {NAME}: the solution of normalise in source/ does not get full marks"), said

    checks.write_text(right_checks)
    assert autograder(place, "build")[0] == 0
    (place / "submitted" / "ada" / NAME).mkdir(parents=True)
    shutil.copy(place / "solutions" / NAME / f"{NAME}.ipynb", place / "submitted" / "ada" / NAME)
    checks.write_text(right_checks.replace("deviations.square()", "deviations.no_such_thing()"))
    code, out, said = autograder(place, "grade", "01", "--jobs", "1")
    assert code == 2 and "ada" not in out and said.count("\n") == 1 and "normalise in source/" in said, said
    code, _, said = command(place, "nbgrader", "autograde", NAME)
    assert code == 1 and "the solution of normalise in source/ does not get full marks" in said, said
    assert "Traceback" not in said and not (place / "autograded" / "ada").exists()
    with sqlite3.connect(place / "gradebook.db") as database:
        assert database.execute("select count(*) from grade").fetchone() == (0,)
    checks.write_text(right_checks.replace(DOCSTRING, ""))  # the workers cannot even start
    code, out, said = real(place, "autograder", "grade", "01", "--jobs", "1")
    assert code == 2 and said.count("\n") == 1 and "test_values in normalise/checks.py has no docstring" in said, said

    checks.write_text(right_checks)
    code, out, said = autograder(place, "grade", "01", "--jobs", "1")
    assert code == 0 and "ada      2/2        3/3             5 / 5" in out, said


RAISES_FOR_SOME = """

@check("numerics", points=0)
def test_ada(submission, draw):
    \"\"\"This check has a mistake of its own, which shows with some answers alone.\"\"\"
    if submission.function("normalise")(draw.normal(3)).dtype is torch.float64:
        draw.no_such_thing()
"""


@pytest.mark.slow("it grades a class, as others here do")
def test_a_check_that_raises_for_one_student_is_told_to_the_instructor_and_left_to_a_person(place):
    checks = place / "exercises" / "normalise" / "checks.py"
    checks.write_text(checks.read_text() + RAISES_FOR_SOME)
    assert autograder(place, "build")[0] == 0
    notebook = (place / "solutions" / NAME / f"{NAME}.ipynb").read_text()
    for student, text in {"ada": notebook.replace("x - x.mean()", "x.double() - x.mean()"), "bela": notebook}.items():
        (place / "submitted" / student / NAME).mkdir(parents=True)
        (place / "submitted" / student / NAME / f"{NAME}.ipynb").write_text(text)
    code, _, said = autograder(place, "grade", "01", "--jobs", "1")
    assert code == 2
    told = [line for line in said.splitlines() if line.startswith("autograder: ")]
    assert len(told) == 1 and told[0].startswith(
        "autograder: normalise: test_ada ended with AttributeError (normalise/checks.py, line "
    ), said
    assert "for 1 student: the check has a bug, which costs nobody points" in told[0]
    question = """select student.id, auto_score, needs_manual_grade from grade
        join base_cell on grade.cell_id = base_cell.id
        join submitted_notebook on grade.notebook_id = submitted_notebook.id
        join submitted_assignment on submitted_notebook.assignment_id = submitted_assignment.id
        join student on submitted_assignment.student_id = student.id where base_cell.name = 'normalise'"""
    with sqlite3.connect(place / "gradebook.db") as database:
        assert sorted(database.execute(question).fetchall()) == [("ada", None, 1), ("bela", 2.0, 0)]
