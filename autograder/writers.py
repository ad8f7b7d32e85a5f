"""The processes that write the feedback of a class, each with a converter of its own for one student after another."""

import functools
import os
from concurrent.futures import FIRST_COMPLETED, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from multiprocessing import get_context

from .classes import UsageError
from .processes import end_with, without_interrupts

STARTS = 10  # students for whom it is worth starting one more process: most of its first seconds are imports
LONGEST = 1000  # characters of an answer: so it is in the pipe at once or not at all, whenever its writer is killed


def feedback(root, assignment, students, jobs):
    """Write the feedback of these students: yields (student, what went wrong or None) as they are done.

    Raises what would go wrong for all of them. However it ends, no process is left and no page is cut short.
    """
    jobs = min(jobs, 1 + len(students) // STARTS)
    coming, asked = iter(students), set()
    pool = ProcessPoolExecutor(jobs, get_context("spawn"), initializer=end_with, initargs=(os.getpid(),))
    try:
        while True:
            while len(asked) < 2 * jobs and (student := next(coming, None)) is not None:
                with without_interrupts():  # which start the processes: Ctrl-C is for this one
                    asked.add(pool.submit(_write, str(root), assignment, student))
            if not asked:
                return
            done, asked = wait(asked, return_when=FIRST_COMPLETED)
            for future in done:
                yield future.result()
    except BrokenProcessPool:
        raise UsageError(
            "A process that writes the feedback was ended from outside, perhaps for want of memory. "
            "Run the same command again, with fewer --jobs if it was that."
        ) from None
    finally:
        pool.shutdown(cancel_futures=True)


def _write(root, assignment, student):
    from .notebooks.nbgrader_runs import NbgraderError

    try:
        _writer(root, assignment)(student)
    except NbgraderError as problem:
        return student, str(problem)[:LONGEST]
    return student, None


@functools.lru_cache(maxsize=1)
def _writer(root, assignment):
    from .notebooks.nbgrader_runs import Course

    return Course(root).feedback(assignment)
