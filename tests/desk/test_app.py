"""What the desk answers: receipts, errors in a sentence with their status, nobody another's, pages without scripts."""

import asyncio
import json
import re
import warnings
from datetime import UTC, datetime, timedelta
from types import SimpleNamespace

import desks
import pytest
import sqlalchemy as sa
from desks import NAME, Client, built, desk_in, handed_out, notebook, place

from autograder import course
from autograder.desk import bodies
from autograder.desk.app import CSP, make_app
from autograder.desk.queue import NO_WORKERS
from autograder.desk.record import Record
from autograder.grading.store import Store


@pytest.fixture
def desk(place):
    with desk_in(place) as opened:
        yield opened


@pytest.fixture
def ada(desk):
    return Client(desk)


def said(answer, status):
    """The one sentence of an error, as JSON has it."""
    assert answer.status_code == status, answer.text
    sentence = answer.json()["error"]
    assert answer.json().keys() == {"error"} and re.fullmatch(r"[A-Z`0-9].*[.]", sentence) and "\n" not in sentence
    return sentence


def test_a_receipt_says_what_is_on_disk(desk, ada, handed_out):
    data = notebook(handed_out)
    answer = ada.hand_in(data)
    assert answer.status_code == 201
    found = answer.json()
    receipt = found["receipt"]
    attempt = desk.record.attempt(receipt["attempt"])
    assert found["schema"] == 1 and receipt["number"] == 1 and receipt["exercise"] is None
    assert receipt["assignment"] == NAME and receipt["sha256"] == attempt.sha256
    assert datetime.fromisoformat(receipt["time"]) == attempt.arrived
    assert desk.record.content(attempt.sha256) == data
    assert found["events"] == f"/api/attempts/{attempt.id}/events" and found["page"] == f"/attempts/{attempt.id}"


def test_an_attempt_that_waits(desk, ada, handed_out):
    Client(desk, "bela").hand_in(notebook(handed_out))
    id = ada.hand_in(notebook(handed_out)).json()["receipt"]["attempt"]
    found = ada.get(f"/api/attempts/{id}").json()
    assert found["state"] == "waiting" and found["ahead"] == 1 and found["exercises"] == []
    assert found["points"] is None and found["max_points"] is None and found["changes"] == []
    page = ada.get(f"/attempts/{id}")
    assert page.status_code == 200 and "It waits to be graded" in page.text and 'http-equiv="refresh"' in page.text


def test_ask_is_for_one_exercise(desk, ada, handed_out):
    receipt = ada.hand_in(notebook(handed_out), exercise="causal_mask").json()["receipt"]
    assert receipt["exercise"] == "causal_mask" == desk.record.attempt(receipt["attempt"]).exercise
    assert "causal_mask" in said(ada.hand_in(notebook(handed_out), exercise="no<b>where"), 404)


def test_the_form_leads_to_the_attempt(desk, ada, handed_out):
    answer = ada.form(notebook(handed_out))
    assert answer.status_code == 303
    assert ada.get(answer.headers["location"]).status_code == 200
    (attempt,) = desk.record.attempts("student:ada")
    assert answer.headers["location"] == f"/attempts/{attempt.id}"
    page = ada.get(f"/assignments/{NAME}").text
    assert f"/attempts/{attempt.id}" in page and "Attempt 1" in page


def test_nobody_gets_anothers_attempt_by_its_id(desk, ada, handed_out):
    id = ada.hand_in(notebook(handed_out)).json()["receipt"]["attempt"]
    bela, teacher = Client(desk, "bela"), Client(desk, "teacher")
    for path in (f"/api/attempts/{id}", f"/api/attempts/{id}/events"):
        assert (
            said(bela.get(path), 404) == said(bela.get(path.replace(id, "0" * 32)), 404) == "There is no such attempt."
        )
    for path in (f"/attempts/{id}", f"/attempts/{id}/notebook"):
        assert bela.get(path).status_code == 404
        assert teacher.get(path).status_code == 200
    assert id not in bela.get(f"/assignments/{NAME}").text and "Attempt" not in bela.get(f"/assignments/{NAME}").text
    assert ada.get(f"/attempts/{id}/notebook").content == notebook(handed_out)


def test_who_is_nobody_gets_the_entrances(desk):
    nobody = Client(desk, None)
    assert "Log in" in said(nobody.get("/api/me"), 401)
    assert "Log in" in said(nobody.hand_in(b"{}"), 401)
    page = nobody.get("/")
    assert page.status_code == 401 and 'href="/test/log-in"' in page.text


def test_me_says_how_far(desk, ada, handed_out):
    found = ada.get("/api/me").json()
    (one,) = found["assignments"]
    assert (found["name"], found["role"]) == ("Ada", "student")
    assert one["name"] == NAME and one["due"] is None and one["points"] is None and one["tells"] == "names"
    assert one["answers_left"] == 20 and one["next"] == "causal_mask"


# --- what is refused --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("data", "status", "sentence"),
    [
        (b"", 422, "empty"),
        (b"not json", 422, "notebook"),
        (b"[]", 422, "notebook"),
        (b'{"cells": [], "nbformat"', 422, "cut off|notebook"),
        (b'{"cells": [1], "nbformat": 4}', 422, "cell"),
        (b"\x80" * 100, 422, "notebook"),
        (b"{" * 100_000, 422, "notebook|deep"),
    ],
)
def test_what_is_no_notebook_is_refused(desk, ada, data, status, sentence):
    assert re.search(sentence, said(ada.hand_in(data), status))
    assert desk.record.attempts() == []
    page = ada.form(data)
    assert page.status_code == status and "Traceback" not in page.text


@pytest.mark.parametrize("state", [{}, {"state": {"a": "x" * 26 * 2**20}}])
def test_the_state_of_widgets_is_read_past_and_not_kept(desk, ada, handed_out, state):
    given = {**handed_out, "metadata": {**handed_out["metadata"], "widgets": state}}
    assert ada.hand_in(json.dumps(given).encode()).status_code < 300
    kept = desk.record.content(desk.record.attempts()[0].sha256)
    sources = [[cell["source"] for cell in one["cells"]] for one in (json.loads(kept), given)]
    assert len(kept) < 2**20 and sources[0] == sources[1]
    assert "accept" not in ada.get(f"/assignments/{NAME}").text, "what is in a file decides, and not its ending"


@pytest.mark.parametrize("wrap", ["contents", "utf-16", "nul"])
def test_a_notebook_is_taken_by_its_content(desk, ada, handed_out, wrap):
    text = json.dumps(handed_out)
    answer = {"type": "notebook", "content": handed_out}
    data = {"contents": json.dumps(answer).encode(), "utf-16": text.encode("utf-16"), "nul": text.encode() + b"\0" * 99}
    assert ada.hand_in(data[wrap]).status_code < 300 and len(desk.record.attempts()) == 1


@pytest.mark.parametrize(
    ("data", "what"), [(b"%PDF-1.7", "a PDF"), (b"<html><title>Log in</title>", "a sign-in page"), (b"PK\3\4", "a zip")]
)
def test_what_else_it_is_is_said(ada, data, what):
    assert f"It is {what}" in said(ada.hand_in(data), 422) and f"It is {what}" in ada.form(data).text


def test_another_assignments_notebook_is_refused(desk, ada, monkeypatch):
    other = SimpleNamespace(name="02_there", cells=[SimpleNamespace(grade_id="there")])
    here = course.assignments()[NAME]
    monkeypatch.setattr(course, "assignments", lambda *root: {NAME: here, "02_there": other})
    cell = {"cell_type": "code", "metadata": {"nbgrader": {"grade_id": "there"}}, "source": ""}
    answer = ada.hand_in(json.dumps({"cells": [cell], "nbformat": 4, "nbformat_minor": 5}).encode())
    assert "has the cells of 02_there" in said(answer, 422)


def test_an_unknown_assignment_is_refused(ada):
    assert NAME in said(ada.hand_in(b"{}", name="77_nothing"), 404)
    assert "There is no" in said(ada.get("/api/nothing"), 404)
    assert ada.get("/assignments/%3Cscript%3E").status_code == 404
    assert "<script>alert" not in ada.get("/assignments/%3Cscript%3Ealert(1)").text


def test_a_wrong_type_is_refused(ada, handed_out):
    assert "application/x-ipynb+json" in said(ada.hand_in(notebook(handed_out), kind="text/html"), 415)
    answer = ada.ask("POST", f"/assignments/{NAME}", data={"notebook": "x"})
    assert answer.status_code == 415 and "form" in answer.text
    assert said(ada.get(f"/api/hand-in/{NAME}"), 405)


def test_a_form_without_a_file_is_refused(ada):
    assert "No file was chosen" in ada.form(b"x", filename="").text
    answer = ada.ask("POST", f"/assignments/{NAME}", files={"other": ("x", b"x")})
    assert answer.status_code == 422 and "No file" in answer.text
    broken = {"content-type": "multipart/form-data; boundary=x"}
    assert ada.ask("POST", f"/assignments/{NAME}", content=b"--y\r\nnonsense", headers=broken).status_code in (400, 422)
    nameless = {"content-type": "multipart/form-data"}
    assert ada.ask("POST", f"/assignments/{NAME}", content=b"x", headers=nameless).status_code == 400


def test_a_large_body_is_refused_before_and_while_it_comes(ada, monkeypatch):
    refused = said(ada.hand_in(b" " * (bodies.LARGEST + 1)), 413)
    assert f"{bodies.LARGEST // 2**20} MB" in refused and "the saved state of its widgets" in refused

    async def endless():
        for _ in range(bodies.LARGEST // 2**20 + 2):
            yield b" " * 2**20

    assert said(ada.hand_in(endless()), 413)
    assert bodies.Room.held == 0
    monkeypatch.setattr(bodies, "MOST_AT_ONCE", 1000)
    answer = ada.hand_in(b" " * 2000)
    assert "try again" in said(answer, 503) and answer.headers["retry-after"]
    assert bodies.Room.held == 0


def test_a_body_that_is_cut_off_or_slow_is_refused(desk, handed_out, monkeypatch):
    monkeypatch.setattr(bodies, "SECONDS", 0.2)
    app, data = make_app(desk), notebook(handed_out)

    def sent(messages):
        answers = []

        async def receive():
            if messages:
                return messages.pop(0)
            await asyncio.sleep(60)

        async def send(message):
            answers.append(message)

        headers = [(b"who", b"ada"), (b"content-type", b"application/x-ipynb+json"), (b"host", b"desk.test")]
        path = f"/api/hand-in/{NAME}"
        scope = {"type": "http", "method": "POST", "path": path, "raw_path": path.encode(), "query_string": b""}
        scope |= {"headers": headers, "scheme": "http", "server": ("desk.test", 80), "http_version": "1.1"}
        asyncio.run(app(scope, receive, send))
        return answers[0]["status"], b"".join(a.get("body", b"") for a in answers[1:]).decode()

    half = {"type": "http.request", "body": data[:50], "more_body": True}
    status, text = sent([dict(half), {"type": "http.disconnect"}])
    assert status == 400 and "cut off" in text
    status, text = sent([dict(half)])
    assert status == 408 and "did not arrive" in text
    assert desk.record.attempts() == [] and bodies.Room.held == 0


def test_after_the_due_date_nothing_is_taken_unless_late_attempts_count(place, handed_out):
    desks.due(place, datetime.now(UTC).replace(tzinfo=None) - timedelta(minutes=5))
    with desk_in(place) as desk:
        sentence = said(Client(desk).hand_in(notebook(handed_out)), 403)
        assert f"{NAME} was due on" in sentence
        assert "nothing is taken in" in Client(desk).get(f"/assignments/{NAME}").text
        assert Client(desk, "teacher").hand_in(notebook(handed_out)).status_code == 201
    with desk_in(place, counts="latest") as desk:
        assert Client(desk).hand_in(notebook(handed_out)).status_code == 201


def test_an_extension_counts(place, handed_out):
    desks.due(place, datetime.now(UTC).replace(tzinfo=None) - timedelta(minutes=5))
    with warnings.catch_warnings(), desks.NbgraderCourse(place).gradebook() as book:
        warnings.simplefilter("ignore")  # SQLAlchemy's, about nbgrader's own code
        book.update_or_create_submission(NAME, "bela").extension = timedelta(hours=1)
        book.db.commit()
    with desk_in(place) as desk:
        assert Client(desk, "bela").hand_in(notebook(handed_out)).status_code == 201
        assert Client(desk, "ada").hand_in(notebook(handed_out)).status_code == 403


def test_who_is_not_on_the_roster_is_refused_unless_everybody_may(place, handed_out):
    with desk_in(place) as desk:
        stranger = Client(desk, "zoe")
        for answer in (stranger.hand_in(notebook(handed_out)), stranger.get("/api/me")):
            assert "not on the roster" in said(answer, 403)
        assert stranger.get("/").status_code == 403
    Store(place).put_dropped(["bela"])
    with desk_in(place, who="everybody") as desk:
        assert Client(desk, "zoe").hand_in(notebook(handed_out)).status_code == 201
        assert "left this class" in said(Client(desk, "bela").hand_in(notebook(handed_out)), 403)


def test_over_the_limit_a_hand_in_is_received_and_an_ask_says_when(place, handed_out):
    with desk_in(place, at_once=1, every=10) as desk:
        ada = Client(desk)
        assert ada.hand_in(notebook(handed_out), exercise="causal_mask").status_code == 201
        answer = ada.hand_in(notebook(handed_out), exercise="causal_mask")
        sentence = said(answer, 429)
        assert 590 <= int(answer.headers["retry-after"]) <= 601
        assert re.search(r"works again at \d+ \w+ \d+, \d\d:\d\d UTC", sentence)
        received = ada.hand_in(notebook(handed_out))
        assert received.status_code == 201
        id = received.json()["receipt"]["attempt"]
        assert desk.record.attempt(id).level == "received"
        assert "the desk answers again in 10 min" in ada.get(f"/assignments/{NAME}").text


def test_a_limit_per_exercise(place, handed_out):
    with desk_in(place, limit=1) as desk:
        ada = Client(desk)
        assert ada.hand_in(notebook(handed_out), exercise="causal_mask").status_code == 201
        assert "all answers on `causal_mask`" in said(ada.hand_in(notebook(handed_out), exercise="causal_mask"), 429)
        assert ada.hand_in(notebook(handed_out)).status_code == 201


def test_a_flood_is_refused(desk, ada, handed_out, monkeypatch):
    from autograder.desk import handing

    monkeypatch.setattr(handing, "EVERYTHING", handing.Bucket("all", 2, 20.0))
    codes = [ada.hand_in(notebook(handed_out)).status_code for _ in range(3)]
    assert codes == [201, 201, 429]


def test_no_database_and_no_disk_are_one_sentence(desk, ada, handed_out, monkeypatch):
    def gone(self, *args, **more):
        raise sa.exc.OperationalError("INSERT secret", {}, Exception("server closed the connection"))

    monkeypatch.setattr(Record, "hand_in", gone)
    answer = ada.hand_in(notebook(handed_out))
    assert "records cannot be reached" in said(answer, 503) and answer.headers["retry-after"] == "10"
    assert "secret" not in answer.text

    def full(self, *args, **more):
        raise sa.exc.OperationalError("INSERT", {}, Exception("database or disk is full"))

    monkeypatch.setattr(Record, "hand_in", full)
    assert "disk is full" in said(ada.hand_in(notebook(handed_out)), 507)
    monkeypatch.setattr(Record, "hand_in", lambda *a, **m: 1 / 0)
    assert "internal error" in said(ada.hand_in(notebook(handed_out)), 500)
    assert ada.get("/api/me").status_code == 200, "the desk goes on"


def test_no_worker_is_said_and_nothing_is_lost(desk, ada, handed_out):
    desk.queue.problems[""], desk.queue.fault = NO_WORKERS, "No Dask scheduler answers at 'tcp://10.0.0.7:8786'."
    id = ada.hand_in(notebook(handed_out)).json()["receipt"]["attempt"]
    assert ada.get(f"/api/attempts/{id}").json()["note"] == (
        f"Nothing is graded at present. {NO_WORKERS} What you handed in is kept, and is graded then."
    )
    page, teachers = ada.get(f"/attempts/{id}").text, Client(desk, "teacher").get(f"/instructor/{NAME}").text
    assert "is kept" in page and "10.0.0.7" not in page, "machines are named to instructors alone"
    assert "No Dask scheduler answers at" in teachers and "10.0.0.7" in teachers


# --- pages ------------------------------------------------------------------------------------------


def test_pages_have_a_strict_policy_and_no_inline_script(desk, ada, handed_out):
    id = ada.form(notebook(handed_out)).headers["location"]
    for path in ("/", f"/assignments/{NAME}", id, "/nothing"):
        answer = ada.get(path)
        policy = answer.headers["content-security-policy"]
        assert policy.startswith(CSP) and "frame-ancestors 'none'" in policy and "unsafe" not in policy
        assert answer.headers["x-content-type-options"] == "nosniff" and answer.headers["cache-control"] == "no-store"
        assert not re.search(r"<script(?! src=)|\son\w+=|style=", answer.text)
        assert '<html lang="en">' in answer.text and "<h1>" in answer.text and 'href="#main"' in answer.text


def test_names_and_files_from_outside_are_escaped(place, handed_out):
    with desk_in(place, who="everybody") as desk:
        evil = Client(desk, "<script>alert(1)</script>")
        for path in ("/", f"/assignments/{NAME}"):
            assert "<script>alert" not in evil.get(path).text
        answer = evil.form(notebook(handed_out), filename='"><script>alert(1)</script>.ipynb')
        assert "<script>alert" not in evil.get(answer.headers["location"]).text


def test_the_desk_is_below_its_base(place, handed_out):
    with desk_in(place, base="/services/desk/") as desk:
        ada = Client(desk)
        assert ada.get("/").status_code == 404
        page = ada.get("/services/desk/")
        assert page.status_code == 200 and 'href="/services/desk/static/desk.css"' in page.text
        assert ada.get("/services/desk/static/desk.css").status_code == 200
        answer = ada.ask(
            "POST",
            f"/services/desk/api/hand-in/{NAME}",
            content=notebook(handed_out),
            headers={"content-type": "application/json"},
        )
        assert answer.json()["page"].startswith("/services/desk/attempts/")
        assert ada.get("/services/desk/api/nothing").json() == {"error": "There is no such page."}
        assert ada.get("/services/desk/static/../app.py").status_code == 404
