"""`autograder watch`: grades a file whenever it is saved, and shows what to do next."""

from __future__ import annotations

import contextlib
import io
import os
import select
import shutil
import signal
import sys
import termios
import time
import tty
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING

from .. import course
from ..errors import Ended, Unreadable, UsageError
from ..grading import seeds, start, waivers
from ..report import lesson
from ..report.outcome_text import points_by_hand
from ..verdict import STOPPED, Check, Diagnosis, Graded, Outcome, Verdict
from . import changes, screen
from .service import Service

if TYPE_CHECKING:  # it imports torch
    from ..grading.grader import Grader, Program

EVERY = 0.05  # seconds between two looks at the file
CLEAR = "\x1b[H\x1b[2J\x1b[3J"
STOPPED_CELL = "the cell was stopped"  # as grading/workspace.py says it
END = "\x04"  # Ctrl-D
WIDEST = 100  # columns: longer lines are hard to read


def run(path: str, exercise: str | None, seed: int | None, device: str, sandbox: str) -> int:
    """Watch a file until the user quits; returns the exit code. Raises UsageError if there is no such file."""
    if not Path(path).is_file():
        raise UsageError(f"There is no file {path} to watch.")
    seed = seeds.new_seed() if seed is None else seed
    terminal = Terminal()
    with _ended_by_signals(), contextlib.ExitStack() as stack:
        terminal.say("Starting the sandbox …")
        grader = stack.enter_context(start.started_grader(device, sandbox))
        service = stack.enter_context(Service(device, sandbox))
        stack.enter_context(terminal)
        watch = Watch(grader, path, exercise, seed, terminal.say_busy, terminal.has_key)
        try:
            while True:
                if watch.look():
                    terminal.show(watch.state)
                if watch.settle():
                    terminal.show(watch.state)
                if "q" in (keys := terminal.wait(EVERY, service, grader)):
                    break
                if "h" in keys and watch.show_a_hint():
                    terminal.show(watch.state)
        except KeyboardInterrupt:
            signal.signal(signal.SIGINT, signal.SIG_IGN)  # a second Ctrl-C must not disturb the exit
    return 0 if watch.state.verdict is not None and watch.state.verdict.full else 1


class Wanted(BaseException):
    """The user has saved the file or pressed a key. A BaseException, so that no check catches it as its own."""


class Watch:
    """The state of a watched file. `look` grades what a save may affect; `settle` then grades all of it.

    All gradings of a watch have the same seed: so nothing changes by luck from one save to the next, and what is known
    of the inputs is worked out once. Each grading has a fresh child.
    """

    def __init__(
        self,
        grader: Grader,
        path: str,
        exercise: str | None,
        seed: int,
        busy: Callable[[], None] = lambda: None,
        has_key: Callable[[], bool] = lambda: False,
    ) -> None:
        """`busy` is called before a grading, which may take a while; `has_key` says whether a key was pressed."""
        self.grader = grader
        self.busy = busy
        self.has_key = has_key
        self.exercise = exercise
        self.seed = seed
        self.file = changes.WatchedFile(path)
        self.program: Program | None = None
        self.hints: dict[str, int] = {}  # how many of an exercise's hints are shown
        self.is_read = True  # whether what the file holds now has been read, or found to be unreadable
        self.settled = True  # whether all of the verdict is from after the last change, and its mistakes are named
        self.named: dict[str, Outcome] = {}  # the latest outcome of each exercise that was searched for mistakes
        self.learnt = False
        self.state = screen.State(path)
        self.scoring = waivers.scoring_of(course.root())
        grader.waived = self.scoring.waivers.waived

    def look(self) -> bool:
        """Look whether the file has changed, and if so grade what the change concerns; returns whether it did."""
        if self.file.has_changed():
            self.is_read = False
        if self.is_read:
            return False
        started = time.monotonic()
        program = self._read()
        if program is None:
            return self.is_read
        self._grade(program, started)
        return True

    def _read(self) -> Program | None:
        """The program in the file; None if it may be half-written, or cannot be read, as `state` then says."""
        from ..grading.grader import read_program

        try:
            program = read_program(self.file.path, self.exercise)
            problem = ""
        except Unreadable as error:
            program, problem = None, str(error)
        if self.file.is_in_the_making() and (problem or self.file.is_empty()):
            return None
        self.is_read = True
        if program is None:
            self.state = replace(self.state, problem=problem, note="")
        return program

    def _grade(self, program: Program, started: float) -> None:
        """Grade what a change concerns, without naming mistakes: `settle` has the time for that."""
        self.busy()
        old, before = self.state.verdict, changes.program_of(self.program.cells) if self.program else []
        after = changes.program_of(program.cells)
        names = [e.name for e in program.candidates]
        now = set(names)
        if old is not None and before != after and _is_laid_out_alike(self.program, program):
            now = changes.concerned(names, before, after)
        self.named = {name: outcome for name, outcome in self.named.items() if name not in now}
        edited = changes.changed_in(names, before, after) if old else set()
        wanted = program.wanted and [e for e in program.wanted if e.name in now]
        warning = self.state.warning
        if old is not None and wanted == []:
            verdict = old
        else:
            graded = self.grader.grade_program(program, wanted, self.seed, lambda name, checks: [])
            verdict, warning = graded.verdict, _stopped_cells(graded)
        if old is not None and program.wanted is not None:
            outcomes = {e.exercise: e for e in (*old.exercises, *verdict.exercises)}
            verdict = replace(verdict, exercises=[outcomes[e.name] for e in program.wanted])
        self.program = program
        self.settled = bool(warning)  # an endless loop would only be waited for once more
        took = f", in {time.monotonic() - started:.2f} s" if old is not None else ""
        self._put(verdict, edited, f"checked at {time.strftime('%H:%M:%S')}{took}", warning)

    def settle(self) -> bool:
        """After a change, grade everything again and name the mistakes; returns whether that shows something else.

        What a change concerns is judged by the text of the program. It does not tell everything, and `check` grades
        all of it. The mistakes of an exercise that was not concerned keep their names if its checks come out as before.
        An exercise that ran too long is not tried again before something that it depends on changes. A save or a key
        ends this, and it begins again once there is nothing else to do.
        """
        if not self.is_read or self.program is None or self.state.verdict is None:
            return False
        if self.settled:
            self._learn()
            return False
        known, shown = self.state.verdict, screen.as_text(self.state)
        again = [course.exercises()[e.exercise] for e in known.exercises if e.status not in STOPPED]
        if again:
            try:
                verdict = self.grader.grade_program(self.program, again, self.seed, self._known, self._listen).verdict
            except Wanted:
                return False
            outcomes = {outcome.exercise: outcome for outcome in verdict.exercises}
            self.named |= outcomes
            known = replace(known, exercises=[outcomes.get(e.exercise, e) for e in known.exercises])
        self.settled = True
        self._put(known, set(), self.state.note)
        return screen.as_text(self.state) != shown

    def _listen(self) -> None:
        """Raises Wanted if the file was saved, or a key pressed."""
        if self.file.has_changed():
            self.is_read = False
        if not self.is_read or self.has_key():
            raise Wanted

    def _known(self, exercise: str, checks: list[Check]) -> list[Diagnosis] | None:
        before = self.named.get(exercise)
        return before.diagnosis if before is not None and before.checks == checks else None

    def _learn(self) -> None:
        """Learn what the checks ask, once, while there is nothing else to do: gradings are faster from then on."""
        if self.learnt:
            return
        self.learnt = True
        outcomes = self.state.verdict.exercises if self.state.verdict else []
        names = {course.exercises()[e.exercise].assignment for e in outcomes if e.status != "missing"}
        for name in sorted(names)[:1]:
            self.grader.learn(name, self.seed)

    def show_a_hint(self) -> bool:
        """Show one more hint of the exercise to do next; returns whether there is one."""
        if self.state.next is None or not self.state.more_hints:
            return False
        self.hints[self.state.next] = len(self.state.hints) + 1
        self._put(self.state.verdict, set(), self.state.note, self.state.warning)
        return True

    def _put(self, verdict: Verdict | None, edited: set[str], note: str, warning: str = "") -> None:
        """Make the state that shows a verdict."""
        verdict = verdict and self.scoring.of(verdict)
        name = screen.next_exercise(verdict, edited, self.state.next) if verdict else None
        hints = course.hints_of(name) if name else []
        outcome = verdict.exercise(name) if verdict else None
        shown = hints[: self.hints.get(name or "", 0 if outcome and outcome.not_started else 1)]
        self.state = screen.State(
            self.state.path,
            verdict,
            next=name,
            hints=shown,
            more_hints=len(hints) - len(shown),
            by_hand=points_by_hand(verdict) if verdict else 0,
            blank=_blank(self.program) if verdict and self.program else (),
            note=note,
            warning=warning,
            settled=self.settled,
        )


def _blank(program: Program) -> list[str]:
    """A sentence for each written answer of a notebook that is blank."""
    return [one["message"] for one in lesson.blank_answers(program.assignment, program.cells)]


def _is_laid_out_alike(one: Program | None, other: Program) -> bool:
    """Whether two programs have the same assignment and number of cells: messages tell the numbers of cells."""
    return one is not None and one.assignment == other.assignment and len(one.cells) == len(other.cells)


def _stopped_cells(graded: Graded) -> str:
    """A sentence on the cells that were stopped while the notebook ran; "" if there are none."""
    found = []
    for index, outputs in graded.outputs.items() if graded.stopped else ():
        ends = [output.get("evalue", "") for output in outputs if output.get("output_type") == "error"]
        if ends and ends[-1].startswith(STOPPED_CELL):
            number = graded.cells[index].number
            found.append(f"{f'In code cell {number}, ' if number else ''}{ends[-1]}. Fix that first.")
    return " ".join(found)


class Terminal:
    """Where the screens go, and where keys come from. If stdout is no terminal, each screen follows the one before.

    In a `with`, single keys are read, if stdin is a terminal that this process has for itself.
    """

    def __init__(self) -> None:
        self.is_one = sys.stdout.isatty() and os.environ.get("TERM", "dumb") != "dumb"
        self.colours = self.is_one and not os.environ.get("NO_COLOR")
        self.shown: screen.State | None = None
        self.saved: list | None = None  # how stdin was, if keys are read
        if isinstance(sys.stdout, io.TextIOWrapper):
            sys.stdout.reconfigure(errors="replace")

    def __enter__(self) -> Terminal:
        if self.is_one and sys.stdin.isatty() and os.tcgetpgrp(sys.stdin.fileno()) == os.getpgrp():
            self.saved = termios.tcgetattr(sys.stdin)
            signal.signal(signal.SIGCONT, self._go_on)
            tty.setcbreak(sys.stdin, termios.TCSANOW)
        return self

    def __exit__(self, *exc: object) -> None:
        if self.saved is not None:
            signal.signal(signal.SIGCONT, signal.SIG_DFL)
            termios.tcsetattr(sys.stdin, termios.TCSADRAIN, self.saved)
            self.saved = None

    def _go_on(self, number: int, frame: FrameType | None) -> None:
        """After Ctrl-Z and `fg`: the shell has set the terminal as it likes it."""
        tty.setcbreak(sys.stdin, termios.TCSANOW)
        if self.shown is not None:
            self.show(self.shown)

    def say(self, text: str) -> None:
        """Say on a terminal what is waited for; the next screen takes its place."""
        if self.is_one:
            print(text, flush=True)

    def say_busy(self) -> None:
        self.say("Checking …")

    def show(self, state: screen.State) -> None:
        self.shown = state = replace(state, keys=self.saved is not None)
        text = screen.as_text(state, min(shutil.get_terminal_size().columns, WIDEST), self.colours)
        print(f"{CLEAR}{text}" if self.is_one else f"{text}\n", flush=True)

    def has_key(self) -> bool:
        """Whether a key was pressed that `wait` has not returned yet."""
        return self.saved is not None and bool(select.select([sys.stdin.fileno()], [], [], 0)[0])

    def wait(self, seconds: float, service: Service, grader: Grader) -> str:
        """Wait for so long, serving those that ask meanwhile; returns the keys that were pressed."""
        keys = [sys.stdin.fileno()] if self.saved is not None else []
        clients = [service.socket] if service.socket is not None else []
        ready, _, _ = select.select([*keys, *clients], [], [], seconds)
        if any(client in ready for client in clients):
            service.answer(grader)
        if not any(key in ready for key in keys):
            return ""
        pressed = os.read(keys[0], 64).decode(errors="replace")
        return pressed.lower() if pressed and END not in pressed else "q"


@contextlib.contextmanager
def _ended_by_signals() -> Iterator[None]:
    """In the body, SIGTERM and SIGHUP raise Ended, so that all is cleared away."""

    def end(number: int, frame: FrameType | None) -> None:
        raise Ended(128 + number)

    before = {number: signal.signal(number, end) for number in (signal.SIGTERM, signal.SIGHUP)}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
