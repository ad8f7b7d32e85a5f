"""Writes the tables of docs/security.md. `python tests/support/security.py` runs the suite and writes what held."""

import os
import re
import subprocess
import sys
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


def attack_tables(held=None):
    """A Markdown table for each family: what each attack tries and how it ends.

    `held`: the names of the attacks that were held when the suite ran; None says "held" for all.
    """
    families = {}
    for attack in attacks.attacks():
        families.setdefault(attack.folder.parent.name, []).append(attack)
    text = [f"{sum(map(len, families.values()))} attacks in {len(families)} families."]
    for family, members in families.items():
        text += ["", f"### {family.capitalize()}", ""]
        text += ["| Attack | It | Outcome | The same without protection |", "|---|---|---|---|"]
        for attack in members:
            expect = attack.expect
            points = expect["score"]
            outcome = " or ".join(COMES_TO[status] for status in expect["status"])
            low, high = points if isinstance(points, list) else (points, points)
            points = f"{low:g} to {high:g}" if low != high else f"{low:g}"
            state = "held" if held is None or attack.name in held else "**NOT HELD**"
            control = "gets through" if expect.get("control", "").startswith("bare") else "–"
            text.append(
                f"| `{attack.folder.name}` | {expect['tries']} | {state}: {outcome}; {points} points | {control} |"
            )
    return "\n".join(text)


def layer_table():
    """A Markdown table of attempts and the layers that hold them, for a grader that is root on Linux 6.12 or later."""
    table = layers.held_by(root=True, version=6)
    text = ["| What is tried | " + " | ".join(layers.LAYERS) + " |", "|---" * (len(layers.LAYERS) + 1) + "|"]
    for what, holding in table.items():
        text.append(f"| {what} | " + " | ".join("holds" if layer in holding else "" for layer in layers.LAYERS) + " |")
    return "\n".join(text)


def replaced(page, name, made):
    """The page with `made` between the markers of `name`. Raises ValueError unless there is one pair of them."""
    start, end = START.format(name), END.format(name)
    if page.count(start) != 1 or page.count(end) != 1:
        raise ValueError(f"docs/security.md has no one place for {name}")
    return re.sub(f"{re.escape(start)}.*{re.escape(end)}", lambda _: f"{start}\n{made}\n{end}", page, flags=re.DOTALL)


def main():
    """Run the suite, write the page; returns pytest's exit code."""
    report = ROOT / ".autograder" / "hostile.xml"
    report.parent.mkdir(exist_ok=True)
    tests = [str(ROOT / "tests" / name) for name in ("sandbox/test_hostile.py", "sandbox/test_layers.py")]
    command = [sys.executable, "-m", "pytest", *tests, f"--junitxml={report}", "-k", "not in_the_table"]
    code = subprocess.run(command, cwd=ROOT).returncode
    held, failed = set(), set()
    for case in ElementTree.parse(report).iter("testcase"):
        name = re.search(r"\[(.*)\]", case.get("name"))
        if name:
            bad = case.find("failure") is not None or case.find("error") is not None
            (failed if bad else held).add(name[1])
    os.unlink(report)
    page = PAGE.read_text(encoding="utf-8")
    page = replaced(page, "attacks", attack_tables(held - failed))
    PAGE.write_text(replaced(page, "layers", layer_table()), encoding="utf-8")
    return code


if __name__ == "__main__":
    sys.exit(main())
