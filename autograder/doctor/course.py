"""Finds what is missing or wrong in a course."""

import ast
import functools
import json
import re
from collections.abc import Callable, Iterator
from pathlib import Path

from .. import bounds, course, installed
from ..course import Assignment, cells_in, original_of, source_of
from ..errors import CourseError, KitError
from ..grading import course_faults
from ..mistakes.bank import answer_path, bank, styles_of
from ..submission import hand_in_cell
from .finding import Finding

HINTS, ANSWERS = 3, 2  # how many an exercise should have
SOLUTION = re.compile(r"### BEGIN SOLUTION\n(.*?)### END SOLUTION", re.DOTALL)
TODO = re.compile(r"\bTODO\b")
OF_THE_KIT = ("autograder.nbgrader", "autograder.notebooks")  # where configurations of older kits import its parts from
SECRET_WORDS = ("SOLUTION", "HIDDEN", "ORIGINAL", "MARK SCHEME", "exercise:", "autograder", "misconception")


def findings(assignments: list[Assignment]) -> Iterator[Finding]:
    """All findings on these assignments of the current course; the quick checks come first."""
    exercises = [e.name for a in assignments for e in a.exercises]
    if not exercises:
        yield Finding(False, "no exercise: `autograder new exercise NAME` adds one")
        return
    yield from _all_or_each(
        [course.root() / "source"], course_faults.of_source, "each notebook is an assignment of its own"
    )
    yield from _all_or_each([None], _settings, "every option in nbgrader_config.py exists")
    yield from _of_older_configuration((course.root() / "nbgrader_config.py").read_bytes())
    yield from _all_or_each(
        assignments, course_faults.of_cells, "every graded code cell belongs to an exercise with checks"
    )
    yield from [Finding(False, problem) for problem in installed.problems()]
    yield from _all_or_each(exercises, _files, "checks and mistakes can be used")
    yield from _all_or_each(assignments, _hints, f"each exercise has {HINTS} hints")
    yield from _all_or_each(exercises, _answers, f"each exercise has {ANSWERS} or more right answers in its folder")
    yield from _all_or_each(exercises, _mistakes, "each exercise has mistakes that can be named")
    yield from _all_or_each(assignments, _todo, "nothing is left to do: no TODO")
    yield from _all_or_each(assignments, _release, "the release is up to date and gives nothing away")
    yield from _all_or_each([assignments], _submitted, "everything in submitted/ belongs to a student")
    yield from _graded(assignments)


def _all_or_each(items: list, look: Callable, well: str) -> Iterator[Finding]:
    """One finding for each thing that is wrong, or a single one that says that all are well."""
    lacking = []
    for item in items:
        try:
            lacking += look(item)
        except KitError as error:
            lacking.append(str(error))
        except Exception as error:  # raised by a module of the course's own
            where = item if isinstance(item, str) else getattr(item, "name", "the course")
            lacking.append(f"{where}: {type(error).__name__}: {error}")
    yield from [Finding(False, line) for line in lacking] or [Finding(True, well)]


# --- what is there --------------------------------------------------------------------------------


def _settings(_):
    from ..nbgrader import options
    from ..nbgrader.runs import NbgraderCourse

    yield from options.faults(NbgraderCourse(course.root()).config)


def _of_older_configuration(text: bytes) -> Iterator[Finding]:
    """How to shorten a configuration that sets what `configure(c)` sets, as older kits made it."""
    from ..nbgrader.configuring import plumbing

    try:
        nodes = list(ast.walk(ast.parse(text)))
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return  # the settings have said so
    imports = [node for node in nodes if isinstance(node, ast.ImportFrom)]
    names = {alias.name for node in imports for alias in node.names}
    if "configure" in names or not any(node.module and node.module.startswith(OF_THE_KIT) for node in imports):
        return
    kits = {f"c.{section}.{option}" for section, options in plumbing().items() for option in options}
    targets = [ast.unparse(target) for node in nodes if isinstance(node, ast.Assign) for target in node.targets]
    own = [name for name in dict.fromkeys(targets) if name.startswith("c.") and name not in kits]
    yield Finding(
        None,
        "nbgrader_config.py sets what the kit can set itself, which ages when the kit changes: shorten it to `from"
        " autograder.nbgrader import configure`, `c = get_config()`, `configure(c)`, and your own lines"
        f" ({', '.join(own) or 'none'})",
    )


def _files(exercise):
    if course.file_of(exercise, "checks") is not None:  # else a cell's fault
        yield from course_faults.of_files(exercise)


def _submitted(assignments):
    from ..grading.store import Store
    from ..nbgrader.members import enrolled
    from ..nbgrader.runs import NbgraderCourse
    from ..report.outcome_text import name_of
    from ..submission import belonging

    root = course.root()
    folder = root / "submitted"
    if folder.is_dir():
        known, wanted = [*course.assignments(root)], {a.name for a in assignments}
        people = enrolled(NbgraderCourse(root)), Store(root).dropped()
        found = belonging.strays(folder, known, wanted, *people, root / "release")
        yield from map(name_of, found)


def _hints(assignment):
    for exercise in assignment.exercises:
        found = sum(not TODO.search(f"{hint.title}\n{hint.text}") for hint in course.hints_of(exercise.name))
        if found < HINTS:
            yield (
                f"{exercise.name} has {found} of {HINTS} hints: <details><summary>Hint 1: …</summary> … </details>,"
                f" without a TODO, in text before its check in {assignment.name}"
            )


def _answers(exercise):
    found = len(styles_of(exercise))
    if found < ANSWERS:
        yield (
            f"{exercise} has {found} right answer{'' if found == 1 else 's'} in exercises/{exercise}/answers/: write"
            f" {ANSWERS} or more, in styles of their own"
        )


def _mistakes(exercise):
    if not bank(exercise):
        yield f"{exercise} has no mistakes in exercises/{exercise}/mistakes.py, so none can be named"


def _todo(assignment):
    left = sum(bool(TODO.search(source_of(cell))) for cell in cells_in(assignment.path))
    if left:
        yield f"TODO is left in {left} cell{'' if left == 1 else 's'} of source/{assignment.name}"
    for exercise in assignment.exercises:
        try:
            folder = course.folder_of(exercise.name)
        except CourseError:
            continue
        for path in sorted(folder.rglob("*.py")):
            if TODO.search(path.read_text(encoding="utf-8")):
                yield f"TODO is left in exercises/{path.relative_to(folder.parent)}"


# --- the release ----------------------------------------------------------------------------------


def release_of(assignment: Assignment) -> Path:
    return course.root() / "release" / assignment.name / f"{assignment.name}.ipynb"


def _release(assignment):
    path, number = release_of(assignment), assignment.name.split("_")[0]
    if not path.is_file():
        yield f"{assignment.name} has no release: run `autograder build {number}`"
        return
    from ..nbgrader import for_students
    from ..nbgrader.stripping import unstripped

    notebook = course.notebook_in(path)
    released = notebook["cells"]
    is_ours = _without_badge(released, assignment.name), _without_hand_in(released, assignment)
    if not all(is_ours) or is_stale(cells_in(assignment.path), released):
        yield f"release/{assignment.name} is not what source/ now makes: run `autograder build {number}`"
    for leak in (*unstripped(notebook), *leaks(assignment, released)):
        yield f"release/{assignment.name} gives away {leak}"
    for beside in for_students.of_solutions_alone(assignment.path):
        place = beside.relative_to(assignment.path.parent)
        if (path.parent / place).exists():
            yield f"release/{assignment.name} gives away {place}, which only a solution or a scheme shows"


def _without_badge(released: list, name: str) -> bool:
    """Take the badge of a release out of its parsed cells; returns whether it was the one that belongs there."""
    from ..nbgrader import colab
    from ..nbgrader.runs import NbgraderCourse

    mark = colab.badge(colab.configured(NbgraderCourse(course.root()).config), name, name)
    if not mark:
        return True
    text = colab.welcome(released)
    before = source_of(text)
    text["source"] = before.removeprefix(mark)
    return before.startswith(mark)


def _without_hand_in(released: list, assignment: Assignment) -> bool:
    """Take the cell that hands in out of a release's parsed cells; returns whether it was the one that belongs there.

    What it imports has to lie beside it, too.
    """
    from ..nbgrader import desk_cell
    from ..nbgrader.runs import NbgraderCourse

    if not (address := desk_cell.configured(NbgraderCourse(course.root()).config)):
        return True
    client = release_of(assignment).with_name(hand_in_cell.FILE)
    wanted = desk_cell.cell_of(address, assignment)["source"]
    if source_of(released.pop()) != wanted or not client.is_file():
        return False
    return client.read_text(encoding="utf-8") == desk_cell.client(address)


def is_stale(source: list, released: list) -> bool:
    """Whether a release's parsed cells differ from the source's, wherever the source is released unchanged."""
    if [cell["id"] for cell in source] != [cell["id"] for cell in released]:
        return True
    for cell, given in zip(source, released, strict=True):
        text = source_of(cell)
        wanted = text if "### BEGIN" not in text else original_of(text)
        if wanted is not None and wanted != source_of(given):
            return True
    return False


def secret_lines(assignment: Assignment) -> set[str]:
    """The lines that occur only in solutions: they are in no original, and long enough to give something away."""
    solutions, elsewhere = set(), set()
    for cell in cells_in(assignment.path):
        for region in SOLUTION.findall(source_of(cell)):
            solutions |= _lines(region)
        elsewhere |= _lines(original_of(source_of(cell)) or "")
    usual = {"super().__init__()"}  # in every module
    return {
        x for x in solutions - elsewhere - usual if len(x) > 12 and not x.startswith(("#", '"""', "def ", "class "))
    }


def leaks(assignment: Assignment, released: list) -> Iterator[str]:
    """The solutions, hidden tests, checks and mistakes that a release's parsed cells give away."""
    from ..checks.runner import collected

    text = "\n".join(source_of(cell) for cell in released)
    raw = json.dumps(released, ensure_ascii=False)
    shown = _lines(text)
    for line in sorted(secret_lines(assignment) & shown):
        yield f"a line of a solution: {line}"
    for word in SECRET_WORDS:
        if word in raw:
            yield f"{word!r}, which belongs to what is hidden"
    modules = {e.name: course.module_of(e.name, "checks") for e in assignment.exercises}
    for name in sorted({check.name for exercise, module in modules.items() for check in collected(exercise, module)}):
        if re.search(rf"\b{name}\b", text):
            yield f"the name of a check: {name}"
    for exercise in assignment.exercises:
        for id, mistake in bank(exercise.name).items():
            if mistake.says in text:
                yield f"the message of the mistake {id} of {exercise.name}"


def _lines(text):
    return {line.split("  #")[0].strip() for line in text.splitlines()}


# --- what grading gives ---------------------------------------------------------------------------


def _graded(assignments):
    """Findings from grading solutions, releases, right answers and mistakes, each as if handed in."""
    from ..grading.apart import GraderApart
    from ..sandbox import jail
    from ..sandbox.parent import WarmParent

    parent = WarmParent(level=jail.own_level())
    try:
        grader = GraderApart(parent)
    except CourseError as error:
        yield Finding(False, str(error))
        return
    yield from [Finding(None, f"not tried: {a.lacks}") for a in assignments if a.lacks]
    assignments = [a for a in assignments if not a.lacks]
    with grader:
        yield from _all_or_each(
            assignments,
            lambda a: _trials(grader, a),
            "each solution gets full marks and passes its visible checks, a stub gets no points, an original not all",
        )
        own = [e.name for a in assignments for e in a.exercises if _is_own(e.name)]
        if own:  # for the kit's own exercises, its tests check this
            yield from _all_or_each(
                own, lambda name: _own_answers(grader, name), "right answers get full marks, and mistakes are named"
            )


def _trials(grader, assignment):
    from ..grading.seeds import new_seed
    from ..nbgrader import points
    from ..nbgrader.runs import NbgraderCourse

    wanted = points.configured(NbgraderCourse(course.root()).config)
    judge = functools.partial(grader.grade_trial, seed=new_seed())
    yield from course_faults.of_grading(assignment, judge, wanted)


def _is_own(exercise):
    return bool(course.file_of(exercise, "checks")) and course.folder_of(exercise).parent != course.EXERCISES


def _own_answers(grader, exercise):
    from ..grading.apart import RanAway

    if exercise not in grader.graders.checks:
        return
    looks = [("right answer", style, faults_of_answer) for style in styles_of(exercise)]
    looks += [("mistake", id, faults_of_mistake) for id in bank(exercise)]
    for kind, name, look in looks:
        try:
            yield from grader.apart(look, exercise, name)
        except RanAway as end:
            yield f"the {kind} {name} of {exercise} runs away: {end}"


def faults_of_answer(grader, exercise, style):
    """The checks that a right answer fails, each as a line."""
    import runpy

    from ..checks.proxies import Local

    name = f"{exercise}/{style}"
    with bounds.tried(name):
        namespace = runpy.run_path(str(answer_path(exercise, style)))
    run = grader.graders.run(exercise, Local(namespace, name=name), 1)
    why = {check.name: run.unjudged.get(check.name, check.message) for check in run.failed()}
    return [f"the right answer {style} of {exercise} fails {check}: {reason}" for check, reason in why.items()]


def faults_of_mistake(grader, exercise, id):
    """What is wrong with a mistake, as a line, if anything is."""
    mistake = bank(exercise)[id]
    run = grader.graders.run(exercise, mistake.local(), 1)
    named = [diagnosis.id for diagnosis in grader.diagnostician.diagnose(run)]
    if bounds.was_stopped(mistake.name):
        return [f"the mistake {id} of {exercise} runs away: it takes too much memory or time, or starts a process"]
    if run.unjudged:
        return [f"the mistake {id} of {exercise} cannot be judged: {'; '.join(run.unjudged.values())}"]
    if not run.failed():
        return [f"the mistake {id} of {exercise} gets full marks: a check is missing"]
    if id not in named:
        return [f"the mistake {id} of {exercise} is not named: {named[0] if named else 'nothing'} is"]
    return []
