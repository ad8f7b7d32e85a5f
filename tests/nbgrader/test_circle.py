"""The circle of an assignment by Formgrader's buttons, in a browser: release, hand in, collect, grade, give back."""

import json
import os
import re
import shutil
import subprocess
import sys

import formgrader
import pytest
from conftest import ROOT, cell_of, hand_in, load
from formgrader import opened, typed, until
from nbgrader.api import Gradebook

from autograder.mistakes.bank import bank

NAME = "03_causal_attention"
CELLS = ("setup", "causal_mask-solution", "causal_mask", "question-before-or-after")
QUESTION = CELLS[-1]
STUDENTS = {"ada": "torch.tril(torch.ones(t, t, dtype=torch.bool))", "bert": "torch.triu(torch.ones(t, t)).bool()"}


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    """A course of one exercise and one written question, with an exchange; nothing is built yet."""
    place = tmp_path_factory.mktemp("circle")
    source = load(ROOT / "source" / NAME / f"{NAME}.ipynb")
    source["cells"] = [c for c in source["cells"] if c["metadata"].get("nbgrader", {}).get("grade_id") in CELLS]
    hand_in(source, place / "source" / NAME, f"{NAME}.ipynb")
    exchange = place / "exchange"
    exchange.mkdir(mode=0o777)
    exchange.chmod(0o777)
    config = (ROOT / "nbgrader_config.py").read_text()
    (place / "nbgrader_config.py").write_text(f"{config}\nc.Exchange.root = {str(exchange)!r}\n")
    return place


@pytest.fixture(scope="module")
def server(place, tmp_path_factory):
    server = formgrader.Server(place, tmp_path_factory.mktemp("server"))
    yield server
    server.close()


@pytest.fixture(scope="module")
def browser(server, tmp_path_factory):
    with formgrader.browser(server, tmp_path_factory.mktemp("browser")) as browser:
        yield browser


def as_student(place, folder, student, *command):
    """Run one of nbgrader's commands as a student, in their own folder."""
    config = (
        f"c = get_config()\nc.Exchange.root = {str(place / 'exchange')!r}\nc.CourseDirectory.course_id = 'attention'\n"
    )
    (folder / "nbgrader_config.py").write_text(config)
    environment = {**os.environ, "HOME": str(folder), "JUPYTER_DATA_DIR": str(folder / "data")}
    name = f"--CourseDirectory.student_id={student}"  # which is else that of the account on this machine
    program = [sys.executable, "-m", "nbgrader", *command, name]
    done = subprocess.run(program, cwd=folder, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr


def click(browser, server, page, row, button):
    """Click a button in the row of that text, and wait for the box that says that all went well; returns its log."""
    browser.get(f"{server.url}/formgrader/{page}")
    find = (
        "return Array.from(document.querySelectorAll('#main-table tr')).filter((tr) => tr.textContent.includes("
        f"{json.dumps(row)})).map((tr) => tr.querySelector('td.{button} a')).find((a) => a)"
    )
    until(lambda: browser.execute_script(find))
    browser.execute_script("arguments[0].click()", browser.execute_script(find))
    box = "return document.querySelector('#success-modal .modal-body, #error-modal .modal-body')?.textContent"
    until(lambda: browser.execute_script(box))
    said = browser.execute_script(box)
    assert browser.execute_script("return !!document.querySelector('#success-modal')"), said
    return said


def grades_of(place, student):
    """The student's total in the gradebook, and whether anything waits for a person."""
    with Gradebook(f"sqlite:///{place}/gradebook.db") as book:
        found = book.find_submission(NAME, student)
        return found.score, found.needs_manual_grade


def graded_by_hand(place, browser, server, student, **scores):
    """Give points on Formgrader's page of a submission."""
    with Gradebook(f"sqlite:///{place}/gradebook.db") as book:
        id = book.find_submission_notebook(NAME, NAME, student).id
    opened(browser, server, f"/formgrader/submissions/{id}/")
    for cell, score in scores.items():
        typed(browser, cell, str(score))


@pytest.mark.slow("it goes through all commands of nbgrader")
def test_an_assignment_goes_all_the_way_round(place, server, browser, tmp_path):
    for button in ("assign", "release"):
        click(browser, server, "manage_assignments", NAME, button)
    for student, mask in STUDENTS.items():
        folder = tmp_path / student
        folder.mkdir()
        as_student(place, folder, student, "fetch_assignment", NAME)
        notebook = load(folder / NAME / f"{NAME}.ipynb")
        cell_of(notebook, "causal_mask-solution")["source"] = (
            f"def causal_mask(t, device=None):\n    return {mask.replace('(t, t', '(t, t, device=device')}\n"
        )
        cell_of(notebook, QUESTION)["source"] = "Before the softmax."
        hand_in(notebook, folder / NAME, f"{NAME}.ipynb")
        as_student(place, folder, student, "submit", NAME)
    click(browser, server, "manage_assignments", NAME, "collect")
    for student in STUDENTS:
        click(browser, server, f"manage_submissions/{NAME}", student, "autograde")
    assert [grades_of(place, student) for student in STUDENTS] == [(2.0, True), (1.2, True)]

    graded_by_hand(place, browser, server, "ada", **{QUESTION: 2.5})
    graded_by_hand(place, browser, server, "bert", **{QUESTION: 3, "causal_mask": 0.5})
    assert [grades_of(place, student) for student in STUDENTS] == [(4.5, False), (3.5, False)]

    for button in ("generate-feedback", "release-feedback"):
        click(browser, server, "manage_assignments", NAME, button)
    named = bank("causal_mask")["upside-down"].says.split("`")[0].strip()
    for student, total in (("ada", "4.5"), ("bert", "3.5")):
        as_student(place, tmp_path / student, student, "fetch_feedback", NAME)
        (page,) = (tmp_path / student).glob(f"{NAME}/feedback/*/{NAME}.html")
        text = " ".join(re.sub(r"<[^>]+>", "", page.read_text()).split())
        assert total in text and (named in text) == (student == "bert")
    shutil.rmtree(place / "exchange")
