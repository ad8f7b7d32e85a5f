"""Finds the depth of a download at which names are students': folders of sections lie around it, their own inside it.

A name that only begins with a student's id or name, or is a first name, may be that of a folder around a whole class
(`HW 1`, `Ann Lee (Monday)`), so it ends the search only where nobody else is named inside. A folder that is wholly
called after a student does: what is in it is that student's own, and the names in it are chosen by that student.
"""

from __future__ import annotations

import functools
from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from .download import Download, is_notebook
from .shapes import Place


@dataclass(frozen=True)
class Named:
    """The students whom a name may name. `wholly`: by all of it, and not only by its beginning or a first name."""

    students: frozenset[str] = frozenset()
    wholly: bool = False

    def __bool__(self) -> bool:
        return bool(self.students)


class Depths:
    """The entries of a download by whom they are named after, as `read` says of each.

    `top` is the depth of the outermost entries that count: one student alone deeper inside may be anybody's own name.
    `items` are the entries that one student has handed in, `refused` folders that are called after a student and hold
    what is called after several others.
    """

    def __init__(
        self,
        download: Download,
        read: Callable[[Place], Named],
        top: int = 0,
        lone: bool = False,
        by_system: Callable[[Place], Named] = lambda entry: Named(),
    ) -> None:
        self.download, self._read, self._by_system = download, read, by_system
        self.levels = list(download.levels())
        self.wholly: dict[Place, set[str]] = defaultdict(set)  # who is named inside a folder, by all of a name
        self.partly: dict[Place, set[str]] = defaultdict(set)
        self.shaped: dict[Place, set[str]] = defaultdict(set)  # by a name that a system gives
        for level in self.levels:
            for entry in level:
                if download.may_be_handed_in(entry) and entry not in download.messages:
                    self._note(entry)
        self.items: set[Place] = set()
        self.refused: set[Place] = set()
        self.counts, self.wholes = list[int](), list[int]()  # of students named at each depth, and by all of a name
        for level in self.levels:
            self._count(level)
        fitting = [many if depth <= top or many > 1 or lone else 0 for depth, many in enumerate(self.counts)]
        most = max(fitting, default=0)
        self.depth = fitting.index(most) if most else None

    def _note(self, entry: Place) -> None:
        named = self.named(entry)
        shaped = self._by_system(entry) if not named.wholly and len(entry) > 1 else Named()
        for length in range(1, len(entry)):
            (self.wholly if named.wholly else self.partly)[entry[:length]].update(named.students)
            self.shaped[entry[:length]].update(shaped.students)

    @functools.cache  # noqa: B019  this object is used for one download
    def named(self, entry: Place) -> Named:
        return self._read(entry)

    def others(self, entry: Place) -> set[str]:
        """The other students whom names inside a folder name, if it may lie around their hand-ins; else none."""
        if not self.download.is_folder(entry):
            return set()
        own = self.named(entry)
        by_name = (self.wholly[entry] | self.shaped[entry]) - own.students
        if own.wholly:
            if self.shaped[entry] - own.students:
                return by_name
            has_own = any(map(is_notebook, self.download.entries(entry)))
            return by_name if len(by_name) > 1 and not has_own else set()
        several = (self.partly[entry] | by_name) - own.students
        return by_name or (several if len(several) > 1 else set())

    def open(self, level: Sequence[Place], for_shapes: bool = False) -> list[Place]:
        """The entries of a level that are in nobody's hand-in; `for_shapes`, the beginning of a name tells of none."""
        closed = self.refused | {item for item in self.items if not for_shapes or self.named(item).wholly}
        return [entry for entry in level if not any(entry[:length] in closed for length in range(1, len(entry)))]

    def _count(self, level: Sequence[Place]) -> None:
        """Count the students who are named at a level, and note `items` and `refused`."""
        mails = self.download.messages
        inside = self.open(level)
        called = [entry for entry in inside if entry not in mails and self.named(entry)]
        around = {entry for entry in called if self.others(entry)}
        whole = {entry for entry in called if self.named(entry).wholly}
        # sections called after their tutors: all who are wholly named here have several others inside
        are_sections = len(whole) > 1 and whole <= around
        self.refused |= (around & whole) if not are_sections else set()
        new = set(called) - around
        self.items |= new | {entry for entry in inside if entry in mails}
        counted = {entry for entry in new if self.named(entry).wholly or self.download.may_be_handed_in(entry)}
        many = sum(entry in mails for entry in inside)
        self.counts.append(many + len({self.named(entry).students for entry in counted}))
        self.wholes.append(many + len({self.named(entry).students for entry in counted & whole}))

    def entries(self, top: Sequence[Place]) -> tuple[list[Place], dict[Place, set[str]]]:
        """(what people have handed in, the folders that are left out, with those who are named inside).

        Without a student on the roster at any depth, the entries are those at the `top`.
        """
        depth = len(top[0]) - 1 if top and self.depth is None else self.depth or 0
        found: list[Place] = []
        left: dict[Place, set[str]] = {}
        for at, level in enumerate(self.levels[: depth + 1]):
            for entry in self.open(level):
                # a hand-in outside the depth of the others, with a name that is nobody's
                is_loose = not self.download.is_folder(entry) and self.download.may_be_handed_in(entry)
                inside = self.others(entry)
                if entry in self.refused or (at == depth and inside):
                    left[entry] = inside
                elif entry in self.items or at == depth or (is_loose and self.depth is not None):
                    found.append(entry)
        return found, left
