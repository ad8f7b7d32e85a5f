"""The socket over which `check` uses the sandbox of a `watch`: only for the same user, and only if all is as it was."""

import contextlib
import json
import os
import socket
import tempfile
import threading
import time
from pathlib import Path

import pytest

from autograder.verdict import Graded, Outcome, Verdict
from autograder.watch import service
from autograder.watch.service import Service, verdict_by_watch

ASKED = "mine.ipynb", "attention", 7, "cpu", "full"


class Fake:
    """Stands for a Grader; `seen` is what it was asked for."""

    def __init__(self, seed=None):
        self.seen, self.seed = None, seed

    def grade_file(self, path, exercise, seed):
        self.seen = path, exercise, seed
        return Graded(Verdict(path, [Outcome(exercise, 1.0, 2.0, "graded")], self.seed or seed))


@pytest.fixture(autouse=True)
def runtime(monkeypatch):
    """A folder of its own; a socket's path has to be short."""
    with tempfile.TemporaryDirectory() as folder:
        monkeypatch.setenv("XDG_RUNTIME_DIR", folder)
        yield Path(folder)


@pytest.fixture
def warm():
    with Service("cpu", "full") as warm:
        assert warm.socket is not None
        yield warm


def asked(warm, grader, *arguments):
    """What a client gets from a service that answers once."""
    thread = threading.Thread(target=warm.answer, args=(grader,))
    thread.start()
    try:
        return verdict_by_watch(*(arguments or ASKED))
    finally:
        thread.join(5)


def raw(warm, data):
    """What the service says to a client that sends these bytes."""
    thread = threading.Thread(target=warm.answer, args=(Fake(),))
    thread.start()
    said = b""
    with socket.socket(socket.AF_UNIX) as client, contextlib.suppress(ConnectionResetError, BrokenPipeError):
        client.connect(str(warm.path))
        client.sendall(data)
        client.shutdown(socket.SHUT_WR)
        while got := client.recv(4096):
            said += got
    thread.join(5)
    assert not thread.is_alive()
    return said


def test_a_verdict_comes_back_as_it_was_made_with_the_path_as_it_was_asked_for(warm):
    grader = Fake()
    verdict = Verdict("mine.ipynb", [Outcome("attention", 1.0, 2.0, "graded")], 7)
    assert asked(warm, grader) == (verdict, [])
    assert grader.seen == (os.path.join(os.getcwd(), "mine.ipynb"), "attention", 7)


def test_there_is_none_without_a_watch_or_for_another_device_or_course(warm, tmp_path, monkeypatch):
    assert verdict_by_watch("mine.ipynb", "attention", 7, "cuda", "full") is None
    assert verdict_by_watch("mine.ipynb", "attention", 7, "cpu", "unsafe") is None
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path / "absent"))
    assert verdict_by_watch(*ASKED) is None


def test_nobody_waits_for_a_watch_that_is_busy(warm):
    started = time.monotonic()
    assert verdict_by_watch(*ASKED) is None and time.monotonic() - started < 5


def test_a_verdict_on_something_else_is_not_taken(warm):
    assert asked(warm, Fake(seed=8)) is None


def test_a_second_watch_leaves_the_first_alone_and_a_killed_one_is_replaced(warm):
    with Service("cpu", "full") as second:
        assert second.socket is None
    assert asked(warm, Fake()) is not None
    warm.path.touch()
    os.close(warm.lock)  # as the kernel does for a process that is killed
    with Service("cpu", "full") as third:
        assert asked(third, Fake()) is not None
    assert not warm.path.exists()
    warm.lock = None


def test_requests_that_are_none_get_no_answer(warm):
    right = {"path": "/x.py", "exercise": None, "seed": 1}
    wrong = [{**right, "path": "x.py"}, {**right, "exercise": "no such"}, {**right, "seed": "1"}, {**right, "more": 1}]
    wrong += [{**right, "path": "/a\0b"}, {**right, "seed": 2**64}, [], 1]
    for data in (
        b"",
        b"{",
        b"\n",
        b"[" * 60000 + b"\n",
        b"x" * 70000,
        *(json.dumps(w).encode() + b"\n" for w in wrong),
    ):
        assert raw(warm, data) in (service.READY, b"")
    assert raw(warm, json.dumps(right).encode() + b"\n").startswith(service.READY + b'{"verdict": {"schema": 1')


VERDICT = Verdict("mine.ipynb", [Outcome("attention", 1.0, 2.0, "graded")], 7).to_dict()
NO_BLANKS = [None, {}, "", [{}], [{"id": "x"}], [{"id": "x", "message": 1}], [["id", "message"]]]
SAID = [VERDICT, [], *({"verdict": VERDICT, "blank": blank} for blank in NO_BLANKS)]
ODD = [b"", b"ready\n", b"ready\n{}\n", b"ready\n[[[\n", b"ready\n\xff\n", b"go away\n"]
ODD += [b"ready\n" + json.dumps(said).encode() + b"\n" for said in SAID]


@pytest.mark.parametrize("answer", ODD)
def test_answers_that_are_none_are_not_taken(warm, answer):
    def serve():
        client, _ = warm.socket.accept()
        with client:
            client.sendall(answer)

    thread = threading.Thread(target=serve)
    thread.start()
    assert verdict_by_watch(*ASKED) is None
    thread.join(5)


def test_a_folder_that_others_may_enter_is_not_used(warm):
    warm.path.parent.chmod(0o755)
    assert verdict_by_watch(*ASKED) is None
    with Service("cpu", "unsafe") as other:
        assert other.socket is None


def test_a_folder_that_is_a_link_is_not_used(runtime):
    (runtime / "elsewhere").mkdir(mode=0o700)
    (runtime / "autograder").symlink_to("elsewhere")
    with Service("cpu", "full") as warm:
        assert warm.socket is None


def test_another_user_is_neither_asked_nor_answered(warm, monkeypatch):
    me = os.geteuid()
    monkeypatch.setattr(service, "_is_own", lambda *_, **__: True)
    monkeypatch.setattr(os, "geteuid", lambda: me + 1)  # then the process at the other end is another user's
    grader = Fake()
    assert asked(warm, grader) is None and grader.seen is None


def test_what_belongs_to_another_user_is_not_used(warm, monkeypatch):
    me = os.geteuid()
    monkeypatch.setattr(os, "geteuid", lambda: me + 1)
    assert verdict_by_watch(*ASKED) is None
    with Service("cpu", "unsafe") as other:
        assert other.socket is None
