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
