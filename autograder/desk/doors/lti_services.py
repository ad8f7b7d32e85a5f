"""What a platform does for the desk by LTI 1.3: it says who is in the course, and takes points back.

A delivery is a row of the record: it is noted when the attempt that counts has other points than the one before, and
tried until the platform takes it or a newer one replaces it.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import sqlalchemy as sa
from pylti1p3.assignments_grades import AssignmentsGradesService
from pylti1p3.exception import LtiException
from pylti1p3.grade import Grade
from pylti1p3.lineitem import LineItem
from pylti1p3.names_roles import NamesRolesProvisioningService
from pylti1p3.service_connector import ServiceConnector
from pylti1p3.tool_config.dict import ToolConfDict
from requests.utils import parse_header_links
from sqlalchemy import select

from ...intake.tables import Table
from ...verdict import printable
from ..deliveries import TRIES
from ..logs import Log, one_line
from ..record import Attempt, Record
from ..tables import DELIVERY, LTI, PERSON
from ..visitors import Refused, Visitor
from .http import Down, Patient
from .lti_settings import MEMBERSHIP, SOURCEDID, SUB, Platform

AGS = "https://purl.imsglobal.org/spec/lti-ags/claim/endpoint"
NRPS = "https://purl.imsglobal.org/spec/lti-nrps/claim/namesroleservice"
SCORE = "https://purl.imsglobal.org/spec/lti-ags/scope/score"
LEARNER = f"{MEMBERSHIP}#Learner"
COLUMNS = ("id", "first_name", "last_name", "email", "lms_user_id")
PAGES = 200  # of a list, at most
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


class _Connector(ServiceConnector):
    """PyLTI1p3 makes the address of a list's next page small letters; here it is as the platform wrote it."""

    def make_service_request(self, *args: Any, **options: Any) -> Any:
        answer = super().make_service_request(*args, **options)
        header = next((value for name, value in answer["headers"].items() if name.lower() == "link"), "")
        links = [link.get("url") for link in parse_header_links(header) if link.get("rel") == "next"]
        return {**answer, "next_page_url": links[0] if links else None}


def _connector(config: ToolConfDict, platform: Platform, address: str) -> _Connector:
    """What asks a platform for something. Raises LtiException if it would send the desk's token over a plain line."""
    if urlsplit(platform.auth_token_url).scheme == "https" != urlsplit(address).scheme:
        raise LtiException(f"{address} should begin with https://")
    registration = config.find_registration_by_params(platform.issuer, platform.client_id)
    return _Connector(registration, Patient())


# --- who is in the course -----------------------------------------------------------------------------


def members(config: ToolConfDict, platform: Platform, address: str) -> list[Member]:
    """Everybody who is in the platform's course now. Raises Refused."""
    found: list[Member] = []
    try:
        service = NamesRolesProvisioningService(
            _connector(config, platform, address), {"context_memberships_url": address}
        )
        for _ in range(PAGES):
            page, following = service.get_members_page(address)
            found += [member for one in page if (member := _member(one)) is not None]
            if not following:
                return found
            if urlsplit(following)[:2] != urlsplit(address)[:2]:
                raise LtiException("the list goes on elsewhere, where the desk's token is not sent")
            address = following
    except Down as error:
        Log(__name__).warning("LTI: %s", error)
        raise Refused("The platform does not answer: try again in a minute.", 503, 60.0) from None
    except Exception as error:  # PyLTI1p3 raises what it happens to, if an answer has another form
        Log(__name__).warning("LTI: %s", error)
        raise Refused(
            "The platform does not say who is in the course: let the tool use Names and Role Provisioning there.", 502
        ) from None
    raise Refused("The platform's list of members has no end.", 502)


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
        config: ToolConfDict,
        platforms: Iterable[Platform],
        counted: Callable[[str, str], Counted | None],
        title: Callable[[str], str],
    ) -> None:
        self.record = record
        self.config = config
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
        now = time.time()
        with self.record.writing() as connection:
            people = connection.execute(
                select(PERSON.c.id).join(LTI, LTI.c.person == PERSON.c.id).where(mine)
            ).scalars()
            for person in people.all():
                of_this = (DELIVERY.c.person == person) & (DELIVERY.c.assignment == assignment)
                last = connection.execute(select(DELIVERY).where(of_this).order_by(DELIVERY.c.id.desc())).first()
                said = (counted.points, counted.max_points, counted.is_all)
                if last is not None and (last.points, last.max_points, last.is_all) == said:
                    continue
                replaced = sa.update(DELIVERY).where(of_this, DELIVERY.c.done.is_(None))
                connection.execute(replaced.values(done=now, problem="replaced by newer points"))
                connection.execute(
                    sa.insert(DELIVERY).values(
                        person=person,
                        attempt=counted.attempt.id,
                        assignment=assignment,
                        points=counted.points,
                        max_points=counted.max_points,
                        is_all=counted.is_all,
                        tries=0,
                        next=now,
                    )
                )

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
        """Give the points of a delivery to the platform. Raises Down, LtiException, or what PyLTI1p3 happens to."""
        issuer, client, _ = json.loads(row.subject)
        platform = self.platforms.get((issuer, client))
        if platform is None:
            raise LtiException("this platform is no longer in c.Desk.lti")
        said = json.loads(row.said)
        lineitems, scope = said["ags"]["lineitems"], said["ags"]["scope"]
        if not lineitems or SCORE not in scope:
            raise LtiException("the platform lets the desk give no points: allow Assignment and Grade Services there")
        service = AssignmentsGradesService(
            _connector(self.config, platform, lineitems), {"scope": scope, "lineitems": lineitems}
        )
        grade = (
            Grade()
            .set_score_given(row.points)
            .set_score_maximum(row.max_points)
            .set_timestamp(datetime.now(UTC).isoformat(timespec="milliseconds"))
            .set_activity_progress("Submitted")
            .set_grading_progress("FullyGraded" if row.is_all else "PendingManual")
            .set_user_id(said["sub"])
        )
        column = (lineitems, row.assignment)
        item = LineItem()
        item.set_label(self.title(row.assignment)).set_score_maximum(row.max_points).set_tag(row.assignment)
        if column in self._columns:
            item.set_id(self._columns[column])
        else:
            item = service.find_or_create_lineitem(item)
            self._columns[column] = item.get_id() or ""
        try:
            service.put_grade(grade, item)
        except LtiException:
            self._columns.pop(column, None)  # the column may be gone
            raise
