"""Grades one submission: reads it, runs its cells in a sandboxed child, runs the graders on it, makes the Verdict."""

import base64
import binascii
import contextlib
import json
import logging
import os
import re
import secrets
import struct
import time
from collections import Counter

from . import course
from .graders.session import Graders, Stopped
from .graders.sources import Source, names_in
from .graders.submission import StudentError
from .misconceptions.diagnose import Diagnostician
from .notebooks import reading
from .notebooks.restoring import Cell, restore
from .sandbox import replies
from .sandbox.inside import wire
from .sandbox.jail import SandboxError
from .sandbox.warm import ChildGone, Interrupted, WarmParent
from .verdicts import record
from .watchdog import Endless, watching

MAX_RESTARTS = 8
PAYS = 1  # submissions with the same inputs, after which it pays to learn what checks ask for: more will come
ATTEMPTS = 3  # for a submission whose process was ended, perhaps by somebody else
MAX_SHOWN = 6 * 2**20  # bytes of outputs kept of a notebook; a cell's own cap is below
MAX_ANSWERS = 16 * 2**20  # bytes of tensors in all answers of one exercise; right ones send half a megabyte at most

log = logging.getLogger(__name__)


def new_seed():
    """A seed for the inputs of a run, which nobody can have known before."""
    return secrets.randbits(48)


class Grader:
    """Grades submissions one after another with one warm sandbox, which starts when it is first needed.

    Use as a context manager, or call `close()`. `parent` is its sandbox, if not the usual one (see `starting.grader`).
    Raises jail.SandboxError where there is no sandbox.
    """

    def __init__(self, parent=None):
        self.parent = parent or WarmParent()
        self.graders = Graders()
        self.diagnostician = Diagnostician(self.graders)
        self.met = Counter()  # how many submissions of an assignment had the inputs of a seed
        self.learnt = set()  # (assignment, seed)

    def __enter__(self):
        return self

    def __exit__(self, *exc):
        self.close()

    def close(self):
        self.parent.close()

    def grade_file(self, path, exercise=None, seed=None):
        """Grade a notebook or a .py file: a Graded. Bad input gives a Verdict that says so, never an exception."""
        seed = new_seed() if seed is None else seed
        wanted = [course.exercises()[exercise]] if exercise else None
        try:
            data = reading.read_bytes(path)
            if str(path).endswith(".py"):
                cells = [Cell("code", reading.read_script(data), "")]
                assignment = ""
                every = list(course.exercises().values())
            else:
                submitted = reading.read_notebook(data)
                found = assignment_of(submitted, path)
                if found is None and not wanted:
                    raise reading.Unreadable(
                        "It is no notebook of this course: neither its name nor its cells belong to an assignment"
                        f" ({', '.join(course.assignments())})."
                    )
                found = found or course.assignments()[wanted[0].assignment]
                cells = restore(submitted, found.cells, found)
                assignment = found.name
                every = list(found.exercises)
                wanted = wanted or every
        except reading.Unreadable as problem:
            return record.Graded(record.rejected(path, wanted or exercises_of_name(path), str(problem), seed))
        return self.grade_cells(cells, wanted, seed, str(path), assignment, candidates=every)

    def grade_cells(self, cells, wanted, seed, path="", assignment="", candidates=(), alone=False):
        """Grade restored cells on the exercises `wanted` (or, if None, on those of `candidates` that they define).

        A process that was ended by nobody knows whom (a SIGKILL, the death of the sandbox) may have been ended by the
        submission, or by a machine out of memory: the submission is then graded again, and the last attempt counts,
        within one deadline for all. With `alone`, it is graded as if there had been no other before it.
        """
        if not alone:
            self._learn_what_pays(seed)
        deadline, graded = Deadline(self.parent.limits.submission), None
        for _ in range(ATTEMPTS):
            workspace = Workspace(self.parent, cells, deadline, foresees=not alone)
            results = self._grade_workspace(workspace, wanted, candidates, seed)
            verdict = record.Verdict(path, results, seed, assignment)
            again = record.Graded(verdict, cells, workspace.outputs, dict(workspace.spent), workspace.stopped)
            graded = record.settled(graded, again) if graded else again
            if not workspace.unexplained or deadline.is_over():
                break
            log.warning("a sandboxed process was ended, perhaps from outside")
        self.met.update({(course.exercises()[e.exercise].assignment, seed) for e in results})
        return graded

    def _learn_what_pays(self, seed):
        """Learn what is asked of each submission to an assignment, once enough of them had the same inputs."""
        for (name, of), many in self.met.items():
            if of == seed and many >= PAYS and (name, seed) not in self.learnt:
                self.learn(name, seed)

    def learn(self, name, seed):
        """Learn from an assignment's own solutions what its checks ask for, so that it is asked for at once.

        Never from a submission: what one student hands in changes nothing of what another one is asked.
        """
        self.learnt.add((name, seed))
        assignment = course.assignments()[name]
        workspace = Workspace(self.parent, read_cells(assignment.path))
        try:
            for exercise in assignment.exercises:
                workspace.begin_exercise()
                self.graders.run(exercise.name, workspace, seed, learning=True)
        except SandboxError:
            raise
        except Exception as problem:  # then it is asked for request by request, as before
            log.warning("what is asked of %s could not be learnt (%r)", name, problem)
        finally:
            workspace.close()

    def _grade_workspace(self, workspace, wanted, candidates, seed):
        """The outcome of every exercise."""
        try:
            workspace.run()
            if wanted is None:
                kinds = workspace.kinds([e.name for e in candidates])
                wanted = [e for e in candidates if kinds[e.name] != "missing"]
            wanted = wanted or list(candidates)  # it defines none: each of them is missing
            return [self._timed(workspace, e, seed) for e in wanted]
        except ChildGone as problem:  # beyond what a fresh child could mend
            stopped = problem.status, f"It could not be graded: {problem}."
            return [record.without_grade(e.name, e.points, *stopped) for e in wanted or candidates]
        except SandboxError:
            raise
        except Exception as mistake:
            problem = kits_mistake(mistake)
            return [record.without_grade(e.name, e.points, "error", problem) for e in wanted or candidates]
        finally:
            workspace.close()

    def _timed(self, workspace, exercise, seed):
        with workspace.clock(f"the checks of `{exercise.name}`"):
            return self._grade_exercise(workspace, exercise, seed)

    def _grade_exercise(self, workspace, exercise, seed):
        def without(status, message):
            return record.without_grade(exercise.name, exercise.points, status, message)

        try:
            workspace.begin_exercise()
            kind = workspace.kinds([exercise.name])[exercise.name]
            if kind == "missing":
                return without(*workspace.why_missing(exercise.name))
            if kind == "other":
                return without("error", f"`{exercise.name}` should be a function or class, but it is something else.")
            with workspace.watched():
                run = self.graders.run(exercise.name, workspace, seed)
            if run.stopped:
                return without(run.stopped.status, f"`{exercise.name}` was stopped: {run.stopped}.")
            diagnosis = self._diagnose(workspace, exercise, run) if run.failed() else []
        except ChildGone as problem:
            return without(problem.status, f"`{exercise.name}` could not be graded: {problem}.")
        except Endless as mistake:
            return without("error", kits_mistake(mistake))
        finally:
            workspace.end_exercise()
        score = sum(c.points for c in run.checks if c.passed)
        return record.Exercise(
            exercise.name, score, exercise.points, "graded", run.checks, diagnosis, skipped=run.skipped
        )

    def _diagnose(self, workspace, exercise, run):
        """The diagnosis of a run that failed; whatever goes wrong with it, the points stay."""
        try:
            with workspace.watched():
                return self._diagnosis(workspace, exercise, run)
        except ChildGone:
            return []
        except (Endless, Exception) as mistake:
            kits_mistake(mistake)
            return []

    def _diagnosis(self, workspace, exercise, run):
        """What to tell of a run that failed; first, that what the exercise stands on is wrong, if it is."""
        known = course.exercises()
        bases = [b for b in course.assignments()[exercise.assignment].bases if b in known]
        used = workspace.names_used_by(exercise.name) if bases else set()
        shaky = []
        for base in bases:
            if base in used and self._is_shaky(workspace, base, run.seed):
                says = f"`{base}`, on which this stands, is not right either: mend that first."
                shaky.append(record.Diagnosis(f"stands-on-{base}", says))
        return shaky + self.diagnostician.diagnose(run)

    def _is_shaky(self, workspace, base, seed):
        """Whether a base fails a check of its own; found out once, however many exercises stand on it."""
        if base not in workspace.shaky:
            if not workspace.child or workspace.kinds([base])[base] == "missing":
                return False
            workspace.begin_exercise()  # with a clock of its own
            under = self.graders.run(base, workspace, seed)
            if workspace.deadline.is_over():  # which says nothing about the base
                return False
            workspace.shaky[base] = bool(under.stopped or under.failed())
        return workspace.shaky[base]


def kits_mistake(error):
    """Log a mistake of the kit; returns what a student reads in the place of a grade."""
    log.error("a mistake of the kit (%r); AUTOGRADER_DEBUG=1 shows where", error, exc_info=_debugging())
    return f"It could not be graded, by a mistake of the kit ({type(error).__name__}): tell your instructor."


def _debugging():
    return bool(os.environ.get("AUTOGRADER_DEBUG"))


def exercises_of_name(path):
    """The exercises of the assignment whose name the file bears, or all of the course."""
    found = assignment_of([], path)
    return list(found.exercises) if found else list(course.exercises().values())


def assignment_of(submitted, path):
    """The course's assignment that a notebook belongs to: by its name, else by most of its cells; or None."""
    known = course.assignments()
    name = str(path).rsplit("/", 1)[-1].removesuffix(".ipynb")
    if name in known:
        return known[name]
    claims = {cell.grade_id for cell in submitted}
    hits = {n: len(claims & {c.grade_id for c in a.cells if c.grade_id != "setup"}) for n, a in known.items()}
    best = max(hits, key=hits.get, default=None)
    return known[best] if best and hits[best] else None


def read_cells(path):
    """The restored cells of a notebook or .py file of this course. Raises reading.Unreadable."""
    data = reading.read_bytes(path)
    if str(path).endswith(".py"):
        return [Cell("code", reading.read_script(data), "")]
    submitted = reading.read_notebook(data)
    found = assignment_of(submitted, path)
    return restore(submitted, found.cells if found else (), found)


class OutOfTime(ChildGone):
    """The time for all that is done with a submission is up."""

    def __init__(self, seconds):
        super().__init__("timeout", f"grading the whole submission took longer than {seconds:g} s")


class Deadline:
    """The one deadline over all that is done with a submission, by the clock. It begins with its first process."""

    def __init__(self, seconds):
        self.seconds = seconds
        self.ends = None

    def begin(self):
        """Let it run, unless it does already."""
        self.ends = self.ends or time.monotonic() + self.seconds

    def is_over(self):
        return self.ends is not None and time.monotonic() >= self.ends

    def left(self):
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

    def __init__(self, parent, cells, deadline=None, foresees=True):
        self.parent = parent
        self.cells = cells
        self.deadline = deadline or Deadline(parent.limits.submission)
        self.child = None
        self.outputs = {}
        self.shown = {}
        self.answered = 0
        self.errors = {}
        self.left_out = {}
        self.shaky = {}  # whether a base is wrong, as far as it was asked for
        self.restarts = 0
        self.foresees = foresees  # whether several requests may be made at once
        self.unexplained = False  # whether a child was ended by nobody knows whom
        self.stopped = False  # whether a cell was
        self.used = {"cpu": 0.0, "memory": 0}
        self.spent = Counter()  # wall-clock seconds, by what they were spent on
        self.of_cells = 0.0  # seconds that the cells of this child took
        self.of_exercise = None  # seconds that the requests of an exercise took

    def run(self):
        """Run all cells that are to be run. Raises ChildGone if children keep being lost, or time is up."""
        self.deadline.left()
        while self.child is None:
            if self.restarts > MAX_RESTARTS:
                raise ChildGone("killed", "too many of its cells ended their process or did not end at all")
            self.child = self.parent.fork()
            self.deadline.begin()
            self.of_cells = 0.0
            for index, cell in enumerate(self.cells):
                self.deadline.left()
                with self.clock(self._name(index)):
                    lives = self._run_cell(index, cell)
                if not lives:
                    self.restarts += 1
                    break

    def _run_cell(self, index, cell):
        """Run one cell; False if the child was lost by it."""
        limits = self.parent.limits
        try:
            if cell.exercise:
                self._request({"op": "bind", "name": cell.exercise}, seconds=limits.call)
            elif cell.runs and index not in self.left_out:
                seconds = max(0.1, min(limits.cell, limits.notebook - self.of_cells))
                message = {"op": "cell", "source": cell.source, "name": self._name(index)}
                try:
                    reply, _ = self._request(message, seconds=seconds)
                finally:
                    self.of_cells += self.child.took
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

    def _request(self, message, tensors=(), seconds=None):
        """Ask the child, as Child.request does. Raises OutOfTime where the deadline for all ends it, or has."""
        left = self.deadline.left()
        try:
            return self.child.request(message, tensors, seconds=seconds, most=left)
        except (Interrupted, ChildGone):
            self.deadline.left()
            raise

    def _keep(self, index, outputs):
        """Keep what a cell showed, if there is room: only an honest child counts what its cells show in all."""
        self.shown[index] = len(json.dumps(outputs))
        if sum(self.shown.values()) > MAX_SHOWN:
            self.shown[index] = 0
            outputs = [{"output_type": "stream", "name": "stderr", "text": "[the notebook shows too much: cut]\n"}]
        self.outputs[index] = outputs

    def _stop_at(self, index, status, message, keep):
        self.outputs[index] = [{"output_type": "error", "ename": status, "evalue": message, "traceback": [message]}]
        self.errors[index] = Stopped("timeout" if keep else status, message)
        self.stopped = True
        if not keep:
            self.left_out[index] = message

    def _name(self, index):
        """What tracebacks call a cell: its number among all cells of the notebook, from 1."""
        return f"cell {index + 1}" if len(self.cells) > 1 else "your file"

    def _lose(self):
        if self.child is not None:
            ended = self.child.kill() or {}
            self.unexplained = self.unexplained or self.child.unexplained
            self.used["cpu"] += ended.get("cpu", 0.0)
            self.used["memory"] = max(self.used["memory"], ended.get("memory", 0))
            self.child = None

    def close(self):
        self._lose()

    @contextlib.contextmanager
    def watched(self):
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
    def clock(self, what):
        """Count the time that it takes as spent on `what`."""
        started = time.monotonic()
        try:
            yield
        finally:
            self.spent[what] += time.monotonic() - started

    # --- exercises --------------------------------------------------------------------------------

    def begin_exercise(self):
        """Make sure that there is a child, and start the exercise's clock."""
        self.run()
        self.of_exercise = 0.0
        self.answered = 0

    def end_exercise(self):
        self.of_exercise = None

    def kinds(self, names):
        """For every name: "class", "callable", "other" or "missing"."""
        self.run()
        try:
            reply, _ = self._request({"op": "kind", "names": list(names)}, seconds=self.parent.limits.call)
        except (Interrupted, ChildGone) as problem:
            self._lose()
            raise ChildGone(getattr(problem, "status", "timeout"), str(problem)) from None
        return replies.kinds(reply, names)

    def why_missing(self, name):
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

    def names_used_by(self, name):
        """The names that stand in the code of the cells in which `name` is defined."""
        names = set()
        for cell in self.cells:
            if cell.runs and _defines(cell, name):
                names |= names_in(cell.source)
        return names

    def source(self, name):
        """The text of the cells that run: those that define `name`, and what it calls, are among them."""
        ran = [i for i, cell in enumerate(self.cells) if cell.runs and i not in self.left_out]
        graded = next((i for i, cell in enumerate(self.cells) if cell.exercise == name), len(self.cells))
        return Source(name, tuple(self.cells[i].source for i in ran), sum(i < graded for i in ran))

    def ask(self, message, tensors):
        """Serve a proxy. Raises Stopped, which ends the exercise, when the child is lost or time is up."""
        limits = self.parent.limits
        left = self._left_of_exercise(limits.call)
        late = f"its checks took longer than {limits.exercise:g} s in all" if left < limits.call else None
        if self.child is None or left <= 0:
            raise Stopped("timeout", late or "it is not there any more")
        try:
            reply, answer = self._request(message, tensors, seconds=min(limits.call, left))
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

    def ask_all(self, requests, number, seconds):
        """Serve a `number` of requests that are one: [(reply, tensors)], or None if it takes long or goes wrong.

        Then a submission is asked request by request to its end, so that what goes wrong does so in its own check: in a
        fresh child, and with all of its time, as if it had never been asked at once.
        """
        left = min(seconds, self._left_of_exercise(seconds), self.parent.limits.call)  # or one call might take too long
        if not self.foresees or self.child is None or left <= 0:
            return None
        try:
            reply, answer = self._request(requests, seconds=left)
            answers = replies.apart(reply, answer, number)
        except (Interrupted, wire.WireError, ChildGone):
            self._begin_anew()
            return None
        if not self._has_room_for(answer):
            self._begin_anew()
            return None
        self._took(self.child.took)
        return answers

    def _begin_anew(self):
        """Begin an exercise once more in a fresh child; from then on nothing is asked at once. Raises ChildGone."""
        self.foresees = False
        self._lose()
        self.run()
        self.answered = 0

    def _left_of_exercise(self, otherwise):
        """The seconds that requests of this exercise may still take; `otherwise`, outside of one."""
        return otherwise if self.of_exercise is None else self.parent.limits.exercise - self.of_exercise

    def _took(self, seconds):
        if self.of_exercise is not None:
            self.of_exercise += seconds

    def _has_room_for(self, answer):
        """Whether all answers so far, with this one, are no more than may be kept: the transcripts hold them."""
        self.answered += wire.size_of(answer)
        return self.answered <= MAX_ANSWERS


def _defines(cell, name):
    return re.search(rf"^[ \t]*(class|def)[ \t]+{name}\b", cell.source, re.MULTILINE)


# --- outputs from the sandbox ---------------------------------------------------------------------

MAX_OUTPUTS, MAX_TEXT, MAX_IMAGE = 40, 50_000, 700_000
_PNG = re.compile(r"iVBORw0KGgo[A-Za-z0-9+/\n]*={0,2}\n?")


def clean_outputs(outputs):
    """Outputs as a notebook holds them, built anew from what the sandbox sent: text, errors and PNG pictures only."""
    cleaned = [_clean_output(o) for o in outputs[:MAX_OUTPUTS]] if isinstance(outputs, list) else []
    return [o for o in cleaned if o]


def _clean_output(output):
    output = output if isinstance(output, dict) else {}
    kind = output.get("output_type")
    if kind == "stream" and isinstance(output.get("text"), str):
        name = "stderr" if output.get("name") == "stderr" else "stdout"
        return {"output_type": "stream", "name": name, "text": _text(output["text"])}
    if kind == "error":
        lines = output.get("traceback")
        lines = [_text(str(line)) for line in lines[-200:]] if isinstance(lines, list) else []
        return {
            "output_type": "error",
            "ename": _text(str(output.get("ename")))[:200],
            "evalue": _text(str(output.get("evalue")))[:2000],
            "traceback": "\n".join(lines)[:MAX_TEXT].split("\n"),
        }
    if kind in ("display_data", "execute_result") and isinstance(output.get("data"), dict):
        data = {}
        if isinstance(output["data"].get("text/plain"), str):
            data["text/plain"] = _text(output["data"]["text/plain"])
        image = output["data"].get("image/png")
        if isinstance(image, str) and len(image) <= MAX_IMAGE and _is_small_png(image):
            data["image/png"] = image
        return {"output_type": "display_data", "data": data, "metadata": {}} if data else None
    return None


def _is_small_png(text):
    """Whether it is base64 of a PNG of at most 4000 x 4000 pixels, so that showing it takes little memory."""
    if not _PNG.fullmatch(text):
        return False
    try:
        header = base64.b64decode(text[:44].replace("\n", "")[:32])
    except binascii.Error:
        return False
    width, height = struct.unpack("!II", header[16:24]) if len(header) >= 24 else (0, 0)
    return 0 < width <= 4000 and 0 < height <= 4000


def _text(text):
    """Text without control characters (terminal escapes among them), bounded, encodable."""
    text = re.sub(r"\x1b\[[0-9;?]*[a-zA-Z]", "", text[: 2 * MAX_TEXT])
    text = re.sub(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f]", "", text)[:MAX_TEXT]
    return wire.encodable(text)
