"""What a platform does for the desk by LTI 1.3: it says who is in the course, and takes points back.

A delivery is a row of the record: it is noted when the attempt that counts has other points than the one before, and
tried until the platform takes it or a newer one replaces it. Where the assignment does not count for the student any
more, it withdraws the points: in the standard, a score without `scoreGiven` clears the one that is there.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import sqlalchemy as sa
from sqlalchemy import func, select

from ...intake.tables import Table
from ...verdict import printable
from ..deliveries import TRIES
from ..logs import Log, one_line
from ..record import Attempt, Record, of_student
from ..tables import DELIVERY, LTI, PERSON
from ..visitors import Refused, Visitor
from .http import Down
from .lti_calls import Calls, Endless, NotDone
from .lti_keys import OwnKey
from .lti_settings import MEMBERSHIP, SOURCEDID, SUB, Platform

AGS = "https://purl.imsglobal.org/spec/lti-ags/claim/endpoint"
NRPS = "https://purl.imsglobal.org/spec/lti-nrps/claim/namesroleservice"
MEMBERS = "https://purl.imsglobal.org/spec/lti-nrps/scope/contextmembership.readonly"
SCORE = "https://purl.imsglobal.org/spec/lti-ags/scope/score"
COLUMN = "https://purl.imsglobal.org/spec/lti-ags/scope/lineitem"  # to see the columns, and to make one
COLUMN_SEEN = f"{COLUMN}.readonly"
OF_MEMBERS = "application/vnd.ims.lti-nrps.v2.membershipcontainer+json"
OF_COLUMNS = "application/vnd.ims.lis.v2.lineitemcontainer+json"
OF_COLUMN = "application/vnd.ims.lis.v2.lineitem+json"
OF_SCORE = "application/vnd.ims.lis.v1.score+json"
LEARNER = f"{MEMBERSHIP}#Learner"
COLUMNS = ("id", "first_name", "last_name", "email", "lms_user_id")
SENDING = 120.0  # seconds for which a delivery on its way is not sent again
WAITS = (30.0, 120.0, 600.0, 3600.0, 6 * 3600.0)  # seconds between tries; the last one from then on


@dataclass(frozen=True)
class Counted:
    """The attempt of a student that counts now. `is_all`: nothing in it waits for a person to grade it."""

    attempt: Attempt
    points: float
    max_points: float
    is_all: bool


@dataclass(frozen=True)
class Member:
    """Somebody in the platform's course; what it does not say is empty."""

    sub: str
    given_name: str
    family_name: str
    email: str
    sourcedid: str
    is_learner: bool

    @property
    def name(self) -> str:
        return f"{self.given_name} {self.family_name}".strip()


class Services:
    """What platforms offered to the people who came from them."""

    def __init__(self, record: Record) -> None:
        self.record = record

    def note(self, visitor: Visitor, claims: Mapping[str, Any]) -> None:
        """Keep what a launch says of the services for this person."""
        ags, nrps = claims.get(AGS), claims.get(NRPS)
        said = {
            "sub": claims["sub"],
            "ags": {
                "scope": [s for s in _list(ags, "scope") if isinstance(s, str)],
                "lineitems": _address(ags, "lineitems"),
            },
            "members": _address(nrps, "context_memberships_url"),
        }
        person = self.record.person(visitor)
        with self.record.writing() as connection:
            connection.execute(sa.delete(LTI).where(LTI.c.person == person))
            connection.execute(sa.insert(LTI).values(person=person, said=json.dumps(said)))

    def of(self, person: int) -> dict[str, Any] | None:
        """What was noted for a person, or None."""
        with self.record.reading() as connection:
            text = connection.execute(select(LTI.c.said).where(LTI.c.person == person)).scalar()
        return json.loads(text) if text else None


def _list(said: Any, name: str) -> list[Any]:
    value = said.get(name) if isinstance(said, Mapping) else None
    return value if isinstance(value, list) else []


def _address(said: Any, name: str) -> str:
    value = said.get(name) if isinstance(said, Mapping) else None
    return value if isinstance(value, str) and urlsplit(value).scheme in ("https", "http") else ""


# --- who is in the course -----------------------------------------------------------------------------


def members(key: OwnKey, platform: Platform, address: str) -> list[Member]:
    """Everybody who is in the platform's course now. Raises Refused."""
    try:
        pages = Calls(key, platform).pages(address, [MEMBERS], OF_MEMBERS)
        found = [_member(one) for page in pages for one in page.get("members", [])]
    except Down as error:
        Log(__name__).warning("LTI: %s", error)
        raise Refused("The platform does not answer: try again in a minute.", 503, 60.0) from None
    except Endless:
        raise Refused("The platform's list of members has no end.", 502) from None
    except Exception as error:  # also what an answer of another form leads to
        Log(__name__).warning("LTI: %s", error)
        raise Refused(
            "The platform does not say who is in the course: let the tool use Names and Role Provisioning there.", 502
        ) from None
    return [member for member in found if member is not None]


def _member(said: Any) -> Member | None:
    """A member as the platform describes them; None for who is no longer there."""
    if not isinstance(said, Mapping) or said.get("status", "Active") != "Active":
        return None

    def text(name: str) -> str:
        value = said.get(name)
        return printable(value.strip())[:255] if isinstance(value, str) else ""

    given, family = text("given_name"), text("family_name")
    if not given and not family:
        given, _, family = text("name").rpartition(" ")
    roles = [role for role in _list(said, "roles") if isinstance(role, str)]
    is_learner = LEARNER in roles or "Learner" in roles  # the standard allows the short form here
    sub = said.get("user_id")
    if not isinstance(sub, str) or not 0 < len(sub) <= 255:
        return None
    return Member(sub, given, family, text("email"), text("lis_person_sourcedid"), is_learner)


def learners(found: Iterable[Member]) -> list[Member]:
    """The learners of whom the platform says who they are."""
    return [one for one in found if one.is_learner and (one.name or one.email)]


def as_table(platform: Platform, found: Iterable[Member], numbered: bool = True) -> Table:
    """The learners as a table, row by row, which `lms/roster.py` takes in.

    Their id in the system is what names them at launch. It is left out unless the roster's ids are this platform's
    (`numbered`), and for a custom parameter, which a list of members does not say.
    """
    rows = [["", m.given_name, m.family_name, m.email, _number(platform, m, numbered)] for m in learners(found)]
    return Table(Path(platform.origin), list(COLUMNS), rows)


def _number(platform: Platform, member: Member, numbered: bool) -> str:
    if not numbered or platform.student not in (SUB, SOURCEDID):
        return ""
    return member.sub if platform.student == SUB else member.sourcedid


def same_platform(platform: Platform) -> Callable[[str], bool]:
    """Whether a subject is one that this platform vouches for."""
    begins = json.dumps([platform.issuer, platform.client_id])[:-1]
    return lambda subject: subject.startswith(begins)


# --- points back ----------------------------------------------------------------------------------------


class Deliveries:
    """Gives points back to the platforms from which people came.

    `counted(owner, assignment)` is the attempt that counts; None as long as its points may not be told. `title` is what
    the platform calls an assignment's column.
    """

    def __init__(
        self,
        record: Record,
        key: OwnKey,
        platforms: Iterable[Platform],
        counted: Callable[[str, str], Counted | None],
        title: Callable[[str], str],
    ) -> None:
        self.record = record
        self.key = key
        self.platforms = {(platform.issuer, platform.client_id): platform for platform in platforms}
        self.counted = counted
        self.title = title
        self.log = Log(__name__)
        self._columns: dict[tuple[str, str], str] = {}  # (lineitems, assignment) → line item

    def note(self, student: str, owner: str, assignment: str) -> None:
        """Note what is to be delivered, once an attempt is graded: nothing if the points that count are the same."""
        if not student or (counted := self.counted(owner, assignment)) is None:
            return
        mine = (PERSON.c.door == "lti") & (PERSON.c.student == student)
        with self.record.writing() as connection:
            people = connection.execute(
                select(PERSON.c.id).join(LTI, LTI.c.person == PERSON.c.id).where(mine)
            ).scalars()
            for person in people.all():
                of_this = (DELIVERY.c.person == person) & (DELIVERY.c.assignment == assignment)
                last = connection.execute(select(DELIVERY).where(of_this).order_by(DELIVERY.c.id.desc())).first()
                said = (counted.points, counted.max_points, counted.is_all, False)
                if last is not None and (last.points, last.max_points, last.is_all, last.withdrawn) == said:
                    continue
                values = dict(zip(("points", "max_points", "is_all", "withdrawn"), said, strict=True))
                values |= {"person": person, "assignment": assignment, "attempt": counted.attempt.id}
                _replace(connection, of_this, values)

    def settle(self, excused: Mapping[str, Collection[str]]) -> None:
        """Note that points are withdrawn from who is `excused`, by assignment, and given again to who no longer is."""
        students = {student for them in excused.values() for student in them}
        newest = select(func.max(DELIVERY.c.id)).group_by(DELIVERY.c.person, DELIVERY.c.assignment)
        query = select(DELIVERY, PERSON.c.student).join(PERSON, PERSON.c.id == DELIVERY.c.person)
        query = query.where(DELIVERY.c.id.in_(newest), DELIVERY.c.withdrawn | PERSON.c.student.in_(students))
        with self.record.reading() as connection:
            rows = connection.execute(query).all()
        for row in rows:
            is_excused = row.student in excused.get(row.assignment, ())
            if is_excused and not row.withdrawn:
                self._withdraw(row)
            elif row.withdrawn and not is_excused:
                self.note(row.student, of_student(row.student), row.assignment)

    def _withdraw(self, row: Any) -> None:
        """Note that the platform is to drop the points of a delivery."""
        of_this = (DELIVERY.c.person == row.person) & (DELIVERY.c.assignment == row.assignment)
        kept = "person", "assignment", "attempt", "points", "max_points", "is_all"
        with self.record.writing() as connection:
            _replace(connection, of_this, {**{name: getattr(row, name) for name in kept}, "withdrawn": True})

    def send(self) -> int:
        """Send what is due; returns how many deliveries were taken. Several desks may do this at once."""
        due = (DELIVERY.c.next <= time.time()) & DELIVERY.c.done.is_(None)
        with self.record.reading() as connection:
            ids = (
                connection.execute(select(DELIVERY.c.id).where(due).order_by(DELIVERY.c.id).limit(100)).scalars().all()
            )
        return sum(self._send(id) for id in ids)

    def _send(self, id: int) -> bool:
        """Send one, unless another desk does; returns whether the platform has taken it."""
        now = time.time()
        due = (DELIVERY.c.id == id) & (DELIVERY.c.next <= now) & DELIVERY.c.done.is_(None)
        with self.record.writing() as connection:
            mine = sa.update(DELIVERY).where(due).values(next=now + SENDING, tries=DELIVERY.c.tries + 1)
            if not connection.execute(mine).rowcount:
                return False
            query = select(DELIVERY, PERSON.c.subject, LTI.c.said).join(PERSON, PERSON.c.id == DELIVERY.c.person)
            row = connection.execute(query.join(LTI, LTI.c.person == PERSON.c.id).where(DELIVERY.c.id == id)).one()
        problem = ""
        try:
            self._put(row)
        except Exception as error:  # the platform's answers are not in our hands, and the next one must go on
            problem = one_line(error, 500) or type(error).__name__
            self.log.warning("LTI: the points of %s could not be delivered: %s", row.subject, problem)
        wait = WAITS[min(row.tries - 1, len(WAITS) - 1)]
        is_over = not problem or row.tries >= TRIES
        values = {"problem": problem or None, "next": time.time() + wait, "done": time.time() if is_over else None}
        with self.record.writing() as connection:
            still = (DELIVERY.c.id == id) & DELIVERY.c.done.is_(None)
            connection.execute(sa.update(DELIVERY).where(still).values(**values))
        return not problem

    def _put(self, row: Any) -> None:
        """Give the points of a delivery to the platform. Raises Down, NotDone, or what its answers lead to."""
        issuer, client, _ = json.loads(row.subject)
        platform = self.platforms.get((issuer, client))
        if platform is None:
            raise NotDone("this platform is no longer in c.Desk.lti")
        said = json.loads(row.said)
        lineitems, scope = said["ags"]["lineitems"], said["ags"]["scope"]
        if not lineitems or SCORE not in scope:
            raise NotDone("the platform lets the desk give no points: allow Assignment and Grade Services there")
        calls, place = Calls(self.key, platform), (lineitems, row.assignment)
        column = self._columns.get(place) or self._column(calls, scope, lineitems, row)
        self._columns[place] = column
        try:
            calls.post(_scores(column), scope, _score(row, said["sub"]), OF_SCORE)
        except NotDone:
            self._columns.pop(place, None)  # the column may be gone
            raise

    def _column(self, calls: Calls, scope: list[str], lineitems: str, row: Any) -> str:
        """The address of an assignment's column in the platform's table; it is made if there is none."""
        if not {COLUMN, COLUMN_SEEN} & {*scope}:
            raise NotDone("the platform does not let the desk see its columns")
        for page in calls.pages(lineitems, scope, OF_COLUMNS):
            for item in page:
                if item.get("tag") == row.assignment:
                    return _column_in(item)
        if COLUMN not in scope:
            raise NotDone("the platform does not let the desk make a column")
        if row.max_points <= 0:
            raise NotDone("a platform has no columns for 0 points")
        made = {"label": self.title(row.assignment), "scoreMaximum": row.max_points, "tag": row.assignment}
        return _column_in(calls.post(lineitems, scope, made, OF_COLUMN, OF_COLUMN).json())


def _replace(connection: sa.Connection, of_this: Any, values: Mapping[str, Any]) -> None:
    """Note a delivery in place of those before it that no platform has taken."""
    now = time.time()
    replaced = sa.update(DELIVERY).where(of_this, DELIVERY.c.done.is_(None))
    connection.execute(replaced.values(done=now, problem="replaced by newer points"))
    connection.execute(sa.insert(DELIVERY).values(**values, tries=0, next=now))


def _column_in(said: Any) -> str:
    if not (address := _address(said, "id")):
        raise NotDone("the platform does not say where its column is")
    return address


def _scores(column: str) -> str:
    """Where a column's scores are sent to: its address may have a query, which stays."""
    parts = urlsplit(column)
    return parts._replace(path=f"{parts.path.removesuffix('/')}/scores").geturl()


def _score(row: Any, sub: str) -> dict[str, Any]:
    """A delivery as the standard has it; without points, where it withdraws them."""
    graded = "FullyGraded" if row.is_all else "PendingManual"
    points = {} if row.withdrawn else {"scoreGiven": row.points, "scoreMaximum": row.max_points}
    return {
        **points,
        "activityProgress": "Submitted",
        "gradingProgress": "NotReady" if row.withdrawn else graded,
        "timestamp": datetime.now(UTC).isoformat(timespec="milliseconds"),
        "userId": sub,
    }
