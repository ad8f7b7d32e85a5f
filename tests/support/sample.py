"""Which tests `make test` runs: of the kit all that are not marked `slow`, of the course a sample, drawn by a seed.

`pytest --sample` leaves the rest out; `pytest` alone, as in `make everything`, runs all. The seed is the commit of the
main branch that this one began from, so that all pushes of a branch see the same sample, or SAMPLE_SEED. What differs
from the main branch is in the sample as a whole: each exercise whose folder, family or reference differs, each lesson
whose notebook does.

What is drawn, and how many of it, is in ROWS, and the mistakes that are named (tests/exercises/test_mistakes.py).
"""

from __future__ import annotations

import ast
import functools
import os
import random
import re
import subprocess
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest
from conftest import ROOT
from imports import names_imported

EXERCISES = ROOT / "autograder" / "exercises"
NAMED = 1  # mistakes of each exercise: a slip of the diagnosis that spoils one name in 20 is seen at 96 of 100 seeds
SHARE, LEAST = 20, 5  # one of so many generated examples, and at least so many
ALWAYS: dict[str, set[str]] = {}  # what failed at night: mistakes by exercise, topics by the `says` of their row
MAIN = ("origin/main", "main")
SEED = "SAMPLE_SEED"


@dataclass(frozen=True)
class Row:
    """Tests of which `many` topics are drawn, of each family; `says` is the plural of what a topic is."""

    # of node ids, behind which an attack's assignment is written; its groups `family` and `topic`, else the whole id
    pattern: str
    many: int
    says: str

    def about(self, test: str) -> tuple[str, str] | None:
        """(family, topic) of a test, None if it is none of these."""
        if not (found := re.search(self.pattern, test)):
            return None
        groups = found.groupdict()
        return groups.get("family") or "", groups.get("topic") or test


EXERCISE = r"\[(?:\d+-)?(?P<topic>[A-Za-z]\w*)\]"
ROWS = (
    Row(r"tests/lessons/(?:test_lesson_|test_runs\.py.*[\[-])(?P<topic>\d\d)", 1, "lessons that are run"),
    Row(r"tests/test_demo_classes\.py.*\[(?P<topic>\d\d)", 1, "classes of the demo"),
    Row(r"test_hostile\.py::(?!.*\[forging/)\w+\[(?P<family>\w+)/", 1, "attacks of each family but forging"),
    Row(r"test_hostile\.py::\w+\[forging/.* (09|10|12)_", 1, "forgings in the lessons that take longest"),
    Row(r"test_replay\.py.*\[(?P<topic>\d\d)_", 1, "classes graded with and without what is fetched ahead"),
    Row(
        r"tests/exercises/test_(?P<family>bigram|co_att|cross|language|many_heads|modern|my_model)\w+\.py",
        6,
        "tests of each lesson's exercises that use one another",
    ),
    Row(r"test_nothing_for_nothing\.py.*(?P<topic>check_\w+)\]", 1, "exercises that ask for a test"),
    Row(
        r"test_bounded\.py::(?P<family>\w+_runs_away)\[", 1, "ways to run away, at each place where something is tried"
    ),
    Row(r"test_styles\.py.*\[", 40, "right answers in the sandbox"),
    Row(r"test_no_attention\.py::test_other_weights\w+\[", 120, "exercises with other weights"),
    Row(r"test_in_place\.py.*\[", 12, "later cells"),
    Row(
        r"tests/mistakes/test_(?P<family>own_softmax|behaviour_cache|fault_location)\.py", 6, "tests of long diagnoses"
    ),
    Row(r"tests/mistakes/test_(?P<family>facts|repair)\.py", 30, "answers that one edit or fact explains"),
    Row(rf"test_mistakes\.py::test_mistakes_are_named{EXERCISE}", 44, "exercises of which a mistake is named"),
    Row(r"test_plain_pytest\.py::(?P<family>\w+)\[", 2, "forms of a command that starts pytest"),
    Row(r"tests/mistakes/test_diagnosis\.py::(?P<family>test_of_two)\w+\[", 1, "exercises with two mistakes at once"),
    Row(r"test_walls_scripts\.py.*\[", 3, "attacks on the desk"),
    Row(
        r"test_release\.py::test_(it_is_up|the_released_ch|the_solutions_g)\w+\[(\w+-)?(?P<topic>\d\d)_",
        2,
        "lessons that are built, and graded as released and solved",
    ),
    Row(rf"test_nothing_told\.py.*{EXERCISE}", 12, "exercises whose messages are searched"),
    Row(rf"test_visible_checks\.py::test_right_answers_p\w+{EXERCISE}", 16, "exercises whose visible check passes"),
    Row(rf"test_visible_checks\.py::test_costly\w+{EXERCISE}", 6, "exercises whose costly mistakes are seen"),
    Row(rf"test_odd_answers\.py::test_no_check_e\w+{EXERCISE}", 16, "exercises that get odd answers"),
    Row(rf"test_exercises\.py::test_a_gpu_adds\w*{EXERCISE}", 3, "exercises on a pretended GPU"),
)


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
        items = [item for item in items if not item.get_closest_marker("slow")]
        topics = defaultdict[tuple[Row, str], set[str]](set)
        where = {item: _row_of(item) for item in items}
        for row, family, topic in filter(None, where.values()):
            topics[row, family].add(topic)
        wanted = {
            (row, family): {*drawn(names, row.many, family), *(names & (changed() | ALWAYS.get(row.says, set())))}
            for (row, family), names in topics.items()
        }
        return [item for item, at in where.items() if at is None or at[2] in wanted[at[:2]]]


def _row_of(item: pytest.Item) -> tuple[Row, str, str] | None:
    """(row, family, topic) of a test of the course; None for one that is in each sample."""
    given = item.callspec.params.values() if hasattr(item, "callspec") else ()
    test = " ".join([item.nodeid, *(one.assignment for one in given if hasattr(one, "assignment"))])
    return next(((row, *found) for row in ROWS if (found := row.about(test))), None)


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
    rows = ", ".join(f"{row.many} of the {row.says}" for row in ROWS)
    whole = ", ".join(sorted(changed())) or "nothing"
    return (
        f"A sample of the tests. All mistakes are rejected; drawn are {rows}; whole, since"
        f" changed from {base()[:8] or 'an unknown commit'}: {whole}. {SEED}={seed()} repeats it; `make everything`"
        " runs all."
    )
