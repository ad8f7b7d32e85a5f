"""Do right answers get full marks on every input? `python benchmarks/seeds.py [EXERCISE …] [--seeds N] [--table]`.

Grades the course's solutions and the right answers in other styles at seeds 1 to N, in this process and without a
diagnosis, ten seeds of all answers at a time. Whatever loses a point is lost by chance, and that check is wrong. Since
a thousand seeds do not show a chance of one in a million, it also notes how close each comparison (`api.close`) came to
its limit: 1 is the limit. Of what checks measure, such as the loss of a trained model, it notes mean and spread, by
which one can tell how far away the bar is.

All of that takes hours, so it can be stopped and started again at any time, on another machine, too: seeds.json beside
this file holds the sum of what was found for each answer, and is committed. What it says of an answer whose own checks
have changed since is not used. Remove the file after a change of code that exercises share. Several of these may run at
the same time, each on exercises of its own. `--table` only shows what is there.
"""

import argparse
import ast
import contextlib
import fcntl
import functools
import gc
import hashlib
import io
import json
import math
import sys
import tempfile
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path

import measuring
import torch

from autograder import course
from autograder.checks import api, runner
from autograder.checks.proxies import Local
from autograder.checks.runner import Graders
from autograder.checks.source_text import names_defined_in, names_in
from autograder.errors import UserError
from autograder.grading.store import write
from autograder.mistakes.bank import namespace_of, right_answer, styles_of
from autograder.mistakes.name_check import cells_for
from autograder.sandbox.inside import unavailable

PAGE = Path(__file__).with_name("seeds.json")
SOLUTION = "the solution"
BLOCK = 10  # seeds: what is kept at once


@dataclass(frozen=True)
class Answer:
    """A right answer to an exercise: its cells, the last of which is the answer itself."""

    exercise: str
    style: str
    cells: tuple[str, ...]

    @functools.cached_property
    def digest(self) -> str:
        """Of the code that its results depend on, without annotations and imports, and without what exercises share."""
        checks = (course.folder_of(self.exercise) / "checks.py").read_text(encoding="utf-8")
        return hashlib.sha256("\0".join(map(code_of, (checks, *used(self.cells)))).encode()).hexdigest()[:12]

    def local(self) -> Local:
        return Local(namespace_of(f"{self.exercise}/{self.style}", *self.cells), self.cells[-1])


class _Bare(ast.NodeTransformer):
    """Takes imports, docstrings and the annotations of functions and variables out."""

    def visit_Import(self, node: ast.Import) -> None:
        """Names that are only imported for annotations come and go with these."""

    def visit_ImportFrom(self, node: ast.ImportFrom) -> None:
        """The same: what else an import brings in is code that exercises share."""

    def visit_arg(self, node: ast.arg) -> ast.AST:
        node.annotation = None
        return node

    def visit_AnnAssign(self, node: ast.AnnAssign) -> ast.AST:
        return self.generic_visit(node if node.value is None else ast.Assign([node.target], node.value, None))

    def visit_ClassDef(self, node: ast.ClassDef) -> ast.AST:
        """In a class annotations may count: they make the fields of a dataclass."""
        visited = (one if isinstance(one, ast.AnnAssign) else self.visit(one) for one in node.body)
        node.body = [one for one in visited if one is not None]
        return node

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.AST:
        node.returns = None
        if ast.get_docstring(node) is not None:
            node.body[0] = ast.Pass()
        return self.generic_visit(node)


def code_of(text: str) -> str:
    """What of a Python text decides what it computes: no comments, layout, docstrings, annotations or imports."""
    return ast.dump(_Bare().visit(ast.parse(text)))


def used(cells: Sequence[str]) -> list[str]:
    """The cells that define exercises or what the last one uses, directly or not, and the last: no pictures."""
    wanted = names_in(cells[-1]) | course.exercises().keys()
    found: set[str] = set()
    while more := {cell for cell in cells[:-1] if names_defined_in(cell) & wanted} - found:
        found |= more
        wanted = wanted.union(*map(names_in, more))
    return [*(cell for cell in cells[:-1] if cell in found), cells[-1]]


def answers(exercise: str) -> list[Answer]:
    """The solution of an exercise, then its right answers in other styles."""
    cells = tuple(cell.source for cell in cells_for(exercise, right_answer(exercise)))
    others = [Answer(exercise, style, (right_answer(exercise, style),)) for style in styles_of(exercise)]
    return [Answer(exercise, SOLUTION, cells), *others]


@dataclass
class Found:
    """What came of an answer at seeds 1 to `seeds`: the seeds at which checks `failed` or could not judge, by their
    names, and of all comparisons which came `closest` to its limit, and how close. `of` is the answer's digest.
    `measured` holds, by name: how many values, their sum, that of their squares, and the largest.
    """

    of: str
    seeds: int = 0
    cpu: float = 0.0
    failed: dict[str, list[int]] = field(default_factory=dict)
    unjudged: list[str] = field(default_factory=list)
    closest: str = ""
    used: float = 0.0
    measured: dict[str, list[float]] = field(default_factory=dict)

    def add(self, other: "Found") -> None:
        """Take in what came of the seeds behind these."""
        self.seeds += other.seeds
        self.cpu = round(self.cpu + other.cpu, 1)
        for check, seeds in other.failed.items():
            self.failed.setdefault(check, []).extend(seeds)
        self.unjudged = sorted({*self.unjudged, *other.unjudged})
        if other.used > self.used:
            self.closest, self.used = other.closest, other.used
        for name, (many, total, squares, most) in other.measured.items():
            known = self.measured.get(name, [0, 0.0, 0.0, -math.inf])
            sums = known[0] + many, known[1] + total, known[2] + squares
            self.measured[name] = [*(round(one, 6) for one in sums), max(known[3], most)]

    def measure(self, values: Mapping[str, float]) -> None:
        """Take in what the checks measured at one seed."""
        for name, value in values.items():
            self.add(Found(self.of, measured={name: [1, value, value**2, round(value, 6)]}))


class Margins:
    """How close the comparisons of each check came to their limits, by the names of checks."""

    def __init__(self) -> None:
        self.seen: dict[str, float] = {}
        self.check = ""
        self.compare, self.call = api.close, runner.GradedCheck.call

    def watch(self) -> None:
        """From now on, note what all checks that are imported compare."""
        for module in list(sys.modules.values()):
            if getattr(module, "close", None) is self.compare:
                module.close = self._close
        runner.GradedCheck.call = lambda check, *given: self._called(check, *given)  # type: ignore[method-assign]

    def _called(self, check, submission, seed):
        self.check = check.name
        return self.call(check, submission, seed)

    def _close(self, value, expected, what="the output", tolerance=None, dtype=None):
        if isinstance(value, torch.Tensor) and value.shape == expected.shape and value.device.type != "meta":
            error = api.largest(value.detach().double() - expected.detach().double())
            used = error / api.allowed(expected, tolerance, dtype)
            where = (
                f"{self.check}/{sys._getframe(1).f_code.co_name}"  # the function that compares, perhaps an easy case
            )
            self.seen[where] = max(self.seen.get(where, 0.0), used if math.isfinite(used) else 0.0)
        return self.compare(value, expected, what, tolerance, dtype)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("exercises", nargs="*", metavar="EXERCISE", help="default: all")
    parser.add_argument("--seeds", type=int, default=1000, metavar="N", help="of each answer (default: 1000)")
    parser.add_argument("--solutions", action="store_true", help="the course's own solutions only")
    parser.add_argument("--table", action="store_true", help="grade nothing, show what was found")
    parser.add_argument("--results", type=Path, default=PAGE, metavar="FILE", help=f"default: {PAGE.name}, beside this")
    with tempfile.TemporaryDirectory() as folder:
        results = Path(folder) / PAGE.name
        run(measuring.options(parser, exercises=["softmax"], solutions=True, seeds=1, results=results))


def run(options: argparse.Namespace) -> None:
    """Grade what is asked for, and print the table."""
    try:
        wanted = [course.find_exercise(name).name for name in options.exercises] or list(course.exercises())
    except UserError as error:
        sys.exit(f"seeds: {error}")
    every = [answer for exercise in wanted for answer in answers(exercise)]
    if options.solutions:
        every = [answer for answer in every if answer.style == SOLUTION]
    with contextlib.suppress(KeyboardInterrupt):
        if not options.table:
            grade(every, options.seeds, options.results)
    print(table(every, kept(options.results)))


def grade(every: Sequence[Answer], seeds: int, results: Path) -> None:
    """Grade what is still to be graded, and keep it block by block."""
    torch.set_num_threads(1)
    torch.compile = unavailable.uncompiled  # as where students are graded: no compiler is there
    graders = Graders()
    margins = Margins()
    margins.watch()
    gc.freeze()
    gc.disable()  # a tenth of the time
    for answer, block in to_do(every, seeds, kept(results)):
        found = graded(graders, margins, answer, block)
        gc.collect()
        keep(answer, found, results)
        if found.failed or found.unjudged:
            print(answer.exercise, answer.style, found.failed, found.unjudged, file=sys.stderr, flush=True)


Page = dict[str, dict[str, Found]]  # by exercise and style


def to_do(every: Sequence[Answer], seeds: int, page: Page) -> Iterator[tuple[Answer, range]]:
    """Blocks of seeds that are not kept yet: of each block the solutions first, then the cheapest answers."""
    found = {answer: found_of(answer, page) for answer in every}
    costs = {answer.exercise: one.cpu / one.seeds for answer, one in found.items() if one.seeds}
    in_turn = sorted(every, key=lambda answer: (answer.style != SOLUTION, costs.get(answer.exercise, 0.0)))
    for first in range(1, seeds + 1, BLOCK):
        block = range(first, min(first + BLOCK, seeds + 1))
        yield from ((answer, block) for answer in in_turn if found[answer].seeds < block[0])


def graded(graders: Graders, margins: Margins, answer: Answer, seeds: range) -> Found:
    """What came of an answer at some seeds."""
    found, started = Found(answer.digest, len(seeds)), time.process_time()
    unjudged = set[str]()
    for seed in seeds:
        with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
            run = graders.run(answer.exercise, answer.local(), seed)
        for check in run.failed():
            found.failed.setdefault(check.name, []).append(seed)
        found.measure(run.measured)
        unjudged |= {*run.unjudged, *([str(run.stopped)] if run.stopped else [])}
    found.cpu = round(time.process_time() - started, 1)
    found.unjudged = sorted(unjudged)
    if margins.seen:
        found.closest = max(margins.seen, key=lambda check: margins.seen[check])
        found.used = float(f"{margins.seen[found.closest]:.2g}")
    margins.seen.clear()
    return found


# --- what was found ---------------------------------------------------------------------------------


def kept(results: Path) -> Page:
    """What the page holds."""
    page = json.loads(results.read_text(encoding="utf-8")) if results.exists() else {}
    return {exercise: {style: Found(**found) for style, found in styles.items()} for exercise, styles in page.items()}


def found_of(answer: Answer, page: Page) -> Found:
    """What the page holds of an answer as it is now."""
    found = page.get(answer.exercise, {}).get(answer.style)
    return found if found and found.of == answer.digest else Found(answer.digest)


def keep(answer: Answer, new: Found, results: Path) -> None:
    """Add what was found of an answer to the page."""
    with Path(__file__).open() as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # others may be at work on other exercises
        page = kept(results)
        found = found_of(answer, page)
        found.add(new)
        page.setdefault(answer.exercise, {})[answer.style] = found
        lines = ",\n".join(
            f"{json.dumps(exercise)}: {{\n"
            + ",\n".join(f"{json.dumps(style)}: {json.dumps(asdict(styles[style]))}" for style in sorted(styles))
            + "}"
            for exercise, styles in sorted(page.items())
        )
        write(results, f"{{{lines}}}\n")


def table(every: Sequence[Answer], page: Page) -> str:
    """Per exercise: its answers and how many seeds they had, what lost points, how close comparisons came, and of
    what is measured the answer that came out highest.
    """
    head = ["exercise", "solution", "other answers", "lost points", "closest to its limit", "measured"]
    lines = [f"| {' | '.join(head)} |", "|---|---:|---:|---|---|---|"]
    for exercise in dict.fromkeys(answer.exercise for answer in every):
        found = {a.style: found_of(a, page) for a in every if a.exercise == exercise}
        lost: dict[str, int] = {}
        for one in found.values():
            for check, at in one.failed.items():
                lost[check] = lost.get(check, 0) + len(at)
        nearest = max(found.values(), key=lambda one: one.used)
        others = [one.seeds for style, one in found.items() if style != SOLUTION]
        cells = [
            exercise,
            str(found[SOLUTION].seeds),
            f"{len(others)}: {_range(others)} each",
            ", ".join(f"{check} {many}" for check, many in lost.items()) or "none",
            f"{nearest.closest} {nearest.used:.2g}" if nearest.used else "",
            "; ".join(
                _widest(name, found.values()) for name in sorted({n for one in found.values() for n in one.measured})
            ),
        ]
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines)


def _widest(name: str, found: Iterable[Found]) -> str:
    """The mean, the standard deviation and the largest of what was measured of the answer that came out highest."""
    many, total, squares, most = max((one.measured[name] for one in found if name in one.measured), key=lambda m: m[3])
    mean = total / many
    return f"{name} {mean:.2g} ± {math.sqrt(max(squares / many - mean**2, 0.0)):.1g}, at most {most:.2g} (of {many:g})"


def _range(numbers: Sequence[int]) -> str:
    least, most = min(numbers, default=0), max(numbers, default=0)
    return str(least) if least == most else f"{least} to {most}"


if __name__ == "__main__":
    main()
