"""The few pages that doors have of their own."""

from __future__ import annotations

from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined
from starlette.responses import HTMLResponse

from ..sessions import Sessions

_ENVIRONMENT = Environment(
    loader=PackageLoader(__package__, ""), autoescape=True, undefined=StrictUndefined, trim_blocks=True
)


def page(sessions: Sessions, template: str, status: int = 200, **values: Any) -> HTMLResponse:
    """A page made by a template of this folder."""
    text = _ENVIRONMENT.get_template(template).render(base=sessions.base, **values)
    policy = f"default-src 'none'; style-src 'self'; form-action 'self'; base-uri 'none'; {sessions.frame_ancestors}"
    return HTMLResponse(text, status, {**sessions.headers, "Content-Security-Policy": policy})
