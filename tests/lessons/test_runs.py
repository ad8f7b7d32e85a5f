"""What each lesson draws as it is run: solved, untouched and half-solved."""

import re

import pytest
from conftest import ROOT, load
from lessons import one_lesson, run, run_all

from autograder import course

NAMES = sorted(course.assignments(ROOT))


@one_lesson(lambda name, **_: name[:2])
@pytest.mark.parametrize("name", NAMES[:9])
def test_each_picture_is_told_in_words_too(name):
    """Of a solved lesson: `alt`, in the metadata of a cell, is what a page of nbconvert has for who sees no picture."""
    cells = {cell["id"]: cell for cell in load(ROOT / "source" / name / f"{name}.ipynb")["cells"]}
    drawn = {picture.cell for picture in run(name[:2]).pictures}
    alts = {id: alt for id, cell in cells.items() if (alt := cell["metadata"].get("alt"))}
    assert drawn <= alts.keys() and all(20 < len(alt) < 300 for alt in alts.values())
    code = [id for id in alts if not re.search(r"plt|sketch|show_|draw|Slider", "".join(cells[id]["source"]))]
    assert code == [], "a cell that draws nothing needs no words for it"


@one_lesson(lambda name, **_: name[:2])
@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("half", [False, True], ids=["untouched", "half-solved"])
def test_run_all_before_all_is_solved_draws_nothing_strange(name, half):
    """No cell of the lesson's own stops, warns, or draws what is wider than a screen or half empty."""
    number = name[:2]
    ran = run_all(number, len(course.assignments(ROOT)[name].exercises) // 2 if half else 0)
    own = course.assignments(ROOT)[name].lesson_ids
    assert ran.pictures and ran.strange() == []
    assert {id: said for id, said in (ran.raised | ran.warned).items() if id in own} == {}
