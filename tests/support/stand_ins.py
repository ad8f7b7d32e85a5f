"""Stand-ins for the Engine and the Recorder of a batch, so that it can be tested without a sandbox."""

import json

from conftest import ASSIGNMENT

from autograder import course
from autograder.batch import run as batch
from autograder.errors import NotRecorded
from autograder.grading.store import Store
from autograder.verdict import Graded, Outcome, Verdict, without_grade

SPENT = {"cell 3": 0.5, "the checks of `attention`": 2.0}


class Engine:
    """Gives the status that the submission's last cell names; a second one there is that of a retry, alone.

    `before` is called before tasks are asked for.
    """

    def __init__(self, before=lambda: None):
        self.tasks = []
        self.alone = []  # the students who were graded alone
        self.before = before

    def warm(self, total):
        self.total = total

    def graded(self, coming, total, alone=False):
        if total:
            self.before()
        for task in coming:
            assert task.alone is alone
            (self.alone if alone else self.tasks).append(task.student)
            statuses = "".join(json.loads(task.data)["cells"][-1]["source"]).split()
            yield task, Graded(verdict(statuses[-1 if alone else 0]), [], {}, SPENT)


class Writer:
    """Records in a dict; refuses the student `odd`."""

    unrecorded = ()

    def __init__(self):
        self.recorded = {}

    def __enter__(self):
        return self

    def __exit__(self, *exc):
        pass

    def cached_verdict(self, student, key):
        found, verdict = self.recorded.get(student, (None, None))
        return verdict if found == key else None

    def add(self, student, submitted, graded, key):
        if student == "odd":
            raise NotRecorded("it has no place")
        self.recorded[student] = key, graded.verdict


def verdict(status):
    exercises = course.find_assignment("02").exercises
    outcomes = [Outcome(e.name, e.points, e.points, "graded") for e in exercises]
    if status != "graded":
        outcomes[0] = without_grade(exercises[0].name, exercises[0].points, status, "so")
    return Verdict("", outcomes, 1, ASSIGNMENT)


def run(place, engine, writer, **options):
    """(the batch after its run, a list of what the run yielded)."""
    made = batch.Batch(place, course.find_assignment("02"), batch.students(place, ASSIGNMENT), Store(place), **options)
    return made, list(made.run(engine, writer))
