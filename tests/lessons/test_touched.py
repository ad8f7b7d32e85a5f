"""What students touch, in JupyterLab and Notebook 7 in Chromium: sliders, a table of heads, parts brought along."""

import json
import shutil

import pytest
from chrome import BROWSER, chromium, until
from conftest import ROOT, load
from lab import RUN, SAVE, TOKEN, opened, server
from lessons import NAMES
from selenium.webdriver import Keys

pytestmark = [
    pytest.mark.skipif(not BROWSER, reason="needs chromium"),
    pytest.mark.slow("it opens lessons in JupyterLab and Notebook 7"),
]

CELLS = {  # what each needs comes first
    "01": ("setup", "drawing", "sliding", "scale-slider"),
    "03": ("length-slider",),
    "08": ("rope-picture",),
    "04": ("gpt2-heads", "gpt2-slider", "storyteller", "storyteller-read", "storyteller-map", "storyteller-yours"),
}
SLIDERS = {  # its cell -> its id in the page, and its labels: where it starts, one to the right, and at the end
    "01-scale-slider": ("slider-scores-times", "5", "10", "10,000"),
    "03-length-slider": ("slider-words-so-far", "5", "6", "9"),
    "04-gpt2-slider": ("slider-gpt-2-looks-from", "10. dog", "11. was", "16. ."),
    "08-rope-picture": ("slider-place-of-the-query", "3", "4", "1000"),
}
VIEWS = {"JupyterLab": "lab/tree", "Notebook 7": "notebooks"}
MANY = "return window.jupyterapp.shell.currentWidget.content.widgets.length"
GO_TO = """
  const [number] = arguments, content = window.jupyterapp.shell.currentWidget.content;
  content.activeCellIndex = number;
  content.scrollToItem(number);
"""
PICTURE = """
  const cell = window.jupyterapp.shell.currentWidget.content.widgets[arguments[0]];
  const picture = cell.node.querySelector('.jp-OutputArea img');
  return picture && picture.naturalWidth > 500 ? picture.src : '';
"""
SOURCE = "return window.jupyterapp.shell.currentWidget.content.widgets[arguments[0]].model.sharedModel.source"
SAID = """
  const cell = window.jupyterapp.shell.currentWidget.content.widgets[arguments[0]];
  return cell.model.outputs.toJSON().map(one => one.text ?? one.evalue).join('');
"""
ACTIVE = "return window.jupyterapp.shell.currentWidget.content.activeCellIndex"


@pytest.fixture(scope="module")
def work(tmp_path_factory):
    """A folder with a notebook of these cells, and with a lesson as it is released."""
    folder = tmp_path_factory.mktemp("work")
    notebook = load(ROOT / "source" / NAMES["01"] / f"{NAMES['01']}.ipynb")
    notebook["cells"] = [
        {**cell, "metadata": {}, "id": f"{number}-{cell['id']}"}
        for number, ids in CELLS.items()
        for cell in load(ROOT / "source" / NAMES[number] / f"{NAMES[number]}.ipynb")["cells"]
        if cell["id"] in ids
    ]
    notebook["cells"][0]["source"] = ["import math\n", *notebook["cells"][0]["source"]]  # as lesson 08 does
    for view in VIEWS:
        (folder / f"{view}.ipynb").write_text(json.dumps(notebook))
    shutil.copy(ROOT / "release" / NAMES["03"] / f"{NAMES['03']}.ipynb", folder / "released.ipynb")
    return folder


@pytest.fixture(scope="module")
def url(work, tmp_path_factory):
    with server(work, tmp_path_factory.mktemp("student")) as url:
        yield url


@pytest.fixture(scope="module")
def window(tmp_path_factory):
    with chromium(tmp_path_factory.mktemp("browser"), wide=1400) as window:
        yield window


def show(window, url, view, name):
    """Open a notebook; returns how many cells it has."""
    opened(window, f"{url}{VIEWS[view]}/{name}.ipynb?reset&token={TOKEN}")  # no other notebook beside it
    return window.execute_script(MANY)


def picture_of(window, number):
    """What the picture in the output of a cell is, once it is drawn; cells far from the window are not in the page."""
    window.execute_script(GO_TO, number)
    return until(lambda: window.execute_script(PICTURE, number))


def element(window, selector):
    return until(lambda: window.find_element("css selector", selector))


@pytest.mark.parametrize("view", VIEWS)
def test_sliders_and_the_table_of_heads_move_and_without_trust_the_still_pictures_stay(work, url, window, view):
    ids = [cell["id"] for cell in load(work / f"{view}.ipynb")["cells"]]
    for number in range(show(window, url, view, view)):
        window.execute_async_script(RUN, number)
    still = {}
    for cell, (key, *labels) in SLIDERS.items():
        window.execute_script(GO_TO, ids.index(cell))
        still[ids.index(cell)] = _moves(window, f"#{key}", *labels)
    window.execute_script(GO_TO, len(ids) - 1)
    _hovers(window, "#my-sentence")

    window.execute_async_script(SAVE)
    notebook = load(work / f"{view}.ipynb")
    notebook["cells"][0]["source"] = "# somebody else's, so it is not trusted"
    (work / f"strange {view}.ipynb").write_text(json.dumps(notebook))
    show(window, url, view, f"strange {view}")
    assert {number: picture_of(window, number) for number in still} == still
    window.execute_script(GO_TO, len(ids) - 1)
    table = element(window, ".jp-OutputArea table")
    assert "layer 3, head 4" in table.text and ".9" in table.text
    assert not window.find_elements("css selector", ".jp-OutputArea input, .jp-OutputArea script")


def _moves(window, holder, start, one_more, end):
    """Move a slider with the keyboard: the picture and what is said change. Returns the picture that it starts with."""
    picture, slider = element(window, f"{holder} img"), element(window, f"{holder} input")
    seen = {_said(window, holder): picture.get_attribute("src")}
    slider.send_keys(Keys.SHIFT)  # which focuses it
    cell = window.execute_script(ACTIVE)
    for key, label in ((Keys.ARROW_RIGHT, one_more), (Keys.END, end)):
        slider.send_keys(key)
        assert _said(window, holder) == label == slider.get_attribute("aria-valuetext")
        assert picture.get_attribute("alt").endswith(f": {label}")
        seen[label] = picture.get_attribute("src")
    assert list(seen) == [start, one_more, end] and len(set(seen.values())) == 3
    slider.send_keys(Keys.ARROW_LEFT, Keys.ARROW_DOWN)
    assert picture.get_attribute("src") not in (seen[start], seen[end])
    assert element(window, f"{holder} input:focus") and window.execute_script(ACTIVE) == cell
    return seen[start]


def _said(window, holder):
    return element(window, f"{holder} b").text


def _hovers(window, table):
    """Reach a word of the table with the keyboard, and point at another: the caption and the weights change."""
    words = window.find_elements("css selector", f"{table} th[data-word]")
    seen = [_shown(window, table)]
    words[2].send_keys(Keys.SHIFT)  # which focuses it
    seen.append(_shown(window, table))
    window.execute_script("arguments[0].dispatchEvent(new MouseEvent('mouseenter'))", words[5])
    seen.append(_shown(window, table))
    assert all(f"“{words[at].text}”" in said for at, (said, _) in zip((-1, 2, 5), seen, strict=True))
    assert len({tuple(weights) for _, weights in seen}) == 3


def _shown(window, table):
    """What the caption of a table says, and its weights."""
    cells = window.find_elements("css selector", f"{table} td")
    return element(window, f"{table} caption").text, [cell.text for cell in cells]


@pytest.mark.parametrize("view", VIEWS)
def test_a_released_lesson_shows_its_diagrams_before_a_cell_is_run(url, window, view):
    show(window, url, view, "released")
    cells = load(ROOT / "release" / NAMES["03"] / f"{NAMES['03']}.ipynb")["cells"]
    stored = [number for number, cell in enumerate(cells) if cell.get("outputs")]
    assert len(stored) > 1 and all(picture_of(window, number) for number in stored)


@pytest.mark.parametrize("view", VIEWS)
def test_a_part_of_a_lesson_takes_the_place_of_the_cell_that_brings_it_to_the_next(work, url, window, view):
    """The lessons as they are, one as it is solved and one as it is released; only what both cells need is run."""
    folder = view.replace(" ", "_")
    for kind, number in (("solutions", "02"), ("release", "03")):
        shutil.copytree(ROOT / kind / NAMES[number], work / folder / NAMES[number])
    first, second = (_ids(work / folder / NAMES[number]) for number in ("02", "03"))
    code = _source(work / folder / NAMES["02"], "attention-solution").strip()
    place = second.index("attention-yours")

    show(window, url, view, f"{folder}/{NAMES['02']}/{NAMES['02']}")
    said = _run(window, *map(first.index, ("setup", "parts", "attention-solution", "keep")))
    assert "Kept for later lessons, in my_parts/lesson_02.py: attention." in said
    assert (work / folder / NAMES["02"] / "my_parts" / "lesson_02.py").exists()

    show(window, url, view, f"{folder}/{NAMES['03']}/{NAMES['03']}")
    said = _run(window, *map(second.index, ("setup", "parts")), place)
    assert said.startswith("Your parts are here, and their code is in this cell")
    assert window.execute_script(SOURCE, place).endswith(code)
    assert not _run(window, place)  # it has all that it needs: this defines the part once more
    window.execute_async_script(SAVE)
    assert _source(work / folder / NAMES["03"], "attention-yours").endswith(code)


def _ids(folder):
    return [cell["id"] for cell in load(folder / f"{folder.name}.ipynb")["cells"]]


def _source(folder, id):
    (source,) = ["".join(cell["source"]) for cell in load(folder / f"{folder.name}.ipynb")["cells"] if cell["id"] == id]
    return source


def _run(window, *numbers):
    """Run these cells; returns what the last one prints, or the error that it stops with."""
    for number in numbers:
        window.execute_async_script(RUN, number)
    return window.execute_script(SAID, numbers[-1])
