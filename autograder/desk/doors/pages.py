"""The few pages that doors have of their own, and the forms that come back."""

from __future__ import annotations

import asyncio
from typing import Any
from urllib.parse import parse_qsl

from starlette.requests import Request
from starlette.responses import HTMLResponse

from .. import pages
from ..app import desk_of
from ..sessions import Sessions
from ..visitors import Refused, Visitor

LARGEST = 256 * 1024  # bytes of a form: a launch with all its claims has some 10 kB
FIELDS = 64
SECONDS = 15.0  # until it must be there: anybody may send one, and connections are few


def page(
    request: Request, sessions: Sessions, template: str, visitor: Visitor | None = None, **values: Any
) -> HTMLResponse:
    """A page made by a template of the desk."""
    text = pages.render(desk_of(request), template, sessions.token(request), visitor, **values)
    return HTMLResponse(text, headers=sessions.headers)


async def form(request: Request) -> dict[str, str]:
    """The fields of a form that a page has sent, within limits. Raises Refused."""
    if request.headers.get("content-type", "").partition(";")[0].strip().lower() != "application/x-www-form-urlencoded":
        raise Refused("This should have been sent by a form.", 415)
    body = bytearray()
    try:
        async with asyncio.timeout(SECONDS):
            async for part in request.stream():
                body += part
                if len(body) > LARGEST:
                    raise Refused(f"This form has more than {LARGEST // 1024} kB.", 413)
    except TimeoutError:
        raise Refused("This form did not arrive: send it again.", 408) from None
    try:
        pairs = parse_qsl(body.decode(), keep_blank_values=True, max_num_fields=FIELDS)
    except ValueError:  # no UTF-8, or too many fields
        raise Refused("This form cannot be read.", 400) from None
    fields = dict(pairs)
    if len(fields) != len(pairs):
        raise Refused("This form has a field twice.", 400)
    return fields
