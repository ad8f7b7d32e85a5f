"""Runs the application: uvicorn, with limits for those who connect and say nothing."""

from __future__ import annotations

import asyncio
import logging
import resource
import socket
from typing import TYPE_CHECKING, Any

import uvicorn
from uvicorn.protocols.http.h11_impl import H11Protocol

from ..errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Callable

    from starlette.applications import Starlette

CONNECTIONS = 1000  # at a time; more get a 503
SAYING = 15.0  # seconds for the headers of a request, and for a reader of an answer to go on
HEADERS = 64 * 2**10  # bytes of them
KEPT = 10.0  # seconds for which a connection without a request is kept
ENDING = 5  # seconds for open requests, when the desk ends


class Protocol(H11Protocol):
    """uvicorn's protocol, which closes a connection on which nothing goes on; uvicorn itself would wait for ever.

    That is one whose next request does not come, whole headers and all, or whose answer nobody reads.
    """

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self.seen: tuple[object, int] = (None, 0)
        self.looking = self.loop.call_later(SAYING, self._look)

    def _look(self) -> None:
        """Close the connection if it is as it was at the last look, and the desk is not at work on a request."""
        unread = self.transport.get_write_buffer_size()
        now = (self.cycle, unread)
        is_idle = self.cycle is None or self.cycle.response_complete
        if now == self.seen and (is_idle or unread):
            self.transport.abort()
            return
        self.seen = now
        self.looking = self.loop.call_later(SAYING, self._look)

    def connection_lost(self, exc: Exception | None) -> None:
        self.looking.cancel()
        super().connection_lost(exc)


def listening(host: str, port: int) -> socket.socket:
    """A socket that listens there. Raises UsageError."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    made = socket.socket(family, socket.SOCK_STREAM)
    made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        made.bind((host, port))
    except OSError as error:
        made.close()
        raise UsageError(
            f"The desk cannot listen on {host}, port {port} ({error.strerror}): try another --port."
        ) from None
    made.listen(2048)
    return made


def serve(app: Starlette, listener: socket.socket, ready: Callable[[], None]) -> None:
    """Serve until Ctrl-C or SIGTERM; `ready` is called once requests are taken."""
    logging.getLogger("uvicorn.error").setLevel(logging.WARNING)
    settings: dict[str, Any] = {
        "http": Protocol,
        "ws": "none",
        "log_config": None,
        "access_log": False,
        "limit_concurrency": CONNECTIONS,
        "timeout_keep_alive": KEPT,
        "timeout_graceful_shutdown": ENDING,
        "h11_max_incomplete_event_size": HEADERS,
        "server_header": False,
    }
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = 4 * CONNECTIONS if hard == resource.RLIM_INFINITY else min(hard, 4 * CONNECTIONS)
    wanted = soft if soft == resource.RLIM_INFINITY else max(soft, wanted)
    resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))
    server = _Server(uvicorn.Config(app, **settings), ready)
    server.run(sockets=[listener])


class _Server(uvicorn.Server):
    def __init__(self, config: uvicorn.Config, ready: Callable[[], None]) -> None:
        super().__init__(config)
        self.ready = ready

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        if self.started:
            self.ready()
