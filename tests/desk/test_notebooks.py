"""`hand_in()` in real notebooks: JupyterLab and Notebook 7 in Chromium, with a desk that grades.

VS Code and Colab cannot be run here; test_hand_in.py simulates the ways in which they name a notebook.
"""

import json
import shutil

import desk_browser
import pytest
from chrome import BROWSER, chromium, until
from conftest import load
from desk_browser import NAME, code_of
from lab import EDIT, SAVE, TOKEN, hand_in, opened, output, run_all, server
from selenium.webdriver import Keys
from selenium.webdriver.common.by import By

pytestmark = [
    pytest.mark.skipif(not BROWSER, reason="needs chromium"),
    pytest.mark.slow("it starts JupyterLab and Notebook 7"),
]


@pytest.fixture(scope="module")
def desk(tmp_path_factory):
    place = tmp_path_factory.mktemp("desk") / "course"
    place.mkdir()
    with desk_browser.opened(place, at_once=100) as desk:
        yield desk


@pytest.fixture(autouse=True)
def in_the_course(desk, monkeypatch):
    monkeypatch.chdir(desk.place)


@pytest.fixture(scope="module")
def students(desk, tmp_path_factory):
    """(the folder in which a student works, the address of the Jupyter server there), and a home without a key."""
    scratch = tmp_path_factory.mktemp("student")
    work = shutil.copytree(desk.place / "release" / NAME, scratch / "work")
    with server(work, scratch) as url:
        yield work, url


@pytest.fixture(scope="module")
def window(tmp_path_factory):
    with chromium(tmp_path_factory.mktemp("browser"), wide=1400) as window:
        yield window


def type_key(window, key):
    """Type the key where `hand_in()` asks for it."""
    box = until(lambda: window.find_element(By.CSS_SELECTOR, "input.jp-Stdin-input"))
    assert box.get_attribute("type") == "password"
    box.send_keys(key, Keys.ENTER)


def test_in_jupyterlab(desk, students, window):
    """The mistake's name appears below the cell; it is mended, saved, handed in again, and what changed is seen."""
    work, url = students
    opened(window, f"{url}lab/tree/{NAME}.ipynb?token={TOKEN}")
    run_all(window)
    window.execute_script(EDIT, code_of("upside down"))
    run_all(window)
    hand_in(window)
    until(lambda: "Save first" in output(window))
    assert "another causal_mask than you ran last" in output(window) and not desk.record.attempts()
    window.execute_async_script(SAVE)
    hand_in(window)
    type_key(window, desk.key("ada"))
    until(lambda: "Points:" in output(window))
    first = desk.record.attempts("student:ada")[0]
    (name,) = first.told[0]["names"]
    assert "Received" in output(window) and name["message"].replace("`", "") in output(window)
    assert desk.record.content(first.sha256) == (work / f"{NAME}.ipynb").read_bytes()
    window.execute_script(EDIT, code_of("right"))
    run_all(window)
    window.execute_async_script(SAVE)
    hand_in(window)  # the key is known now
    until(lambda: "Changed:" in output(window))
    assert "fixed: " + name["message"].replace("`", "") in output(window)
    assert desk.record.attempts("student:ada")[1].number == 2


def test_in_notebook_7(desk, students, window):
    """It names the notebook in its own way, here in a folder and with a student's name for it; `ask` is for one."""
    work, url = students
    folder = work / "my work"
    folder.mkdir()
    shutil.copy(work / "hand_in.py", folder)
    notebook = load(desk.place / "release" / NAME / f"{NAME}.ipynb")
    for cell in notebook["cells"]:
        if "def causal_mask" in "".join(cell["source"]):
            cell["source"] = code_of("upside down")
    notebook["cells"][-1]["source"] = 'from hand_in import ask\n\nask("causal_mask")'
    (folder / "Übung (2).ipynb").write_text(json.dumps(notebook))
    (work.parent / "config").mkdir(exist_ok=True)
    shutil.rmtree(work.parent / "config")
    opened(window, f"{url}notebooks/my%20work/%C3%9Cbung%20(2).ipynb?token={TOKEN}")
    hand_in(window)
    type_key(window, desk.key("bela"))
    until(lambda: "in your line" in output(window) or "Points" in output(window))
    (attempt,) = desk.record.attempts("student:bela")
    assert attempt.exercise == "causal_mask"
    assert desk.record.content(attempt.sha256) == (folder / "Übung (2).ipynb").read_bytes()
    until(lambda: attempt_told(desk, attempt) in output(window))


def attempt_told(desk, attempt):
    return desk.record.attempt(attempt.id).told[0]["names"][0]["message"].replace("`", "")
