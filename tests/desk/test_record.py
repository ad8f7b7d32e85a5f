"""The record, in SQLite and in PostgreSQL: receipts, numbers, rounds, limits, turns, leases, and what is on disk."""

import os
import threading
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor

import pytest
import sqlalchemy as sa
from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext

from autograder.desk import record as records
from autograder.desk.record import DONE, FLOOD, GRADING, IN_ALL, OFTEN, WAITING, Bucket, Record, Rules, TooMany
from autograder.desk.tables import ATTEMPT, METADATA
from autograder.desk.visitors import INSTRUCTOR, STUDENT, Visitor
from autograder.errors import UsageError
from autograder.verdict import Graded, Outcome, Verdict

ADA, BELA, CARL = (Visitor("links", name, name, name.title(), STUDENT) for name in ("ada", "bela", "carl"))
NAMES = Rules("names")


@pytest.fixture(params=["sqlite", "postgresql"])
def url(request, tmp_path):
    if request.param == "sqlite":
        return f"sqlite:///{tmp_path}/desk.db"
    return request.getfixturevalue("server").create(tmp_path.name)


@pytest.fixture
def record(url):
    made = Record(url)
    yield made
    made.close()


def graded(attempt, score=1.0):
    return Graded(Verdict("", [Outcome("attention", score, 2.0, "graded")], attempt.seed, attempt.assignment))


def test_an_attempt_is_there_with_its_content_for_another_desk(record, url):
    made = record.hand_in(ADA, "02", None, b"a notebook" * 100, NAMES, seed=lambda round: 1000 + round)
    other = Record(url)
    assert other.attempt(made.id) == made
    assert other.content(made.sha256) == b"a notebook" * 100
    assert (made.number, made.state, made.seed, made.owner) == (1, WAITING, 1000, "student:ada")
    assert other.attempt(made.id, "student:bela") is None, "an id alone opens nothing"
    with pytest.raises(KeyError):
        other.content("0" * 64)
    other.close()


def test_sqlite_waits_for_the_disk(tmp_path):
    record = Record(f"sqlite:///{tmp_path}/desk.db")
    with record.reading() as connection:
        assert connection.exec_driver_sql("PRAGMA journal_mode").scalar() == "wal"
        assert connection.exec_driver_sql("PRAGMA synchronous").scalar() == 2, "FULL"
        assert connection.exec_driver_sql("PRAGMA foreign_keys").scalar() == 1


def test_the_migrations_make_the_tables(record):
    with record.engine.connect() as connection:
        ours = {"include_name": lambda name, kind, parents: kind != "table" or name in METADATA.tables}
        assert compare_metadata(MigrationContext.configure(connection, opts=ours), METADATA) == []


def test_a_record_of_a_newer_kit_is_refused(record, url):
    with record.writing() as connection:
        connection.exec_driver_sql(f"UPDATE {records.VERSIONS} SET version_num = '9999'")
    with pytest.raises(UsageError, match="newer version"):
        Record(url)


def test_many_start_at_once_on_an_empty_database(url):
    with ThreadPoolExecutor(4) as pool:
        for made in pool.map(lambda _: Record(url), range(4)):
            assert made.waiting() == 0
            made.close()


def test_a_database_of_another_kind_is_refused():
    for wrong in ("mysql://x/y", "nonsense", "oracle://x"):
        with pytest.raises(UsageError, match="--database"):
            Record(wrong)


def test_numbers_have_no_gap_and_none_twice_when_all_come_at_once(record):
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda n: record.hand_in((ADA, BELA)[n % 2], "02", None, b"%d" % n, NAMES), range(40)))
    for owner in ("student:ada", "student:bela"):
        assert sorted(one.number for one in record.attempts(owner)) == list(range(1, 21))
        assert sorted(one.round for one in record.attempts(owner)) == list(range(20)), "each content its own inputs"


def test_a_student_is_the_same_through_each_door(record):
    record.hand_in(ADA, "02", None, b"1", NAMES)
    at_hub = Visitor("hub", "lovelace", "ada", "Ada L.", STUDENT)
    assert record.hand_in(at_hub, "02", None, b"2", NAMES).number == 2
    assert len(record.attempts("student:ada")) == 2
    teacher = Visitor("hub", "ada", "", "", INSTRUCTOR)
    assert record.hand_in(teacher, "02", None, b"3", NAMES).owner == "hub:ada"


def test_the_same_content_has_the_same_inputs_and_another_one_new_ones(record):
    rounds = [record.hand_in(ADA, "02", None, content, NAMES).round for content in (b"a", b"b", b"a", b"c")]
    assert rounds == [0, 1, 0, 2]
    assert record.hand_in(BELA, "02", None, b"a", NAMES).round == 0
    assert record.hand_in(ADA, "03", None, b"x", NAMES, least=5).round == 5, "what others have seen is left out"
    known = {record.hand_in(CARL, "03", None, b"y", NAMES).sha256: 7}
    assert record.hand_in(CARL, "03", None, b"y", NAMES, known=known).round == 7


def test_where_all_is_told_nobody_gets_inputs_that_were_shown(record):
    first = record.hand_in(ADA, "02", None, b"a", Rules("all"))
    assert record.hand_in(BELA, "02", None, b"b", Rules("all")).round == 0, "nothing was shown yet"
    finish(record, first.id)
    assert record.hand_in(CARL, "02", None, b"c", Rules("all")).round == 1


def finish(record, id, worker="desk", told=()):
    while (claimed := record.claim(worker)) is not None and claimed.id != id:
        pass
    assert record.finish(id, worker, graded(record.attempt(id)), list(told))


# --- limits -----------------------------------------------------------------------------------------


def test_a_bucket_gives_some_at_once_and_then_one_after_another(record, monkeypatch):
    clock = [1000.0]
    monkeypatch.setattr(Record, "now", lambda self, connection: clock[0])
    rules = Rules("names", Bucket("02", 3, 60.0))
    levels = [record.hand_in(ADA, "02", None, b"%d" % n, rules).level for n in range(5)]
    assert levels == ["names"] * 3 + ["received"] * 2, "to hand in always works"
    assert record.left("student:ada", "02", 3, 60.0) == (0, 60.0)
    clock[0] += 59
    with pytest.raises(TooMany) as over:
        record.hand_in(ADA, "02", "attention", b"x", Rules("names", Bucket("02", 3, 60.0), or_nothing=True))
    assert over.value.what == OFTEN and over.value.again == pytest.approx(1.0)
    clock[0] += 1
    assert record.left("student:ada", "02", 3, 60.0) == (1, None)
    assert record.hand_in(ADA, "02", None, b"y", rules).level == "names"
    assert record.hand_in(BELA, "02", None, b"y", rules).level == "names", "another has a bucket of their own"
    assert record.hand_in(ADA, "03", None, b"y", Rules("names", Bucket("03", 3, 60.0))).level == "names"
    clock[0] += 1e6
    assert record.left("student:ada", "02", 3, 60.0) == (3, None), "it never holds more"


def test_what_was_refused_is_not_there(record):
    with pytest.raises(TooMany):
        for n in range(3):
            record.hand_in(ADA, "02", "attention", b"%d" % n, Rules("names", Bucket("02", 2, 60.0), or_nothing=True))
    assert len(record.attempts("student:ada")) == 2


def test_a_limit_counts_the_answers_on_an_exercise(record):
    def ask(exercise):
        return record.hand_in(ADA, "02", exercise, b"x", Rules("names", limit=2, or_nothing=True), [exercise])

    def hand_in():
        return record.hand_in(ADA, "02", None, b"x", Rules("names", limit=2), ["softmax", "attention"])

    ask("attention")
    assert hand_in().withheld == set()
    assert hand_in().withheld == {"attention"}, "it had two answers"
    with pytest.raises(TooMany) as over:
        ask("softmax")
    assert over.value.what == IN_ALL and over.value.again is None
    assert hand_in().level == "received"


def test_a_flood_is_refused_whatever_is_told(record):
    rules = Rules("received", required=(Bucket("all", 2, 10.0),))
    record.hand_in(ADA, "02", None, b"1", rules)
    record.hand_in(ADA, "03", None, b"2", rules)
    with pytest.raises(TooMany) as over:
        record.hand_in(ADA, "02", None, b"3", rules)
    assert over.value.what == FLOOD and 0 < over.value.again <= 10.0


# --- the queue --------------------------------------------------------------------------------------


def served(record, worker="desk"):
    """Grade all that waits, one at a time; returns whose attempts came, in order."""
    order = []
    while (attempt := record.claim(worker)) is not None:
        order.append(f"{attempt.student}{attempt.number}")
        record.finish(attempt.id, worker, graded(attempt), [])
    return order


def test_a_second_hand_in_waits_behind_everybodys_first(record):
    for visitor in (ADA, ADA, ADA, BELA, CARL, BELA):
        record.hand_in(visitor, "02", None, b"x", NAMES)
    assert served(record) == ["ada1", "bela1", "carl1", "ada2", "bela2", "ada3"]


def test_who_comes_while_ones_first_is_graded_comes_before_ones_second(record):
    first = record.hand_in(ADA, "02", None, b"x", NAMES)
    assert record.claim("desk").id == first.id
    record.hand_in(ADA, "02", None, b"y", NAMES)
    assert record.claim("desk") is None, "one at a time of each"
    record.hand_in(BELA, "02", None, b"z", NAMES)
    record.finish(first.id, "desk", graded(first), [])
    assert served(record) == ["bela1", "ada2"]


def test_many_claim_at_once_and_none_gets_anothers(record):
    for number in range(12):
        record.hand_in(Visitor("links", f"s{number}", f"s{number}", "", STUDENT), "02", None, b"x", NAMES)
    with ThreadPoolExecutor(6) as pool:
        got = [attempt.id for attempt in pool.map(lambda n: record.claim(f"desk{n}"), range(12))]
    assert len(set(got)) == 12


def test_what_a_killed_desk_had_is_graded_by_another_and_recorded_once(record, monkeypatch):
    monkeypatch.setattr(records, "LEASE", 0.2)
    attempt = record.hand_in(ADA, "02", None, b"x", NAMES)
    assert record.claim("killed").id == attempt.id
    assert record.claim("other") is None, "not before its lease has ended"
    record.renew("killed", [attempt.id])
    time.sleep(0.25)
    assert record.claim("other").id == attempt.id
    assert record.finish(attempt.id, "killed", graded(attempt, 2.0), []) is False, "it was too late"
    assert record.finish(attempt.id, "other", graded(attempt, 1.0), [{"exercise": "attention"}])
    assert record.finish(attempt.id, "other", graded(attempt, 2.0), []) is False, "nothing is recorded twice"
    done = record.attempt(attempt.id)
    assert (done.state, done.score, done.told) == (DONE, 1.0, [{"exercise": "attention"}])
    assert record.verdict(attempt.id).score == 1.0 and record.graded(attempt.id).verdict.seed == attempt.seed
    assert done.arrived == attempt.arrived, "the time of arrival stays"


def test_what_was_begun_again_and_again_lets_others_pass(record):
    poison, other = (record.hand_in(who, "02", None, b"x", NAMES) for who in (ADA, BELA))
    for _ in range(records.DOUBTFUL):
        assert record.claim("desk").id == poison.id
        record.unclaim(poison.id, "desk")
    assert [record.claim("desk").id for _ in range(2)] == [other.id, poison.id]


def test_nobody_else_reads_sqlites_file(tmp_path):
    before = os.umask(0o022)
    try:
        record = Record(f"sqlite:///{tmp_path}/desk.db")
        record.hand_in(ADA, "02", None, b"x", NAMES)
    finally:
        os.umask(before)
    assert {path.name: oct(path.stat().st_mode & 0o777) for path in tmp_path.glob("desk.db*")} == dict.fromkeys(
        ("desk.db", "desk.db-wal", "desk.db-shm"), "0o600"
    )


def test_what_an_assignment_that_cannot_be_graded_has_keeps_waiting(record):
    for name in ("02", "03"):
        record.hand_in(ADA, name, None, b"x", NAMES)
    assert record.claim("desk", without=["02"]).assignment == "03"
    record.give_back("desk")
    assert record.attempts(states=(GRADING,)) == [] and record.waiting() == 2


def test_how_many_are_ahead(record):
    first, second = (record.hand_in(who, "02", None, b"x", NAMES) for who in (ADA, BELA))
    assert (record.ahead(first), record.ahead(second)) == (0, 1)
    finish(record, first.id)
    assert record.ahead(second) == 0


def test_a_secret_is_the_same_for_all(record, url):
    with ThreadPoolExecutor(4) as pool:
        assert len(set(pool.map(lambda _: record.secret("sessions"), range(8)))) == 1
    other = Record(url)
    assert other.secret("sessions") == record.secret("sessions") != other.secret("other")
    other.close()


def test_two_desks_take_and_grade_at_the_same_time(url):
    """Nothing is lost, numbers are right, and each attempt is graded once."""
    desks = [Record(url), Record(url)]
    finished, ending = Counter(), threading.Event()

    def grade(record, name):
        while not ending.is_set():
            if (attempt := record.claim(name)) is not None:
                finished[attempt.id] += record.finish(attempt.id, name, graded(attempt), [])

    graders = [threading.Thread(target=grade, args=(desk, f"desk{n}")) for n, desk in enumerate(desks)]
    for thread in graders:
        thread.start()
    people = [Visitor("links", f"s{n}", f"s{n}", "", STUDENT) for n in range(10)]
    with ThreadPoolExecutor(4) as pool:
        made = list(
            pool.map(lambda n: desks[n % 2].hand_in(people[n % 10], "02", None, b"%d" % n, NAMES).id, range(40))
        )
    until = time.monotonic() + 60
    while desks[0].attempts(states=(WAITING, GRADING)) and time.monotonic() < until:
        time.sleep(0.05)
    ending.set()
    for thread in graders:
        thread.join()
    assert finished == Counter(made), "each once"
    for desk in desks:
        desk.close()


def test_a_database_that_is_gone_raises_its_own_error_and_loses_nothing(server, tmp_path):
    record = Record(server.create(tmp_path.name))
    kept = record.hand_in(ADA, "02", None, b"x", NAMES)
    with server.stopped(), pytest.raises(sa.exc.SQLAlchemyError):
        record.hand_in(ADA, "02", None, b"y", NAMES)
    assert [one.id for one in record.attempts("student:ada")] == [kept.id]
    assert record.hand_in(ADA, "02", None, b"y", NAMES).number == 2
    record.close()


def test_a_full_disk_leaves_no_half_of_an_attempt(tmp_path):
    record = Record(f"sqlite:///{tmp_path}/desk.db")
    kept = record.hand_in(ADA, "02", None, b"x", NAMES)

    @sa.event.listens_for(record.engine, "before_cursor_execute")
    def fill(connection, cursor, statement, parameters, context, many):
        if statement.startswith("INSERT INTO desk_content"):
            cursor.execute("PRAGMA max_page_count=1")  # SQLite says then what it says of a full disk

    with pytest.raises(sa.exc.OperationalError, match="full"):
        record.hand_in(BELA, "02", None, os.urandom(200_000), NAMES)
    sa.event.remove(record.engine, "before_cursor_execute", fill)
    with record.reading() as connection:
        assert connection.execute(sa.select(sa.func.count()).select_from(ATTEMPT)).scalar() == 1
        assert connection.exec_driver_sql("SELECT count(*) FROM desk_content").scalar() == 1
    assert record.content(kept.sha256) == b"x"
