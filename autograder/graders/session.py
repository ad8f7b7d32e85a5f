"""Runs the graders, collected once, on one exercise after another: pytest in a thread of its own, fed by a queue."""

import inspect
import os
import queue
import threading
import time
import traceback
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from _pytest.runner import runtestprotocol

from ..sandbox.inside import wire
from ..verdicts import record
from .kit import CheckFailed
from .submission import StudentError, Submission, Transcript

HERE = Path(__file__).parent
CURRENT = pytest.StashKey()


class Stopped(Exception):
    """The exercise cannot go on. `status` is a Verdict's; the message says what happened."""

    def __init__(self, status, message):
        super().__init__(message)
        self.status = status


@dataclass
class Run:
    """One exercise of one submission, as it is graded: its checks in order (or `only` one), and what each saw."""

    exercise: str
    transport: object
    seed: int
    only: str = None
    checks: list = field(default_factory=list)
    skipped: list = field(default_factory=list)
    transcripts: dict = field(default_factory=dict)
    stopped: Stopped = None

    def failed(self):
        return [c for c in self.checks if not c.passed]


class Graders:
    """The graders in a warm pytest session. `run()` may be called from one thread at a time.

    Use it as a context manager, or call `close()`.
    """

    def __init__(self):
        self.jobs = queue.Queue()
        self.done = queue.Queue()
        self.thread = threading.Thread(target=self._session, name="graders", daemon=True)
        self.thread.start()
        problem = self.done.get()
        if problem is not None:
            raise RuntimeError(f"the graders cannot be collected: {problem}")

    def __enter__(self):
        return self

    def __exit__(self, *exc):
        self.close()

    def close(self):
        """End the session, and wait until its thread is gone for good.

        `join` returns while torch still clears what it kept for the thread. If Python ended meanwhile, that would abort
        the process.
        """
        self.jobs.put(None)
        self.thread.join()
        while os.path.exists(f"/proc/self/task/{self.thread.native_id}"):
            time.sleep(0.001)

    def run(self, exercise, transport, seed, only=None):
        """Grade one exercise: a Run, of all checks or of the one named `only`.

        `transport` serves the workbench's requests (see `submission.Submission`).
        """
        self.jobs.put(Run(exercise, transport, seed, only))
        run = self.done.get()
        if isinstance(run, BaseException):
            raise run
        return run

    def _session(self):
        loop = _Loop(self.jobs, self.done)
        options = ["-p", "no:cacheprovider", "-p", "no:terminal", "-p", "no:logging", "-p", "no:warnings"]
        options += ["-p", "no:capture", "-p", "no:faulthandler", "-p", "no:doctest", "-p", "no:unraisableexception"]
        options += ["-p", "no:threadexception", "-p", "no:anyio", "-p", "no:hypothesispytest"]
        options += ["-c", str(HERE / "pytest.ini"), "--rootdir", str(HERE), str(HERE)]
        code = pytest.main(options, plugins=[loop])
        if not loop.started:
            self.done.put(f"pytest ended with {code!r}: {loop.problem}")


class _Loop:
    """The pytest plug-in: instead of running the collected items once, serves jobs until there are no more."""

    def __init__(self, jobs, done):
        self.jobs = jobs
        self.done = done
        self.started = False
        self.problem = "no reason given"

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_makereport(self, item, call):
        """Keep what was raised; pytest's own report would spend most of the time on formatting a traceback."""
        if call.excinfo is not None:
            self.raised.append(call.excinfo.value)
        outcome = "failed" if call.excinfo is not None else "passed"
        return pytest.TestReport(item.nodeid, item.location, {}, outcome, None, call.when)

    def pytest_collectreport(self, report):
        if report.failed:
            self.problem = str(report.longrepr)

    def pytest_runtestloop(self, session):
        if session.testsfailed:
            return True
        self.items = {}
        for item in session.items:
            self.items.setdefault(exercise_of(item), []).append(item)
        self.started = True
        self.done.put(None)
        while (run := self.jobs.get()) is not None:
            try:
                self._grade(run)
                self.done.put(run)
            except BaseException as error:  # the kit's own mistake: the caller gets it, the loop lives on
                self.done.put(error)
        return True

    def _grade(self, run):
        items = self.items.get(run.exercise)
        if not items:
            raise LookupError(f"there is no grader for {run.exercise}")
        for item in items:
            if run.only not in (None, item.name):
                continue
            transcript = Transcript()
            item.config.stash[CURRENT] = Submission(run.transport, transcript), run.seed
            outcome = self._outcome(item)
            run.transcripts[item.name] = transcript
            if isinstance(outcome, Stopped):
                run.stopped = Stopped(outcome.status, f"{outcome}, in the check “{sentence_of(item)}”")
                return
            if isinstance(outcome, pytest.skip.Exception):
                run.skipped.append({"name": item.name, "message": f"Skipped: {outcome}."})
                continue
            run.checks.append(judge(item, outcome))

    def _outcome(self, item):
        """Run one item: None if it passed, else the exception that ended it."""
        self.raised = []
        runtestprotocol(item, log=False, nextitem=None)
        return self.raised[0] if self.raised else None


def judge(item, outcome):
    """The record.Check of an item that ended with `outcome` (an exception, or None)."""
    sentence = sentence_of(item)
    if outcome is None:
        message = sentence
    elif isinstance(outcome, CheckFailed):
        message = f"{sentence} {outcome}"
    elif isinstance(outcome, StudentError):
        message = f"{sentence} {outcome.sentence()}"
    elif isinstance(outcome, wire.WireError):
        message = f"{sentence} What your code returned cannot be used: {outcome}."
    else:  # a value that a comparison choked on, or a mistake in the grader: never a lost grade
        place = traceback.extract_tb(outcome.__traceback__)[-1]
        where = f"{type(outcome).__name__}, {Path(place.filename).name}:{place.lineno}"
        message = f"{sentence} It could not be compared ({where})."
    return record.Check(
        name=item.name,
        category=item.get_closest_marker("category").args[0],
        points=float(item.get_closest_marker("points").args[0]),
        passed=outcome is None,
        message=message,
    )


def exercise_of(item):
    """`test_attention.py` grades the exercise `attention`."""
    return item.path.stem.removeprefix("test_")


def sentence_of(item):
    """The first paragraph of a check's docstring."""
    return " ".join(inspect.getdoc(item.function).split("\n\n")[0].split())
