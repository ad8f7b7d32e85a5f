"""An nbgrader_config.py that was written before the code moved goes on working."""

import subprocess
import sys

from conftest import ROOT

IMPORTS = """
from autograder.notebooks import nbgrader_patch
from autograder.notebooks.autograde import GradeInSandbox, HideTests, RestoreCells, SaveVerdict, SubmissionExporter
from autograder.notebooks.collecting import BoundedExtractor, SafeCollector
from autograder.notebooks.releasing import CleanSolutions, ReleaseOriginals
from autograder.notebooks.showing import safe_markdown

import autograder.nbgrader.preprocessors
assert GradeInSandbox is autograder.nbgrader.preprocessors.GradeInSandbox
nbgrader_patch.apply()
"""


def test_the_names_of_an_older_configuration_work():
    done = subprocess.run([sys.executable, "-c", IMPORTS], cwd=ROOT, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
