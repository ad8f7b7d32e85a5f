"""Personal links and keys: secrets that say who has them. The record has only a hash of each."""

from __future__ import annotations

import hashlib
import re
import secrets
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING

from sqlalchemy import Row, delete, insert, select, update

from .tables import KEY, PERSON
from .visitors import Visitor

if TYPE_CHECKING:
    from .record import Record

LINK, PERSONAL = KINDS = ("link", "key")
PREFIX = "desk-"  # of a personal key, by which it is told from a token of the Hub
BYTES = 32  # of chance in each: nobody guesses one
LENGTH = 43  # characters that these make
SECRET = re.compile(rf"(?:{re.escape(PREFIX)})?[A-Za-z0-9_-]{{{LENGTH}}}")
KEPT = 10  # of a person and a kind, of those that were replaced or ended: for what is said of them


@dataclass(frozen=True)
class Held:
    """A link or a key that somebody has, and whose it is. `ends` is in seconds since 1970."""

    hash: str
    visitor: Visitor
    made: float
    ends: float
    revoked: bool

    @property
    def is_valid(self) -> bool:
        return not self.revoked and time.time() < self.ends


class Keys:
    """The links and keys of a record. Raises SQLAlchemy's errors if the database cannot be used."""

    def __init__(self, record: Record) -> None:
        self.record = record

    def make(self, kind: str, person: int, lasts: float) -> str:
        """A new link or key of a person, for `lasts` seconds; the ones before are still good."""
        secret = (PREFIX if kind == PERSONAL else "") + secrets.token_urlsafe(BYTES)
        now = time.time()
        row = {"hash": hashed(secret), "kind": kind, "person": person, "made": now, "ends": now + lasts}
        with self.record.writing() as connection:
            connection.execute(insert(KEY).values(**row, revoked=False))
            ended = select(KEY.c.hash).where(KEY.c.kind == kind, KEY.c.person == person, KEY.c.revoked)
            too_many = connection.execute(ended.order_by(KEY.c.made.desc()).offset(KEPT)).scalars().all()
            if too_many:
                connection.execute(delete(KEY).where(KEY.c.hash.in_(too_many)))
        return secret

    def renew(self, kind: str, person: int, lasts: float) -> str:
        """A new link or key of a person; the ones before end."""
        self.revoke(kind, person)
        return self.make(kind, person, lasts)

    def revoke(self, kind: str, person: int) -> int:
        """End all links or keys of a person, and the sessions that the links opened; returns how many were good."""
        mine = (KEY.c.kind == kind) & (KEY.c.person == person) & ~KEY.c.revoked
        with self.record.writing() as connection:
            return connection.execute(update(KEY).where(mine).values(revoked=True)).rowcount

    def find(self, kind: str, secret: str) -> Held | None:
        """The link or key that this is, valid or not; None if it is none."""
        return self.by_hash(kind, hashed(secret)) if SECRET.fullmatch(secret) else None

    def by_hash(self, kind: str, hash: str) -> Held | None:
        """The link or key with a hash, valid or not; None if there is none."""
        with self.record.reading() as connection:
            row = connection.execute(_whose().where(KEY.c.kind == kind, KEY.c.hash == hash)).first()
        return None if row is None else _held(row)

    def valid(self, kind: str, person: int) -> list[Held]:
        """The links or keys of a person that are good, the newest first."""
        good = (KEY.c.kind == kind) & (KEY.c.person == person) & ~KEY.c.revoked & (KEY.c.ends > time.time())
        with self.record.reading() as connection:
            return [_held(row) for row in connection.execute(_whose().where(good).order_by(KEY.c.made.desc()))]


def hashed(secret: str) -> str:
    """The hash of a secret. A fast one is enough: there are too many secrets to try them."""
    return hashlib.sha256(secret.encode("utf-8", "replace")).hexdigest()


def _whose():
    who = (PERSON.c.door, PERSON.c.subject, PERSON.c.student, PERSON.c.name, PERSON.c.role)
    return select(KEY.c.hash, KEY.c.made, KEY.c.ends, KEY.c.revoked, *who).join(PERSON)


def _held(row: Row) -> Held:
    visitor = Visitor(row.door, row.subject, row.student, row.name, row.role)
    return Held(row.hash, visitor, row.made, row.ends, row.revoked)
