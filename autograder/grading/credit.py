"""Whether a course scores by checks or by prices, read from the text of nbgrader_config.py.

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
    try:
        tree = ast.parse((Path(root) / FILE).read_bytes())
    except FileNotFoundError:
        return CREDIT
    except (OSError, SyntaxError, ValueError, RecursionError, MemoryError) as problem:
        raise CourseError(f"{FILE} cannot be read: {' '.join(str(problem).split())}") from None
    found = [node.value for node in ast.walk(tree) if isinstance(node, ast.Assign) and _sets(node)]
    if not found:
        return CREDIT
    given = found[-1].value if isinstance(found[-1], ast.Constant) else None
    if len(found) > 1 or given not in CREDITS:
        known = " or ".join(f'"{one}"' for one in CREDITS)
        raise CourseError(f"{FILE} should set {OPTION} once, to {known}.")
    return str(given)


def _sets(node: ast.Assign) -> bool:
    """Whether this sets the option."""
    return any(isinstance(target, ast.Attribute) and ast.unparse(target) == OPTION for target in node.targets)
