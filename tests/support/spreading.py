"""How the suite is spread over workers: together what shares something costly, and first what takes longest.

The tests of a file share sandboxes and courses. Those of `tests/exercises` that are about one exercise share its bank
and its runs, and there are thousands of them: each exercise goes to whichever worker is free. What `test_runs` asks
of a lesson goes with that lesson's own tests, so that each lesson is run once.
"""

import re

from unchanged import exercise_of
from xdist.scheduler import LoadScopeScheduling

# the files with the most CPU seconds, as `make costs` shows them, and those that have long to wait: they begin first
DEAREST = (
    "tests/sandbox/test_hostile.py",  # 200
    "tests/lessons/test_lesson_07.py",
    "tests/nbgrader/test_nbgrader.py",
    "tests/batch/test_kills.py",  # 100
    "tests/batch/test_cluster.py",  # 100
    "tests/lessons/test_lesson_08.py",
    "tests/test_check.py",  # 70
    "tests/exercises/test_release.py",
    "tests/test_types.py",
    "tests/nbgrader/test_postgres.py",
    "tests/nbgrader/test_silence.py",
    "tests/sandbox/test_installed.py",
    "tests/grading/test_fuzz.py",
    "tests/test_demo.py",  # 50
)


def scope_of(nodeid):
    """The tests of a scope run one after another on one worker: those of an exercise, of a lesson, else of a file."""
    file, _, test = nodeid.partition("::")
    if file.startswith("tests/exercises/"):
        about = exercise_of(test)
        return f"tests/exercises: {about}" if about else file
    if file == "tests/lessons/test_runs.py" and (lesson := re.search(r"[\[-](\d\d)_", test)):
        return f"tests/lessons/test_lesson_{lesson[1]}.py"
    return file


def order_of(nodeid):
    """The dearest files come first, and the exercises last: they are small, and leave no worker idle at the end."""
    scope = scope_of(nodeid)
    if scope in DEAREST:
        return DEAREST.index(scope), scope
    return len(DEAREST) + (": " in scope), scope


class ByScope(LoadScopeScheduling):
    def __init__(self, config, log=None):
        super().__init__(config, log)
        config.option.loadscopereorder = False  # the order is that of the collection

    def _split_scope(self, nodeid):
        return scope_of(nodeid)
