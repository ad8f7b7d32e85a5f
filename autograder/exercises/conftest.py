"""Runs the checks by themselves in plain pytest: on the solutions, or on a file given by `--submission PATH`.

When a submission is graded, `checks/runner.py` gives the checks the same fixtures.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from ..checks import runner
from ..checks.api import Draw
from ..checks.proxies import Submission

if TYPE_CHECKING:
    from ..grading.workspace import Workspace


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("graders")
    group.addoption("--submission", metavar="PATH", help="a notebook or .py file to grade (default: the solutions)")
    group.addoption("--seed", type=int, default=0, help="the seed that inputs are drawn from (default: 0)")
    group.addoption("--unsafe", action="store_true", help="run without bubblewrap")


@pytest.fixture
def submission(request: pytest.FixtureRequest) -> Iterator[Submission]:
    """The submission under test, as proxies."""
    submission = Submission(request.getfixturevalue("standalone")(runner.exercise_of(request.node)))
    yield submission
    submission.settle()


@pytest.fixture
def draw(request: pytest.FixtureRequest) -> Draw:
    """Random inputs, drawn from the run's seed and the check's name."""
    return Draw(request.config.option.seed, f"{runner.exercise_of(request.node)}/{request.node.name}")


@pytest.fixture(scope="session")
def standalone(request: pytest.FixtureRequest) -> Iterator[Callable[[str], Workspace]]:
    """A function from an exercise to the Workspace of its file: that of `--submission`, or the solution."""
    from .. import course
    from ..grading.grader import read_cells
    from ..grading.workspace import Workspace
    from ..sandbox.parent import WarmParent
    from ..verdict import FULL, UNSAFE

    opened: dict[Path, Workspace] = {}  # one at most
    with WarmParent(level=UNSAFE if request.config.option.unsafe else FULL) as parent:

        def close() -> None:
            for workspace in opened.values():
                workspace.close()
            opened.clear()

        def transport(exercise: str) -> Workspace:
            given = request.config.option.submission
            assignment = course.exercises()[exercise].assignment
            path = Path(given) if given else course.root() / "solutions" / assignment / f"{assignment}.ipynb"
            if path not in opened:
                close()
                opened[path] = Workspace(parent, read_cells(path))
            workspace = opened[path]
            if workspace.kinds([exercise])[exercise] == "missing":
                pytest.skip(f"{path.name} does not define {exercise}")
            return workspace

        yield transport
        close()
