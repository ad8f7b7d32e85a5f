"""Makes the README's pictures: a class of the demo is graded, and a browser takes photographs of its pages.

Run it as `make pictures`; the pictures are those of docs/pictures.
"""

import html
import os
import re
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT), str(ROOT / "tests"), str(ROOT / "tests" / "support")]

from conftest import ASSIGNMENT, cell_of, hand_in, load  # noqa: E402
from formgrader import BROWSER, DRIVER  # noqa: E402

from autograder import course  # noqa: E402
from autograder.grading.store import Store  # noqa: E402
from autograder.watch import screen  # noqa: E402

PICTURES = ROOT / "docs" / "pictures"
NUMBER = ASSIGNMENT.split("_")[0]
RETURN = "return weights @ value, weights"
NAMELESS = "weights = 0.9 * weights"  # what some students add to a right answer: the bank has no name for it
LIKE_THIS = ("mira", "nils", "olga")
STUDENT = "greta"  # whose feedback is shown
WIDE, HIGH = 1280, 860  # pixels of a window
PORT = 8091  # of the desk whose page is shown
CLASS = 150.0  # seconds in which the demo's class has handed in, most of it twice
COLOURS = {"1": "font-weight: bold", "2": "color: #999", "31": "color: #e55", "32": "color: #5c5", "33": "color: #dc5"}


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder, "course")
        autograder(ROOT, "demo", NUMBER, "--folder", place)
        for student in LIKE_THIS:
            hand_in(nameless(place), place / "submitted" / student / ASSIGNMENT)
        autograder(place, "grade", NUMBER)
        autograder(place, "report", NUMBER)
        os.chdir(place)
        watched = Path(folder, "watch.html")
        watched.write_text(terminal(watch_screen(place)), encoding="utf-8")
        page = f"{ASSIGNMENT}.html"
        with browser(folder) as window:
            take(window, place / "feedback" / STUDENT / ASSIGNMENT / page, "feedback")
            take(window, place / "reports" / page, "report")
            take(window, place / "reports" / page, "groups", "#nameless")
            take(window, place / "reports" / f"{ASSIGNMENT}-by-hand.html", "by_hand")
            take(window, watched, "watch", "pre")
            take_desk(window, folder)


def take_desk(window, folder: str) -> None:
    """Take a photograph of what each sentence did, at the desk of the demo."""
    command = [sys.executable, "-m", "autograder", "desk", "--demo", "--port", str(PORT)]
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "PYTHONUNBUFFERED": "1"}
    with subprocess.Popen(command, cwd=folder, env=environment, stdout=subprocess.PIPE, text=True) as desk:
        try:
            link = next(found[0] for line in desk.stdout if (found := re.search(r"http://\S+/links/\S+", line)))
            window.get(link)
            window.find_element("css selector", "form button").click()
            time.sleep(CLASS)
            window.get(f"http://127.0.0.1:{PORT}/instructor/{ASSIGNMENT}")
            photograph(window, "desk", "#live-sentences")
        finally:
            desk.terminate()


def autograder(place: Path, *arguments: object) -> None:
    command = [sys.executable, "-m", "autograder", *map(str, arguments)]
    subprocess.run(command, cwd=place, env={**os.environ, "PYTHONPATH": str(ROOT)}, check=True)


def nameless(place: Path) -> dict:
    """The solution, with a mistake in `attention` that has no name."""
    notebook = load(place / "solutions" / ASSIGNMENT / f"{ASSIGNMENT}.ipynb")
    cell = cell_of(notebook, "attention-solution")
    source = "".join(cell["source"])
    cell["source"] = source.replace(RETURN, f"{NAMELESS}\n    {RETURN}")
    assert cell["source"] != source, "the solution of attention looks otherwise now"
    return notebook


def watch_screen(place: Path) -> str:
    """What a watch shows of the student's notebook, with colours."""
    verdict, _ = Store(place).latest_of(ASSIGNMENT, STUDENT)
    exercise = screen.next_exercise(verdict, set(), None)
    hints = course.hints_of(exercise)
    path = f"{ASSIGNMENT}.ipynb"
    state = screen.State(path, verdict, next=exercise, hints=hints[:1], more_hints=len(hints) - 1, keys=True)
    return screen.as_text(state, colours=True)


def terminal(text: str) -> str:
    """A terminal with this text, as HTML."""
    coloured = re.sub(
        r"\x1b\[(\d+)m(.*?)\x1b\[0m", lambda m: f'<span style="{COLOURS[m[1]]}">{m[2]}</span>', html.escape(text)
    )
    style = (
        "display: inline-block; margin: 0; padding: 18px; background: #1c1c1c; color: #ddd; font: 15px/1.35 monospace"
    )
    return f'<!DOCTYPE html><meta charset="utf-8"><pre style="{style}">{coloured}</pre>'


def browser(folder: str):
    from selenium import webdriver

    options = webdriver.ChromeOptions()
    options.binary_location = BROWSER
    for option in ("headless", "no-sandbox", "hide-scrollbars", "disable-gpu", f"user-data-dir={folder}/browser"):
        options.add_argument(f"--{option}")
    window = webdriver.Chrome(options=options, service=webdriver.ChromeService(DRIVER))
    window.set_window_size(WIDE, HIGH)
    return window


def take(window, path: Path, name: str, part: str | None = None) -> None:
    """Take a photograph of what a window shows first of a page, or of a part of it."""
    window.get(path.as_uri())
    photograph(window, name, part)


def photograph(window, name: str, part: str | None = None) -> None:
    """Take a photograph of what a window shows, or of a part of it."""
    made = PICTURES / f"{name}.png"
    if part is None:
        window.save_screenshot(str(made))
    else:
        window.find_element("css selector", part).screenshot(str(made))
    print(f"{made.relative_to(ROOT)}: {made.stat().st_size // 1024} kB")


if __name__ == "__main__":
    main()
