"""Attacks by one student who asks for much at once: the others are served as if they did not."""

import asyncio
import contextlib
import os
import threading
from types import SimpleNamespace

import pytest
from desks import NAME, Client, built, desk_in, handed_out, notebook, place

from autograder.desk import bodies, pages, painter
from autograder.desk import record as records
from autograder.desk.app import STREAMS, News, _events
from autograder.desk.painter import Painter
from autograder.desk.record import FLOOD, Bucket, Record, Rules, TooMany
from autograder.desk.visitors import STUDENT, Refused, Visitor
from autograder.verdict import Graded, Outcome, Verdict


@pytest.fixture
def desk(place):
    with desk_in(place) as opened:
        yield opened


def test_one_who_sends_many_files_slowly_leaves_room_for_others(desk, handed_out):
    with bodies.Body(None, "student:ada"), bodies.Body(None, "student:ada"):
        for answer in (Client(desk).hand_in(notebook(handed_out)), Client(desk).form(notebook(handed_out))):
            assert answer.status_code == 429 and answer.headers["retry-after"]
        assert Client(desk, "bela").hand_in(notebook(handed_out)).status_code == 201
    assert Client(desk).hand_in(notebook(handed_out)).status_code == 201
    assert not bodies.Room.of
    with pytest.raises(Refused), bodies.Body(None, "a"), bodies.Body(None, "a"), bodies.Body(None, "a"):
        pass
    assert not bodies.Room.of


def test_one_who_opens_many_pages_that_take_long_leaves_threads_for_others(desk, handed_out, monkeypatch):
    ada, bela = Client(desk), Client(desk, "bela")
    id = ada.hand_in(notebook(handed_out)).json()["receipt"]["attempt"]
    over = threading.Event()
    make = pages.attempt

    def slow(*about):
        assert over.wait(60)
        return make(*about)

    monkeypatch.setattr(pages, "attempt", slow)

    async def flood():
        asked = [asyncio.create_task(ada.client.get(f"/attempts/{id}")) for _ in range(60)]
        await asyncio.sleep(0.5)
        try:
            home = await asyncio.wait_for(ada.client.get("/", headers={"who": "bela"}), 20)
        finally:
            over.set()
        return home, await asyncio.gather(*asked)

    home, answers = ada.loop.run_until_complete(flood())
    assert home.status_code == 200
    assert sorted({answer.status_code for answer in answers}) == [200, 429]
    assert bela.get(f"/assignments/{NAME}").status_code == 200


def test_a_page_does_not_wait_for_another_ones_for_long(monkeypatch):
    monkeypatch.setattr(painter, "WAITS", 0.05)
    made = Painter()
    verdict = SimpleNamespace(to_json=lambda: "{}", to_dict=dict)
    attempt = SimpleNamespace(id="1", assignment=NAME, name="", arrived=None)
    with made.alone:
        assert made.page(attempt, verdict, None, b"", "") == ""
    jobs = []
    monkeypatch.setattr(made, "_asked", jobs.append)
    assert made.page(attempt, verdict, None, b"", "") == made.page(attempt, verdict, None, b"", "") == ""
    assert len(jobs) == 3, "what cannot be shown is not tried at each request"


def test_streams_that_are_begun_at_once_are_no_more_than_others(desk, handed_out):
    id = Client(desk).hand_in(notebook(handed_out)).json()["receipt"]["attempt"]
    attempt, news = desk.record.attempt(id), News()

    async def begin():
        streams = [_events(desk, news, attempt, set(), "student:ada") for _ in range(3 * STREAMS)]
        begun = [await anext(stream, None) for stream in streams]
        for stream in streams:
            await stream.aclose()
        return begun

    assert sum(one is not None for one in asyncio.run(begin())) == STREAMS
    assert not news.streams


def test_one_cannot_fill_the_disk(tmp_path):
    record = Record(f"sqlite:///{tmp_path}/desk.db")
    rules = Rules("names", required=(Bucket("all", 60, 0.0), Bucket("large", 3, 600.0, 10_000)))
    ada, bela = (Visitor("links", name, name, name, STUDENT) for name in ("ada", "bela"))

    def fills(who, many=1):
        return record.hand_in(who, "02", None, os.urandom(many * 10_500), rules)

    with contextlib.closing(record):
        fills(ada, 2), fills(ada)
        with pytest.raises(TooMany) as over:
            fills(ada)
        assert over.value.what == FLOOD and 500 < over.value.again <= 600
        record.hand_in(ada, "02", None, b"x" * 100_000, rules)  # needs next to nothing
        fills(bela)
        assert len(record.attempts("student:ada")) == 3


def test_one_cannot_fill_the_disk_with_outputs(tmp_path, monkeypatch):
    monkeypatch.setattr(records, "ROOM", Bucket("large", 2, 600.0, 10_000))
    record = Record(f"sqlite:///{tmp_path}/desk.db")
    ada = Visitor("links", "ada", "ada", "Ada", STUDENT)
    with contextlib.closing(record):
        for number in range(4):
            attempt = record.hand_in(ada, "02", None, b"%d" % number, Rules("names"))
            assert record.claim("desk").id == attempt.id
            verdict = Verdict("", [Outcome("attention", 1.0, 2.0, "graded")], attempt.seed, "02")
            large = {0: [{"output_type": "stream", "name": "stdout", "text": os.urandom(12_000).hex()}]}
            assert record.finish(attempt.id, "desk", Graded(verdict, [], large if number < 3 else {}), [])
            assert record.verdict(attempt.id) == verdict, "the verdict is always kept"
            assert (record.graded(attempt.id) is None) == (number == 2), "what is small, too"
