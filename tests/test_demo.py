"""The demo: its made-up class as data, and the whole of it once, from the command line."""

import csv
import io
import os
import re
import subprocess
import sys
import time
from types import SimpleNamespace

import pytest
import small_course
from conftest import ASSIGNMENT, ROOT, cell_of

from autograder import cli, course
from autograder.demo import made_up, run, ticker
from autograder.errors import CourseError, UsageError
from autograder.grading.store import Store
from autograder.mistakes.bank import bank, right_answer
from autograder.verdict import PLACE, Diagnosis, Outcome, Verdict

GRADED = ("02",)
EXERCISES = ("SingleHeadSelfAttention", "SelfAttention", "attention")
KIM = "kim: who this is\n"


@pytest.fixture
def assignment():
    return course.find_assignment(ASSIGNMENT)


@pytest.fixture
def students(assignment):
    return run.read_class(assignment)


# --- reading the class ----------------------------------------------------------------------------


def test_a_student_of_a_page_is_read():
    text = (
        "kim: who this is\n# delete-tests\n# slow\n# otherwise: solution\n"
        "# SelfAttention: mistake no-scale and rank-not-checked\n"
        "# attention: own text, zero timeout\n\n"
        "# %% attention\ndef attention():\n    return 1\n\n# %% new\nprint(2)\n"
    )
    student = made_up.parse(text, EXERCISES)
    assert (student.name, student.about, student.delete_tests, student.slow) == ("kim", "who this is", True, True)
    assert student.expected == {
        "SingleHeadSelfAttention": made_up.Expected("full"),
        "SelfAttention": made_up.Expected("less", "graded", frozenset({"no-scale", "rank-not-checked"})),
        "attention": made_up.Expected("zero", "timeout"),
    }
    right, wrong, *own = student.cells
    assert right == ("SingleHeadSelfAttention", right_answer("SingleHeadSelfAttention"))
    assert wrong[0] == "SelfAttention" and wrong[1] != right_answer("SelfAttention")
    assert own == [("attention", "def attention():\n    return 1"), ("new", "print(2)")]


def test_what_a_recipe_does_not_name_is_as_it_was_released():
    student = made_up.parse(KIM + "# attention: answer loops\n", EXERCISES)
    assert student.cells == (("attention", right_answer("attention", "loops")),)
    expected = student.expected
    assert expected["attention"] == made_up.Expected("full")
    assert expected["SelfAttention"] == made_up.Expected("less", mistakes=frozenset({"original-004"})), "an original"
    assert made_up.parse(KIM, ["causal_mask"]).expected["causal_mask"] == made_up.Expected("zero"), "a stub"
    original = made_up.parse(KIM, ["SelfAttentionWide"]).expected["SelfAttentionWide"]
    assert original == made_up.Expected("zero", "error"), "it does not compile"


def test_a_style_is_taken_where_there_is_one():
    student = made_up.parse(KIM + "# otherwise: answer sdpa\n", ["attention", "softmax"])
    assert student.cells == (("attention", right_answer("attention", "sdpa")), ("softmax", right_answer("softmax")))


@pytest.mark.parametrize(
    "head",
    [
        "# Attention: solution\n",  # no such exercise
        "# attention: perfect\n",
        "# attention: answer perfect\n",
        "# attention: mistake perfect\n",
        "# attention: mistake mask-inverted and mask-after-softmax\n",  # the two don't go together
        "# attention: own text, full\n",  # without a text
        "# attention: own text, perfect\n# %% attention\n1\n",
        "# attention: own text, zero error timeout\n# %% attention\n1\n",
        "# attention: solution\n# %% attention\n1\n",
    ],
)
def test_a_malformed_student_is_refused(head):
    with pytest.raises(CourseError, match="kim"):
        made_up.parse(KIM + head, EXERCISES)


def test_cells_find_their_places(release):
    text = KIM + (
        "# attention: own text, full\n# %% attention\nfirst\n# %% attention\nsecond\n# %% new\nlast\n"
        "# %% new after SelfAttention\nbetween\n"
        "# %% question-three-matrices\n# Because.\n#\n# $a$\n"
    )
    notebook = run.fill_in(release, made_up.parse(text, EXERCISES))
    cells = notebook["cells"]
    place = cells.index(cell_of(notebook, "attention-solution"))
    assert [c["source"] for c in cells[place : place + 2]] == ["first", "second"]
    assert cells[place]["metadata"] == cells[place + 1]["metadata"]
    assert cells[place]["id"] != cells[place + 1]["id"]
    assert cells[-1]["source"] == "last"
    assert cells[cells.index(cell_of(notebook, "SelfAttention")) + 1]["source"] == "between"
    assert cell_of(notebook, "question-three-matrices")["source"] == "Because.\n\n$a$"
    assert len(release["cells"]) == len(cells) - 3, "the release itself was changed"


def test_tests_are_deleted_and_written_answers_are_not(release):
    notebook = run.fill_in(release, made_up.parse(KIM + "# delete-tests\n", EXERCISES))
    ids = {c["metadata"].get("nbgrader", {}).get("grade_id") for c in notebook["cells"]}
    assert not ids & set(EXERCISES)
    assert {"setup", "attention-solution", "question-three-matrices"} <= ids


def test_a_cell_without_a_place_is_refused(release):
    with pytest.raises(CourseError, match="'nowhere'"):
        run.fill_in(release, made_up.parse(KIM + "# %% nowhere\n1\n", EXERCISES))


# --- the class ------------------------------------------------------------------------------------


def test_the_class_is_large_and_nobody_is_there_twice(students, release):
    assert len(students) >= 15
    handed_in = [s.raw or tuple("".join(c["source"]) for c in run.fill_in(release, s)["cells"]) for s in students]
    assert len(set(handed_in)) == len(students)


def test_the_class_holds_all_sorts(students):
    outcomes = [s.expected[name] for s in students for name in EXERCISES]
    assert sum(all(o.level == "full" for o in s.expected.values()) for s in students) >= 5
    assert {"graded", "error", "timeout", "killed", "rejected"} <= {o.status for o in outcomes}
    quiet = {mistake for o in outcomes for mistake in o.mistakes}
    assert {"softmax-over-queries", "inputs-as-values", "no-scale", "mask-inverted"} <= quiet
    assert any(s.delete_tests for s in students)
    assert any(title == "question-three-matrices" for s in students for title, _ in s.cells)
    assert any(not s.cells and s.raw is None for s in students), "nobody handed in the release as it is"


def test_the_first_page_waits_for_nobody_who_never_ends(students):
    """Of the class that is shown first; in the others nobody waits for a page, so the mark would say nothing."""
    assert {s.name for s in students if any(o.status == "timeout" for o in s.expected.values())} <= {
        s.name for s in students if s.slow
    }
    assert sum(not s.slow for s in students) >= 20 and run.FIRST == ASSIGNMENT
    others = [a for a in course.assignments().values() if a.name != run.FIRST]
    assert not any(s.slow for a in others for s in run.read_class(a))


def test_the_size_of_a_class_is_known_before_it_is_read(students):
    assert made_up.size(ASSIGNMENT) == len(students)


def test_every_expected_mistake_is_in_the_bank():
    for assignment in course.assignments().values():
        for student in run.read_class(assignment):
            for name, expected in student.expected.items():
                named = {mistake for mistake in expected.mistakes if not mistake.startswith(PLACE)}
                assert named <= set(bank(name)), f"{student.name}, {name}"


def test_a_new_exercise_needs_no_student():
    """What a page does not name is untouched, or right as the rest: nobody's recipe changes for one exercise more."""
    for assignment in course.assignments().values():
        new = next(name for name in ("causal_mask", "top_p") if name not in {e.name for e in assignment.exercises})
        for text in (made_up.CLASS / f"{assignment.name}.py").read_text(encoding="utf-8").split("# === ")[1:]:
            exercises = [*(e.name for e in assignment.exercises), new]
            assert made_up.parse(text, exercises).expected[new].level in ("full", "zero")


def test_the_pages_worth_opening_belong_to_somebody():
    handed_in = {(s.name, a.name) for a in course.assignments().values() for s in run.read_class(a)}
    assert set(run.WORTH_OPENING) <= handed_in


def test_every_assignment_has_a_class():
    assert {path.stem for path in made_up.CLASS.glob("*.py")} == set(course.assignments())


# --- comparing ------------------------------------------------------------------------------------


def outcome(score, status="graded", *mistakes):
    return Outcome("attention", score, 10.0, status, diagnosis=[Diagnosis(m, "") for m in mistakes])


@pytest.mark.parametrize(
    "found, expected, fits",
    [
        (outcome(10.0), "full", True),
        (outcome(9.5), "full", False),
        (outcome(9.5), "partial", True),
        (outcome(0.0), "partial", False),
        (outcome(0.0), "zero", True),
        (outcome(0.0, "error"), "zero", False),
        (outcome(0.0, "error"), "zero error", True),
        (outcome(4.0, "graded", "no-scale"), "partial no-scale", True),
        (outcome(4.0, "graded", "no-scale", "more"), "partial no-scale", True),
        (outcome(4.0, "graded", "more"), "partial no-scale", False),
        (outcome(4.0, "graded", "more"), "partial", False),
        (outcome(4.0, "graded", "fact-times"), "partial", True),
    ],
)
def test_outcomes_are_compared(found, expected, fits):
    text = KIM + f"# attention: own text, {expected}\n# %% attention\n1\n"
    assert run.fits(found, made_up.parse(text, EXERCISES).expected["attention"]) is fits


@pytest.mark.parametrize("score, fits", [(10.0, False), (9.5, True), (0.0, True)])
def test_a_mistake_costs_something(score, fits):
    expected = made_up.parse(KIM + "# attention: mistake no-scale\n", EXERCISES).expected["attention"]
    assert run.fits(outcome(score, "graded", "no-scale"), expected) is fits
    assert not run.fits(outcome(score), expected), "it must be named"


def test_every_surprise_is_told(tmp_path, assignment):
    student = made_up.parse(KIM + "# otherwise: solution\n", EXERCISES)
    exercises = [Outcome("attention", 4.0, 10.0, "graded", diagnosis=[Diagnosis("no-scale", "")])]
    exercises.append(Outcome("SelfAttention", 8.0, 8.0, "graded"))
    Store(tmp_path).put_latest(ASSIGNMENT, "kim", Verdict("", exercises, seed=1))
    surprises = run.compare([student], tmp_path, assignment)
    assert surprises == [
        "kim, SingleHeadSelfAttention: expected full graded, but there is no record of it.",
        "kim, attention: expected full graded, got partial graded no-scale (4 of 10 points).",
    ]
    said = run.conclusion([[student]], surprises)
    assert "2 of 3 exercises came out otherwise" in said.replace("\n", " ") and said.splitlines()[-2:] == [
        f"  {surprise}" for surprise in surprises
    ]


# --- what it says ---------------------------------------------------------------------------------


def test_every_assignment_is_one_line_of_a_terminal():
    """The names are as wide as the course's own are; no total is without a word on what is given by hand."""
    lines = [run.headings()]
    for assignment in course.assignments().values():
        exercises = [Outcome(e.name, e.points / 2, e.points, "graded") for e in assignment.exercises]
        exercises[0].diagnosis = [Diagnosis("no-scale", "")] * 99
        rows = [run.row(assignment, [Verdict("", exercises, seed=1)] * number) for number in (0, 2)]
        assert " 0   " in rows[0] and " 198" in rows[1]
        most = sum(e.points for e in assignment.exercises)
        assert f" {most / 2:.1f} of {most:g} " in rows[1]
        assert f" {f'+{assignment.points - most:g}' if assignment.points > most else '-'} " in rows[1]
        lines += rows
    assert {len(line) for line in lines[1:]} == {len(lines[0])} and len(lines[0]) <= run.WIDTH
    untouched = Outcome("softmax", 0.0, 6.0, "graded", diagnosis=[Diagnosis("original-000", "")], not_started=True)
    first = course.find_assignment("01")
    assert run.row(first, [Verdict("", [untouched], seed=1)]).endswith(" 0"), "nobody has made that mistake"


def test_the_commands_for_formgrader_can_be_pasted(tmp_path, monkeypatch):
    place = tmp_path / "a course"
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    monkeypatch.setattr(sys, "prefix", str(tmp_path / ".venv"))
    assert run.formgrader(place, str(tmp_path)) == ["cd 'a course' && jupyter lab"], "there is no such environment"
    (tmp_path / ".venv" / "bin").mkdir(parents=True)
    (tmp_path / ".venv" / "bin" / "activate").touch()
    assert run.formgrader(place, str(tmp_path)) == [". .venv/bin/activate", "cd 'a course' && jupyter lab"]
    (tmp_path / "within").mkdir()
    activate = tmp_path / ".venv" / "bin" / "activate"
    assert run.formgrader(place, str(tmp_path / "within")) == [f". {activate}", "cd '../a course' && jupyter lab"]
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    assert run.formgrader(place, str(tmp_path))[1].endswith("--allow-root")


class Stream(io.StringIO):
    def __init__(self, terminal):
        super().__init__()
        self.terminal = terminal

    def isatty(self):
        return self.terminal


def test_a_pipe_gets_a_line_now_and_then(monkeypatch):
    monkeypatch.setattr(ticker, "TICK", 0.01)
    monkeypatch.setattr(ticker, "QUIET", 0.05)
    with ticker.Ticker(stream := Stream(False), 2) as shown:
        with shown.doing("grading"):
            time.sleep(0.3)
            shown.step()
            time.sleep(0.3)
        shown.say("Done.")
        time.sleep(0.3)
    lines = stream.getvalue().splitlines()
    said = [re.fullmatch(r"  grading \|.*\| (\d) of 2, \d\d:\d\d", line) for line in lines[:-1]]
    assert [one[1] for one in said] == sorted(one[1] for one in said) and {one[1] for one in said} == {"0", "1"}
    assert lines[-1] == "Done." and "\r" not in stream.getvalue() and max(map(len, lines)) <= ticker.COLUMNS


def test_what_is_quick_is_no_line_of_a_pipe():
    with ticker.Ticker(stream := Stream(False), 50) as shown:
        for number in range(50):
            with shown.doing(f"grading {number}"):
                shown.step()
            shown.say(f"row {number}")
    assert stream.getvalue().splitlines() == [f"row {number}" for number in range(50)]


def test_the_end_of_the_workers_is_not_silent(monkeypatch):
    monkeypatch.setattr(ticker, "TICK", 0.01)
    monkeypatch.setattr(ticker, "QUIET", 0.05)
    slow = SimpleNamespace(connection=io.BytesIO(), end=lambda: time.sleep(0.3))
    with ticker.Ticker(stream := Stream(False), 1) as shown, run._Pool(shown, 1, "cpu", "full") as pool:
        pool.workers.append(slow)
    assert stream.getvalue().startswith("  ending the processes that graded |")


def test_a_terminal_has_one_bar(monkeypatch):
    """It is drawn over itself; what is said stays above it, and nothing of it is left in the end."""
    monkeypatch.setattr(ticker, "TICK", 0.01)
    with ticker.Ticker(stream := Stream(True), 4) as shown:
        with shown.doing("grading"):
            time.sleep(0.1)
            shown.say("A line.")
            shown.reach(3)
            time.sleep(0.1)
    *before, after = stream.getvalue().split("A line.\n")
    assert len(before) == 1 and "\n" not in before[0] + after
    drawn = [part for part in before[0].split("\r") if part.strip()]
    assert len(drawn) > 1 and all(part.startswith("  grading |") for part in drawn)
    assert "3 of 4" in after and not after.split("\r")[-1].strip()


def test_a_reader_who_has_gone_stops_nothing(monkeypatch):
    monkeypatch.setattr(ticker, "TICK", 0.01)
    for terminal in (True, False):
        stream = Stream(terminal)
        with ticker.Ticker(stream, 2) as shown, shown.doing("grading"):
            stream.close()
            shown.say("A line.")
            shown.step()
            time.sleep(0.05)


# --- the order ------------------------------------------------------------------------------------


def test_the_first_page_comes_first_and_what_trains_models_last():
    names = list(course.assignments())
    first, others = run.parts(names)
    assert first == [run.FIRST] and others[-1] == run.LAST == names[-1]
    assert others == [name for name in names if name != run.FIRST]
    assert run.parts(names[2:4]) == [names[2:3], names[3:4]]
    assert run.parts([run.LAST, names[0]]) == [[names[0]], [run.LAST]]
    assert run.parts([run.LAST]) == [[run.LAST]]


def test_what_follows_is_said(students):
    names = list(course.assignments())
    said = run.what_follows(students, names, 2).replace("\n", " ")
    assert "take longer to grade and 11 more assignments. The last, 12_your_model, takes about" in said
    seconds, half = (int(re.search(r"about (\d+) s", run.what_follows([], names, jobs))[1]) for jobs in (1, 2))
    assert seconds == pytest.approx(2 * half, abs=10) and seconds == pytest.approx(
        run.LAST_SECONDS * made_up.size(run.LAST), abs=10
    )
    assert run.what_follows([], names[:1], 2) == ""
    assert run.what_follows([], [names[0], names[2]], 2) == "It goes on with 1 more assignment."


@pytest.fixture
def steps(tmp_path, monkeypatch, capsys):
    """Runs the demo on some assignments with nothing built or graded: what it does, and what it has said before."""
    done = []

    def note(what):
        done.append((what, capsys.readouterr().out))

    def build(root, names, ticker):
        note(("build", *names))
        return [course.find_assignment(name) for name in names]

    def grade(grading, students):
        name = grading.assignment.name
        note(("grade", name, len(students)))
        (grading.root / "feedback" / "greta" / name).mkdir(parents=True, exist_ok=True)
        (grading.root / "feedback" / "greta" / name / f"{name}.html").touch()
        return ""

    monkeypatch.setattr(run, "build", build)
    monkeypatch.setattr(run.Grading, "grade", grade)
    monkeypatch.setattr(run._Pool, "warm", lambda *given: None)
    monkeypatch.setattr(run, "hand_in", lambda *given: None)
    monkeypatch.setattr(run, "export", lambda *given: None)

    def ran(*wanted):
        code = run.run(tmp_path / "course", 1, "cpu", "full", wanted)
        note("end")
        return code, done

    return ran


def test_the_first_page_is_shown_before_anything_else_is_built(steps, students):
    code, done = steps("01", "02", "12")
    what, said = zip(*done, strict=True)
    quick = sum(not student.slow for student in students)
    assert what == (
        ("build", run.FIRST),
        ("grade", run.FIRST, quick),
        ("grade", run.FIRST, len(students)),
        ("build", "01_self_attention", run.LAST),
        ("grade", "01_self_attention", made_up.size("01_self_attention")),
        ("grade", run.LAST, made_up.size(run.LAST)),
        "end",
    )
    assert "Open this first" not in said[1]
    assert f"reports/{run.FIRST}.html" in said[2] and f"feedback/greta/{run.FIRST}/{run.FIRST}.html" in said[2]
    assert "oskar" not in said[2], "a page that is not there yet"
    assert run.LAST in said[2] and "about" in said[2]
    assert code == 1, "nothing was graded: no outcome is the expected one"


def test_one_assignment_in_which_all_are_quick_is_built_and_shown_once(steps):
    _, done = steps("03")
    assert [what[0] for what, _ in done[:-1]] == ["build", "grade"]
    assert "reports/03_causal_attention.html" in done[-1][1] and "It goes on" not in done[-1][1]


# --- the folder -----------------------------------------------------------------------------------


def test_a_folder_that_no_demo_made_is_left_alone(tmp_path):
    precious = tmp_path / "precious.txt"
    precious.write_text("thesis")
    with pytest.raises(UsageError, match="no demo made it"):
        run.make_folder(ROOT, tmp_path)
    assert [p.name for p in tmp_path.iterdir()] == ["precious.txt"]
    with pytest.raises(UsageError, match="no folder"):
        run.make_folder(ROOT, precious)
    (tmp_path / "link").symlink_to(tmp_path)
    with pytest.raises(UsageError):
        run.make_folder(ROOT, tmp_path / "link")
    assert precious.read_text() == "thesis"


def test_a_folder_within_the_source_is_refused():
    with pytest.raises(UsageError, match="source"):
        run.make_folder(ROOT, ROOT / "source" / "demo")
    assert not (ROOT / "source" / "demo").exists()


def test_a_folder_of_an_earlier_demo_is_replaced(tmp_path):
    folder = tmp_path / "a" / "course"
    run.make_folder(ROOT, folder)
    (folder / "gradebook.db").write_text("old")
    run.make_folder(ROOT, folder)
    assert sorted(p.name for p in folder.iterdir()) == [run.MARKER, "nbgrader_config.py", "source"]


def test_the_command_says_so_in_one_line(tmp_path, capsys, monkeypatch):
    monkeypatch.setattr(cli.shared, "refuse_without_sandbox", lambda options: None)
    (tmp_path / "precious.txt").write_text("thesis")
    assert cli.main(["demo", "--folder", str(tmp_path)]) == 2
    said = capsys.readouterr().err
    assert said.count("\n") == 1 and "no demo made it" in said


# --- the whole ------------------------------------------------------------------------------------


WHOLE = pytest.mark.slow("it runs a demo, of which make test grades a class by test_demo_classes.py")


@pytest.fixture(scope="module")
def ran(tmp_path_factory):
    """What `autograder demo` printed for one assignment, and the folder that it made. `make demo` does all.

    `is_there`: whether the first page that it named was there then.
    """
    folder = tmp_path_factory.mktemp("demo") / "course"
    arguments = ["demo", *GRADED, "--folder", str(folder), "--jobs", "2", "--device", "cpu"]
    lines, is_there = [], None
    with subprocess.Popen(
        [sys.executable, "-m", "autograder", *arguments],
        cwd=ROOT,
        env={**os.environ, "AUTOGRADER_DEBUG": "1"},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        for line in process.stdout:
            lines.append(line)
            if is_there is None and ".html" in line:
                is_there = (ROOT / line.strip()).is_file()
        err = process.stderr.read()
    out = "".join(line for line in lines if not re.fullmatch(r"  .*\| \d+ of \d+, [\d:]+\n", line))
    return SimpleNamespace(code=process.returncode, out=out, err=err, folder=folder, is_there=is_there)


@WHOLE
def test_the_demo_goes_well(ran):
    assert ran.code == 0, ran.out + ran.err
    assert "exercises came out as noted" in ran.out.replace("\n", " ")


@WHOLE
def test_the_demo_fits_a_terminal(ran, students):
    """All but paths, which depend on where it was run; and it says little."""
    lines = ran.out.splitlines()
    assert all(len(line) <= run.WIDTH for line in lines if str(ran.folder.name) not in line)
    assert len([line for line in lines if line.startswith(ASSIGNMENT)]) == 1
    assert len(lines) < 45


@WHOLE
def test_the_log_has_a_row_for_every_student(ran, students, assignment):
    log = (ran.folder / run.LOG).read_text(encoding="utf-8")
    part = log[log.index(f"made up for {ASSIGNMENT}") :]
    table = part[part.index("student  ") :]
    rows = {line.split()[0]: line for line in table.split("\n\n")[0].splitlines()[2:] if line}
    for student in students:
        row = rows[student.name]
        scores = [tuple(map(float, pair)) for pair in re.findall(r"([\d.]+)/([\d.]+)", row)]
        assert [highest for _, highest in scores] == [e.points for e in assignment.exercises]
        for (score, highest), exercise in zip(scores, assignment.exercises, strict=True):
            if exercise.name not in EXERCISES:  # a bonus, which nobody in this class has changed
                continue
            level = "zero" if score == 0 else "full" if score == highest else "partial"
            expected = student.expected[exercise.name].level
            assert level == expected or expected == made_up.LESS and level != "full", row
        assert all(mistake in row for expected in student.expected.values() for mistake in expected.mistakes)


@WHOLE
def test_the_files_are_there(ran, students):
    """The first to be opened is the class report; the others have a line each that says what they are."""
    page = f"{ASSIGNMENT}/{ASSIGNMENT}.html"
    assert all((ran.folder / "feedback" / s.name / page).is_file() for s in students)
    shown = os.path.relpath(ran.folder, ROOT)
    named = re.findall(rf"^  ({re.escape(shown)}/\S+)$", ran.out, re.MULTILINE)
    inside = [os.path.relpath(name, shown) for name in named]
    *early, again = (place for place, name in enumerate(inside) if name == f"reports/{ASSIGNMENT}.html")
    assert early == [0] and inside[1] == f"feedback/greta/{page}" and again == 2
    assert ran.is_there and ran.out.index("Open this first") < ran.out.index(f"\n{ASSIGNMENT} ")
    assert len(inside) - again == 3 + len(run.WORTH_OPENING)
    assert all((ROOT / name).is_file() for name in named)


@WHOLE
def test_the_export_has_every_student(ran, students):
    with open(ran.folder / "grades.csv", newline="") as file:
        rows = [row for row in csv.DictReader(file) if row["assignment"] == ASSIGNMENT]
    scores = {row["student_id"]: float(row["raw_score"]) for row in rows}
    latest = Store(ran.folder).latest(ASSIGNMENT)
    assert latest.keys() == {s.name for s in students}
    assert all(scores[name] == latest[name].score for name in latest)


@WHOLE
def test_formgrader_has_something_to_grade_by_hand(ran):
    from nbgrader.api import Gradebook

    with Gradebook(f"sqlite:///{ran.folder}/gradebook.db") as gradebook:
        waiting = {s.student.id for s in gradebook.assignment_submissions(ASSIGNMENT) if s.needs_manual_grade}
    assert "umar" in waiting
    assert "lena" not in waiting


def test_a_course_without_a_made_up_class_is_refused(tmp_path, monkeypatch):
    place = small_course.copy(tmp_path / "course")
    monkeypatch.chdir(place)
    with pytest.raises(UsageError, match="handed in nothing for 01_averages"):
        run.run("demo_course", 1, "cpu", False)
    assert not (place / "demo_course").exists()
