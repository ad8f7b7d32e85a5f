"""Runs a lesson's solution from top to bottom, once, for the tests that hold its sentences against what it prints."""

import contextlib
import functools
import io
import unittest.mock
from dataclasses import dataclass, field

from conftest import ROOT, load

from autograder import course

NAMES = {name[:2]: name for name in sorted(course.assignments(ROOT))}


@dataclass(frozen=True)
class Picture:
    """A figure that a cell showed: its width in inches, and its smallest writing in points."""

    cell: str
    width: float
    smallest: float


@dataclass
class Lesson:
    """A lesson after its solution ran: what its cells say and print, what they drew, and what their names hold."""

    texts: dict[str, str] = field(default_factory=dict)  # cell id -> its source, as written
    printed: dict[str, str] = field(default_factory=dict)  # cell id -> what it wrote to stdout
    values: dict[str, object] = field(default_factory=dict)  # the notebook's names at the end
    pictures: list[Picture] = field(default_factory=list)

    def hard_to_read(self) -> list[Picture]:
        """Pictures that shrink in a narrow window, wider than 12 inches, or with writing below 8 points."""
        return [picture for picture in self.pictures if picture.width > 12 or picture.smallest < 8]

    def says(self, *parts: str) -> bool:
        """Whether some text cell holds all of these parts, whatever its line breaks."""
        return any(all(part in " ".join(text.split()) for part in parts) for text in self.texts.values())


@functools.cache
def run(number: str) -> Lesson:
    """The lesson of that number, "01" …, without a network; an error in any of its cells is raised.

    So is an AssertionError for a graded cell that writes to stderr: Validate takes that for a failure (nbgrader's
    `utils.determine_grade`), and would fail a right notebook for a progress bar or a warning.
    """
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt
    import torch

    torch.manual_seed(0)
    no_network = unittest.mock.patch("urllib.request.urlopen", side_effect=OSError("tests have no network"))
    lesson = Lesson()
    lesson.values["__name__"] = "__main__"
    notebook = load(ROOT / "solutions" / NAMES[number] / f"{NAMES[number]}.ipynb")
    for cell in notebook["cells"]:
        text = lesson.texts[cell["id"]] = "".join(cell["source"])
        if cell["cell_type"] != "code":
            continue
        out, err = io.StringIO(), io.StringIO()
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err), no_network:
            exec(compile(text, f"{NAMES[number]}/{cell['id']}", "exec"), lesson.values)
        graded = cell["metadata"].get("nbgrader", {}).get("grade")
        assert not (graded and err.getvalue()), f"Validate would fail {cell['id']} for {err.getvalue()!r}"
        lesson.printed[cell["id"]] = _without_bars(out.getvalue())
        lesson.pictures += [_picture(cell["id"], plt.figure(number)) for number in plt.get_fignums()]
        plt.close("all")
    return lesson


def _without_bars(text):
    """A text without its progress bars, which write the same line again and again."""
    return "\n".join(line for line in text.split("\n") if "\r" not in line)


def _picture(cell, figure):
    import matplotlib.text

    figure.canvas.draw()
    written = figure.findobj(lambda artist: isinstance(artist, matplotlib.text.Text) and artist.get_text().strip())
    return Picture(cell, figure.get_figwidth(), min((text.get_fontsize() for text in written), default=8.0))
