"""Which names the files of this repository import."""

import ast
from collections.abc import Iterable, Iterator
from pathlib import Path

from conftest import ROOT


def names_imported(nodes: Iterable[ast.AST], path: Path) -> Iterator[str]:
    """The dotted names that these nodes of a file import, relative ones made absolute: `autograder.course.root`."""
    package = path.relative_to(ROOT).parent.parts
    for node in nodes:
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            above = package[: len(package) - node.level + 1] if node.level else ()
            yield from (".".join([*above, *filter(None, [node.module]), alias.name]) for alias in node.names)
