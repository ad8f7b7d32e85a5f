"""Opens released notebooks in Colab: a badge at the top of each, and cells that are folded there as in JupyterLab.

The badge leads to where the instructor publishes `release/`, which the course's configuration says once:

    c.Release.colab = "https://colab.research.google.com/github/OWNER/REPOSITORY/blob/BRANCH/release"

Without that line there is no badge.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from nbgrader.preprocessors import NbGraderPreprocessor

from ..course import BADGE
from ..errors import CourseError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from nbformat import NotebookNode

PICTURE = "https://colab.research.google.com/assets/colab-badge.svg"
# only what neither Markdown nor a formula gives a meaning to, and no query or fragment: a path is added at the end
ADDRESS = re.compile(r"https?://[A-Za-z0-9][A-Za-z0-9.-]*(?::\d+)?(?:/(?:[A-Za-z0-9._~@:=+,-]|%[0-9A-Fa-f]{2})*)*")


def configured(config: Mapping) -> str:
    """The address of the published `release/` in an nbgrader configuration, or "". Raises CourseError."""
    address = config["Release"].get("colab", "") if "Release" in config else ""
    if not address:
        return ""
    if not isinstance(address, str) or not ADDRESS.fullmatch(address):
        raise CourseError(
            "c.Release.colab in nbgrader_config.py should be the address of the folder release/ as Colab opens it,"
            " https://colab.research.google.com/github/OWNER/REPOSITORY/blob/BRANCH/release, with other characters than"
            f" letters, digits and ._~@:=+,- written as %20 and the like; it is {address!r}."
        )
    return address.rstrip("/")


def badge(address: str, assignment: str, notebook: str) -> str:
    """The Markdown that opens a released notebook in Colab, with an empty line after it; "" without an address."""
    if not address:
        return ""
    return f"{BADGE}{PICTURE})]({address}/{quote(assignment)}/{quote(notebook)}.ipynb)\n\n"


def welcome(cells: Sequence[Any]) -> Any:
    """The cell that carries the badge: the first text that is no part of grading. Raises CourseError."""
    for cell in cells:
        if cell["cell_type"] == "markdown" and "nbgrader" not in cell["metadata"]:
            return cell
    raise CourseError("A notebook needs a text that is not graded to carry the badge of c.Release.colab.")


class OpenInColab(NbGraderPreprocessor):
    """Puts the badge into a release, and folds the code in Colab that `source_hidden` folds in JupyterLab.

    Colab shows a folded cell as "Show code". Raises CourseError for an address that cannot be one.
    """

    def preprocess(self, nb: NotebookNode, resources: Any) -> tuple[NotebookNode, Any]:
        where = resources["nbgrader"]
        if mark := badge(configured(self.config), where["assignment"], where["notebook"]):
            text = welcome(nb.cells)
            text["source"] = mark + text["source"]
        for cell in nb.cells:
            if cell.metadata.get("jupyter", {}).get("source_hidden"):
                cell.metadata["cellView"] = "form"
        return nb, resources
