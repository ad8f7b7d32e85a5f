"""What CONTRIBUTING.md shows works as it stands there."""

import json
import re

import pytest
from conftest import ROOT, load
from small_course import NAME, autograder, copy, submit

from autograder import course
from autograder.checks.proxies import Local
from autograder.checks.runner import Graders
from autograder.mistakes.bank import bank, right_answer
from autograder.mistakes.diagnosis import diagnose

EXERCISE = "largest_gap"


@pytest.fixture
def place(tmp_path, monkeypatch):
    """A course to which the page's exercise was added."""
    page = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    blocks = dict(re.findall(r"^```python ([^\n]+)\n(.*?)^```", page, re.MULTILINE | re.DOTALL))
    place = copy(tmp_path / "course")
    path = place / "source" / NAME / f"{NAME}.ipynb"
    notebook = load(path)
    table = "".join(notebook["cells"][0]["source"])
    row = f"| 3. `{EXERCISE}` | implement | 0 | 10 |\n| **total**"
    notebook["cells"][0]["source"] = table.replace("| **total**", row)
    notebook["cells"].append(text(f"## 3. Write `{EXERCISE}`\n\n**0 points · 10 minutes · easy**\n"))
    notebook["cells"].append(code(f"{EXERCISE}-solution", blocks.pop("solution"), solution=True))
    notebook["cells"].append(code(EXERCISE, blocks.pop("visible check"), grade=True, locked=True, points=0))
    path.write_text(json.dumps(notebook), encoding="utf-8")
    for name, block in blocks.items():
        file = place / "exercises" / EXERCISE / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(block, encoding="utf-8")
    monkeypatch.chdir(place)
    yield place
    course.forget()


def text(source):
    return {"cell_type": "markdown", "id": f"{EXERCISE}-text", "metadata": {}, "source": source}


def code(grade_id, source, **kind):
    meta = {"schema_version": 3, "grade": False, "solution": False, "locked": False, "task": False, **kind}
    metadata = {"nbgrader": {"grade_id": grade_id, **meta}}
    cell = {"cell_type": "code", "id": grade_id, "metadata": metadata, "source": source.rstrip()}
    return {**cell, "outputs": [], "execution_count": None}


def test_the_exercise_of_the_page_builds_and_grades(place):
    assert autograder(place, "build")[0] == 0
    course.forget()
    assert course.exercises()[EXERCISE].points == 2
    paths = [submit(place, s, {EXERCISE: a}, "solutions") for s, a in {"ada": answer(), "bela": wrong()}.items()]
    assert autograder(place, "check", paths[0])[0] == 0
    exit_code, out, _ = autograder(place, "check", paths[1])
    assert exit_code == 1 and "take their absolute value" in out

    graders = Graders()
    for id, mistake in bank(EXERCISE).items():
        run = graders.run(EXERCISE, mistake.local(), 1)
        assert run.failed() and [d.id for d in diagnose(run, graders)] == [id]
    namespace: dict[str, object] = {}
    exec(right_answer(EXERCISE, "diff"), namespace)
    assert graders.run(EXERCISE, Local(namespace), 1).failed() == []


def answer():
    return right_answer(EXERCISE)


def wrong():
    return bank(EXERCISE)["sign-kept"].source
