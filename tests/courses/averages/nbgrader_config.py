"""nbgrader's configuration of a small course about averages."""

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
from autograder.nbgrader.collecting import BoundedExtractor, SafeCollector
from autograder.nbgrader.feedback import FeedbackExporter
from autograder.nbgrader.preprocessors import GradeInSandbox, RestoreCells, SaveVerdict, SubmissionExporter
from autograder.nbgrader.releasing import CleanSolutions, ReleaseOriginals
from autograder.nbgrader.safe_markdown import safe_markdown

c = get_config()  # noqa: F821  nbgrader defines it

c.CourseDirectory.course_id = "averages"
c.CourseDirectory.solution_directory = "solutions"

c.GenerateAssignment.preprocessors = [
    LockCells,
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
