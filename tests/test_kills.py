"""Nothing is lost: whatever is ended in the middle of a batch, the next run goes on, and the scores are the same.

`make test` kills 20 processes, `make kill-test` 200.
"""

import os
import random
import shutil
import signal
import time

import psutil
import pytest
import tiny

from autograder.verdicts.store import NEW

KILLS = int(os.environ.get("KILLS", "20"))
STUDENTS = 24
# who is killed, over and over; each in a run that the ones before it have left alive
PLAN = ("child", "parent", "child", "head", "child", "worker", "child", "child", "child", "writer")


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    """A course with a class, graded by a run that nothing disturbs."""
    place = tmp_path_factory.mktemp("killed")
    release = tiny.course(place)
    for number in range(STUDENTS):
        answer = list(tiny.ANSWERS)[number % len(tiny.ANSWERS)]
        tiny.submit(place, release, f"student{number:02d}", answer, "time.sleep(0.2)\nprint('x' * 19_000)")
    code, said = tiny.ended(tiny.start(place, "--jobs", 2))
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
    if who in ("head", "writer"):
        return [(head, None)] if bool(workers) == (who == "head") else []
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
                shutil.rmtree(place / ".autograder" / "results")  # all is done: there must be something to disturb
                shutil.rmtree(place / "autograded")
            run = tiny.start(place, "--jobs", 2)
        who = PLAN[len(killed) % len(PLAN)]
        found = find(run, who, place, draw, last)
        if found is None:
            continue
        victim, last = found
        time.sleep(draw.random() * 0.3)
        try:
            victim.send_signal(signal.SIGKILL)
        except psutil.NoSuchProcess:
            continue
        killed.append(who)
        print(f"{time.monotonic():.1f} {who}", flush=True)
        if victim.pid == run.pid:
            run.wait()
            assert no_strays(place), "the head's death has left processes"
        else:
            wait_for_results(run, place, 3)
        known = tiny.results(place)
        assert known.keys() <= undisturbed.keys()
    code, said = tiny.ended(run)
    if code == -signal.SIGKILL:
        code, said = tiny.ended(tiny.start(place, "--jobs", 2))
    assert code == 0, said
    assert (tiny.verdicts(place), tiny.gradebook(place)) == expected
    again = tiny.results(place)
    assert {k: r["verdict"] for k, r in again.items()} == {k: r["verdict"] for k, r in undisturbed.items()}
    left = list((place / ".autograder").rglob(f"{NEW}*"))
    assert len(left) <= killed.count("head") + killed.count("writer")
    print({who: killed.count(who) for who in dict.fromkeys(PLAN)})


def no_strays(place, seconds=15):
    """Whether no process that worked on the course is left, as soon as the kernel has cleared up."""
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        strays = [p for p in psutil.process_iter(["cwd"]) if p.info["cwd"] == str(place) and p.pid != os.getpid()]
        if not strays:
            return True
        time.sleep(0.05)
    return False
