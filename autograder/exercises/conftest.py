"""How the graders run by themselves, in plain pytest: on the solutions, or with `--submission PATH`.

When a submission is graded, `checks/runner.py` gives the checks the same fixtures.
"""

from pathlib import Path

import pytest

from ..checks import runner
from ..checks.api import Draw
from ..checks.proxies import Submission


def pytest_addoption(parser):
    group = parser.getgroup("graders")
    group.addoption("--submission", metavar="PATH", help="a notebook or .py file to grade (default: the solutions)")
    group.addoption("--seed", type=int, default=0, help="the seed that inputs are drawn from (default: 0)")
    group.addoption("--unsafe", action="store_true", help="run without bubblewrap")


@pytest.fixture
def submission(request):
    """The submission under test, as proxies."""
    submission = Submission(request.getfixturevalue("standalone")(runner.exercise_of(request.node)))
    yield submission
    submission.settle()


@pytest.fixture
def draw(request):
    """Random inputs, drawn from the run's seed and the check's name."""
    return Draw(request.config.getoption("--seed"), f"{runner.exercise_of(request.node)}/{request.node.name}")


@pytest.fixture(scope="session")
def standalone(request):
    """For a run by hand: maps an exercise to the sandboxed file that `--submission` or the solutions hold."""
    from .. import course
    from ..grading.grader import Workspace, read_cells
    from ..sandbox.parent import WarmParent

    opened = {}
    with WarmParent(unsafe=request.config.getoption("--unsafe")) as parent:

        def transport(exercise):
            given = request.config.getoption("--submission")
            assignment = course.exercises()[exercise].assignment
            path = Path(given) if given else course.root() / "solutions" / assignment / f"{assignment}.ipynb"
            if opened.get("path") != path:
                if "workspace" in opened:
                    opened["workspace"].close()
                opened.update(path=path, workspace=Workspace(parent, read_cells(path)))
            workspace = opened["workspace"]
            if workspace.kinds([exercise])[exercise] == "missing":
                pytest.skip(f"{path.name} does not define {exercise}")
            return workspace

        yield transport
        if "workspace" in opened:
            opened["workspace"].close()
