"""Results on disk: by content, so that an unchanged submission is not graded twice, and the latest of each student."""

import contextlib
import fcntl
import functools
import hashlib
import itertools
import json
import os
import tempfile
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import Any

from ..errors import CourseError, Unreadable
from ..groups import names
from ..groups.names import Name, Names
from ..installed import Installed
from ..submission import read as reading
from ..submission.restore import RestoredCell
from ..submission.written import ReleasedCell
from ..verdict import FULL, LEVELS, SCHEMA, Graded, Outcome, Verdict, VerdictError, typed
from . import pauses
from .pauses import Pause

FOLDER = ".autograder"
FINAL, STOPPED = "results", "stopped"  # the folders of results that count for good, and of those to be tried again
DEVICES = ("cpu", "cuda")
NEW = ".new-"  # the prefix of files that are still being written
LARGEST = 64 * 2**20  # bytes of a file that is read from here; real ones have at most a tenth of that
STALE = 3600.0  # seconds after which an unfinished file counts as abandoned


class Store:
    """The result store of the course in `root`. Writes are atomic; what cannot be read counts as missing."""

    def __init__(self, root: reading.StrPath) -> None:
        self.root = Path(root) / FOLDER

    def _write(self, path: Path, text: str) -> None:
        write(path, text)

    @property
    def learnt(self) -> Path:
        """The folder of what mistakes do under the checks, see mistakes/behaviour_cache.py."""
        return self.root / "learnt"

    def rounds(self, assignment: str) -> dict[str, Any]:
        """The record of rounds.py for an assignment: the secret that inputs are drawn from, and who got which."""
        return read(self.root / "seeds" / f"{assignment}.json")

    def put_rounds(self, assignment: str, data: Mapping[str, Any]) -> None:
        """Keep the record of rounds.py for an assignment."""
        self._write(self.root / "seeds" / f"{assignment}.json", json.dumps(data))

    @contextlib.contextmanager
    def alone(self, assignment: str) -> Iterator[None]:
        """Keep other processes off an assignment's rounds for a moment."""
        path = self.root / "locks" / f"{assignment}.rounds"
        path.parent.mkdir(parents=True, exist_ok=True)
        with open(path, "a") as file:
            fcntl.flock(file, fcntl.LOCK_EX)
            yield

    def sweep(self) -> None:
        """Remove unfinished files that interrupted writers have left behind."""
        for path in self.root.rglob(f"{NEW}*"):
            with contextlib.suppress(OSError):
                if time.time() - path.stat().st_mtime > STALE:
                    path.unlink()

    def key(
        self,
        digest: str,
        assignment: str,
        seed: int,
        device: str,
        sandbox: str = FULL,
        waived: Mapping[str, Sequence[str]] | None = None,
    ) -> str:
        """A result's key: a hash of the submission, the course, and everything else that a score could depend on.

        `waived` are the checks that were not made, by exercise.
        """
        about = [digest, assignment, course_version(), seed, device, SCHEMA, sandbox]
        left_out = {exercise: sorted(names) for exercise, names in sorted((waived or {}).items()) if names}
        text = json.dumps([*about, left_out] if left_out else about)
        return hashlib.sha256(text.encode()).hexdigest()

    def get(self, key: str) -> Graded | None:
        """The Graded with this key that counts for good, or None."""
        return graded_from(read(self._path(key)))

    def get_stopped(self, key: str) -> Graded | None:
        """The latest Graded with this key that a deadline or a kill has stopped, so that it does not count yet."""
        return graded_from(read(self._path(key, STOPPED)), stopped=True)

    def put(self, key: str, graded: Graded) -> None:
        """Store a Graded where `get` or `get_stopped` finds it."""
        here, other = (FINAL, STOPPED) if graded.final else (STOPPED, FINAL)
        self._write(self._path(key, here), json.dumps(as_data(graded)))
        self._path(key, other).unlink(missing_ok=True)

    def _path(self, key: str, folder: str = FINAL) -> Path:
        return self.root / folder / key[:2] / f"{key}.json"

    def has(self, key: str) -> bool:
        """Whether there is a result with this key that counts for good; `get` says whether it can be read."""
        return self._path(key).is_file()

    def was_stopped(self, key: str) -> bool:
        """Whether there is a result with this key that a deadline or a kill has stopped."""
        return self._path(key, STOPPED).is_file()

    def has_passed(self, assignment: str, points: Mapping[str, float], seed: int) -> bool:
        """Whether this version of an assignment has passed `gate.require` with these points and inputs."""
        return read(self._gate(assignment)) == {"course": course_version(), "points": points, "seed": seed}

    def put_passed(self, assignment: str, points: Mapping[str, float], seed: int) -> None:
        """Remember that an assignment has passed `gate.require` with these points and inputs."""
        passed = {"course": course_version(), "points": points, "seed": seed}
        self._write(self._gate(assignment), json.dumps(passed))

    def _gate(self, assignment: str) -> Path:
        return self.root / "gate" / f"{assignment}.json"

    def put_latest(self, assignment: str, student: str, verdict: Verdict, recorded: object = None) -> None:
        """Remember a student's verdict for the report, and what the gradebook `recorded` of it (JSON-able)."""
        data = {"verdict": verdict.to_dict(), "recorded": recorded}
        self._write(self.root / "verdicts" / assignment / f"{student}.json", json.dumps(data))

    def latest_of(self, assignment: str, student: str, named: bool = True) -> tuple[Verdict | None, Any]:
        """(the student's latest verdict; what the gradebook recorded of it), or Nones.

        `named`: with the instructor's names.
        """
        verdict, recorded = _latest(read(self.root / "verdicts" / assignment / f"{student}.json"))
        return self.names.told(verdict) if verdict and named else verdict, recorded

    @functools.cached_property
    def names(self) -> Names:
        """The instructor's names for wrong answers. Raises CourseError."""
        return Names(names.read(self.root.parent), self._outcomes_of)

    def _outcomes_of(self, name: Name, seed: int) -> Iterator[Outcome]:
        from .. import course

        exercise = course.exercises().get(name.exercise)
        if exercise is None:
            return
        for device, level in itertools.product(DEVICES, LEVELS):
            graded = self.get(self.key(name.digest, exercise.assignment, seed, device, level))
            if outcome := graded and graded.verdict.exercise(name.exercise):
                yield outcome

    def students(self, assignment: str) -> list[str]:
        """The students who have a verdict on an assignment, sorted, without those who were dropped."""
        graded = {path.stem for path in (self.root / "verdicts" / assignment).glob("*.json")}
        return sorted(graded - self.dropped())

    def dropped(self) -> set[str]:
        """The ids of the students who have left the class: they keep their grades, but are in no report or export."""
        found = read(self.root / "roster.json").get("dropped")
        return {name for name in found if isinstance(name, str)} if isinstance(found, list) else set()

    def has_roster(self) -> bool:
        """Whether a roster was taken in: even if it has ids alone, nobody else is in the class."""
        return read(self.root / "roster.json").get("taken") is True

    def put_dropped(self, students: Iterable[str], taken: bool = False) -> None:
        """Remember who has left the class, and whether a roster was `taken` in, now or before."""
        about = {"dropped": sorted(students), "taken": taken or self.has_roster()}
        write(self.root / "roster.json", json.dumps(about))

    def extensions(self, assignment: str) -> dict[str, timedelta]:
        """The time that students have for an assignment beyond its due date, as `autograder extend` gave it."""
        found = read(self.root / "extensions" / f"{assignment}.json")
        return {who: timedelta(seconds=many) for who, many in found.items() if type(many) is int and 0 < many < 2**31}

    def put_extensions(self, assignment: str, given: Mapping[str, timedelta]) -> None:
        """Remember the extensions of an assignment."""
        seconds = {student: int(more.total_seconds()) for student, more in given.items()}
        write(self.root / "extensions" / f"{assignment}.json", json.dumps(seconds))

    def excused(self, assignment: str) -> dict[str, str]:
        """The students for whom an assignment does not count, as `autograder excuse` says, each with the reason."""
        found = read(self.root / "excused" / f"{assignment}.json")
        return {student: why for student, why in found.items() if isinstance(why, str)}

    def put_excused(self, assignment: str, students: Mapping[str, str]) -> None:
        """Remember for whom an assignment does not count, and why."""
        write(self.root / "excused" / f"{assignment}.json", json.dumps(students))

    def pauses(self) -> list[Pause]:
        """The periods that do not count, as `autograder pause` says."""
        found = read(self.root / "pauses.json").get("pauses")
        made = map(pauses.from_data, found if isinstance(found, list) else [])
        return [one for one in made if one is not None]

    def put_pauses(self, all_of_them: Iterable[Pause]) -> None:
        """Remember the periods that do not count."""
        write(self.root / "pauses.json", json.dumps({"pauses": [one.as_data() for one in all_of_them]}))

    def handed_in(self, assignment: str) -> dict[str, dict[str, Any]]:
        """What `autograder collect` noted of each student's hand-in, by student."""
        found = read(self.root / "handed_in" / f"{assignment}.json")
        return {student: about for student, about in found.items() if isinstance(about, dict)}

    def all_handed_in(self) -> dict[str, dict[str, dict[str, Any]]]:
        """What `autograder collect` noted of all hand-ins, by assignment and student."""
        return {path.stem: self.handed_in(path.stem) for path in (self.root / "handed_in").glob("*.json")}

    def put_handed_in(self, assignment: str, notes: Mapping[str, Mapping[str, Any]]) -> None:
        """Remember what `autograder collect` noted of each student's hand-in."""
        write(self.root / "handed_in" / f"{assignment}.json", json.dumps(notes))

    def released(self, assignment: str) -> set[ReleasedCell]:
        """The cells of all releases of an assignment that were built here."""
        found = read(self.root / "released" / f"{assignment}.json").get("cells")
        pairs = [pair for pair in found if isinstance(pair, list) and len(pair) == 2] if isinstance(found, list) else []
        return {
            (name, tuple(lines))
            for name, lines in pairs
            if isinstance(name, str) and isinstance(lines, list) and all(isinstance(line, str) for line in lines)
        }

    def put_released(self, assignment: str, cells: Iterable[ReleasedCell]) -> None:
        """Remember what students get, who may still hand it in after the next release."""
        known, new = self.released(assignment), set(cells)
        if not known.issuperset(new):
            text = json.dumps({"cells": sorted(known | new)}, ensure_ascii=False)
            write(self.root / "released" / f"{assignment}.json", text)

    def each(self, assignment: str, named: bool = True) -> Iterator[tuple[str, Verdict]]:
        """Yield (student, verdict) one by one, sorted: the verdicts of a large class do not fit into memory.

        `named`: with the instructor's names.
        """
        for student in self.students(assignment):
            verdict, _ = self.latest_of(assignment, student, named)
            if verdict is not None:
                yield student, verdict

    def latest(self, assignment: str) -> dict[str, Verdict]:
        """The verdicts on an assignment, by student."""
        return dict(self.each(assignment))


class Draft(Store):
    """The same store for a run that writes nothing: what is put into it is kept in memory, where a run needs it."""

    def __init__(self, root: reading.StrPath) -> None:
        super().__init__(root)
        self.stopped: dict[str, Graded] = {}
        self.drawn: dict[str, dict[str, Any]] = {}

    def _write(self, path: Path, text: str) -> None:
        pass

    def rounds(self, assignment: str) -> dict[str, Any]:
        return self.drawn.get(assignment) or super().rounds(assignment)

    def put_rounds(self, assignment: str, data: Mapping[str, Any]) -> None:
        self.drawn[assignment] = dict(data)

    @contextlib.contextmanager
    def alone(self, assignment: str) -> Iterator[None]:
        yield

    def sweep(self) -> None:
        pass

    def put(self, key: str, graded: Graded) -> None:
        if not graded.final:
            self.stopped[key] = graded

    def get_stopped(self, key: str) -> Graded | None:
        return self.stopped.get(key) or super().get_stopped(key)


def read(path: Path) -> dict[str, Any]:
    """The dict in a JSON file; an empty one if the file is missing or was not written by this kit."""
    try:
        data = json.loads(reading.read_bytes(path, most=LARGEST))
    except (Unreadable, ValueError, RecursionError):
        return {}
    return data if isinstance(data, dict) else {}


def _latest(data: Mapping[str, Any]) -> tuple[Verdict | None, Any]:
    try:
        return Verdict.from_dict(data.get("verdict")), data.get("recorded")
    except VerdictError:
        return None, None


def as_data(graded: Graded) -> dict[str, Any]:
    """A Graded as it is stored, JSON-able: without its cells' sources, which are restored from the submission."""
    cells = [{**vars(cell), "source": "", "known": None} for cell in graded.cells]
    return {"verdict": graded.verdict.to_dict(), "cells": cells, "outputs": graded.outputs}


def graded_from(data: Mapping[str, Any], stopped: bool = False, whole: bool = True) -> Graded | None:
    """The inverse of `as_data`; None if it is incomplete. `whole`: of all exercises of its assignment."""
    cells, outputs = data.get("cells"), data.get("outputs")
    try:
        verdict = Verdict.from_dict(data.get("verdict"))
        if not isinstance(cells, list) or not isinstance(outputs, dict) or whole and not _is_of_the_course(verdict):
            return None
        return Graded(
            verdict,
            [typed(RestoredCell, cell, known=None, copy_of=_text_or_none(cell)) for cell in cells],
            {int(index): _outputs(found) for index, found in outputs.items()},
            stopped=stopped,
        )
    except ValueError:  # a VerdictError among them
        return None


def _is_of_the_course(verdict: Verdict) -> bool:
    """Whether the verdict has an outcome for each exercise of its assignment."""
    from .. import course

    assignment = course.assignments().get(verdict.assignment)
    wanted = [(e.name, e.points) for e in assignment.exercises] if assignment else []
    return [(e.exercise, e.max_score) for e in verdict.exercises] == wanted


def _text_or_none(cell: object) -> str | None:
    claim = cell.get("copy_of") if isinstance(cell, dict) else None
    return claim if isinstance(claim, str) else None


# The outputs that are stored. `typed` compares values with exactly these types, so dict and list have no parameters.


@dataclass
class _Stream:
    output_type: str
    name: str
    text: str


@dataclass
class _Display:
    output_type: str
    data: dict
    metadata: dict


@dataclass
class _Error:
    output_type: str
    ename: str
    evalue: str
    traceback: list


# the parts of the kit that a score, or its explanation, depends on
JUDGING = "course.py verdict.py submission groups sandbox checks mistakes exercises grading".split()
OUTPUTS = {"stream": _Stream, "display_data": _Display, "error": _Error}


def _outputs(found: object) -> list[dict[str, Any]]:
    """A cell's outputs, if they have the form that `outputs.clean_outputs` produces. Raises VerdictError."""
    if not isinstance(found, list):
        raise VerdictError("a cell's outputs are no list")
    for output in found:
        kind = OUTPUTS.get(str(output.get("output_type"))) if isinstance(output, dict) else None
        if kind is None:
            raise VerdictError("an output is none")
        made = typed(kind, output)
        texts = made.traceback if isinstance(made, _Error) else made.data.values() if isinstance(made, _Display) else ()
        if not all(isinstance(text, str) for text in texts):
            raise VerdictError("the text of an output is none")
    return found


def write(path: Path, text: str) -> None:
    """Write a file atomically: a reader gets the whole old text or the whole new one, even if the writer is killed."""
    path.parent.mkdir(parents=True, exist_ok=True)
    descriptor, name = tempfile.mkstemp(dir=path.parent, prefix=NEW)
    try:
        with os.fdopen(descriptor, "w", encoding="utf-8", errors="replace") as file:
            file.write(text)
        os.replace(name, path)
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(name)
        raise


def course_version() -> str:
    """A hash of everything that a score can depend on: the code of the kit and of courses, the notebooks, torch."""
    return hashlib.sha256(json.dumps(course_parts()).encode()).hexdigest()


def course_parts() -> dict[str, str]:
    """The parts that `course_version` hashes, by name: hashes of the kit and the notebooks, torch's version."""
    from .. import course

    return parts_of(course.root())


@functools.lru_cache(maxsize=8)
def parts_of(root: Path) -> dict[str, str]:
    """`course_parts` of the course in `root`: read once, since one run grades by one state of a course."""
    from importlib.metadata import version

    from .. import course

    kit = Path(__file__).resolve().parent.parent
    judging = [kit / name for name in JUDGING if name.endswith(".py")]
    judging += [path for name in JUDGING for path in (kit / name).rglob("*.py")]
    source, own = root / "source", root / "exercises"
    return {
        "kit": content_hash(kit, judging),
        "source notebooks": content_hash(root, (p for p in _files_below(source) if p.suffix == ".ipynb")),
        "exercises of the course": content_hash(own, _files_below(own)),
        "torch": version("torch"),
        **({} if course.imports_torch(root) else {"NumPy": version("numpy")}),
        **{f"package {one.package}": _package_hash(one) for one in _packages_used(root)},
    }


def _packages_used(root: Path) -> list[Installed]:
    """The installed courses that a course uses; none of one that cannot be read, or graded."""
    from .. import course

    try:
        return course.packages_used(root)
    except CourseError:
        return []


def _package_hash(one: Installed) -> str:
    """A hash of an installed course: its checks may import anything that lies in its folder."""
    return content_hash(one.folder, _files_below(one.folder))


def _files_below(folder: Path) -> Iterator[Path]:
    """The files in a folder of a course, data that checks read among them, without what Python and editors make.

    Links are followed, as when an exercise is loaded, but no folder is entered twice.
    """
    seen = set[str]()
    for here, folders, files in os.walk(folder, followlinks=True):
        new = os.path.realpath(here) not in seen
        seen.add(os.path.realpath(here))
        folders[:] = sorted(n for n in folders if new and n != "__pycache__" and not n.startswith("."))
        found = (Path(here, name) for name in files if new and not name.startswith("."))
        yield from (path for path in found if path.is_file())


def content_hash(root: Path, paths: Iterable[Path]) -> str:
    digest = hashlib.sha256()
    for path in sorted(paths):
        digest.update(os.fsencode(path.relative_to(root)) + b"\0" + path.read_bytes())
    return digest.hexdigest()
