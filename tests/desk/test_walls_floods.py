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
from autograder.desk.record import FLOOD, ROOM, Bucket, Record, Rules, TooMany
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
    rules = Rules("names", required=(Bucket("all", 60, 0.0), Bucket("large", 5, 600.0, 10_000)))
    ada, bela = (Visitor("links", name, name, name, STUDENT) for name in ("ada", "bela"))

    def fills(who, many=1):
        return record.hand_in(who, "02", None, os.urandom(many * 10_500), rules)

    with contextlib.closing(record):
        fills(ada, 2), fills(ada)
        with pytest.raises(TooMany) as over:
            fills(ada)
        assert over.value.what == FLOOD and 1100 < over.value.again <= 1200
        with pytest.raises(TooMany):
            record.hand_in(ada, "02", None, b"x" * 100_000, rules)  # needs little, which is not nothing
        fills(bela)
        assert len(record.attempts("student:ada")) == 2


@pytest.mark.parametrize("size", [1, 5_000, 2**20 - 1, 2**20, 3 * 2**20 + 1])
def test_what_is_stored_is_charged_in_full_whatever_its_size(size):
    assert ROOM.taken(size) * ROOM.size >= size, "never rounded down"
    assert ROOM.most * ROOM.size == 500 * 2**20 and ROOM.size / ROOM.every * 86400 == pytest.approx(288 * 2**20)


@pytest.mark.slow("it hands in hundreds of notebooks")
@pytest.mark.parametrize("size", [2_000, 60_000, 900_000])
def test_many_that_are_small_fill_no_more_than_few_that_are_large(tmp_path, monkeypatch, size):
    """A hand-in below a MiB took nothing: one student could store 4.5 GB a day."""
    clock = [1000.0]
    monkeypatch.setattr(Record, "now", lambda self, connection: clock[0])
    room = Bucket("large", 500, 300.0 * 4096 / 2**20, 4096)  # 2 MB at once
    record, stored = Record(f"sqlite:///{tmp_path}/desk.db"), 0
    ada, rules = Visitor("links", "ada", "ada", "Ada", STUDENT), Rules("names", required=(room,))
    with contextlib.closing(record):
        for _ in range(200):
            clock[0] += 20.0
            with contextlib.suppress(TooMany):
                record.hand_in(ada, "02", None, os.urandom(size), rules)
                stored += size
    allowed = room.most * room.size + 200 * 20.0 / room.every * room.size
    assert stored <= allowed, f"{stored} bytes stored, {allowed:.0f} allowed"


def test_one_cannot_fill_the_disk_with_outputs(tmp_path, monkeypatch):
    monkeypatch.setattr(records, "ROOM", Bucket("large", 6, 600.0, 10_000))
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
            assert (record.graded(attempt.id) is None) == (number >= 2), "what is small needs room, too"
        with pytest.raises(TooMany):  # verdicts are charged, even where there is no room
            record.require("student:ada", [records.ROOM])
