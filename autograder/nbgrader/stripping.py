"""Strips the notebooks that students get of what belongs to a solution and is not in their text.

nbgrader takes the text of a solution out of its cell, and leaves the rest: pictures that were pasted into the model
answer (nbgrader#1782), and whatever an editor has noted in the metadata. The kernel is the one that every student has.
"""

from __future__ import annotations

import copy
import re
from collections.abc import Iterable, Mapping
from typing import Any
from urllib.parse import quote

from .. import course

KERNEL = {"display_name": "Python 3 (ipykernel)", "language": "python", "name": "python3"}  # as ipykernel installs it
# of a notebook: what Jupyter, this kit (course.py, desk_cell.py) and Colab's choice of a machine need
OF_NOTEBOOKS = {"kernelspec", "language_info", "needs", "autograder", "title", "authors", "accelerator", "colab"}
OF_COLAB = {"gpuType", "machine_shape"}
OF_TEXTS = {"id", "cell_type", "metadata", "source", "attachments"}  # by nbformat's schema
OF_CODE = {"id", "cell_type", "metadata", "source", "outputs", "execution_count"}
# what Colab, JupyterLab, papermill and an extension note of a run, with the author's name and times
OF_A_RUN = {"executionInfo", "outputId", "colab", "execution", "papermill", "ExecuteTime"}
# of a cell that holds a solution, a check or a scheme: what Jupyter, nbgrader and Colab need
OF_ANSWERS = {"nbgrader", "deletable", "editable", "jupyter", "cellView", "tags", "id"}
OF_JUPYTER = {"source_hidden", "outputs_hidden"}
OF_NBGRADER = {"schema_version", "grade_id", "grade", "solution", "locked", "task", "points", "checksum", "cell_type"}
# nbclient's, the kit's own, papermill's and those of Jupyter Book; any other tag may be a note
TAGS = {"raises-exception", "lesson", "diagram", "parameters"} | {
    f"{what}-{part}" for what in ("hide", "remove") for part in ("input", "output", "cell")
}
REGION = re.compile(r"^.*\bBEGIN (MARK SCHEME|HIDDEN TESTS)\b.*\n(?:.*\n)*?.*\bEND \1\b.*$", re.MULTILINE)


def strip(notebook: Any) -> None:
    """Strip a notebook in which solutions have been replaced; regions that nbgrader removes later count as removed."""
    strip_metadata(notebook["metadata"])
    for cell in notebook["cells"]:
        strip_cell(cell, REGION.sub("", course.source_of(cell)))


def strip_metadata(metadata: Any) -> list[str]:
    """Strip a notebook's metadata, and set its kernel; returns the keys that are gone."""
    gone = _drop(metadata, OF_NOTEBOOKS)
    if "colab" in metadata and not _keep(metadata, "colab", OF_COLAB):
        del metadata["colab"]
    metadata["kernelspec"] = dict(KERNEL)
    metadata["language_info"] = {"name": KERNEL["language"]}
    return gone


def strip_cell(cell: Any, text: str) -> list[str]:
    """Strip a cell with this released text; returns what is gone, in words."""
    gone = _drop(cell, OF_CODE if cell["cell_type"] == "code" else OF_TEXTS)
    attached = cell.get("attachments")
    names = [*attached] if isinstance(attached, Mapping) else []
    if unused := [name for name in names if not _shows(text, name)]:
        gone += [f"the attachment {name!r}" for name in unused]
        cell["attachments"] = {name: attached[name] for name in names if name not in unused}
    if "attachments" in cell and not cell["attachments"]:
        del cell["attachments"]
    metadata = cell["metadata"]
    if not _is_of_grading(cell):
        return gone + _drop(metadata, metadata.keys() - OF_A_RUN)
    gone += _drop(metadata, OF_ANSWERS)
    for key, kept in (("nbgrader", OF_NBGRADER), ("jupyter", OF_JUPYTER)):
        before = metadata.get(key)
        if key in metadata and before != (after := _keep(metadata, key, kept)):
            gone += sorted(map(str, before.keys() - after.keys())) if isinstance(before, Mapping) else [key]
    if "tags" in metadata:
        tags = metadata["tags"] if isinstance(metadata["tags"], list) else []
        gone += [f"the tag {tag!r}" for tag in tags if tag not in TAGS]
        metadata["tags"] = [tag for tag in tags if tag in TAGS]
    if cell.get("outputs"):
        gone.append("outputs")
        cell["outputs"] = []
    return gone


def unstripped(notebook: Mapping[str, Any]) -> Iterable[str]:
    """What a released notebook holds and should not, as far as it is seen without its source; it stays as it is."""
    notebook = copy.deepcopy(dict(notebook))
    name = (notebook["metadata"].get("kernelspec") or {}).get("name")
    for key in strip_metadata(notebook["metadata"]):
        yield f"{key!r} in its metadata"
    if name != KERNEL["name"]:
        yield f"the name of its author's kernel, {name!r}"
    for cell in notebook["cells"]:
        where = (cell["metadata"].get("nbgrader") or {}).get("grade_id") or cell.get("id", "")
        for what in strip_cell(cell, course.source_of(cell)):
            yield f"what belongs to the cell {where!r} and not to its text: {what}"


def _is_of_grading(cell: Mapping[str, Any]) -> bool:
    known = cell["metadata"].get("nbgrader") or {}
    return bool(known.get("solution") or known.get("grade") or known.get("task"))


def _shows(text: str, name: str) -> bool:
    """Whether a text has a reference to this attachment."""
    names = "|".join(re.escape(one) for one in {name, quote(name), quote(name, safe="")})
    return re.search(rf"attachment:(?:{names})(?![\w.%-])", text) is not None


def _keep(metadata: Any, key: str, kept: set[str]) -> dict[str, Any]:
    """Of the mapping that is there under a key, keep only these keys; returns it."""
    there = metadata[key] if isinstance(metadata[key], Mapping) else {}
    metadata[key] = {name: value for name, value in there.items() if name in kept}
    return metadata[key]


def _drop(there: Any, kept: Iterable[str]) -> list[str]:
    """Drop all keys but these; returns the dropped ones."""
    gone = sorted(there.keys() - set(kept))
    for key in gone:
        del there[key]
    return gone
