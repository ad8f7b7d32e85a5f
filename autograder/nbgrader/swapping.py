"""Makes a release or the solutions beside the old ones, and swaps the two when done.

nbgrader (0.9.6) removes the old folder first, and then what it has made if anything goes wrong. Here, whatever happens
before the swap, a kill included, leaves the old folder as it was.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
from typing import Any

from nbgrader.converters.base import BaseConverter
from nbgrader.converters.generate_assignment import GenerateAssignment
from nbgrader.converters.generate_solution import GenerateSolution
from nbgrader.utils import rmtree

NEW = ".new-"  # the prefix of a folder in the making; what does not begin with a letter is no assignment
AT_FDCWD, RENAME_EXCHANGE = -100, 2  # of Linux's renameat2

_format_dest = BaseConverter._format_dest
_init_destination = BaseConverter.init_destination
_set_permissions = BaseConverter.set_permissions


def apply() -> None:
    """Have nbgrader's generators work so."""
    for converter in (GenerateAssignment, GenerateSolution):
        converter._format_dest = format_dest
        converter.init_destination = init_destination
        converter.set_permissions = set_permissions


def format_dest(self: Any, assignment_id: str, student_id: str, escape: bool = False) -> str:
    """nbgrader's own path of what is made; while it is in the making, that of the new folder beside it."""
    there = _format_dest(self, assignment_id, student_id, escape=escape)
    return _beside(there) if getattr(self, "_in_the_making", False) and not escape else there


def init_destination(self: Any, assignment_id: str, student_id: str) -> bool:
    """Whether there is anything to make; if so, it is made in an empty folder beside the one that is there."""
    self._in_the_making = False
    there = os.path.normpath(_format_dest(self, assignment_id, student_id))
    if self.coursedir.notebook_id != "*" or (os.path.exists(there) and not self.force):
        return _init_destination(self, assignment_id, student_id)
    if os.path.lexists(_beside(there)):
        rmtree(_beside(there))
    self._in_the_making = True
    return True


def set_permissions(self: Any, assignment_id: str, student_id: str) -> None:
    """The last step of making a folder: then it takes the place of the one that is there."""
    _set_permissions(self, assignment_id, student_id)
    if getattr(self, "_in_the_making", False):
        self._in_the_making = False
        there = os.path.normpath(_format_dest(self, assignment_id, student_id))
        swap(_beside(there), there)


def _beside(path: str) -> str:
    folder, name = os.path.split(os.path.normpath(path))
    return os.path.join(folder, NEW + name)


def swap(new: str, there: str) -> None:
    """Put a new folder into the place of the one that is there, if any, and remove the old one. Raises OSError."""
    if not os.path.lexists(there):
        os.rename(new, there)
        return
    if not exchange(new, there):  # on a file system that cannot: for a moment neither is there
        old = f"{new}.old"
        with contextlib.suppress(FileNotFoundError):
            rmtree(old)
        os.rename(there, old)
        os.rename(new, there)
        new = old
    rmtree(new)


def exchange(one: str, other: str) -> bool:
    """Exchange two folders in one step; returns whether the system could."""
    try:
        rename = ctypes.CDLL(None, use_errno=True).renameat2
    except (AttributeError, OSError):
        return False
    return rename(AT_FDCWD, os.fsencode(one), AT_FDCWD, os.fsencode(other), RENAME_EXCHANGE) == 0
