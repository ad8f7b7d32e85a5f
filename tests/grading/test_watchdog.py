"""A check that never ends costs its own exercise, and is named; what ends in time is left alone."""

import dataclasses
import threading
from unittest import mock

import pytest
from conftest import ASSIGNMENT, ROOT

from autograder.grading import watchdog

PATH = ROOT / "solutions" / ASSIGNMENT / f"{ASSIGNMENT}.ipynb"


def for_ever():
    while True:
        pass


@pytest.fixture
def impatient():
    with mock.patch.multiple(watchdog, SECONDS=2.0, EVERY=0.05):
        yield


def test_a_check_that_never_ends(grader, impatient, caplog):
    def test_weights(submission, draw):
        for_ever()

    checks = grader.graders.checks["SelfAttention"]
    endless = dataclasses.replace(checks[1], test=test_weights)
    with mock.patch.dict(grader.graders.checks, SelfAttention=[checks[0], endless, *checks[2:]]):
        graded = grader.grade_file(PATH).verdict.exercises
    outcomes = {e.exercise: e for e in graded}
    ended = outcomes.pop("SelfAttention")
    assert (ended.status, ended.score) == ("error", 0) and ended.message.endswith("tell your instructor.")
    assert all(e.score == e.max_score for e in outcomes.values())
    assert "test_weights (test_watchdog.py:" in caplog.text
    assert grader.grade_file(PATH).verdict.full


@pytest.mark.slow("it waits for a process that never ends")
def test_a_diagnosis_that_never_ends(grader, impatient, caplog):
    wrong = ROOT / "release" / ASSIGNMENT / f"{ASSIGNMENT}.ipynb"
    usual = grader.grade_file(wrong, seed=5).verdict
    with mock.patch.object(grader.diagnostician, "diagnose", lambda run: for_ever()):
        verdict = grader.grade_file(wrong, seed=5).verdict
    assert [(e.score, e.status) for e in verdict.exercises] == [(e.score, e.status) for e in usual.exercises]
    assert "for_ever (test_watchdog.py:" in caplog.text


def test_in_a_thread(impatient):
    """As on a worker of Dask."""
    caught = []

    def work():
        try:
            with watchdog.watching():
                for_ever()
        except watchdog.Endless as end:
            caught.append(str(end))

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert caught[0].startswith("more than 2 s of CPU, at last in for_ever (test_watchdog.py:")


def test_what_waits_is_left_alone(impatient):
    """Deadlines of what is waited for are kept elsewhere."""
    with watchdog.watching():
        assert not threading.Event().wait(2.5)
