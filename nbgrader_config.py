"""nbgrader's configuration of this course: its own commands, with our parts plugged into its lists."""

from nbgrader.preprocessors import (
    AssignLatePenalties,
    CheckCellMetadata,
    ClearHiddenTests,
    ClearMarkScheme,
    ClearOutput,
    ComputeChecksums,
    LockCells,
    OverwriteKernelspec,
    SaveCells,
)

from autograder.nbgrader import patches
from autograder.nbgrader.colab import OpenInColab
from autograder.nbgrader.collecting import BoundedExtractor, SafeCollector
from autograder.nbgrader.desk_cell import HandInCell
from autograder.nbgrader.feedback import FeedbackExporter
from autograder.nbgrader.preprocessors import GradeInSandbox, RestoreCells, SaveVerdict, SubmissionExporter
from autograder.nbgrader.releasing import CleanSolutions, MarkUnsolved, ReleaseOriginals
from autograder.nbgrader.safe_markdown import safe_markdown

c = get_config()  # noqa: F821  nbgrader defines it

c.CourseDirectory.course_id = "attention"
c.CourseDirectory.solution_directory = "solutions"

# where you publish release/: with it, each notebook begins with a badge that opens it in Colab
# c.Release.colab = "https://colab.research.google.com/github/OWNER/REPOSITORY/blob/BRANCH/release"

# where students reach the desk: with it, each notebook ends with a cell that hands it in (docs/desk.md)
# c.Desk.address = "https://desk.example"

# points for the checks that pass, even where named mistakes explain all that fail: docs/instructors.md
# c.Exercises.credit = "checks"

c.GenerateAssignment.preprocessors = [
    LockCells,
    OpenInColab,
    HandInCell,
    MarkUnsolved,
    ReleaseOriginals,
    ClearOutput,
    CheckCellMetadata,
    ComputeChecksums,
    SaveCells,
    ClearHiddenTests,
    ClearMarkScheme,
    ComputeChecksums,
    CheckCellMetadata,
]
c.GenerateSolution.preprocessors = [LockCells, ClearOutput, ClearMarkScheme, CleanSolutions]

c.ZipCollectApp.extractor_plugin = BoundedExtractor
c.ZipCollectApp.collector_plugin = SafeCollector

c.Autograde.exporter_class = SubmissionExporter
c.Autograde.sanitize_preprocessors = [RestoreCells, OverwriteKernelspec, CheckCellMetadata]
c.Autograde.autograde_preprocessors = [GradeInSandbox, SaveVerdict, AssignLatePenalties, CheckCellMetadata]
patches.apply()

c.GenerateFeedback.exporter_class = FeedbackExporter
c.GenerateFeedback.preprocessors = []

# what students wrote is shown in the instructor's browser, by Formgrader
c.HTMLExporter.sanitize_html = True
c.HTMLExporter.filters = {"markdown2html": safe_markdown}
