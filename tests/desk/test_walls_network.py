"""Attacks by who connects, and then says or reads nothing, or almost nothing."""

import asyncio
import os
import socket
import threading
import time
from types import SimpleNamespace

import httpx
import pytest
import uvicorn
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import PlainTextResponse
from starlette.routing import Route

from autograder.cli import desk
from autograder.desk import released, server
from autograder.desk.doors import pages
from autograder.desk.visitors import Refused
from autograder.errors import UsageError
from autograder.nbgrader.runs import NbgraderCourse
from autograder.verdict import UNSAFE

PATIENCE = 10.0
GET = b"GET / HTTP/1.1\r\nHost: x\r\n"


async def answer(request):
    return PlainTextResponse("x" * int(request.query_params.get("size", 1)))


async def waits(request):
    await asyncio.sleep(1.0)
    return PlainTextResponse("late")


@pytest.fixture
def port(monkeypatch):
    monkeypatch.setattr(server, "SAYING", 0.2)
    listener = server.listening("127.0.0.1", 0)
    app = Starlette(routes=[Route("/", answer, methods=["GET", "POST"]), Route("/waits", waits)])
    config = uvicorn.Config(app, http=server.Protocol, ws="none", log_config=None, timeout_keep_alive=60)
    desk = uvicorn.Server(config)
    thread = threading.Thread(target=desk.run, args=([listener],))
    thread.start()
    yield listener.getsockname()[1]
    desk.should_exit = desk.force_exit = True
    thread.join()


def is_closed(connection):
    """Whether the desk closes a connection; what it still has to say is read first."""
    connection.settimeout(PATIENCE)
    try:
        while connection.recv(2**16):
            pass
    except TimeoutError:
        return False
    except ConnectionError:
        pass
    return True


@pytest.mark.parametrize(
    "said",
    [
        b"",
        b"GET / HT",
        GET,
        GET + b"\r\n" + b"GET / HT",  # a whole request, and a bit of another
        b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 9\r\n\r\n1",  # a body that is not needed, and does not end
    ],
)
def test_who_does_not_go_on_is_cut_off(port, said):
    with socket.create_connection(("127.0.0.1", port)) as connection:
        connection.sendall(said)
        assert is_closed(connection)


def test_who_says_a_byte_now_and_then_is_cut_off(port):
    with socket.create_connection(("127.0.0.1", port)) as connection:
        connection.sendall(GET + b"\r\n")
        until = time.monotonic() + PATIENCE
        with pytest.raises(ConnectionError):
            while time.monotonic() < until:
                connection.sendall(b"G")
                time.sleep(0.05)


def test_who_does_not_read_is_cut_off(port):
    with socket.create_connection(("127.0.0.1", port)) as connection:
        connection.sendall(b"GET /?size=50000000 HTTP/1.1\r\nHost: x\r\n\r\n")
        time.sleep(1.5)
        found = 0
        connection.settimeout(PATIENCE)
        with pytest.raises(ConnectionError):
            while part := connection.recv(2**20):
                found += len(part)
            raise ConnectionError
        assert found < 50_000_000


def test_who_waits_for_the_desk_is_not_cut_off(port):
    with socket.create_connection(("127.0.0.1", port)) as connection:
        connection.sendall(b"GET /waits HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
        connection.settimeout(PATIENCE)
        assert b"late" in b"".join(iter(lambda: connection.recv(2**16), b""))


def test_a_form_that_does_not_arrive(monkeypatch):
    monkeypatch.setattr(pages, "SECONDS", 0.05)
    kind = (b"content-type", b"application/x-www-form-urlencoded")

    async def never():
        await asyncio.sleep(PATIENCE)

    with pytest.raises(Refused, match="did not arrive") as refused:
        asyncio.run(pages.form(Request({"type": "http", "method": "POST", "headers": [kind]}, never)))
    assert refused.value.status == 408


def test_who_asks_for_the_client_again_and_again_makes_the_desk_do_nothing(tmp_path, monkeypatch):
    """Each course that was opened made PATH longer, until no worker could be started."""
    (tmp_path / "nbgrader_config.py").write_text('c = get_config()\nc.Desk.address = "https://desk.example/x"\n')
    runs = NbgraderCourse(tmp_path)
    path = os.environ["PATH"]
    NbgraderCourse(tmp_path)
    assert os.environ["PATH"] == path
    app = Starlette(routes=released.routes(runs.config))
    monkeypatch.setattr(NbgraderCourse, "__init__", None)
    monkeypatch.setattr(released.desk_cell, "CLIENT", None)

    async def ask():
        async with httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://desk.test") as client:
            return await client.get("/hand_in.py")

    assert 'ADDRESS = "https://desk.example/x"' in asyncio.run(ask()).text


def test_a_desk_for_others_does_not_run_without_a_sandbox():
    """What is handed in could read the desk's records, and sign itself an instructor's session with their secret."""
    options = SimpleNamespace(export=None, digest=False, sandbox=UNSAFE, me=False, scheduler=None, jobs=1)
    with pytest.raises(UsageError, match="without a sandbox"):
        desk.run(options)
