"""docs/originals.md: what it says of the course is there."""

import json
import re

import pytest
from conftest import ROOT

from autograder import course

TEXT = (ROOT / "docs" / "originals.md").read_text(encoding="utf-8")
EXERCISES = sorted(set(re.findall(r"`(\d\d): (\w+)`", TEXT)))
SECTIONS = sorted(set(re.findall(r"`(\d\d)`, \"([^\"]+)\"", TEXT)))


@pytest.mark.parametrize("number, name", EXERCISES)
def test_an_exercise_named_is_in_the_assignment_named(number, name):
    assert name in [e.name for e in course.find_assignment(number).exercises]


@pytest.mark.parametrize("number, heading", SECTIONS)
def test_a_section_named_is_in_the_assignment_named(number, heading):
    cells = json.loads(course.find_assignment(number).path.read_text(encoding="utf-8"))["cells"]
    headings = re.findall(r"^#+ (.+)$", "\n".join("".join(c["source"]) for c in cells), re.MULTILINE)
    assert heading in headings


def test_it_speaks_of_all_originals_and_most_exercises():
    assert re.findall(r"^## (\d{3}):", TEXT, re.MULTILINE) == ["000", "001", "002", "003", "004"]
    assert len(EXERCISES) >= 25 and len(SECTIONS) >= 8
