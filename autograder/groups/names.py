"""The instructor's own names for wrong answers, `names.json` in the course's folder, and the students who see them.

A name is a sentence about an example: the code of one student's answer, without comments. Students see it if their
answer is equal to the example, that is: has the same fingerprint on the same inputs (mistakes/fingerprint.py). So the
example is graded like a submission on the inputs that the class gets, and its result is kept in the store like any
other; a new seed or a fixed check only means that it is graded once more.

Names are given to verdicts when these are read, so that no result depends on them. A grade does only where a name has
a price, and the course's scores are by prices.
"""

from __future__ import annotations

import hashlib
import json
import math
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from ..errors import CourseError, Unreadable, UsageError
from ..submission.read import StrPath, read_bytes
from ..verdict import PRICES, Diagnosis, Outcome, Verdict, printable
from . import alike

FILE = "names.json"
ALL = 1.0  # the share of the points that a name without a price costs
LONGEST = 600  # characters of a sentence
LARGEST = 8 * 2**20  # bytes of the file
ID = re.compile(rf"(\w+)-([0-9a-f]{{{alike.SHORT}}})")


@dataclass(frozen=True)
class Name:
    """The sentence that an instructor has for answers like an example.

    `code` are the example's cells, each with the grade id that it had, or "". `price` are the points that such an
    answer loses if scores are by prices; without one, it loses what it lost before.
    """

    id: str
    says: str
    code: tuple[tuple[str, str], ...]
    price: float | None = None

    @property
    def exercise(self) -> str:
        return self.id.rpartition("-")[0]

    @property
    def data(self) -> bytes:
        """The example as a notebook, to be graded like a submission."""
        return notebook(self.code)

    @property
    def digest(self) -> str:
        """The hash of the example, as that of a submission."""
        return hashlib.sha256(self.data).hexdigest()

    def told(self, outcome: Outcome) -> Outcome:
        """The outcome with this name in place of other names."""
        kept = [d for d in outcome.diagnosis if d.is_name]
        replaced = [d.price for d in outcome.diagnosis if not d.is_name]  # one edit has a price, say
        lost = min(replaced, default=ALL) if self.price is None else min(1.0, self._cost(outcome) / outcome.max_score)
        return replace(outcome, diagnosis=[*kept, Diagnosis(self.id, self.says, price=lost)])

    def credited(self, outcome: Outcome) -> Outcome:
        """The outcome with the score that this name's price leaves, if that is more."""
        left = 0.0 if self.price is None else outcome.max_score - self._cost(outcome)
        return replace(outcome, score=max(outcome.score, left))

    def _cost(self, outcome: Outcome) -> float:
        """The points that such an answer loses: nothing of those that everybody has, since a check is waived."""
        return (self.price or 0.0) * (1 - outcome.given / outcome.max_score)


def notebook(code: Iterable[tuple[str, str]]) -> bytes:
    """Code cells, pairs of a grade id (or "") and a text, as a notebook."""
    cells = [
        {
            "cell_type": "code",
            "id": f"cell-{number}",
            "metadata": {"nbgrader": {"grade_id": grade_id}} if grade_id else {},
            "source": source,
            "execution_count": None,
            "outputs": [],
        }
        for number, (grade_id, source) in enumerate(code)
    ]
    whole = {"cells": cells, "metadata": {}, "nbformat": 4, "nbformat_minor": 5}
    return json.dumps(whole, sort_keys=True).encode()


class Names:
    """The names of a course. `outcome_of(name, seed)` gives the outcomes of a name's example on the inputs of a seed,
    one for each device on which it was graded.
    """

    def __init__(self, given: Iterable[Name], outcome_of: Callable[[Name, int], Iterable[Outcome]]) -> None:
        self.given = {name.id: name for name in given}
        self.outcome_of = outcome_of
        self.known: dict[tuple[str, int], list[alike.Fingerprint]] = {}

    def of(self, exercise: str) -> list[Name]:
        """The names for answers to an exercise."""
        return [name for name in self.given.values() if name.exercise == exercise]

    def told(self, verdict: Verdict) -> Verdict:
        """The verdict, in which answers that are like an example have its name."""
        if not self.given or not any(outcome.fingerprint for outcome in verdict.exercises):
            return verdict
        found = [(outcome, self._of_outcome(outcome, verdict.seed)) for outcome in verdict.exercises]
        return replace(verdict, exercises=[name.told(outcome) if name else outcome for outcome, name in found])

    def credited(self, verdict: Verdict, credit: str) -> Verdict:
        """The verdict with the scores that `credit`, one of CREDITS, gives, by the prices of these names, too."""
        verdict = verdict.credited(credit)
        if credit != PRICES or not self.given:
            return verdict
        found = [(outcome, self._of_outcome(outcome, verdict.seed)) for outcome in verdict.exercises]
        return replace(verdict, exercises=[name.credited(outcome) if name else outcome for outcome, name in found])

    def _of_outcome(self, outcome: Outcome, seed: int) -> Name | None:
        """The name of answers that are like this one."""
        names = self.of(outcome.exercise)
        theirs = alike.parsed(outcome.fingerprint) if names else None
        if theirs is None:
            return None
        theirs = theirs.without(outcome.waived)  # such a check may not have been made

        def is_like(example: alike.Fingerprint) -> bool:
            return bool(theirs.form) and theirs.equals(example.without(outcome.waived))

        return next((name for name in names if any(map(is_like, self._fingerprints(name, seed)))), None)

    def _fingerprints(self, name: Name, seed: int) -> list[alike.Fingerprint]:
        if (name.id, seed) not in self.known:
            found = [alike.parsed(outcome.fingerprint) for outcome in self.outcome_of(name, seed)]
            self.known[name.id, seed] = [one for one in found if one]
        return self.known[name.id, seed]


def is_unnamed(outcome: Outcome) -> bool:
    """Whether an answer is wrong in a way that nobody has put into words, and can be compared with others."""
    if not outcome.fingerprint or outcome.not_started:
        return False
    return not any(d.is_name and not d.base for d in outcome.diagnosis)


# --- the file -------------------------------------------------------------------------------------


def read(root: StrPath) -> list[Name]:
    """The names in the file of a course; none if there is no file. Raises CourseError."""
    path = Path(root) / FILE
    if not path.exists():
        return []
    try:
        found = json.loads(read_bytes(path, most=LARGEST))
        return [_name(id, entry) for id, entry in found.items()]
    except Unreadable as problem:
        raise CourseError(f"{FILE}: {problem}") from None
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError) as error:
        problem = f"{FILE} cannot be read ({type(error).__name__}: {error})"
        raise CourseError(f"{problem}: fix it, or move it away and name the answers again.") from None


def _name(id: str, entry: Mapping[str, Any]) -> Name:
    """An entry of the file as a Name. Raises ValueError, TypeError and KeyError for what is none."""
    if not ID.fullmatch(id):
        raise ValueError(f"{id[:60]!r} is not a group")
    code = tuple((str(cell["grade_id"]), str(cell["source"])) for cell in entry["code"])
    return Name(id, sentence(entry["says"]), code, price(entry.get("price")))


def price(given: object) -> float | None:
    """The points that a name costs, or None. Raises UsageError and TypeError."""
    if given is None:
        return None
    if isinstance(given, bool) or not isinstance(given, (int, float)):
        raise TypeError("a price is not a number")
    if not 0 < given < math.inf:
        raise UsageError(f"The price is {given:g}, and should be above 0: the points that such an answer loses.")
    return float(given)


def sentence(text: object) -> str:
    """A sentence as students see it: on one line, printable and not too long. Raises UsageError and TypeError."""
    if not isinstance(text, str):
        raise TypeError("the sentence is not text")
    said = printable(" ".join(text.split()))
    if not said:
        raise UsageError("The sentence is empty: say what is wrong, and what to do.")
    if len(said) > LONGEST:
        raise UsageError(f"The sentence has {len(said)} characters; at most {LONGEST} are shown to a student.")
    return said


def text_of(given: Iterable[Name]) -> str:
    """The text of the file."""
    entries = {
        name.id: {
            "says": name.says,
            "code": [{"grade_id": grade_id, "source": source} for grade_id, source in name.code],
            **({} if name.price is None else {"price": name.price}),
        }
        for name in sorted(given, key=lambda name: name.id)
    }
    return json.dumps(entries, indent=2, ensure_ascii=False) + "\n"
