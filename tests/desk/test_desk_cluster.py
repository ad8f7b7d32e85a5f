"""`autograder desk --scheduler`: hand-ins are graded by the workers of a Dask cluster, of which some die, or all."""

import shutil
import socket
import time

import psutil
import pytest
from dask_cluster import Cluster
from desks import NAME, Client, built, desk_in, handed_out, notebook, place
from test_queue import settled

from autograder.batch import cluster
from autograder.batch.tasks import Task
from autograder.desk import queue as queues
from autograder.desk.record import DONE, WAITING
from autograder.errors import UsageError

pytestmark = pytest.mark.slow("it starts and ends the processes of clusters")

PATIENCE = 120  # seconds, since the machine may be busy


@pytest.fixture
def two(place, tmp_path):
    """A cluster of two workers, which have the course in a folder of their own."""
    copy = tmp_path / "elsewhere"
    shutil.copytree(place / "source", copy / "source")
    shutil.copy(place / "nbgrader_config.py", copy)
    found = Cluster(tmp_path)
    found.course = copy
    found.nanny = found.worker(copy, "--nworkers", 2)
    yield found
    found.end()


def free_port():
    with socket.socket() as some:
        some.bind(("127.0.0.1", 0))
        return some.getsockname()[1]


def until(holds, what=""):
    end = time.monotonic() + PATIENCE
    while not holds():
        assert time.monotonic() < end, what
        time.sleep(0.05)


def test_the_clusters_workers_grade_and_one_that_dies_loses_nothing(place, two, handed_out):
    slow = notebook(handed_out).replace(b"# \\ndef", b"import time\\ntime.sleep(4)\\ndef")
    with desk_in(place, scheduler=two.address, grades=True) as desk:
        ada, bela, carl = (Client(desk, who) for who in ("ada", "bela", "carl"))
        ada.hand_in(slow)
        bela.hand_in(slow.replace(b"4", b"5", 1))
        carl.hand_in(notebook(handed_out, "upside down"))
        until(lambda: len(desk.queue.early) >= 2, "two are graded at the same time")
        victim, _ = (p for p in psutil.Process(two.nanny.pid).children() if "spawn_main" in " ".join(p.cmdline()))
        victim.kill()
        done = {one.student: one.score for one in settled(desk, 3)}
        assert done == {"ada": 2.0, "bela": 2.0, "carl": 1.2}
        assert not [p for p in psutil.Process().children() if "spawn_main" in " ".join(p.cmdline())], (
            "none is graded here"
        )
        told = carl.get(f"/api/attempts/{desk.record.attempts('student:carl')[0].id}").json()["exercises"]
        assert told[0]["names"], "the mistake is named as it is on this machine"
        again = ada.hand_in(notebook(handed_out, "floats"), exercise="causal_mask").json()["receipt"]["attempt"]
        until(lambda: desk.record.attempt(again).state == DONE, "later ones are graded, too")


def test_early_outcomes_come_from_the_cluster_before_the_verdict(place, two, handed_out):
    heard = []
    engine = cluster.Cluster(two.address, tell=lambda task, outcome: heard.append((task.key, outcome.exercise)))
    made = [
        Task("", "tells", notebook(handed_out), NAME, 1, tells=True),
        Task("", "silent", notebook(handed_out), NAME, 1),
    ]
    for task, graded in engine.graded(iter(made), 2):
        assert graded.verdict.full
        if task.key == "tells":
            until(lambda: heard, "it comes by another way than the verdict")
    assert heard == [("tells", "causal_mask")]


def test_a_desk_whose_scheduler_is_gone_keeps_what_comes_and_goes_on_when_it_is_back(
    place, handed_out, tmp_path, monkeypatch
):
    monkeypatch.setattr(queues, "AGAIN", 1.0)
    monkeypatch.setattr(cluster, "CONNECT", 1.0)
    folders = [tmp_path / "first", tmp_path / "second"]
    for folder in folders:
        folder.mkdir()
    port = free_port()
    first = Cluster(folders[0], port)
    clusters = [first]
    try:
        first.worker(place, "--no-nanny")
        with desk_in(place, scheduler=first.address, grades=True) as desk:
            ada, bela = Client(desk, "ada"), Client(desk, "bela")
            ada.hand_in(notebook(handed_out))
            settled(desk, 1)
            first.end()
            ids = [who.hand_in(notebook(handed_out, "floats")).json()["receipt"]["attempt"] for who in (ada, bela)]
            note = "Nothing is graded at present. The machines that grade cannot be used"
            until(lambda: note in ada.get(f"/api/attempts/{ids[0]}").json()["note"], "it says so")
            assert desk.queue.fault.startswith(f"No Dask scheduler answers at {first.address!r}")
            assert str(port) not in ada.get(f"/attempts/{ids[0]}").text, "a student does not learn where it is"
            until(lambda: [desk.record.attempt(id).state for id in ids] == [WAITING, WAITING], "both are kept")
            clusters.append(Cluster(folders[1], port))
            clusters[1].worker(place, "--no-nanny")
            assert {one.id for one in settled(desk, 3)} > set(ids)
            assert desk.queue.fault == "" and ada.get(f"/api/attempts/{ids[0]}").json()["note"] == ""
    finally:
        for one in clusters:
            one.end()


def test_without_dask_the_desk_does_not_open(place, monkeypatch):
    import sys

    import autograder.batch

    monkeypatch.setitem(sys.modules, "distributed", None)
    monkeypatch.delitem(sys.modules, "autograder.batch.cluster")
    monkeypatch.delattr(autograder.batch, "cluster")
    with (
        pytest.raises(UsageError, match="the package distributed is not installed"),
        desk_in(place, scheduler="tcp://127.0.0.1:9", grades=True),
    ):
        pass
