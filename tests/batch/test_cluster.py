"""Grading on a Dask cluster: a scheduler and workers of this machine, of which some die, differ or join late."""

import dataclasses
import os
import shutil
import signal
import sys
import time

import psutil
import pytest
import tiny
from conftest import ROOT
from dask_cluster import Cluster

import autograder.batch
from autograder.batch import cluster, commands, tasks
from autograder.batch.tasks import Task
from autograder.errors import UsageError
from autograder.grading import store

pytestmark = pytest.mark.slow("it starts and ends the processes of clusters")

STUDENTS = 8
MANY = 99  # tasks that may come


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    """A course with a class, graded on this machine."""
    place = tmp_path_factory.mktemp("head")
    release = tiny.course(place)
    tiny.submit_all(place, release, STUDENTS, "time.sleep(0.2)\nprint('seen')")
    code, said = tiny.graded(place)
    assert code == 0 and f"{STUDENTS} graded" in said, said
    return place


@pytest.fixture(scope="module")
def two(place, tmp_path_factory):
    """A cluster of two workers, which have the course in a folder of their own."""
    copy = tmp_path_factory.mktemp("elsewhere") / "course"
    shutil.copytree(place / "source", copy / "source")
    shutil.copy(place / "nbgrader_config.py", copy)
    found = Cluster(tmp_path_factory.mktemp("dask"))
    found.course = copy
    found.nanny = found.worker(copy, "--nworkers", 2)
    yield found
    found.end()


@pytest.fixture
def other_kit(tmp_path):
    """A folder with a kit of another version."""
    shutil.copytree(ROOT / "autograder", tmp_path / "kit" / "autograder", ignore=shutil.ignore_patterns("__pycache__"))
    with open(tmp_path / "kit" / "autograder" / "batch" / "tasks.py", "a") as file:
        file.write("# changed\n")
    return tmp_path / "kit"


@pytest.fixture
def head(place, monkeypatch):
    """This process as the head, in the course of `place`."""
    monkeypatch.chdir(place)
    store.parts_of.cache_clear()
    yield
    store.parts_of.cache_clear()


def task(place, student):
    """What was handed in by a student of the class, under their name or another's."""
    path = place / "submitted" / "student00" / tiny.NAME / f"{tiny.NAME}.ipynb"
    return Task(student, student, path.read_bytes(), tiny.NAME, 1)


def test_the_verdicts_are_the_same_though_a_run_is_stopped_and_a_worker_killed(place, two):
    expected = tiny.verdicts(place), tiny.gradebook(place), tiny.results(place)
    shutil.rmtree(place / ".autograder" / "results")
    shutil.rmtree(place / "autograded")
    (place / "gradebook.db").unlink()
    tiny.NbgraderCourse(place).build(tiny.NAME)
    stopped = started(place, two, results=1)
    os.killpg(stopped.pid, signal.SIGINT)
    code, said = tiny.ended(stopped)
    assert code in tiny.STOPPED and said.strip().endswith("run the same command again to continue."), said
    run = started(place, two, results=len(tiny.results(place)) + 2)
    victim, _ = (p for p in psutil.Process(two.nanny.pid).children() if "spawn_main" in " ".join(p.cmdline()))
    sandbox = victim.children(recursive=True)
    victim.kill()
    code, said = tiny.ended(run)
    assert code == 0 and "0 unreadable" in said, said
    assert sandbox and all_end(sandbox), "its sandbox has outlived the worker"
    assert tiny.results(place) == expected[2]
    assert (tiny.verdicts(place), tiny.gradebook(place)) == expected[:2]


def all_end(processes, seconds=20):
    """Whether processes end by themselves; one that nobody waits for stays behind as a zombie."""
    until = time.monotonic() + seconds
    while not all(map(has_ended, processes)):
        if time.monotonic() > until:
            return False
        time.sleep(0.05)
    return True


def has_ended(process):
    try:
        return process.status() == psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return True


def started(place, two, results):
    """A run on the cluster, once there are that many results."""
    run = tiny.start(place, "--scheduler", two.address)
    while len(tiny.results(place)) < results:
        assert run.poll() is None, run.communicate()
        time.sleep(0.02)
    return run


def test_what_kills_its_workers_gets_nothing_and_the_others_are_graded(place, two, head, monkeypatch):
    monkeypatch.setattr(tasks, "ATTEMPTS", 2)
    who = ("ada", "evil", "bela", "carl")
    done = {t.student: g.verdict for t, g in cluster.Cluster(two.address).graded((task(place, s) for s in who), MANY)}
    assert done.keys() == set(who)
    evil = done.pop("evil")
    assert {e.status for e in evil.exercises} == {"killed"} and evil.score == 0 < evil.max_score
    assert all(verdict.full for verdict in done.values())


def test_what_is_tried_again_is_alone(place, two, head, monkeypatch):
    """No other worker has a task meanwhile, though there are two."""
    give, busy = cluster._Crew.give, []

    def noted(crew, worker, task):
        busy.append(len(crew.flight))
        give(crew, worker, task)

    monkeypatch.setattr(cluster._Crew, "give", noted)
    coming = [dataclasses.replace(task(place, name), alone=True) for name in ("ada", "bela", "carl")]
    done = [t.student for t, g in cluster.Cluster(two.address).graded(iter(coming), 3, alone=True) if g.verdict.full]
    assert done == ["ada", "bela", "carl"] and busy == [0, 0, 0]


def test_a_worker_that_does_not_end_a_task_is_given_no_other(place, head, monkeypatch, tmp_path, caplog):
    give_up = cluster._Crew._give_up

    def once(crew, workers, there):
        give_up(crew, workers, there)
        if workers:
            monkeypatch.setattr(tasks, "PATIENCE", 1e6)

    monkeypatch.setattr(cluster._Crew, "_give_up", once)
    some = Cluster(tmp_path)
    try:
        some.worker(place, "--nworkers", 2)
        who = ("silent", "ada", "bela", "carl", "dora")
        coming = (task(place, s) for s in who)
        done = {}
        for given, graded in cluster.Cluster(some.address).graded(coming, MANY):
            done[given.student] = graded.verdict
            if len(done) == 3:  # the last one may be waiting behind what does not end
                monkeypatch.setattr(tasks, "PATIENCE", 0.0)
    finally:
        some.end()
    assert done.keys() == set(who)
    silent = done.pop("silent")
    assert {e.status for e in silent.exercises} == {"killed"} and silent.score == 0 < silent.max_score
    assert all(verdict.full for verdict in done.values())
    assert "does not finish its tasks" in caplog.text


def test_a_worker_of_another_version_gets_nothing_and_a_run_that_finds_one_is_refused(
    place, two, head, other_kit, monkeypatch, caplog
):
    taken = []

    def coming():
        """Tasks until the head has seen the worker that joins late."""
        yield task(place, "first")
        late = two.worker(two.course, "--no-nanny", PYTHONPATH=str(other_kit))
        until = time.monotonic() + 60
        while "has other versions" not in caplog.text and time.monotonic() < until and late.poll() is None:
            taken.append(f"student{len(taken)}")
            yield task(place, taken[-1])

    done = {t.student: g.verdict for t, g in cluster.Cluster(two.address).graded(coming(), MANY)}
    assert done.keys() == {"first", *taken} and all(verdict.full for verdict in done.values())
    (said,) = {record.getMessage() for record in caplog.records if "has other versions" in record.getMessage()}
    assert said.startswith("autograder: The worker tcp://") and "(tasks)" in said
    with pytest.raises(UsageError, match=r"^The worker tcp://\S+ has other versions than the head \(tasks\): .*\.$"):
        list(cluster.Cluster(two.address).graded(iter([task(place, "ada")]), MANY))
    code, said = tiny.ended(tiny.start(place, "--regrade", "--scheduler", two.address))
    assert code == 2 and said.count("\n") == 1 and "has other versions than the head (tasks)" in said


@pytest.mark.parametrize("address", ["tcp://127.0.0.1:9", "127.0.0.1:9", "http://127.0.0.1", "what is this"])
def test_nobody_at_the_address_is_one_sentence(place, head, monkeypatch, address):
    monkeypatch.setattr(cluster, "CONNECT", 1.0)
    with pytest.raises(UsageError, match=r"^No Dask scheduler answers at .*\)\.$"):
        list(cluster.Cluster(address).graded(iter([task(place, "ada")]), MANY))


def test_a_scheduler_that_has_no_worker_or_one_without_a_sandbox_or_ends_is_one_sentence(
    place, head, monkeypatch, tmp_path
):
    lonely = Cluster(tmp_path)

    def coming():
        yield task(place, "ada")
        lonely.started[0].kill()
        yield task(place, "bela")

    try:
        monkeypatch.setattr(cluster, "PATIENCE", 1.0)
        with pytest.raises(UsageError, match="has had no worker for 1 s"):
            list(cluster.Cluster(lonely.address).graded(iter([task(place, "ada")]), MANY))
        monkeypatch.setattr(cluster, "PATIENCE", 60.0)
        unsafe = lonely.worker(place, "--no-nanny", PATH="/nowhere")
        with pytest.raises(UsageError, match=r"^The worker tcp://\S+ has no sandbox. Grading needs bubblewrap"):
            list(cluster.Cluster(lonely.address).graded(iter([task(place, "ada")]), MANY))
        unsafe.terminate()
        unsafe.wait()
        lonely.worker(place, "--no-nanny")
        with pytest.raises(UsageError, match="is gone"):
            list(cluster.Cluster(lonely.address).graded(coming(), MANY))
    finally:
        lonely.end()


def test_without_dask_there_is_one_sentence(monkeypatch):
    monkeypatch.setitem(sys.modules, "distributed", None)
    monkeypatch.delitem(sys.modules, "autograder.batch.cluster")
    monkeypatch.delattr(autograder.batch, "cluster")
    with pytest.raises(UsageError, match="the package distributed is not installed"):
        commands.engine_for("tcp://127.0.0.1:9", 1, "cpu", False)


def test_jobs_and_scheduler_exclude_each_other(place):
    code, said = tiny.ended(tiny.start(place, "--jobs", 1, "--scheduler", "tcp://127.0.0.1:9"))
    assert code == 2 and "not allowed with" in said
