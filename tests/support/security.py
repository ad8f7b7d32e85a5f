"""Writes the tables of docs/security.md. `python tests/support/security.py` runs the suite and writes what held."""

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
START, END = "<!-- {}: made by `make hostile` -->", "<!-- end of {} -->"
COMES_TO = {
    "graded": "graded by what it computes",
    "missing": "nothing to grade",
    "error": "an error",
    "timeout": "stopped in time",
    "killed": "its process is ended",
    "rejected": "rejected",
}


def attack_tables(held=None, held_alone=None):
    """A Markdown table for each family: what each attack tries and how it ends.

    `held`: the names of the attacks that were held when the suite ran; None says "held" for all. `held_alone`: the same
    for the run at the level `process`.
    """
    families = {}
    for attack in attacks.attacks():
        families.setdefault(attack.folder.parent.name, []).append(attack)
    text = [f"{sum(map(len, families.values()))} attacks in {len(families)} families."]
    for family, members in families.items():
        text += ["", f"### {family.capitalize()}", ""]
        text += [
            "| Attack | It | Outcome | `--sandbox process` | The same without protection |",
            "|---|---|---|---|---|",
        ]
        for attack in members:
            expect = attack.expect
            points = expect["score"]
            outcome = " or ".join(COMES_TO[status] for status in expect["status"])
            low, high = points if isinstance(points, list) else (points, points)
            points = f"{low:g} to {high:g}" if low != high else f"{low:g}"
            state = "held" if held is None or attack.name in held else "**NOT HELD**"
            control = "gets through" if expect.get("control", "").startswith("bare") else "–"
            text.append(
                f"| `{attack.folder.name}` | {expect['tries']} | {state}: {outcome}; {points} points "
                f"| {at_level_process(attack, held_alone)} | {control} |"
            )
    return "\n".join(text)


def at_level_process(attack, held):
    """What comes of an attack at that level, where bubblewrap is missing: a cell of the table."""
    if held is not None and attack.name not in held:
        return "**NOT HELD**"
    special = attack.expect.get("process", {})
    if "through" in special:
        return f"**gets through**: {special['through']}"
    if not special:
        return "held"
    by = ", by the watch" if special["seen"] else ""  # nothing need be seen where the watch may or may not be in time
    return f"held: {' or '.join(COMES_TO[s] for s in special['status'])}{by}"


def layer_table():
    """A Markdown table of attempts and the layers that hold them, for a grader that is root on Linux 6.12 or later.

    The last column is the level `process`, where bubblewrap is missing.
    """
    table = layers.held_by(root=True, version=6)
    columns = [*layers.LAYERS, "`--sandbox process`"]
    text = ["| What is tried | " + " | ".join(columns) + " |", "|---" * (len(columns) + 1) + "|"]
    for what, holding in table.items():
        cells = ["holds" if layer in holding else "" for layer in layers.LAYERS]
        left = [layer for layer in layers.LAYERS if layer in holding and layer != "bubblewrap"]
        cells.append({0: "a watch holds", 1: "one layer holds"}.get(len(left), f"{len(left)} layers hold"))
        text.append(f"| {what} | {' | '.join(cells)} |")
    return "\n".join(text)


def replaced(page, name, made):
    """The page with `made` between the markers of `name`. Raises ValueError unless there is one pair of them."""
    start, end = START.format(name), END.format(name)
    if page.count(start) != 1 or page.count(end) != 1:
        raise ValueError(f"docs/security.md has no one place for {name}")
    return re.sub(f"{re.escape(start)}.*{re.escape(end)}", lambda _: f"{start}\n{made}\n{end}", page, flags=re.DOTALL)


def main():
    """Run the suite, write the page; returns pytest's exit code."""
    tests = [str(ROOT / "tests" / name) for name in ("sandbox/test_hostile.py", "sandbox/test_layers.py")]
    code, held = run([*tests, "-k", "not in_the_table"])
    alone, held_alone = run([tests[0], "-k", "harms_nobody"], level="process")
    page = PAGE.read_text(encoding="utf-8")
    page = replaced(page, "attacks", attack_tables(held, held_alone))
    PAGE.write_text(replaced(page, "layers", layer_table()), encoding="utf-8")
    return code or alone


def run(tests, level="full"):
    """Run tests at a level of the sandbox, the level `process` as in a container: (exit code, what was held)."""
    report = ROOT / ".autograder" / "hostile.xml"
    report.parent.mkdir(exist_ok=True)
    around = [sys.executable, str(Path(__file__).with_name("container.py"))] if level == "process" else []
    command = [*around, sys.executable, "-m", "pytest", *tests, f"--junitxml={report}"]
    code = subprocess.run(command, cwd=ROOT, env={**os.environ, "HOSTILE_LEVEL": level}).returncode
    held, failed = set(), set()
    for case in ElementTree.parse(report).iter("testcase"):
        name = re.search(r"\[(.*)\]", case.get("name"))
        if name:
            bad = case.find("failure") is not None or case.find("error") is not None
            (failed if bad else held).add(name[1])
    os.unlink(report)
    return code, held - failed


if __name__ == "__main__":
    sys.exit(main())
