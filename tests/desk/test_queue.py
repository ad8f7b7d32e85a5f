"""Hand-ins are graded by real workers: as `grade` grades them, exercise by exercise, once, whatever is killed."""

import json
import re
import shutil
import signal
import threading
import time

import desks
import psutil
import pytest
import sqlalchemy as sa
import tiny
from desks import NAME, Client, built, desk_in, handed_out, notebook, place

from autograder.batch import tasks
from autograder.batch.tasks import Task
from autograder.desk import queue as queues
from autograder.desk import record as records
from autograder.desk.record import DONE, GRADING, WAITING, Record
from autograder.desk.tables import ATTEMPT
from autograder.grading.rounds import Rounds
from autograder.grading.store import Store
from autograder.verdict import CREDIT

PATIENCE = 240  # seconds, since the machine may be busy


def settled(desk, many, patience=PATIENCE):
    """The attempts once so many are done."""
    until = time.monotonic() + patience
    while len(done := desk.record.attempts(states=(DONE,))) < many:
        assert time.monotonic() < until, desk.record.attempts()
        time.sleep(0.05)
    return done


def events(answer):
    """(kind, data) of server-sent events."""
    found = re.findall(r"event: (\w+)\nid: .*\ndata: (.*)\n\n", answer.text)
    return [(kind, json.loads(data)) for kind, data in found]


@pytest.fixture(scope="module")
def graded_desk(built, tmp_path_factory):
    """A desk that has graded a wrong attempt, a right one, and an ask."""
    copy = shutil.copytree(built, tmp_path_factory.mktemp("graded") / "course")
    handed_out = json.loads((copy / "release" / NAME / f"{NAME}.ipynb").read_text())
    with desks.working_in(copy):
        tiny.pass_the_gate(copy, (NAME,))
        with desk_in(copy, grades=True) as desk:
            ada = Client(desk)
            for answer, exercise in (("upside down", None), ("right", None), ("floats", "causal_mask")):
                assert ada.hand_in(notebook(handed_out, answer), exercise=exercise).status_code == 201
            settled(desk, 3)
            yield desk


@pytest.fixture
def graded(graded_desk):
    """That desk, and its client; its course is the working directory."""
    with desks.working_in(graded_desk.root):
        yield graded_desk, Client(graded_desk)


def test_the_answer_is_the_graders(graded):
    desk, ada = graded
    wrong, right, ask = desk.record.attempts()
    assert (wrong.score, right.score, right.max_score) == (1.2, 2.0, 2.0) and ask.exercise
    found = ada.get(f"/api/attempts/{wrong.id}").json()
    (told,) = found["exercises"]
    assert found["state"] == "done" and found["points"] == 1.2 and found["max_points"] == 2
    assert told["names"] and told["place"] is not None
    assert told["sentence"] == f"`causal_mask`: 1.2 of 2 points. {told['names'][0]['message']}"
    assert wrong.told == found["exercises"], "what was told is kept"


def test_what_changed_is_said(graded):
    desk, ada = graded
    wrong, right, _ = desk.record.attempts()
    name = wrong.told[0]["names"][0]["message"]
    expected = f"`causal_mask`: 1.2 → 2 of 2; fixed: {name.removesuffix('.')}."
    assert ada.get(f"/api/attempts/{right.id}").json()["changes"] == [expected]
    page = ada.get(f"/assignments/{NAME}").text
    assert "1.2 → 2 of 2; fixed:" in page and page.index("Attempt 3") < page.index("Attempt 1")
    assert "1.2 → 2 of 2" in ada.get(f"/attempts/{right.id}").text


def test_the_page_is_the_reports_without_what_may_not_be_told(graded):
    desk, ada = graded
    wrong = desk.record.attempts()[0]
    answer = ada.get(f"/attempts/{wrong.id}")
    assert "Exercise by exercise" in answer.text and "What went wrong:" in answer.text
    assert "What the checks found" not in answer.text, "the hidden checks are told at the level `all` alone"
    verdict = desk.record.verdict(wrong.id)
    for check in verdict.exercises[0].checks:
        assert check.sentence not in answer.text
    assert "def causal_mask" in answer.text or "causal_mask" in answer.text
    assert "script" not in answer.headers["content-security-policy"]
    teacher = Client(desk, "teacher")
    assert teacher.get(f"/attempts/{wrong.id}").status_code == 200


def test_events_come_exercise_by_exercise_and_can_be_resumed(graded):
    desk, ada = graded
    wrong = desk.record.attempts()[0]
    (one, told), (two, whole) = events(ada.get(f"/api/attempts/{wrong.id}/events"))
    assert (one, two) == ("exercise", "done") and whole == ada.get(f"/api/attempts/{wrong.id}").json()
    assert told == whole["exercises"][0]
    again = ada.get(f"/api/attempts/{wrong.id}/events", headers={"last-event-id": "causal_mask"})
    assert [kind for kind, _ in events(again)] == ["done"]
    assert [kind for kind, _ in events(ada.get(f"/api/attempts/{wrong.id}/events"))] == ["exercise", "done"]


def test_points_so_far_are_on_the_students_page(graded):
    desk, ada = graded
    assert "2 of 2" in ada.get("/").text and "all of it is right" in ada.get("/").text
    assert "None yet" in Client(desk, "bela").get(f"/assignments/{NAME}").text


@pytest.mark.slow("another test compares the desk with the grader, too")
def test_what_the_desk_says_is_what_grade_says(graded, monkeypatch):
    """The same content and the same inputs give the same verdict."""
    desk, _ = graded
    for attempt in desk.record.attempts(whole=True):
        data = desk.record.content(attempt.sha256)
        assert attempt.seed == Rounds(Store(desk.root), NAME).seed(attempt.round)
        from autograder.batch.pool import Pool

        with Pool(1) as pool:
            ((_, again),) = pool.graded(iter([tasks.Task("", "x", data, NAME, attempt.seed)]), 1)
        assert again.verdict.credited(CREDIT).to_dict() == desk.record.verdict(attempt.id).to_dict()
        assert desk.record.graded(attempt.id).outputs.keys() == again.outputs.keys()


def test_early_outcomes_arrive_before_the_verdict(place, handed_out):
    from autograder.batch.pool import Pool

    heard = []
    with Pool(1, tell=lambda task, outcome: heard.append((task.key, outcome.exercise, outcome.score))) as pool:
        made = [
            tasks.Task("", "tells", notebook(handed_out), NAME, 1, tells=True),
            tasks.Task("", "silent", notebook(handed_out), NAME, 1),
        ]
        done = [task.key for task, _ in pool.graded(iter(made), 2)]
    assert heard == [("tells", "causal_mask", 2.0)] and done == ["tells", "silent"]


@pytest.mark.slow("it kills workers")
def test_one_loop_holds_one_worker_and_killed_workers_lose_nothing(place, handed_out, monkeypatch):
    """While a hand-in loops, others are graded; then every worker is killed, and all is graded all the same."""
    with desk_in(place, jobs=2, grades=True) as desk:
        ada, bela = Client(desk, "ada"), Client(desk, "bela")
        loop = notebook(handed_out).replace(b"# \\ndef", b"import time\\ntime.sleep(8)\\ndef")
        ada.hand_in(loop)
        ada.hand_in(notebook(handed_out, "floats"))
        first = bela.hand_in(notebook(handed_out)).json()["receipt"]["attempt"]
        until = time.monotonic() + PATIENCE
        while desk.record.attempt(first).state != DONE:
            assert time.monotonic() < until
            time.sleep(0.05)
        assert [one.state for one in desk.record.attempts("student:ada")] == [GRADING, WAITING]
        for child in psutil.Process().children():
            if "spawn_main" in " ".join(child.cmdline()) and "resource_tracker" not in " ".join(child.cmdline()):
                child.send_signal(signal.SIGKILL)
        done = settled(desk, 3)
        assert {one.score for one in done} >= {2.0}
        assert all(one.state == DONE for one in done)


def test_an_assignment_with_a_mistake_is_said_and_its_hand_ins_wait(place, handed_out, monkeypatch):
    from autograder.errors import CourseError
    from autograder.grading import gate

    def refuse(*about):
        raise CourseError("the check cannot fail")

    fine = gate.require
    monkeypatch.setattr(gate, "require", refuse)
    monkeypatch.setattr(queues, "AGAIN", 1.0)
    with desk_in(place, grades=True) as desk:
        ada = Client(desk)
        id = ada.hand_in(notebook(handed_out)).json()["receipt"]["attempt"]
        until = time.monotonic() + PATIENCE
        while "by a mistake in it" not in ada.get(f"/api/attempts/{id}").json()["note"]:
            assert time.monotonic() < until
            time.sleep(0.05)
        assert desk.record.attempt(id).state == WAITING
        monkeypatch.setattr(gate, "require", fine)
        assert settled(desk, 1)[0].id == id


def test_a_desk_that_ends_gives_back_what_it_has_begun(place, handed_out):
    with desk_in(place) as desk:
        Client(desk).hand_in(notebook(handed_out))
        assert desk.record.claim(desk.queue.name).state == GRADING
        desk.queue.__exit__()
        assert desk.record.waiting() == 1


class StopsOnce:
    """An engine that ends what it grades for the first time, as a busy machine's deadline does; notes what it gets."""

    def __init__(self, engine, always=False):
        self.engine, self.always, self.seen = engine, always, []

    def __enter__(self):
        self.engine.__enter__()
        return self

    def __exit__(self, *exc):
        self.engine.__exit__(*exc)

    def warm(self, total):
        self.engine.warm(total)

    def graded(self, coming, total, alone=False):
        for task, graded in self.engine.graded(coming, total, alone):
            is_first = task.key not in [key for key, _ in self.seen]
            self.seen.append((task.key, task.alone))
            yield task, tasks.killed(task) if self.always or is_first else graded


@pytest.mark.slow("it waits for a grading that was stopped")
@pytest.mark.parametrize("always", [False, True])
def test_what_was_stopped_is_graded_once_more_alone_and_its_student_reads_that(place, handed_out, monkeypatch, always):
    """A busy machine must not cost a point; what is stopped again, `grade` tries again before it counts."""
    first, held = queues.Queue.engine, threading.Event()
    engines = []

    def stopping(queue):
        engines.append(StopsOnce(first(queue), always))
        return engines[-1]

    def later(record, worker, without=()):
        return again(record, worker, without) if held.is_set() else None

    again = Record.claim_again
    monkeypatch.setattr(queues.Queue, "engine", stopping)
    monkeypatch.setattr(Record, "claim_again", later)
    with desk_in(place, grades=True) as desk:
        ada = Client(desk)
        id = ada.hand_in(notebook(handed_out)).json()["receipt"]["attempt"]
        (attempt,) = settled(desk, 1)
        found = ada.get(f"/api/attempts/{id}").json()
        assert attempt.again and attempt.score == 0 and found["exercises"][0]["status"] == "killed"
        assert found["note"].startswith("Grading was cut short, by your code or by a busy machine.")
        assert "The desk tries once more" in ada.get(f"/attempts/{id}").text
        held.set()
        until = time.monotonic() + PATIENCE
        while desk.record.attempt(id).again:
            assert time.monotonic() < until
            time.sleep(0.05)
        found = ada.get(f"/api/attempts/{id}").json()
        attempt, graded = desk.record.attempt(id), desk.record.graded(id)
        assert (
            found["state"] == "done" and found["points"] == (0 if always else 2) and attempt.told == found["exercises"]
        )
        assert graded.final is not always, "with a result that is final, `grade` has nothing to do"
        assert "twice" in found["note"] if always else found["note"] == ""
        assert [alone for _, alone in engines[-1].seen] == [False, True]


def test_what_was_stopped_waits_until_nothing_else_does(place, handed_out):
    with desk_in(place) as desk:
        record = desk.record
        ada, bela = (Client(desk, who).hand_in(notebook(handed_out)) for who in ("ada", "bela"))
        first, second = (answer.json()["receipt"]["attempt"] for answer in (ada, bela))
        stopped = Task("", first, notebook(handed_out), NAME, 1)
        assert record.claim("one").id == first
        assert record.finish(first, "one", tasks.killed(stopped), [], again=True)
        assert record.claim_again("two") is None, "another waits"
        assert record.claim("one").id == second and record.claim_again("two") is None, "another is being graded"
        assert record.finish(second, "one", tasks.killed(stopped), [], again=False)
        assert record.claim_again("two", without=[NAME]) is None
        assert record.claim_again("two").id == first and record.claim_again("one") is None, "one desk has it"
        record.give_back("two")
        assert record.attempt(first).state == DONE and record.claim_again("one").id == first
        record.unclaim(first, "one")
        for _ in range(records.HOPELESS):
            if record.claim_again("one") is not None:
                with record.writing() as connection:
                    connection.execute(sa.update(ATTEMPT).values(lease=0.0))
        assert not record.attempt(first).again, "what ends every desk that tries it stays as it is"
