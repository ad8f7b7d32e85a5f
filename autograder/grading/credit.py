"""Whether a course scores by checks or by prices, and other options, read from the text of nbgrader_config.py.

To run that file takes seconds, since it imports nbgrader, and on Gradescope there is none. So `check`, `watch` and
Gradescope read the one line that concerns them; `grade` runs the file, and refuses other values (nbgrader/options.py).
"""

from __future__ import annotations

import ast
from pathlib import Path

from ..errors import CourseError
from ..submission.read import StrPath
from ..verdict import CREDIT, CREDITS

FILE = "nbgrader_config.py"
OPTION = "c.Exercises.credit"


def of_course(root: StrPath) -> str:
    """What scores are by, one of CREDITS. Raises CourseError if that cannot be read from the text."""
    found = values_of(root, OPTION)
    if not found:
        return CREDIT
    last = found[-1]
    given = last.value if isinstance(last, ast.Constant) else None
    if len(found) > 1 or given not in CREDITS:
        known = " or ".join(f'"{one}"' for one in CREDITS)
        raise CourseError(f"{FILE} should set {OPTION} once, to {known}.")
    return str(given)


def values_of(root: StrPath, option: str) -> list[ast.expr | None]:
    """What the text of a course's configuration sets an option to, each time; None where it changes it otherwise.

    Raises CourseError if the file cannot be read.
    """
    try:
        tree = ast.parse((Path(root) / FILE).read_bytes())
    except FileNotFoundError:
        return []
    except (OSError, SyntaxError, ValueError, RecursionError, MemoryError) as problem:
        raise CourseError(f"{FILE} cannot be read: {' '.join(str(problem).split())}") from None
    nodes = list(ast.walk(tree))
    sets = {id(target): node.value for node in nodes if isinstance(node, ast.Assign) for target in node.targets}
    names = [node for node in nodes if isinstance(node, ast.Attribute) and ast.unparse(node) == option]
    return [sets.get(id(node)) for node in names]
