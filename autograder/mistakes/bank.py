"""What goes wrong, and what to say of it: the mistakes of an exercise, as edits of a right answer.

An exercise's `mistakes.py` names the places of its answer that mistakes change, and says what a student would have
typed there instead:

    BANK = Bank("Head", places={"SCALE": " * k.shape[-1] ** -0.5"}, words={"WIDTH": "head_size"})

    BANK.mistake("no-scale", "These are the values you get without a scale: divide the scores by √{WIDTH}.", SCALE="")

Exercises that are alike take what they have in common from one list (`Bank.share`). A mistake that would be a rewrite
is written whole (`Bank.rewritten`), and an original is read from the notebook (`Bank.released`).
"""

import functools
import math
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from types import ModuleType

from .. import course
from ..checks.proxies import Local

NAME = re.compile(r"\{([A-Z][A-Z_0-9]*)\}")  # of a place or a word


class BankError(ValueError):
    """A mistake does not fit the answer that it is an edit of; the message says which and why."""


@dataclass(frozen=True)
class Mistake:
    """`id` names it within its exercise; `says` is told to the student; `original` is the notebook it comes from.

    `source` is what a student would have typed, all of it; `edits` says what it changes of the right answer, old text
    to new, or is None where all is written anew. `beside` holds what else a notebook with it defines, as text.
    """

    id: str
    exercise: str
    says: str
    source: str
    edits: Mapping[str, str] | None = None
    original: str | None = None
    beside: str = ""

    def namespace(self) -> dict[str, object]:
        """What a notebook with this mistake holds."""
        return _run(f"{self.exercise}/{self.id}", self.beside, self.source)

    def local(self) -> Local:
        """The same behind the interface of a submission."""
        return Local(self.namespace(), self.source)


@dataclass(frozen=True)
class Shared:
    """A mistake that several exercises have in common: a sentence with `{WORD}`s, and new texts by place."""

    says: str
    changes: Mapping[str, str]


def shared(says: str, **changes: str) -> Shared:
    """An entry of a family's list: what is said, and what stands at each place instead."""
    return Shared(says, changes)


@dataclass
class Bank(Mapping[str, Mistake]):
    """The mistakes of one exercise by id, in the order in which they are written down.

    They are edits of the course's own solution, or of `answers/ANSWER.py` where that stands on other exercises.
    `places` names pieces of it, each of which must stand there exactly once; `words` are what is called by another name
    in every exercise. `beside` names exercises whose solutions a notebook holds as well. `alike` maps ids to others
    that no check can tell from them; `seen_on_a_gpu` is a mistake that the checks for a GPU reject.
    """

    exercise: str
    places: Mapping[str, str] = field(default_factory=dict)
    words: Mapping[str, str] = field(default_factory=dict)
    answer: str | None = None
    beside: tuple[str, ...] = ()
    alike: Mapping[str, str] = field(default_factory=dict)
    seen_on_a_gpu: str = "no-scale"

    def __post_init__(self) -> None:
        self.mistakes: dict[str, Mistake] = {}
        self.right = right_answer(self.exercise, self.answer)
        self.around = "\n\n".join(right_answer(name) for name in self.beside)
        self.places = {name: self.fill(text) for name, text in self.places.items()}
        for name, text in self.places.items():
            self._once(text, f"the place {name}")

    def __getitem__(self, id: str) -> Mistake:
        return self.mistakes[id]

    def __iter__(self) -> Iterator[str]:
        return iter(self.mistakes)

    def __len__(self) -> int:
        return len(self.mistakes)

    def mistake(self, id: str, says: str, edits: Mapping[str, str] | None = None, /, original=None, **changes: str):
        """A mistake that replaces texts of the answer: at places (`SCALE=""`), or those that are the keys of `edits`.

        `{SCALE}` in what is said or written stands for the text at that place, `{WIDTH}` for that word. Raises
        BankError.
        """
        where = {self.places[place]: new for place, new in changes.items()} | dict(edits or {})
        where = {self.fill(old): self.fill(new) for old, new in where.items()}
        if not where:
            raise BankError(f"{self.exercise}: {id} has no edit")
        self._add(id, says, edited(self.right, where, f"{self.exercise}: {id}"), where, original)

    def rewritten(self, id: str, says: str, source: str, /, original=None) -> None:
        """A mistake whose text is written whole."""
        self._add(id, says, self.fill(source), None, original)

    def released(self, id: str, says: str, original: str) -> None:
        """The buggy original that students get, from the exercise's cell in the source notebook."""
        cell = course.solution_of(self.exercise)
        source = course.original_of(cell.source)
        if source is None:
            raise BankError(f"{self.exercise}: its cell {cell.grade_id} holds no original")
        self._add(id, says, source, None, original)

    def share(
        self,
        family: Mapping[str, Shared],
        *ids: str,
        within: str | None = None,
        edits: Mapping[str, Mapping[str, str]] | None = None,
        originals: Mapping[str, str] | None = None,
    ) -> None:
        """Take mistakes from a family's list: those called `ids`, or all.

        `within` is the class of an earlier exercise, where the notebook has its own and the mistake is in there.
        `edits` says by id what this answer needs instead of the list's edit, by place, or by text that stands in the
        answer once. `originals` says which notebook has which mistake.
        """
        ids = ids or tuple(family)
        if others := {*(edits or ()), *(originals or ())} - set(ids):
            raise BankError(f"{self.exercise}: {', '.join(sorted(others))} are not among what is shared")
        for id in ids:
            says = family[id].says
            if within is not None:
                says = f"In your `{within}`: {says[0].lower()}{says[1:]}"
            changes = (edits or {}).get(id, family[id].changes)
            changes = {self.places.get(place, place): new for place, new in changes.items()}
            self.mistake(id, says, changes, original=(originals or {}).get(id))

    def fill(self, text: str) -> str:
        """A text with the places' texts and the words in it; a word may hold others."""
        return NAME.sub(self._named, text)

    def _named(self, found: re.Match[str]) -> str:
        name = found[1]
        return self.fill(self.words[name]) if name in self.words else self.places.get(name, found[0])

    def _add(self, id: str, says: str, source: str, edits: Mapping[str, str] | None, original: str | None) -> None:
        if id in self.mistakes:
            raise BankError(f"{self.exercise} has two mistakes called {id}")
        says = " ".join(self.fill(says).split())
        self.mistakes[id] = Mistake(id, self.exercise, says, source, edits, original, self.around)

    def _once(self, text: str, what: str) -> None:
        many = self.right.count(text)
        if many != 1:
            raise BankError(f"{self.exercise}: {what} stands {many} times in the answer, and should once: {text!r}")


def edited(text: str, edits: Mapping[str, str], what: str) -> str:
    """The text with each `old` replaced by its `new`. Raises BankError unless each stands in it exactly once."""
    for old in edits:
        if text.count(old) != 1:
            raise BankError(f"{what}: {old!r} stands {text.count(old)} times in the answer, and should once")
    pieces = sorted((text.index(old), old, new) for old, new in edits.items())
    made, end = [], 0
    for start, old, new in pieces:
        if start < end:
            raise BankError(f"{what}: {old!r} overlaps with the edit before it")
        made += [text[end:start], new]
        end = start + len(old)
    return "".join(made) + text[end:]


def right_answer(exercise: str, style: str | None = None) -> str:
    """The course's own solution of an exercise as text, or one of the right answers in its folder."""
    if style is None:
        return course.answer_of(course.solution_of(exercise).source)
    return (course.folder_of(exercise) / "answers" / f"{style}.py").read_text(encoding="utf-8")


@functools.lru_cache(maxsize=4096)
def _run(name: str, *sources: str) -> dict[str, object]:
    """The namespace after some cells, which begins with what the notebooks' setup cell imports."""
    import torch

    namespace = {"__name__": name, "torch": torch, "nn": torch.nn, "F": torch.nn.functional, "math": math}
    for source in sources:
        exec(compile(source, f"<{name}>", "exec"), namespace)
    return namespace


def bank(exercise: str) -> Mapping[str, Mistake]:
    """All mistakes of an exercise by id, in the order of its module."""
    return mistakes_of(exercise).BANK if course.file_of(exercise, "mistakes") else {}


def mistakes_of(exercise: str) -> ModuleType:
    """The module of an exercise's mistakes. Raises CourseError where there is none."""
    return course.module_of(exercise, "mistakes")
