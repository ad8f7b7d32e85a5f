"""Deadlines: one over all that is done with a submission; those of cells and calls, by what the child itself took."""

import dataclasses
import itertools
import os
import subprocess
import sys
import types

import pytest
import tiny
from conftest import ASSIGNMENT, ROOT, cell_of, hand_in

from autograder import course
from autograder.batch.tasks import PATIENCE
from autograder.checks import replay
from autograder.checks.candidates import Candidate
from autograder.checks.proxies import Examination, Submission
from autograder.checks.runner import ExerciseRun, Stopped
from autograder.errors import ChildGone, Interrupted
from autograder.grading import workspace as workspaces
from autograder.nbgrader import preprocessors
from autograder.nbgrader.runs import StockRecorder
from autograder.sandbox import child as talk
from autograder.sandbox import jail
from autograder.sandbox.parent import WarmParent
from autograder.submission.restore import RestoredCell
from autograder.verdict import Graded, Outcome, Verdict, settled

LIMITS = jail.Limits()
SEEDS = itertools.count(20_000_000)  # of inputs that nobody else had
CELLS = [RestoredCell("code", f"cell {number}", "") for number in range(2000)]


# --- one deadline over everything, by a clock of our own ------------------------------------------


class Clock:
    """Stands for the module `time`: it goes on when somebody lets it."""

    def __init__(self):
        self.now = 1000.0

    def monotonic(self):
        return self.now


class SlowParent:
    """Forks children whose requests are ended by `end`, which gets the clock and the seconds that they may take."""

    def __init__(self, clock, end, limits=LIMITS):
        self.clock, self.end, self.limits = clock, end, limits
        self.device, self.level, self.lacks = "cpu", "full", {}
        self.forks = 0

    def fork(self):
        self.forks += 1
        self.clock.now += 3.0  # a sandbox that has to be started again
        return SlowChild(self)

    def close(self):
        pass


class SlowChild:
    def __init__(self, parent):
        self.parent = parent
        self.unexplained = False
        self.took = 0.0

    def request(self, message, tensors=(), seconds=10.0, most=1e9):
        self.took = min(seconds, most)
        self.parent.clock.now += self.took
        return self.parent.end(self, message)

    def kill(self):
        self.parent.clock.now += talk.GRACE
        return {}


def interrupted(child, message):
    raise Interrupted("it did not end")


def deaf(child, message):
    raise ChildGone("timeout", "it did not end")


def killed(child, message):
    child.unexplained = True
    raise ChildGone("killed", "its process was ended")


def slow(child, message):
    """Answers at the last moment; defines what is asked for, and dies of the first call of it."""
    if message["op"] == "kind":
        return {"ok": True, "kinds": dict.fromkeys(message["names"], "callable")}, []
    if message["op"] in ("cell", "bind"):
        return {"ok": True, "outputs": []}, []
    raise ChildGone("killed", "it ended its own process")


@pytest.fixture
def clock(monkeypatch):
    clock = Clock()
    monkeypatch.setattr(workspaces, "time", clock)
    return clock


@pytest.mark.parametrize("end", [interrupted, deaf, killed, slow])
def test_one_deadline_over_cells_restarts_attempts_and_exercises(grader, clock, monkeypatch, end):
    """2,000 cells, each of which takes all that it may, in a child that is lost or not."""
    monkeypatch.setattr(grader, "parent", SlowParent(clock, end))
    wanted = course.assignments(ROOT)["04_multi_head_attention"].exercises
    started = clock.now
    graded = grader.grade_cells(CELLS, wanted, next(SEEDS))
    assert clock.now - started < LIMITS.submission + 30 < PATIENCE
    assert {e.status for e in graded.verdict.exercises} <= {"timeout", "killed"} and not graded.final
    assert len(graded.verdict.exercises) == len(wanted)


def test_the_sentence_says_that_all_of_it_took_too_long(grader, clock, monkeypatch):
    monkeypatch.setattr(grader, "parent", SlowParent(clock, interrupted))
    (outcome,) = grader.grade_cells(CELLS, [course.exercises(ROOT)["attention"]], next(SEEDS)).verdict.exercises
    assert outcome.status == "timeout"
    assert outcome.message == "It could not be graded: grading the whole submission took longer than 300 s."


def test_the_start_of_the_sandbox_is_not_the_submissions(grader, clock, monkeypatch):
    parent = SlowParent(clock, interrupted)
    fork = parent.fork
    deadline = workspaces.Deadline(10.0)

    def slowly():
        clock.now += 0 if parent.forks else 100.0
        return fork()

    parent.fork = slowly
    workspace = workspaces.Workspace(parent, CELLS[:1], deadline)
    with pytest.raises(workspaces.OutOfTime):
        workspace.run()
        workspace.begin_exercise()
        assert 0 < deadline.left() <= 10.0
        clock.now += 10.0
        workspace.begin_exercise()


@pytest.mark.slow("it waits for a deadline")
def test_what_is_graded_by_then_keeps_its_points(grader, solution, tmp_path, monkeypatch):
    """The second exercise takes all the time that there is, and none is left for the third."""
    first, second, third, *_ = (e.name for e in course.assignments(ROOT)[ASSIGNMENT].exercises)
    cell = cell_of(solution, f"{second}-solution")
    cell["source"] = "".join(cell["source"]) + f"\nimport time\n{second}.forward = lambda *a: time.sleep(3600)\n"
    limits = dataclasses.replace(grader.parent.limits, submission=10.0, exercise=500.0, call=500.0)
    monkeypatch.setattr(grader.parent, "limits", limits)
    graded = grader.grade_file(hand_in(solution, tmp_path))
    outcomes = {e.exercise: e for e in graded.verdict.exercises}
    assert outcomes[first].score == outcomes[first].max_score
    for late in (outcomes[second], outcomes[third]):
        assert late.status == "timeout" and "grading the whole submission took longer than 10 s" in late.message


def test_no_honest_notebook_comes_near_the_deadlines():
    """The cells may take all that they may, and there is still time for the checks of all exercises."""
    assert LIMITS.submission >= LIMITS.notebook + LIMITS.exercise
    assert PATIENCE > LIMITS.submission


# --- an exercise's clock --------------------------------------------------------------------------


def test_time_spent_on_foresight_is_given_back(clock):
    """Asked at once in vain: the exercise begins anew, in a fresh child and with all of its time."""
    answers = iter([interrupted])

    def end(child, message):
        return next(answers)(child, message) if message["op"] == "all" else ({"ok": True, "outputs": []}, [])

    parent = SlowParent(clock, end)
    workspace = workspaces.Workspace(parent, [])
    workspace.begin_exercise()
    first = workspace.child
    assert workspace.ask_all({"op": "all"}, 3, LIMITS.exercise) is None
    assert workspace.child is not first and parent.forks == 2
    many = round(LIMITS.exercise / LIMITS.call)
    for _ in range(many):
        workspace.ask({"op": "nothing"}, [])
    with pytest.raises(Stopped, match="its checks took longer than 60 s in all"):
        workspace.ask({"op": "nothing"}, [])
    assert workspace.ask_all({"op": "all"}, 1, 1.0) is None, "it is asked at once no more"


def test_what_is_done_here_meanwhile_is_not_the_exercises(clock):
    parent = SlowParent(clock, lambda child, message: ({"ok": True, "outputs": []}, []))
    parent.limits = dataclasses.replace(LIMITS, submission=1e6)
    workspace = workspaces.Workspace(parent, [])
    workspace.begin_exercise()
    workspace.ask({"op": "nothing"}, [])
    clock.now += 100 * LIMITS.exercise
    workspace.ask({"op": "nothing"}, [])


def test_a_child_that_is_started_afresh_has_time_of_its_own(clock):
    parent = SlowParent(clock, lambda child, message: ({"ok": True, "outputs": []}, []))
    parent.limits = dataclasses.replace(LIMITS, submission=1e6)
    workspace = workspaces.Workspace(parent, [])
    workspace.begin_exercise()
    for _ in range(2):
        for _ in range(round(LIMITS.exercise / LIMITS.call)):
            workspace.ask({"op": "nothing"}, [])
        with pytest.raises(Stopped, match="its checks took longer than 60 s in all"):
            workspace.ask({"op": "nothing"}, [])
        workspace.ask({"op": "afresh"}, [])
    assert parent.forks == 3


def test_a_check_may_ask_how_much_time_is_left(clock):
    parent = SlowParent(clock, lambda child, message: ({"ok": True, "outputs": []}, []))
    workspace = workspaces.Workspace(parent, [], workspaces.Deadline(70.0))
    submission = Submission(workspace)
    workspace.begin_exercise()
    assert submission.seconds_left() == LIMITS.exercise
    workspace.ask({"op": "nothing"}, [])
    assert submission.seconds_left() == LIMITS.exercise - LIMITS.call
    clock.now += 55.0
    assert submission.seconds_left() == 5.0
    clock.now += 5.0
    assert submission.seconds_left() == 0.0


def test_time_that_is_up_before_what_is_asked_at_once_ends_an_exercise_alone(clock):
    """It raises a ChildGone, so that the other exercises keep their points."""
    parent = SlowParent(clock, lambda child, message: ({"ok": True, "outputs": []}, []))
    workspace = workspaces.Workspace(parent, [], workspaces.Deadline(70.0))
    workspace.begin_exercise()
    clock.now += 70.0
    with pytest.raises(workspaces.OutOfTime):
        workspace.ask_all({"op": "all"}, 1, 1.0)


def test_a_child_that_meets_candidates_is_known_to_have_even_if_it_is_not_the_first(clock):
    """The first one that the examination starts is lost in a cell, before it has met any."""
    lost = []

    def end(child, message):
        if message["op"] == "cell" and parent.forks == 2 and not lost:
            lost.append(child)
            raise ChildGone("killed", "it is lost")
        return {"ok": True, "outputs": [], "value": {"const": True}}, []

    parent = SlowParent(clock, end)
    workspace = workspaces.Workspace(parent, CELLS[:1])
    workspace.begin_exercise()
    workspace.has_solutions = True
    workspace.begin_diagnosis()
    candidate = Candidate("softmax", lambda: {"softmax": lambda x: x})
    workspace.ask(Examination({"op": "examine", "target": "x", "builds": False, "before": []}, candidate), [])
    assert lost and parent.forks == 3 and workspace.has_solutions


def test_a_diagnosis_starts_a_child_only_if_it_asks_for_something(clock):
    lost = []

    def end(child, message):
        if message["op"] in lost:
            raise ChildGone("killed", "it is lost")
        return {"ok": True}, []

    parent = SlowParent(clock, end)
    workspace = workspaces.Workspace(parent, [])
    workspace.begin_exercise()
    workspace.has_solutions = True
    workspace.begin_diagnosis()
    assert workspace.child is None and workspace.can_be_asked and parent.forks == 1
    workspace.ask({"op": "nothing"}, [])
    assert workspace.child is not None and not workspace.has_solutions and parent.forks == 2
    workspace.begin_diagnosis()
    lost.append("nothing")
    for _ in range(2):
        with pytest.raises(Stopped):
            workspace.ask({"op": "nothing"}, [])
    assert not workspace.can_be_asked and parent.forks == 2, "a child that is lost is not replaced in the middle"


def test_a_base_that_was_not_reached_in_time_is_not_called_wrong(grader, clock, monkeypatch):
    parent = SlowParent(clock, slow)
    workspace = workspaces.Workspace(parent, [], workspaces.Deadline(25.0))
    workspace.begin_exercise()
    workspace.kinds(["attention"])
    of = ExerciseRun("attention", workspace, next(SEEDS))
    assert not grader.blame.is_shaky(workspace, "attention", of) and "attention" not in workspace.shaky


def score(grader, source, seed):
    """(score, most) of an answer to `attention`."""
    cells = [RestoredCell("code", source, "")]
    (found,) = grader.grade_cells(cells, [course.exercises(ROOT)["attention"]], seed).verdict.exercises
    return found.score, found.max_score


@pytest.fixture
def quick(grader, monkeypatch):
    """(the right answer, how many calls its checks make, a seed for which these are made at once already)."""
    ops, request, seed = [], talk.Child.request, next(SEEDS)

    def noted(child, message, *args, **options):
        ops.append(message["op"] if isinstance(message, dict) else "all")
        return request(child, message, *args, **options)

    source = (ROOT / "autograder" / "exercises" / "attention" / "answers" / "einsum.py").read_text()
    with monkeypatch.context() as patched:
        patched.setattr(talk.Child, "request", noted)
        score(grader, source, seed)
        calls = ops.count("call")
        for _ in range(4):
            score(grader, source, seed)
    assert calls > 20 and "all" in ops
    monkeypatch.setattr(replay, "TIMES", 0.0)
    return source.replace("def attention", "def right"), calls, seed


@pytest.mark.slow("it waits for a deadline")
def test_slow_and_right_gets_its_points_after_a_quick_one(grader, quick, monkeypatch):
    """Its calls take three and a half of five and a half seconds; the patience for all at once, two and a half."""
    right, calls, seed = quick
    source = f"""
import time
{right}
def attention(*args, **named):
    time.sleep({3.5 / calls})
    return right(*args, **named)
"""
    monkeypatch.setattr(replay, "PATIENCE", 2.5)
    monkeypatch.setattr(grader.parent, "limits", dataclasses.replace(grader.parent.limits, exercise=5.5))
    got, most = score(grader, source, seed)
    assert got == most


@pytest.mark.slow("it waits for a deadline")
def test_one_call_that_takes_too_long_gets_nothing_after_a_quick_one_either(grader, quick, monkeypatch):
    """However much patience there is for all that is asked at once."""
    right, calls, seed = quick
    source = f"""
import time
{right}
made = 0
def attention(*args, **named):
    global made
    made += 1
    if made == 10:
        time.sleep(4.0)
    return right(*args, **named)
"""
    monkeypatch.setattr(replay, "PATIENCE", 60.0)
    monkeypatch.setattr(grader.parent, "limits", dataclasses.replace(grader.parent.limits, call=2.0))
    assert score(grader, source, seed)[0] == score(grader, source, next(SEEDS))[0] == 0


def test_what_was_asked_at_once_in_vain_leaves_nothing_behind(grader, quick, monkeypatch):
    """An answer that is slow once, and wrong when it was called more often than checks call it."""
    right, calls, seed = quick
    source = f"""
import time
{right}
made = 0
def attention(*args, **named):
    global made
    made += 1
    if made == 10:
        time.sleep(2.0)
    return right(*args, **named) if made < {calls + 5} else None
"""
    monkeypatch.setattr(replay, "PATIENCE", 0.5)
    got, most = score(grader, source, seed)
    assert got == most


# --- a child that waits for a processor ------------------------------------------------------------


class Waiting(talk.Child):
    """A child at the other end of a socket, of whose waiting the kernel tells what `says` gives, again and again."""

    def __init__(self, sock, says):
        process = subprocess.Popen([sys.executable, "-S", "-c", "import time; time.sleep(60)"])
        parent = types.SimpleNamespace(limits=LIMITS, reap=lambda: (process.kill(), process.wait(), {})[-1])
        super().__init__(parent, sock, os.pidfd_open(process.pid))
        self.says = says

    def _waited(self):
        return next(self.says)


class Silent:
    """A socket on which nothing is ever said. It keeps how long it was waited for."""

    def __init__(self):
        self.waits = []

    def settimeout(self, seconds):
        self.waits.append(seconds)

    def send(self, data):
        return len(data)

    def recv(self, length, flags=0):
        raise TimeoutError

    def close(self):
        pass


@pytest.mark.parametrize(
    "says, waits",
    [
        (itertools.repeat(0.0), [10]),  # asleep, or at work all the time
        (itertools.chain([0, 4], itertools.repeat(4)), [10, 14]),
        (itertools.chain([0, 4, 6], itertools.repeat(6)), [10, 14, 16]),
        (itertools.count(0, 100), [10, 40]),  # never longer than four times
        (itertools.repeat(7), [10]),  # what it waited before does not count
    ],
)
def test_a_child_that_waited_for_a_processor_is_given_so_much_more(says, waits):
    line = Silent()
    with pytest.raises((Interrupted, ChildGone)):
        Waiting(line, iter(says)).request({"op": "nothing"}, seconds=10.0)
    waited = [round(w) for w in line.waits if w > 2 * talk.GRACE]
    assert waited[0] == 10 and waited[1:] == waits


def test_the_clock_of_the_whole_submission_is_not_stretched():
    line = Silent()
    with pytest.raises((Interrupted, ChildGone)):
        Waiting(line, itertools.count(0, 100)).request({"op": "nothing"}, seconds=10.0, most=20.0)
    assert max(line.waits) <= 20.0


@pytest.fixture(scope="module")
def parent():
    with WarmParent() as parent:
        yield parent


@pytest.fixture
def crowded():
    """A processor on which two others are at work; this process goes back to where it was."""
    before = os.sched_getaffinity(0)
    one = {min(before)}
    busy = [subprocess.Popen([sys.executable, "-S", "-c", "while True: pass"]) for _ in range(2)]
    for process in busy:
        os.sched_setaffinity(process.pid, one)
    yield one
    for process in busy:
        process.kill()
        process.wait()


BURN = "import time\nend = time.process_time() + 1.0\nwhile time.process_time() < end: pass\n"


def pinned(parent, where):
    """A child that runs on these processors alone."""
    child = parent.fork()
    with open(f"/proc/self/fdinfo/{child.pidfd}") as file:
        number = next(int(line.split()[1]) for line in file if line.startswith("Pid:"))
    os.sched_setaffinity(number, where)
    return child


@pytest.mark.slow("it keeps the machine busy")
def test_the_kernel_says_how_long_a_child_waited(parent, crowded):
    """A second of work takes three by the clock: it counts as one or so, and ends within a deadline of two."""
    child = pinned(parent, crowded)
    try:
        reply, _ = child.request({"op": "cell", "source": BURN, "name": "cell 1"}, seconds=2.0)
        assert reply["ok"] and child._waited() > 0.1
    finally:
        child.kill()


@pytest.mark.slow("it keeps the machine busy")
def test_who_sleeps_beside_busy_processes_is_given_no_more(parent, crowded):
    child = pinned(parent, crowded)
    try:
        with pytest.raises(Interrupted):
            child.request({"op": "cell", "source": "import time; time.sleep(8)", "name": "cell 1"}, seconds=2.0)
    finally:
        child.kill()


@pytest.mark.slow("it waits for a deadline")
def test_where_the_kernel_does_not_say_the_clock_counts(parent):
    child = parent.fork()
    os.close(child.schedule)
    child.schedule = None
    try:
        with pytest.raises(Interrupted):
            child.request({"op": "cell", "source": "while True: pass", "name": "cell 1"}, seconds=0.5)
        assert child.took >= 0.5
    finally:
        child.kill()


# --- what counts of two tries ---------------------------------------------------------------------


def outcome(name, status, score=0.0):
    return Outcome(name, score, 2.0, status, message="" if status == "graded" else "so")


def of(*outcomes, stopped=False):
    return Graded(Verdict("", list(outcomes), 1), stopped=stopped)


def test_the_second_try_counts_but_for_what_it_alone_has_stopped():
    first = of(outcome("a", "graded", 1.0), outcome("b", "timeout"), outcome("c", "graded", 2.0))
    second = of(outcome("a", "graded", 2.0), outcome("b", "graded", 1.0), outcome("c", "killed"))
    found = settled(first, second).verdict.exercises
    assert [(e.status, e.score) for e in found] == [("graded", 2.0), ("graded", 1.0), ("graded", 2.0)]
    found = settled(first, of(outcome("b", "killed"))).verdict.exercises
    assert [e.status for e in found] == ["killed"]


@pytest.mark.parametrize(
    "graded, final",
    [
        (of(outcome("a", "graded", 2.0)), True),
        (of(outcome("a", "graded", 1.0), outcome("b", "missing")), True),
        (of(outcome("a", "graded", 2.0), outcome("b", "timeout")), False),
        (of(outcome("a", "killed")), False),
        (of(outcome("a", "graded", 1.0), stopped=True), False),  # it may stand on a cell that was stopped
        (of(outcome("a", "graded", 2.0), stopped=True), True),
    ],
)
def test_what_counts_for_good(graded, final):
    assert graded.final is final


class Stopping:
    """Stands for a Grader: every try is stopped, until `stops` is False. Keeps whether each was alone."""

    def __init__(self):
        self.tries, self.stops = [], True

    def grade_cells(self, cells, wanted, seed, path, assignment, alone=False, waived=None):
        self.tries.append(alone)
        status = "timeout" if self.stops else "graded"
        outcomes = [outcome(e.name, status, 0.0 if self.stops else 2.0) for e in wanted]
        return Graded(Verdict(path, outcomes, seed, assignment), cells)


def test_nbgrader_autograde_tries_twice_before_it_counts_and_again_each_time(tmp_path, monkeypatch):
    """But what `autograder grade` has just tried, it records as it is."""
    tiny.submit(tmp_path, tiny.course(tmp_path), "ada")
    monkeypatch.chdir(tmp_path)
    grader = Stopping()
    monkeypatch.setattr(preprocessors, "warm_grader", lambda unsafe, device: grader)
    runs = tiny.NbgraderCourse(tmp_path)
    for _ in range(2):
        runs.autograde(tiny.NAME, "ada")
        assert grader.tries == [False, True]
        grader.tries.clear()
    StockRecorder(tiny.NbgraderCourse(tmp_path), course.assignments()[tiny.NAME]).add("ada", [], None, "")
    assert grader.tries == [] and tiny.verdicts(tmp_path)["ada"][0][1] == "timeout"
    grader.stops = False
    for tries in ([False], []):
        runs.autograde(tiny.NAME, "ada")
        assert grader.tries == tries and tiny.verdicts(tmp_path)["ada"][0][1] == "graded"
        grader.tries.clear()
