"""A desk: what its application, its pages and its commands share."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .gradebook_reader import GradebookReader
    from .painter import Painter
    from .queue import Queue
    from .record import Record
    from .settings import Settings
    from .visitors import Door, Guard


@dataclass
class Desk:
    """What all requests share; `app.desk_of(request)` gives it.

    `base` is the path under which the desk is reached, such as "/" or "/services/desk/": it begins and ends with a
    slash. `settings` gives those of an assignment. Without a `queue`, somebody else grades.
    """

    root: Path
    record: Record
    book: GradebookReader
    settings: Callable[[str], Settings]
    queue: Queue | None = None
    painter: Painter | None = None
    base: str = "/"
    doors: Sequence[Door] = ()
    guard: Guard | None = None
    title: str = "The desk"

    def path(self, *parts: str) -> str:
        """A path below the desk's base."""
        return self.base + "/".join(parts)
