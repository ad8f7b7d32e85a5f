"""The tables about the hostile suite, for `make hostile`: `python tests/support/security.py` runs it and writes them.

All attacks with their outcomes go to reports/attacks.md; two short tables, to docs/security.md.
"""

import importlib.util
import os
import re
import subprocess
import sys
from pathlib import Path
from xml.etree import ElementTree

import attacks
import layers
from conftest import ROOT

PAGE = ROOT / "docs" / "security.md"
REPORT = ROOT / "reports" / "attacks.md"
DESK = attacks.FOLDER / "desk"  # scripts, which tests/desk/test_walls_scripts.py runs
START, END = "<!-- {}: made by `make hostile` -->", "<!-- end of {} -->"
OUTCOMES = {
    "graded": "graded on what it computes",
    "missing": "nothing to grade",
    "error": "an error",
    "timeout": "stopped in time",
    "killed": "its process is ended",
    "rejected": "rejected",
}
FAMILIES = {
    "desk": "be somebody else at the desk, keep others waiting or out, fill its disk and its log",
    "exhausting": "use up time, memory, disk, threads or output, or crash whatever runs or reads them",
    "forging": "get points that the code does not earn: patched comparisons, faked replies, remembered inputs",
    "mangled": "break what reads a notebook: broken JSON, odd cells, names and encodings",
    "reading": "read solutions, hidden checks, secrets or other submissions",
    "showing": "put scripts, links or controls into the pages that students and instructors see",
    "writing": "change files, reach other processes or the network, or escape from the sandbox",
}


def by_family():
    """The attacks of each family, by its name."""
    families = {}
    for attack in attacks.attacks():
        families.setdefault(attack.folder.parent.name, []).append(attack)
    return families


def desk_attacks():
    """What each script in tests/hostile/desk tries, by its name."""
    return {path.parent.name: script_of(path.parent.name).__doc__.strip() for path in sorted(DESK.glob("*/attack.py"))}


def script_of(name):
    """A script, as a module with a function `attack(folder)`, which returns what went through."""
    spec = importlib.util.spec_from_file_location(f"attack_{name}", DESK / name / "attack.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def real(attack):
    """Whether a test shows that the attack succeeds in a process without any protection."""
    return attack.expect.get("control", "").startswith("bare")


def family_table():
    """A Markdown table of the families: what their attacks try, and how many there are."""
    families = by_family()
    text = ["| Family | What its attacks try to do | Attacks | Shown to succeed unprotected |", "|---|---|---:|---:|"]
    for family, members in families.items():
        text.append(f"| {family} | {FAMILIES[family]} | {len(members)} | {sum(map(real, members)) or '–'} |")
    everything = [attack for members in families.values() for attack in members]
    scripts = desk_attacks()
    text.append(f"| desk | {FAMILIES['desk']} | {len(scripts)} | – |")
    return "\n".join([*text, f"| all | | {len(everything) + len(scripts)} | {sum(map(real, everything))} |"])


def attack_report(failed=None, failed_at_process=None):
    """A Markdown page with a table for each family: what each attack tries and how it ends.

    `failed`: the names of the attacks that failed when the suite ran; None stands for all. `failed_at_process`: the
    same for the run at the level `process`.
    """
    families = by_family()
    text = ["# Attacks", "", f"{sum(map(len, families.values()))} attacks in {len(families)} families."]
    for family, members in families.items():
        text += ["", f"## {family.capitalize()}", ""]
        text += ["| Attack | It | Outcome | `--sandbox process` | Unprotected |", "|---|---|---|---|---|"]
        for attack in members:
            expect = attack.expect
            points = expect["score"]
            outcome = " or ".join(OUTCOMES[status] for status in expect["status"])
            low, high = points if isinstance(points, list) else (points, points)
            points = f"{low:g} to {high:g}" if low != high else f"{low:g}"
            state = "fails" if failed is None or attack.name in failed else "**SUCCEEDS**"
            control = "succeeds" if real(attack) else "–"
            text.append(
                f"| `{attack.folder.name}` | {expect['tries']} | {state}: {outcome}; {points} points "
                f"| {at_level_process(attack, failed_at_process)} | {control} |"
            )
    text += ["", "## Desk", ""]
    for name, tries in desk_attacks().items():
        text.append(f"- `{name}`: {tries}: {'fails' if failed is None or name in failed else '**SUCCEEDS**'}")
    return "\n".join(text) + "\n"


def at_level_process(attack, failed):
    """How an attack ends at that level, where bubblewrap is missing: a cell of the table."""
    if failed is not None and attack.name not in failed:
        return "**SUCCEEDS**"
    special = attack.expect.get("process", {})
    if "through" in special:
        return f"**succeeds**: {special['through']}"
    if not special:
        return "fails"
    by = ", by the watch" if special["seen"] else ""  # nothing need be seen where the watch may or may not be in time
    return f"fails: {' or '.join(OUTCOMES[s] for s in special['status'])}{by}"


def layer_table():
    """A Markdown table of attempts by the layers that stop them, for a grader that is root on Linux 6.12 or later."""
    stopped = {}
    for what, holding in layers.held_by(root=True, version=6).items():
        stopped.setdefault(tuple(layer for layer in layers.LAYERS if layer in holding), []).append(what)
    text = ["| Stopped, alone, by | Attempts |", "|---|---|"]
    return "\n".join(text + [f"| {', '.join(by)} | {'; '.join(stopped[by])} |" for by in sorted(stopped, key=len)])


def up_to_date(page):
    """The text of docs/security.md with its two tables as they are now."""
    return replaced(replaced(page, "attacks", family_table()), "layers", layer_table())


def replaced(page, name, made):
    """The page with `made` between the markers of `name`. Raises ValueError unless there is one pair of them."""
    start, end = START.format(name), END.format(name)
    if page.count(start) != 1 or page.count(end) != 1:
        raise ValueError(f"docs/security.md has no one place for {name}")
    return re.sub(f"{re.escape(start)}.*{re.escape(end)}", lambda _: f"{start}\n{made}\n{end}", page, flags=re.DOTALL)


def main():
    """Run the suite, write the report and the page; returns pytest's exit code."""
    tests = [str(ROOT / "tests" / name) for name in ("sandbox/test_hostile.py", "sandbox/test_layers.py")]
    scripts = str(ROOT / "tests" / "desk" / "test_walls_scripts.py")
    code, failed = run([*tests, scripts, "-k", "not up_to_date"])
    code_at_process, failed_at_process = run([tests[0], "-k", "harms_nobody"], level="process")
    REPORT.parent.mkdir(exist_ok=True)
    REPORT.write_text(attack_report(failed, failed_at_process), encoding="utf-8")
    PAGE.write_text(up_to_date(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
    print(f"{REPORT.relative_to(ROOT)} has all attacks and how they ended.")
    return code or code_at_process


def run(tests, level="full"):
    """Run tests at a level of the sandbox, the level `process` as in a container: (exit code, names of failed attacks).

    An attack has failed if all tests that are given its name have passed.
    """
    report = ROOT / ".autograder" / "hostile.xml"
    report.parent.mkdir(exist_ok=True)
    around = [sys.executable, str(Path(__file__).with_name("container.py"))] if level == "process" else []
    command = [*around, sys.executable, "-m", "pytest", *tests, f"--junitxml={report}"]
    code = subprocess.run(command, cwd=ROOT, env={**os.environ, "HOSTILE_LEVEL": level}).returncode
    passed, not_passed = set(), set()
    for case in ElementTree.parse(report).iter("testcase"):
        name = re.search(r"\[(.*)\]", case.get("name"))
        if name:
            bad = case.find("failure") is not None or case.find("error") is not None
            (not_passed if bad else passed).add(name[1])
    os.unlink(report)
    return code, passed - not_passed


if __name__ == "__main__":
    sys.exit(main())
