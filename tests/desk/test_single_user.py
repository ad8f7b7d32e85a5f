"""`autograder desk --me`: for this machine and this person alone; what keeps a server from being held; no extra."""

import contextlib
import os
import re
import signal
import socket
import subprocess
import sys
import threading
import time
from types import SimpleNamespace

import desks
import httpx
import psutil
import pytest
import uvicorn
from conftest import ROOT
from desks import NAME, Client, built, desk_in, handed_out, notebook, place

from autograder import course
from autograder.desk import command, server
from autograder.desk.app import make_app
from autograder.desk.doors.single_user import SingleUserDoor
from autograder.errors import UsageError

NAVIGATES = {"sec-fetch-mode": "navigate", "sec-fetch-site": "none"}


@pytest.fixture
def door():
    return SingleUserDoor(8090)


@pytest.fixture
def me(place, door):
    """A browser at one's own desk, which has opened nothing yet."""
    with desk_in(place) as desk:
        desk.doors, desk.guard = [door], door.sessions
        client = Client(desk, None, **NAVIGATES)
        client.client.base_url = "http://127.0.0.1:8090"
        yield client


def enter(me, door):
    answer = me.get(f"/me/{door.token}")
    assert answer.status_code == 303 and answer.headers["location"] == "/"
    assert "HttpOnly" in answer.headers["set-cookie"]
    return re.search(r'name="token" value="([^"]+)"', me.get(f"/assignments/{NAME}").text)[1]


def form(me, handed_out, token, **headers):
    sent = {"notebook": ("x.ipynb", notebook(handed_out))}
    return me.ask("POST", f"/assignments/{NAME}", files=sent, data={"token": token}, headers=headers)


def test_the_start_address_opens_it_and_nothing_else_does(me, door, handed_out):
    assert me.get("/").status_code == 401 and me.get("/api/me").status_code == 401
    assert me.get("/me/wrong").status_code == 403 and me.get("/").status_code == 401
    token = enter(me, door)
    assert me.get("/").status_code == 200
    answer = form(me, handed_out, token, origin="http://127.0.0.1:8090", **{"sec-fetch-site": "same-origin"})
    assert answer.status_code == 303
    (attempt,) = me.desk.record.attempts()
    assert attempt.level == "all" and attempt.owner == "student:me"


def test_other_sites_cannot_hand_in_or_come_by_a_name_of_theirs(me, door, handed_out):
    token = enter(me, door)
    for headers in (
        {"origin": "https://evil.example", "sec-fetch-site": "cross-site"},
        {"origin": "null", "sec-fetch-site": "cross-site"},
        {"origin": "http://127.0.0.1:8091", "sec-fetch-site": "same-site"},
        {},
    ):
        assert form(me, handed_out, token, **headers).status_code == 403, headers
    ours = {"origin": "http://127.0.0.1:8090", "sec-fetch-site": "same-origin"}
    assert form(me, handed_out, "", **ours).status_code == 403, "without the page's token"
    for host in ("evil.example", "evil.example:8090", "127.0.0.1", "127.0.0.1:8091", "127.0.0.1:8090.evil.example"):
        assert me.get("/", headers={"host": host}).status_code == 403, host
        assert me.get(f"/me/{door.token}", headers={"host": host}).status_code == 403, host
    assert me.get("/", headers={"host": "localhost:8090"}).status_code == 200
    assert me.desk.record.attempts() == []


def test_it_has_hints(me, door, monkeypatch):
    given = [course.Hint("Hint 1: where to look", "Look at `tril`."), course.Hint("Hint 2", "<script>no</script>")]
    monkeypatch.setattr(course, "hints_of", lambda name: given)
    enter(me, door)
    page = me.get(f"/assignments/{NAME}").text
    assert "Hints for <code>causal_mask</code>" in page and "<summary>Hint 1: where to look</summary>" in page
    assert "<code>tril</code>" in page and "<script>no" not in page


def test_it_listens_for_this_machine_alone(place):
    options = SimpleNamespace(me=True, demo=False, host="0.0.0.0", port=0)
    with pytest.raises(UsageError, match="--me is for this machine alone"):
        command.run(options, "cpu")


@pytest.mark.slow("it starts a desk, and waits for its end")
def test_it_opens_grades_and_ends_with_nothing_left(place, handed_out):
    """The command itself: the address from the terminal, a hand-in by the form, its answer, and the end."""
    desk = subprocess.Popen(
        [sys.executable, "-m", "autograder", "desk", "--me", "--port", "0", "--jobs", "1"],
        cwd=place,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    try:
        said = next(line for line in desk.stdout if line.startswith("The desk is open: "))
        address = said.split(": ", 1)[1].strip()
        url = address.split("/me/")[0]
        with httpx.Client(base_url=url, headers=NAVIGATES, timeout=60, follow_redirects=True) as browser:
            assert browser.get("/").status_code == 401 and browser.get(address).status_code == 200
            page = browser.get(f"/assignments/{NAME}").text
            token = re.search(r'name="token" value="([^"]+)"', page)[1]
            sent = {"notebook": ("x.ipynb", notebook(handed_out, "upside down"))}
            by = {"origin": url, "sec-fetch-site": "same-origin"}
            shown = browser.post(f"/assignments/{NAME}", files=sent, data={"token": token}, headers=by)
            assert shown.status_code == 200 and "SHA-256" in shown.text
            until = time.monotonic() + 240
            while "1.2 of 2" not in (shown := browser.get(shown.url)).text:
                assert time.monotonic() < until, shown.text
                time.sleep(0.2)
            assert "tril" in shown.text, "the mistake is named"
        below = psutil.Process(desk.pid).children(recursive=True)
        desk.send_signal(signal.SIGTERM)
        desk.communicate(timeout=240)
        _, left = psutil.wait_procs(below, timeout=60)
        assert below and not left
        assert not (place / "desk.db").exists() and (place / ".autograder" / "me.db").is_file()
    finally:
        desk.kill()
        desk.communicate()


def test_a_port_that_is_taken_is_one_sentence():
    with contextlib.closing(server.listening("127.0.0.1", 0)) as taken:
        with pytest.raises(UsageError, match=r"cannot listen on 127.0.0.1, port \d+ .*try another --port"):
            server.listening("127.0.0.1", taken.getsockname()[1])


def test_who_connects_and_says_nothing_is_let_go(place, monkeypatch):
    monkeypatch.setattr(server, "SAYING", 0.5)
    with desk_in(place) as desk:
        desk.queue = None
        config = uvicorn.Config(make_app(desk), http=server.Protocol, ws="none", log_config=None)
        running = uvicorn.Server(config)
        with contextlib.closing(server.listening("127.0.0.1", 0)) as listener:
            thread = threading.Thread(target=running.run, kwargs={"sockets": [listener]})
            thread.start()
            try:
                for said in (b"", b"GET / HTTP/1.1\r\nX: "):
                    with socket.create_connection(listener.getsockname(), timeout=60) as silent:
                        silent.sendall(said)
                        begun = time.monotonic()
                        assert silent.recv(1) == b"" and time.monotonic() - begun < 50
                with socket.create_connection(listener.getsockname(), timeout=60) as asking:
                    asking.sendall(b"GET /api/me HTTP/1.1\r\nHost: x\r\nwho: ada\r\n\r\n")
                    assert asking.recv(12) == b"HTTP/1.1 200"
            finally:
                running.should_exit = True
                thread.join()


def test_without_the_extra_it_says_how_to_install_it():
    code = (
        "import sys; sys.modules['starlette'] = None; from autograder.cli import main; sys.exit(main(['desk', '--me']))"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, timeout=300)
    assert done.returncode == 2
    assert "autograder: The desk needs starlette, which is not installed: pip install 'attention-course[desk]'." in (
        done.stderr
    )
