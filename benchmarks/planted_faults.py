"""How sharp the tests are: `python benchmarks/planted_faults.py [NAME …] [--tests "…"]`.

FAULTS are slips that a careless colleague could make in a refactoring of the kit. Each is planted in a throwaway copy
of HEAD, and pytest runs there: first the test files nearest to it that import its module, then others that do, then all
that are nearest, then all that `--tests` selects, until one fails. The result is appended to RESULTS, so a run that was
stopped goes on where it was.

    python benchmarks/planted_faults.py --check                           does each edit still apply? (seconds)
    python benchmarks/planted_faults.py                                   as `make test` selects tests (hours)
    python benchmarks/planted_faults.py --tests "-n 2"   all tests, for what `make test` did not find
    python benchmarks/planted_faults.py --page                            docs/planted_faults.md, from the results

The faults were chosen by reading the kit alone, without a look at the tests or at what `make test` leaves out. Keep
it so: if you change a fault because of what finds it, this measures nothing.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import re
import shlex
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import measuring

ROOT = Path(__file__).resolve().parents[1]
RESULTS = ROOT / "reports" / "planted_faults.jsonl"
PAGE = ROOT / "docs" / "planted_faults.md"
SAMPLE = "--sample"  # the option by which `make test` leaves tests out
TIER = f"{SAMPLE} -n 2"
MINUTES = 60.0  # for one fault: twice what all tests should take on two cores
CONTROL = "no fault"  # the name of the run without one: what fails there finds nothing
MARK = "<!-- results -->"  # begins the part of PAGE that `--page` writes
FOUND, MISSED, LATE, BROKEN = "found", "not found", "no result in time", "pytest broke"
UNKNOWN = "not measured yet"
TESTS_FAILED, INTERRUPTED = (
    1,
    2,
)  # pytest's exit codes; the latter with xdist's `-x`, and where a file can't be collected
FAILING, PASSING = (TESTS_FAILED, INTERRUPTED), (0, 5)
SUMMARY = re.compile(r"^(?:FAILED|ERROR) (\S.*?)(?: - .*)?$", re.MULTILINE)  # of `pytest -rfE`


@dataclass(frozen=True)
class Fault:
    """A slip in the kit: in one file below autograder/, `old`, which occurs there alone and once, becomes `new`."""

    name: str
    room: str
    says: str  # what goes wrong, and for whom
    old: str
    new: str


# the folders of tests nearest to a room
NEAREST = {
    "checks": ["tests/checks"],
    "diagnosis": ["tests/mistakes", "tests/grading"],
    "credit": ["tests/mistakes", "tests/grading", "tests/batch", "tests/nbgrader"],
    "sandbox": ["tests/sandbox"],
    "submission": ["tests/submission", "tests/nbgrader"],
    "intake": ["tests/lms"],
    "batch": ["tests/batch", "tests/grading"],
    "gradebook": ["tests/nbgrader"],
    "desk": ["tests/desk"],
    "report": ["tests/report"],
    "watch": ["tests/watch"],
}

FAULTS = (
    # --- checks ---------------------------------------------------------------------------------------
    Fault(
        "nan-is-close",
        "checks",
        "An answer with NaN in its output passes every comparison of values, and gets the points.",
        "if not math.isfinite(error) and not numeric.all_finite(value):",
        "if math.isinf(error) and not numeric.all_finite(value):",
    ),
    Fault(
        "number-inside-a-number",
        "checks",
        "A ValueError that says 14 counts as one that says 4, so a message with wrong numbers passes.",
        "not in (said if isinstance(word, int) else error.message)]",
        "not in error.message]",
    ),
    Fault(
        "gate-without-its-options",
        "checks",
        "An easy case that is asked with several options runs once: its first result counts for the others too.",
        "given = [sorted(vars(one).items()) for one in owner], sorted(options.items())",
        "given = [sorted(vars(one).items()) for one in owner]",
    ),
    Fault(
        "replay-of-other-tensors",
        "checks",
        "A check that makes its inputs from what the student returned gets replies to other inputs, in a class only.",
        "if message != known or len(tensors) != len(given) or not all(map(_identical, tensors, given)):",
        "if message != known or len(tensors) != len(given):",
    ),
    Fault(
        "family-words-the-check",
        "checks",
        "Students read the family's general sentence where their exercise has one of its own.",
        'sentence = changed["sentences"].get(name) or inspect.getdoc(test)',
        'sentence = inspect.getdoc(test) or changed["sentences"].get(name)',
    ),
    # --- diagnosis ------------------------------------------------------------------------------------
    Fault(
        "half-way-is-named",
        "diagnosis",
        "Values half-way between right ones and a mistake's count as the mistake's: the student reads a wrong name.",
        "if error <= NEARER * effect:",
        "if error <= effect:",
    ),
    Fault(
        "named-though-ambiguous",
        "diagnosis",
        "Of several combinations that explain an answer, one is named, though the student may have made another.",
        "if not all(one.mistake.id in [other.mistake.id for other in group] for group in found):",
        "if not any(one.mistake.id in [other.mistake.id for other in group] for group in found):",
    ),
    Fault(
        "line-that-occurs-twice",
        "diagnosis",
        "A statement that occurs several times is quoted as the line at fault, though it may be any of them.",
        "        if len(found) == 1:\n            return lines_of_code(",
        "        if found:\n            return lines_of_code(",
    ),
    Fault(
        "cache-of-another-seed",
        "diagnosis",
        "What mistakes do is cached without the seed: on other inputs, students get no name or another one.",
        "about = [self.version(), arithmetic(), exercise, seed]",
        "about = [self.version(), arithmetic(), exercise]",
    ),
    Fault(
        "named-by-one-check",
        "diagnosis",
        "A mistake that explains one check of several is named, where it should explain most of what it fails.",
        "if len(alike) >= max(LEAST, SHARE * len(fails)):",
        "if len(alike) >= min(LEAST, SHARE * len(fails)):",
    ),
    Fault(
        "blamed-for-fewer-failures",
        "diagnosis",
        "An earlier exercise is blamed where replacing it only exchanges failures for other ones.",
        "(not left if may_have_any_parts(run.exercise) else left < failed)",
        "(not left if may_have_any_parts(run.exercise) else len(left) < len(failed))",
    ),
    # --- credit ---------------------------------------------------------------------------------------
    Fault(
        "prices-take-points-away",
        "credit",
        "A student with a priced mistake loses points where the checks that pass give more than the price leaves.",
        "score=max(self.by_checks, self.by_prices) if credit == PRICES else self.by_checks",
        "score=(self.by_prices or self.by_checks) if credit == PRICES else self.by_checks",
    ),
    Fault(
        "untried-checks-cost",
        "credit",
        "A mistake costs as much as the dearest check that was not even tried: one slip costs the student too much.",
        "return [name for name, reason in reasons.items() if not reason.startswith(NOT_TRIED)] or [*reasons]",
        "return [*reasons]",
    ),
    Fault(
        "cheapest-kind-counts",
        "credit",
        "A mistake loses what the cheapest check that it fails costs, and not the dearest.",
        "return max((PRICES[category] for category in categories), default=ALL)",
        "return min((PRICES[category] for category in categories), default=ALL)",
    ),
    Fault(
        "penalty-outlives-extension",
        "credit",
        "A student who gets an extension afterwards keeps the penalty for being late.",
        "if standing.penalty or standing.late:",
        "if standing.late:",
    ),
    # --- sandbox --------------------------------------------------------------------------------------
    Fault(
        "limit-for-each-tensor",
        "sandbox",
        "The limit of numbers in a reply holds for each tensor: many of them fill the grader's memory.",
        "    many = sum(map(arrays.numbers_in, tensors))\n    if many > MAX_NUMBERS:",
        "    many = max(map(arrays.numbers_in, tensors), default=0)\n    if many > MAX_NUMBERS:",
    ),
    Fault(
        "shared-with-the-check",
        "sandbox",
        "What a mistake's code changes in place later is the check's own tensor: students read a wrong name.",
        "plain = plain.cpu().clone(memory_format=torch.contiguous_format)",
        "plain = plain.cpu().contiguous()",
    ),
    Fault(
        "content-changes-unseen",
        "sandbox",
        "A later cell fills a tensor that the answer uses, and the answer is graded with that content.",
        "if not _are_same(before.refs, now.refs) or before.facts != now.facts:",
        "if not _are_same(before.refs, now.refs):",
    ),
    Fault(
        "state-larger-than-said",
        "sandbox",
        "A model says that its state holds a few numbers and sends more: it beats the limit of memory.",
        "if any(part.numel() == 0 for part in found) or sum(part.numel() for part in found) != many:",
        "if any(part.numel() == 0 for part in found):",
    ),
    # --- submission -----------------------------------------------------------------------------------
    Fault(
        "check-cell-before-its-answer",
        "submission",
        "A check cell that a student deleted comes back one cell too early, before the answer that it is about.",
        "place = after[-1] + 1 if after else 0",
        "place = after[-1] if after else 0",
    ),
    Fault(
        "noon-is-midnight",
        "submission",
        "A hand-in at 12:05 PM has no time, and one at 12:05 AM counts as of noon: late or in time by mistake.",
        'hour = hour % 12 + 12 * (half == "p") if hour <= 12 else hour',
        'hour = hour + 12 * (half == "p") if hour <= 12 else hour',
    ),
    Fault(
        "old-release-is-an-answer",
        "submission",
        "An untouched question of an earlier release waits for the instructor, in place of 0 points.",
        "blank = [cell for cell in cells if _is_for_a_person(cell) and is_blank(cell, earlier)]",
        "blank = [cell for cell in cells if _is_for_a_person(cell) and is_blank(cell)]",
    ),
    # --- intake ---------------------------------------------------------------------------------------
    Fault(
        "number-of-another-assignment",
        "intake",
        "Moodle's participant number of one assignment identifies people in the next: hand-ins are left out.",
        "if student not in forget and (kind != PARTICIPANT or name == assignment):",
        "if student not in forget:",
    ),
    Fault(
        "earlier-download-counts",
        "intake",
        "Of two downloads with the same student, the earlier hand-in is collected and graded.",
        "before.owner.time > best.owner.time:",
        "before.owner.time < best.owner.time:",
    ),
    Fault(
        "points-rounded-to-tenths",
        "intake",
        "Exported grades have one decimal: a student with 7.25 points gets 7.2 in Moodle and Canvas.",
        "if self.scale and self.highest else score, 5)",
        "if self.scale and self.highest else score, 1)",
    ),
    Fault(
        "old-grade-in-the-worksheet",
        "intake",
        "In Moodle's filled worksheet, who has no grade keeps what the cell held, which Moodle then takes in again.",
        '        filled[at] = ""\n        if grade is not None:',
        "        if grade is not None:",
    ),
    # --- batch ----------------------------------------------------------------------------------------
    Fault(
        "killed-without-its-points",
        "batch",
        "A submission that ends each worker while its mistakes are named loses the points of checks that passed.",
        "tasks.killed(task, noted.pop(task.key, {}))",
        "tasks.killed(task)",
    ),
    Fault(
        "result-of-another-sandbox",
        "batch",
        "Results made without a sandbox count as those made in it: `grade` takes them from the store.",
        "about = [digest, assignment, course_version(), seed, device, SCHEMA, sandbox]",
        "about = [digest, assignment, course_version(), seed, device, SCHEMA]",
    ),
    Fault(
        "inputs-that-were-shown",
        "batch",
        "Who hands in first after feedback went out is graded on inputs that a friend's feedback has shown.",
        "theirs[digest] = max(self.floor, 1 + max(theirs.values(), default=-1))",
        "theirs[digest] = 1 + max(theirs.values(), default=-1)",
    ),
    # --- gradebook ------------------------------------------------------------------------------------
    Fault(
        "extension-ignored",
        "gradebook",
        "A student with an extension gets a late penalty for handing in after everybody else's due date.",
        "self._is_late(row.timestamp, extensions.get(row.student))",
        "self._is_late(row.timestamp, None)",
    ),
    Fault(
        "flag-lost-at-regrading",
        "gradebook",
        "An answer that waits to be graded by hand once more no longer waits after the next `grade`.",
        "return waited or not same",
        "return not same",
    ),
    Fault(
        "old-penalty-stays",
        "gradebook",
        "Who was late and hands in again with a new time that is not late keeps the penalty of before.",
        "            database.execute(\n                update(table).where(table.c.id.in_(list(by_student.values())))"
        ".values(late_submission_penalty=None)\n            )\n",
        "",
    ),
    # --- desk -----------------------------------------------------------------------------------------
    Fault(
        "body-never-leaves-the-room",
        "desk",
        "Each hand-in takes room in memory for good: after a while the desk refuses everybody's.",
        "        Room.held -= self.size\n",
        "",
    ),
    Fault(
        "receipts-use-up-answers",
        "desk",
        "Hand-ins that got a receipt alone count as answers: students reach the limit without having had them.",
        "ATTEMPT.c.owner == owner, ATTEMPT.c.assignment == assignment, ATTEMPT.c.level != RECEIVED\n",
        "ATTEMPT.c.owner == owner, ATTEMPT.c.assignment == assignment\n",
    ),
    Fault(
        "session-never-ends",
        "desk",
        "A session works after its end: a copied cookie logs somebody in as the student for good.",
        "return session if session.until > time.time() else None",
        "return session",
    ),
    Fault(
        "compared-with-itself",
        "desk",
        "A student's page never says what changed since the attempt before: it compares an attempt with itself.",
        "            ATTEMPT.c.number < attempt.number,\n",
        "            ATTEMPT.c.number <= attempt.number,\n",
    ),
    Fault(
        "early-points-by-checks",
        "desk",
        "While the rest is still graded, students see other points for an exercise than on the finished page.",
        "known[outcome.exercise] = self.grading.scoring.of_outcome(outcome)",
        "known[outcome.exercise] = outcome",
    ),
    Fault(
        "launch-used-twice",
        "desk",
        "A copied LTI launch opens a second session: whoever has it is logged in as the student.",
        '        self._use(claims["nonce"])\n',
        "",
    ),
    # --- report and watch -----------------------------------------------------------------------------
    Fault(
        "table-without-points-by-hand",
        "report",
        "In the class report's table, an exercise that was changed by hand has the points of its checks.",
        "    score = mark.score if mark else outcome.score\n    status = ",
        "    score = outcome.score\n    status = ",
    ),
    Fault(
        "name-of-the-mistake-before",
        "watch",
        "Who exchanges one mistake for another that fails the same checks still reads the first one's name.",
        "        self.named = {name: outcome for name, outcome in self.named.items() if name not in now}\n",
        "",
    ),
)


class Unfit(Exception):
    """An edit that no longer applies, or a copy in which tests would run other code than its own."""


# --- planting -------------------------------------------------------------------------------------


def planted(fault: Fault, root: Path) -> tuple[Path, str]:
    """The file in which a fault belongs, wherever it is now, and its text with the fault. Raises Unfit."""
    kit = root / "autograder"
    files = [path for path in sorted(kit.rglob("*.py")) if kit / "exercises" not in path.parents]
    texts = {path: text for path in files if fault.old in (text := path.read_text(encoding="utf-8"))}
    times = sum(text.count(fault.old) for text in texts.values())
    if times != 1:
        raise Unfit(f"{fault.name}: the text that it changes occurs {times} times: {fault.old.strip()[:80]!r}")
    ((path, text),) = texts.items()
    new = text.replace(fault.old, fault.new)
    if new == text:
        raise Unfit(f"{fault.name}: it changes nothing")
    try:
        compile(new, str(path), "exec")
    except SyntaxError as error:
        raise Unfit(f"{fault.name}: {path.name} no longer compiles ({error})") from None
    return path, new


def check(faults: Sequence[Fault]) -> int:
    """Say of each fault where it would be planted; returns how many cannot be."""
    unfit = 0
    names = [fault.name for fault in FAULTS]
    for fault in faults:
        try:
            if names.count(fault.name) > 1 or fault.room not in NEAREST:
                raise Unfit(f"{fault.name}: its name is not its own, or its room {fault.room!r} is unknown")
            for folder in NEAREST[fault.room]:
                if not (ROOT / folder).is_dir():
                    raise Unfit(f"{fault.name}: there is no folder {folder} with tests of it")
            print(f"{fault.name}: {planted(fault, ROOT)[0].relative_to(ROOT)}")
        except Unfit as problem:
            unfit += 1
            print(problem, file=sys.stderr)
    print(f"{len(faults) - unfit} of {len(faults)} faults apply")
    return unfit


class Copy:
    """A throwaway copy of HEAD, in which tests import its own kit with this environment's packages."""

    def __init__(self, root: Path) -> None:
        self.root = root
        bin_folder = str(Path(sys.executable).parent)  # some tests start commands by their names
        path = os.pathsep.join([bin_folder, os.environ.get("PATH", "")])
        self.environment = {**os.environ, "PATH": path, "PYTHONPATH": str(root)}

    def require_own_kit(self) -> None:
        """Raises Unfit if Python would run another kit there, from whatever folder."""
        command = [sys.executable, "-c", "import autograder; print(autograder.__file__)"]
        elsewhere = tempfile.gettempdir()
        ran = subprocess.run(command, cwd=elsewhere, env=self.environment, capture_output=True, text=True, check=True)
        kit = ran.stdout.strip()
        if not Path(kit).is_relative_to(self.root):
            raise Unfit(f"the copy {self.root} would run the kit {kit}")
        print(f"the copy's kit: {kit}", flush=True)

    def reset(self) -> None:
        """Make it HEAD again, without what tests have left; compiled files stay, since they cost a while."""
        for command in (["reset", "--hard", "--quiet"], ["clean", "-ffdxq", "--exclude=__pycache__"]):
            subprocess.run(["git", *command], cwd=self.root, check=True)

    @contextlib.contextmanager
    def with_fault(self, fault: Fault | None) -> Iterator[None]:
        """Plant a fault for the body of a `with`."""
        self.reset()
        if fault is None:
            yield
            return
        path, text = planted(fault, self.root)
        path.write_text(text, encoding="utf-8")
        _forget_compiled(path)
        try:
            yield
        finally:
            self.reset()
            _forget_compiled(path)  # Python goes by seconds and sizes, and both may be the same


def _forget_compiled(path: Path) -> None:
    for compiled in (path.parent / "__pycache__").glob(f"{path.stem}.*.pyc"):
        compiled.unlink(missing_ok=True)


@contextlib.contextmanager
def copy_of_head() -> Iterator[Copy]:
    """A Copy, in a folder of its own that is gone afterwards."""
    with tempfile.TemporaryDirectory(prefix="planted-") as folder:
        root = Path(folder).resolve() / "kit"
        subprocess.run(["git", "worktree", "add", "--quiet", "--detach", str(root), "HEAD"], cwd=ROOT, check=True)
        try:
            copy = Copy(root)
            copy.require_own_kit()
            yield copy
        finally:
            subprocess.run(["git", "worktree", "remove", "--force", str(root)], cwd=ROOT, check=False)


# --- running --------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Run:
    """How a run of pytest ended: its exit code, None if there was no time left, and the tests that failed."""

    code: int | None
    failed: tuple[str, ...]
    output: str


def pytest(copy: Copy, arguments: Sequence[str], until: float) -> Run:
    """Run pytest in a copy, until a time of `time.monotonic()`; ends what it has started, and nothing else."""
    command = [sys.executable, "-m", "pytest", "-rfE", "--color=no", *arguments]
    with tempfile.TemporaryFile("w+", encoding="utf-8", errors="replace") as output:
        process = subprocess.Popen(
            command,
            cwd=copy.root,
            env=copy.environment,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
        try:
            code = process.wait(max(1.0, until - time.monotonic()))
        except subprocess.TimeoutExpired:
            code = None
        finally:
            _end(process)
        output.seek(0)
        said = output.read()
    return Run(code, tuple(dict.fromkeys(SUMMARY.findall(said))), said)


def _end(process: subprocess.Popen[bytes]) -> None:
    """End a process with its group, which it has for itself."""
    for number in (signal.SIGTERM, signal.SIGKILL):
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, number)
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(10.0)


def measured(
    copy: Copy, fault: Fault, arguments: Sequence[str], known: Sequence[str], minutes: float
) -> dict[str, Any]:
    """What finds a fault: first of the nearest tests, then of all that the arguments select; `known` fail anyway."""
    begun = time.monotonic()
    until = begun + minutes * 60
    left_out = [f"--deselect={test}" for test in known]
    result: dict[str, Any] = {"result": MISSED, "by": "", "stage": ""}
    ways = [("all", [])] if paths_in(arguments) else [*stages(copy.root, fault)]  # read without the fault
    with copy.with_fault(fault):
        for stage, more in ways:
            run = pytest(copy, [*arguments, "-x", *left_out, *more], until)
            if run.code is None:
                result = {"result": LATE, "by": "", "stage": stage}
            elif run.code in FAILING and run.failed:
                result = {"result": FOUND, "by": run.failed[0], "stage": stage}
            elif run.code not in PASSING:
                result = {"result": BROKEN, "by": "", "stage": stage, "code": run.code, "said": run.output[-1000:]}
            if result["result"] != MISSED:
                break
    return {**result, "seconds": round(time.monotonic() - begun)}


def stages(root: Path, fault: Fault) -> Iterator[tuple[str, list[str]]]:
    """What pytest runs one after the other for a fault, the likeliest tests first: (name, paths); no paths are all."""
    folders = [folder for folder in NEAREST[fault.room] if (root / folder).is_dir()]
    module = planted(fault, root)[0]
    if files := importing(root, folders, module):
        yield "importing", files
    if others := [file for file in importing(root, ["tests"], module) if file not in files]:
        yield "importing elsewhere", others
    if folders:
        yield "near", folders
    yield "all", []


def importing(root: Path, folders: Sequence[str], module: Path) -> list[str]:
    """The test files in these folders that import a module of the kit by its name."""
    *package, name = module.relative_to(root).with_suffix("").parts
    means = re.compile(rf"^(?:from|import) {re.escape('.'.join(package))}(?:\.{name}\b| import [^#]*\b{name}\b)", re.M)
    files = [file for folder in folders for file in sorted((root / folder).rglob("test_*.py"))]
    return [str(file.relative_to(root)) for file in files if means.search(file.read_text(encoding="utf-8"))]


def paths_in(arguments: Sequence[str]) -> list[str]:
    """The tests that arguments of pytest name."""
    return [one for one in arguments if one.startswith("tests") and (ROOT / one.split("::")[0]).exists()]


def is_tier(arguments: Sequence[str]) -> bool:
    """Whether arguments of pytest select a whole tier, and no tests by path, name or mark."""
    return not paths_in(arguments) and not {"-k", "-m"} & set(arguments)


# --- results --------------------------------------------------------------------------------------


def read(path: Path) -> list[dict[str, Any]]:
    """The results in a file, the oldest first; a last line that was cut off is left out."""
    found = []
    for line in path.read_text(encoding="utf-8").splitlines() if path.is_file() else ():
        with contextlib.suppress(ValueError):
            found.append(json.loads(line))
    return found


def append(path: Path, record: Mapping[str, Any]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("a", encoding="utf-8") as file:
        file.write(json.dumps(record) + "\n")


def latest(records: Sequence[Mapping[str, Any]], is_sample: bool) -> dict[str, Mapping[str, Any]]:
    """The latest result of each fault, by the sample of `make test` or by all tests; no runs of chosen tests."""
    found = {}
    for record in records:
        arguments = shlex.split(record["tests"])
        if (SAMPLE in arguments) is is_sample and is_tier(arguments):
            found[record["fault"]] = record
    return found


def measure(faults: Sequence[Fault], tests: str, path: Path, minutes: float, afresh: bool) -> None:
    """Measure those faults that have no result yet; what the sample finds, all tests find."""
    arguments, records = shlex.split(tests), read(path)
    done = {record["fault"]: record for record in records if record["tests"] == tests}
    if SAMPLE not in arguments and is_tier(arguments):
        done |= {name: one for name, one in latest(records, True).items() if one["result"] == FOUND}
    left = [fault for fault in faults if afresh or fault.name not in done]
    print(f"{len(left)} of {len(faults)} faults to measure with: pytest {tests}", flush=True)
    if not left:
        return
    head = subprocess.run(["git", "rev-parse", "HEAD"], cwd=ROOT, capture_output=True, text=True, check=True)
    about = {"tests": tests, "commit": head.stdout.strip()}
    with copy_of_head() as copy:
        before = (one for one in reversed(records) if one["fault"] == CONTROL)
        control = next((one for one in before if about.items() <= one.items()), None)
        if control is None or afresh:
            begun = time.monotonic()
            with copy.with_fault(None):
                run = pytest(copy, arguments, begun + minutes * 60)
            if run.code not in (TESTS_FAILED, *PASSING):  # else everything, or nothing, would be found
                raise Unfit(f"without any fault, pytest ended with {run.code}:\n{run.output[-2000:]}")
            control = {"fault": CONTROL, **about, "failed": run.failed, "seconds": round(time.monotonic() - begun)}
            append(path, control)
            print(f"{CONTROL}: {len(run.failed)} tests fail, {control['seconds']} s", flush=True)
        for fault in left:
            result = measured(copy, fault, arguments, control["failed"], minutes)
            append(path, {"fault": fault.name, **about, **result})
            print(f"{fault.name}: {said(result)}, {result['seconds']} s", flush=True)


def said(result: Mapping[str, Any] | None) -> str:
    """A result in a few words."""
    if result is None:
        return UNKNOWN
    return f"{FOUND} by {result['by']}" if result["result"] == FOUND else result["result"]


# --- the page -------------------------------------------------------------------------------------


def write_page(records: Sequence[Mapping[str, Any]], path: Path) -> None:
    """Write the results into the page, below MARK; what is above it stays."""
    text = path.read_text(encoding="utf-8")
    path.write_text(f"{text.partition(MARK)[0]}{MARK}\n\n{table(records)}", encoding="utf-8")


def table(records: Sequence[Mapping[str, Any]]) -> str:
    """How many faults of each room are found, and the faults that the sample does not find."""
    sample, all_tests = latest(records, True), latest(records, False)
    if not sample:
        return f"{UNKNOWN.capitalize()}.\n"
    by_sample = {fault.name for fault in FAULTS if _is_found(sample.get(fault.name))}
    by_all = by_sample | {fault.name for fault in FAULTS if _is_found(all_tests.get(fault.name))}
    rooms = {fault.room: [other.name for other in FAULTS if other.room == fault.room] for fault in FAULTS}
    commits = sorted({record["commit"][:8] for record in (*sample.values(), *all_tests.values())})
    share = f" ({len(by_sample) / len(by_all):.0%})" if by_all else ""
    lines = [
        f"`make test` finds {len(by_sample)} of the {len(by_all)} faults that `make everything` finds{share}, "
        f"at {', '.join(commits)}.",
        "",
        "| room | faults | `make test` finds | `make everything` finds |",
        "|---|---:|---:|---:|",
        *(
            f"| {room} | {len(names)} | {_many(names, by_sample)} | {_many(names, by_all)} |"
            for room, names in rooms.items()
        ),
        "",
        "What `make test` has not found:",
        "",
    ]
    for fault in FAULTS:
        if fault.name not in by_sample:
            one, other = said(sample.get(fault.name)), said(all_tests.get(fault.name))
            lines.append(f"- `{fault.name}`: {fault.says} `make test`: {one}; `make everything`: {other}.")
    return "\n".join([*lines, ""])


def _is_found(result: Mapping[str, Any] | None) -> bool:
    return result is not None and result["result"] == FOUND


def _many(names: Sequence[str], found: set[str]) -> int:
    return len(found.intersection(names))


# --- the command ----------------------------------------------------------------------------------


def chosen(names: Sequence[str]) -> list[Fault]:
    """The faults of these names, or all. Raises Unfit."""
    by_name = {fault.name: fault for fault in FAULTS}
    if unknown := [name for name in names if name not in by_name]:
        raise Unfit(f"there is no fault {unknown[0]!r}: {', '.join(by_name)}")
    return [by_name[name] for name in names] or list(FAULTS)


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("names", nargs="*", metavar="NAME", help="faults to plant; all without a name")
    parser.add_argument("--tests", default=TIER, help=f"pytest's arguments (default: {TIER!r})")
    parser.add_argument("--minutes", type=float, default=MINUTES, help="for one fault")
    parser.add_argument("--results", type=Path, default=RESULTS, help="the file with results")
    parser.add_argument("--afresh", action="store_true", help="measure again what has a result")
    parser.add_argument("--check", action="store_true", help="only say whether each edit still applies")
    parser.add_argument("--page", action="store_true", help=f"only write {PAGE.relative_to(ROOT)} from the results")
    options = measuring.options(parser, check=True, names=[FAULTS[0].name])
    signal.signal(signal.SIGTERM, lambda number, frame: sys.exit(128 + number))  # so that the copy goes
    try:
        faults = chosen(options.names)
        if options.check:
            return 1 if check(faults) else 0
        if not options.page:
            measure(faults, options.tests, options.results, options.minutes, options.afresh)
            return 0
        write_page(read(options.results), PAGE)
    except Unfit as problem:
        print(problem, file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        return 130
    return 0


if __name__ == "__main__":
    sys.exit(main())
