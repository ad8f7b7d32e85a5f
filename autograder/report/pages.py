"""Jinja's environment for the pages of students and instructors, which escapes whatever no filter calls harmless.

What is not printable is replaced: in code as in names, a change of direction shows a reader another text than is there.
"""

from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup

from ..verdict import printable
from .outcome_text import code_spans, points


def environment(folder: Path = Path(__file__).parent) -> Environment:
    """An environment with the templates of a folder, by default this one, and filters for texts and numbers."""
    made = Environment(
        loader=FileSystemLoader(folder),
        autoescape=True,
        undefined=StrictUndefined,
        finalize=_shown,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    made.filters["code_spans"] = lambda text: Markup(code_spans(printable(text)))
    made.filters["points"] = lambda value: points(round(value, 2))
    made.filters["percent"] = lambda value: f"{value:.0%}"
    return made


def _shown(value: Any) -> Any:
    """A value as it goes into a page; Markup was made of such values."""
    return printable(value) if isinstance(value, str) and not isinstance(value, Markup) else value
