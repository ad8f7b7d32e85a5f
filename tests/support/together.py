"""Which tests one worker runs: xdist's own groups (3.8) are lost with pytest 9.2, which keeps node ids elsewhere.

The tests of a file share sandboxes and courses; those of an exercise its bank and its runs; those of a lesson its run.
"""

import re

from conftest import ROOT
from xdist.scheduler import LoadScopeScheduling

EXERCISES = {path.parent.name for path in (ROOT / "autograder" / "exercises").glob("*/checks.py")}
LESSON = re.compile(r"tests/lessons/test_(?:lesson_|runs.*[\[-])(\d\d)")


def group_of(nodeid: str) -> str:
    """What the tests of a group have in common: a lesson, an exercise, or their file."""
    file, _, test = nodeid.partition("::")
    if lesson := LESSON.match(nodeid):
        return f"lesson {lesson[1]}"
    if file.startswith("tests/exercises/"):
        words = re.split(r"[-/\[\]]", test)
        return next((word for word in words if word in EXERCISES), file)
    return file


class Together(LoadScopeScheduling):
    """Gives whole groups to workers, those with the most tests first."""

    def _split_scope(self, nodeid: str) -> str:
        return group_of(nodeid)
