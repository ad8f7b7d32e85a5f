"""A day at the desk of a real JupyterHub, from the first hand-in to the grades.

A student hands in from JupyterLab, reads what is wrong below the cell, mends it, hands in again and reads what changed;
another's mistake has no name until the instructor gives it one; the due date passes; and `collect --desk`, `grade`,
`report` and `export` say what the desk has said.
"""

import contextlib
import csv
import json
import os
import shutil
import subprocess
import sys
import time
import urllib.error
import urllib.request
from datetime import UTC, datetime

import formgrader
import hub
import lab
import pytest
import tiny
import warm
from chrome import text, until
from conftest import ROOT
from desk_browser import code_of, notebook
from nbgrader.api import Gradebook
from selenium.webdriver.common.by import By

from autograder.desk import gradebook_reader
from autograder.desk.record import Record
from autograder.nbgrader import desk_cell
from autograder.nbgrader.runs import NbgraderCourse

pytestmark = pytest.mark.slow("a day in the order in which things happen; what happens is in other tests, too")

NAME = tiny.NAME
ODD = (  # two slips: a single one would be found, and need no name
    "torch.tril(torch.ones(t, t, dtype=torch.bool, device=device)) & (torch.arange(t, device=device) % 3 != 1)"
    " & (torch.arange(t, device=device) % 4 != 2)"
)
SAYS = "You hide every third and every fourth key from everybody: only the keys behind a query are hidden."
PICTURE = ".picture tbody tr"  # of the instructor's page: a row a student


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    return tmp_path_factory.mktemp("day") / "course"


@pytest.fixture(scope="module")
def running(place, tmp_path_factory):
    """A Hub whose desk is that of a course, with a student's notebook in her home."""
    ports, scratch = hub.free_ports(4), tmp_path_factory.mktemp("hub")
    place.mkdir()
    tiny.course(place)
    with open(place / "nbgrader_config.py", "a") as file:
        file.write(f"\nc.Desk.address = {hub.url_of(ports[0]) + '/services/desk'!r}\n")
    runs = NbgraderCourse(place)
    runs.build(NAME)
    desk_cell.write(place, NAME, runs.config)
    tiny.pass_the_gate(place, (NAME,))
    with runs.gradebook() as book:
        book.add_student("ada", first_name="Ada")
        book.add_student("bela", first_name="Béla")
    shutil.copytree(place / "release" / NAME, scratch / "home" / "ada")
    running = hub.Hub(place, scratch, ports)
    try:
        for name in ("ada", "bela"):
            running.api(f"users/{name}", "POST")
        yield running
    finally:
        running.close()


@pytest.fixture(scope="module")
def browser(running, tmp_path_factory):
    class Server:
        url = running.url

    with contextlib.ExitStack() as stack:
        browser = stack.enter_context(formgrader.browser(Server, tmp_path_factory.mktemp("browser")))
        browser.set_script_timeout(120)
        yield browser


@pytest.fixture(scope="module")
def record(place, running):
    """The desk's record, in which this process only reads."""
    with contextlib.closing(Record(f"sqlite:///{place}/desk.db")) as record:
        yield record


def hand_in(running, place, student, answer):
    """(status, what the desk answers) of a notebook that a program sends for a student."""
    token = running.token(student, [hub.SCOPE])
    headers = {"Authorization": f"Bearer {token}", "Content-Type": "application/x-ipynb+json"}
    request = urllib.request.Request(
        f"{running.url}/services/desk/api/hand-in/{NAME}", notebook(place, answer), headers, method="POST"
    )
    try:
        with urllib.request.urlopen(request, timeout=60) as answer:
            return answer.status, json.loads(answer.read())
    except urllib.error.HTTPError as error:
        return error.code, json.loads(error.read())


def answered(record, student):
    """What was told of a student's latest attempt, once it is graded."""
    return until(lambda: record.attempts(f"student:{student}")[-1].told)


def autograder(place, *arguments):
    done = warm.run(place, "autograder", *arguments)
    assert done.returncode in (0, 1) and "Traceback" not in done.stderr, done.stdout + done.stderr
    return done.stdout + done.stderr


def test_the_student_is_answered_and_answers(running, browser, record):
    """Nobody types a key: the Hub's token of her own server is enough."""
    running.spawn("ada")
    hub.log_in(browser, running, "ada")
    lab.opened(browser, f"{running.url}/user/ada/lab/tree/{NAME}.ipynb")
    browser.execute_script(lab.EDIT, code_of("upside down"))
    lab.run_all(browser)
    browser.execute_async_script(lab.SAVE)
    lab.hand_in(browser)
    until(lambda: "Points:" in lab.output(browser))
    (name,) = answered(record, "ada")[0]["names"]
    assert name["message"].replace("`", "") in lab.output(browser)
    browser.execute_script(lab.EDIT, code_of("right"))
    lab.run_all(browser)
    browser.execute_async_script(lab.SAVE)
    lab.hand_in(browser)
    until(lambda: "Changed:" in lab.output(browser))
    assert "fixed: " + name["message"].replace("`", "") in lab.output(browser)
    browser.get(f"{running.url}/services/desk/assignments/{NAME}")
    assert "fixed: " in text(browser)


def test_the_instructor_sees_both_and_names_a_mistake(running, place, browser, record):
    status, _ = hand_in(running, place, "bela", ODD)
    assert status == 201
    assert not answered(record, "bela")[0]["names"]
    hub.log_in(browser, running, "emmy")
    browser.get(f"{running.url}/services/desk/instructor/{NAME}")
    rows = until(lambda: {row.text.split()[0]: row.text for row in browser.find_elements(By.CSS_SELECTOR, PICTURE)})
    assert "2" in rows["Ada"].split()[1:] and set(rows) == {"Ada", "Béla"}
    sentences = until(lambda: browser.find_element(By.ID, "live-sentences").text)
    assert "upside down" in sentences or "rows" in sentences, sentences
    (form,) = browser.find_elements(By.CSS_SELECTOR, "article form")
    form.find_element(By.NAME, "sentence").send_keys(SAYS)
    form.find_element(By.TAG_NAME, "button").click()
    until(lambda: "has a name now" in browser.find_element(By.ID, "named").text)
    hub.log_in(browser, running, "bela")
    browser.get(f"{running.url}/services/desk/attempts/{record.attempts('student:bela')[0].id}")
    assert SAYS in text(browser)


def test_grades_are_what_the_desk_has_said(running, place, record):
    with Gradebook(f"sqlite:///{place}/gradebook.db") as book:
        book.update_or_create_assignment(NAME, duedate=datetime.now(UTC).replace(tzinfo=None))
    time.sleep(gradebook_reader.FRESH)  # the desk looks no more often
    status, said = hand_in(running, place, "bela", "right")
    assert status == 403 and "was due on" in said["error"]
    told = {who: sum(one["score"] for one in answered(record, who)) for who in ("ada", "bela")}
    autograder(place, "collect", NAME, "--desk")
    assert "0 graded, 2 unchanged" in autograder(place, "grade", NAME)
    scores, _ = tiny.gradebook(place)
    assert scores == told and told["ada"] > told["bela"]
    autograder(place, "report", NAME)
    assert SAYS in (place / "feedback" / "bela" / NAME / f"{NAME}.html").read_text()
    autograder(place, "export", NAME, "csv")
    (table,) = (place / "exports").rglob("*.csv")
    rows = csv.DictReader(table.read_text(encoding="utf-8-sig").splitlines())
    assert {row["student_id"]: float(row["score"]) for row in rows} == told
