"""The names of nbgrader and nbconvert that the kit replaces or calls without their being public, and their parameters.

What they do for safety would be lost in silence if another version had other names: so they are compared before they
are patched, and `tests/nbgrader/test_private_names.py` finds those that are missing here.
"""

from __future__ import annotations

import importlib
import inspect
from collections.abc import Mapping
from importlib import metadata

FOLDERS = ("self", "assignment_id", "student_id")
NAMES: Mapping[str, tuple[str, ...] | None] = {  # a function's parameters; None for what is no function
    "nbgrader.api:get_alembic_version": (),
    "nbgrader.api:SubmittedAssignment.total_seconds_late": None,
    "nbgrader.apps.zipcollectapp:ZipCollectApp.init_plugins": ("self",),
    "nbgrader.converters.autograde:Autograde.init_notebooks": ("self",),
    "nbgrader.converters.base:BaseConverter._format_dest": (*FOLDERS, "escape"),
    "nbgrader.converters.base:BaseConverter._format_source": (*FOLDERS, "escape"),
    "nbgrader.converters.base:BaseConverter.init_assignment": FOLDERS,
    "nbgrader.converters.base:BaseConverter.init_destination": FOLDERS,
    "nbgrader.converters.base:BaseConverter.init_notebooks": ("self",),
    "nbgrader.converters.base:BaseConverter.set_permissions": FOLDERS,
    "nbgrader.converters.base:find_all_files": ("path", "exclude"),
    "nbgrader.converters.generate_assignment:GenerateAssignment._format_dest": (*FOLDERS, "escape"),
    "nbgrader.converters.generate_assignment:GenerateAssignment.init_destination": FOLDERS,
    "nbgrader.converters.generate_assignment:GenerateAssignment.init_notebooks": ("self",),
    "nbgrader.converters.generate_assignment:GenerateAssignment.set_permissions": FOLDERS,
    "nbgrader.converters.generate_feedback:GenerateFeedback.init_notebooks": ("self",),
    "nbgrader.converters.generate_solution:GenerateSolution._format_dest": (*FOLDERS, "escape"),
    "nbgrader.converters.generate_solution:GenerateSolution.init_destination": FOLDERS,
    "nbgrader.converters.generate_solution:GenerateSolution.init_notebooks": ("self",),
    "nbgrader.converters.generate_solution:GenerateSolution.set_permissions": FOLDERS,
    "nbgrader.coursedir:CourseDirectory.get_existing_timestamp": ("self", "dest_path"),
    "nbgrader.dbutil:ALEMBIC_DIR": None,
    "nbgrader.plugins:CsvExportPlugin.export": ("self", "gradebook"),
    "nbgrader.plugins:ExtractorPlugin.extract": ("self", "archive_path", "extracted_path"),
    "nbgrader.plugins:FileNameCollectorPlugin.collect": ("self", "submitted_file"),
    "nbgrader.preprocessors:SaveAutoGrades._add_score": ("self", "cell", "resources"),
    "nbgrader.preprocessors:SaveCells._create_notebook": ("self", "nb"),
    "nbconvert.exporters.html:HTMLExporter.from_notebook_node": ("self", "nb", "resources", "kw"),
    "nbconvert.exporters.html:BeautifulSoup": None,
}
OF_FORMGRADER: Mapping[str, tuple[str, ...] | None] = {
    "nbgrader.server_extensions.formgrader.handlers:BaseHandler.render": ("self", "name", "ns"),
    "nbgrader.server_extensions.formgrader.handlers:FormgraderHandler.get": ("self",),
    "nbgrader.server_extensions.formgrader.handlers:SubmissionFilesHandler": None,
}


def require(names: Mapping[str, tuple[str, ...] | None]) -> None:
    """Ends the program with one sentence if a name is not what the kit takes it for.

    It is no Exception: nbgrader would log that, and go on without the course's configuration, and so without a sandbox.
    """
    if changed := [name for name, parameters in names.items() if not _is_known(name, parameters)]:
        versions = " and ".join(f"{package} {metadata.version(package)}" for package in ("nbgrader", "nbconvert"))
        raise SystemExit(
            f"autograder: {versions} cannot be used: {', '.join(changed)} is not what this kit knows and replaces for"
            " safety. Install the versions of its locks/requirements.lock."
        )


def _is_known(name: str, parameters: tuple[str, ...] | None) -> bool:
    module, _, path = name.partition(":")
    try:
        found = importlib.import_module(module)
        for part in path.split("."):
            found = getattr(found, part)
    except (ImportError, AttributeError):
        return False
    return parameters is None or inspect.isfunction(found) and tuple(inspect.signature(found).parameters) == parameters
