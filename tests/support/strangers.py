"""The wrong answers of tests/strangers, read from their cells; `python tests/support/strangers.py` checks their names.

It takes the options of `autograder name-check`. tests/strangers/README.md shows what the files look like.
"""

import contextlib
import itertools
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

FOLDER = Path(__file__).resolve().parent.parent / "strangers"
CELL = "# %% "
RIGHT = "right"
REMOVED, ADDED = "# -", "# +"


class Unusable(ValueError):
    """A cell that does not say what an answer is."""


@dataclass(frozen=True)
class Answers:
    """What the file of an exercise holds: the right answers that others are edits of, and the wrong ones by name."""

    right: list[str]
    wrong: dict[str, str]


def exercises() -> list[str]:
    """The exercises that strangers have answered."""
    return sorted(path.stem for path in FOLDER.glob("*.py"))


def answers(exercise: str) -> Answers:
    """All answers to an exercise; none if there is no file of it. Raises Unusable."""
    path = FOLDER / f"{exercise}.py"
    return parse(path.read_text(encoding="utf-8")) if path.exists() else Answers([], {})


def parse(text: str) -> Answers:
    """The answers of a file's text. Raises Unusable."""
    before, *cells = f"\n{text}".split(f"\n{CELL}")
    if before.strip():
        raise Unusable(f"Something comes before the first line `{CELL.strip()}`.")
    found = Answers([], {})
    for cell in cells:
        title, _, body = cell.partition("\n")
        name, _, fault = title.partition(": ")
        if name == RIGHT:
            found.right.append(_ended(body))
        elif name in found.wrong or not (name.isidentifier() and fault):
            raise Unusable(f"{title}: A cell begins with `{CELL}NAME: WHAT IS WRONG`, and each name is there once.")
        else:
            try:
                found.wrong[name] = f"# wrong: {fault}\n{_answer(body, found.right)}"
            except Unusable as problem:
                raise Unusable(f"{name}: {problem}") from None
    return found


def _answer(body: str, right: list[str]) -> str:
    """The comments and the code of a cell, which is whole or says how it differs from the right answer above it."""
    lines = _ended(body).splitlines(keepends=True)
    if any(line.strip() and not line.startswith("#") for line in lines):
        return "".join(lines)
    if not right:
        raise Unusable("It has no code, and no right answer is above it.")
    head = list(itertools.takewhile(lambda line: not line.startswith((REMOVED, ADDED)), lines))
    return "".join([*head, edited(right[-1], "".join(lines[len(head) :]))])


def edited(base: str, edits: str) -> str:
    """A text with edits, which blank lines separate. Raises Unusable if one has not exactly one place there."""
    lines = base.splitlines(keepends=True)
    places = []
    for edit in filter(None, edits.strip("\n").split("\n\n")):
        old, new = _marked(edit, REMOVED), _marked(edit, ADDED)
        if not old or len(edit.splitlines()) != len(old) + len(new):
            raise Unusable(f"An edit has lines `{REMOVED}`, then perhaps lines `{ADDED}`: {edit!r}")
        starts = [start for start in range(len(lines)) if lines[start : start + len(old)] == old]
        if len(starts) != 1:
            raise Unusable(f"The right answer has these lines {len(starts)} times: {''.join(old)!r}")
        places.append((starts[0], starts[0] + len(old), new))
    places.sort(reverse=True)
    if any(start < end for (start, _, _), (_, end, _) in itertools.pairwise(places)):
        raise Unusable(f"Two edits change the same lines: {edits!r}")
    for start, end, new in places:
        lines[start:end] = new
    return "".join(lines)


def _marked(edit: str, mark: str) -> list[str]:
    """The lines of an edit that have a mark, without it."""
    return [line.removeprefix(mark) + "\n" for line in edit.split("\n") if line.startswith(mark)]


def _ended(body: str) -> str:
    """A cell's text without the blank lines that separate it from the next cell."""
    return body.rstrip("\n") + "\n"


@contextlib.contextmanager
def unpacked() -> Iterator[Path]:
    """A temporary folder that holds all wrong answers as `autograder name-check` reads them."""
    with tempfile.TemporaryDirectory(prefix="strangers-") as folder:
        for exercise in exercises():
            place = Path(folder, exercise)
            place.mkdir()
            for name, text in answers(exercise).wrong.items():
                (place / f"{name}.py").write_text(text, encoding="utf-8")
        yield Path(folder)


if __name__ == "__main__":
    from autograder import cli

    with unpacked() as folder:
        sys.exit(cli.main(["name-check", str(folder), *sys.argv[1:]]))
