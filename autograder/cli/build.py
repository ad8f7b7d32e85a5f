"""`autograder build`: makes release/ and solutions/ from source/."""

import contextlib
import sys
from argparse import Namespace

from ..batch.commands import locked, progress
from . import shared


def add(commands: shared.Commands) -> None:
    """Add the command to the parser's."""
    command = commands.add_parser("build", help="make release/ and solutions/ from source/")
    command.add_argument("assignments", nargs="*", metavar="NN", help="numbers or names, such as 02 (default: all)")
    command.add_argument(
        "--bundle",
        action="store_true",
        help="also write exports/release.zip, or exports/NAME.zip for each NN: what was built, and nothing else",
    )
    command.set_defaults(run=run, course=shared.WRITTEN)


def run(options: Namespace) -> int:
    """Make release/ and solutions/ from source/, through nbgrader."""
    from .. import course
    from ..nbgrader import desk_cell
    from ..nbgrader.building import build
    from ..nbgrader.runs import NbgraderCourse

    wanted = [course.find_assignment(name) for name in options.assignments]
    if not wanted:
        wanted, left_out = course.complete()
        for problem in left_out:
            print(f"autograder: left out: {problem}", file=sys.stderr)
    root = course.root()
    runs = NbgraderCourse(root)
    runs.gradebook().close()  # raises now if it cannot be used
    made = {}  # the files that students may get
    known = {one.name for one in wanted if (root / "release" / one.name).is_dir()}
    with contextlib.ExitStack() as locks:
        for assignment in wanted:
            locks.enter_context(locked(root, assignment.name))
        names = [assignment.name for assignment in wanted]
        for done in (bar := progress("building", build(root, names, runs, made), len(wanted))):
            if isinstance(done, str):
                bar.write(done, file=sys.stdout)
    for name in names:
        print(f"release/{name} and solutions/{name} are {'up to date' if name in known else 'made'}")
    from ..lms import bundle

    for path in bundle.strays(root, made):
        left_out = " and is left out" if options.bundle else ": don't publish it unseen"
        print(f"autograder: {path!a} was not made by this build{left_out}.", file=sys.stderr)
    if options.bundle:
        address = desk_cell.configured(runs.config)
        for path in bundle.write(root, made, names if options.assignments else None, address):
            print(f"{path.relative_to(root)} may be published: it holds what was built, and nothing else")
    return 0
