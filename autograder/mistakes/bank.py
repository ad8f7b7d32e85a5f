"""What goes wrong: named wrong implementations, each with the sentence that a student reads.

One module per exercise, of the exercise's name. Each wrong implementation is a function or class marked with
`@misconception(id, says)`; `namespace` makes of it what a student's notebook would hold. `fails.json`, which
`make matrix` writes, holds the checks that each of them failed on all inputs that were tried: what to look at first.
"""

import functools
import importlib
import json
from dataclasses import dataclass
from pathlib import Path

FAILS = Path(__file__).with_name("fails.json")


@dataclass(frozen=True)
class Misconception:
    """`id` names it within its exercise; `says` is told to the student; `original` is the notebook it comes from."""

    id: str
    exercise: str
    says: str
    code: object
    original: str = None

    def namespace(self):
        """What a notebook with this mistake holds; a module's `BESIDE` is what it needs besides the exercise."""
        module = mistakes_of(self.exercise)
        return {**getattr(module, "BESIDE", {}), self.exercise: self.code}


def misconception(id, says, original=None):
    """Marks a function or class as a wrong implementation of the exercise whose module it stands in."""

    def mark(code):
        module = importlib.import_module(code.__module__)
        exercise = code.__module__.rsplit(".", 2)[1]
        known = module.__dict__.setdefault("BANK", {})
        if id in known:
            raise ValueError(f"{exercise} has two misconceptions called {id}")
        known[id] = Misconception(id, exercise, " ".join(says.split()), code, original)
        return code

    return mark


def bank(exercise):
    """All misconceptions of an exercise by id, in the order of its module."""
    try:
        return mistakes_of(exercise).BANK
    except ModuleNotFoundError:
        return {}


def mistakes_of(exercise):
    """The module of an exercise's mistakes. Raises ModuleNotFoundError."""
    return importlib.import_module(f"autograder.exercises.{exercise}.mistakes")


@functools.cache
def usual_failures(exercise):
    """{id: the names of the checks that the misconception usually fails} of an exercise."""
    table = json.loads(FAILS.read_text(encoding="utf-8"))
    return {id: frozenset(checks.split()) for id, checks in table.get(exercise, {}).items()}
