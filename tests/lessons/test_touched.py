"""What students touch, in JupyterLab and Notebook 7 in Chromium: three sliders and the storyteller's table of heads."""

import json
import shutil

import desk_browser
import pytest
from conftest import ROOT, load
from desk_browser import chromium, until
from lab import RUN, SAVE, TOKEN, opened, server
from lessons import NAMES
from selenium.webdriver import Keys

pytestmark = pytest.mark.skipif(not desk_browser.BROWSER, reason="needs chromium")

CELLS = {  # what each needs comes first
    "01": ("setup", "drawing", "sliding", "scale-slider"),
    "03": ("length-slider",),
    "08": ("rope-picture",),
    "04": ("storyteller", "storyteller-read", "storyteller-yours"),
}
SLIDERS = {  # the id in the page -> labels: where it starts, one to the right, and at the end
    "slider-scores-times": ("5", "10", "10,000"),
    "slider-words-so-far": ("5", "6", "9"),
    "slider-place-of-the-query": ("3", "4", "1000"),
}
VIEWS = {"JupyterLab": "lab/tree", "Notebook 7": "notebooks"}
ALL_AT_ONCE = """
  const content = window.jupyterapp.shell.currentWidget.content;
  content.notebookConfig = {...content.notebookConfig, windowingMode: 'none'};
  return content.widgets.length;
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
    """Open a notebook, with all of its cells in the page; returns how many they are."""
    opened(window, f"{url}{VIEWS[view]}/{name}.ipynb?reset&token={TOKEN}")  # no other notebook beside it
    return window.execute_script(ALL_AT_ONCE)


def element(window, selector):
    return until(lambda: window.find_element("css selector", selector))


@pytest.mark.parametrize("view", VIEWS)
def test_sliders_and_the_table_of_heads_move_and_without_trust_the_still_pictures_stay(work, url, window, view):
    for number in range(show(window, url, view, view)):
        window.execute_async_script(RUN, number)
    still = {}
    for key, labels in SLIDERS.items():
        still[key] = _moves(window, f"#{key}", *labels)
    _hovers(window, "#my-sentence")

    window.execute_async_script(SAVE)
    notebook = load(work / f"{view}.ipynb")
    notebook["cells"][0]["source"] = "# somebody else's, so it is not trusted"
    (work / f"strange {view}.ipynb").write_text(json.dumps(notebook))
    show(window, url, view, f"strange {view}")
    tables = until(lambda: window.find_elements("css selector", ".jp-OutputArea table"))
    pictures = _pictures(window, len(SLIDERS))
    assert [picture.get_attribute("src") for picture in pictures] == list(still.values())
    assert not window.find_elements("css selector", ".jp-OutputArea input, .jp-OutputArea script")
    assert len(tables) == 1 and "layer 3, head 4" in tables[0].text and ".9" in tables[0].text


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
    stored = [
        cell for cell in load(ROOT / "release" / NAMES["03"] / f"{NAMES['03']}.ipynb")["cells"] if cell.get("outputs")
    ]
    assert len(stored) > 1 and _pictures(window, len(stored))


def _pictures(window, number):
    """The pictures of all outputs: so many, and all of them are drawn."""
    width = "return arguments[0].naturalWidth"

    def pictures():
        return window.find_elements("css selector", ".jp-OutputArea img")

    until(lambda: [window.execute_script(width, one) > 500 for one in pictures()] == [True] * number)
    return pictures()
