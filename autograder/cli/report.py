"""`autograder report`: writes the feedback and the class report."""

from __future__ import annotations

import os
from argparse import ArgumentTypeError, Namespace
from pathlib import Path
from typing import TYPE_CHECKING

from ..batch.commands import locked, report_class
from ..errors import UsageError
from . import shared

if TYPE_CHECKING:
    from ..course import Assignment


def add(commands: shared.Commands) -> None:
    """Add the command to the parser's."""
    command = commands.add_parser(
        "report",
        help="write the feedback and the class report of assignments",
        description="Writes everybody's feedback, the class report, and a page of the answers that are graded by hand.",
    )
    command.add_argument(
        "assignments", nargs="*", metavar="NN", help="numbers or names, such as 02 (default: all that are graded)"
    )
    command.add_argument(
        "--by-hand", action="store_true", help="only the page with question, marking scheme and answers"
    )
    command.add_argument(
        "--last",
        metavar="LAST",
        type=Path,
        help="only the page that compares the class with last year's course",
    )
    command.add_argument(
        "--formgrader",
        metavar="ADDRESS",
        type=_address,
        help="Jupyter's address, for links to each answer (default: that of a server running in the course's folder)",
    )
    command.add_argument(
        "--jobs", type=int, default=os.cpu_count() or 1, metavar="N", help="pages that are made at once"
    )
    command.set_defaults(run=run, course=shared.WRITTEN)


def run(options: Namespace) -> int:
    """Write the feedback of every student and the class reports."""
    from .. import course
    from ..grading.store import Store

    root = course.root()
    shared.require_jobs(options)
    wanted = dict.fromkeys(course.find_assignment(name) for name in options.assignments)
    if not wanted:
        wanted = [a for a in course.assignments().values() if Store(root).students(a.name)]
    if not wanted:
        raise UsageError("Nothing is graded yet: run `autograder grade` first.")
    if options.last:
        return _compare(root, options.last, list(wanted), all_of_them=not options.assignments)
    codes = []
    for assignment in wanted:
        with locked(root, assignment.name):
            codes.append(report_class(root, assignment, options.jobs, options.by_hand, options.formgrader or ""))
    return max(codes)


def _compare(root: Path, last: Path, wanted: list[Assignment], all_of_them: bool) -> int:
    """Write the pages of two years. If they are wanted of `all_of_them`, those are left out that one year alone has."""
    from ..report import years

    written = 0
    for number, assignment in enumerate(wanted, 1):
        try:
            print(f"{os.path.relpath(years.write(root, last, assignment), root)} is written")
            written += 1
        except years.NothingGraded as problem:
            if not all_of_them or number == len(wanted) and not written:
                raise
            print(problem)
    return 0


def _address(text: str) -> str:
    """The address of a Jupyter server, ending in a slash. Raises ArgumentTypeError."""
    if not text.startswith(("http://", "https://")):
        raise ArgumentTypeError("an address begins with http:// or https://")
    return text.split("?")[0].rstrip("/") + "/"
