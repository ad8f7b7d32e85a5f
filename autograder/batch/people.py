"""Whom a command names: a student of the gradebook, or a sentence that says what to type instead."""

from __future__ import annotations

import difflib
from typing import TYPE_CHECKING

from nbgrader.api import Student
from sqlalchemy import select

from ..errors import UsageError
from ..verdict import printable

if TYPE_CHECKING:
    from nbgrader.api import Gradebook

    from ..grading.store import Store

SHOWN = 80  # characters of what is no student's id


def require_student(gradebook: Gradebook, results: Store, student: str, must_be_there: bool) -> None:
    """Raises UsageError unless the gradebook knows the student; `must_be_there`: and the class still has them."""
    known = [id for (id,) in gradebook.db.execute(select(Student.id))]
    gradebook.db.rollback()
    if student not in known:
        near = difflib.get_close_matches(student[:SHOWN], known, n=1)
        did = f"did you mean {near[0]!a}?" if near else "`autograder roster` lists the class, and takes in who is new."
        raise UsageError(f"{printable(student[:SHOWN])} is not in the gradebook: {did}")
    if must_be_there and student in results.dropped():
        raise UsageError(
            f"{printable(student)[:SHOWN]} was dropped: `autograder roster --take-back ID` takes them back."
        )
