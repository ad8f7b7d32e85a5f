"""The command `autograder`: one function per command. Heavy imports are inside the functions that need them."""

import argparse
import contextlib
import errno
import os
import resource
import signal
import sys
from pathlib import Path

from .batch.commands import engine_for, grade_class, locked, progress, report_class
from .errors import DISK, UsageError, UserError
from .lms.systems import FORMATS, SYSTEMS
from .verdict import FULL, LEVELS, PROCESS, UNSAFE

# errors of a full disk, a folder that is not writable, a machine at its limits
UNUSABLE = {errno.EACCES, errno.EPERM, errno.ENFILE, errno.EMFILE, errno.ENOMEM, *DISK}
DRIVERS = {"psycopg": "psycopg[binary]", "psycopg2": "psycopg2-binary"}  # PostgreSQL drivers: module and package
# imported by desk/
DESK_NEEDS = "starlette uvicorn python_multipart itsdangerous anyio h11 jupyterhub pylti1p3".split()
DISTRIBUTION = "attention-course"  # the kit's name in pyproject.toml
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
    go_on = f"What is done is kept: {_file_limit() or 'fix that'} and run the same command again."
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


def _file_limit() -> str:
    """What to do about a limit on the size of files, which may be behind an error that does not say so; or ""."""
    limit, most = resource.getrlimit(resource.RLIMIT_FSIZE)
    if limit == resource.RLIM_INFINITY:
        return ""
    letter = "-Hf" if limit == most else "-f"
    return f"files may have at most {limit // 1024:,} kB here (`ulimit {letter}`): raise that"


def parser():
    """The argument parser of all commands."""
    top = argparse.ArgumentParser(
        prog="autograder",
        description="Builds, grades and reports on a course of exercises: the one in this folder or above it, else the "
        "one on attention that comes with the kit.",
        epilog="`autograder COMMAND --help` says more about each command.",
    )
    top.add_argument("--version", action=_Version, nargs=0, help="print the kit's version")
    commands = top.add_subparsers(title="commands", metavar="COMMAND", required=True)

    build_ = commands.add_parser("build", help="make release/ and solutions/ from source/")
    build_.add_argument("assignments", nargs="*", metavar="NN", help="numbers or names, such as 02 (default: all)")
    build_.add_argument(
        "--bundle",
        action="store_true",
        help="also write exports/release.zip, or exports/NAME.zip for each NN: what was built, and nothing else",
    )
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

    watch_ = commands.add_parser(
        "watch",
        help="grade a notebook or .py file whenever it is saved, and show what to do next",
        description="Shows how far you are, the exercise to do next, what is wrong with it, and a hint. Keys: h shows "
        "the next hint, q quits. While it runs, `autograder check` uses its sandbox and takes a moment only.",
        epilog=EXIT,
    )
    watch_.add_argument("path", metavar="PATH", help="a notebook or a .py file")
    watch_.add_argument("--exercise", metavar="NAME", help="grade only this exercise, such as attention")
    watch_.add_argument("--seed", type=int, help="draw the inputs from this seed (default: a new one)")
    _sandbox_options(watch_)
    watch_.set_defaults(run=watch)

    grade_ = commands.add_parser(
        "grade",
        help="grade all submissions of assignments into the gradebook",
        description="Grades submitted/STUDENT/NN_name/NN_name.ipynb of every student. What has not changed since the "
        "last run is not graded again.",
    )
    grade_.add_argument("assignments", nargs="+", metavar="NN", help="numbers or names, such as 02")
    grade_.add_argument("--student", action="append", metavar="ID", help="only this student (may be repeated)")
    _engine_options(grade_)
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

    report_ = commands.add_parser(
        "report",
        help="write the feedback and the class report of assignments",
        description="Writes everybody's feedback, the class report, and a page of the answers that are graded by hand.",
    )
    report_.add_argument(
        "assignments", nargs="*", metavar="NN", help="numbers or names, such as 02 (default: all that are graded)"
    )
    report_.add_argument(
        "--by-hand", action="store_true", help="only the page with question, marking scheme and answers"
    )
    report_.add_argument(
        "--formgrader",
        metavar="ADDRESS",
        type=_address,
        help="Jupyter's address, for links to each answer (default: that of a server running in the course's folder)",
    )
    report_.add_argument(
        "--jobs", type=int, default=os.cpu_count() or 1, metavar="N", help="pages in the making at once"
    )
    report_.set_defaults(run=report)

    collect_ = commands.add_parser(
        "collect",
        help="take hand-ins from a download of Moodle's, Canvas's or Gradescope's, from mail, or from the desk",
        description="Takes each student's notebook of an assignment into submitted/, and says what it could not take. "
        "docs/lms.md shows each system's steps.",
        epilog="exit code: 0 if all was taken, 1 if something was left out, 2 the kit itself could not work",
    )
    collect_.add_argument("assignment", metavar="NN", help="number or name, such as 02")
    paths_ = collect_.add_argument(
        "paths", nargs="+", type=Path, metavar="PATH", help="a zip or a folder; also Moodle's grading worksheet (.csv)"
    )
    collect_.add_argument(
        "--desk", action=_InPlaceOf, other=paths_, help="no PATH: of the attempts made at the desk, those that count"
    )
    collect_.add_argument("--database", metavar="URL", help="with --desk: its records (default: as `desk` has it)")
    collect_.add_argument("--from", dest="system", choices=SYSTEMS, help="(default: by their names)")
    collect_.add_argument(
        "--pattern", metavar="REGEX", help="for the names of folders or files, with a group such as (?P<student_id>...)"
    )
    collect_.add_argument("--timezone", metavar="ZONE", help="of the worksheet's times (default: this machine's)")
    collect_.add_argument(
        "--forget",
        action="append",
        default=[],
        metavar="ID",
        help="this student's address, id or number has changed: forget what was noted of it",
    )
    collect_.set_defaults(run=collect)

    roster_ = commands.add_parser(
        "roster",
        help="take in who is in the class, or list them",
        description="Takes students from tables into the gradebook: columns id, first_name, last_name, email, "
        "lms_user_id, dropped, or an export of Moodle's, Canvas's or Gradescope's. Without a table, it lists them.",
    )
    roster_.add_argument("files", nargs="*", type=Path, metavar="FILE", help="a table (.csv)")
    roster_.add_argument(
        "--drop", action="append", default=[], metavar="ID", help="has left: keeps grades, is left out"
    )
    roster_.add_argument("--take-back", action="append", default=[], metavar="ID", help="was dropped, and is back")
    roster_.set_defaults(run=roster)

    export_ = commands.add_parser(
        "export",
        help="write grades and feedback as Moodle, Canvas and others take them in",
        description="Writes exports/NN_name/: tables of grades, zips of feedback, results.json.",
    )
    export_.add_argument("assignment", metavar="NN", help="number or name, such as 02")
    export_.add_argument("formats", nargs="+", choices=FORMATS)
    export_.add_argument("--fill", type=Path, metavar="FILE", help="the table that the system gave, to be filled in")
    export_.add_argument("--column", metavar="NAME", help="the table's column for the grades")
    export_.add_argument("--scale", action="store_true", help="convert to the highest grade that the table has")
    export_.add_argument("--zeros", action="store_true", help="0 for those who have handed in nothing")
    export_.set_defaults(run=export)
    name_ = commands.add_parser(
        "name",
        help="say what is wrong with a group of equal answers that has no name yet",
        description="Tells a sentence of yours, in the feedback, to everybody whose answer is equal to those of a group"
        " in the class report, now and later. It stands in names.json, with the code of one of the answers. Without"
        " GROUP, all groups are listed.",
    )
    name_.add_argument("group", nargs="?", metavar="GROUP", help="such as attention-3f9a2c, from the class report")
    name_.add_argument("sentence", nargs="?", metavar="SENTENCE", help="what is wrong, and what to do")
    name_.add_argument("--remove", action="store_true", help="take the sentence back")
    name_.add_argument(
        "--price", type=float, metavar="POINTS", help="what such an answer loses, where scores are by prices"
    )
    _sandbox_options(name_)
    name_.set_defaults(run=name)

    demo_ = commands.add_parser(
        "demo",
        help="run a whole course on a small made-up class",
        description="Copies the course into a folder of its own, makes a class, grades it and writes its feedback.",
    )
    demo_.add_argument("assignments", nargs="*", metavar="NN", help="numbers or names, such as 02 (default: all)")
    demo_.add_argument("--folder", default="demo_course", help="where to (default: demo_course; replaced if it exists)")
    demo_.add_argument("--jobs", type=int, default=2, metavar="N", help="sandboxes at work at once (default: 2)")
    demo_.add_argument("--verbose", action="store_true", help="print every student's scores, too")
    _sandbox_options(demo_)
    demo_.set_defaults(run=demo)

    desk_ = commands.add_parser(
        "desk",
        help="take hand-ins in the browser and from notebooks, and answer at once",
        description="Opens a web service that takes hand-ins, grades them at once, answers with each student's page, "
        "and records every attempt. docs/desk.md has its settings, and how students come in.",
    )
    desk_.add_argument("--host", metavar="ADDRESS", help="to listen on (default: 127.0.0.1)")
    desk_.add_argument("--port", type=int, metavar="N", help="to listen on (default: 8090)")
    desk_.add_argument(
        "--database", metavar="URL", help="where the attempts are kept (default: desk.db beside the gradebook)"
    )
    _engine_options(desk_)
    who = desk_.add_mutually_exclusive_group()
    who.add_argument("--me", action="store_true", help="for yourself on this machine: no login, nothing is withheld")
    who.add_argument("--demo", action="store_true", help="in a folder demo_desk, with a made-up class that hands in")
    instead = desk_.add_argument_group("instead of opening it")
    instead.add_argument(
        "--links",
        nargs="*",
        metavar="ID",
        help="write new personal links as a table: of these students, or of all who have none",
    )
    instead.add_argument("--revoke", nargs="+", metavar="ID", help="withdraw the links of these students")
    instead.add_argument("--forget", nargs="+", metavar="ID", help="forget which accounts these students have")
    instead.add_argument("--members", action="store_true", help="take the roster from the learning platform's course")
    instead.add_argument(
        "--export", type=Path, metavar="FOLDER", help="write all attempts there, in ProgSnap 2, with pseudonyms"
    )
    _sandbox_options(desk_)
    desk_.set_defaults(run=desk)

    gradescope_ = commands.add_parser(
        "gradescope",
        help="make the zip with which Gradescope grades an assignment",
        description="Writes gradescope/NN_name.zip, to be uploaded as the autograder of a programming assignment. It "
        "holds the solutions and the hidden checks: it is for Gradescope alone. docs/containers.md says more.",
    )
    gradescope_.add_argument("assignment", metavar="NN", help="number or name, such as 02")
    gradescope_.add_argument("--output", metavar="FILE", help="where to (default: gradescope/NN_name.zip)")
    gradescope_.add_argument("--grade", metavar="FOLDER", help="on Gradescope: grade what lies in this folder instead")
    gradescope_.add_argument("--results", metavar="FILE", help="with --grade: the results.json to write")
    _sandbox_options(gradescope_)
    gradescope_.set_defaults(run=gradescope)

    new_ = commands.add_parser("new", help="start a course or an exercise of your own")
    kinds = new_.add_subparsers(title="what to start", metavar="WHAT", required=True)
    course_ = kinds.add_parser(
        "course",
        help="make a folder that is a small course",
        description="Makes a course of one small exercise and one question, which builds and grades at once.",
    )
    course_.add_argument("folder", metavar="DIR", help="a folder that is empty or not there yet")
    course_.add_argument("--attention", action="store_true", help="the course on attention that comes with the kit")
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


class _Version(argparse.Action):
    """Prints the kit's version, which is looked up only if it is asked for."""

    def __call__(self, parser, namespace, values, option_string=None):
        from importlib import metadata

        try:
            found = metadata.version(DISTRIBUTION)
        except metadata.PackageNotFoundError:
            found = "(not installed as a package)"
        print(f"autograder {found}")
        parser.exit()


class _InPlaceOf(argparse.Action):
    """An option without a value, with which another argument is no longer needed."""

    def __init__(self, other, **about):
        super().__init__(nargs=0, default=False, **about)
        self.other = other

    def __call__(self, parser, namespace, values, option_string=None):
        setattr(namespace, self.dest, True)
        self.other.required = False


def _address(text):
    """The address of a Jupyter server, ending in a slash. Raises ArgumentTypeError."""
    if not text.startswith(("http://", "https://")):
        raise argparse.ArgumentTypeError("an address begins with http:// or https://")
    return text.split("?")[0].rstrip("/") + "/"


def _engine_options(command):
    """What `engine_for` asks of the options."""
    where = command.add_mutually_exclusive_group()
    where.add_argument("--jobs", type=int, default=os.cpu_count() or 1, metavar="N", help="sandboxes at work at once")
    where.add_argument("--scheduler", metavar="ADDRESS", help="grade on a Dask cluster, such as tcp://host:8786")


def _sandbox_options(command):
    command.add_argument(
        "--device",
        choices=("auto", "cpu", "cuda"),
        default="auto",
        help="cuda: check on the GPU as well; no points depend on it (default: auto, where there is one)",
    )
    command.add_argument(
        "--sandbox",
        choices=LEVELS,
        default=FULL,
        help="process: for containers that may make no namespaces; docs/security.md says what it does not stop. "
        "unsafe: Landlock and limits alone, for code that you trust (default: full)",
    )
    command.add_argument(
        "--unsafe", action="store_const", dest="sandbox", const=UNSAFE, help="the same as --sandbox unsafe"
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
    made = {}  # the files that students may get
    with contextlib.ExitStack() as locks:
        for assignment in wanted:
            locks.enter_context(locked(root, assignment.name))
        names = [assignment.name for assignment in wanted]
        for done in (bar := progress("building", build(root, names, runs, made), len(wanted))):
            if isinstance(done, str):
                bar.write(done, file=sys.stdout)
    for name in names:
        print(f"release/{name} and solutions/{name} are up to date")
    from .lms import bundle

    for path in bundle.strays(root, made):
        left_out = " and is left out" if options.bundle else ": don't publish it unseen"
        print(f"autograder: {path!a} was not made by this build{left_out}.", file=sys.stderr)
    if options.bundle:
        for path in bundle.write(root, made, names if options.assignments else None):
            print(f"{path.relative_to(root)} may be published: it holds what was built, and nothing else")
    return 0


def check(options):
    """Grade files and print what was found."""
    from . import course

    if options.exercise:
        course.find_exercise(options.exercise)
    refuse_without_sandbox(options)
    from .report import outcome_text

    full = True
    with contextlib.closing(checked(options)) as verdicts:
        for verdict in (bar := progress("checking", verdicts, len(options.paths))):
            full = full and verdict.full
            text = verdict.to_json() if options.format == "json" else outcome_text.verdict_as_text(verdict)
            bar.write(text, file=sys.stdout)
            sys.stdout.flush()
            for outcome in verdict.exercises:
                if outcome.unjudged:
                    bar.write(f"autograder: a mistake of the checks: {outcome.unjudged}", file=sys.stderr)
    return 0 if full else 1


def checked(options):
    """Yield the verdict on each file: from a watch that runs, as long as it answers, else from a sandbox of its own."""
    from . import course
    from .grading import credit, seeds, start
    from .watch import service

    where, scored_by = (device(options), options.sandbox), credit.of_course(course.root())
    seed = seeds.new_seed() if options.seed is None else options.seed
    grader = None
    with contextlib.ExitStack() as stack:
        for path in options.paths:
            verdict = None if grader else service.verdict_by_watch(path, options.exercise, seed, *where)
            if verdict is None:
                grader = grader or stack.enter_context(start.started_grader(*where))
                verdict = grader.grade_file(path, options.exercise, seed).verdict
            yield verdict.credited(scored_by)


def watch(options):
    """Grade a file whenever it is saved, and show what to do next."""
    from . import course

    if options.exercise:
        course.find_exercise(options.exercise)
    refuse_without_sandbox(options)
    from .watch import session

    return session.run(options.path, options.exercise, options.seed, device(options), options.sandbox)


def grade(options):
    """Grade all submissions of the assignments into the gradebook."""
    from . import course
    from .batch import run
    from .grading.store import Store
    from .report.outcome_text import name_of

    root = course.root()
    if options.sandbox == UNSAFE or not options.scheduler:  # with a cluster, its workers need the sandbox
        refuse_without_sandbox(options)
    require_jobs(options)
    classes, dropped = [], Store(root).dropped()
    for assignment in dict.fromkeys(course.find_assignment(name) for name in options.assignments):
        handed_in = run.students(root, assignment.name)
        who = options.student or handed_in
        if left := sorted(set(who) & dropped):
            raise UsageError(f"{', '.join(left)}: dropped; `autograder roster --take-back ID` takes them back.")
        strangers = sorted(set(who) - set(handed_in))
        if strangers:
            raise UsageError(f"Nothing was handed in for {assignment.name} by {', '.join(strangers)}.")
        if not who:
            nobodys = "".join(f" {name_of(remark)}." for remark in [*run.remarks(root, assignment.name, ())][:3])
            raise UsageError(f"Nothing was handed in: there is no submitted/STUDENT/{assignment.name}.{nobodys}")
        classes.append((assignment, who))
    learnt = None if options.dry_run else Store(root).learnt
    with engine_for(options.scheduler, options.jobs, device(options), options.sandbox, learnt) as engine:
        settings = engine, device(options), options.sandbox, options.regrade, options.new_inputs
        how = {"is_draft": options.dry_run, "as_json": options.format == "json"}
        return max(grade_class(root, assignment, who, *settings, **how) for assignment, who in classes)


def report(options):
    """Write the feedback of every student and the class reports."""
    from . import course
    from .grading.store import Store

    root = course.root()
    require_jobs(options)
    wanted = dict.fromkeys(course.find_assignment(name) for name in options.assignments)
    if not wanted:
        wanted = [a for a in course.assignments().values() if Store(root).students(a.name)]
    if not wanted:
        raise UsageError("Nothing is graded yet: run `autograder grade` first.")
    codes = []
    for assignment in wanted:
        with locked(root, assignment.name):
            codes.append(report_class(root, assignment, options.jobs, options.by_hand, options.formgrader or ""))
    return max(codes)


def name(options):
    """Give a group of equal wrong answers a sentence, or take it back, or list all groups."""
    from . import course
    from .batch import naming

    root = course.root()
    if options.group is None:
        print(naming.listing(root))
        return 0
    if options.remove == (options.sentence is not None):
        raise UsageError("Say either a sentence for the group, or --remove.")
    if options.remove:
        if options.price is not None:
            raise UsageError("--remove takes the price back as well.")
        print(naming.remove(root, options.group))
        return 0
    if said := naming.rename(root, options.group, options.sentence, options.price):
        print(said)
        return 0
    assignment = naming.assignment_of(options.group)
    refuse_without_sandbox(options)
    from .grading import start

    with locked(root, assignment.name), start.started_grader(device(options), options.sandbox) as grader:
        judge = naming.by_grader(grader, assignment, device(options))
        answers = naming.graded_answers(root, assignment)
        print(naming.give(root, options.group, options.sentence, judge, answers, options.price))
    return 0


def collect(options):
    """Take hand-ins from what other systems let an instructor download, or from the desk."""
    from . import course
    from .lms import commands

    assignment = course.find_assignment(options.assignment)
    if options.desk:
        if options.paths or options.system or options.pattern or options.timezone:
            raise UsageError("--desk takes what was handed in at the desk: give no download with it.")
        with _needs_desk():
            from .desk import collecting
        return collecting.from_desk(course.root(), assignment, options.database, device(options), options.forget)
    if options.database:
        raise UsageError("--database goes with --desk.")
    how = options.system, options.pattern, options.timezone, options.forget
    return commands.collect(course.root(), assignment, options.paths, *how)


def roster(options):
    """Take in who is in the class, or list them."""
    from . import course
    from .lms import commands

    return commands.roster(course.root(), options.files, options.drop, options.take_back)


def export(options):
    """Write grades and feedback as other systems take them in."""
    from . import course
    from .lms import commands

    assignment = course.find_assignment(options.assignment)
    how = options.fill, options.column, options.scale, options.zeros
    return commands.export(course.root(), assignment, options.formats, *how)


def demo(options):
    """Run a whole course on a made-up class."""
    refuse_without_sandbox(options)
    from .demo import run as demos

    settings = options.jobs, device(options), options.sandbox
    return demos.run(options.folder, *settings, options.assignments, options.verbose)


def desk(options):
    """Open the desk, or export what was handed in there."""
    if options.export:
        with _needs_desk():
            from .desk import command
        return command.export(options)
    if options.sandbox == UNSAFE and not options.me:
        raise UsageError(
            "A desk runs what anybody hands in: without a sandbox, that can read its records and everybody's keys."
            " Leave --unsafe out; --sandbox process needs no bubblewrap."
        )
    if options.sandbox == UNSAFE or not options.scheduler:
        refuse_without_sandbox(options)
    require_jobs(options)
    with _needs_desk():
        from .desk import command
    return command.run(options, device(options))


@contextlib.contextmanager
def _needs_desk():
    """Raises UsageError if what the desk needs is not installed."""
    try:
        yield
    except ModuleNotFoundError as missing:
        package = (missing.name or "").split(".")[0]
        if package not in DESK_NEEDS:
            raise
        raise UsageError(
            f"The desk needs {package}, which is not installed: pip install '{DISTRIBUTION}[desk]'."
        ) from None


def gradescope(options):
    """Make the zip for Gradescope or, there, grade a submission with it."""
    from . import course

    assignment = course.find_assignment(options.assignment)
    if bool(options.grade) != bool(options.results):
        raise UsageError("--grade and --results go together.")
    if options.grade:
        refuse_without_sandbox(options)
    from .grading import start
    from .sandbox import jail

    if options.grade:
        with start.started_grader(device(options), options.sandbox) as grader:
            from .batch import gradescope as grading

            verdict = grading.grade(assignment, Path(options.grade), grader)
        said = grading.left_out(Path(options.grade), assignment)
        grading.write_results(verdict, Path(options.results), said)
        for outcome in verdict.exercises:
            if outcome.unjudged:
                print(f"autograder: a mistake of the checks: {outcome.unjudged}", file=sys.stderr)
        return 0
    from .batch import gradescope as grading

    path = Path(options.output or course.root() / "gradescope" / f"{assignment.name}.zip")
    grading.require_room(path)
    with start.started_grader("cpu", jail.own_level()) as grader:
        grading.require_gate(assignment, grader)
    grading.bundle(assignment, path)
    print(f"{path} is written: for Gradescope alone, since it holds the solutions and the hidden checks")
    return 0


def new_course(options):
    """Make a folder that is a small course."""
    from . import new

    print(new.course(options.folder, options.attention))
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
    from .grading import seeds, start

    with start.started_grader(device(options), options.sandbox) as grader:
        from .mistakes import name_check as names

        answers = names.answers_in(Path(options.folder), options.exercise)
        seed = seeds.new_seed() if options.seed is None else options.seed
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
    """Say which course a command works on: as a heading the one around the working directory, on stderr the kit's own.

    Output for programs (JSON) gets no heading. Raises UsageError for a command that would write into a course that was
    installed along with the kit.
    """
    from . import course

    for_people = getattr(options, "format", "text") == "text"
    if found := course.here():
        if for_people and options.run not in (new_course, demo):  # these two make one of their own
            print(f"The course in {found}", flush=True)
        return
    if options.run in (new_course, doctor) or not course.kits_own():
        return
    if (
        options.run in (build, collect, roster, grade, report, name, export, gradescope, desk)
        and course.kits_own() == course.PACKED
    ):
        raise UsageError(
            "There is no course here: no folder with nbgrader_config.py and source/ at or above this one. `autograder"
            " new course DIR` makes one, and `autograder new course --attention DIR` a copy of the kit's own."
        )
    print(f"autograder: there is no course here; this is the kit's own, {course.kits_own()}", file=sys.stderr)


def require_jobs(options):
    """Raises UsageError unless --jobs is a number of processes."""
    if options.jobs < 1:
        raise UsageError("--jobs takes a number from 1 up.")


def refuse_without_sandbox(options):
    """Raises UsageError with one sentence if student code cannot be sandboxed here; says so below the full level."""
    if options.sandbox == UNSAFE:
        print("autograder: --unsafe: student code runs without bubblewrap.", file=sys.stderr)
        return
    if options.sandbox == PROCESS:
        if options.device == "cuda":
            raise UsageError("--sandbox process cannot grade on a GPU, whose driver needs more than it lets through.")
        print("autograder: --sandbox process: no namespaces; docs/security.md says what that lacks.", file=sys.stderr)
    from .sandbox import jail

    if problem := jail.refusal(options.sandbox):
        raise UsageError(problem)


def device(options):
    """The device, cpu or cuda, that --device asks for."""
    if getattr(options, "device", "auto") != "auto":
        return options.device
    if getattr(options, "sandbox", FULL) == PROCESS:
        return "cpu"
    return "cuda" if os.path.exists("/dev/nvidiactl") else "cpu"


if __name__ == "__main__":
    sys.exit(main())
