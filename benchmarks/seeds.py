"""Do right answers get full marks on every input? `python benchmarks/seeds.py [EXERCISE …] [--seeds N] [--table]`.

Grades the course's solutions and the right answers in other styles at seeds 1 to N, in this process and without a
diagnosis, ten seeds of all answers at a time. Whatever loses a point is lost by chance, and that check is wrong. Since
a thousand seeds do not show a chance of one in a million, it also notes how close each comparison (`api.close`) came to
its limit: 1 is the limit.

All of that takes hours, so it can be stopped and started again at any time: results are kept in reports/seeds.jsonl,
block by block, and those of an answer whose own checks have changed since are not used. Remove the file after a change
of code that exercises share. `--table` only shows what is there.
"""

import argparse
import contextlib
import hashlib
import io
import json
import math
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import torch

from autograder import course
from autograder.checks import api, runner
from autograder.checks.proxies import Local
from autograder.checks.runner import Graders
from autograder.errors import UserError
from autograder.mistakes.bank import namespace_of, right_answer
from autograder.mistakes.name_check import cells_for
from autograder.sandbox.inside import unavailable

PAGE = Path("reports", "seeds.jsonl")  # in the course's folder
SOLUTION = "the solution"
BLOCK = 10  # seeds: what is kept at once


@dataclass(frozen=True)
class Answer:
    """A right answer to an exercise: its cells, the last of which is the answer itself."""

    exercise: str
    style: str
    cells: tuple[str, ...]

    @property
    def digest(self) -> str:
        """Of all that its results depend on, without the code that exercises share."""
        checks = (course.folder_of(self.exercise) / "checks.py").read_text(encoding="utf-8")
        return hashlib.sha256("\0".join((checks, *self.cells)).encode()).hexdigest()[:12]

    def local(self) -> Local:
        return Local(namespace_of(f"{self.exercise}/{self.style}", *self.cells), self.cells[-1])


def answers(exercise: str) -> list[Answer]:
    """The solution of an exercise, then its right answers in other styles."""
    cells = tuple(cell.source for cell in cells_for(exercise, right_answer(exercise)))
    styles = sorted(path.stem for path in (course.folder_of(exercise) / "answers").glob("*.py"))
    others = [Answer(exercise, style, (right_answer(exercise, style),)) for style in styles]
    return [Answer(exercise, SOLUTION, cells), *others]


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
    options = parser.parse_args()
    try:
        wanted = [course.find_exercise(name).name for name in options.exercises] or list(course.exercises())
    except UserError as error:
        sys.exit(f"seeds: {error}")
    every = [answer for exercise in wanted for answer in answers(exercise)]
    if options.solutions:
        every = [answer for answer in every if answer.style == SOLUTION]
    with contextlib.suppress(KeyboardInterrupt):
        if not options.table:
            grade(every, options.seeds)
    print(table(every, kept()))


def grade(every: Sequence[Answer], seeds: int) -> None:
    """Grade what is still to be graded, and keep it block by block."""
    torch.set_num_threads(1)
    torch.compile = unavailable.uncompiled  # as where students are graded: no compiler is there
    graders = Graders()
    margins = Margins()
    margins.watch()
    PAGE.parent.mkdir(exist_ok=True)
    for answer, block in to_do(every, seeds):
        found = graded(graders, margins, answer, block)
        with PAGE.open("a", encoding="utf-8") as file:
            file.write(json.dumps(found) + "\n")
        if found["failed"] or found["unjudged"]:
            print(answer.exercise, answer.style, found["failed"], found["unjudged"], file=sys.stderr, flush=True)


def to_do(every: Sequence[Answer], seeds: int) -> Iterator[tuple[Answer, range]]:
    """Blocks of seeds that are not kept yet: of each block the solutions first, then the cheapest answers."""
    have, costs = set(), {}
    for of, lines in kept().items():
        have |= {(of, line["first"]) for line in lines}
        costs[of[0]] = min(line["cpu"] for line in lines)
    in_turn = sorted(every, key=lambda answer: (answer.style != SOLUTION, costs.get(answer.exercise, 0.0)))
    for first in range(1, seeds + 1, BLOCK):
        block = range(first, min(first + BLOCK, seeds + 1))
        yield from ((answer, block) for answer in in_turn if (key(answer), first) not in have)


def graded(graders: Graders, margins: Margins, answer: Answer, seeds: range) -> dict[str, object]:
    """What came of an answer at some seeds, as a line of the page."""
    failed: dict[str, list[int]] = {}
    unjudged, closest, started = set(), {}, time.process_time()
    for seed in seeds:
        with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
            run = graders.run(answer.exercise, answer.local(), seed)
        for check in run.failed():
            failed.setdefault(check.name, []).append(seed)
        unjudged |= {*run.unjudged, *([str(run.stopped)] if run.stopped else [])}
        for name, used in margins.seen.items():
            closest[name] = max(closest.get(name, 0.0), used)
        margins.seen.clear()
    return {
        "exercise": answer.exercise,
        "answer": answer.style,
        "of": answer.digest,
        "first": seeds[0],
        "seeds": len(seeds),
        "cpu": round(time.process_time() - started, 1),
        "failed": failed,
        "unjudged": sorted(unjudged),
        "closest": {name: float(f"{used:.2g}") for name, used in closest.items()},
    }


# --- what was found ---------------------------------------------------------------------------------


def key(answer: Answer) -> tuple[str, str, str]:
    return answer.exercise, answer.style, answer.digest


def kept() -> dict[tuple[str, str, str], list[dict]]:
    """The lines of the page by answer."""
    found: dict[tuple[str, str, str], list[dict]] = {}
    for text in PAGE.read_text(encoding="utf-8").splitlines() if PAGE.exists() else ():
        line = json.loads(text)
        found.setdefault((line["exercise"], line["answer"], line["of"]), []).append(line)
    return found


def table(every: Sequence[Answer], done: dict[tuple[str, str, str], list[dict]]) -> str:
    """Per exercise: its answers and how many seeds they had, what lost points, and how close comparisons came."""
    lines = ["| exercise | solution | other answers | lost points | closest to its limit |", "|---|---:|---:|---|---|"]
    for exercise in dict.fromkeys(answer.exercise for answer in every):
        those = [answer for answer in every if answer.exercise == exercise]
        seeds = {answer.style: sum(line["seeds"] for line in done.get(key(answer), ())) for answer in those}
        found = [line for answer in those for line in done.get(key(answer), ())]
        lost: dict[str, int] = {}
        closest: dict[str, float] = {}
        for line in found:
            for check, at in line["failed"].items():
                lost[check] = lost.get(check, 0) + len(at)
            for check, used in line["closest"].items():
                closest[check] = max(closest.get(check, 0.0), used)
        others = [many for style, many in seeds.items() if style != SOLUTION]
        near = max(closest, key=lambda check: closest[check], default="")
        cells = [
            exercise,
            str(seeds.get(SOLUTION, 0)),
            f"{len(others)}: {sum(others)}",
            ", ".join(f"{check} {many}" for check, many in lost.items()) or "none",
            f"{near} {closest[near]:.2g}" if near else "",
        ]
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines)


if __name__ == "__main__":
    main()
