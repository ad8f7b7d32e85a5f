"""What workers of `test_cluster.py` load first: they die of whatever `evil` has handed in, and never end `silent`'s."""

import os
import signal
import time

from autograder.batch import tasks


def dask_setup(worker):
    """Called by Dask as the worker starts."""
    grade = tasks.grade

    def deadly(grader, task):
        if task.student == "evil":
            os.kill(os.getpid(), signal.SIGKILL)
        if task.student == "silent":
            time.sleep(3600)
        return grade(grader, task)

    tasks.grade = deadly
