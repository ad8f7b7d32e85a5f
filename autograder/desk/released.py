"""`hand_in.py` at the desk, for notebooks that are opened alone: Colab has no file beside them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from starlette.concurrency import run_in_threadpool
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Route

from ..nbgrader import desk_cell
from ..nbgrader.runs import NbgraderCourse
from ..submission import hand_in_cell
from .app import desk_of
from .visitors import Refused

if TYPE_CHECKING:
    from starlette.requests import Request
    from starlette.routing import BaseRoute

    from .app import Desk


def routes() -> Sequence[BaseRoute]:
    """The route, below the desk's base. Everybody may have the file: it holds the desk's address and nothing else."""
    return [Route(f"/{hand_in_cell.FILE}", client)]


async def client(request: Request) -> Response:
    """The file for this desk, as `autograder build` writes it beside notebooks."""
    text = await run_in_threadpool(_client, desk_of(request))
    return PlainTextResponse(text, media_type="text/x-python")


def _client(desk: Desk) -> str:
    address = desk_cell.configured(NbgraderCourse(desk.root).config)
    if not address:
        raise Refused("The course's configuration does not say c.Desk.address, which students need to hand in.", 404)
    return desk_cell.client(address)
