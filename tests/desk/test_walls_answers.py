"""What the desk answers, asked by somebody who has read its code: others' attempts, streams, bombs, and races."""

import gzip
import json
import threading
from concurrent.futures import ThreadPoolExecutor

import pytest
from desks import NAME, Client, built, desk_in, handed_out, notebook, place

from autograder.batch import tasks
from autograder.batch.tasks import Task
from autograder.desk import handing
from autograder.desk.record import DONE
from autograder.desk.settings import RECEIVED
from autograder.desk.visitors import INSTRUCTOR, STUDENT, Refused, Visitor


@pytest.fixture
def desk(place):
    with desk_in(place) as desk:
        yield desk


def done(desk, id, data):
    """Finish an attempt, as one of which nothing could be graded."""
    assert desk.record.claim("w").id == id
    task = Task("", id, data, NAME, 1)
    assert desk.record.finish(id, "w", tasks.killed(task), [], again=False)


@pytest.mark.parametrize("last", ["done", "causal_mask+done", "+" * 3999, "x" * 5000, "../../etc", "\x7f", "ünlaut"])
def test_an_odd_last_event_changes_nothing_but_what_is_sent_again(desk, handed_out, last):
    ada = Client(desk)
    id = ada.hand_in(notebook(handed_out)).json()["receipt"]["attempt"]
    done(desk, id, notebook(handed_out))
    answer = ada.get(f"/api/attempts/{id}/events", headers={"last-event-id": last.encode("latin-1")})
    assert answer.status_code == 200 and answer.text.count("event: done") == 1
    assert desk.record.attempt(id).state == DONE


def test_nobody_follows_or_fetches_anothers_attempt_at_this_desk_or_at_a_second_one(desk, place, handed_out):
    id = Client(desk).hand_in(notebook(handed_out)).json()["receipt"]["attempt"]
    with desk_in(place) as second:
        for at in (desk, second):
            bela = Client(at, "bela")
            paths = (f"/api/attempts/{id}", f"/api/attempts/{id}/events", f"/attempts/{id}", f"/attempts/{id}/notebook")
            assert [bela.get(path).status_code for path in paths] == [404] * 4
            assert Client(at).get(paths[0]).status_code == 200


def test_who_is_no_longer_an_instructor_sees_no_other_any_more(desk, handed_out):
    """What somebody may see is asked of the door at each request, and not of what they were when they handed in."""
    id = Client(desk).hand_in(notebook(handed_out)).json()["receipt"]["attempt"]
    roles = {"emmy": INSTRUCTOR}

    class Changing:
        name = "changing"

        async def visitor(self, request):
            who = request.headers["who"]
            return Visitor("hub", who, "" if roles[who] == INSTRUCTOR else who, who, roles[who])

        def routes(self):
            return []

        def entrance(self):
            return None

    desk.doors = [Changing()]
    emmy = Client(desk, "emmy")
    assert emmy.get(f"/api/attempts/{id}").status_code == 200 and emmy.get("/instructor").status_code == 200
    roles["emmy"] = STUDENT
    assert emmy.get(f"/api/attempts/{id}").status_code == 404 and emmy.get("/instructor").status_code == 403
    assert emmy.get(f"/attempts/{id}/notebook").status_code == 404


@pytest.mark.parametrize(
    "body",
    [
        b'{"cells": ' + b"[" * 10**6,
        b"[" * 10**5 + b"]" * 10**5,
        b'{"cells": [], "metadata": ' + b'{"a":' * 10**5 + b"1" + b"}" * 10**5 + b"}",
        b'{"nbformat": 4, "cells": ' + b"9" * 10**6 + b"}",
        gzip.compress(b"0" * 10**8),
        b"\xff\xfe" + "{}".encode("utf-16-le"),
    ],
    ids=["open brackets", "nested lists", "nested objects", "a long number", "gzip bomb", "utf-16"],
)
def test_a_body_made_to_hurt_is_refused_in_one_sentence(desk, body):
    ada = Client(desk)
    for headers in ({}, {"content-encoding": "gzip"}):
        headers = {"content-type": "application/json", **headers}
        answer = ada.ask("POST", f"/api/hand-in/{NAME}", content=body, headers=headers)
        assert answer.status_code == 422 and answer.json()["error"].count(".") >= 1, answer.text
    assert desk.record.attempts() == [] and ada.get("/api/me").status_code == 200


def test_hand_ins_at_the_same_moment_get_no_answer_more_than_the_limit(place, handed_out):
    many, most = 24, 5
    with desk_in(place, at_once=most, every=1e5) as desk:
        ada, start = Visitor("test", "ada", "ada", "Ada", STUDENT), threading.Barrier(many)

        def hand_in(number):
            start.wait()
            data = notebook(json.loads(json.dumps(handed_out)), comment=f"{number}")
            return handing.receive(desk, ada, NAME, None, data)

        with ThreadPoolExecutor(many) as pool:
            made = list(pool.map(hand_in, range(many)))
        assert sum(one.level != RECEIVED for one in made) == most
        assert sorted(one.number for one in made) == list(range(1, many + 1)), "each has a number of its own"
        assert len({one.round for one in made}) == many, "and inputs of its own"


def test_asks_at_the_same_moment_are_answered_as_often_as_the_limit_allows(place, handed_out):
    with desk_in(place, limit=3) as desk:
        ada, start = Visitor("test", "ada", "ada", "Ada", STUDENT), threading.Barrier(12)

        def ask(number):
            start.wait()
            data = notebook(json.loads(json.dumps(handed_out)), comment=f"{number}")
            try:
                return handing.receive(desk, ada, NAME, "causal_mask", data)
            except Refused as refused:
                assert refused.status == 429
                return None

        with ThreadPoolExecutor(12) as pool:
            assert len([one for one in pool.map(ask, range(12)) if one]) == 3
