"""What grading each submission costs, counted where AUTOGRADER_COSTS asks for it, and written as lines of JSON.

All of it is counted on the trusted side: requests and bytes as they leave and arrive, CPU by the kernel's clocks. What
a submission's process says of itself is not in it, and that process sees neither the variable nor the file.
"""

from __future__ import annotations

import contextlib
import json
import logging
import os
import socket
import time
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..checks.proxies import Local
from ..sandbox.child import number_of
from .watchdog import CHECKS

if TYPE_CHECKING:
    from ..checks.runner import ExerciseRun
    from ..sandbox.child import Child
    from ..verdict import Graded, Outcome

STDERR = 2
FLAGS = os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC | os.O_NONBLOCK
SCHEMA = 1
# Each line is written at once, and stays below select.PIPE_BUF: so lines of several workers never mix, even in a pipe.
LONGEST = 1000  # bytes of a name as JSON, which may write a character as twelve
MOST_TOLD = 200  # characters of what a process was at, and of why it ended
MOST_PROCESSES = 10  # of a submission: those that took most
CPU = ("cpu_grading", "cpu_sandbox", "cpu_warm_parent")  # seconds, by process
# how often: cells run, what the submission was asked, frames to it and back with their bytes, checks run on it and on
# mistakes of the bank, edits of it that were tried, processes that ran its code
COUNTED = ("cells", "requests", "round_trips", "bytes_sent", "bytes_received", "checks", "checks_of_mistakes")
COUNTED += ("edits", "children")

log = logging.getLogger(__name__)


@dataclass
class Process:
    """A process that ran a submission's code: in which stage it began, and what it took by now."""

    exercise: str
    stage: str
    cpu: float = 0.0
    memory: int = 0  # bytes at most, once it has ended


class Metered(socket.socket):
    """A connection that counts the bytes that go over it."""

    def __init__(self, taken: socket.socket, counts: Counter[str]) -> None:
        """Takes the place of another socket, which is empty then."""
        super().__init__(fileno=taken.detach())
        self.counts = counts

    def send(self, data: Any, flags: int = 0, /) -> int:
        sent = super().send(data, flags)
        self.counts["bytes_sent"] += sent
        return sent

    def recv(self, size: int, flags: int = 0, /) -> bytes:
        data = super().recv(size, flags)
        if not flags & socket.MSG_PEEK:
            self.counts["bytes_received"] += len(data)
        return data


class Ledger:
    """What one submission after another costs, by exercise and stage; one for each process that grades.

    `path` is the file to which the lines are added; None: standard error. `about` says who handed in, if the path of a
    submission does not. Raises OSError if that file cannot be written.
    """

    def __init__(self, path: Path | None = None) -> None:
        self.path = path
        self.about = ""
        self.is_lost = False  # whether lines could not be written
        with _opened(path):
            pass
        self.parents: dict[int, float] = {}  # each warm parent, and its CPU when the submission began, or it did itself
        self._begin("", "")

    def begin(self, path: str, assignment: str) -> None:
        """Begin another submission, of which nothing has been spent yet."""
        self._begin(self.about or path, assignment)

    def _begin(self, who: str, assignment: str) -> None:
        self.names = {"submission": _end_of(who), "assignment": assignment}
        self.counts: Counter[str] = Counter()
        self.spent: defaultdict[tuple[str, str], Counter[str]] = defaultdict(Counter)
        self.now: tuple[str, str] = "", ""  # the exercise and its stage
        self.processes: list[Process] = []
        self.alive: dict[Child, tuple[int, Process]] = {}
        self.parents = {number: _cpu(number) for number in self.parents}
        self.at_first = self._taken()

    # --- what is counted ----------------------------------------------------------------------------

    def follow(self, child: Child) -> None:
        """Count what a new process of the submission takes, and what goes to it and comes back."""
        number, made = number_of(child.pidfd), Process(*self.now)
        child.sock = Metered(child.sock, self.counts)
        self.alive[child] = number, made
        self.processes.append(made)
        self.counts["children"] += 1
        if (parent := _parent_of(number)) and parent not in self.parents:
            self.parents[parent] = _cpu(parent)

    def ended(self, child: Child, ended: Mapping[str, Any]) -> None:
        """Note what a process took in all; `ended` is as `Child.kill` returns it."""
        number, made = self.alive.pop(child, (0, Process("", "")))
        made.cpu = max(made.cpu, ended.get("cpu", _cpu(number)))
        made.memory = ended.get("memory", 0)

    def count(self, what: str, number: int = 1) -> None:
        """Count something of COUNTED."""
        self.counts[what] += number

    def checked(self, run: ExerciseRun) -> None:
        """Count the checks of a run, of the submission or of a mistake of the bank."""
        what = "checks_of_mistakes" if isinstance(run.transport, Local) else "checks"
        self.counts[what] += len(run.checks) + len(run.skipped)

    @contextlib.contextmanager
    def stage(self, exercise: str, name: str) -> Iterator[None]:
        """Count what the body takes as spent on a stage of an exercise; "" if it is no exercise's."""
        before, (self.now, around) = self._taken(), ((exercise, name), self.now)
        try:
            yield
        finally:
            self.now = around
            self.spent[exercise, name].update(_difference(self._taken(), before))

    def _taken(self) -> Counter[str]:
        """All that was taken by now."""
        for number, made in self.alive.values():
            made.cpu = max(made.cpu, _cpu(number))
        clocks = {
            "seconds": time.monotonic(),
            "cpu_grading": time.process_time(),
            "cpu_sandbox": sum(one.cpu for one in self.processes),
            "cpu_warm_parent": sum(max(0.0, _cpu(number) - first) for number, first in self.parents.items()),
        }
        return Counter({**self.counts, **clocks})

    # --- what is written ----------------------------------------------------------------------------

    def close(self, graded: Graded) -> list[dict[str, Any]]:
        """Write the lines of a submission that is graded: those of its exercises, then its own. Returns them."""
        lines = [*map(self._line_of, graded.verdict.exercises), self._line_of_all(graded)]
        self.write(lines)
        return lines

    def _line_of_all(self, graded: Graded) -> dict[str, Any]:
        """The line of the whole submission."""
        taken = _difference(self._taken(), self.at_first)
        scores = {"score": graded.verdict.score, "max_score": graded.verdict.max_score}
        own = {stage: _short(spent) for (exercise, stage), spent in self.spent.items() if not exercise}
        cells = {what: seconds for what, seconds in graded.spent.items() if not what.startswith(CHECKS)}
        slowest = max(cells, key=cells.__getitem__, default="")
        about = {"slowest_cell": slowest, "slowest_cell_seconds": round(cells.get(slowest, 0.0), 6)}
        listed = [asdict(one) for one in sorted(self.processes, key=lambda one: -one.cpu)[:MOST_PROCESSES]]
        return {**self._head(), **scores, **_plain(taken), **about, "stages": own, "processes": listed}

    def _line_of(self, outcome: Outcome) -> dict[str, Any]:
        """The line of one exercise."""
        stages = {stage: spent for (name, stage), spent in self.spent.items() if name == outcome.exercise}
        total = sum(stages.values(), Counter[str]())
        about = {"exercise": outcome.exercise, "status": outcome.status}
        about |= {"score": outcome.score, "max_score": outcome.max_score}
        names = [one.id for one in outcome.diagnosis]
        told = {name: _short(spent) for name, spent in stages.items()}
        return {**self._head(), **about, "names": names, **_plain(total), "stages": told}

    def lose(self, what: str, why: str, cpu: float) -> None:
        """Write that a process that graded has ended at `what`, after so many seconds of CPU; others may follow."""
        told = {"lost": what[:MOST_TOLD], "why": why[:MOST_TOLD]}
        self.write([{**self._head(), **told, "cpu_grading": round(cpu, 6)}])

    def _head(self) -> dict[str, Any]:
        return {"costs": SCHEMA, **self.names}

    def write(self, lines: list[dict[str, Any]]) -> None:
        """Write lines, each by a call of its own. If that fails, grading goes on, and a warning is logged once."""
        try:
            with _opened(self.path) as descriptor:
                for line in lines:
                    data = f"{json.dumps(line)}\n".encode()
                    while data:
                        data = data[os.write(descriptor, data) :]
        except OSError as error:
            if not self.is_lost:
                where = self.path or "standard error"
                log.warning("what grading costs could not be written to %s (%s)", where, error.strerror)
            self.is_lost = True


@contextlib.contextmanager
def _opened(path: Path | None) -> Iterator[int]:
    """A descriptor to write to. The file, which names students, is made for its owner alone, and open only for so long.

    A FIFO that nobody reads raises an OSError, since opening it would wait.
    """
    if path is None:
        yield STDERR
        return
    descriptor = os.open(path, FLAGS, 0o600)
    try:
        yield descriptor
    finally:
        os.close(descriptor)


def _end_of(name: str) -> str:
    """The end of a name, by which a path is known, as far as it takes LONGEST bytes."""
    name = name[-LONGEST:]
    while (size := len(json.dumps(name))) > LONGEST:
        name = name[-(len(name) * LONGEST // size) :]
    return name


def _difference(later: Mapping[str, float], before: Mapping[str, float]) -> Counter[str]:
    """What was taken in between; a Counter's own `-` drops what is not above 0, which is kept here."""
    return Counter({name: later[name] - before.get(name, 0) for name in later})


def _plain(spent: Counter[str]) -> dict[str, float]:
    """The same as numbers of a line, in its order, all of them."""
    clocks = {name: round(float(spent[name]), 6) for name in ("seconds", *CPU)}
    return {**clocks, **{name: spent[name] for name in COUNTED}}


def _short(spent: Counter[str]) -> dict[str, float]:
    """The same without those that are 0."""
    return {name: number for name, number in _plain(spent).items() if number}


def _cpu(number: int) -> float:
    """The CPU seconds that a process has taken; 0 if it is gone, or below 1, which the kernel takes for this one."""
    if number < 1:
        return 0.0
    try:
        return time.clock_gettime(~number << 3 | 2)  # as clock_getcpuclockid has it
    except OSError:
        return 0.0


def _parent_of(number: int) -> int:
    """The process that has started another one, which is alive; 0 if it is not."""
    try:
        return int(Path(f"/proc/{number}/stat").read_text().rpartition(")")[2].split()[1])
    except (OSError, ValueError, IndexError):
        return 0
