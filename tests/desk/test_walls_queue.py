"""Nothing that was received stays ungraded because the database was gone at the wrong moment."""

import contextlib
import time

import pytest
from sqlalchemy.exc import OperationalError

from autograder.desk import record as records
from autograder.desk.queue import Grading, Queue
from autograder.desk.record import Record, Rules
from autograder.desk.visitors import STUDENT, Visitor

ADA = Visitor("links", "ada", "ada", "Ada", STUDENT)


class Failing:
    """An engine that takes its task, and fails as the database does."""

    def graded(self, tasks, workers):
        next(tasks)
        raise OperationalError("", {}, Exception("database is locked"))


def test_what_could_not_be_given_back_is_graded_after_its_lease(tmp_path, monkeypatch):
    monkeypatch.setattr(records, "LEASE", 0.2)
    record = Record(f"sqlite:///{tmp_path}/desk.db")
    with contextlib.closing(record):
        attempt = record.hand_in(ADA, "02", None, b"x", Rules("names"))
        queue = Queue(record, Grading(tmp_path, 1))
        queue.passed.add("02")
        give_back = record.unclaim

        def gone(*args):
            raise OperationalError("", {}, Exception("database is locked"))

        monkeypatch.setattr(record, "unclaim", gone)
        with pytest.raises(OperationalError):
            queue._grade_next(Failing())
        monkeypatch.setattr(record, "unclaim", give_back)
        time.sleep(0.25)
        record.renew(queue.name, list(queue.early))  # as the desk goes on saying that it is there
        again = record.claim("another")
        assert again is not None and again.id == attempt.id
