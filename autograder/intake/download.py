"""An unpacked download: what is in it, by place, and which of it may be somebody's hand-in."""

from __future__ import annotations

import bisect
import functools
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from .shapes import Place

DEEPEST = 5  # folders around those of students


def is_notebook(entry: Place) -> bool:
    """Whether a name is that of a notebook, whatever a browser or a system has put behind it."""
    return ".ipynb" in entry[-1].lower()


@dataclass
class Download:
    """An unpacked download: paths by place, the full names of the archives in it, and the paths of messages.

    `name` is that of the download itself, without a suffix. `is_archive`: it is an archive, not a folder or a message.
    `left_out` says why something in it could not be unpacked, by place: somebody has handed that in, too.
    """

    files: dict[Place, Path]
    archives: Mapping[Place, str] = field(default_factory=dict)
    messages: Mapping[Place, Path] = field(default_factory=dict)
    name: str = ""
    is_archive: bool = False
    left_out: Mapping[Place, str] = field(default_factory=dict)

    @functools.cached_property
    def _inside(self) -> dict[Place, list[Place]]:
        """The places directly in each folder, in order."""
        found: dict[Place, dict[Place, None]] = {}
        for place in self._places:
            for depth in range(len(place)):
                found.setdefault(place[:depth], {})[place[: depth + 1]] = None
        return {place: list(entries) for place, entries in found.items()}

    @functools.cached_property
    def _places(self) -> list[Place]:
        return sorted(self.files.keys() | self.left_out.keys())

    def entries(self, inside: Place = ()) -> list[Place]:
        """The places directly in a folder, in order."""
        return self._inside.get(inside, [])

    def levels(self) -> Iterator[list[Place]]:
        """The entries in the outermost folder, those in its folders, and so on; an archive is not entered."""
        level = self.entries()
        for _ in range(DEEPEST):
            if not level:
                return
            yield level
            level = [inner for entry in level if self.is_folder(entry) for inner in self.entries(entry)]

    def is_folder(self, place: Place) -> bool:
        """Whether it is a folder; an archive or a message in the download is what one person handed in."""
        return not self._is_file(place) and place not in self.archives and place not in self.messages

    def may_be_handed_in(self, entry: Place) -> bool:
        """Whether an entry may be somebody's hand-in: a folder, an archive, or a notebook."""
        return not self._is_file(entry) or is_notebook(entry)

    def _is_file(self, place: Place) -> bool:
        """Whether it is a file of its own, unpacked or not; an archive is none."""
        is_left_out = place in self.left_out and place not in self.archives and place not in self._inside
        return place in self.files or is_left_out

    def below(self, place: Place) -> list[tuple[Place, Path]]:
        """The files at or below a place, in order."""
        return [(inner, self.files[inner]) for inner in self._below(place) if inner in self.files]

    def left_out_below(self, place: Place) -> list[str]:
        """What could not be unpacked at or below a place, and why."""
        return [
            f"{self.full_name(inner)}: {self.left_out[inner]}" for inner in self._below(place) if inner in self.left_out
        ]

    def _below(self, place: Place) -> Iterator[Place]:
        for at in range(bisect.bisect_left(self._places, place), len(self._places)):
            if self._places[at][: len(place)] != place:
                break
            yield self._places[at]

    def full_name(self, place: Place) -> str:
        """The name of an entry in the download: an archive's with its suffix, which its unpacked folder lacks."""
        return self.archives.get(place, place[-1])
