"""A submission's cells in a sandboxed child, and the one deadline for everything that is done with them."""

from __future__ import annotations

import contextlib
import difflib
import json
import re
import time
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from .. import course
from ..checks.late import looks_up_late
from ..checks.proxies import Answer, Examination, StudentError
from ..checks.runner import ExerciseRun, Stopped
from ..checks.source_text import (
    NoDefinition,
    Source,
    definition,
    ends_unwritten,
    is_stub,
    names_in,
    names_used_by,
    only_defines,
    same_code,
)
from ..errors import ChildGone, CourseError, Interrupted
from ..mistakes.bank import right_answer
from ..sandbox import replies
from ..sandbox.child import Child
from ..sandbox.inside import wire, worlds
from ..sandbox.jail import Limits
from ..sandbox.parent import WarmParent
from ..sandbox.replies import Change, World
from ..submission.pasted import no_python
from ..submission.restore import RestoredCell
from ..verdict import Diagnosis, Outcome
from .outputs import clean_outputs
from .watchdog import Endless, watching

if TYPE_CHECKING:  # imported only if it is asked for
    from .ledger import Ledger

MAX_RESTARTS = 8
MAX_APART, MAX_NAMES = 3, 500  # of names that may be a slip for an exercise's: difference in length, how many are tried
MAX_SHOWN = 6 * 2**20  # bytes of outputs kept for a notebook; the limits for one cell are in outputs.py
NO_SYNTAX = ("SyntaxError", "IndentationError", "TabError")
TICK = 0.001  # seconds after which a candidate answers at the earliest
OF_CELLS = ("cell", "bind", "worlds")  # requests in which nothing of a check goes to the child
NOTES = {
    worlds.REDEFINED: "{where} gives another meaning to {names}: `{exercise}` was graded with the one before.",
    worlds.DELETED: "{where} deletes {names}, which `{exercise}` uses: it was graded as it was before.",
    worlds.CHANGED: "{where} changes {names}, which `{exercise}` uses: it was graded as it was before.",
    worlds.PATCHED: "{where} changes {names} for all code: `{exercise}` was graded as it was before.",
    worlds.DEFINED: (
        "{where} defines {names} below the check of `{exercise}`, so Run All may stop there: move it above."
    ),
}
TOO_LONG = (
    "Your cells take too long to run them again for `{exercise}`: if a cell below its check changes an object that it"
    " uses, it was graded with the object as changed."
)
MOST_NAMES = 5  # that a note lists
AGAIN = 0.5  # of the time that is left after the last cell: so much may cells take that are run again for the checks
MAX_ANSWERS = 16 * 2**20  # bytes of tensors in all answers of one exercise; right ones send at most half a megabyte


class OutOfTime(ChildGone):
    """The time for everything that is done with a submission is up."""

    def __init__(self, seconds: float) -> None:
        super().__init__("timeout", f"grading the whole submission took longer than {seconds:g} s")


class Deadline:
    """The one deadline for everything that is done with a submission, by the clock, from its first process on."""

    def __init__(self, seconds: float) -> None:
        self.seconds = seconds
        self.ends: float | None = None

    def begin(self) -> None:
        """Start the deadline, unless it is already running."""
        self.ends = self.ends or time.monotonic() + self.seconds

    def is_over(self) -> bool:
        return self.ends is not None and time.monotonic() >= self.ends

    def remains(self) -> float:
        """The seconds left; 0 if there are none."""
        return max(0.0, self.ends - time.monotonic()) if self.ends else self.seconds

    def left(self) -> float:
        """The seconds left. Raises OutOfTime if there are none."""
        if self.is_over():
            raise OutOfTime(self.seconds)
        return self.remains()


class Workspace:
    """A submission's cells, run in a sandboxed child; a lost child is replaced by a fresh one.

    It is the transport of the graders' proxies. A cell that ends its child is left out of the next one, so that an
    endless loop or a crash in one exercise does not cost the others. Limits count the time that requests took, never
    the work on this side, nor requests sent together that failed; but after the deadline, nothing more is asked.
    """

    def __init__(
        self,
        parent: WarmParent,
        cells: Sequence[RestoredCell],
        deadline: Deadline | None = None,
        prefetches: bool = True,
        limits: Limits | None = None,
        ledger: Ledger | None = None,
    ) -> None:
        self.parent = parent
        self.ledger = ledger  # counts what it costs, if anybody asks
        self.limits = limits or parent.limits
        self.cells = cells
        self.deadline = deadline or Deadline(parent.limits.submission)
        self.child: Child | None = None
        self.is_due = False  # whether the next request starts a child
        self.outputs: dict[int, list[dict[str, Any]]] = {}  # by the cell's index, like the next three
        self.shown: dict[int, int] = {}  # bytes of outputs
        self.errors: dict[int, StudentError | Stopped] = {}
        self.left_out: dict[int, str] = {}  # cells that ended their child, and how
        self.answered = 0  # bytes of tensors in the answers of the current exercise
        self.graded: dict[str, Outcome] = {}  # the outcomes so far, by exercise
        self.absent: dict[str, list[str]] = {}  # by exercise: those of earlier notebooks that nothing defines for it
        self.shaky: dict[str, bool] = {}  # whether a base is wrong, for each base that was looked at
        self.wrong: dict[str, ExerciseRun] = {}  # the runs of those whose mistakes may have to be looked for
        self.named: dict[str, list[Diagnosis]] = {}  # their own mistakes, where these are known
        self.edited: dict[str, str] = {}  # cells of those that one edit makes right, as they are with that edit
        self.has_solutions = False  # whether the child could read or ask a solution: then nothing may be graded in it
        self.is_asked = False  # whether the child has been asked for anything: then it runs no more cells
        self.ran = 0  # how many cells the child has run
        self.until: int | None = None  # how many it is to run for the current exercise; None: all
        self.inside = ""  # the exercise with whose names the child is to be asked; "" for those after the last cell
        self.entered = ""  # with whose names it is
        self.worlds: dict[str, World] = {}  # what later cells have changed, by exercise
        self.seen_at: dict[str, str] = {}  # by exercise: at which one's check cell its child stops; "" for the end
        self.not_again: set[str] = set()  # exercises that are graded with objects as later cells left them
        self.seen_from: dict[str, str] = {}  # by exercise without a check cell: of which other one it is a part
        self.restarts = 0
        self.prefetches = prefetches  # whether several requests may be sent together
        self.unexplained = False  # whether a child was ended for no known reason
        self.stopped = False  # whether a cell was stopped
        self.used: dict[str, float] = {"cpu": 0.0, "memory": 0}
        self.spent: defaultdict[str, float] = defaultdict(float)  # wall-clock seconds, by what they were spent on
        self.of_cells = 0.0  # seconds that the cells took in this child
        self.took: dict[int, float] = {}  # seconds that each cell took when it was run last
        self.of_exercise: float | None = None  # seconds that the requests of the current exercise took

    def run(self) -> Child:
        """The child, after running all cells, or those up to a check cell if `begin_exercise` has it so; its names are
        those of the current exercise. Raises ChildGone if children keep being lost, or time is up.
        """
        self.deadline.left()
        self.is_due = False
        if not self._fits():
            self._lose()
        while True:
            if self.child is None:
                if self.restarts > MAX_RESTARTS:
                    raise ChildGone("killed", "too many of its cells ended their process or did not end")
                self.child = self.parent.fork()
                if self.ledger is not None:
                    self.ledger.follow(self.child)
                self.ran, self.is_asked, self.of_cells, self.entered = 0, False, 0.0, ""
                self.deadline.begin()
            if self.ran == self.end:
                if self._enter_names(self.child):
                    return self.child
                self.restarts += 1
                continue
            self.deadline.left()
            with self.clock(self._name(self.ran)):
                lives = self._run_cell(self.child, self.ran, self.cells[self.ran])
            self.ran += 1
            self.restarts += not lives

    @property
    def end(self) -> int:
        """How many cells the child is to run for the current exercise."""
        return len(self.cells) if self.until is None else self.until

    def _enter_names(self, child: Child) -> bool:
        """Let names mean in the child what they mean for the current exercise; returns False if the child was lost."""
        if self.entered == self.inside:
            return True
        try:
            self._request(child, {"op": "enter", "name": self.inside}, seconds=self.limits.call)
        except (Interrupted, ChildGone):
            self._lose()
            return False
        self.entered = self.inside
        return True

    def _fits(self) -> bool:
        """Whether the child, if there is one, may serve the current exercise: with all that it has run, or has yet to.

        What a cell sees or shows after hidden checks could come from these, so one that was asked runs no more cells.
        """
        return self.child is None or self.ran == self.end or (self.ran < self.end and not self.is_asked)

    def _run_cell(self, child: Child, index: int, cell: RestoredCell) -> bool:
        """Run one cell; returns False if the child was lost."""
        limits = self.limits
        try:
            if cell.exercise:
                self._request(child, _bind(cell.exercise), seconds=limits.call)
            elif cell.runs and index not in self.left_out:
                seconds = max(0.1, min(limits.cell, limits.notebook - self.of_cells))
                message = {"op": "cell", "source": cell.code, "name": self._name(index)}
                if self.ledger is not None:
                    self.ledger.count("cells")
                try:
                    reply, _ = self._request(child, message, seconds=seconds)
                finally:
                    self.of_cells += child.took
                    self.took[index] = child.took
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

    def look_at_worlds(self) -> None:
        """Find out which exercises later cells have changed something for. All cells have run, and nothing else has."""
        if self._check_cells():
            self.worlds = self._compared()

    def _compared(self) -> dict[str, World]:
        """What the cells that have run below each check cell have changed, by exercise.

        If the child does not say, or says something else, everything may have changed. Raises ChildGone.
        """
        child, reply = self.run(), {}
        try:
            reply, _ = self._request(child, {"op": "worlds"}, seconds=self.limits.call)
        except Interrupted:
            pass
        except ChildGone:
            self._lose()
        return replies.worlds(reply, self._check_cells())

    def by_world(self, exercises: Sequence[str]) -> Iterator[str]:
        """The exercises in an order in which few children serve all, each to be graded before the next is asked for.

        First come those for which no object has changed, or none that cannot be given back. A child for the others
        stops at the last of their check cells, and serves all for which nothing has changed up to there. Where the
        cells take too long to be run so often, those that are left are graded in the child at hand.
        """
        places = self._check_cells()
        waiting = [name for name in exercises if name in places and self.worlds[name].is_apart]
        yield from (name for name in exercises if name not in waiting)
        left = AGAIN * self.deadline.remains()
        at_hand = ""
        while waiting:
            last = max(waiting, key=places.__getitem__)
            left -= sum(self.took.get(index, 0.0) for index in range(places[last]))
            if left < 0:
                self.not_again.update(waiting)
                served = waiting
            else:
                found, at_hand = self._seen_from(last), last
                served = [name for name in waiting if name == last or (name in found and not found[name].is_apart)]
            self.seen_at.update(dict.fromkeys(served, at_hand))
            yield from served
            waiting = [name for name in waiting if name not in served]

    def _seen_from(self, exercise: str) -> dict[str, World]:
        """What has changed up to the check cell of an exercise, in a child that stops there; nothing if it is lost."""
        try:
            self.begin_exercise(exercise)
            return self._compared()
        except ChildGone:  # the checks find out why
            return {}

    def _check_cells(self) -> dict[str, int]:
        """The place of each exercise's check cell."""
        return {cell.exercise: index for index, cell in enumerate(self.cells) if cell.exercise}

    def _enter(self, exercise: str, of: str) -> None:
        """Choose how far the child of an exercise runs, and with whose names it is asked.

        If later cells change an object that the answer reaches, it stops at a check cell, its own unless `by_world` has
        chosen another one. An exercise without a check cell is seen from that of another one, `of` which it is a part.
        """
        places = self._check_cells()
        seen_from = exercise if exercise in places else self.seen_from.setdefault(exercise, of)
        world = self.worlds.get(seen_from) if seen_from in places else None
        at = self.seen_at.get(seen_from, seen_from if world and world.is_apart else "")
        self.until = places[at] + 1 if at else None
        self.inside = seen_from if world and (at or world.is_moved) else ""

    def notes_on(self, exercise: str) -> list[str]:
        """What a student should know of later cells that change what an exercise's answer uses."""
        if exercise not in self.worlds:
            return []
        is_added = self.cells[self._check_cells()[exercise]].added  # the kit chose its place, so nothing is below it
        found: defaultdict[tuple[str, str], list[str]] = defaultdict(list)
        for change in self.worlds[exercise].changes:
            if is_added and change.did == worlds.DEFINED:
                continue
            if exercise in self.not_again and change.did in (worlds.CHANGED, worlds.PATCHED):
                continue
            found[change.did, self._where(exercise, change)].append(f"`{change.name}`")
        lists = {key: {"names": listed(names), "exercise": exercise} for key, names in found.items()}
        notes = [NOTES[did].format(where=where, **lists[did, where]) for did, where in found]
        return [*notes, *([TOO_LONG.format(exercise=exercise)] if exercise in self.not_again else [])]

    def _where(self, exercise: str, change: Change) -> str:
        """The later cell that made a change, at the beginning of a sentence."""
        own = self._check_cells()[exercise]
        behind = {self._name(i) for i, cell in enumerate(self.cells) if i > own and cell.runs}
        return change.cell.capitalize() if change.cell in behind else "A later cell"

    def _request(
        self,
        child: Child,
        message: wire.Message | wire.Encoded,
        tensors: wire.Tensors | None = None,
        *,
        seconds: float,
        number: int = 1,
    ) -> Answer:
        """Ask the child, as Child.request does: a message that holds `number` requests.

        Raises OutOfTime if the submission's deadline is over or ends it.
        """
        left = self.deadline.left()
        if self.ledger is not None:
            self.ledger.count("round_trips")
            self.ledger.count("requests", number)
        self.is_asked = self.is_asked or isinstance(message, wire.Encoded) or message["op"] not in OF_CELLS
        try:
            return child.request(message, tensors or (), seconds=seconds, most=left)
        except (Interrupted, ChildGone):
            self.deadline.left()
            raise

    def _keep(self, index: int, outputs: list[dict[str, Any]]) -> None:
        """Keep a cell's outputs, if there is room; counted here, since only an honest child would keep to the limit."""
        self.shown[index] = len(json.dumps(outputs))
        if sum(self.shown.values()) > MAX_SHOWN:
            self.shown[index] = 0
            outputs = [{"output_type": "stream", "name": "stderr", "text": "[the notebook has too much output: cut]\n"}]
        self.outputs[index] = outputs

    def _stop_at(self, index: int, status: str, message: str, keep: bool) -> None:
        self.outputs[index] = [{"output_type": "error", "ename": status, "evalue": message, "traceback": [message]}]
        self.errors[index] = Stopped("timeout" if keep else status, message)
        self.stopped = True
        if not keep:
            self.left_out[index] = message

    def _name(self, index: int) -> str:
        """The name of a cell in tracebacks: its number among the code cells, from 1, as JupyterLab counts them."""
        if len(self.cells) == 1:
            return "your file"
        cell = self.cells[index]
        if cell.added:
            return f"the missing cell {cell.known.grade_id if cell.known else index}"
        before = self.cells[: index + 1]
        return f"code cell {cell.number or sum(c.cell_type == 'code' and not c.added for c in before)}"

    def _lose(self) -> None:
        if self.child is not None:
            ended = self.child.kill()
            self.unexplained = self.unexplained or self.child.unexplained
            self.used["cpu"] += ended.get("cpu", 0.0)
            self.used["memory"] = max(self.used["memory"], ended.get("memory", 0))
            if self.ledger is not None:
                self.ledger.ended(self.child, ended)
            self.child = None
            self.has_solutions = False

    def close(self) -> None:
        self._lose()

    @contextlib.contextmanager
    def watched(self, what: str) -> Iterator[None]:
        """Raise Endless as `watching` does, after ending the sandbox: a message may have been cut off in the middle.

        Raises OutOfTime instead if the submission's own time was up, and bounds.Barred.
        """
        try:
            with watching(self.deadline.left(), what):
                yield
        except Endless:
            self.parent.close()
            self._lose()
            self.deadline.left()
            raise

    @contextlib.contextmanager
    def clock(self, what: str) -> Iterator[None]:
        """Count the time that the body takes as spent on `what`."""
        started = time.monotonic()
        try:
            yield
        finally:
            self.spent[what] += time.monotonic() - started

    @contextlib.contextmanager
    def stage(self, exercise: str, name: str) -> Iterator[None]:
        """Count what the body takes as spent on an exercise, and on this stage of its grading."""
        with self.clock(f"the checks of `{exercise}`"), staged(self.ledger, exercise, name):
            yield

    @contextlib.contextmanager
    def with_right(self, exercises: Collection[str], of: str, but: Sequence[str] = ()) -> Iterator[Workspace]:
        """A workspace with the same cells, but with the course's own solutions in place of these exercises.

        It is there to ask for the exercise `of`, which uses them, and only to name mistakes: the student's code can
        read the solutions. It has this one's child, if that is as good as a fresh one; only one child can run at a
        time, so otherwise this one's ends, and `run` starts it again. `but` are names that stay as they are, even if a
        solution defines them. Raises ChildGone.
        """
        cells, left_out = list(self.cells), dict(self.left_out)
        own = [self._own_code(name) for name in but]
        right = {name: RestoredCell("code", "\n\n\n".join([self._right_code(name), *own]), "") for name in exercises}
        for name, solution in right.items():
            setup = next((i + 1 for i, cell in enumerate(cells) if cell.runs), 0)  # where a part is absent
            place = max((i + 1 for i, cell in enumerate(cells) if cell.runs and _defines(cell, name)), default=setup)
            cells.insert(place, solution)
            left_out = {index + (index >= place): why for index, why in left_out.items()}
        self._enter(of, of)
        repaired = self._like(cells)
        repaired.left_out = left_out
        repaired._enter(of, of)
        uses = set[str]().union(*(names_in(solution.source) for solution in right.values()))
        lent = self.child if self.ran == self.end and looks_up_late(self.source(of), right.keys(), uses) else None
        try:
            if lent is None:
                self._lose()
            else:
                self.child = None
                repaired._borrow(lent, right, self.entered)
            repaired.begin_exercise(of)
            yield repaired
            if lent is not None and repaired.child is lent:
                repaired.child, self.entered = None, repaired.entered
                self._take_back(lent)
        finally:
            repaired.close()

    def _borrow(self, child: Child, right: Mapping[str, RestoredCell], entered: str) -> None:
        """Take a child in which all cells have run but those with the `right` solutions, and run these, too."""
        self.child, self.is_asked, self.entered = child, True, entered
        self.ran = self.end
        if not self._enter_names(child):
            return
        try:
            self._request(child, {"op": "remember"}, seconds=self.limits.call)
        except (Interrupted, ChildGone):
            self._lose()
        for index, cell in enumerate(self.cells[: self.ran]):
            is_new = cell.exercise in right or any(cell is solution for solution in right.values())
            if self.child is None or (is_new and not self._run_cell(child, index, cell)):
                return  # `run` starts another one

    def _take_back(self, child: Child) -> None:
        """Take the child back from the workspace that has borrowed it; every name means what it meant before."""
        self.child = child
        self.has_solutions = True
        try:
            self._request(child, {"op": "restore"}, seconds=self.limits.call)
        except (Interrupted, ChildGone):
            self._lose()

    @contextlib.contextmanager
    def with_edits(self, of: str, each: float, every: float) -> Iterator[Edited]:
        """This submission, to try edits of the cell that defines the exercise `of`, one after another.

        A cell or a call may take `each` seconds, and all edits together `every`. They run in this one's child, which
        ends with them, and whose code may know of those before: `with_texts` tells whether one is right. Raises
        NoDefinition if no cell, or more than one, defines the exercise, and ChildGone.
        """
        edited = Edited(self, of, replace(self.limits, cell=each, call=each, exercise=every))
        self.begin_exercise(of)  # in a child that has seen no solutions
        edited.child, self.child = self.child, None
        edited.ran, edited.is_asked, edited.entered = self.ran, True, self.entered
        try:
            edited.begin_exercise(of)
            yield edited
        finally:
            edited.close()

    @contextlib.contextmanager
    def with_texts(self, of: str, texts: Mapping[str, str]) -> Iterator[Workspace]:
        """This submission with other texts in the cells that define these exercises, as if it were handed in so.

        It is there to ask for the exercise `of`, and has a child of its own, to which nothing goes from this one's,
        which ends. Raises NoDefinition, ChildGone.
        """
        cells = self._cells_with({self._place_of(name): text for name, text in texts.items()})
        self._lose()
        other = self._like(cells)
        try:
            other.begin_exercise(of)
            yield other
        finally:
            other.close()

    def _like(self, cells: Sequence[RestoredCell]) -> Workspace:
        """Another workspace of the same submission, with other cells."""
        other = Workspace(self.parent, cells, self.deadline, self.prefetches, ledger=self.ledger)
        other.left_out = dict(self.left_out)
        other._see_as(self)
        return other

    def _see_as(self, other: Workspace) -> None:
        """Let each exercise be seen in the same world as in another workspace."""
        self.worlds, self.seen_from, self.seen_at = other.worlds, other.seen_from, other.seen_at

    def _cells_with(self, texts: Mapping[int, str]) -> list[RestoredCell]:
        """The cells, of which some hold these texts, by their places."""
        return [replace(cell, source=texts[i]) if i in texts else cell for i, cell in enumerate(self.cells)]

    def _place_of(self, name: str) -> int:
        """The place of the cell that defines `name`. Raises NoDefinition unless it is one alone."""
        defining = self._places_of(name)
        if len(defining) != 1:
            raise NoDefinition(name)
        return defining[0]

    def _places_of(self, name: str) -> list[int]:
        """The places of the cells that define `name`."""
        return [i for i, cell in enumerate(self.cells) if cell.runs and _defines(cell, name)]

    def brings(self, exercise: str, part: str) -> bool:
        """Whether one cell alone defines an exercise, and it is the last that defines this part of it as well."""
        places = self._places_of(exercise)
        return len(places) == 1 and self._places_of(part)[-1:] == places

    def _counting_place(self, name: str) -> int | None:
        """The place of the definition of `name` that is graded: the last up to the exercise's own cell, if any is."""
        own = next((i for i, cell in enumerate(self.cells) if cell.exercise == name), len(self.cells))
        return max((i for i in self._places_of(name) if i <= own), default=None)

    def _own_code(self, name: str) -> str:
        """The student's definition of a name; empty if its text cannot be had."""
        try:
            return definition(self.source(name))
        except NoDefinition:
            return ""

    def _right_code(self, name: str) -> str:
        """The course's solution of an exercise, after those that it depends on and that no cell defines."""
        return "\n\n\n".join([*map(self._right_code, self.brought_with(name)), right_answer(name)])

    def brought_with(self, name: str) -> list[str]:
        """The exercises that the course's solution of this one uses, and that no cell defines."""
        others = sorted(names_in(right_answer(name)) & course.exercises().keys() - {name})
        return [other for other in others if not any(cell.runs and _defines(cell, other) for cell in self.cells)]

    # --- exercises --------------------------------------------------------------------------------

    def begin_exercise(self, exercise: str = "", of: str = "") -> None:
        """Make sure that there is a child, one that has met no solutions, and reset the exercise's clock.

        In the child all names mean what they meant at the exercise's check cell, see `_enter`; without an exercise,
        what they mean in the end.
        """
        self.begin_diagnosis(exercise, of)
        self.run()

    def begin_diagnosis(self, exercise: str = "", of: str = "") -> None:
        """The same, but a child that is missing is started by the first request: most diagnoses make none."""
        self._enter(exercise, of)
        if self.has_solutions or not self._fits():
            self._lose()
        self.is_due = self.child is None
        self.of_exercise = 0.0
        self.answered = 0

    @property
    def can_be_asked(self) -> bool:
        """Whether there is a child, or the next request starts one."""
        return self.child is not None or self.is_due

    def end_exercise(self) -> None:
        self.of_exercise = None

    def kinds(self, names: Collection[str]) -> dict[str, str]:
        """The kind of each name: "class", "callable", "other" or "missing"."""
        child = self.run()
        try:
            reply, _ = self._request(child, {"op": "kind", "names": list(names)}, seconds=self.limits.call)
        except (Interrupted, ChildGone) as problem:
            self._lose()
            raise ChildGone(getattr(problem, "status", "timeout"), str(problem)) from None
        return replies.kinds(reply, names)

    def kind_of(self, exercise: str) -> str:
        """The kind of an exercise's name; the same request notes which of the earlier exercises are `absent`."""
        carried = course.assignments()[course.exercises()[exercise].assignment].bases
        earlier = [base for base in carried if base in course.exercises()]
        kinds = self.kinds([exercise, *earlier])
        self.absent[exercise] = [base for base in earlier if kinds[base] == "missing"]
        return kinds[exercise]

    def why_missing(self, name: str) -> tuple[str, str]:
        """(status, message) for a name that is undefined after all cells have run."""
        graded = [i for i, cell in enumerate(self.cells) if cell.exercise == name]
        end = graded[0] if graded else len(self.cells)
        start = max((i for i, cell in enumerate(self.cells[:end]) if cell.exercise), default=0)
        for index, error in self.errors.items():
            if _defines(self.cells[index], name) or (graded and start <= index < end):
                if isinstance(error, Stopped):
                    return error.status, f"`{name}` is not defined: {error}."
                if said := self._no_python(index, error):
                    return "error", f"`{name}` is not defined: {said}"
                return "error", f"`{name}` is not defined, since its code stopped with {error.what()}"
        near = near_name(name, [cell.code for cell in self.cells if cell.runs])
        slip = f" `{near}` is, but the name must be exactly `{name}`." if near else ""
        return "missing", f"`{name}` is not defined.{slip}"

    def _no_python(self, index: int, error: StudentError) -> str:
        """A sentence on what is no Python in a cell that has an error of syntax; "" if that is not plain."""
        cell = self.cells[index]
        said = no_python(cell.code, self._name(index)) if error.failure.type in NO_SYNTAX else ""
        return f"{said} This cell was turned to Markdown: turn it back to code." if said and cell.turned else said

    def is_untouched(self, name: str) -> bool:
        """Whether the cell that defines `name` is as it was released: a stub, or the original to be fixed."""
        cell = self._defining(name)
        if cell is None or self.unwritten_below(name):
            return False
        return is_stub(cell.source, name) or self._is_as_released(cell)

    def unwritten_below(self, name: str) -> str | None:
        """The one cell that defines `name`, if it does so twice and the last one, which counts, is as it was released.

        As it is named, such as "code cell 7".
        """
        cell = self._defining(name)
        if cell is None:
            return None
        known = cell.known
        released = known and not known.locked and (known.blank or course.released_of(known.source))
        if not ends_unwritten(cell.source, name, released or ""):
            return None
        return self._name(next(index for index, other in enumerate(self.cells) if other is cell))

    @staticmethod
    def _is_as_released(cell: RestoredCell) -> bool:
        released = cell.known and (cell.known.blank or course.released_of(cell.known.source))
        return bool(released and same_code(cell.source, released))

    def unwritten_beside(self, name: str) -> tuple[str, str] | None:
        """The cell with the definition of `name` that counts, if it is unwritten, and another one that is written.

        As they are named, such as "code cell 7"; the written one is the last before it, else the first behind it.
        """
        defining = self._places_of(name)
        counts = self._counting_place(name)
        if len(defining) < 2 or counts is None or not is_stub(self.cells[counts].source, name):
            return None
        written = [i for i in defining if not is_stub(self.cells[i].source, name)]
        before, behind = [i for i in written if i < counts], [i for i in written if i > counts]
        other = before[-1] if before else next(iter(behind), None)
        return None if other is None else (self._name(counts), self._name(other))

    def is_stub(self, name: str) -> bool:
        """Whether the cell that defines `name` computes nothing: there is no mistake in it that could be named."""
        cell = self._defining(name)
        if cell is None:
            return False
        unwritten = "raise NotImplementedError" in cell.source  # or it is an original: its mistakes have names
        return is_stub(cell.source, name) or (unwritten and self._is_as_released(cell))

    def _defining(self, name: str) -> RestoredCell | None:
        """The cell that defines `name`, if it is one alone."""
        try:
            return self.cells[self._place_of(name)]
        except NoDefinition:
            return None

    def names_used_by(self, name: str) -> set[str]:
        """The names that the definitions of `name` use, by themselves or through those in other cells.

        Of a cell that defines it and does more than define, all names: it may set a part of what it has defined.
        """
        cells = [cell for cell in self.cells if cell.runs and not _keeps_parts(cell)]
        does_more = [cell.code for cell in cells if _defines(cell, name) and not only_defines(cell.code)]
        return names_used_by([name], (cell.code for cell in cells)).union(*map(names_in, does_more))

    def source(self, name: str) -> Source:
        """The source of the cells that run, among them those that define `name` and what it calls.

        Without the course's own cell that keeps and brings parts: no answer calls it, and it reads all names.
        """
        kept = [i for i, cell in enumerate(self.cells) if cell.runs and i not in self.left_out]
        ran = [i for i in kept if not _keeps_parts(self.cells[i])]
        graded = next((i for i, cell in enumerate(self.cells) if cell.exercise == name), len(self.cells))
        return Source(name, tuple(self.cells[i].code for i in ran), sum(i < graded for i in ran))

    @property
    def lacks(self) -> Mapping[str, str]:
        """What torch can't do in the sandbox of this machine."""
        return self.parent.lacks

    def ask(self, message: wire.Message, tensors: wire.Tensors) -> Answer:
        """Serve a proxy's request. Raises Stopped, which ends the exercise, if the child is lost or time is up."""
        if isinstance(message, Examination):
            return self._examine(message, tensors)
        if message["op"] == "afresh":
            return self._start_afresh()
        if message["op"] == "left":
            seconds = min(self.limits.exercise - (self.of_exercise or 0.0), self.deadline.remains())
            return {"ok": True, "left": seconds}, []
        reply, answer = self._ask(message, tensors)
        if not self._has_room_for(answer):
            raise Stopped("killed", f"its answers take more than {MAX_ANSWERS // 2**20} MiB in all")
        return reply, answer

    def _examine(self, message: Examination, tensors: wire.Tensors) -> Answer:
        """Let a function judge a candidate: answer its questions until it ends. Each is the reply to a request.

        A child that is stopped in the middle is lost, since it may still wait for an answer. Raises Stopped.
        """
        interview = message.candidate.interview()
        if self.is_due:  # first, since losing a child in a cell would undo the next line
            self._started()
        self.has_solutions = True  # a candidate may tell what the checks of another exercise want
        try:
            reply, answer = self._ask(message, tensors)
            while replies.asks(reply):
                came = time.monotonic()
                answered = interview.answer(reply, answer)
                # Candidates take different times, and should be told by their answers alone.
                time.sleep(max(0.0, came + TICK - time.monotonic()))
                reply, answer = self._ask(*answered)
        except wire.WireError as problem:
            self._give_up()
            raise Stopped("killed", str(problem)) from None
        except Stopped:
            self._give_up()
            raise
        return reply, answer

    def _start_afresh(self) -> Answer:
        """Run the cells again in a fresh child, to which nothing goes from the one before. Raises Stopped.

        It may take as long for the exercise as that one: a model that is trained in several languages needs it.
        """
        self._lose()
        self._started()
        if self.of_exercise is not None:
            self.of_exercise = 0.0
        return {"ok": True}, []

    def _started(self) -> Child:
        """The child, started if there is none. Raises Stopped."""
        try:
            return self.run()
        except ChildGone as problem:
            raise Stopped(problem.status, str(problem)) from None

    def _give_up(self) -> None:
        """Lose a child that cannot be asked any more, if it is not lost already."""
        if self.child is not None:
            self._lose()
            self.restarts += 1

    def _ask(self, message: wire.Message, tensors: wire.Tensors) -> Answer:
        """Send a request and receive what comes back. Raises Stopped."""
        limits = self.limits
        left = self._left_of_exercise(limits.call)
        late = f"its checks took longer than {limits.exercise:g} s in all" if left < limits.call else None
        if not self.can_be_asked or left <= 0:
            raise Stopped("timeout", late or "it is gone")
        child = self._started()
        try:
            reply, answer = self._request(child, message, tensors, seconds=min(limits.call, left))
            self._took(child.took)
        except Interrupted as problem:
            raise Stopped("timeout", f"{late}{problem.where}" if late else str(problem)) from None
        except OutOfTime as problem:
            raise Stopped(problem.status, str(problem)) from None
        except ChildGone as problem:
            self._lose()
            self.restarts += 1
            raise Stopped(problem.status, late if late and problem.status == "timeout" else str(problem)) from None
        except wire.WireError as problem:  # what we were about to send was too large
            raise Stopped("killed", str(problem)) from None
        return reply, answer

    def ask_all(self, requests: wire.Encoded, number: int, seconds: float) -> list[Answer] | None:
        """Send `number` requests as one; returns [(reply, tensors)], or None if that takes long or goes wrong.

        After None, all further requests to the submission go one by one, so that each error occurs in its own check:
        in a fresh child and with its full time, as if the requests had never been sent together.
        """
        left = min(seconds, self._left_of_exercise(seconds), self.limits.call)  # or one call might take too long
        if not self.prefetches or not self.can_be_asked or left <= 0:
            return None
        child = self.run()
        try:
            reply, answer = self._request(child, requests, seconds=left, number=number)
            answers = replies.split(reply, answer, number)
        except (Interrupted, wire.WireError, ChildGone):
            self._begin_anew()
            return None
        if not self._has_room_for(answer):
            self._begin_anew()
            return None
        self._took(child.took)
        return answers

    def _begin_anew(self) -> None:
        """Restart an exercise in a fresh child; from now on requests are sent one by one. Raises ChildGone."""
        self.prefetches = False
        self._lose()
        self.run()
        self.answered = 0

    def _left_of_exercise(self, otherwise: float) -> float:
        """The seconds that requests of this exercise may still take; `otherwise` if there is no current exercise."""
        return otherwise if self.of_exercise is None else self.limits.exercise - self.of_exercise

    def _took(self, seconds: float) -> None:
        if self.of_exercise is not None:
            self.of_exercise += seconds

    def _has_room_for(self, answer: wire.Tensors) -> bool:
        """Whether all answers so far, with this one, stay below the limit: the transcripts keep them in memory."""
        self.answered += wire.size_of(answer)
        return self.answered <= MAX_ANSWERS


class Edited(Workspace):
    """A submission of which one cell is edited again and again: the one that defines an exercise."""

    def __init__(self, of: Workspace, exercise: str, limits: Limits) -> None:
        """Raises NoDefinition if no cell, or more than one, defines the exercise."""
        super().__init__(of.parent, of.cells, of.deadline, prefetches=False, limits=limits, ledger=of.ledger)
        self.left_out = dict(of.left_out)
        self._see_as(of)
        self.exercise, self.place = exercise, self._place_of(exercise)

    @property
    def text(self) -> str:
        """What the cell holds."""
        return self.cells[self.place].code

    def put(self, text: str) -> bool:
        """Let the cell hold this text from now on, and run it; whether that went well.

        Raises ChildGone, Interrupted and Stopped.
        """
        self.cells = self._cells_with({self.place: text})
        self.answered = 0
        if self.ledger is not None:
            self.ledger.count("edits")
        child = self.run()
        runs = self._run_cell(child, self.place, self.cells[self.place])
        self._took(child.took)
        if isinstance(problem := self.errors.get(self.place), Stopped):
            raise problem
        if runs and not problem:
            self._request(child, _bind(self.exercise), seconds=self.limits.call)
        return runs and not problem


def staged(ledger: Ledger | None, exercise: str, name: str) -> contextlib.AbstractContextManager[None]:
    """Count what the body of a `with` takes as spent on this stage, if anybody asks what grading costs."""
    return contextlib.nullcontext() if ledger is None else ledger.stage(exercise, name)


def _bind(exercise: str) -> wire.Message:
    """The request at a check cell, below the answer; `also` names what its checks build or call beside it."""
    also: list[str] = []
    with contextlib.suppress(CourseError):  # grading says so
        checks = course.module_of(exercise, "checks")
        also = [getattr(checks, "STANDS_FOR", exercise), *getattr(checks, "ALSO_BUILDS", ())]
    return {"op": "bind", "name": exercise, "also": [name for name in also if name != exercise]}


def listed(names: Sequence[str]) -> str:
    """Names in a sentence: "`F`, `nn` and `torch`"; of many, the first ones."""
    if len(names) > MOST_NAMES:
        return f"{', '.join(names[:MOST_NAMES])} and {len(names) - MOST_NAMES} more"
    return " and ".join(filter(None, [", ".join(names[:-1]), names[-1]]))


def near_name(name: str, sources: Iterable[str]) -> str:
    """What the sources define under a name that looks like `name`, other than an exercise's; "" if nothing does."""
    defined = set[str]().union(*(course.defined_in(source) for source in sources)) - course.exercises().keys()
    near = sorted(other for other in defined if abs(len(other) - len(name)) <= MAX_APART)[:MAX_NAMES]
    same = [other for other in near if _plain(other) == _plain(name)]
    return next(iter(same or difflib.get_close_matches(name, near, n=1, cutoff=0.85)), "")


def _plain(name: str) -> str:
    """A name without what is lost when it is spelt in another way: case and underscores."""
    return name.replace("_", "").lower()


def _keeps_parts(cell: RestoredCell) -> bool:
    """Whether it is the course's own cell that keeps and brings parts."""
    return cell.known is not None and cell.known.grade_id == course.PARTS


def _defines(cell: RestoredCell, name: str) -> bool:
    defines = rf"^[ \t]*(?:>>> |In ?\[\d+\]: ?)?(?:class|def)[ \t]+{name}\b"
    return re.search(defines, cell.code, re.MULTILINE) is not None
