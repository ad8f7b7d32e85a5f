"""What all lessons share: drawing and rules."""

import re

import pytest
from conftest import ROOT, load
from lessons import run_all

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


@pytest.mark.parametrize("name", NAMES)
def test_torch_keeps_to_one_thread_from_the_start(name):
    """A second thread is no help with tensors this small, and on a busy machine it makes a cell many times slower."""
    settings = [id for id, text in texts(name).items() if "set_num_threads" in text]
    assert settings == ["setup"] and "torch.set_num_threads(1)" in texts(name)["setup"]


@pytest.mark.parametrize("name", NAMES)
def test_no_text_sends_students_to_a_page_that_they_do_not_have(name):
    """They have the notebooks, and none of the course's docs; where a link leads is somebody else's."""
    assert [id for id, text in texts(name).items() if re.search(r"(?<![/\w.])docs/|originals\.md", text)] == []


HAVE_NO_NAMES = (
    "The public notebooks that the exercises grew out of have no names here; this course numbers them 000 to 004: "
)


@pytest.mark.parametrize("name", NAMES)
def test_who_reads_the_number_of_a_notebook_reads_what_it_is(name):
    before, found, after = texts(name)["credits"].partition(HAVE_NO_NAMES)
    assert not re.search(r"(?<![,.\d])00[0-4]\b", before)
    assert not found or re.match(r"00[0-4] \w+ \w+", after)


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("half", [False, True], ids=["untouched", "half-solved"])
def test_run_all_before_all_is_solved_draws_nothing_strange(name, half):
    """No cell of the lesson's own stops, warns, or draws what is wider than a screen or half empty."""
    number = name[:2]
    ran = run_all(number, len(course.assignments(ROOT)[name].exercises) // 2 if half else 0)
    own = course.assignments(ROOT)[name].lesson_ids
    assert ran.pictures and ran.strange() == []
    assert {id: said for id, said in (ran.raised | ran.warned).items() if id in own} == {}
