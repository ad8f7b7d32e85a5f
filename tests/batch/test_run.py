"""A batch: who is graded, who is known, what is told at the end. Graded and recorded by stand-ins, so nothing runs."""

import hashlib
import types
from dataclasses import replace

import pytest
from conftest import ASSIGNMENT, ROOT, hand_in
from stand_ins import Engine, Writer, run, verdict

from autograder import course
from autograder.batch import commands
from autograder.batch import run as batch
from autograder.grading import gate
from autograder.grading.store import Store
from autograder.grading.waivers import Scoring
from autograder.nbgrader import members, options
from autograder.report import class_text
from autograder.submission import files, read
from autograder.verdict import Diagnosis, Graded


def test_equal_submissions_are_graded_once_and_known_ones_not_again(tmp_path, submit):
    for student in ("ada", "bela", "carl"):
        submit(student)
    submit("dora", "timeout")
    hand_in(b"no notebook", tmp_path / "submitted" / "eva" / ASSIGNMENT)
    engine, writer = Engine(), Writer()
    made, done = run(tmp_path, engine, writer)
    assert engine.tasks == ["ada", "dora"] and dict(done).keys() == {"ada", "bela", "carl", "dora", "eva"}
    assert dict(done)["bela"] == dict(done)["ada"] and dict(done)["eva"].exercises[0].status == "rejected"
    assert (made.graded, made.known, [*made.unreadable]) == (4, [], ["eva"])
    assert made.statuses == {"timeout": 1, "rejected": 1}

    submit("carl", "error")
    engine = Engine()
    made, done = run(tmp_path, engine, writer)
    assert engine.tasks == ["carl"] and [s for s, _ in made.known] == ["ada", "bela"]
    engine = Engine()
    run(tmp_path, engine, writer, renew=True)
    assert engine.tasks == ["ada", "dora", "carl"], "those with the same inputs one after another"


def test_a_known_result_that_cannot_be_read_is_made_again(tmp_path, submit):
    submit("ada")
    made, _ = run(tmp_path, Engine(), Writer())
    (path,) = (tmp_path / ".autograder" / "results").rglob("*.json")
    path.write_text(path.read_text()[:100])
    engine = Engine()
    made, done = run(tmp_path, engine, Writer())
    assert engine.tasks == ["ada"] and made.graded == 1 and made.known == [] and dict(done)["ada"].full


@pytest.mark.parametrize("status", ["timeout", "killed"])
def test_what_was_stopped_is_tried_once_more_alone_before_it_counts(tmp_path, submit, status):
    """Equal submissions of two students once, after all others; then the better of both counts, for good."""
    for student in ("ada", "bela"):
        submit(student, f"{status} graded")
    submit("carl", "error")
    submit("dora", f"{status} {status}")
    engine, writer = Engine(), Writer()
    made, done = run(tmp_path, engine, writer)
    assert (engine.tasks, engine.alone) == (["ada", "carl", "dora"], ["ada", "dora"])
    assert [student for student, _ in done] == ["carl", "ada", "bela", "dora"] and made.graded == 4
    found = {student: verdict.exercises[0].status for student, verdict in done}
    assert found == {"ada": "graded", "bela": "graded", "carl": "error", "dora": status}
    assert writer.recorded.keys() == found.keys()


def test_what_was_stopped_is_never_unchanged(tmp_path, submit):
    """Each further run tries it once, alone: no try among others goes before. Once it is graded, that is kept."""
    submit("ada", "graded")
    submit("dora", "timeout")
    for number in range(4):
        engine, writer = Engine(), Writer()
        made, done = run(tmp_path, engine, writer)
        assert engine.alone == ["dora"] and engine.tasks == ([] if number else ["ada", "dora"])
        assert dict(done)["dora"].exercises[0].status == "timeout" and "dora" in writer.recorded
        assert [s for s, _ in made.known] == (["ada"] if number else [])
        assert made.at_once == (1 if number else 2)

    class Quiet(Engine):
        def graded(self, coming, total, alone=False):
            for task in coming:
                yield task, Graded(verdict("graded"))

    made, done = run(tmp_path, Quiet(), Writer())
    assert dict(done)["dora"].full
    engine = Engine()
    made, done = run(tmp_path, engine, Writer())
    assert (engine.tasks, engine.alone) == ([], []) and dict(done)["dora"].full
    assert not list((tmp_path / ".autograder" / "stopped").rglob("*.json"))


def test_a_run_that_ends_before_the_second_try_does_not_count_the_first(tmp_path, submit):
    submit("dora", "timeout graded")

    class Ends(Engine):
        def graded(self, coming, total, alone=False):
            if alone:
                raise KeyboardInterrupt
            return super().graded(coming, total)

    writer = Writer()
    with pytest.raises(KeyboardInterrupt):
        run(tmp_path, Ends(), writer)
    assert writer.recorded == {}
    engine = Engine()
    _, done = run(tmp_path, engine, writer)
    assert (engine.tasks, engine.alone) == ([], ["dora"]) and dict(done)["dora"].full


@pytest.mark.parametrize("how", ["another", "gone"])
def test_a_submission_that_changes_during_the_run_gets_no_stale_grade(tmp_path, submit, how):
    path = submit("ada")
    submit("bela", "error")

    def change():
        path.write_bytes(path.read_bytes() + b"\n") if how == "another" else path.unlink()

    writer = Writer()
    made, done = run(tmp_path, Engine(change), writer)
    assert dict(done).keys() == writer.recorded.keys() == {"bela"}
    assert [student for student, _ in made.problems] == ["ada"] and "changed during the run" in made.problems[0][1]


class Keeping(Writer):
    """Also keeps the cells that it was to record, by key."""

    def add(self, student, submitted, graded, key):
        super().add(student, submitted, graded, key)
        self.recorded[student] = key, list(submitted)


@pytest.mark.parametrize("earlier", [True, False], ids=["known", "new"])
@pytest.mark.parametrize("contents", ["AA", "AB", "BA"])
def test_what_was_hashed_is_what_is_graded_and_recorded(tmp_path, submit, monkeypatch, contents, earlier):
    """Whatever the file holds at each time that it is read: the key, the task and the cells are of the same bytes."""
    path = submit("ada")
    versions = {"A": path.read_bytes(), "B": path.read_bytes().replace(b"graded", b"error")}
    if earlier:
        run(tmp_path, Engine(), Writer())
    coming, usual, tasks = iter(contents), files.read_submission, []

    def read_submission(place):
        path.write_bytes(versions[next(coming)])
        return usual(place)

    class Watching(Engine):
        def graded(self, coming, total, alone=False):
            return super().graded((tasks.append(task) or task for task in coming), total, alone)

    monkeypatch.setattr(files, "read_submission", read_submission)
    writer, results = Keeping(), Store(tmp_path)
    made, done = run(tmp_path, Watching(), writer)
    hashed = hashlib.sha256(versions[contents[0]]).hexdigest()
    key = results.key(hashed, ASSIGNMENT, made.seeds["ada"], "cpu")
    assert [(task.key, task.data) for task in tasks] in ([], [(key, versions[contents[0]])])
    if contents == "AA":
        assert writer.recorded == {"ada": (key, read.read_notebook(versions["A"]))} and not made.problems
    else:
        assert not (tasks or done or writer.recorded) and [student for student, _ in made.problems] == ["ada"]


def test_who_handed_in_another_assignment_is_said(tmp_path, submit):
    """Only of those whose exercises are all missing is this asked, and only of what was graded."""
    other, path = "01_self_attention", submit("ada")
    hand_in((ROOT / "release" / other / f"{other}.ipynb").read_bytes(), path.parent)
    submit("bela")
    made = batch.Batch(tmp_path, course.find_assignment("02"), ["ada", "bela"], Store(tmp_path))
    said = f"ada: the notebook handed in as {ASSIGNMENT} has the cells of {other}"
    assert list(made.mistaken(["ada", "bela"])) == [said]
    path.write_bytes(path.read_bytes() + b"\n")
    assert list(made.mistaken(["ada", "bela", "nobody"])) == []


def test_one_that_cannot_be_recorded_stops_nobody(tmp_path, submit, monkeypatch, capsys):
    for student in ("ada", "odd", "zoe"):
        submit(student, student if student == "odd" else "graded")
    writer = Writer()
    monkeypatch.setattr(commands, "_runs", lambda *args, **settings: types.SimpleNamespace(config={}))
    monkeypatch.setattr(commands, "_writer", lambda *args, **settings: writer)
    monkeypatch.setattr(commands, "standings_of", lambda *args: {})
    monkeypatch.setattr(gate, "require", lambda *args: [])
    monkeypatch.setattr(options, "points_wanted", lambda config: {})
    monkeypatch.setattr(members, "enrolled", lambda runs: set())
    assert commands.grade_class(tmp_path, course.find_assignment("02"), ["ada", "odd", "zoe"], Engine()) == 2
    said, complained = capsys.readouterr()
    assert writer.recorded.keys() == {"ada", "zoe"} and "3 graded" in said
    assert complained.strip() == "autograder: odd: it has no place"


def test_the_summary_says_what_failed_and_what_was_slow(tmp_path, submit):
    for number in range(7):
        submit(f"s{number}", ["graded", "timeout", "killed"][number % 3] + " " * number)
    engine = Engine()
    made, _ = run(tmp_path, engine, Writer())
    text = class_text.batch_summary(made)
    assert text.startswith("7 graded, 0 unchanged since an earlier run, 0 unreadable.")
    assert text.count("2.00 s of that for the checks of `attention`") == len(made.slowest) == 5
    assert "Submissions with an exercise that has no grade: was ended (2), ran too long (2)." in text


def test_a_large_class_is_not_printed():
    assignment = course.find_assignment("02")
    table = class_text.ClassTable(assignment)
    for number in range(class_text.MOST_ROWS):
        table.add(f"student{number}", verdict("graded"))
    assert table.text().count("\n") == class_text.MOST_ROWS + 1 and "student99" in table.text()
    table.add("one more", verdict("graded"))
    assert "101 submissions" in table.text() and "autograder report 02" in table.text()


def test_the_table_has_no_ids_that_mean_nothing_to_a_reader():
    assignment = course.find_assignment("02")
    table, made = class_text.ClassTable(assignment), verdict("graded")
    outcome = next(one for one in made.exercises if one.exercise == assignment.exercises[0].name)
    ids = ("no-scale", "fact-times", "place-values", "stands-on-attention")
    outcome.diagnosis = [Diagnosis(id, "What is wrong.") for id in ids]
    table.add("ada", made)
    assert "no-scale, without a name, because of attention" in table.text()
    assert not any(id in table.text() for id in ids[1:])
    outcome.not_started = True
    assert "not started " in table.text() and "no-scale" not in table.text()


def test_what_is_too_much_to_be_copied_is_a_remark(tmp_path, submit, monkeypatch):
    monkeypatch.setattr(files, "MAX_NAMES", 20)
    submit("ada")
    folder = submit("bela").parent
    assert list(batch.remarks(tmp_path, ASSIGNMENT, ["ada", "bela"])) == []
    for number in range(30):
        (folder / f"{number}.csv").write_text("")
    (said,) = batch.remarks(tmp_path, ASSIGNMENT, iter(["ada", "bela"]))
    assert said.startswith("bela: ") and "more than 20 files and folders, of which the first are copied" in said


def test_scores_are_by_what_the_course_has_and_who_gains_is_said(tmp_path, submit):
    """The result on disk holds both, so that nothing is graded again when the course has the other."""
    submit("ada")

    class Half(Engine):
        def graded(self, coming, total, alone=False):
            for task in coming:
                self.tasks.append(task.student)
                found = verdict("graded")
                named = [Diagnosis("x", "It is.", price=0.4)]
                wrong = replace(found.exercises[0], score=1.0, by_checks=1.0, by_prices=3.0, diagnosis=named)
                yield task, Graded(replace(found, exercises=[wrong, *found.exercises[1:]]))

    engine, writer = Half(), Writer()
    runs = ("checks", 1.0, []), ("prices", 3.0, ["by prices now"]), ("checks", 1.0, ["by checks now"])
    for credit, score, why in runs:
        made = batch.Batch(tmp_path, course.find_assignment("02"), ["ada"], Store(tmp_path))
        made.score_by(Scoring(credit))
        ((_, found),) = made.run(engine, writer)
        assert found.exercises[0].score == writer.recorded["ada"][1].exercises[0].score == score
        assert [change.why for change in made.changes] == why
        Store(tmp_path).put_latest(ASSIGNMENT, "ada", found, {})
    assert engine.tasks == ["ada"]
