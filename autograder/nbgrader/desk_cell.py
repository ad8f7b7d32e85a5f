"""Lets released notebooks hand themselves in: a last cell for each, and `hand_in.py` beside it.

The desk's address, which the course's configuration says once, is in both:

    c.Desk.address = "https://desk.example/attention"

Without that line, a release has neither.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

import nbformat
from nbgrader.preprocessors import NbGraderPreprocessor
from traitlets.config.loader import LazyConfigValue

from .. import course
from ..errors import CourseError
from ..submission import hand_in_cell

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from nbformat import NotebookNode

CLIENT = course.PACKAGE / "templates" / "release" / hand_in_cell.FILE
ADDRESS = re.compile(r"https?://[A-Za-z0-9][A-Za-z0-9.-]*(?::\d+)?(?:/[A-Za-z0-9._~-]+)*/?")
OF_ADDRESS = re.compile(r'^ADDRESS = ""', re.MULTILINE)


def configured(config: Mapping) -> str:
    """The desk's address in an nbgrader configuration, or "". Raises CourseError."""
    address = config["Desk"].get("address", "") if "Desk" in config else ""
    if isinstance(address, LazyConfigValue) or not address:
        return ""
    if not isinstance(address, str) or not ADDRESS.fullmatch(address) or not urlsplit(address).hostname:
        raise CourseError(
            "c.Desk.address in nbgrader_config.py should be the address at which students reach the desk, such as"
            f" https://desk.example/attention; it is {address!r}."
        )
    return address.rstrip("/")


def client(address: str) -> str:
    """The text of `hand_in.py` for the desk at this address."""
    return OF_ADDRESS.sub(lambda _: f'ADDRESS = "{address}"', CLIENT.read_text(encoding="utf-8"), count=1)


def write(root: Path, assignment: str, config: Mapping) -> None:
    """Write `hand_in.py` beside a released notebook, if the course has a desk. Raises CourseError.

    The cell that uses it must be there: it is added by HandInCell, if the configuration names that.
    """
    if not (address := configured(config)):
        return
    folder = root / "release" / assignment
    cells = course.cells_in(folder / f"{assignment}.ipynb")
    if not any(hand_in_cell.only_hands_in(course.source_of(cell)) for cell in cells):
        raise CourseError(
            "c.Desk.address is set in nbgrader_config.py, and c.GenerateAssignment.preprocessors lacks HandInCell: add"
            f" it behind LockCells, from {__name__}."
        )
    if (root / "source" / assignment / hand_in_cell.FILE).exists():
        raise CourseError(
            f"source/{assignment}/{hand_in_cell.FILE} has the name of the file with which students hand in: rename it."
        )
    (folder / hand_in_cell.FILE).write_text(client(address), encoding="utf-8")


class HandInCell(NbGraderPreprocessor):
    """Adds the last cell of a release, which hands it in, and notes in the notebook of which assignment it is."""

    def preprocess(self, nb: NotebookNode, resources: Any) -> tuple[NotebookNode, Any]:
        if address := configured(self.config):
            name = resources["nbgrader"]["assignment"]
            nb.cells.append(cell_of(address, course.parse(nb, f"{resources['nbgrader']['notebook']}.ipynb")))
            nb.metadata["autograder"] = {"assignment": name}
        return nb, resources


def cell_of(address: str, assignment: course.Assignment) -> Any:
    """The cell that hands in a notebook of this assignment."""
    example = assignment.exercises[0].name if assignment.exercises else "softmax"
    return nbformat.v4.new_code_cell(hand_in_cell.text(address, example), id=hand_in_cell.ID)
