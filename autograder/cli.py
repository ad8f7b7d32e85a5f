"""The command `autograder`: one function per command. Heavy imports are inside the functions that need them."""

import argparse
import contextlib
import errno
import os
import signal
import sys
from pathlib import Path

from .batch.commands import engine_for, grade_class, locked, progress, report_class
from .errors import DISK, UsageError, UserError

# errors of a full disk, a folder that is not writable, a machine at its limits
UNUSABLE = {errno.EACCES, errno.EPERM, errno.ENFILE, errno.EMFILE, errno.ENOMEM, *DISK}
DRIVERS = {"psycopg": "psycopg[binary]", "psycopg2": "psycopg2-binary"}  # PostgreSQL drivers: module and package
EXIT = "exit code: 0 full marks for every file, 1 less, 2 the kit itself could not work"


def main(arguments=None):
    """Run the command line; returns the exit code."""
    options = parser().parse_args(arguments)
    try:
        tell_which_course(options)
        return options.run(options)
    except KeyboardInterrupt:
        signal.signal(signal.SIGINT, signal.SIG_IGN)  # a second Ctrl-C must not disturb the exit
        print("autograder: stopped; run the same command again to go on.", file=sys.stderr)
        return 130
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1
    except Exception as error:
        said = sentence(error)
        if said is None:
            if os.environ.get("AUTOGRADER_DEBUG"):
                raise
            print("autograder: this is a mistake of the kit; AUTOGRADER_DEBUG=1 shows where.", file=sys.stderr)
            said = f"{type(error).__name__}: {error}"
        print(f"autograder: {said}", file=sys.stderr)
        return 2


def sentence(error):
    """The message for an error that the user can do something about; None for a mistake of the kit."""
    if isinstance(error, UserError):
        return str(error)
    go_on = "What is done is kept: mend that and run the same command again."
    if isinstance(error, OSError) and error.errno in UNUSABLE:
        return f"{error.strerror}{f' ({error.filename})' if error.filename else ''}. {go_on}"
    if isinstance(error, ModuleNotFoundError) and error.name in DRIVERS:
        return f"The gradebook's PostgreSQL driver is not installed: pip install '{DRIVERS[error.name]}'."
    if "SQLAlchemyError" in {k.__name__ for k in type(error).__mro__}:  # SQLAlchemy is not imported for this
        said = str(getattr(error, "orig", None) or error).split("\n")[0].rstrip(".")
        if said == "database is locked":
            return f"Another program keeps the gradebook (Formgrader, or a shell of the database). {go_on}"
        return f"The gradebook cannot be used: {said}. {go_on}"
    return None


def parser():
    """The argument parser of all commands."""
    top = argparse.ArgumentParser(
        prog="autograder",
        description="Builds, grades and reports on a course of exercises: the one in this folder or above it, else the "
        "one on attention that comes with the kit.",
        epilog="`autograder COMMAND --help` says more about each command.",
    )
    commands = top.add_subparsers(title="commands", metavar="COMMAND", required=True)

    build_ = commands.add_parser("build", help="make release/ and solutions/ from source/")
    build_.add_argument("assignments", nargs="*", metavar="NN", help="numbers or names, such as 02 (default: all)")
    build_.set_defaults(run=build)

    check_ = commands.add_parser(
        "check",
        help="grade notebooks or .py files, without a gradebook",
        description="Grades files and prints what was found. Nothing is written.",
        epilog=EXIT,
    )
    check_.add_argument("paths", nargs="+", metavar="PATH", help="a notebook or a .py file")
    check_.add_argument("--exercise", metavar="NAME", help="grade only this exercise, such as attention")
    check_.add_argument("--format", choices=("text", "json"), default="text", help="json: one line per file")
    check_.add_argument("--seed", type=int, help="draw the inputs from this seed (default: a new one)")
    _sandbox_options(check_)
    check_.set_defaults(run=check)

    grade_ = commands.add_parser(
        "grade",
        help="grade all submissions of assignments into the gradebook",
        description="Grades submitted/STUDENT/NN_name/NN_name.ipynb of every student. What has not changed since the "
        "last run is not graded again.",
    )
    grade_.add_argument("assignments", nargs="+", metavar="NN", help="numbers or names, such as 02")
    grade_.add_argument("--student", action="append", metavar="ID", help="only this student (may be repeated)")
    where = grade_.add_mutually_exclusive_group()
    where.add_argument("--jobs", type=int, default=os.cpu_count() or 1, metavar="N", help="sandboxes at work at once")
    where.add_argument("--scheduler", metavar="ADDRESS", help="grade on a Dask cluster, such as tcp://host:8786")
    grade_.add_argument("--regrade", action="store_true", help="grade everything again, with the same inputs")
    grade_.add_argument(
        "--new-inputs",
        action="store_true",
        help="grade everything again, with new inputs: scores of wrong answers may then change by luck",
    )
    grade_.add_argument("--dry-run", action="store_true", help="write nothing, and say whose points would change")
    grade_.add_argument(
        "--format",
        choices=("text", "json"),
        default="text",
        help="json: only whose points change, one line for each exercise of a student",
    )
    _sandbox_options(grade_)
    grade_.set_defaults(run=grade)

    report_ = commands.add_parser("report", help="write the feedback and the class report of an assignment")
    report_.add_argument("assignment", metavar="NN", help="number or name, such as 02")
    report_.add_argument(
        "--jobs", type=int, default=os.cpu_count() or 1, metavar="N", help="pages in the making at once"
    )
    report_.set_defaults(run=report)

    demo_ = commands.add_parser(
        "demo",
        help="run a whole course on a small made-up class",
        description="Copies the course into a folder of its own, makes a class, grades it and writes its feedback.",
    )
    demo_.add_argument("assignments", nargs="*", metavar="NN", help="numbers or names, such as 02 (default: all)")
    demo_.add_argument("--folder", default="demo_course", help="where to (default: demo_course; replaced if it exists)")
    demo_.add_argument("--jobs", type=int, default=2, metavar="N", help="sandboxes at work at once (default: 2)")
    _sandbox_options(demo_)
    demo_.set_defaults(run=demo)

    new_ = commands.add_parser("new", help="start a course or an exercise of your own")
    kinds = new_.add_subparsers(title="what to start", metavar="WHAT", required=True)
    course_ = kinds.add_parser(
        "course",
        help="make a folder that is a small course",
        description="Makes a course of one small exercise and one question, which builds and grades at once.",
    )
    course_.add_argument("folder", metavar="DIR", help="a folder that is empty or not there yet")
    course_.set_defaults(run=new_course)
    exercise_ = kinds.add_parser(
        "exercise",
        help="add the skeleton of an exercise to the course",
        description="Adds cells to a source notebook, and a folder with checks, mistakes and a right answer. All of "
        "it builds; `autograder doctor` says what is missing.",
    )
    exercise_.add_argument("name", metavar="NAME", help="what students define, such as moving_average")
    exercise_.add_argument("--assignment", metavar="NN", help="number or name (default: the last assignment)")
    exercise_.set_defaults(run=new_exercise)

    doctor_ = commands.add_parser(
        "doctor",
        help="say what is missing or wrong in the course and on this machine",
        description="Looks through the course (hints, right answers, mistakes, points, what the release gives away) "
        "and this machine (what a sandbox needs, versions of packages). Nothing is changed.",
        epilog="exit code: 0 if there is nothing to mend, 1 if there is, 2 the kit itself could not work",
    )
    doctor_.add_argument("assignments", nargs="*", metavar="NN", help="numbers or names, such as 02 (default: all)")
    doctor_.set_defaults(run=doctor)

    name_check_ = commands.add_parser(
        "name-check",
        help="say how well the named mistakes fit, on a folder of wrong answers",
        description="Grades FOLDER/EXERCISE/NAME.py, each of which says in a comment `# expect: id, id` which mistakes"
        " it makes, and prints what it was named and how often that is right. `?` stands for a mistake that has no"
        " name. Nothing is written.",
        epilog="exit code: 0, or 2 if the folder cannot be used or the kit could not work",
    )
    name_check_.add_argument("folder", metavar="FOLDER", help="such as tests/strangers, whose README.md says more")
    name_check_.add_argument("--exercise", metavar="NAME", help="only the answers to this exercise, such as attention")
    name_check_.add_argument("--format", choices=("text", "json"), default="text", help="json: one line per answer")
    name_check_.add_argument("--seed", type=int, help="draw the inputs from this seed (default: a new one)")
    _sandbox_options(name_check_)
    name_check_.set_defaults(run=name_check)
    return top


def _sandbox_options(command):
    command.add_argument(
        "--device",
        choices=("auto", "cpu", "cuda"),
        default="auto",
        help="cuda: check on the GPU as well; no points depend on it (default: auto, where there is one)",
    )
    command.add_argument(
        "--unsafe",
        action="store_true",
        help="run student code without bubblewrap: it can then do whatever you can",
    )


# --- the commands ---------------------------------------------------------------------------------


def build(options):
    """Make release/ and solutions/ from source/, through nbgrader."""
    from . import course
    from .nbgrader.building import build
    from .nbgrader.runs import NbgraderCourse

    wanted = [course.find_assignment(name) for name in options.assignments] or list(course.assignments().values())
    root = course.root()
    runs = NbgraderCourse(root)
    runs.gradebook().close()  # raises now if it cannot be used
    with contextlib.ExitStack() as locks:
        for assignment in wanted:
            locks.enter_context(locked(root, assignment.name))
        names = [assignment.name for assignment in wanted]
        for done in (bar := progress("building", build(root, names, runs), len(wanted))):
            if isinstance(done, str):
                bar.write(done, file=sys.stdout)
    for name in names:
        print(f"release/{name} and solutions/{name} are up to date")
    return 0


def check(options):
    """Grade files and print what was found."""
    from . import course

    if options.exercise:
        course.find_exercise(options.exercise)
    refuse_without_sandbox(options)
    from .grading import start
    from .report import outcome_text

    full = True
    with start.started_grader(device(options), options.unsafe) as grader:
        from .grading.grader import new_seed

        seed = new_seed() if options.seed is None else options.seed
        for path in (bar := progress("checking", options.paths)):
            verdict = grader.grade_file(path, options.exercise, seed).verdict
            full = full and verdict.full
            text = verdict.to_json() if options.format == "json" else outcome_text.verdict_as_text(verdict)
            bar.write(text, file=sys.stdout)
            sys.stdout.flush()
            for outcome in verdict.exercises:
                if outcome.unjudged:
                    bar.write(f"autograder: a mistake of the checks: {outcome.unjudged}", file=sys.stderr)
    return 0 if full else 1


def grade(options):
    """Grade all submissions of the assignments into the gradebook."""
    from . import course
    from .batch import run

    root = course.root()
    if options.unsafe or not options.scheduler:  # with a cluster, its workers need the sandbox
        refuse_without_sandbox(options)
    require_jobs(options)
    classes = []
    for assignment in dict.fromkeys(course.find_assignment(name) for name in options.assignments):
        handed_in = run.students(root, assignment.name)
        who = options.student or handed_in
        strangers = sorted(set(who) - set(handed_in))
        if strangers:
            raise UsageError(f"Nothing was handed in for {assignment.name} by {', '.join(strangers)}.")
        if not who:
            raise UsageError(f"Nothing was handed in: there is no submitted/STUDENT/{assignment.name}.")
        classes.append((assignment, who))
    with engine_for(options.scheduler, options.jobs, device(options), options.unsafe) as engine:
        settings = engine, device(options), options.unsafe, options.regrade, options.new_inputs
        how = {"is_draft": options.dry_run, "as_json": options.format == "json"}
        return max(grade_class(root, assignment, who, *settings, **how) for assignment, who in classes)


def report(options):
    """Write the feedback of every student and the class report."""
    from . import course

    root, assignment = course.root(), course.find_assignment(options.assignment)
    require_jobs(options)
    with locked(root, assignment.name):
        return report_class(root, assignment, options.jobs)


def demo(options):
    """Run a whole course on a made-up class."""
    refuse_without_sandbox(options)
    from .demo import run as demos

    return demos.run(options.folder, options.jobs, device(options), options.unsafe, options.assignments)


def new_course(options):
    """Make a folder that is a small course."""
    from . import new

    print(new.course(options.folder))
    return 0


def new_exercise(options):
    """Add the skeleton of an exercise to the course."""
    from . import new

    print(new.exercise(options.name, options.assignment))
    return 0


def doctor(options):
    """Say what is missing or wrong in the course and on this machine."""
    from . import course, doctor

    assignments = None
    if course.here():
        assignments = [course.find_assignment(name) for name in options.assignments] or [*course.assignments().values()]
    elif options.assignments:
        raise UsageError("There is no course here, whose assignments could be looked at.")
    return doctor.run(assignments)


def name_check(options):
    """Grade wrong answers and print whether they get the names that they should get."""
    import json

    from . import course

    if options.exercise:
        course.find_exercise(options.exercise)
    refuse_without_sandbox(options)
    from .grading import start

    with start.started_grader(device(options), options.unsafe) as grader:
        from .grading.grader import new_seed
        from .mistakes import name_check as names

        answers = names.answers_in(Path(options.folder), options.exercise)
        seed = new_seed() if options.seed is None else options.seed
        judged = []
        for answer in (bar := progress("checking", answers)):
            wanted = course.exercises()[answer.exercise]
            cells = names.cells_for(answer.exercise, answer.text)
            verdict = grader.grade_cells(cells, [wanted], seed, answer.name).verdict
            judged.append(names.Judgement(answer, verdict.exercises[0]))
            text = judged[-1].text() if options.format == "text" else json.dumps(judged[-1].to_dict())
            bar.write(text, file=sys.stdout)
            sys.stdout.flush()
    if options.format == "text":
        print(f"\n{names.table(judged)}")
    return 0


# --- what they share ------------------------------------------------------------------------------


def tell_which_course(options):
    """Say on stderr if a command works on the kit's own course, because there is no other.

    Raises UsageError for a command that would write into a course that was installed along with the kit.
    """
    from . import course

    if options.run not in (build, check, grade, report, demo, name_check) or course.here() or not course.kits_own():
        return
    if options.run in (build, grade, report) and course.kits_own() == course.PACKED:
        raise UsageError(
            "There is no course here: no folder with nbgrader_config.py and source/ at or above this one. `autograder"
            " new course DIR` makes one, and `autograder demo` a copy of the kit's own."
        )
    print(f"autograder: there is no course here; this is the kit's own, {course.kits_own()}", file=sys.stderr)


def require_jobs(options):
    """Raises UsageError unless --jobs is a number of processes."""
    if options.jobs < 1:
        raise UsageError("--jobs takes a number from 1 up.")


def refuse_without_sandbox(options):
    """Raises UsageError with one sentence if student code cannot be sandboxed here; warns with --unsafe."""
    if options.unsafe:
        print("autograder: --unsafe: student code runs without bubblewrap.", file=sys.stderr)
        return
    from .sandbox import jail

    if problem := jail.refusal():
        raise UsageError(problem)


def device(options):
    """The device, cpu or cuda, that --device asks for."""
    if options.device != "auto":
        return options.device
    return "cuda" if os.path.exists("/dev/nvidiactl") else "cpu"


if __name__ == "__main__":
    sys.exit(main())
