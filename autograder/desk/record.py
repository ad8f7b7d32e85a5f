"""The record: people, what they handed in, what became of it. It is the queue, too, which several desks may share."""

from __future__ import annotations

import contextlib
import hashlib
import json
import math
import os
import secrets
import sqlite3
import time
import zlib
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import sqlalchemy as sa
from alembic import command
from alembic.config import Config
from sqlalchemy import Connection, Engine, event, func, select
from sqlalchemy.exc import ArgumentError

from ..errors import UsageError
from ..verdict import Graded, Verdict, printable
from .settings import RECEIVED
from .tables import ATTEMPT, BEST, BUCKET, CONTENT, PERSON, PREFIX, RESULT, SECRET
from .visitors import Visitor

WAITING, GRADING, DONE = STATES = ("waiting", "grading", "done")
VERSIONS = f"{PREFIX}version"  # alembic's table
FLOOD, OFTEN, IN_ALL = ("flood", "often", "in all")  # the limits that a TooMany is about
LEASE = 20.0  # seconds for which a desk has an attempt, unless it says that it is still there
DOUBTFUL = 5  # times that an attempt was begun, from which on others come first
HOPELESS = 10  # times, from which on one that was stopped stays as it is
AT_ONCE = 500  # ids in a query
LONGEST = 255  # characters of an owner: what is cut off would make two people one
BUSY = 30.0  # seconds to wait for another writer
LATELY = 3600.0  # seconds for which it is remembered how long an owner's attempts had a worker
SHORT = 1.0  # seconds of a worker that an attempt is counted with at least: short ones take turns
SLOW = 60.0  # seconds of a worker, lately, from which on an owner comes after others and rests
REST = 3.0  # times what the last attempt took: so long a slow owner rests, and has a quarter of one worker at most
ROW = 1024  # bytes that an attempt needs on disk besides what it brings, with its entries in indexes
ONE_AT_A_TIME = 0x6465736B  # the number of the lock under which PostgreSQL's clients claim and migrate


@dataclass(frozen=True, slots=True)
class Attempt:
    """An attempt of a person's. `exercise` is None for a whole hand-in; `number` counts those on the assignment.

    `owner` says whose it is, whatever the door (`owner_of`); `student` is "" for who is none. `level` is what may be
    told of it, without the exercises that are `withheld`. One that is done is to be graded `again` if a deadline or a
    kill stopped it.
    """

    id: str
    person: int
    owner: str
    student: str
    name: str
    assignment: str
    exercise: str | None
    number: int
    arrived: datetime
    sha256: str
    round: int
    seed: int
    level: str
    withheld: frozenset[str]
    state: str
    ended: datetime | None
    score: float | None
    max_score: float | None
    told: list[dict[str, Any]] | None
    again: bool


@dataclass(frozen=True)
class Bucket:
    """How often: at once up to `most`, then one every `every` seconds. The bucket is the owner's, by its `name`.

    With `size`, it holds so many times that many bytes on disk; what is begun of them is taken.
    """

    name: str
    most: int
    every: float
    size: int = 0

    def taken(self, size: int) -> int:
        """How many a hand-in takes that needs so many bytes."""
        return -(-size // self.size) if self.size else 1


BLOCK = 4096  # bytes: what file systems and databases give out
# what one person fills of the disk, with verdicts and outputs: 500 MB, then 288 MB a day
ROOM = Bucket("large", 500 * 2**20 // BLOCK, 300.0 * BLOCK / 2**20, BLOCK)


@dataclass(frozen=True)
class Rules:
    """What applies to a hand-in as it arrives.

    `level` is what may be told; `bucket` limits how often, `limit` how many answers there are for an exercise.
    `required` buckets must not be empty for anything to be received. With `or_nothing`, it is refused if nothing more
    may be told.
    """

    level: str
    bucket: Bucket | None = None
    limit: int | None = None
    required: Sequence[Bucket] = ()
    or_nothing: bool = False


class TooMany(Exception):
    """Over a limit: of a required bucket, of answers at once, of answers in all.

    `again` is in how many seconds it works again; None if time does not help.
    """

    def __init__(self, what: str, again: float | None) -> None:
        super().__init__(what)
        self.what = what
        self.again = again


class Record:
    """The record in the database at `url`, with methods that are a transaction each. Any thread may call them.

    Raises SQLAlchemy's errors if the database cannot be used.
    """

    def __init__(self, url: str) -> None:
        self.engine = _engine(url)
        self.is_sqlite = self.engine.dialect.name == "sqlite"
        self._migrate()

    def close(self) -> None:
        self.engine.dispose()

    @contextlib.contextmanager
    def reading(self) -> Iterator[Connection]:
        """A connection for queries, each of which sees what is there at that moment."""
        with self.engine.connect() as connection:
            yield connection.execution_options(isolation_level="AUTOCOMMIT")

    @contextlib.contextmanager
    def writing(self) -> Iterator[Connection]:
        """A transaction. When the body has ended without an exception, what it wrote is on disk."""
        with self.engine.begin() as connection:
            yield connection

    def _migrate(self) -> None:
        """Bring the tables to this version of the kit. Raises UsageError if they are of a newer one."""
        config = Config()
        config.set_main_option("script_location", str(Path(__file__).parent / "migrations"))
        with self.writing() as connection:
            self._alone(connection)
            config.attributes["connection"] = connection
            try:
                command.upgrade(config, "head")
            except alembic_error():
                raise UsageError("The desk's records are of a newer version of the kit: update it.") from None

    def _alone(self, connection: Connection) -> None:
        """Keep other claims and migrations off until the end of the transaction; SQLite has one writer anyway."""
        if not self.is_sqlite:
            connection.execute(select(func.pg_advisory_xact_lock(ONE_AT_A_TIME)))

    def now(self, connection: Connection) -> float:
        """The time by the clock that all desks on this database share, in seconds since 1970."""
        if self.is_sqlite:
            return time.time()
        return float(connection.execute(select(func.extract("epoch", func.clock_timestamp()))).scalar_one())

    # --- people and secrets -----------------------------------------------------------------------

    def person(self, visitor: Visitor) -> int:
        """The id of a visitor's row, which is made or brought up to date."""
        known = {"student": visitor.student, "name": printable(visitor.name)[:255], "role": visitor.role}
        mine = (PERSON.c.door == visitor.door) & (PERSON.c.subject == visitor.subject)
        with self.reading() as connection:
            row = connection.execute(select(PERSON).where(mine)).first()
            recent = row is not None and row.last_seen > self.now(connection) - 60.0
            if row is not None and recent and all(getattr(row, name) == value for name, value in known.items()):
                return row.id
        with self.writing() as connection:
            now = self.now(connection)
            self._insert_once(
                connection, PERSON, door=visitor.door, subject=visitor.subject, first_seen=now, last_seen=now, **known
            )
            connection.execute(sa.update(PERSON).where(mine).values(last_seen=now, **known))
            return connection.execute(select(PERSON.c.id).where(mine)).scalar_one()

    def secret(self, name: str, make: Callable[[], bytes] = lambda: os.urandom(32)) -> bytes:
        """A secret that is made once, and is the same for all desks on this database."""
        wanted = select(SECRET.c.value).where(SECRET.c.name == name)
        with self.reading() as connection:
            value = connection.execute(wanted).scalar()
        if value is None:
            with self.writing() as connection:
                self._insert_once(connection, SECRET, name=name, value=make())
                value = connection.execute(wanted).scalar_one()
        return bytes(value)

    def _insert_once(self, connection: Connection, table: sa.Table, **values: Any) -> None:
        """Insert a row unless there is one with its key."""
        if self.is_sqlite:
            from sqlalchemy.dialects.sqlite import insert
        else:
            from sqlalchemy.dialects.postgresql import insert
        connection.execute(insert(table).values(**values).on_conflict_do_nothing())

    # --- limits -----------------------------------------------------------------------------------

    def require(self, owner: str, buckets: Sequence[Bucket]) -> None:
        """Raises TooMany if one of an owner's buckets is empty. It takes nothing, and is asked before any work."""
        for bucket in buckets:
            left, again = self.left(owner, bucket.name, bucket.most, bucket.every)
            if not left:
                raise TooMany(FLOOD, again)

    def charge(self, owner: str, bucket: Bucket, size: int = 0) -> None:
        """Take what something has cost that is over, even where the bucket does not hold as much."""
        with self.writing() as connection:
            self.alone_with(connection, owner)
            _take(connection, owner, bucket, self.now(connection), bucket.taken(size), anyway=True)

    # --- attempts ---------------------------------------------------------------------------------

    def hand_in(
        self,
        visitor: Visitor,
        assignment: str,
        exercise: str | None,
        data: bytes,
        rules: Rules,
        exercises: Sequence[str] = (),
        seed: Callable[[int], int] = lambda round: round,
        least: int = 0,
        known: Mapping[str, int] | None = None,
    ) -> Attempt:
        """Record an attempt. When this returns, it is on disk with its content.

        `exercises` are those that it answers. `seed` gives the seed of a round. A content has the round that is `known`
        for its hash, or that of the same content before, or else the owner's next one, at `least` that. Raises TooMany.
        """
        person, owner = self.person(visitor), owner_of(visitor)
        digest, packed, id = hashlib.sha256(data).hexdigest(), zlib.compress(data, 6), secrets.token_hex(16)
        with self.writing() as connection:
            connection.execute(select(PERSON.c.id).where(PERSON.c.id == person).with_for_update())
            self.alone_with(connection, owner)
            now = self.now(connection)
            for bucket in rules.required:
                if (again := _take(connection, owner, bucket, now, bucket.taken(len(packed) + ROW))) is not None:
                    raise TooMany(FLOOD, again)
            level, withheld = self._may_be_told(connection, owner, assignment, exercise, exercises, rules, now)
            mine = (ATTEMPT.c.owner == owner) & (ATTEMPT.c.assignment == assignment)
            same = select(ATTEMPT.c.round).where(mine, ATTEMPT.c.sha256 == digest).order_by(ATTEMPT.c.number).limit(1)
            round = (known or {}).get(digest, connection.execute(same).scalar())
            if round is None:
                round = self._new_round(connection, assignment, mine, least)
            number = 1 + (connection.execute(select(func.max(ATTEMPT.c.number)).where(mine)).scalar() or 0)
            self._insert_once(connection, CONTENT, sha256=digest, size=len(data), packed=packed)
            connection.execute(
                sa.insert(ATTEMPT).values(
                    id=id,
                    person=person,
                    owner=owner,
                    assignment=assignment,
                    exercise=exercise,
                    number=number,
                    arrived=now,
                    sha256=digest,
                    round=round,
                    seed=str(seed(round)),
                    level=level,
                    withheld=json.dumps(sorted(withheld)),
                    state=WAITING,
                    tries=0,
                    again=False,
                )
            )
        made = self.attempt(id)
        assert made is not None
        return made

    def alone_with(self, connection: Connection, owner: str) -> None:
        """Keep other hand-ins of the same owner off, who may come through two doors, until the transaction ends."""
        if not self.is_sqlite:
            number = int.from_bytes(hashlib.sha256(owner.encode()).digest()[:8], "big", signed=True)
            connection.execute(select(func.pg_advisory_xact_lock(number)))

    def _may_be_told(
        self,
        connection: Connection,
        owner: str,
        assignment: str,
        exercise: str | None,
        exercises: Sequence[str],
        rules: Rules,
        now: float,
    ) -> tuple[str, set[str]]:
        """What may be told of a new attempt, and the exercises of which nothing is. Raises TooMany."""
        if rules.level == RECEIVED:
            return RECEIVED, set()
        withheld = set[str]()
        if rules.limit is not None:
            answers = self._answers(connection, owner, assignment, exercises)
            withheld = {name for name in exercises if answers[name] >= rules.limit}
            if rules.or_nothing and withheld:
                raise TooMany(IN_ALL, None)
            if exercises and len(withheld) == len(exercises):
                return RECEIVED, set()
        again = _take(connection, owner, rules.bucket, now) if rules.bucket else None
        if again is None:
            return rules.level, withheld
        if rules.or_nothing:
            raise TooMany(OFTEN, again)
        return RECEIVED, set()

    def _answers(self, connection: Connection, owner: str, assignment: str, exercises: Sequence[str]) -> Counter[str]:
        """How many answers an owner has had, by exercise."""
        rows = connection.execute(
            select(ATTEMPT.c.exercise, ATTEMPT.c.withheld).where(
                ATTEMPT.c.owner == owner, ATTEMPT.c.assignment == assignment, ATTEMPT.c.level != RECEIVED
            )
        )
        found = Counter[str]()
        for exercise, withheld in rows:
            found.update([exercise] if exercise else set(exercises) - set(json.loads(withheld)))
        return found

    def _new_round(self, connection: Connection, assignment: str, mine: Any, least: int) -> int:
        """The round for a new content: the owner's next, and beyond those whose inputs somebody was shown."""
        of_all = (ATTEMPT.c.assignment == assignment) & (ATTEMPT.c.level == "all") & (ATTEMPT.c.state == DONE)
        found = [
            connection.execute(select(func.max(ATTEMPT.c.round)).where(which)).scalar() for which in (mine, of_all)
        ]
        return max(least, *(0 if number is None else number + 1 for number in found))

    def attempt(self, id: str, owner: str | None = None) -> Attempt | None:
        """The attempt with this id, if there is one, and if it is the `owner`'s, where one is given."""
        query = _attempts().where(ATTEMPT.c.id == id)
        with self.reading() as connection:
            row = connection.execute(query if owner is None else query.where(ATTEMPT.c.owner == owner)).first()
        return _attempt(row) if row else None

    def attempts(
        self,
        owner: str | None = None,
        assignment: str | None = None,
        states: Sequence[str] = STATES,
        whole: bool = False,
        since: float = -math.inf,
        ids: Collection[str] | None = None,
    ) -> list[Attempt]:
        """Attempts in the order in which they arrived: an `owner`'s, an `assignment`'s, in these `states`.

        `whole`: without those on one exercise alone, to be counted: without what was told of them. `since`: those that
        arrived or ended after that time. `ids`: no others than these.
        """
        query = _attempts(told=not whole)
        if owner is not None:
            query = query.where(ATTEMPT.c.owner == owner)
        if assignment is not None:
            query = query.where(ATTEMPT.c.assignment == assignment)
        if tuple(states) != STATES:
            query = query.where(ATTEMPT.c.state.in_(states))
        if whole:
            query = query.where(ATTEMPT.c.exercise.is_(None))
        if since > -math.inf:  # two queries, each with its index
            times = (ATTEMPT.c.ended,) if tuple(states) == (DONE,) else (ATTEMPT.c.ended, ATTEMPT.c.arrived)
            queries = [query.where(moment > since) for moment in times]
        elif ids is not None:
            wanted = sorted(ids)
            queries = [query.where(ATTEMPT.c.id.in_(wanted[n : n + AT_ONCE])) for n in range(0, len(wanted), AT_ONCE)]
        else:
            queries = [query]
        with self.reading() as connection:
            found = {row.id: _attempt(row) for query in queries for row in connection.execute(query)}
        return sorted(found.values(), key=lambda one: (one.arrived, one.id))

    def latest(self, owner: str, assignment: str, most: int, before: int | None = None) -> list[Attempt]:
        """An owner's attempts on an assignment, the newest first, at most so many; `before`: with a lower number."""
        query = _attempts().where(ATTEMPT.c.owner == owner, ATTEMPT.c.assignment == assignment)
        if before is not None:
            query = query.where(ATTEMPT.c.number < before)
        with self.reading() as connection:
            return [_attempt(row) for row in connection.execute(query.order_by(ATTEMPT.c.number.desc()).limit(most))]

    def before(self, attempt: Attempt) -> Attempt | None:
        """The owner's last graded attempt before this one that answers the same: of a whole notebook, a whole one."""
        answers = ATTEMPT.c.exercise.is_(None)
        if attempt.exercise is not None:
            answers |= ATTEMPT.c.exercise == attempt.exercise
        query = _attempts().where(
            ATTEMPT.c.owner == attempt.owner,
            ATTEMPT.c.assignment == attempt.assignment,
            ATTEMPT.c.number < attempt.number,
            ATTEMPT.c.state == DONE,
            answers,
        )
        with self.reading() as connection:
            row = connection.execute(query.order_by(ATTEMPT.c.number.desc()).limit(1)).first()
        return _attempt(row) if row else None

    def counts(self, owner: str) -> dict[str, tuple[int, int]]:
        """(how many attempts an owner has, how many of them are not graded yet) on each assignment."""
        count = select(ATTEMPT.c.assignment, func.count()).group_by(ATTEMPT.c.assignment)
        # two queries, each with its index: there are few open attempts in all, and SQLite would go by the owner's
        is_theirs = func.coalesce(ATTEMPT.c.owner, "") == owner
        waiting = count.where(ATTEMPT.c.state.in_((WAITING, GRADING)), is_theirs)
        with self.reading() as connection:
            open_ = {row.assignment: row[1] for row in connection.execute(waiting)}
            all_of_them = connection.execute(count.where(ATTEMPT.c.owner == owner))
            return {row.assignment: (row[1], open_.get(row.assignment, 0)) for row in all_of_them}

    def best(self, owner: str) -> dict[str, dict[str, float]]:
        """The most points that an owner was told of each exercise, by assignment and exercise."""
        found: dict[str, dict[str, float]] = {}
        with self.reading() as connection:
            for row in connection.execute(select(BEST).where(BEST.c.owner == owner)):
                found.setdefault(row.assignment, {})[row.exercise] = row.score
        return found

    def hand_over(self, person: int, old: str, new: str) -> int:
        """Make the attempts that a person made as one owner those of another, who has none; returns how many."""
        theirs = (ATTEMPT.c.person == person) & (ATTEMPT.c.owner == old)
        with self.writing() as connection:
            names = connection.execute(select(ATTEMPT.c.assignment).distinct().where(theirs)).scalars().all()
            moved = connection.execute(sa.update(ATTEMPT).where(theirs).values(owner=new)).rowcount
            for owner in (old, new):
                for name in names:
                    self._count_best(connection, owner, name)
        return moved

    def _count_best(self, connection: Connection, owner: str, assignment: str) -> None:
        """Count what was best from all attempts: after one was told otherwise, or became another's."""
        mine = (BEST.c.owner == owner) & (BEST.c.assignment == assignment)
        connection.execute(sa.delete(BEST).where(mine))
        query = select(ATTEMPT.c.told).where(
            ATTEMPT.c.owner == owner, ATTEMPT.c.assignment == assignment, ATTEMPT.c.told.is_not(None)
        )
        for told in connection.execute(query).scalars().all():
            self._note_best(connection, owner, assignment, json.loads(told))

    def _note_best(
        self, connection: Connection, owner: str, assignment: str, told: Sequence[Mapping[str, Any]]
    ) -> None:
        """Keep what is told now, where it is more than before."""
        for one in told:
            if one.get("score") is None:
                continue
            key = {"owner": owner, "assignment": assignment, "exercise": one["exercise"]}
            self._insert_once(connection, BEST, **key, score=one["score"])
            lower = [BEST.c[name] == value for name, value in key.items()] + [BEST.c.score < one["score"]]
            connection.execute(sa.update(BEST).where(*lower).values(score=one["score"]))

    def pages(self, assignment: str, most: int) -> Iterator[list[Attempt]]:
        """All attempts on an assignment in the order in which they arrived, at most so many at a time."""
        query = _attempts().where(ATTEMPT.c.assignment == assignment).order_by(ATTEMPT.c.arrived, ATTEMPT.c.id)
        place, after = sa.tuple_(ATTEMPT.c.arrived, ATTEMPT.c.id), None
        while True:
            some = query.limit(most) if after is None else query.where(place > after).limit(most)
            with self.reading() as connection:
                rows = list(connection.execute(some))
            yield [_attempt(row) for row in rows]
            if len(rows) < most:
                return
            after = sa.tuple_(rows[-1].arrived, rows[-1].id)

    def verdict(self, id: str) -> Verdict | None:
        """The whole verdict on an attempt, whatever may be told of it; None if it is not graded yet."""
        with self.reading() as connection:
            text = connection.execute(select(ATTEMPT.c.verdict).where(ATTEMPT.c.id == id)).scalar()
        return Verdict.from_dict(json.loads(text)) if text else None

    def content(self, sha256: str) -> bytes:
        """What was handed in, by its hash. Raises KeyError."""
        with self.reading() as connection:
            row = connection.execute(select(CONTENT.c.packed).where(CONTENT.c.sha256 == sha256)).first()
        if row is None:
            raise KeyError(sha256)
        return zlib.decompress(row.packed)

    def graded(self, id: str) -> Graded | None:
        """The Graded of an attempt, as grading/store.py keeps it; None if there is none."""
        from ..grading.store import graded_from

        kept = self._result(id)
        return graded_from(kept, stopped=bool(kept.get("stopped")), whole=False)

    def course_version(self, id: str) -> str:
        """`store.course_version()` as it was when an attempt was graded: with another, it may come out otherwise."""
        return str(self._result(id).get("course", ""))

    def _result(self, id: str) -> dict[str, Any]:
        with self.reading() as connection:
            row = connection.execute(select(RESULT.c.packed).where(RESULT.c.attempt == id)).first()
        return json.loads(zlib.decompress(row.packed)) if row else {}

    def ahead(self, attempt: Attempt) -> int:
        """How many attempts of others are graded or waiting that arrived before this one."""
        query = select(func.count()).where(
            ATTEMPT.c.state.in_((WAITING, GRADING)),
            ATTEMPT.c.arrived < attempt.arrived.timestamp(),
            ATTEMPT.c.id != attempt.id,
        )
        with self.reading() as connection:
            return connection.execute(query).scalar_one()

    def left(self, owner: str, name: str, most: int, every: float) -> tuple[int, float | None]:
        """(how many an owner's bucket still holds, in how many seconds there is one again if it is empty)."""
        where = (BUCKET.c.owner == owner) & (BUCKET.c.name == name)
        with self.reading() as connection:
            full = connection.execute(select(BUCKET.c.full).where(where)).scalar() or 0.0
            used = max(0.0, full - self.now(connection))
        left = most if not every else int((most * every - used + 1e-6) // every)
        return max(0, left), None if left > 0 else used + every - most * every

    # --- the queue --------------------------------------------------------------------------------

    def claim(self, worker: str, without: Collection[str] = (), rests: bool = False) -> Attempt | None:
        """Give a desk, which calls itself `worker`, the attempt whose turn it is; None if none can be graded now.

        Attempts on assignments in `without` keep waiting.

        An owner has one attempt in grading at a time. First come those who had a worker for the shortest time since the
        attempt that waits longest has arrived; after them, who had one for SLOW seconds lately, or was stopped. With
        `rests`, these also wait for a while after each attempt, if others hand in, too: who comes then finds a worker.
        What a desk holds for longer than its lease goes back first. What was begun DOUBTFUL times comes after all else:
        it may be what ends desks.
        """
        with self.reading() as connection:
            is_left = (ATTEMPT.c.state == GRADING) & (ATTEMPT.c.lease < self.now(connection))
            open_ = select(ATTEMPT.c.id).where((ATTEMPT.c.state == WAITING) | is_left).limit(1)
            if connection.execute(open_).first() is None:
                return None
        with self.writing() as connection:
            self._alone(connection)
            now = self.now(connection)
            gone = (ATTEMPT.c.state == GRADING) & (ATTEMPT.c.lease < now)
            _let_wait(connection, gone, now)
            first = connection.execute(select(func.min(ATTEMPT.c.arrived)).where(ATTEMPT.c.state == WAITING)).scalar()
            if first is None:
                return None
            other = ATTEMPT.alias()
            busy = select(other.c.id).where(other.c.owner == ATTEMPT.c.owner, other.c.state == GRADING).exists()
            had = _had(now, first, select(other.c.owner).where(other.c.state == WAITING))
            waiting = (
                select(ATTEMPT.c.id)
                .outerjoin(had, had.c.owner == ATTEMPT.c.owner)
                .where(ATTEMPT.c.state == WAITING, ~busy, ATTEMPT.c.assignment.not_in(list(without)))
            )
            if rests:
                waiting = waiting.where(ATTEMPT.c.owner.not_in(list(self._resting(connection, now))))
            is_doubtful = sa.case((ATTEMPT.c.tries >= DOUBTFUL, 1), else_=0)
            is_slow = func.coalesce(had.c.is_slow, 0)
            order = is_doubtful, is_slow, func.coalesce(had.c.served, 0.0), ATTEMPT.c.arrived, ATTEMPT.c.id
            id = connection.execute(waiting.order_by(*order).limit(1)).scalar()
            if id is None:
                return None
            return self._given(connection, id, worker, now, state=GRADING)

    def claim_again(self, worker: str, without: Collection[str] = ()) -> Attempt | None:
        """Give a desk an attempt that is to be graded `again`, if no desk on this database has anything else to do.

        It stays done, as it is, until `finish`. An owner who rests does so here, too.
        """
        free = ATTEMPT.c.again & ATTEMPT.c.assignment.not_in(list(without))
        stopped = select(ATTEMPT.c.id).where(free).order_by(ATTEMPT.c.arrived).limit(1)
        with self.reading() as connection:
            if connection.execute(stopped).first() is None:
                return None
            resting = list(self._resting(connection, self.now(connection)))
            stopped = stopped.where(ATTEMPT.c.owner.not_in(resting))
            is_open = ATTEMPT.c.state == GRADING  # who rests does not keep another's from being graded
            is_open |= (ATTEMPT.c.state == WAITING) & ATTEMPT.c.owner.not_in(resting)
            others = select(ATTEMPT.c.id).where(is_open).limit(1)
            if connection.execute(stopped).first() is None or connection.execute(others).first() is not None:
                return None
        with self.writing() as connection:
            self._alone(connection)
            now = self.now(connection)
            at_work = select(ATTEMPT.c.id).where(ATTEMPT.c.again, ATTEMPT.c.lease >= now).limit(1)
            if any(connection.execute(query).first() is not None for query in (others, at_work)):
                return None
            hopeless = sa.update(ATTEMPT).where(ATTEMPT.c.again, ATTEMPT.c.tries >= HOPELESS)
            connection.execute(hopeless.values(again=False, ended=now))
            id = connection.execute(stopped).scalar()
            return None if id is None else self._given(connection, id, worker, now)

    def _given(self, connection: Connection, id: str, worker: str, now: float, **values: Any) -> Attempt:
        """An attempt that a desk has from now on."""
        values |= {"worker": worker, "lease": now + LEASE, "begun": now, "tries": ATTEMPT.c.tries + 1}
        connection.execute(sa.update(ATTEMPT).where(ATTEMPT.c.id == id).values(**values))
        return _attempt(connection.execute(_attempts().where(ATTEMPT.c.id == id)).one())

    def _resting(self, connection: Connection, now: float) -> dict[str, float]:
        """The owners who rest, with the time until when: those who were slow lately, if others have come, too."""
        lately = ATTEMPT.c.ended > now - LATELY
        slow = select(ATTEMPT.c.owner).where(lately).group_by(ATTEMPT.c.owner).having(func.sum(_cost()) >= SLOW)
        found = dict[str, float]()
        for owner in connection.execute(slow).scalars().all():
            comes = (lately, ATTEMPT.c.state.in_((WAITING, GRADING)))  # two queries, each with its index
            others = [select(ATTEMPT.c.id).where(ATTEMPT.c.owner != owner, which).limit(1) for which in comes]
            if all(connection.execute(query).first() is None for query in others):
                continue
            last = select(ATTEMPT.c.ended, ATTEMPT.c.spent).where(
                ATTEMPT.c.owner == owner, ATTEMPT.c.ended.is_not(None)
            )
            row = connection.execute(last.order_by(ATTEMPT.c.ended.desc()).limit(1)).one()
            if (until := row.ended + REST * (row.spent or 0.0)) > now:
                found[owner] = until
        return found

    def rests_until(self, owner: str) -> datetime | None:
        """Until when an owner rests, whose attempts had a worker for long; None if it is not so."""
        with self.reading() as connection:
            until = self._resting(connection, self.now(connection)).get(owner)
        return None if until is None else _moment(until)

    def renew(self, worker: str, ids: Collection[str]) -> None:
        """Say that a desk is still there, so that it keeps those of its attempts that it does grade.

        What it claimed and could not give back, since the database was gone at that moment, is not among `ids`: that
        lapses, and is graded by whoever comes next.
        """
        mine = _held_by(worker) & ATTEMPT.c.id.in_(list(ids))
        with self.writing() as connection:
            connection.execute(sa.update(ATTEMPT).where(mine).values(lease=self.now(connection) + LEASE))

    def unclaim(self, id: str, worker: str) -> None:
        """Let an attempt wait again that a desk has claimed and cannot grade."""
        with self.writing() as connection:
            _let_wait(connection, (ATTEMPT.c.id == id) & _held_by(worker), self.now(connection))

    def give_back(self, worker: str) -> None:
        """Let others grade what a desk has begun, which ends."""
        with self.writing() as connection:
            _let_wait(connection, _held_by(worker), self.now(connection))

    def finish(
        self, id: str, worker: str, graded: Graded, told: Sequence[Mapping[str, Any]], again: bool = False
    ) -> bool:
        """Record what became of an attempt; returns False, and records nothing, if the desk no longer has it.

        `again`: it is to be graded once more, since a deadline or a kill has stopped it.
        The Graded, with all outputs, is kept as long as its owner has ROOM: whoever needs it later grades once more.
        """
        from ..grading.store import as_data, course_version

        verdict, text, said = graded.verdict, graded.verdict.to_json(), json.dumps(told)
        kept = {**as_data(graded), "stopped": graded.stopped, "course": course_version()}
        packed = zlib.compress(json.dumps(kept).encode(), 6)
        with self.writing() as connection:
            now = self.now(connection)
            has_it = (ATTEMPT.c.id == id) & _held_by(worker)
            row = connection.execute(
                select(ATTEMPT.c.owner, ATTEMPT.c.assignment, ATTEMPT.c.told).where(has_it)
            ).first()
            values = {"score": verdict.score, "max_score": verdict.max_score, "verdict": text, "told": said}
            values |= {"state": DONE, "lease": None, "ended": now, "again": again, "spent": _spent(now), "begun": None}
            if row is None or not connection.execute(sa.update(ATTEMPT).where(has_it).values(**values)).rowcount:
                return False
            if row.told is None:
                self._note_best(connection, row.owner, row.assignment, told)
            else:
                self._count_best(connection, row.owner, row.assignment)
            self.alone_with(connection, row.owner)
            size = len(text.encode()) + len(said.encode())
            _take(connection, row.owner, ROOM, now, ROOM.taken(size), anyway=True)
            connection.execute(sa.delete(RESULT).where(RESULT.c.attempt == id))
            if _take(connection, row.owner, ROOM, now, ROOM.taken(len(packed))) is None:
                connection.execute(sa.insert(RESULT).values(attempt=id, packed=packed))
            return True

    def seeds(self, assignment: str) -> list[int]:
        """The seeds of all inputs on which attempts on an assignment are graded."""
        with self.reading() as connection:
            drawn = connection.execute(select(ATTEMPT.c.seed).distinct().where(ATTEMPT.c.assignment == assignment))
            return [int(seed) for (seed,) in drawn]

    def waiting(self) -> int:
        """How many attempts wait."""
        with self.reading() as connection:
            return connection.execute(select(func.count()).where(ATTEMPT.c.state == WAITING)).scalar_one()


def of_student(student: str) -> str:
    """The owner of a student's attempts."""
    return f"student:{student}"


def owner_of(visitor: Visitor) -> str:
    """Whose attempts a visitor's are: the student's, by whatever door, or else this door's person's."""
    if visitor.student:
        return of_student(visitor.student)
    owner = f"{visitor.door}:{visitor.subject}"
    if len(owner) <= LONGEST:
        return owner
    hashed = hashlib.sha256(visitor.subject.encode("utf-8", "surrogatepass")).hexdigest()
    return f"{visitor.door} sha256:{hashed}"  # with a blank, unlike any that is short enough


def _held_by(worker: str) -> sa.ColumnElement[bool]:
    """Which attempts a desk is grading, for the first time or once more."""
    return (ATTEMPT.c.worker == worker) & ATTEMPT.c.lease.is_not(None)


def _let_wait(connection: Connection, which: sa.ColumnElement[bool], now: float) -> None:
    state = sa.case((ATTEMPT.c.again, DONE), else_=WAITING)
    until = sa.case((ATTEMPT.c.lease < now, ATTEMPT.c.lease), else_=now)  # a desk that was killed does not say when
    values = {"state": state, "worker": None, "lease": None, "spent": _spent(until), "begun": None}
    connection.execute(sa.update(ATTEMPT).where(which).values(**values))


def _spent(until: Any) -> sa.ColumnElement[float]:
    """For how long an attempt has had a worker by then, all times together."""
    return func.coalesce(ATTEMPT.c.spent, 0.0) + func.coalesce(until - ATTEMPT.c.begun, 0.0)


def _cost() -> sa.ColumnElement[float]:
    """The seconds of a worker that an attempt is counted with."""
    return sa.case((ATTEMPT.c.spent > SHORT, ATTEMPT.c.spent), else_=SHORT)


def _had(now: float, first: float, owners: sa.Select[Any]) -> sa.Subquery:
    """What owners had of the workers: `served` seconds since `first`; `is_slow` says whether it was much lately."""
    cost, since = _cost(), min(first, now - LATELY)
    served = func.sum(sa.case((ATTEMPT.c.ended >= first, cost), else_=0.0))
    lately = func.sum(sa.case((ATTEMPT.c.ended > now - LATELY, cost), else_=0.0))
    stopped = func.max(sa.case((ATTEMPT.c.again & (ATTEMPT.c.ended > now - LATELY), 1), else_=0))
    is_slow = sa.case((sa.or_(lately >= SLOW, stopped == 1), 1), else_=0)
    query = select(ATTEMPT.c.owner, served.label("served"), is_slow.label("is_slow"))
    return query.where(ATTEMPT.c.ended >= since, ATTEMPT.c.owner.in_(owners)).group_by(ATTEMPT.c.owner).subquery()


def alembic_error() -> type[Exception]:
    from alembic.util import CommandError

    return CommandError


def _take(
    connection: Connection, owner: str, bucket: Bucket, now: float, many: int = 1, anyway: bool = False
) -> float | None:
    """Take so many from an owner's bucket; returns None, or in how many seconds there are as many again.

    `anyway`: it has happened, so it is taken even where there are not as many.
    """
    where = (BUCKET.c.owner == owner) & (BUCKET.c.name == bucket.name)
    full = connection.execute(select(BUCKET.c.full).where(where)).scalar()
    then = max(full or 0.0, now) + many * bucket.every
    if (over := then - now - bucket.most * bucket.every) > 1e-6 and not anyway:
        return over
    if full is None:
        connection.execute(sa.insert(BUCKET).values(owner=owner, name=bucket.name, full=then))
    else:
        connection.execute(sa.update(BUCKET).where(where).values(full=then))
    return None


OF_THE_QUEUE = {one.name for one in (ATTEMPT.c.verdict, ATTEMPT.c.worker, ATTEMPT.c.lease, ATTEMPT.c.tries)}
OF_THE_QUEUE |= {ATTEMPT.c.begun.name, ATTEMPT.c.spent.name}


def _attempts(told: bool = True) -> sa.Select[Any]:
    """What an Attempt is made of; `told`: with what was told, which is most of it."""
    columns = [column for column in ATTEMPT.c if column.name not in {*OF_THE_QUEUE, ATTEMPT.c.told.name}]
    said = ATTEMPT.c.told if told else sa.null().label(ATTEMPT.c.told.name)
    return select(*columns, said, PERSON.c.student, PERSON.c.name).join(PERSON, PERSON.c.id == ATTEMPT.c.person)


def _attempt(row: Any) -> Attempt:
    values = dict(row._mapping)
    return Attempt(
        **{
            **values,
            "arrived": _moment(row.arrived),
            "ended": _moment(row.ended) if row.ended is not None else None,
            "seed": int(row.seed),
            "withheld": frozenset(json.loads(row.withheld)),
            "told": json.loads(row.told) if row.told else None,
        }
    )


def _moment(seconds: float) -> datetime:
    return datetime.fromtimestamp(seconds, UTC)


def is_there(url: str) -> bool:
    """Whether a desk was opened with the database at `url`; nothing is made. Raises UsageError, or SQLAlchemy's."""
    engine = _engine(url, makes_file=False)
    try:
        file = engine.url.database or ""
        there = engine.dialect.name != "sqlite" or Path(file).is_file() and Path(file).stat().st_size > 0
        return there and sa.inspect(engine).has_table(ATTEMPT.name)
    finally:
        engine.dispose()


def _engine(url: str, makes_file: bool = True) -> Engine:
    try:
        kind = sa.make_url(url).get_backend_name()
    except ArgumentError:
        raise UsageError("--database takes an URL, such as postgresql+psycopg://name@host/database.") from None
    if kind not in ("sqlite", "postgresql"):
        raise UsageError(f"--database: the desk keeps its records in SQLite or PostgreSQL, not in {kind}.")
    engine = sa.create_engine(url, pool_pre_ping=True, **({"pool_size": 10} if kind == "postgresql" else {}))
    if kind == "sqlite":
        if makes_file:
            _make_private(engine.url.database or "")
        event.listen(engine, "connect", _prepare_sqlite)
        event.listen(engine, "begin", lambda connection: connection.exec_driver_sql("BEGIN IMMEDIATE"))
    return engine


def _make_private(file: str) -> None:
    """Make SQLite's file, if it is not there, readable for nobody else: it has what students wrote, and the secrets."""
    if file not in ("", ":memory:") and not Path(file).exists():
        with contextlib.suppress(FileExistsError):
            os.close(os.open(file, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))


def _prepare_sqlite(connection: Any, record: object) -> None:
    connection.isolation_level = None  # the transactions are SQLAlchemy's, see `_engine`
    for setting in (f"busy_timeout={BUSY * 1000:.0f}", "synchronous=FULL", "foreign_keys=ON"):
        connection.execute(f"PRAGMA {setting}").close()
    end = time.monotonic() + BUSY
    while True:
        try:
            connection.execute("PRAGMA journal_mode=WAL").close()
            return
        except sqlite3.OperationalError:  # another begins on this file: SQLite waits for no lock to change the mode
            if time.monotonic() > end:
                raise
            time.sleep(0.01)
