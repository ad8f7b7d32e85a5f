"""`hand_in.py` at the desk, for notebooks that are opened alone: Colab has no file beside them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from starlette.responses import PlainTextResponse, Response
from starlette.routing import Route

from ..nbgrader import desk_cell
from ..submission import hand_in_cell
from .visitors import Refused

if TYPE_CHECKING:
    from starlette.requests import Request
    from starlette.routing import BaseRoute


def routes(config: Mapping) -> Sequence[BaseRoute]:
    """The route, below the desk's base. Everybody may have the file: it holds the desk's address and nothing else.

    It is made once, as `autograder build` writes it beside notebooks: nobody who asks for it, and anybody may, makes
    the desk read the configuration. Raises CourseError.
    """
    address = desk_cell.configured(config)
    text = desk_cell.client(address) if address else ""

    async def client(request: Request) -> Response:
        if not text:
            raise Refused(
                "The course's configuration does not say c.Desk.address, which students need to hand in.", 404
            )
        return PlainTextResponse(text, media_type="text/x-python")

    return [Route(f"/{hand_in_cell.FILE}", client)]
