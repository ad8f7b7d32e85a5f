"""A student's autograded notebook as it is shown on the feedback page: its cells as HTML that does nothing."""

from __future__ import annotations

import re
from html import escape
from typing import TYPE_CHECKING, Any

from nbconvert.filters import strip_ansi

from ..report import lesson
from ..report.feedback_page import ShownCell
from . import safe_markdown

if TYPE_CHECKING:
    from collections.abc import Iterator

MAX_OUTPUT = 20_000  # characters of a text that a cell printed; of a longer one, the beginning and the end are shown
BEGINNING = 300  # characters of a long cell that is folded in the notebook
_PICTURE = re.compile(r"[A-Za-z0-9+/=\s]+")
_HEADING = re.compile(r"<(/?)h([1-6])>")
_ABSENT = re.compile(r"No module named '([\w.]+)'")


def shown_cells(notebook: dict[str, Any], plainly: bool = False) -> list[ShownCell]:
    """The cells of a parsed notebook; `plainly` takes no text for Markdown, nor for Python. Raises ValueError."""
    try:
        with safe_markdown.one_page():
            levels = _Levels()
            number, shown = 0, []
            for cell in notebook["cells"]:
                was_added = "note" in cell["metadata"].get("autograder", {})
                number += cell["cell_type"] == "code" and not was_added
                shown.append(_shown(cell, 0 if was_added else number, plainly, levels))
            return shown
    except (KeyError, TypeError, AttributeError):
        raise ValueError("it is not a notebook: grade it again") from None


def comment(text: str) -> str:
    """A comment on an answer as HTML."""
    return _Levels(lowest=3).fitted(safe_markdown.with_formulas(text))


def _shown(cell: dict[str, Any], number: int, plainly: bool, levels: _Levels) -> ShownCell:
    """One cell; of a test, only its name and what it found, which tells nothing of hidden tests."""
    about = cell["metadata"].get("nbgrader", {})
    kind, source = cell["cell_type"], _text(cell["source"])
    is_test = bool(kind == "code" and about.get("grade") and not about.get("solution"))
    outputs = cell.get("outputs", []) if kind == "code" else []
    return ShownCell(
        kind=kind,
        number=number if kind == "code" else 0,
        grade_id=about.get("grade_id", ""),
        is_test=is_test,
        note=_text(cell["metadata"].get("autograder", {}).get("note", "")),
        source="" if is_test else _source(kind, _shortened(cell, source), plainly, levels),
        outputs=[] if is_test else [made for output in outputs for made in _output(output)],
        found="".join(_text(o.get("data", {}).get("text/plain", "")) for o in outputs) if is_test else "",
        headings=lesson.headings_in(source[: safe_markdown.MAX_CELL]) if kind == "markdown" else [],
        absent=[module for output in outputs for module in _absent(output)],
    )


def _shortened(cell: dict[str, Any], source: str) -> str:
    """The source; of a code cell that is long and folded in the notebook, such as one with weights, its beginning."""
    is_folded = cell["cell_type"] == "code" and cell["metadata"].get("jupyter", {}).get("source_hidden") is True
    if not is_folded or len(source) <= safe_markdown.MAX_CELL:
        return source
    return f"{source[:BEGINNING]}\n… {len(source) - BEGINNING:,} more characters: this cell is folded in the notebook"


def _source(kind: str, source: str, plainly: bool, levels: _Levels) -> str:
    if plainly or kind not in ("code", "markdown"):
        return safe_markdown.plain(source)
    return safe_markdown.highlighted(source) if kind == "code" else levels.fitted(safe_markdown.with_formulas(source))


def _output(output: dict[str, Any]) -> Iterator[str]:
    """An output as HTML: a picture, or text without colours."""
    if output["output_type"] == "error":
        yield _printed("\n".join(_text(line) for line in output["traceback"]))
    elif output["output_type"] == "stream":
        yield _printed(_text(output["text"]))
    else:
        picture = _text(output["data"].get("image/png", ""))
        if _PICTURE.fullmatch(picture):
            yield f'<img src="data:image/png;base64,{"".join(picture.split())}" alt="A picture that this cell drew">'
        elif text := _text(output["data"].get("text/plain", "")):
            yield _printed(text)


def _printed(text: str) -> str:
    text = strip_ansi(text)
    if len(text) > MAX_OUTPUT:
        text = f"{text[: MAX_OUTPUT // 2]}\n…\n{text[-MAX_OUTPUT // 2 :]}"
    return f"<pre>{escape(text)}</pre>"


def _absent(output: dict[str, Any]) -> list[str]:
    """The module that an import did not find, or nothing."""
    if output["output_type"] != "error" or output.get("ename") != "ModuleNotFoundError":
        return []
    return _ABSENT.findall(_text(output.get("evalue", "")))[:1]


def _text(value: object) -> str:
    """A text of a notebook, which may be a list of lines. Raises TypeError."""
    text = value if isinstance(value, str) else "".join(value)  # pyright: ignore[reportCallIssue, reportArgumentType]
    return text.encode("utf-8", "replace").decode("utf-8")


class _Levels:
    """Fits the headings of a page's cells below its own: none skips a level, which would mislead a screen reader."""

    def __init__(self, lowest: int = 2) -> None:
        self.lowest = self.level = lowest

    def fitted(self, made: str) -> str:
        """HTML of Markdown with its headings at levels that fit, and with no empty heading of a table's column."""
        return _HEADING.sub(self._fitted, made).replace("<th></th>", "<td></td>")

    def _fitted(self, found: re.Match[str]) -> str:
        if not found[1]:
            self.level = min(int(found[2]) + self.lowest, self.level + 1, 6)
        return f"<{found[1]}h{self.level}>"
