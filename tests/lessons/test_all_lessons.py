"""What all lessons share: drawing and rules."""

import re

import pytest
from conftest import ROOT, load

from autograder import course

NAMES = sorted(course.assignments(ROOT))


def texts(name):
    notebook = load(ROOT / "source" / name / f"{name}.ipynb")
    return {cell["id"]: "".join(cell["source"]) for cell in notebook["cells"]}


@pytest.mark.parametrize("name", NAMES)
def test_the_rules_and_the_drawing_are_the_same_in_each(name):
    first = texts(NAMES[0])
    here = texts(name)
    assert here["drawing"] == first["drawing"]
    assert here["rules"].split("**New here:**")[0] == first["rules"].split("**New here:**")[0]


SOON = {"01": 570, "02": 510, "03": 350, "04": 450, "05": 600, "06": 600, "07": 600}  # words before the first exercise


@pytest.mark.parametrize("number", SOON)
def test_an_exercise_comes_soon_and_the_minutes_add_up(number):
    """What is folded does not count: it is there to be looked up."""
    (name,) = [name for name in NAMES if name.startswith(number)]
    cells = load(ROOT / "source" / name / f"{name}.ipynb")["cells"]
    texts = ["".join(cell["source"]) for cell in cells if cell["cell_type"] == "markdown"]
    first = next(place for place, text in enumerate(texts) if text.startswith("## Exercise 1"))
    before = "\n\n".join(texts[:first])
    words = len(re.sub(r"<details>.*?</details>", "", before, flags=re.DOTALL).split())
    another = int(re.search(r"The text before the first one takes another (\d+)\.", before)[1])
    assert words <= SOON[number] and another >= words / 200
    *minutes, total = [int(row) for row in re.findall(r"^\| .* \|[ *]+(\d+)[ *]+\|$", before, re.MULTILINE)]
    assert sum(minutes) == total
    headings = [re.match(r".*?^\*\*\d+ points? · (\d+) minutes", text, re.DOTALL | re.MULTILINE) for text in texts]
    assert [int(found[1]) for found in headings if found] == minutes


@pytest.mark.parametrize("name", NAMES)
def test_no_running_text_speaks_of_a_notebook_that_students_do_not_have(name):
    notebook = load(ROOT / "source" / name / f"{name}.ipynb")
    spoken = [
        cell["id"]
        for cell in notebook["cells"]
        if cell["cell_type"] == "markdown"
        and cell["id"] != "credits"
        and re.search(r"\b[Nn]otebooks? 00\d|(?<![,.\d])00[0-4]\b", "".join(cell["source"]))
    ]
    assert spoken == []
