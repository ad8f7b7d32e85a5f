"""What one person, or one address, may cost: pages, workers, questions to the Hub, lines in the log."""

import asyncio
import contextlib
import io
import logging
import time
from types import SimpleNamespace

import pytest
from desks import NAME, Client, built, desk_in, handed_out, notebook, place
from starlette.requests import Request

from autograder.desk import costs as costing
from autograder.desk import handing, logs, pages, painter
from autograder.desk.costs import ADDRESS, PERSON, Allowance, Costs, address_of
from autograder.desk.doors import places
from autograder.desk.doors.places import NoPlace, Places
from autograder.desk.keys import KEPT, LINK, PERSONAL, Keys
from autograder.desk.logs import Log, one_line
from autograder.desk.record import REST, SLOW, Record, Rules
from autograder.desk.tables import KEY
from autograder.desk.visitors import STUDENT, Refused, Visitor
from autograder.verdict import Graded, Outcome, Verdict

ADA, BELA = (Visitor("links", name, name, name.title(), STUDENT) for name in ("ada", "bela"))


# --- the processor --------------------------------------------------------------------------------


def test_what_was_spent_comes_back_with_time_and_is_each_ones_own():
    clock = [0.0]
    costs = Costs(lambda: clock[0])
    some = Allowance(10.0, 0.5)
    for _ in range(3):
        costs.require(some, "ada")
        costs.charge(some, "ada", 4.0)
    with pytest.raises(Refused) as over:
        costs.require(some, "ada")
    assert over.value.status == 429 and over.value.again == pytest.approx(4.0)
    costs.require(some, "bela")
    clock[0] = 4.0
    costs.require(some, "ada")


def test_what_another_process_spends_is_charged_and_an_error_is_not_free(monkeypatch):
    costs = Costs()
    charged = []
    monkeypatch.setattr(costs, "charge", lambda allowance, who, seconds: charged.append(seconds))
    made = painter.Painter()
    made.connection = SimpleNamespace(send=lambda job: time.sleep(0.2), poll=lambda seconds: True, recv=lambda: "page")
    assert costs.run("ada", made._asked, ()) == "page" and charged[0] >= 0.2

    def fails():
        costing.also(5.0)
        raise ValueError

    with pytest.raises(ValueError):
        costs.run("ada", fails)
    assert charged[1] >= 5.0


@pytest.mark.parametrize("path", ["/", f"/assignments/{NAME}", "/api/me", "/attempts/{}", "/attempts/{}/notebook"])
def test_who_has_spent_all_is_refused_at_each_route_and_others_are_not(place, handed_out, path, monkeypatch):
    with desk_in(place) as desk:
        ada = Client(desk)
        app = ada.client._transport.app
        id = ada.hand_in(notebook(handed_out)).json()["receipt"]["attempt"]
        assert ada.get(path.format(id)).status_code == 200
        app.state.costs.charge(PERSON, "student:ada", PERSON.most + 1)
        answer = ada.get(path.format(id))
        assert answer.status_code == 429 and answer.headers["retry-after"]
        monkeypatch.setattr(handing, "receive", None)  # nothing is begun
        assert ada.hand_in(b"x").status_code == ada.form(b"x").status_code == 429
        assert ada.get("/", headers={"who": "bela"}).status_code == 200
        assert ada.get("/instructor", headers={"who": "teacher"}).status_code == 200


def test_pages_are_charged_to_who_asks(place):
    with desk_in(place) as desk:
        ada = Client(desk)
        charged = []
        ada.client._transport.app.state.costs.charge = lambda allowance, who, seconds: charged.append(who)
        for path in ("/", f"/assignments/{NAME}", "/api/me"):
            assert ada.get(path).status_code == 200
        assert charged == ["student:ada"] * 3


def test_nobody_pays_by_address_and_does_not_shut_out_who_is_known(place):
    with desk_in(place) as desk:
        nobody = Client(desk, who=None)
        costs = nobody.client._transport.app.state.costs
        assert nobody.get("/").status_code == 401
        costs.charge(ADDRESS, "127.0.0.1", ADDRESS.most + 1)
        assert nobody.get("/").status_code == 429
        assert nobody.get("/", headers={"who": "ada", "authorization": "x"}).status_code == 200


@pytest.mark.parametrize(
    "host, found",
    [
        ("192.0.2.6", "192.0.2.6"),
        ("::ffff:192.0.2.6", "192.0.2.6"),
        ("2001:db8:1:2:3:4:5:6", "2001:db8:1:2::/64"),
        ("2001:db8:1:2::ffff%eth0", "2001:db8:1:2::/64"),
        ("unix", "unix"),
    ],
)
def test_one_place_is_one_address(host, found):
    assert address_of(Request({"type": "http", "client": (host, 1), "headers": []})) == found


def test_a_few_requests_of_one_wait_and_their_turns_end():
    costs, ending = Costs(), []

    async def ask(who, over):
        async with costs.turn(who):
            await over.wait()
            ending.append(who)

    async def all_of_them():
        over = asyncio.Event()
        tasks = [asyncio.create_task(ask("ada", over)) for _ in range(costing.AT_WORK + costing.WAITING + 3)]
        await asyncio.sleep(0.01)
        assert sum(task.done() for task in tasks) == 3, "more are refused at once"
        tasks[costing.AT_WORK].cancel()  # one that waits
        other = asyncio.create_task(ask("bela", over))
        over.set()
        await other
        return await asyncio.gather(*tasks, return_exceptions=True)

    answers = asyncio.run(all_of_them())
    assert ending.count("ada") == costing.AT_WORK + costing.WAITING - 1
    assert sum(isinstance(one, Refused) for one in answers) == 3
    assert not costs._at_work and not costs._waiting


def test_refused_files_are_charged_and_good_ones_once(place, handed_out):
    with desk_in(place) as desk:
        left = [desk.record.left("student:ada", "all", 60, 20.0)[0]]
        for data in (b"{", b"", notebook(handed_out)):
            Client(desk).hand_in(data)
            left.append(desk.record.left("student:ada", "all", 60, 20.0)[0])
        assert left == [60, 59, 58, 57]


def test_a_body_is_not_read_of_who_may_hand_in_no_more(place, monkeypatch):
    with desk_in(place) as desk:
        for _ in range(60):
            desk.record.charge("student:ada", handing.EVERYTHING)
        monkeypatch.setattr("autograder.desk.bodies.Body", None)
        ada = Client(desk)
        assert ada.hand_in(b"x").status_code == ada.form(b"x").status_code == 429


# --- pages of many attempts -----------------------------------------------------------------------


def test_earlier_attempts_are_on_further_pages(place, handed_out, monkeypatch):
    monkeypatch.setattr(pages, "SHOWN", 2)
    with desk_in(place) as desk:
        ada = Client(desk)
        for number in range(5):
            assert ada.hand_in(notebook(handed_out, comment=f"{number}")).status_code == 201
        for before, shown, link in (
            ("", (5, 4), "?before=4"),
            ("?before=4", (3, 2), "?before=2"),
            ("?before=2", (1,), ""),
        ):
            text = ada.get(f"/assignments/{NAME}{before}").text
            assert [n for n in range(5, 0, -1) if f">Attempt {n}</a>" in text] == list(shown)
            assert (link in text) if link else ("Earlier attempts" not in text)
        for odd in ("-1", "x", "9" * 30, "²", ""):
            assert ">Attempt 5</a>" in ada.get(f"/assignments/{NAME}?before={odd}").text


def test_what_was_best_is_kept_as_it_was_told(tmp_path):
    record = Record(f"sqlite:///{tmp_path}/desk.db")
    with contextlib.closing(record):
        for score in (1.0, 2.0, 1.5, None):
            finish(record, record.hand_in(ADA, "02", None, str(score).encode(), Rules("names")), score)
        assert record.best("student:ada") == {"02": {"attention": 2.0}} and record.best("student:bela") == {}
        assert record.counts("student:ada") == {"02": (4, 0)}
        latest = record.latest("student:ada", "02", 1)[0]
        assert record.before(latest).number == 3
        asked = record.hand_in(ADA, "02", "softmax", b"y", Rules("names"))
        assert record.before(asked).number == 4 and record.before(record.attempts("student:ada")[0]) is None


def finish(record, attempt, score=1.0):
    assert record.claim("desk").id == attempt.id
    verdict = Verdict("", [Outcome("attention", score or 0.0, 2.0, "graded")], attempt.seed, "02")
    assert record.finish(attempt.id, "desk", Graded(verdict), [{"exercise": "attention", "score": score}])


# --- the workers ----------------------------------------------------------------------------------


@pytest.fixture
def timed(tmp_path, monkeypatch):
    """A record whose clock is `clock[0]`, without leases."""
    record, clock = Record(f"sqlite:///{tmp_path}/desk.db"), [1e6]
    monkeypatch.setattr(Record, "now", lambda self, connection: clock[0])
    monkeypatch.setattr("autograder.desk.record.LEASE", 1e5)
    with contextlib.closing(record):
        yield record, clock


def test_who_was_slow_comes_after_all_others_even_those_who_came_later(timed):
    record, clock = timed
    one = record.hand_in(ADA, "02", None, b"1", Rules("names"))
    assert record.claim("desk").id == one.id
    clock[0] += SLOW
    done = Graded(Verdict("", [Outcome("attention", 1.0, 2.0, "graded")], one.seed, "02"))
    assert record.finish(one.id, "desk", done, [])
    record.hand_in(ADA, "02", None, b"2", Rules("names"))
    clock[0] += 10
    later = record.hand_in(BELA, "02", None, b"1", Rules("names"))
    assert record.claim("desk").id == later.id


def test_who_was_slow_rests_if_others_are_there_and_says_until_when(timed):
    record, clock = timed

    def grade(visitor, content, seconds):
        one = record.hand_in(visitor, "02", None, content, Rules("names"))
        assert record.claim("desk", rests=True).id == one.id
        clock[0] += seconds
        finished = Graded(Verdict("", [Outcome("attention", 1.0, 2.0, "graded")], one.seed, "02"))
        assert record.finish(one.id, "desk", finished, [])

    grade(ADA, b"1", 300.0)
    grade(ADA, b"2", 300.0)  # nobody else is there
    assert record.rests_until("student:ada") is None
    grade(BELA, b"1", 2.0)
    ended = clock[0] - 2.0
    third = record.hand_in(ADA, "02", None, b"3", Rules("names"))
    assert record.claim("desk", rests=True) is None
    assert record.rests_until("student:ada").timestamp() == pytest.approx(ended + REST * 300.0)
    assert record.rests_until("student:bela") is None
    grade(BELA, b"2", 2.0)
    clock[0] = ended + REST * 300.0 + 1
    assert record.claim("desk", rests=True).id == third.id


def test_the_time_of_a_worker_that_was_killed_counts(timed, monkeypatch):
    record, clock = timed
    monkeypatch.setattr("autograder.desk.record.LEASE", 40.0)
    one = record.hand_in(ADA, "02", None, b"1", Rules("names"))
    for _ in range(2):
        assert record.claim("killed").id == one.id
        clock[0] += 41.0
        with record.reading() as connection:
            assert connection.exec_driver_sql("SELECT count(*) FROM desk_attempt WHERE state = 'grading'").scalar() == 1
        record.give_back("killed")
    with record.reading() as connection:
        assert connection.exec_driver_sql("SELECT spent FROM desk_attempt WHERE id = ?", (one.id,)).scalar() == 80.0


# --- questions to the Hub -------------------------------------------------------------------------


def test_one_address_has_a_few_places_and_the_newest_comes_first(monkeypatch):
    monkeypatch.setattr(places, "WAITING", 3)
    made, order = Places(), []

    async def ask(name, address, over, is_known=False):
        try:
            async with made.place(address, is_known, 30.0):
                order.append(name)
                await over.wait()
        except NoPlace:
            order.append(f"no {name}")

    async def all_of_them():
        over = asyncio.Event()
        tasks = [asyncio.create_task(ask(n, "a", over)) for n in range(places.OF_ONE + 5)]
        await asyncio.sleep(0.01)
        assert order == [0, 1, 2, 3, "no 4", "no 5"], "the oldest that wait give up"
        tasks += [asyncio.create_task(ask("other", "b", over)), asyncio.create_task(ask("known", "a", over, True))]
        await asyncio.sleep(0.01)
        assert order[-2:] == ["other", "known"]
        tasks[7].cancel()
        await asyncio.sleep(0)
        over.set()
        await asyncio.gather(*tasks, return_exceptions=True)
        assert order[-2:] == [8, 6]

    asyncio.run(all_of_them())
    assert not made._asking and not made._waiting


def test_who_waits_too_long_for_a_place_gives_up_and_leaves_nothing():
    made = Places()

    async def ask(seconds):
        async with made.place("a", False, seconds):
            await asyncio.sleep(0.2)

    async def all_of_them():
        begun = [asyncio.create_task(ask(30.0)) for _ in range(places.OF_ONE)]
        await asyncio.sleep(0.01)
        with pytest.raises(NoPlace):
            await ask(0.01)
        await asyncio.gather(*begun)

    asyncio.run(all_of_them())
    assert not made._asking and not made._waiting


# --- what is kept of keys -------------------------------------------------------------------------


def test_keys_that_were_replaced_do_not_pile_up(tmp_path):
    record = Record(f"sqlite:///{tmp_path}/desk.db")
    with contextlib.closing(record):
        keys, person = Keys(record), record.person(ADA)
        link = keys.make(LINK, person, 100.0)
        old = [keys.renew(PERSONAL, person, 100.0) for _ in range(3 * KEPT)]
        with record.reading() as connection:
            assert len(connection.execute(KEY.select()).all()) == KEPT + 2
        assert keys.find(PERSONAL, old[-2]).revoked and keys.find(PERSONAL, old[-1]).is_valid
        assert keys.find(LINK, link).is_valid and keys.find(PERSONAL, old[0]) is None


@pytest.mark.parametrize("guess", ["", "x", "desk-", "desk-" + "é" * 43, "a" * 42, "a" * 44, "../" * 14 + "a"])
def test_what_cannot_be_a_key_is_not_looked_up(guess):
    assert Keys(None).find(PERSONAL, guess) is None


# --- the log --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "end", ["\n", "\r\n", "\r", "\x0b", "\x0c", "\x1c", "\x85", "\u2028", "\u2029", "\x00", "\x1b[2K\x1b[G"]
)
def test_a_text_is_on_one_line(end):
    said = one_line(f"a{end}autograder: b")
    assert len(said.splitlines()) == 1 and said.isprintable() and said.startswith("a")
    assert len(one_line("x" * 10**6)) == logs.MOST


def test_a_kind_is_said_once_a_minute_with_how_many_more(caplog):
    clock, log = [0.0], Log("desk")
    log.seldom.clock = lambda: clock[0]
    for number in range(100):
        log.warning("refused: %s", f"{number}\nautograder: x", kind="a")
    log.warning("refused: %s", "another", kind="b")
    log.error("%s is gone", "the disk")
    clock[0] = 61.0
    log.warning("refused: %s", "later", kind="a")
    assert [one.getMessage() for one in caplog.records] == [
        "refused: 0 autograder: x",
        "refused: another",
        "the disk is gone",
        "refused: later (and 99 more of this kind since)",
    ]


def test_a_traceback_cannot_look_like_a_message():
    said = io.StringIO()
    handler, logger = logs.Handler(), logging.getLogger("somebody")
    handler.setStream(said)
    logger.addHandler(handler)
    try:
        try:
            raise ValueError("x\nautograder: all is well\x1b[2K")
        except ValueError as error:
            logger.error("internal error", exc_info=error)
        for _ in range(5):
            logger.warning("a library's %s", "x\r\nautograder: y")
    finally:
        logger.removeHandler(handler)
    first, *others = said.getvalue().splitlines()
    assert first == "autograder: internal error" and "\x1b" not in said.getvalue()
    assert others.pop() == "autograder: a library's x autograder: y"
    assert others and all(line.startswith("    ") for line in others)
