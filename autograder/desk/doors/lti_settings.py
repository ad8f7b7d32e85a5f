"""`c.Desk.lti` in nbgrader_config.py: the platforms from which people come by LTI 1.3, and how each names students."""

from __future__ import annotations

import difflib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any
from urllib.parse import urlsplit

from ...errors import CourseError

MEMBERSHIP = "http://purl.imsglobal.org/vocab/lis/v2/membership"
INSTRUCTORS = (f"{MEMBERSHIP}#Instructor",)
SOURCEDID, EMAIL, SUB, CUSTOM = "sourcedid", "email", "sub", "custom:"
WHERE = "c.Desk.lti in nbgrader_config.py"
LONGEST = 80  # characters of an issuer and of a client's id


@dataclass(frozen=True)
class Platform:
    """A learning platform as it was registered; the addresses are what it says of itself.

    `student` says what of a launch names the student of the roster: "sourcedid" (the id that the institution gives),
    "email" (only where the platform has verified all addresses), "sub", or "custom:NAME", a custom parameter.
    `numbers` says that the roster's `lms_user_id` are this platform's (`with_numbers` decides where none says so).
    `instructors` are the roles, as the standard writes them, that make somebody an instructor.
    `in_frame`: the platform shows the desk in a frame of its own page.
    """

    issuer: str
    client_id: str
    auth_login_url: str
    auth_token_url: str
    key_set_url: str
    deployment_ids: Sequence[str]
    auth_audience: str | None = None
    student: str = SOURCEDID
    instructors: Sequence[str] = INSTRUCTORS
    in_frame: bool = False
    numbers: bool = False

    @property
    def namespace(self) -> tuple[str, ...]:
        """Whose ids name its students: those of the institution, or the platform's own."""
        if self.student in (SOURCEDID, EMAIL):
            return (SOURCEDID,)
        return (self.issuer,) if self.student == SUB else (self.issuer, self.client_id, self.student)

    @property
    def origin(self) -> str:
        parts = urlsplit(self.auth_login_url)
        return f"{parts.scheme}://{parts.netloc}"


def platforms(given: object) -> list[Platform]:
    """The platforms that are set. Raises CourseError with a sentence on what is wrong."""
    if not isinstance(given, Sequence) or isinstance(given, str) or not all(isinstance(one, Mapping) for one in given):
        raise CourseError(f"{WHERE} should be a list with a dict for each platform: docs/desk_lms.md has one.")
    found = [_platform(one) for one in given]
    names = [(one.issuer, one.client_id) for one in found]
    for name in names:
        if names.count(name) > 1:
            raise CourseError(f"{WHERE} has the issuer {name[0]} with the client {name[1]} twice.")
    if len({one.namespace for one in found if one.numbers}) > 1:
        raise CourseError(f"{WHERE}: 'numbers' can be True for one platform alone: whose ids are the roster's?")
    return found


def with_numbers(registered: Sequence[Platform]) -> list[Platform]:
    """The platforms whose ids the roster's `lms_user_id` are: one column cannot have those of two.

    Those that say so, or else the first one, with others that have the same ids.
    """
    own = [one for one in registered if one.student != EMAIL]
    chosen = next((one for one in own if one.numbers), own[0] if own else None)
    return [one for one in own if chosen and one.namespace == chosen.namespace]


def _platform(given: Mapping[str, Any]) -> Platform:
    known = {field.name for field in fields(Platform)}
    for name in given:
        if name not in known:
            near = difflib.get_close_matches(str(name), sorted(known), n=1, cutoff=0)
            raise CourseError(f"{WHERE} has {name!r}, which sets nothing: did you mean {near[0]!r}?")
    for name in ("issuer", "client_id", "auth_login_url", "auth_token_url", "key_set_url"):
        value = given.get(name)
        if not isinstance(value, str) or not value:
            raise CourseError(f"{WHERE} lacks {name!r}, a text: the platform shows it where the desk is registered.")
        if name.endswith("_url") and urlsplit(value).scheme not in ("https", "http"):
            raise CourseError(f"{WHERE}: {name!r} should be an address that begins with https://, not {value!r}.")
        if not name.endswith("_url") and len(value) > LONGEST:
            raise CourseError(f"{WHERE}: {name!r} has more than {LONGEST} characters.")
    for name in ("in_frame", "numbers"):
        if not isinstance(given.get(name, False), bool):
            raise CourseError(f"{WHERE}: {name!r} should be True or False.")
    for name in ("deployment_ids", "instructors"):
        values = given.get(name, INSTRUCTORS if name == "instructors" else None)
        if not isinstance(values, Sequence) or isinstance(values, str) or not all(isinstance(v, str) for v in values):
            raise CourseError(f"{WHERE}: {name!r} should be a list of texts.")
    student = given.get("student", SOURCEDID)
    is_custom = isinstance(student, str) and student.startswith(CUSTOM) and len(student) > len(CUSTOM)
    if student not in (SOURCEDID, EMAIL, SUB) and not is_custom:
        raise CourseError(
            f"{WHERE}: 'student' should be 'sourcedid', 'email', 'sub' or 'custom:NAME', not {student!r}."
        )
    return Platform(**given)
