"""The patches of nbgrader and nbconvert, where they offer no option: how a submission's files are found, copied, shown.

Without it (nbgrader 0.9.6), a folder without the notebook gets no row in the gradebook, nor does a student whose name
holds brackets; a FIFO or a timestamp.txt that holds no time stops the batch, and the target of a symbolic link is
copied into `autograded/` and the feedback. Formgrader makes its pages with an exporter of its own, which no
configuration of preprocessors reaches, and which shows raw cells and names as if they were HTML.
"""

import glob
import os
import stat
from fnmatch import fnmatch

from nbconvert.exporters import html
from nbgrader.api import Gradebook, MissingEntry
from nbgrader.converters import base
from nbgrader.converters.autograde import Autograde
from nbgrader.converters.generate_feedback import GenerateFeedback
from nbgrader.coursedir import CourseDirectory
from nbgrader.utils import parse_utc

from . import formgrader_patch, reading, showing

MAX_COPIED = 20 * 2**20

_init_notebooks = base.BaseConverter.init_notebooks
_find_all_files = base.find_all_files


def apply():
    """Put the patch in place; doing it twice does no harm."""
    CourseDirectory.get_existing_timestamp = get_existing_timestamp
    Autograde.init_notebooks = GenerateFeedback.init_notebooks = init_notebooks
    base.find_all_files = find_regular_files
    html.HTMLExporter.from_notebook_node = showing.from_notebook_node
    html.BeautifulSoup = showing.tree
    formgrader_patch.apply()


def init_notebooks(self):
    """For every folder, the notebooks that should be there; of those handed in, also the ones that are not."""
    try:
        with Gradebook(self.coursedir.db_url, self.coursedir.course_id) as gradebook:
            names = notebooks_of(gradebook, self.coursedir.assignment_id)
    except MissingEntry:
        return _init_notebooks(self)  # which says that the assignment is unknown
    take_notebooks(self, names)


def notebooks_of(gradebook, assignment):
    """The names of an assignment's notebooks."""
    return [n.name for n in gradebook.find_assignment(assignment).notebooks]


def take_notebooks(self, names):
    """Let a converter work on the notebooks of these names in the folders that it is asked for."""
    folders = glob.glob(self._format_source(self.coursedir.assignment_id, self.coursedir.student_id))
    found = {folder: [os.path.join(folder, f"{name}.ipynb") for name in names] for folder in folders}
    if not isinstance(self, Autograde):
        found = {folder: [path for path in paths if os.path.isfile(path)] for folder, paths in found.items()}
    if not any(found.values()):
        return _init_notebooks(self)  # which says what is missing
    self.notebooks = []
    self.assignments = {folder: paths for folder, paths in found.items() if paths}


def get_existing_timestamp(self, folder):
    """When a submission was handed in, by its timestamp.txt (UTC); None where that is no readable time."""
    try:
        text = reading.read_bytes(os.path.join(folder, "timestamp.txt"))[:100].decode().strip()
        return parse_utc(text) if text else None
    except (reading.Unreadable, ValueError, OverflowError, TypeError):
        return None


def find_regular_files(path, exclude=None):
    """nbgrader's list of files, without links, special files and files too large to copy.

    nbgrader leaves out what matches one of `exclude`, but not below a folder whose name holds brackets.
    """
    found = [name for name in _find_all_files(path, exclude) if _is_copied(name)]
    return [name for name in found if not any(fnmatch(os.path.basename(name), e) for e in exclude or ())]


def _is_copied(name):
    status = os.lstat(name)
    return stat.S_ISREG(status.st_mode) and status.st_size <= MAX_COPIED
