"""Which tests `make test` runs: of the kit all that are not marked `slow`, of the course a sample, drawn by a seed.

`pytest --sample` leaves the rest out; `pytest` alone, as in `make everything`, runs all. The seed is the commit of the
main branch that this one began from, so that all pushes of a branch see the same sample, or SAMPLE_SEED. What differs
from the main branch is in the sample as a whole: each exercise whose folder, family or reference differs, each lesson
whose notebook does.

What is drawn, and how many of it, is said beside the tests by a mark, `drawn`.
"""

from __future__ import annotations

import ast
import functools
import os
import random
import re
import subprocess
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

import pytest
from conftest import ROOT
from imports import names_imported

EXERCISES = ROOT / "autograder" / "exercises"
NAMED = 1  # mistakes of each exercise: a slip of the diagnosis that spoils one name in 20 is seen at 96 of 100 seeds
SHARE, LEAST = 20, 5  # one of so many generated examples, and at least so many
ALWAYS: dict[str, set[str]] = {}  # what failed at night: mistakes by exercise, topics by the `says` of their row
MAIN = ("origin/main", "main")
SEED = "SAMPLE_SEED"


class Pot(NamedTuple):
    """What `many` topics are drawn from; `says` is the plural of a topic, and `never` those that are not drawn."""

    many: int
    says: str
    family: str
    never: frozenset[str] = frozenset()


def draw_of(item: pytest.Item) -> tuple[Pot, str] | None:
    """What a test is drawn from, and the topic that it is about; None for one that is in each sample.

    By its mark `drawn(many, says, by=…, each=…)`: `by` names the parameter of the test that is its topic, by default
    each test is one of its own, of which `many` are drawn of each file. `each` names what they are drawn of else, a
    parameter or "test"; either may be a function of all parameters. `never` names topics that take too long: they are
    in the sample only where they have changed.
    """
    if not (mark := item.get_closest_marker("drawn")):
        return None
    given = item.callspec.params if hasattr(item, "callspec") else {}
    test = item.nodeid.partition("[")[0]
    known = {**given, "file": test.partition("::")[0], "test": test, "itself": item.nodeid, "all": ""}

    def value(way: str | Callable[..., str]) -> str:
        return str(way(**given) if callable(way) else known[way])

    by = mark.kwargs.get("by", "itself")
    each = mark.kwargs.get("each", "file" if by == "itself" else "all")
    return Pot(*mark.args, value(each), frozenset(mark.kwargs.get("never", ()))), value(by)


# marks of several files, of each of which so many tests are drawn
PARTS_OF_A_LESSON = pytest.mark.drawn(1, "tests of each lesson's exercises that use one another")
LONG_DIAGNOSES = pytest.mark.drawn(2, "tests of long diagnoses")
ONE_EDIT_OR_FACT = pytest.mark.drawn(16, "answers that one edit or fact explains")


def marks() -> dict[str, int]:
    """What is drawn, and how many of it, as the marks say beside the tests: {topics in the plural: many}."""
    found = {}
    for path in (ROOT / "tests").rglob("*.py"):
        for many, says in re.findall(r'\bmark\.drawn\(\s*(\d+), "([^"]+)"', path.read_text(encoding="utf-8")):
            found[says] = int(many)
    return found


# --- what differs from the main branch ------------------------------------------------------------


def _git(*arguments: str) -> str:
    """What git says; "" where there is none, or it does not know."""
    try:
        done = subprocess.run(["git", *arguments], cwd=ROOT, capture_output=True, text=True)
    except OSError:
        return ""
    return done.stdout.strip() if done.returncode == 0 else ""


@functools.cache
def base() -> str:
    """The commit of the main branch that this one began from; "" if git does not know."""
    return next(filter(None, (_git("merge-base", "HEAD", branch) for branch in MAIN)), "")


@functools.cache
def changed() -> frozenset[str]:
    """The exercises and the numbers of lessons that differ from the main branch."""
    listed = _git("diff", "--name-only", base()) if base() else ""
    return about({*listed.splitlines(), *_git("ls-files", "--others", "--exclude-standard").splitlines()})


def about(files: Iterable[str]) -> frozenset[str]:
    """The exercises and the numbers of lessons that these files belong to."""
    names, shared = set[str](), set[str]()
    for file in files:
        if lesson := re.match(r"source/(\d\d)_", file):
            names.add(lesson[1])
        if parts := re.match(r"autograder/exercises/(families|reference)/(\w+)", file):
            shared.add(parts[2])
        elif exercise := re.match(r"autograder/exercises/(\w+)/", file):
            names.add(exercise[1])
    depend = {name for name, needs in _needs().items() if needs & shared} if shared else set()
    return frozenset(names | depend)


@functools.cache
def _needs() -> dict[str, set[str]]:
    """For each exercise: the families and references that its files import, or that those import in turn."""
    needs = {}
    for folder in EXERCISES.glob("*/checks.py"):
        found, new = set[str](), _shared(folder.parent)
        while new:
            found |= new
            new = set().union(*map(_shared, _places(new))) - found
        needs[folder.parent.name] = found
    return needs


def _places(names: Iterable[str]) -> Iterator[Path]:
    """The files and folders of families and references."""
    for name in names:
        for folder in (EXERCISES / "families", EXERCISES / "reference"):
            yield from (place for place in (folder / name, folder / f"{name}.py") if place.exists())


@functools.cache
def _shared(place: Path) -> set[str]:
    """The families and references that a file, or those of a folder, import."""
    found = set[str]()
    for path in place.rglob("*.py") if place.is_dir() else [place]:
        for name in names_imported(ast.walk(ast.parse(path.read_text(encoding="utf-8"))), path):
            if shared := re.match(r"autograder\.exercises\.(?:families|reference)\.(\w+)", name):
                found.add(shared[1])
    return found


# --- the sample -----------------------------------------------------------------------------------


def seed() -> str:
    """What the sample is drawn by."""
    if not os.environ.get(SEED):
        os.environ[SEED] = base()[:8] or "1"  # for the workers, too
    return os.environ[SEED]


def drawn(names: Iterable[str], many: int, what: str) -> list[str]:
    """So many of these names, the same ones for the same seed."""
    known = sorted(names)
    return sorted(random.Random(f"{seed()}/{what}").sample(known, min(many, len(known))))


class Sample:
    """What of this run is a sample. With `--sample` it is; else all is run."""

    def __init__(self, is_on: bool) -> None:
        self.is_on = is_on

    def of(self, exercise: str, names: Sequence[str], many: int = NAMED) -> list[str]:
        """The names that are in the sample of an exercise: all, if there is none, or the exercise has changed."""
        if not self.is_on or exercise in changed():
            return list(names)
        return sorted({*drawn(names, many, exercise), *(ALWAYS.get(exercise, set()) & set(names))})

    def some(self, many: int) -> int:
        """How many of so many examples are tried."""
        return max(many // SHARE, LEAST) if self.is_on else many

    def chosen(self, items: Sequence[pytest.Item]) -> list[pytest.Item]:
        """The tests that are run."""
        if not self.is_on:
            return list(items)
        draws = {item: draw_of(item) for item in items if not item.get_closest_marker("slow")}
        topics = defaultdict[Pot, set[str]](set)
        for pot, topic in filter(None, draws.values()):
            topics[pot].add(topic)
        wanted = {
            pot: {
                *drawn(names - pot.never, pot.many, pot.says + pot.family),
                *(names & (changed() | ALWAYS.get(pot.says, set()))),
            }
            for pot, names in topics.items()
        }
        return [item for item, draw in draws.items() if draw is None or draw[1] in wanted[draw[0]]]


THIS = Sample(False)  # of this run


def configure(config: pytest.Config) -> None:
    """Before test files are imported: note whether this run is a sample."""
    THIS.is_on = config.getoption("sample")
    if THIS.is_on:
        seed()


def add_options(parser: pytest.Parser) -> None:
    parser.addoption("--sample", action="store_true", help="leave out slow tests, and run a sample of the course's")


def first_line() -> str:
    """What was drawn, and how to repeat it; "" if all is run."""
    if not THIS.is_on:
        return ""
    some = ", ".join(f"{many} of the {says}" for says, many in sorted(marks().items()))
    whole = ", ".join(sorted(changed())) or "nothing"
    return (
        f"A sample of the tests. All mistakes are rejected; drawn are {some}; whole, since"
        f" changed from {base()[:8] or 'an unknown commit'}: {whole}. {SEED}={seed()} repeats it; `make everything`"
        " runs all."
    )
