"""Runs a lesson from top to bottom: its solution once, for all tests of what it says, and what students have so far."""

import collections
import contextlib
import functools
import io
import tempfile
import unittest.mock
import warnings
from dataclasses import dataclass, field

import pytest
from conftest import ROOT, load

from autograder import course
from autograder.mistakes.bank import show_text
from autograder.sandbox.inside import no_dynamo

LONG = ("07", "08")  # each trains its models for a minute
NAMES = {name[:2]: name for name in sorted(course.assignments(ROOT))}


def one_lesson(by):
    """The mark of tests that run lessons: `make test` draws one of the twelve. `by` gives the number, as in `drawn`."""
    return pytest.mark.drawn(1, "lessons that are run", by=by, never=LONG)


def lesson(number):
    """The mark of tests that run this lesson."""
    return one_lesson(lambda **_: number)


@dataclass(frozen=True)
class Picture:
    """A figure that a cell showed.

    Its width in inches, and in pixels once drawn; its smallest writing in points; and whether a part of it is empty.
    `scales` are the lowest and the highest number of the colours of its heat maps, and `cut` says whether it has bars
    that do not begin at 0, which show differences larger than they are.
    """

    cell: str
    width: float
    pixels: float
    smallest: float
    unfinished: bool
    scales: frozenset[tuple[float, float]] = frozenset()
    cut: bool = False


@dataclass
class Lesson:
    """A lesson after its solution ran: what its cells say and print, what they drew, and what their names hold."""

    texts: dict[str, str] = field(default_factory=dict)  # cell id -> its source, as written
    printed: dict[str, str] = field(default_factory=dict)  # cell id -> what it wrote to stdout
    values: dict[str, object] = field(default_factory=dict)  # the notebook's names at the end
    pictures: list[Picture] = field(default_factory=list)
    raised: dict[str, str] = field(default_factory=dict)  # cell id -> the error that it stopped with
    warned: dict[str, str] = field(default_factory=dict)  # cell id -> what it wrote to stderr, progress bars left out

    def hard_to_read(self) -> list[Picture]:
        """Pictures that shrink in a narrow window, wider than 12 inches, or with writing below 8 points, or strange."""
        return self.strange() + [picture for picture in self.pictures if picture.width > 12 or picture.smallest < 8]

    def strange(self) -> list[Picture]:
        """Pictures that are drawn wider than 1,500 pixels, whatever their figure's size, or with a part left empty."""
        return [picture for picture in self.pictures if picture.pixels > 1500 or picture.unfinished]

    def on_several_scales(self) -> set[str]:
        """The cells that show heat maps side by side in which the same colour is not the same number."""
        return {picture.cell for picture in self.pictures if len(picture.scales) > 1}

    def with_cut_bars(self) -> set[str]:
        """The cells that show bars which do not begin at 0."""
        return {picture.cell for picture in self.pictures if picture.cut}

    def says(self, *parts: str) -> bool:
        """Whether some text cell holds all of these parts, whatever its line breaks."""
        return any(all(part in " ".join(text.split()) for part in parts) for text in self.texts.values())


@functools.cache
def run(number: str) -> Lesson:
    """The lesson of that number, "01" …, without a network; an error in any of its cells is raised.

    So is an AssertionError for a graded cell that writes to stderr: Validate takes that for a failure (nbgrader's
    `utils.determine_grade`), and would fail a right notebook for a progress bar or a warning.
    """
    lesson = _started()
    notebook = load(ROOT / "solutions" / NAMES[number] / f"{NAMES[number]}.ipynb")
    with _elsewhere():
        for cell in notebook["cells"]:
            err = _step(lesson, NAMES[number], cell)
            graded = cell["metadata"].get("nbgrader", {}).get("grade")
            assert not (graded and err), f"Validate would fail {cell['id']} for {err!r}"
    return lesson


@contextlib.contextmanager
def _elsewhere():
    """In a folder of its own: a lesson's last cell keeps the student's parts in a file."""
    with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):
        yield


def run_all(number: str, solved: int) -> Lesson:
    """What Run All makes of the lesson for a student who has solved its first exercises: as many as `solved`.

    Errors are allowed, as in Jupyter. So that no test waits for a model to learn, every optimiser stops at its third
    step with an error, like one of the student's own.
    """
    from torch.optim.optimizer import register_optimizer_step_pre_hook

    lesson = _started()
    name = NAMES[number]
    exercises = [exercise.name for exercise in course.assignments(ROOT)[name].exercises]
    left = {f"{exercise}-solution" for exercise in exercises[solved:]}
    right = {cell["id"]: cell for cell in load(ROOT / "solutions" / name / f"{name}.ipynb")["cells"]}
    steps, at_work = collections.Counter(), solved > 0

    def stop(optimiser, *_):
        steps[id(optimiser)] += 1
        if steps[id(optimiser)] == 3:
            raise RuntimeError("no test waits for a model to learn")

    hook = register_optimizer_step_pre_hook(stop)
    try:
        with _elsewhere():
            for cell in load(ROOT / "release" / name / f"{name}.ipynb")["cells"]:
                at_work = at_work and cell["metadata"].get("nbgrader", {}).get("grade_id") not in left
                try:
                    err = _step(lesson, name, right[cell["id"]] if at_work else cell)
                except Exception as error:
                    lesson.raised[cell["id"]] = repr(error)
                    continue
                if warned := _without_bars(err).strip():
                    lesson.warned[cell["id"]] = warned
    finally:
        hook.remove()
    return lesson


def _started():
    """A lesson of which no cell has run yet, in a kernel that draws without a window."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt
    import torch

    plt.close("all")  # what a test of another lesson has left open is no picture of this one

    no_dynamo.put()  # nothing is compiled here, and importing what would do it takes as long as a lesson's exercises
    torch.manual_seed(0)
    lesson = Lesson()
    lesson.values["__name__"] = "__main__"
    return lesson


def _step(lesson, name, cell):
    """Run a cell of a lesson without a network, note what comes of it, and return what it wrote to stderr."""
    import matplotlib.pyplot as plt

    text = lesson.texts[cell["id"]] = "".join(cell["source"])
    if cell["cell_type"] != "code":
        return ""
    no_network = unittest.mock.patch("urllib.request.urlopen", side_effect=OSError("tests have no network"))
    out, err = io.StringIO(), io.StringIO()
    close = plt.close

    def note(which=None):
        """Close a figure that a cell has turned into a picture of its own, as a slider does."""
        if isinstance(which, plt.Figure):
            lesson.pictures.append(_picture(cell["id"], which))
        close(which)

    with (
        unittest.mock.patch.object(plt, "close", note),
        warnings.catch_warnings(record=True) as warned,
        contextlib.redirect_stdout(out),
        contextlib.redirect_stderr(err),
        no_network,
    ):
        warnings.simplefilter("always", UserWarning)
        try:
            show_text(text, f"{name}/{cell['id']}")
            exec(compile(text, f"{name}/{cell['id']}", "exec"), lesson.values)
        finally:
            lesson.printed[cell["id"]] = _without_bars(out.getvalue())
            lesson.pictures += [_picture(cell["id"], plt.figure(number)) for number in plt.get_fignums()]
            plt.close("all")
    told = [str(warning.message) for warning in warned if issubclass(warning.category, UserWarning)]
    return "\n".join([err.getvalue(), *told]).strip("\n")


def _without_bars(text):
    """A text without its progress bars, which write the same line again and again."""
    return "\n".join(line for line in text.split("\n") if "\r" not in line)


def _picture(cell, figure):
    """What a notebook would show of a figure: all that is drawn and a margin around it, also beyond its edges."""
    import matplotlib
    import matplotlib.text

    figure.canvas.draw()
    written = figure.findobj(lambda artist: isinstance(artist, matplotlib.text.Text) and artist.get_text().strip())
    smallest = min((text.get_fontsize() for text in written), default=8.0)
    drawn = figure.get_tightbbox(figure.canvas.get_renderer()).width + 2 * matplotlib.rcParams["savefig.pad_inches"]
    scales = frozenset(heat.get_clim() for ax in figure.axes for heat in ax.images)
    empty = any(not (ax.lines or ax.images or ax.patches or ax.collections) for ax in figure.axes)
    cut = any(map(_has_cut_bars, figure.axes))
    return Picture(cell, figure.get_figwidth(), drawn * figure.dpi, smallest, empty, scales, cut)


def _has_cut_bars(ax):
    from matplotlib.container import BarContainer

    for bars in ax.containers:
        low, high = ax.get_xlim() if getattr(bars, "orientation", "") == "horizontal" else ax.get_ylim()
        if isinstance(bars, BarContainer) and not low <= 0 <= high:
            return True
    return False
