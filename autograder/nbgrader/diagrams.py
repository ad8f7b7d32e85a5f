"""Stores what a lesson's diagrams draw in the notebooks that students get, so that it is seen before a cell is run.

A cell with the tag `diagram` draws, or prepares what another one draws, without anything that a student writes. Only
these cells, and those that nbgrader locks, such as a lesson's first, are run for it: in the sandbox, in order. GitHub
and a Jupyter that does not trust a notebook show the pictures, since they are PNG. What a cell's metadata call `alt` is
stored with its picture.
"""

from __future__ import annotations

import base64
import io
from pathlib import Path
from typing import TYPE_CHECKING, Any

import nbformat

from .. import course
from ..errors import ChildGone, CourseError, Interrupted
from ..grading.outputs import clean_outputs

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ..sandbox.parent import WarmParent
    from .runs import NbgraderCourse

Pictures = dict[str, list[dict[str, Any]]]  # outputs of a notebook, by the ids of their cells

TAG = "diagram"
COLORS = 64  # of a stored picture: a third of the bytes, and no difference to the eye
SECONDS = 60.0  # for one cell


def pictures(parent: WarmParent, name: str, cells: Sequence[dict[str, Any]]) -> Pictures:
    """What the diagrams of an assignment draw in a child of the sandbox; `cells` are those of its source notebook.

    Raises CourseError, which names the cell, if one stops with an error.
    """
    drawn: Pictures = {}
    if not any(map(_is_diagram, cells)):
        return drawn
    child = parent.fork()
    try:
        for cell in filter(_is_run, cells):
            request = {"op": "cell", "source": course.source_of(cell), "name": cell["id"]}
            try:
                reply, _ = child.request(request, seconds=SECONDS)
            except (ChildGone, Interrupted) as problem:
                raise _stopped(name, cell["id"], str(problem)) from None
            if error := reply.get("error"):
                raise _stopped(name, cell["id"], f"{error['type']}: {error['message']}")
            if _is_diagram(cell):
                shown = [output.get("data", {}).get("image/png") for output in clean_outputs(reply["outputs"])]
                drawn[cell["id"]] = [
                    _as_stored(picture, cell["metadata"].get("alt", "")) for picture in shown if picture
                ]
    finally:
        child.kill()
    return drawn


def store(runs: NbgraderCourse, name: str, drawn: Pictures) -> None:
    """Store an assignment's `pictures` in its notebooks in release/ and solutions/."""
    if not drawn:
        return
    for folder in (runs.directory.release_directory, runs.directory.solution_directory):
        path = Path(runs.root, folder, name, f"{name}.ipynb")
        notebook = nbformat.read(path, as_version=nbformat.NO_CONVERT)
        for cell in notebook["cells"]:
            if outputs := drawn.get(cell["id"]):
                cell["outputs"] = [nbformat.from_dict(output) for output in outputs]
        nbformat.write(notebook, path)


def _is_diagram(cell: dict[str, Any]) -> bool:
    return cell["cell_type"] == "code" and TAG in cell["metadata"].get("tags", [])


def _is_run(cell: dict[str, Any]) -> bool:
    """Whether a cell is a diagram, or one that nbgrader locks: neither a student's answer nor a check."""
    known = cell["metadata"].get("nbgrader", {})
    is_locked = cell["cell_type"] == "code" and bool(known) and not known.get("solution") and not known.get("grade")
    return is_locked or _is_diagram(cell)


def _stopped(name: str, cell: str, said: str) -> CourseError:
    return CourseError(
        f"The diagrams of {name} cannot be drawn: the cell {cell} stops with {said}. A cell tagged {TAG!r} may use only"
        " cells with that tag and those that nbgrader locks, which are the same for every student."
    )


def _as_stored(png: str, alt: str) -> dict[str, Any]:
    """The output that shows a picture, made smaller: on white, in a few colours, and without a program's name.

    `alt` says what is seen, to whoever can't see it: nbconvert's classic template writes it into a page, and where no
    picture is shown, such as in a terminal, it is what there is.
    """
    from PIL import Image  # matplotlib needs it, so it is there

    picture = Image.open(io.BytesIO(base64.b64decode(png))).convert("RGBA")
    sheet = Image.new("RGBA", picture.size, "white")
    sheet.alpha_composite(picture)
    small = io.BytesIO()
    sheet.convert("RGB").quantize(COLORS, dither=Image.Dither.NONE).save(small, "PNG", optimize=True)
    data = {"image/png": base64.b64encode(small.getvalue()).decode(), **({"text/plain": alt} if alt else {})}
    metadata = {"image/png": {"alt": alt}} if alt else {}
    return {"output_type": "display_data", "data": data, "metadata": metadata}
