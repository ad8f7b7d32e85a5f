"""The visible check of an exercise, run in this process against code that we trust: a mistake, or a right answer.

It is the text of the exercise's grade cell up to its hidden tests, the only judge that a student without the kit has.
"""

import contextlib
import functools
import io
import types
import warnings

from .. import course
from .bank import Mistake, show_text


def objection(exercise: str, *answer: str) -> Exception | None:
    """What the visible check of an exercise raises for an answer, the texts of its cells in order; None if it passes.

    The answer runs after the cells of the notebook that students can't change, such as the setup cell. The check runs
    after that, as in a kernel that was started afresh: torch's own generator has the seed 0.
    """
    import torch

    namespace: dict[str, object] = {"__name__": "__main__"}  # as in a notebook
    silence = io.StringIO()
    with torch.random.fork_rng(devices=[]), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with contextlib.redirect_stdout(silence), contextlib.redirect_stderr(silence):
            for cell in _given(exercise):
                exec(cell, namespace)
            torch.manual_seed(0)
            try:
                for text in answer:
                    show_text(text, f"<{exercise}>")
                    exec(compile(text, f"<{exercise}>", "exec"), namespace)
                exec(_check(exercise), namespace)
            except Exception as error:
                return error
    return None


def catches(mistake: Mistake) -> bool:
    """Whether the visible check of its exercise stops at a mistake."""
    return objection(mistake.exercise, mistake.beside, mistake.source) is not None


def text_of(exercise: str) -> str:
    """The text of an exercise's visible check."""
    return next(cell.source for cell in _cells(exercise) if cell.exercise == exercise).split(course.HIDDEN)[0]


def _cells(exercise: str) -> tuple[course.Cell, ...]:
    return course.assignments()[course.exercises()[exercise].assignment].cells


@functools.lru_cache(maxsize=64)
def _check(exercise: str) -> types.CodeType:
    return compile(text_of(exercise), f"<the visible check of {exercise}>", "exec")


@functools.lru_cache(maxsize=64)
def _given(exercise: str) -> tuple[types.CodeType, ...]:
    """The code cells that students get and can't change."""
    given = [cell for cell in _cells(exercise) if cell.locked and not cell.grade and cell.cell_type == "code"]
    return tuple(compile(cell.source, f"<{cell.grade_id}>", "exec") for cell in given)
