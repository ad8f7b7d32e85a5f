"""Grades in a process apart, forked from this one once all is imported: what ends that process ends nothing here.

The process that asks holds the gradebook, the record or the terminal, and tries nothing itself. The one that grades is
confined (bounds.py) and lives on for the next submission, with all that it has learnt. If it ends, or has to be ended,
the submission is graded again in another one, without what it was trying at that moment; a check is tried once more.
What is still not there after that is left out: the names of mistakes, or the exercise whose checks end each process.
"""

from __future__ import annotations

import contextlib
import gc
import logging
import os
import pickle
import select
import signal
import sys
import time
import warnings
from collections.abc import Callable, Collection, Sequence
from multiprocessing import Pipe
from multiprocessing.connection import Connection
from typing import Any, NoReturn, cast

from .. import bounds, course
from ..bounds import Slot
from ..errors import KitError
from ..sandbox.jail import START_SECONDS, Limits
from ..submission.restore import RestoredCell
from ..verdict import KILLED, Graded, Outcome, Verdict, without_grade
from .blame import Tell
from .grader import Grader, Known, Waived, nothing
from .trials import Trial
from .watchdog import CHECKS, MISTAKES, Endless, watching

# bytes: with the 350 MB of what is imported, and what of that was reserved and not yet used, a process of grading stays
# below 1.5 GB. With 1 GiB, one reached 1,585 MB in 58 wrong answers to `KVCache`
ROOM = 3 * 2**28
LARGE = ROOM // 2  # bytes that it has more than at first, after a submission: another one takes its place
EVERY = 0.1  # seconds between two looks at what it is doing
LONGEST = Limits().submission + 2 * START_SECONDS  # seconds for what has no limit of its own: waiting for the sandbox
SOON = 10.0  # seconds in which a process that has nothing to do ends
MADE, RAISED, ABANDONED = "made", "raised", "abandoned"  # how a request ends
UNANSWERED = ("tell", "note")  # calls of the one that asked that return nothing
# processes for one submission; each leaves out what ended the one before it, but for a check or a kill from outside,
# which must have come twice
ATTEMPTS = 4

log = logging.getLogger(__name__)


class RanAway(KitError):
    """A process of grading has ended, or had to be ended, while it tried `what`; the message says how.

    `is_killed`: by SIGKILL, and not by us. That may come from outside, so `what` need not be the reason. `cpu`: the
    seconds that it took for this request.
    """

    def __init__(self, what: str, message: str, is_killed: bool = False, cpu: float = 0.0) -> None:
        super().__init__(message)
        self.what, self.is_killed, self.cpu = what, is_killed, cpu

    def __reduce__(self) -> tuple[type[RanAway], tuple[str, str, bool, float]]:
        return RanAway, (self.what, str(self), self.is_killed, self.cpu)


class _Abandoned(BaseException):
    """The one that asked does not want the answer any more."""


class GraderApart(Grader):
    """A Grader that grades in a process of its own. Otherwise it is used as any Grader is.

    What its methods return or raise, and what they call back, is as with a Grader; a submission whose grading ends
    several processes gets the outcomes that were complete before.
    """

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self.is_apart = False  # whether this is the process that grades
        self.process: _Process | None = None
        self.without = set[str]()  # what is left out of the submission that is graded

    def close(self) -> None:
        self.end_process()
        super().close()

    def grade_cells(
        self,
        cells: list[RestoredCell],
        wanted: Sequence[course.Exercise] | None,
        seed: int,
        path: str = "",
        assignment: str = "",
        candidates: Sequence[course.Exercise] = (),
        alone: bool = False,
        waived: Waived | None = None,
        known: Known | None = None,
        tell: Tell = nothing,
        note: Tell = nothing,
    ) -> Graded:
        given = cells, wanted, seed, path, assignment, candidates, alone, self.waived if waived is None else waived
        if self.is_apart:
            return super().grade_cells(*given, known, tell, note)
        if self.ledger is not None:
            self.ledger.begin(path, assignment)
        noted: dict[str, Outcome] = {}

        def keep(outcome: Outcome) -> None:
            noted[outcome.exercise] = outcome
            note(outcome)

        calls = {"known": known, "tell": tell, "note": keep, "before_each": self.graders.before_each}
        try:
            return self._attempts("grade_cells", given, calls)
        except RanAway as end:
            log.error("a submission was not graded to the end: %s", end)
            names = wanted or [e for e in candidates if e.name in noted] or candidates
            outcomes = [noted.get(e.name) or without_grade(e.name, e.points, "killed", KILLED) for e in names]
            return Graded(Verdict(path, outcomes, seed, assignment, sandbox=self.parent.level), cells)

    def grade_trial(self, assignment: course.Assignment, trial: Trial, seed: int) -> Verdict:
        if self.is_apart:
            return super().grade_trial(assignment, trial, seed)
        if self.ledger is not None:
            self.ledger.begin(str(assignment.path), assignment.name)
        try:
            return self._attempts("grade_trial", (assignment, trial, seed), {})
        except RanAway as end:
            log.error("%s was not graded to the end: %s", assignment.name, end)
            outcomes = [without_grade(e.name, e.points, "killed", KILLED) for e in assignment.exercises]
            return Verdict(str(assignment.path), outcomes, seed, assignment.name, sandbox=self.parent.level)

    def learn(self, name: str, seed: int) -> None:
        if self.is_apart:
            return super().learn(name, seed)
        with contextlib.suppress(RanAway):
            self._asked("learn", (name, seed), {})

    def apart(self, function: Callable[..., Any], *given: Any) -> Any:
        """What a function returns, if it is called in the process that grades, with its Grader. Raises RanAway."""
        return self._asked("call", (function, *given), {})

    def call(self, function: Callable[..., Any], *given: Any) -> Any:
        """In the process that grades: call a function with this Grader. Raises RanAway if that takes too long."""
        what = f"{function.__name__} of {' '.join(map(str, given))}"
        try:
            with watching(what=what):
                return function(self, *given)
        except Endless as end:
            raise RanAway(what, str(end)) from None

    def _attempts(self, method: str, given: tuple[Any, ...], calls: dict[str, Any]) -> Any:
        """What a method returns in the process apart, after what ends that is left out. Raises RanAway."""
        met = set[str]()
        try:
            for left in reversed(range(ATTEMPTS)):
                try:
                    return self._asked(method, given, calls)
                except RanAway as end:
                    log.warning("a process of grading ended: %s; the submission is graded again", end)
                    if self.ledger is not None:
                        self.ledger.lose(end.what, str(end), end.cpu)
                    if not left or (not end.what and end.what in met):
                        raise
                    is_at_fault = not end.is_killed and not end.what.startswith(CHECKS)
                    if end.what and (end.what in met or is_at_fault):
                        self._leave_out(end.what)
                    met.add(end.what)
        finally:
            self.without.clear()
        raise AssertionError  # the last attempt has raised

    def _leave_out(self, what: str) -> None:
        """Leave out what has ended a process: a hypothesis for good, a part of the grading for this submission."""
        if what.startswith((CHECKS, MISTAKES)):
            self.without.add(what)
        else:
            bounds.bar(what)

    def _asked(self, method: str, given: tuple[Any, ...], calls: dict[str, Any]) -> Any:
        """What a method returns in the process apart, started if need be. Raises what it raises, or RanAway."""
        if self.process is not None and not self.process.is_of(course.assignments()):
            self.end_process()
        if self.process is None:
            self.parent.start()  # here, so that it serves more than one process
            self.process = _Process(self)
        try:
            about = self.ledger.about if self.ledger is not None else ""
            return self.process.asked(method, given, calls, self.without, about)
        finally:
            if not self.process.is_idle or self.process.is_large():
                self.end_process()

    def end_process(self) -> None:
        """End the process apart, for the next submission to get another; and the sandbox, if it may still answer."""
        process, self.process = self.process, None
        ended_well = process is None or process.end()
        if not ended_well or self.parent.is_gone():
            self.parent.close()

    def serve(self, pipe: Connection) -> None:
        """In the process that grades: answer what is asked, until nobody is there to ask."""
        self.is_apart = True
        while True:
            try:
                method, given, wanted, without, about, folder = pipe.recv()
            except EOFError:
                return
            bounds.leave_out(without)
            if self.ledger is not None:
                self.ledger.about = about
            calls = {name: _Call(pipe, name) for name in wanted}
            self.graders.before_each = calls.pop("before_each", nothing)
            try:
                os.chdir(folder)
                pipe.send((MADE, getattr(self, method)(*given, **calls)))
            except _Abandoned:
                pipe.send((ABANDONED, None))
            except BaseException as error:
                pipe.send((RAISED, _sendable(error)))


class _Call:
    """In the process that grades: a function of the one that asked."""

    def __init__(self, pipe: Connection, name: str) -> None:
        self.pipe, self.name = pipe, name

    def __call__(self, *given: Any) -> Any:
        """What it returns. Raises _Abandoned."""
        self.pipe.send((self.name, given))
        if self.name in UNANSWERED:
            return None
        is_wanted, answer = self.pipe.recv()
        if not is_wanted:
            raise _Abandoned
        return answer


class _Process:
    """The process that grades, as the one that asks sees it."""

    def __init__(self, grader: GraderApart) -> None:
        self.slot, self.course = Slot(), course.assignments()
        self.pipe, theirs = cast("tuple[Connection, Connection]", Pipe())
        self.is_idle = True
        sys.stdout.flush()
        sys.stderr.flush()
        asks = os.getpid()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DeprecationWarning)  # Python warns where there are threads
            self.id = os.fork()
        if not self.id:
            _work(grader, self.pipe, theirs, self.slot, asks)
        theirs.close()
        self.pidfd = os.pidfd_open(self.id)
        self.size = _size_of(self.id)
        self.code: int | None = None
        self.before = 0.0  # CPU seconds, before the latest request
        self.spent = 0.0  # CPU seconds in all, once it has ended

    def is_of(self, assignments: object) -> bool:
        """Whether it knows the course as it is now."""
        return self.course is assignments

    def is_large(self) -> bool:
        """Whether it has grown so much that another one should take its place."""
        return _size_of(self.id) > self.size + LARGE * bounds.TIMES

    def asked(
        self, method: str, given: tuple[Any, ...], calls: dict[str, Any], without: Collection[str], about: str
    ) -> Any:
        """What a method returns there. Serves its calls meanwhile. Raises what it or a call raises, or RanAway.

        `without` is left out, and `about` says who has handed in, for the ledger.
        """
        problem: Exception | BaseException = _Abandoned()
        wanted = [name for name, call in calls.items() if call not in (None, nothing)]
        self.is_idle = False
        self.before = self.cpu()
        self._send((method, given, wanted, without, about, os.getcwd()))
        while True:
            kind, answer = self._received()
            if kind in calls:
                try:
                    answer = calls[kind](*answer)
                except (KeyboardInterrupt, SystemExit):
                    raise
                except BaseException as error:
                    problem = error
                    self._send((False, None))
                else:
                    if kind not in UNANSWERED:
                        self._send((True, answer))
                continue
            self.is_idle = True
            if kind == MADE:
                return answer
            raise answer if kind == RAISED else problem

    def _send(self, message: tuple[Any, ...]) -> None:
        try:
            self.pipe.send(message)
        except OSError:
            raise self._gone() from None

    def _received(self) -> Any:
        """What comes from it. Raises RanAway if it ends, or is at something for too long."""
        began = time.monotonic()
        try:
            while not self.pipe.poll(EVERY):
                cpu, clock, what = self.slot.get()
                if cpu and cpu < self.cpu():
                    raise self._gone(f"{what} took far too much of the processor")
                if (clock or began + LONGEST) < time.monotonic():
                    raise self._gone(f"{what or 'it'} took far too long")
            return self.pipe.recv()
        except (EOFError, OSError):
            raise self._gone() from None

    def cpu(self) -> float:
        """The CPU seconds that it has taken."""
        return time.clock_gettime(~self.id << 3 | 2)  # as clock_getcpuclockid has it

    def _gone(self, why: str = "") -> RanAway:
        """End it: what it was trying, and why it ended."""
        what = self.slot.get()[2]
        if not why:
            select.select([self.pidfd], [], [], SOON)  # it may be ending
        code = self.end_now()
        how = f"ended by signal {-code}" if code < 0 else f"ended with code {code}"
        is_killed = not why and code == -signal.SIGKILL
        cpu = self.spent - self.before
        return RanAway(what, why or f"its process was {how}{f' at {what}' if what else ''}", is_killed, cpu)

    def end(self) -> bool:
        """End it; returns whether it was idle, and ended by itself."""
        self.pipe.close()
        if self.is_idle:
            select.select([self.pidfd], [], [], SOON)
        return self.end_now() == 0

    def end_now(self) -> int:
        """End it with all that it has started; returns its exit code, negative for a signal."""
        if self.code is None:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(self.id, signal.SIGKILL)
            with contextlib.suppress(ProcessLookupError):
                signal.pidfd_send_signal(self.pidfd, signal.SIGKILL)  # if it has no group yet
            _, status, usage = os.wait4(self.id, 0)
            self.code, self.spent = os.waitstatus_to_exitcode(status), usage.ru_utime + usage.ru_stime
            os.close(self.pidfd)
        return self.code


def _work(grader: GraderApart, ours: Connection, pipe: Connection, slot: Slot, asks: int) -> NoReturn:
    """What the process that grades does, from its beginning to its end."""
    code = 1
    try:
        ours.close()
        bounds.end_with(asks)
        bounds.confine(slot, ROOM)
        gc.freeze()  # what was imported stays, in memory that both share
        grader.serve(pipe)
        code = 0
    except BrokenPipeError:  # nobody is there to ask
        pass
    except BaseException:
        log.exception("a process of grading ended")
    finally:
        os._exit(code)  # what the other process began stays its own to end


def _size_of(process: int) -> int:
    """How much a process has of what its limit counts."""
    with open(f"/proc/{process}/statm", "rb") as file:
        return bounds.counted(file.read())


def _sendable(error: BaseException) -> BaseException:
    """The same error, or one that says the same and can be sent."""
    try:
        pickle.loads(pickle.dumps(error))
    except Exception:
        return RuntimeError(f"{type(error).__name__}: {error}")
    return error
