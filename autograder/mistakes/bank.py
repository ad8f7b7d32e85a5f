"""The mistakes of an exercise, written as edits of a right answer, each with a sentence for the student.

An exercise's `mistakes.py` names the places of its answer that mistakes change, and gives the text that a student would
have typed there instead:

    BANK = Bank("Head", places={"SCALE": " * k.shape[-1] ** -0.5"}, words={"WIDTH": "head_size"})

    BANK.mistake("no-scale", "These are the values you get without a scale: divide the scores by √{WIDTH}.", SCALE="")

Similar exercises take their common mistakes from one list (`Bank.share`). A mistake that would change nearly everything
is written out in full (`Bank.rewritten`), and an original is read from the notebook (`Bank.released`).
"""

from __future__ import annotations

import ast
import difflib
import functools
import linecache
import math
import re
import warnings
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from types import CodeType, ModuleType
from typing import TYPE_CHECKING, TypeAlias

from .. import bounds, course
from ..errors import CourseError

if TYPE_CHECKING:
    from pathlib import Path

    from ..checks.proxies import Local

NAME = re.compile(r"\{([A-Z][A-Z_0-9]*)\}")  # the name of a place or a word

PRIME = "'"

Sign: TypeAlias = Callable[[Sequence[ast.AST]], bool]  # whether the nodes of a student's code show it, see signs.py


class BankError(CourseError):
    """A mistake does not fit the answer that it edits; the message says which and why.

    >>> Bank("causal_mask").mistake("ones", "…", {"torch.zeros": "torch.ones"})
    Traceback (most recent call last):
    BankError: causal_mask: ones: 'torch.zeros' occurs 0 times in the solution, and must occur exactly once
    """


@dataclass(frozen=True)
class Mistake:
    """`id` names it within its exercise; the student reads `says`; `original` is the notebook that it comes from.

    `source` is the whole text that a student would have typed. `edits` maps old texts of the right answer to new ones,
    or is None if the mistake is written out in full. `beside` is the text of what else such a notebook defines.
    `variant` counts the other ways to make the same mistake. `as_given`: it is the whole of a notebook's answer.
    `price` is the share of the points that the author has it cost, see prices.py. `lasts`: what it keeps outlives its
    objects, as in a class or a default argument, so what it does depends on what was asked before. `sign` is what the
    student's code must show, where the values alone could mislead. `number` is a number of its text, in place of which
    a student may have any other that is about as large (`with_number`).
    """

    id: str
    exercise: str
    says: str
    source: str
    edits: Mapping[str, str] | None = None
    original: str | None = None
    beside: str = ""
    variant: int = 0
    as_given: bool = False
    price: float | None = None
    lasts: bool = False
    sign: Sign | None = None
    number: str = ""

    @property
    def name(self) -> str:
        """What stands for its file, and for what is tried; other ways to make the same mistake have primes."""
        return f"{self.exercise}/{self.id}{PRIME * self.variant}"

    def namespace(self) -> dict[str, object]:
        """The namespace of a notebook with this mistake."""
        return namespace_of(self.name, self.beside, self.source)

    @property
    def key(self) -> tuple[str, int, str]:
        """What tells it from all others of its exercise."""
        return self.id, self.variant, self.number

    def with_number(self, number: str) -> Mistake:
        """The same with another number, the text of one that a student's code has."""
        edits = {old: new.replace(self.number, number) for old, new in (self.edits or {}).items()}
        return replace(self, source=self.source.replace(self.number, number), edits=edits, number=number)

    def local(self) -> Local:
        """The same, behind the interface of a submission."""
        from ..checks.proxies import Local

        return Local(self.namespace(), self.source, self.namespace, self.name)


@dataclass(frozen=True)
class Shared:
    """A mistake that several exercises have in common: a sentence with `{WORD}`s, new texts by place, and a price.

    `sign` is what the student's code must show.
    """

    says: str
    changes: Mapping[str, str]
    price: float | None = None
    sign: Sign | None = None


def shared(
    says: str,
    edits: Mapping[str, str] | None = None,
    /,
    *,
    price: float | None = None,
    sign: Sign | None = None,
    **changes: str,
) -> Shared:
    """A mistake for `Bank.share`: the sentence, the new text for each place, and its price if it has its own.

    `sign` is what the student's code must show, see signs.py.

    >>> SHARED = {"inverted": shared("True means {MEANS}, not the opposite.", RETURNED="~{RETURNED}")}
    """
    return Shared(says, {**(edits or {}), **changes}, price, sign)


@dataclass
class Bank(Mapping[str, Mistake]):
    """The mistakes of one exercise by id, as edits of the course's own solution, or of `answers/ANSWER.py`.

    `places` names pieces of that answer, each of which must occur exactly once; `words` names terms that differ from
    exercise to exercise. `beside` names exercises whose solutions are also in the notebook. `alike` maps the id of a
    mistake to that of another from which no check can distinguish it. `seen_on_a_gpu` is a mistake that the checks
    for a GPU reject.

    >>> BANK = Bank("causal_mask", places={"TRIANGLE": "torch.tril(everything)"}, words={"MEANS": "may attend"})
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
        self.variants: list[Mistake] = []
        self.right = right_answer(self.exercise, self.answer)
        self.around = "\n\n".join(right_answer(name) for name in self.beside)
        self.places = {name: self.fill(text) for name, text in self.places.items()}
        for name, text in self.places.items():
            _require_once(self.right, text, f"{self.exercise}: the place {name}")

    def __getitem__(self, id: str) -> Mistake:
        return self.mistakes[id]

    def __iter__(self) -> Iterator[str]:
        return iter(self.mistakes)

    def __len__(self) -> int:
        return len(self.mistakes)

    def mistake(
        self,
        id: str,
        says: str,
        edits: Mapping[str, str] | None = None,
        /,
        original: str | None = None,
        price: float | None = None,
        lasts: bool = False,
        sign: Sign | None = None,
        **changes: str,
    ) -> None:
        """Add a mistake that replaces texts of the answer: at places (`TRIANGLE="…"`), or the keys of `edits`.

        `{PLACE}` and `{WORD}` are filled in, both in `says` and in the new texts. `price` is the share of the points
        that it costs, if that is not to follow from what it does: `ALL` for what computes next to nothing. `lasts`:
        what it keeps outlives its objects. `sign`: what the student's code must show. Raises BankError.

        >>> BANK = Bank("causal_mask", places={"TRIANGLE": "torch.tril(everything)"})
        >>> BANK.mistake("upper", "This is the future: keep the past.", TRIANGLE="torch.triu(everything)")
        >>> BANK.mistake("not-boolean", "These are numbers: make booleans.", {"dtype=torch.bool, ": ""})
        >>> list(BANK)
        ['upper', 'not-boolean']
        """
        if price is not None and not 0 < price <= 1:
            raise BankError(f"{self.exercise}: the price of {id} is {price:g}, and should be above 0 and at most 1")
        where = self._where(id, edits, changes)
        if not where:
            raise BankError(f"{self.exercise}: {id} has no edit")
        source = edited(self.right, where, f"{self.exercise}: {id}")
        self._add(id, says, source, where, original, price, lasts, sign)

    def variant(self, id: str, edits: Mapping[str, str] | None = None, /, *, number: str = "", **changes: str) -> None:
        """Add another way to make the mistake `id`, which behaves differently; the arguments are those of `mistake`.

        With the `number`, a text in the edits, the student's own numbers are tried in its place.

        >>> BANK = Bank("causal_mask", places={"TRIANGLE": "torch.tril(everything)"})
        >>> BANK.mistake("upper", "This is the future: keep the past.", TRIANGLE="torch.triu(everything)")
        >>> BANK.variant("upper", TRIANGLE="torch.triu(everything, 1)")
        """
        of = self.mistakes[self._known(id, self.mistakes, "a variant of", "mistakes")]
        many = 1 + sum(other.id == id for other in self.variants)
        where = self._where(id, edits, changes)
        source = edited(self.right, where, f"{self.exercise}: variant {many} of {id}")
        self._require_change(f"variant {many} of {id}", source)
        self.variants.append(replace(of, source=source, edits=where, variant=many, number=number))

    def rewritten(self, id: str, says: str, source: str, /, original: str | None = None) -> None:
        """Add a mistake whose text is written out in full.

        >>> BANK = Bank("causal_mask")
        >>> BANK.rewritten("no-mask", "Nothing is hidden.", "def causal_mask(t): return torch.ones(t, t)")
        """
        self._add(id, says, self.fill(source), None, original)

    def released(self, id: str, says: str, original: str) -> None:
        """Add the buggy original that students get, read from the exercise's cell in the source notebook.

        >>> BANK = Bank("SelfAttention")
        >>> BANK.released("as-given", "This is what you were given: nothing is fixed yet.", original="001")
        """
        cell = course.solution_of(self.exercise)
        source = course.original_of(cell.source)
        if source is None:
            raise BankError(f"{self.exercise}: its cell {cell.grade_id} holds no original")
        self._add(id, says, source, None, original)
        self.mistakes[id] = replace(self.mistakes[id], as_given=True)

    def share(
        self,
        family: Mapping[str, Shared],
        *ids: str,
        within: str | None = None,
        edits: Mapping[str, Mapping[str, str]] | None = None,
        originals: Mapping[str, str] | None = None,
    ) -> None:
        """Add mistakes from a list of `shared` ones: those called `ids`, or all.

        `within` is the class of an earlier exercise, if the notebook has a copy of it and the mistake is in there.
        `edits` maps an id to the edit that this answer needs instead, keyed by place or by a text that occurs once in
        the answer. `originals` maps an id to the notebook that has the mistake.

        >>> SHARED = {"inverted": shared("True means {MEANS}, not the opposite.", RETURNED="~{RETURNED}")}
        >>> places, words = {"RETURNED": "torch.tril(everything)"}, {"MEANS": "may attend"}
        >>> BANK = Bank("causal_mask", places=places, words=words)
        >>> BANK.share(SHARED)
        >>> BANK["inverted"].says
        'True means may attend, not the opposite.'
        """
        ids = ids or tuple(family)
        if others := {*(edits or ()), *(originals or ())} - set(ids):
            raise BankError(f"{self.exercise}: {', '.join(sorted(others))} are not among what is shared")
        for id in ids:
            says = family[self._known(id, family, "takes", "mistakes of that family")].says
            if within is not None:
                says = f"In your `{within}`: {says[0].lower()}{says[1:]}"
            changes = (edits or {}).get(id, family[id].changes)
            changes = {self.places.get(place, place): new for place, new in changes.items()}
            original, price, sign = (originals or {}).get(id), family[id].price, family[id].sign
            self.mistake(id, says, changes, original=original, price=price, sign=sign)

    def fill(self, text: str) -> str:
        """Replace the names of places and words in a text by what they stand for; a word may contain such names."""
        return NAME.sub(self._named, text)

    def _where(self, id: str, edits: Mapping[str, str] | None, changes: Mapping[str, str]) -> dict[str, str]:
        """New texts by old ones, for edits by place and by text. Raises BankError."""
        places = {self._known(place, self.places, f"{id} changes", "places"): new for place, new in changes.items()}
        where = {self.places[place]: new for place, new in places.items()} | dict(edits or {})
        made = {self.fill(old): self.fill(new) for old, new in where.items()}
        for new in made.values():
            if (left := NAME.search(new)) and left[0] not in self.right:
                raise BankError(f"{self.exercise}: the text of {id} holds {left[0]}, none of its places and words")
        return made

    def _known(self, name: str, known: Collection[str], does: str, what: str) -> str:
        """The name itself. Raises BankError if it is none of those that are known."""
        if name in known:
            return name
        near = difflib.get_close_matches(name, known, n=1)
        meant = f"did you mean {near[0]}?" if near else f"these are {', '.join(known) or 'none'}"
        raise BankError(f"{self.exercise}: {does} {name}, which is none of its {what}: {meant}")

    def _require_change(self, id: str, source: str) -> None:
        if source == self.right:
            raise BankError(f"{self.exercise}: {id} changes nothing: its text is the right answer")

    def _named(self, found: re.Match[str]) -> str:
        name = found[1]
        return self.fill(self.words[name]) if name in self.words else self.places.get(name, found[0])

    def _add(
        self,
        id: str,
        says: str,
        source: str,
        edits: Mapping[str, str] | None,
        original: str | None,
        price: float | None = None,
        lasts: bool = False,
        sign: Sign | None = None,
    ) -> None:
        if id in self.mistakes:
            raise BankError(f"{self.exercise} has two mistakes called {id}")
        self._require_change(id, source)
        says = " ".join(self.fill(says).split())
        if unknown := NAME.search(says):
            raise BankError(
                f"{self.exercise}: what {id} says holds {unknown[0]}, which is none of its places and words"
            )
        self.mistakes[id] = Mistake(
            id, self.exercise, says, source, edits, original, self.around, price=price, lasts=lasts, sign=sign
        )


def _require_once(text: str, piece: str, what: str) -> None:
    """Raises BankError unless a piece of a text occurs in it exactly once."""
    if (many := text.count(piece)) != 1:
        longer = ": give a longer piece" if many else ""
        raise BankError(f"{what}: {piece!r} occurs {many} times in the solution, and must occur exactly once{longer}")


def edited(text: str, edits: Mapping[str, str], what: str) -> str:
    """The text with each key of `edits` replaced by its value. Raises BankError unless each key occurs exactly once."""
    for old in edits:
        _require_once(text, old, what)
    pieces = sorted((text.index(old), old, new) for old, new in edits.items())
    made, end = [], 0
    for start, old, new in pieces:
        if start < end:
            raise BankError(f"{what}: {old!r} overlaps with the edit before it")
        made += [text[end:start], new]
        end = start + len(old)
    return "".join(made) + text[end:]


def styles_of(exercise: str) -> list[str]:
    """The right answers to an exercise in other styles, by the names of their files."""
    return sorted(path.stem for path in (course.folder_of(exercise) / "answers").glob("*.py"))


def right_answer(exercise: str, style: str | None = None) -> str:
    """The text of the course's own solution, or of the right answer `style` in the exercise's folder."""
    if style is None:
        return course.answer_of(course.solution_of(exercise).source)
    return answer_path(exercise, style).read_text(encoding="utf-8")


def answer_path(exercise: str, style: str) -> Path:
    """The file of a right answer in another style."""
    return course.folder_of(exercise) / "answers" / f"{style}.py"


@functools.lru_cache(maxsize=4096)
def compiled(source: str, file: str) -> CodeType:
    """A cell as code; nobody is warned of what is odd in a mistake. Raises SyntaxError."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return compile(source, file, "exec")


def namespace_of(name: str, *sources: str) -> dict[str, object]:
    """The namespace after running some cells; it starts with what the setup cells of the notebooks give.

    It is made anew each time, since a mistake may keep something in a class or in a default argument. `name` stands in
    the places of errors, and for what is tried (bounds.py); the module is called as in a notebook, since a dataclass
    looks its module up. Raises bounds.Barred, and whatever the cells raise.
    """
    import numpy

    modules: dict[str, object] = {"math": math, "np": numpy}
    if course.imports_torch():
        import torch

        modules |= {"torch": torch, "nn": torch.nn, "F": torch.nn.functional}
    namespace = {"__name__": "__main__", **modules, "tqdm": _without_a_bar}
    with bounds.tried(name):
        for number, source in enumerate(sources, start=1):
            file = file_of(name, beside=number < len(sources))
            show_text(source, file)
            exec(compiled(source, file), namespace)
    return namespace


def _without_a_bar(steps: Iterable[object], **_: object) -> Iterable[object]:
    """Stand in for `tqdm`: the same steps, without a progress bar."""
    return steps


def show_text(source: str, file: str) -> None:
    """Let `inspect` find the text of a cell with a kernel: Triton looks for it."""
    if "triton.jit" in source:
        linecache.cache[file] = len(source), None, source.splitlines(keepends=True), file


def file_of(name: str, beside: bool = False) -> str:
    """What stands for the file of a cell in errors; `beside` says that it is not the last one, with the answer."""
    from ..checks.proxies import BESIDE, CELL

    return f"{BESIDE if beside else CELL}{name}>"


def bank(exercise: str) -> Mapping[str, Mistake]:
    """All mistakes of an exercise by id, in the order of its `mistakes.py`."""
    return mistakes_of(exercise).BANK if course.file_of(exercise, "mistakes") else {}


def mistakes_of(exercise: str) -> ModuleType:
    """The module of an exercise's mistakes. Raises CourseError if there is none."""
    return course.module_of(exercise, "mistakes")
