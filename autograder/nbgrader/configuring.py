"""`configure(c)`, the one call by which a course's nbgrader_config.py has nbgrader's own commands work with this kit.

What an instructor sets before or after it wins, as long as student code stays in the sandbox and solutions unpublished:
`options.walls` says what may not be missing, and each command refuses it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from traitlets.config import Config

WITHOUT = "autograder: configure(c) in nbgrader_config.py needs what `c = get_config()` gives, in a line above it."


def configure(c: Config) -> None:
    """Set all that the kit needs of nbgrader in its configuration `c`, and put the patches in place.

    Options that are set already stay: lists to which something was added are ours with that in them, and to a mapping,
    ours is added. It ends the program if `c` is none: nbgrader would go on without a sandbox after any Exception.
    """
    from traitlets.config import Config

    from . import patches

    patches.apply()
    if not isinstance(c, Config):
        raise SystemExit(WITHOUT)
    for section, options in plumbing().items():
        for name, ours in options.items():
            c[section][name] = _with_given(c[section].get(name), ours)


def _with_given(given: Any, ours: Any) -> Any:
    """The value of an option for which the instructor has given something, or None."""
    from traitlets.config.loader import LazyConfigValue

    if given is None:
        return ours
    if isinstance(given, LazyConfigValue):  # as `c.GenerateAssignment.preprocessors.append(…)` makes it
        return given.get_value(ours)
    return {**ours, **given} if isinstance(ours, dict) and isinstance(given, dict) else given


def plumbing() -> dict[str, dict[str, Any]]:
    """What the kit sets, by section and option of nbgrader."""
    from .collecting import BoundedExtractor, SafeCollector
    from .feedback import FeedbackExporter
    from .safe_markdown import safe_markdown

    return {
        "CourseDirectory": {"solution_directory": "solutions"},
        **_making(),
        "ZipCollectApp": {"extractor_plugin": BoundedExtractor, "collector_plugin": SafeCollector},
        "Autograde": _grading(),
        "GenerateFeedback": {"exporter_class": FeedbackExporter, "preprocessors": []},
        # what students wrote is shown in the instructor's browser, by Formgrader
        "HTMLExporter": {"sanitize_html": True, "filters": {"markdown2html": safe_markdown}},
    }


def _making() -> dict[str, dict[str, Any]]:
    """How release/ and solutions/ are made from source/."""
    from nbgrader.preprocessors import (
        CheckCellMetadata,
        ClearHiddenTests,
        ClearMarkScheme,
        ClearOutput,
        ComputeChecksums,
        LockCells,
        SaveCells,
    )

    from .colab import OpenInColab
    from .desk_cell import HandInCell
    from .releasing import CleanSolutions, MarkUnsolved, ReleaseOriginals

    prepared = [LockCells, OpenInColab, HandInCell, MarkUnsolved, ReleaseOriginals, ClearOutput, CheckCellMetadata]
    recorded = [ComputeChecksums, SaveCells]
    cleared = [ClearHiddenTests, ClearMarkScheme, ComputeChecksums, CheckCellMetadata]
    return {
        "GenerateAssignment": {"preprocessors": [*prepared, *recorded, *cleared]},
        "GenerateSolution": {"preprocessors": [LockCells, ClearOutput, ClearMarkScheme, CleanSolutions]},
    }


def _grading() -> dict[str, Any]:
    """How submissions are read, restored and graded."""
    from nbgrader.preprocessors import AssignLatePenalties, CheckCellMetadata, OverwriteKernelspec

    from .preprocessors import GradeInSandbox, RestoreCells, SaveVerdict, SubmissionExporter

    return {
        "exporter_class": SubmissionExporter,
        "sanitize_preprocessors": [RestoreCells, OverwriteKernelspec, CheckCellMetadata],
        "autograde_preprocessors": [GradeInSandbox, SaveVerdict, AssignLatePenalties, CheckCellMetadata],
    }
