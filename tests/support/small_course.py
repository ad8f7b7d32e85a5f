"""Small courses, copied to a folder of their own, about averages and about one function; and running commands there."""

import json
import os
import shutil
import subprocess
from pathlib import Path

import warm
from conftest import ROOT, cell_of, hand_in, load

from autograder.new import scratch

AVERAGES = ROOT / "tests" / "courses" / "averages"
FIRST = ROOT / "tests" / "courses" / "first"
NAME = "01_averages"


def copy(place: Path) -> Path:
    return Path(shutil.copytree(AVERAGES, place))


def first(place: Path) -> Path:
    """A course of one exercise to fix and one question, with all that `autograder new course` gives a course."""
    shutil.copytree(FIRST, place)
    shutil.copyfile(scratch.TEMPLATES / "course" / "README.md", place / "README.md")
    scratch.write_frame(place, place.name)
    return place


def autograder(place: Path, *arguments: str) -> tuple[int, str, str]:
    """(exit code, stdout, stderr) of an `autograder` command run in a course, by a warm process."""
    return command(place, "autograder", *arguments)


def command(place: Path, *arguments: str) -> tuple[int, str, str]:
    """The same for `autograder …` or `nbgrader …`."""
    return _ended(warm.run(place, *arguments))


def real(place: Path, *arguments: str) -> tuple[int, str, str]:
    """The same for any command, which is started as a user starts it."""
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    done = subprocess.run(
        [*map(str, arguments)], cwd=place, env=environment, capture_output=True, text=True, timeout=300
    )
    return _ended(done)


def _ended(done: subprocess.CompletedProcess[str]) -> tuple[int, str, str]:
    assert "Traceback" not in done.stdout + done.stderr, done.stderr
    return done.returncode, done.stdout, done.stderr


def submit(place: Path, student: str, answers: dict[str, str], folder: str = "release") -> Path:
    """Hand in the released notebook (or the solutions'), with these sources as the answers to exercises."""
    notebook = load(place / folder / NAME / f"{NAME}.ipynb")
    for exercise, source in answers.items():
        cell_of(notebook, f"{exercise}-solution")["source"] = source
    return hand_in(json.dumps(notebook), place / "submitted" / student / NAME, f"{NAME}.ipynb")


def edit(place: Path, change) -> None:
    """Change the course's source notebook: `change` gets the parsed notebook."""
    path = place / "source" / NAME / f"{NAME}.ipynb"
    notebook = load(path)
    change(notebook)
    path.write_text(json.dumps(notebook, indent=1, ensure_ascii=False) + "\n")


def graded_cell(id: str, source: str, points: float, is_answer: bool = False) -> dict:
    """A graded cell: a written answer, or the test cell of an exercise."""
    meta = {"schema_version": 3, "grade_id": id, "grade": True, "solution": is_answer, "locked": not is_answer}
    about = {"nbgrader": {**meta, "task": False, "points": points}}
    if is_answer:
        return {"cell_type": "markdown", "id": id, "metadata": about, "source": source}
    return {"cell_type": "code", "id": id, "metadata": about, "source": source, "outputs": [], "execution_count": None}


def add_question(notebook: dict, id: str = "why", points: float = 4) -> None:
    """Add a written question to the end of a source notebook, with its heading and its row in the table."""
    text = f"## {id.title()}?\n\n**{points:g} points · 5 minutes · easy**\n\n{id.title()} the mean?"
    notebook["cells"].append({"cell_type": "markdown", "id": f"{id}-text", "metadata": {}, "source": text})
    answer = "YOUR ANSWER\n\n### BEGIN SOLUTION\nIt is the best guess.\n### END SOLUTION"
    notebook["cells"].append(graded_cell(id, answer, points, is_answer=True))
    intro = notebook["cells"][0]
    rows = "".join(intro["source"]).split("\n")
    intro["source"] = "\n".join([*rows[:-1], f"| {len(rows) - 4}. why | answer | {points:g} | 5 |", rows[-1]])
