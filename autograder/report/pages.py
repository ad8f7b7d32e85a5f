"""Jinja's environment for the pages of students and instructors, which escapes whatever no filter calls harmless."""

from pathlib import Path

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup

from .outcome_text import code_spans, points


def environment(folder: Path = Path(__file__).parent) -> Environment:
    """An environment with the templates of a folder, by default this one, and filters for texts and numbers."""
    made = Environment(
        loader=FileSystemLoader(folder),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    made.filters["code_spans"] = lambda text: Markup(code_spans(text))
    made.filters["points"] = lambda value: points(round(value, 2))
    made.filters["percent"] = lambda value: f"{value:.0%}"
    return made
