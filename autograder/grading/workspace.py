"""A submission's cells in a sandboxed child, and the one deadline over all that is done with them."""

from __future__ import annotations

import contextlib
import json
import re
import time
from collections import defaultdict
from collections.abc import Collection, Iterator, Sequence
from typing import Any

from ..checks.proxies import Answer, StudentError
from ..checks.runner import Stopped
from ..checks.source_text import Source, names_in
from ..errors import ChildGone, Interrupted
from ..sandbox import replies
from ..sandbox.child import Child
from ..sandbox.inside import wire
from ..sandbox.parent import WarmParent
from ..submission.restore import RestoredCell
from .outputs import clean_outputs
from .watchdog import Endless, watching

MAX_RESTARTS = 8
MAX_SHOWN = 6 * 2**20  # bytes of outputs kept of a notebook; a cell's own cap is in outputs.py
MAX_ANSWERS = 16 * 2**20  # bytes of tensors in all answers of one exercise; right ones send half a megabyte at most


class OutOfTime(ChildGone):
    """The time for all that is done with a submission is up."""

    def __init__(self, seconds: float) -> None:
        super().__init__("timeout", f"grading the whole submission took longer than {seconds:g} s")


class Deadline:
    """The one deadline over all that is done with a submission, by the clock. It begins with its first process."""

    def __init__(self, seconds: float) -> None:
        self.seconds = seconds
        self.ends: float | None = None

    def begin(self) -> None:
        """Let it run, unless it does already."""
        self.ends = self.ends or time.monotonic() + self.seconds

    def is_over(self) -> bool:
        return self.ends is not None and time.monotonic() >= self.ends

    def left(self) -> float:
        """The seconds that are left. Raises OutOfTime if there are none."""
        if self.is_over():
            raise OutOfTime(self.seconds)
        return self.ends - time.monotonic() if self.ends else self.seconds


class Workspace:
    """A submission's cells, run in a sandboxed child, and a fresh child whenever one is lost.

    It is the transport of the graders' proxies. A cell that ends its child is left out of the next one, so that one
    exercise's endless loop or crash does not take the others along. What a limit counts is what requests took, never
    what was done here meanwhile, nor what was asked in vain; but nothing is asked any more when the deadline is over.
    """

    def __init__(
        self, parent: WarmParent, cells: Sequence[RestoredCell], deadline: Deadline | None = None, foresees: bool = True
    ) -> None:
        self.parent = parent
        self.cells = cells
        self.deadline = deadline or Deadline(parent.limits.submission)
        self.child: Child | None = None
        self.outputs: dict[int, list[dict[str, Any]]] = {}  # by the cell's place, as all that follow
        self.shown: dict[int, int] = {}  # bytes of outputs
        self.errors: dict[int, StudentError | Stopped] = {}
        self.left_out: dict[int, str] = {}  # what ended its child, and how
        self.answered = 0  # bytes of tensors in the answers of an exercise
        self.shaky: dict[str, bool] = {}  # whether a base is wrong, as far as it was asked for
        self.restarts = 0
        self.foresees = foresees  # whether several requests may be made at once
        self.unexplained = False  # whether a child was ended by nobody knows whom
        self.stopped = False  # whether a cell was
        self.used: dict[str, float] = {"cpu": 0.0, "memory": 0}
        self.spent: defaultdict[str, float] = defaultdict(float)  # wall-clock seconds, by what they were spent on
        self.of_cells = 0.0  # seconds that the cells of this child took
        self.of_exercise: float | None = None  # seconds that the requests of an exercise took

    def run(self) -> Child:
        """The child, once all cells have run. Raises ChildGone if children keep being lost, or time is up."""
        self.deadline.left()
        while self.child is None:
            if self.restarts > MAX_RESTARTS:
                raise ChildGone("killed", "too many of its cells ended their process or did not end at all")
            child = self.child = self.parent.fork()
            self.deadline.begin()
            self.of_cells = 0.0
            for index, cell in enumerate(self.cells):
                self.deadline.left()
                with self.clock(self._name(index)):
                    lives = self._run_cell(child, index, cell)
                if not lives:
                    self.restarts += 1
                    break
        return self.child

    def _run_cell(self, child: Child, index: int, cell: RestoredCell) -> bool:
        """Run one cell; False if the child was lost by it."""
        limits = self.parent.limits
        try:
            if cell.exercise:
                self._request(child, {"op": "bind", "name": cell.exercise}, seconds=limits.call)
            elif cell.runs and index not in self.left_out:
                seconds = max(0.1, min(limits.cell, limits.notebook - self.of_cells))
                message = {"op": "cell", "source": cell.source, "name": self._name(index)}
                try:
                    reply, _ = self._request(child, message, seconds=seconds)
                finally:
                    self.of_cells += child.took
                self._keep(index, clean_outputs(reply.get("outputs")))
                self.errors.pop(index, None)
                if "error" in reply or not replies.succeeded(reply):
                    self.errors[index] = StudentError(replies.failure(reply))
        except Interrupted as problem:
            self._stop_at(index, "TimeoutError", f"the cell was stopped: {problem}", keep=True)
        except ChildGone as problem:
            self._stop_at(index, problem.status, f"the cell was stopped: {problem}", keep=False)
            self._lose()
            return False
        return True

    def _request(
        self, child: Child, message: wire.Message | wire.Encoded, tensors: wire.Tensors | None = None, *, seconds: float
    ) -> Answer:
        """Ask the child, as Child.request does. Raises OutOfTime where the deadline for all ends it, or has."""
        left = self.deadline.left()
        try:
            return child.request(message, tensors or (), seconds=seconds, most=left)
        except (Interrupted, ChildGone):
            self.deadline.left()
            raise

    def _keep(self, index: int, outputs: list[dict[str, Any]]) -> None:
        """Keep what a cell showed, if there is room: only an honest child counts what its cells show in all."""
        self.shown[index] = len(json.dumps(outputs))
        if sum(self.shown.values()) > MAX_SHOWN:
            self.shown[index] = 0
            outputs = [{"output_type": "stream", "name": "stderr", "text": "[the notebook shows too much: cut]\n"}]
        self.outputs[index] = outputs

    def _stop_at(self, index: int, status: str, message: str, keep: bool) -> None:
        self.outputs[index] = [{"output_type": "error", "ename": status, "evalue": message, "traceback": [message]}]
        self.errors[index] = Stopped("timeout" if keep else status, message)
        self.stopped = True
        if not keep:
            self.left_out[index] = message

    def _name(self, index: int) -> str:
        """What tracebacks call a cell: its number among all cells of the notebook, from 1."""
        return f"cell {index + 1}" if len(self.cells) > 1 else "your file"

    def _lose(self) -> None:
        if self.child is not None:
            ended = self.child.kill()
            self.unexplained = self.unexplained or self.child.unexplained
            self.used["cpu"] += ended.get("cpu", 0.0)
            self.used["memory"] = max(self.used["memory"], ended.get("memory", 0))
            self.child = None

    def close(self) -> None:
        self._lose()

    @contextlib.contextmanager
    def watched(self) -> Iterator[None]:
        """Raise Endless as `watching` does; the sandbox has ended then: the talk may have stopped in mid-word.

        OutOfTime, if it is the submission's own time that was up.
        """
        try:
            with watching(self.deadline.left()):
                yield
        except Endless:
            self.parent.close()
            self._lose()
            self.deadline.left()
            raise

    @contextlib.contextmanager
    def clock(self, what: str) -> Iterator[None]:
        """Count the time that it takes as spent on `what`."""
        started = time.monotonic()
        try:
            yield
        finally:
            self.spent[what] += time.monotonic() - started

    # --- exercises --------------------------------------------------------------------------------

    def begin_exercise(self) -> None:
        """Make sure that there is a child, and start the exercise's clock."""
        self.run()
        self.of_exercise = 0.0
        self.answered = 0

    def end_exercise(self) -> None:
        self.of_exercise = None

    def kinds(self, names: Collection[str]) -> dict[str, str]:
        """For every name: "class", "callable", "other" or "missing"."""
        child = self.run()
        try:
            reply, _ = self._request(child, {"op": "kind", "names": list(names)}, seconds=self.parent.limits.call)
        except (Interrupted, ChildGone) as problem:
            self._lose()
            raise ChildGone(getattr(problem, "status", "timeout"), str(problem)) from None
        return replies.kinds(reply, names)

    def why_missing(self, name: str) -> tuple[str, str]:
        """(status, message) for a name that is not defined after all cells have run."""
        graded = [i for i, cell in enumerate(self.cells) if cell.exercise == name]
        end = graded[0] if graded else len(self.cells)
        start = max((i for i, cell in enumerate(self.cells[:end]) if cell.exercise), default=0)
        for index, error in self.errors.items():
            if _defines(self.cells[index], name) or (graded and start <= index < end):
                if isinstance(error, Stopped):
                    return error.status, f"`{name}` is not defined: {error}."
                return "error", f"`{name}` is not defined, since its code stopped. {error.sentence()}"
        return "missing", f"`{name}` is not defined."

    def names_used_by(self, name: str) -> set[str]:
        """The names that stand in the code of the cells in which `name` is defined."""
        names: set[str] = set()
        for cell in self.cells:
            if cell.runs and _defines(cell, name):
                names |= names_in(cell.source)
        return names

    def source(self, name: str) -> Source:
        """The text of the cells that run: those that define `name`, and what it calls, are among them."""
        ran = [i for i, cell in enumerate(self.cells) if cell.runs and i not in self.left_out]
        graded = next((i for i, cell in enumerate(self.cells) if cell.exercise == name), len(self.cells))
        return Source(name, tuple(self.cells[i].source for i in ran), sum(i < graded for i in ran))

    def ask(self, message: wire.Message, tensors: wire.Tensors) -> Answer:
        """Serve a proxy. Raises Stopped, which ends the exercise, when the child is lost or time is up."""
        limits = self.parent.limits
        left = self._left_of_exercise(limits.call)
        late = f"its checks took longer than {limits.exercise:g} s in all" if left < limits.call else None
        if self.child is None or left <= 0:
            raise Stopped("timeout", late or "it is not there any more")
        try:
            reply, answer = self._request(self.child, message, tensors, seconds=min(limits.call, left))
            self._took(self.child.took)
        except Interrupted as problem:
            raise Stopped("timeout", late or str(problem)) from None
        except OutOfTime as problem:
            raise Stopped(problem.status, str(problem)) from None
        except ChildGone as problem:
            self._lose()
            self.restarts += 1
            raise Stopped(problem.status, late if late and problem.status == "timeout" else str(problem)) from None
        except wire.WireError as problem:  # what we were about to send was too large
            raise Stopped("killed", str(problem)) from None
        if not self._has_room_for(answer):
            raise Stopped("killed", f"its answers hold more than {MAX_ANSWERS // 2**20} MiB in all")
        return reply, answer

    def ask_all(self, requests: wire.Encoded, number: int, seconds: float) -> list[Answer] | None:
        """Serve a `number` of requests that are one: [(reply, tensors)], or None if it takes long or goes wrong.

        Then a submission is asked request by request to its end, so that what goes wrong does so in its own check: in a
        fresh child, and with all of its time, as if it had never been asked at once.
        """
        left = min(seconds, self._left_of_exercise(seconds), self.parent.limits.call)  # or one call might take too long
        if not self.foresees or self.child is None or left <= 0:
            return None
        try:
            reply, answer = self._request(self.child, requests, seconds=left)
            answers = replies.split(reply, answer, number)
        except (Interrupted, wire.WireError, ChildGone):
            self._begin_anew()
            return None
        if not self._has_room_for(answer):
            self._begin_anew()
            return None
        self._took(self.child.took)
        return answers

    def _begin_anew(self) -> None:
        """Begin an exercise once more in a fresh child; from then on nothing is asked at once. Raises ChildGone."""
        self.foresees = False
        self._lose()
        self.run()
        self.answered = 0

    def _left_of_exercise(self, otherwise: float) -> float:
        """The seconds that requests of this exercise may still take; `otherwise`, outside of one."""
        return otherwise if self.of_exercise is None else self.parent.limits.exercise - self.of_exercise

    def _took(self, seconds: float) -> None:
        if self.of_exercise is not None:
            self.of_exercise += seconds

    def _has_room_for(self, answer: wire.Tensors) -> bool:
        """Whether all answers so far, with this one, are no more than may be kept: the transcripts hold them."""
        self.answered += wire.size_of(answer)
        return self.answered <= MAX_ANSWERS


def _defines(cell: RestoredCell, name: str) -> bool:
    return re.search(rf"^[ \t]*(class|def)[ \t]+{name}\b", cell.source, re.MULTILINE) is not None
