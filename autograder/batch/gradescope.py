"""Grading on Gradescope: makes the zip for its autograder, and grades each submission there."""

from __future__ import annotations

import functools
import json
import os
import re
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from .. import course, installed
from ..errors import CourseError, Unreadable, UsageError
from ..grading import store, waivers
from ..grading.seeds import new_seed
from ..submission import read
from ..submission.assignments import assignment_of
from ..verdict import Verdict, printable, rejected, settled
from . import pins

if TYPE_CHECKING:  # it imports torch
    from ..grading.grader import Grader

TEMPLATES = Path(__file__).parents[1] / "templates" / "containers"
SCRIPTS = ("setup.sh", "run_autograder")
# what `autograder check` and the sandbox import, with packages that notebooks may use
PACKAGES = """torch numpy ipython matplotlib matplotlib-inline safetensors pyseccomp pytest tqdm cachetools einops
jaxtyping""".split()
LEFT_OUT = ("__pycache__", "demo", "containers", "desk", "nbgrader", "doctor")  # of the kit: nothing there imports them
MOST_FILES = 1_000  # of a submission, below which its notebook is looked for
SHOWN, MOST_SHOWN = 100, 3  # characters of a notebook's name, and notebooks, in a sentence
PLACE = "course/packages"  # of installed courses in the zip: hidden from students with the course, and on Python's path
EXECUTABLE, PLAIN = 0o100755, 0o100644


# --- the zip --------------------------------------------------------------------------------------


def bundle(assignment: course.Assignment, path: Path) -> None:
    """Write the zip for an assignment. It holds solutions and hidden checks, so only its owner may read it."""
    root = course.root()
    path.parent.mkdir(parents=True, exist_ok=True)
    unfinished = path.with_name(f"{path.name}.new")
    with zipfile.ZipFile(unfinished, "w", zipfile.ZIP_DEFLATED) as archive:
        os.chmod(unfinished, 0o600)
        for name in SCRIPTS:
            text = (TEMPLATES / name).read_text(encoding="utf-8").replace("@assignment@", assignment.name)
            _add(archive, name, text.encode(), EXECUTABLE)
        for name, text in requirements().items():
            _add(archive, name, text.encode())
        for file in _files(course.PACKAGE):
            _add(archive, f"kit/autograder/{file.relative_to(course.PACKAGE).as_posix()}", file.read_bytes())
        for used in course.packages_used(root):
            _add_package(archive, used)
        _add(archive, "course/nbgrader_config.py", (root / "nbgrader_config.py").read_bytes())
        for folder in ("source", "exercises"):
            for file in _files(root / folder):
                _add(archive, f"course/{file.relative_to(root).as_posix()}", file.read_bytes())
    os.replace(unfinished, path)


def _add_package(archive: zipfile.ZipFile, used: installed.Installed) -> None:
    """Add an installed course, as if installed there: its package, and the entry point that names it."""
    place = f"{PLACE}/{used.module.replace('.', '/')}"
    for file in _files(used.folder):
        _add(archive, f"{place}/{file.relative_to(used.folder).as_posix()}", file.read_bytes())
    about = f"{PLACE}/{re.sub(r'[^A-Za-z0-9.]+', '_', used.package)}-{used.version or 0}.dist-info"
    metadata = f"Metadata-Version: 2.1\nName: {used.package}\nVersion: {used.version}\n"
    _add(archive, f"{about}/METADATA", metadata.encode())
    _add(archive, f"{about}/entry_points.txt", f"[{installed.GROUP}]\n{used.name} = {used.module}\n".encode())


def requirements() -> dict[str, str]:
    """The lock files of the zip: the packages that grading needs, and torch for CPUs. Raises CourseError."""
    place = course.kits_own()
    folder = place and place / "locks"
    if folder is None or not (folder / "torch-cpu.lock").is_file():
        raise CourseError("This kit was installed without its lock files, which name the packages for Gradescope.")
    found = pins.read((folder / "requirements.lock").read_text(encoding="utf-8"))
    chosen = "".join(pin.text for pin in pins.needed(found, PACKAGES))
    return {"requirements.lock": chosen, "torch-cpu.lock": (folder / "torch-cpu.lock").read_text(encoding="utf-8")}


def _files(folder: Path) -> Iterator[Path]:
    """The files of the kit or the course below a folder, sorted, without what is made from them; no links."""
    for place, folders, names in os.walk(folder):
        folders[:] = sorted(name for name in folders if name not in LEFT_OUT and not name.startswith("."))
        yield from (Path(place, name) for name in sorted(names) if not Path(place, name).is_symlink())


def _add(archive: zipfile.ZipFile, name: str, data: bytes, mode: int = PLAIN) -> None:
    about = zipfile.ZipInfo(name)  # of 1980: equal contents make equal zips
    about.external_attr = mode << 16
    about.compress_type = zipfile.ZIP_DEFLATED
    archive.writestr(about, data)


# --- on Gradescope --------------------------------------------------------------------------------


def grade(assignment: course.Assignment, folder: Path, grader: Grader) -> Verdict:
    """The Verdict on a student's folder, whatever is in it; it has the path of the notebook that was graded."""
    from ..grading.grader import read_program

    scoring = waivers.scoring_of(course.root())
    grader.waived = scoring.waivers.waived
    path: Path | None = None
    try:
        path = notebook_in(folder, assignment)
        program = read_program(path)
    except Unreadable as problem:
        return _rejected(assignment, path, str(problem), grader)
    graded = grader.grade_program(program, program.wanted, new_seed())
    if not graded.final:  # stopped by a deadline or a kill: tried once more before that counts
        graded = settled(graded, grader.grade_program(program, program.wanted, new_seed()))
    verdict = graded.verdict
    if verdict.assignment and verdict.assignment != assignment.name:
        return _rejected(assignment, path, f"This is {verdict.assignment}, and not {assignment.name}.", grader)
    if not verdict.assignment:  # it belongs to none
        said = next((e.message for e in verdict.exercises if e.message), f"It is not a notebook of {assignment.name}.")
        return _rejected(assignment, path, said, grader)
    return scoring.of(verdict)


def _rejected(assignment: course.Assignment, path: Path | None, problem: str, grader: Grader) -> Verdict:
    return rejected(path or "", assignment.exercises, problem, 0, assignment.name, grader.parent.level)


def notebook_in(folder: Path, assignment: course.Assignment) -> Path:
    """The student's notebook: the one of the assignment's name, else the only one that is of it. Raises Unreadable."""
    found = _notebooks(folder)
    named = [path for path in found if path.name == f"{assignment.name}.ipynb"]
    if len(named) == 1 or len(found) == 1:
        return (named or found)[0]
    of_it = [path for path in found if _is_of(path, assignment)]
    if len(of_it) == 1:
        return of_it[0]
    advice = f"Hand in {assignment.name}.ipynb alone."
    if not found:
        raise Unreadable(f"The hand-in contains no notebook. {advice}")
    raise Unreadable(f"The hand-in contains {len(found)} notebooks. {advice}")


def left_out(folder: Path, graded: str) -> str:
    """A sentence for the student if other notebooks lie beside the one that was graded, or ""."""
    others = [path for path in _notebooks(folder) if str(path) != graded] if graded else []
    if not others:
        return ""
    mine, *rest = (printable(str(path.relative_to(folder)))[:SHOWN] for path in (Path(graded), *others[:MOST_SHOWN]))
    return f"Graded: {mine}. Not graded: {', '.join(rest)}{' …' if len(others) > MOST_SHOWN else ''}."


def _notebooks(folder: Path) -> list[Path]:
    """The notebooks below a student's folder, links left out. Raises Unreadable."""
    found, others, seen = [], [], 0
    for place, folders, names in os.walk(folder):
        folders[:] = [name for name in folders if not name.startswith((".", "__MACOSX"))]
        seen += len(folders) + len(names)
        if seen > MOST_FILES:
            raise Unreadable(f"The hand-in contains more than {MOST_FILES} files.")
        paths = [Path(place, name) for name in names if not name.startswith(".")]
        for path in paths:
            if path.is_file() and not path.is_symlink():
                (found if path.suffix == ".ipynb" else others).append(path)
    return sorted(found) or sorted(filter(read.may_be_one, others))  # a browser may have put something behind the name


def _is_of(path: Path, assignment: course.Assignment) -> bool:
    try:
        return assignment_of(read.read_file(path).cells) == assignment
    except Unreadable:
        return False


def write_results(verdict: Verdict, path: Path, said: str = "") -> None:
    """Write `results.json`, whole or not at all; the student reads what is `said` below the points and names."""
    from ..report import results_json

    results = results_json.gradescope(verdict)
    results["output"] = "\n\n".join(filter(None, (results["output"], said)))
    store.write(path, json.dumps(results, indent=1))
    path.chmod(0o644)


def require_gate(assignment: course.Assignment, grader: Grader) -> list[str]:
    """Raises UserError unless the assignment is built as its source has it, and could be graded here.

    Returns sentences about the checks that can't be tried on this machine.
    """
    from ..grading import gate
    from ..grading.rounds import Rounds
    from ..nbgrader import changing, options
    from ..nbgrader.runs import NbgraderCourse

    runs, results = NbgraderCourse(course.root()), store.Store(course.root())
    with runs.gradebook() as gradebook:
        changing.require_build(gradebook, assignment)
    seed = Rounds(results, assignment.name).first()
    judge = functools.partial(grader.grade_trial, seed=seed)
    return gate.require(assignment, judge, options.points_wanted(runs.config), results, seed)


def require_room(path: Path) -> None:
    """Raises UsageError if the zip would lie where students' files or the built course lie."""
    inside = path.resolve().parent
    for name in ("release", "submitted", "feedback", "source", "exercises"):
        folder = course.root().resolve() / name
        if folder == inside or folder in inside.parents:
            raise UsageError(f"{path} would be in {name}/: it holds the hidden checks, so choose another place.")
