"""The second course, about averages, copied to a folder of its own; and running commands in a course."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

from conftest import ROOT, cell_of, hand_in, load

AVERAGES = ROOT / "tests" / "courses" / "averages"
NAME = "01_averages"


def copy(place: Path) -> Path:
    return Path(shutil.copytree(AVERAGES, place))


def autograder(place: Path, *arguments: str) -> tuple[int, str, str]:
    """(exit code, stdout, stderr) of an `autograder` command run in a course."""
    return command(place, sys.executable, "-m", "autograder", *arguments)


def command(place: Path, *arguments: str) -> tuple[int, str, str]:
    """The same for any command."""
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    done = subprocess.run(
        [*map(str, arguments)], cwd=place, env=environment, capture_output=True, text=True, timeout=300
    )
    assert "Traceback" not in done.stdout + done.stderr, done.stderr
    return done.returncode, done.stdout, done.stderr


def submit(place: Path, student: str, answers: dict[str, str], folder: str = "release") -> Path:
    """Hand in the released notebook (or the solutions'), with these sources as the answers to exercises."""
    notebook = load(place / folder / NAME / f"{NAME}.ipynb")
    for exercise, source in answers.items():
        cell_of(notebook, f"{exercise}-solution")["source"] = source
    return hand_in(json.dumps(notebook), place / "submitted" / student / NAME, f"{NAME}.ipynb")
