"""Makes release and solutions from a source notebook: preprocessors for nbgrader's own generators.

A fix exercise's source cell holds the repaired code between BEGIN/END SOLUTION and the buggy original, every line
behind `# `, between BEGIN/END ORIGINAL. Students get the original; the solutions get the repair.
"""

import re

from nbgrader.preprocessors import ClearSolutions, NbGraderPreprocessor

ORIGINAL = re.compile(r"### BEGIN ORIGINAL\n(.*?)\n### END ORIGINAL", re.DOTALL)
HIDDEN_TESTS = re.compile(r"\n*### BEGIN HIDDEN TESTS\n.*?### END HIDDEN TESTS", re.DOTALL)
SOLUTION_MARKER = re.compile(r"^[ \t]*### (BEGIN|END) SOLUTION[ \t]*\n?", re.MULTILINE)


class ReleaseError(ValueError):
    """A source cell is not as a fix exercise must be."""


def original_of(source):
    """The buggy original in a source cell, uncommented, or None. Raises ReleaseError if it is malformed."""
    if "### BEGIN ORIGINAL" not in source and "### END ORIGINAL" not in source:
        return None
    found = ORIGINAL.findall(source)
    if len(found) != 1:
        raise ReleaseError(f"a cell must have one whole ORIGINAL region, not {len(found)}: {source[:60]!r}")
    lines = found[0].split("\n")
    wrong = [line for line in lines if line != "#" and not line.startswith("# ")]
    if wrong:
        raise ReleaseError(f"every line of an original must stand behind '# ': {wrong[0]!r}")
    return "\n".join(line[2:] for line in lines)


class ReleaseOriginals(ClearSolutions):
    """nbgrader's ClearSolutions, which also releases the buggy original of a fix exercise in place of a stub."""

    def preprocess_cell(self, cell, resources, cell_index):
        original = original_of(cell.source)
        if original is None:
            return super().preprocess_cell(cell, resources, cell_index)
        if "### BEGIN SOLUTION" not in cell.source:
            raise ReleaseError(f"a fix exercise without its solution: {cell.source[:60]!r}")
        cell.source = original
        return cell, resources


class CleanSolutions(NbGraderPreprocessor):
    """Leaves of a source notebook what students may see after the deadline: no originals, hidden tests or markers."""

    def preprocess_cell(self, cell, resources, cell_index):
        source = ORIGINAL.sub("", cell.source)
        source = HIDDEN_TESTS.sub("", source)
        cell.source = SOLUTION_MARKER.sub("", source).rstrip()
        return cell, resources
