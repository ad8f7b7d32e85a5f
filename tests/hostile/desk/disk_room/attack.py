"""stores more than is allowed by many hand-ins that are small"""

import contextlib
import os

from autograder.desk.handing import EVERYTHING
from autograder.desk.record import ROOM, Record, Rules, TooMany
from autograder.desk.visitors import STUDENT, Visitor

SIZE = 1_000_000  # bytes, which zlib makes no smaller
AT_ONCE = 600


def attack(folder):
    """Half an hour of it: 600 hand-ins at most, of which the bucket should let 500 MB and a little more through."""
    record, clock, stored = Record(f"sqlite:///{folder}/desk.db"), [1e6], 0
    record.now = lambda connection: clock[0]
    ada = Visitor("links", "ada", "ada", "Ada", STUDENT)
    kept = record._insert_once
    # what is stored is only counted, so that the attack needs no room itself
    record._insert_once = lambda connection, table, **values: kept(
        connection, table, **{**values, **({"packed": b""} if "packed" in values else {})}
    )
    with contextlib.closing(record):
        for _ in range(AT_ONCE):
            clock[0] += EVERYTHING.every
            with contextlib.suppress(TooMany):
                record.hand_in(ada, "02", None, os.urandom(SIZE), Rules("names", required=(EVERYTHING, ROOM)))
                stored += SIZE
    allowed = 500 * 2**20 + 288 * 2**20 * AT_ONCE * EVERYTHING.every / 86400
    return [f"{stored} bytes, where {allowed:.0f} are allowed"] if stored > allowed else []
