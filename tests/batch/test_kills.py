"""Nothing is lost: whatever is ended in the middle of a batch, the next run goes on, and the scores are the same.

`make test` kills one process of each kind or several, `make kill-test` 200.
"""

import os
import random
import re
import shutil
import signal
import subprocess
import sys
import time
from collections import Counter

import psutil
import pytest
import tiny
import workers
from conftest import ASSIGNMENT, ROOT

from autograder.batch import commands, pool
from autograder.batch.tasks import Task
from autograder.errors import SandboxError
from autograder.grading.store import NEW, Store

pytestmark = pytest.mark.slow("it kills processes and waits for others to take over")

KILLS = int(os.environ.get("KILLS", "7"))
STUDENTS = 16
# who is killed, over and over; each in a run that the ones before it have left alive
PLAN = ("child", "parent", "child", "head", "worker", "child", "writer")


@pytest.fixture(scope="module")
def place(tmp_path_factory, db_url):
    """A course with a class, graded by a run that nothing disturbs."""
    place = tmp_path_factory.mktemp("killed")
    release = tiny.course(place, db_url=db_url)
    tiny.submit_all(place, release, STUDENTS, "time.sleep(0.2)\nprint('x' * 19_000)")
    code, said = tiny.graded(place)
    assert code == 0 and f"{STUDENTS} graded, 0 unchanged" in said, said
    return place


def find(run, who, place, draw, last):
    """(a process of the run that is to be killed, its worker), or None if the run has ended before there was one.

    Not one of the worker `last`, if there is another: so no submission is hit more often than it is tried again.
    """
    writing = draw.randint(1, STUDENTS - 1)
    while run.poll() is None:
        try:
            found = _candidates(psutil.Process(run.pid), who)
        except psutil.NoSuchProcess:
            continue  # it ended while it was looked at
        if who == "writer" and len(list((place / "autograded").glob("*"))) < writing:
            found = []
        if found:
            return draw.choice([pair for pair in found if pair[1] != last] or found)
        time.sleep(0.01)
    return None


def _candidates(head, who):
    workers = [p for p in head.children() if "spawn_main" in " ".join(p.cmdline())]
    if who in ("head", "writer"):  # the head writes, whenever something is done
        return [(head, None)] if workers else []
    if who == "worker":
        return [(w, w.pid) for w in workers]
    found = []
    for worker in workers:
        below = {p.pid: p for p in worker.children(recursive=True) if p.name() != "bwrap"}
        # a child is forked, so that its command line is its parent's
        found += [(p, worker.pid) for p in below.values() if (p.ppid() in below) == (who == "child")]
    return found


def wait_for_results(run, place, more):
    """Wait until `more` results are there than now, so that no submission is hit more often than it is tried again."""
    wanted = len(tiny.results(place)) + more
    while run.poll() is None and len(tiny.results(place)) < wanted:
        time.sleep(0.02)


def test_whatever_is_killed_nothing_is_lost(place):
    expected = tiny.verdicts(place), tiny.gradebook(place)
    undisturbed = tiny.results(place)
    draw = random.Random(time.time_ns())
    killed, run, last = [], None, None
    while len(killed) < KILLS:
        if run is None or run.poll() is not None:
            assert run is None or tiny.ended(run)[0] in (0, -signal.SIGKILL), f"after {killed[-9:]}"
            if set(tiny.results(place)) == set(undisturbed):
                forget(place)  # all is done: there must be something to disturb
                shutil.rmtree(place / "autograded")
            run = tiny.start(place, "--jobs", 2)
        who = PLAN[len(killed) % len(PLAN)]
        found = find(run, who, place, draw, last)
        if found is None:
            continue
        victim, last = found
        time.sleep(draw.random() * 0.3)
        try:
            tree = psutil.Process(run.pid).children(recursive=True)
            victim.send_signal(signal.SIGKILL)
        except psutil.NoSuchProcess:
            continue
        killed.append(who)
        print(f"{time.monotonic():.1f} {who}", flush=True)
        if victim.pid == run.pid:
            run.wait()
            assert all_gone(tree), "the head's death has left processes"
        else:
            wait_for_results(run, place, 2)
        known = tiny.results(place)
        assert known.keys() <= undisturbed.keys()
    code, said = tiny.ended(run)
    if code == -signal.SIGKILL:
        code, said = tiny.graded(place)
    assert code == 0, said
    assert (tiny.verdicts(place), tiny.gradebook(place)) == expected
    again = tiny.results(place)
    assert {k: r["verdict"] for k, r in again.items()} == {k: r["verdict"] for k, r in undisturbed.items()}
    left = list((place / ".autograder").rglob(f"{NEW}*"))
    assert len(left) <= killed.count("head") + killed.count("writer")
    print({who: killed.count(who) for who in dict.fromkeys(PLAN)})


def test_ctrl_c_stops_cleanly_and_the_next_run_goes_on(place):
    forget(place)
    run = tiny.start(place, "--jobs", 2)
    while len(tiny.results(place)) < 2:
        assert run.poll() is None
        time.sleep(0.02)
    tree = psutil.Process(run.pid).children(recursive=True)
    os.killpg(run.pid, signal.SIGINT)  # as a terminal does: to all of the group, once
    code, said = tiny.ended(run, seconds=30)
    assert code in tiny.STOPPED and said.strip().endswith("run the same command again to continue."), said
    assert all_gone(tree)
    known = len(tiny.results(place))
    code, said = tiny.graded(place)
    assert code == 0 and f"{known} unchanged" in said


def forget(place):
    """Forget all results, so that there is something to grade again."""
    shutil.rmtree(place / ".autograder" / "results")


def all_gone(processes, seconds=20):
    """Whether processes end by themselves, as soon as the kernel has cleared up."""
    return not psutil.wait_procs(processes, timeout=seconds)[1]


def test_two_runs_at_once_do_not_meet(place):
    with commands.locked(place, tiny.NAME):
        code, said = tiny.ended(tiny.start(place))
    assert code == 2 and said.count("\n") == 1 and "already working" in said


def test_what_a_killed_writer_leaves_is_swept_and_never_read(place):
    store = Store(place)
    old, new = (store.root / "results" / f"{NEW}{name}" for name in ("old", "new"))
    broken = store.root / "verdicts" / tiny.NAME / f"{NEW}half"
    for path in (old, new, broken):
        path.write_text('{"verd')
    for path in (old, broken):
        os.utime(path, (1, 1))
    assert store.latest(tiny.NAME).keys() == {f"student{n:02d}" for n in range(STUDENTS)}
    store.sweep()
    assert not old.exists() and not broken.exists() and new.exists()
    new.unlink()


# --- a disk that is full, a folder that may not be written ----------------------------------------


def in_a_namespace(place, script):
    """Run a shell script in the course, whose mounts nobody else sees; `$GRADE` grades. Returns what it printed."""
    if os.geteuid() != 0 or subprocess.run(["unshare", "-m", "true"], capture_output=True).returncode != 0:
        pytest.skip("only root may mount here")
    grade = f"{sys.executable} -m autograder grade 09 --jobs 1"
    done = subprocess.run(
        ["unshare", "-m", "sh", "-euc", f'grade() {{ {grade} 2>&1 || echo "exit code $?"; }}\n{script}'],
        cwd=place,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.returncode == 0 and "Traceback" not in done.stdout, done.stdout + done.stderr
    return done.stdout


def few(place, tmp_path):
    """A copy of the course with three students, nothing graded."""
    copy = tmp_path / "few"
    shutil.copytree(place, copy, ignore=shutil.ignore_patterns(".autograder", "autograded"))
    for student in range(3, STUDENTS):
        shutil.rmtree(copy / "submitted" / f"student{student:02d}")
    return copy


def test_a_full_disk_is_one_sentence_and_loses_nothing(place, tmp_path):
    said = in_a_namespace(
        few(place, tmp_path),
        """
        mkdir .autograder && mount -t tmpfs -o size=48k none .autograder
        grade
        echo --
        mount -o remount,size=10m .autograder
        grade
        """,
    )
    first, second = said.split("--\n", 1)
    assert first.count("\n") == 3 and "No space left on device" in first and "exit code 2" in first, said
    assert "exit code" not in second and "0 unreadable" in second, said
    assert "3 graded" not in second, "what was graded before the disk was full is kept"


def test_a_gradebook_that_cannot_be_written_is_one_sentence_and_loses_nothing(place, tmp_path):
    said = in_a_namespace(
        few(place, tmp_path),
        """
        mkdir ../kept ../disk && mount -t tmpfs -o size=20m none ../disk && cp -r . ../disk/course && cd ../disk/course
        mkdir .autograder && mount --bind ../../kept .autograder
        dd if=/dev/zero of=../filler bs=1k 2>/dev/null || true
        grade
        echo --
        rm ../filler
        grade
        """,
    )
    first, second = said.split("--\n", 1)
    assert first.count("\n") == 3 and "exit code 2" in first, said
    assert "No space left" in first or "disk is full" in first or "disk I/O error" in first, said
    done, known = map(int, re.search(r"(\d) graded, (\d) unchanged", second).groups())
    assert "exit code" not in second and done + known == 3 and known > 0, said


def test_a_read_only_folder_is_one_sentence(place, tmp_path):
    said = in_a_namespace(
        few(place, tmp_path),
        """
        mkdir .autograder && mount -t tmpfs -o ro none .autograder
        grade
        """,
    )
    assert said.count("\n") == 3 and "Read-only file system" in said and "exit code 2" in said, said


# --- names ----------------------------------------------------------------------------------------


def test_whoever_has_an_odd_name_gets_a_row(tmp_path):
    """nbgrader's own autograde finds no submission of such a student, and says nothing of it."""
    release = tiny.course(tmp_path)
    names = ["line\nbreak", "tab\there", "ünïcode ❤", "-rf", "semi;colon $(x)", "quote'\"d"]
    for name in names:
        tiny.submit(tmp_path, release, name)
    code, said = tiny.graded(tmp_path)
    assert code == 0 and f"{len(names)} graded" in said, said
    rows, _ = tiny.gradebook(tmp_path)
    assert rows.keys() == set(names) and set(rows.values()) == {max(rows.values())} != {0.0}


# --- workers that die of a submission -------------------------------------------------------------


def test_a_batch_ends_whatever_becomes_of_its_workers(monkeypatch):
    give, given = pool._Worker.give, Counter()

    def impatient(worker, task):
        give(worker, task)
        given[task.student] += 1
        if task.student == "silent":
            worker.until = time.monotonic() + 0.5

    monkeypatch.setattr(pool, "_work", workers.half_an_answer)
    monkeypatch.setattr(pool._Worker, "give", impatient)
    monkeypatch.setattr(pool, "ATTEMPTS", 2)
    data = (ROOT / "release" / ASSIGNMENT / f"{ASSIGNMENT}.ipynb").read_bytes()
    tasks = [Task(name, name, data, ASSIGNMENT, 1) for name in ("ada", "evil", "bela", "silent", "carl")]
    with pool.Pool(2) as engine:
        done = {task.student: answer for task, answer in engine.graded(iter(tasks), len(tasks))}
    for name in ("evil", "silent"):
        verdict = done.pop(name).verdict
        assert {e.status for e in verdict.exercises} == {"killed"} and verdict.score == 0 < verdict.max_score
    assert done == {name: f"graded {name}" for name in ("ada", "bela", "carl")}
    assert (given["evil"], given["silent"]) == (2, 1)  # who did not end the first time would take as long again


def test_what_was_graded_before_its_workers_died_keeps_its_points(monkeypatch):
    """A submission is tried again, and then has the points of its checks, without names; the batch goes on."""
    monkeypatch.setattr(pool, "_work", workers.notes_and_dies)
    give, given = pool._Worker.give, []
    monkeypatch.setattr(pool._Worker, "give", lambda worker, task: (given.append(task.student), give(worker, task)))
    data = (ROOT / "release" / ASSIGNMENT / f"{ASSIGNMENT}.ipynb").read_bytes()
    tasks = [Task(name, name, data, ASSIGNMENT, 1) for name in ("ada", "bela")]
    with pool.Pool(1) as engine:
        done = {task.student: answer.verdict for task, answer in engine.graded(iter(tasks), len(tasks))}
    assert Counter(given) == {"ada": pool.ATTEMPTS, "bela": pool.ATTEMPTS} and done.keys() == {"ada", "bela"}
    for verdict in done.values():
        first, *others = verdict.exercises
        assert (first.status, first.score) == ("graded", first.max_score)
        assert others and {e.status for e in others} == {"killed"}


def test_workers_that_never_begin_are_one_sentence(monkeypatch):
    monkeypatch.setattr(pool, "_work", workers.never)
    with pool.Pool(1) as engine, pytest.raises(SandboxError, match="die before they start"):
        list(engine.graded(iter([Task("ada", "ada", b"", ASSIGNMENT, 1)]), 1))


def test_what_is_tried_again_is_alone(monkeypatch, tmp_path):
    """The other workers, which are there, have nothing to do meanwhile."""
    monkeypatch.setattr(pool, "_work", workers.counts)

    def counted(engine, names, **options):
        tasks = [Task(name, name, str(tmp_path).encode(), ASSIGNMENT, 1) for name in names]
        return [answer for _, answer in engine.graded(iter(tasks), len(tasks), **options)]

    with pool.Pool(3) as engine:
        assert len(counted(engine, "abcdef")) == 6 and len(engine.workers) == 3
        assert counted(engine, "ghijkl", alone=True) == [1] * 6


def test_workers_that_die_of_a_task_have_one_deadline_together(monkeypatch):
    """It does not begin anew with each of them."""
    monkeypatch.setattr(pool, "_work", workers.dies_slowly)
    monkeypatch.setattr(pool, "ATTEMPTS", 1000)
    give, given = pool._Worker.give, []

    def noted(worker, task):
        give(worker, task)
        given.append(task.student)
        worker.until = time.monotonic() + 2.5

    monkeypatch.setattr(pool._Worker, "give", noted)
    data = (ROOT / "release" / ASSIGNMENT / f"{ASSIGNMENT}.ipynb").read_bytes()
    with pool.Pool(1) as engine:
        ((_, graded),) = engine.graded(iter([Task("evil", "evil", data, ASSIGNMENT, 1)]), 1)
    assert {e.status for e in graded.verdict.exercises} == {"killed"} and 1 <= len(given) <= 4
