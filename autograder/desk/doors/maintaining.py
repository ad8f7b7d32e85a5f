"""What `autograder desk` does instead of opening: makes links, withdraws them, forgets accounts, takes a roster."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import sqlalchemy as sa
from sqlalchemy import select

from ...errors import UsageError
from ...grading.store import Store
from ...lms import roster
from ..tables import LTI, PERSON
from ..visitors import INSTRUCTOR, Visitor
from . import links
from .opening import Opened

if TYPE_CHECKING:
    from ...nbgrader.runs import NbgraderCourse

FILE = "desk_links.csv"  # in exports/


def is_wanted(options: Any) -> bool:
    """Whether the command line asks for this instead of opening the desk."""
    return options.links is not None or bool(options.revoke or options.forget) or options.members


def run(opened: Opened, runs: NbgraderCourse, options: Any) -> None:
    """Do what the command line asks for, and print what was done. Raises UsageError."""
    if options.revoke:
        ended = links.revoke(opened.keys, opened.people, options.revoke)
        print(f"{_times(ended, 'link')} withdrawn, with the sessions opened by them.")
    if options.forget:
        forgotten = sum(opened.people.forget(student) for student in options.forget)
        print(f"{_times(forgotten, 'account')} forgotten: who comes next is noted. The attempts stay the students'.")
    if options.members:
        _take_members(opened, runs)
    if options.links is not None:
        _write_links(opened, Store(runs.root), options.links)


def _write_links(opened: Opened, results: Store, wanted: list[str]) -> None:
    if not opened.where.origin:
        raise UsageError("Links need c.Desk.address in nbgrader_config.py: the desk's address for its visitors.")
    table = links.for_students(opened.keys, opened.people, opened.where.url, wanted)
    made = table.count("\n") - 1
    if not made:
        print("Nobody lacks a link. Name students to give them new ones: the old ones end.")
        return
    path = results.root.parent / "exports" / FILE
    path.parent.mkdir(exist_ok=True)
    path.unlink(missing_ok=True)  # one that is there may be readable for others
    path.touch(mode=0o600)
    path.write_text(table, encoding="utf-8-sig")
    print(f"{_times(made, 'link')} written to {path}, which only you can read: whoever has a link is that student.")


def _take_members(opened: Opened, runs: NbgraderCourse) -> None:
    """Write the learners of the platform's course into the gradebook, and note which account is whose."""
    from . import lti_services
    from .lti import NAME, subject_of

    if opened.lti is None:
        raise UsageError("--members needs c.Desk.lti in nbgrader_config.py: docs/desk_lms.md shows how.")
    platform, address = _offered(opened)
    found = lti_services.members(opened.lti.key, platform, address)
    learners = lti_services.learners(found)
    table = lti_services.as_table(platform, learners, platform in opened.lti.numbered)
    taken, others = roster.take(table, runs, Store(runs.root), are_people=True)
    opened.people.refresh()
    noted = 0
    for member, student in zip(learners, taken, strict=True):  # who is who is said by the list, row by row
        visitor = Visitor(NAME, subject_of(platform, member.sub), student.id, member.name, "student")
        opened.people.admit(visitor, lti_services.same_platform(platform))
        noted += 1
    print(f"{_times(len(taken), 'student')} of the platform's course in the gradebook, {noted} with their account.")
    if others:
        print(f"Not in the platform's course: {', '.join(student.id for student in others)}.")


def _offered(opened: Opened) -> tuple[Any, str]:
    """(the platform, the address of its list of members) that an instructor has brought along last."""
    import json

    assert opened.lti is not None
    query = select(PERSON.c.subject, LTI.c.said).join(LTI, LTI.c.person == PERSON.c.id)
    query = query.where(PERSON.c.role == INSTRUCTOR).order_by(sa.desc(PERSON.c.last_seen))
    with opened.people.record.reading() as connection:
        rows = connection.execute(query).all()
    for row in rows:
        said: Mapping[str, Any] = json.loads(row.said)
        platform = opened.lti.platforms.get(tuple(json.loads(row.subject)[:2]))
        if platform is not None and said["members"]:
            return platform, said["members"]
    raise UsageError(
        "Open the desk once from the platform's course, as an instructor: then the desk knows whom to ask."
    )


def _times(number: int, noun: str) -> str:
    return f"{number} {noun}{'' if number == 1 else 's'}"
