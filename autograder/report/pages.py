"""Jinja's environment for the pages of students and instructors, which escapes whatever no filter calls harmless."""

from pathlib import Path

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup

from .outcome_text import code_spans, points


def environment() -> Environment:
    """An environment with this folder's templates, and filters for texts and numbers."""
    made = Environment(
        loader=FileSystemLoader(Path(__file__).parent),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    made.filters["code_spans"] = lambda text: Markup(code_spans(text))
    made.filters["points"] = lambda value: points(round(value, 2))
    made.filters["percent"] = lambda value: f"{value:.0%}"
    return made
