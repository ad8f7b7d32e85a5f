"""`nbgrader export`: the table of stock nbgrader for ordinary names, and no formula for any."""

import csv
import datetime
import importlib.util
import inspect
import io
import logging
import subprocess
import sys
from types import SimpleNamespace

import pytest
from nbgrader.api import Gradebook, MissingEntry
from nbgrader.plugins import CsvExportPlugin, ExportPlugin

from autograder.nbgrader import exporting

FORMULAS = [
    '=HYPERLINK("http://example.org/?"&A1)',
    "=1+1",
    "+1",
    "-1+1",
    "@SUM(A1)",
    "\t=1+1",
    "\r=1+1",
    "\n=1+1",
    " =1+1",
    '"=1+1',
    "ada;=1+1",
    "ada\t=1+1",
    "ada\r\n=1+1,2",
    "ada,=1+1",
    'ada",=1+1,"',
    "\uff1d1+1",
    "\u00a0=1+1",
    "'=1+1",
]
ORDINARY = [
    "ada",
    "Anna-Lena",
    "o'neill",
    "O=K",
    "a@b.org",
    "\u00fcn\u00efc\u00f6de",
    "123-456",
    "x+y",
    "Dr. No",
    "a_b",
    "007",
]


def stock():
    """nbgrader's own plug-in, whatever is patched in this process."""
    spec = importlib.util.spec_from_file_location("nbgrader.plugins.stock", inspect.getfile(ExportPlugin))
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.CsvExportPlugin.export


class Book:
    """A gradebook in which all columns of a student hold a name."""

    def __init__(self, names):
        due = datetime.datetime(2026, 3, 1, 12)
        self.assignments = [SimpleNamespace(name=n, duedate=d, max_score=0.0) for n, d in (("ps1", due), ("ps2", None))]
        self.students = [SimpleNamespace(id=n, last_name=n, first_name=n, email=n) for n in names]
        self.students.append(SimpleNamespace(id="zoe", last_name=None, first_name=None, email=None))

    def find_submission(self, assignment, student):
        if (assignment, student) != ("ps1", "zoe"):
            raise MissingEntry("nothing")
        return SimpleNamespace(score=7.5, late_submission_penalty=8.0, timestamp=datetime.datetime(2026, 3, 1, 11, 30))


def table(tmp_path, book, function, **options):
    plugin = CsvExportPlugin(to=str(tmp_path / "grades.csv"), **options)
    plugin.log = logging.getLogger("exporting")
    function(plugin, book)
    return (tmp_path / "grades.csv").read_bytes()


@pytest.mark.parametrize("options", [{}, {"student": ["ada", "007"]}, {"assignment": ["ps2"]}, {"student": ["nobody"]}])
def test_ordinary_names_stay_byte_for_byte(tmp_path, options):
    expected = table(tmp_path, Book(ORDINARY), stock(), **options)
    assert table(tmp_path, Book(ORDINARY), exporting.export, **options) == expected and expected.count(b"\n") >= 1


def cells(text):
    """Every cell that some program may see: by commas, semicolons, tabs or bars, with quotes heeded or not."""
    for separator in ",;\t|":
        for row in csv.reader(io.StringIO(text, newline=""), delimiter=separator):
            yield from row
        for row in text.replace("\r", "\n").split("\n"):
            yield from (cell.strip().strip('"') for cell in row.split(separator))


@pytest.mark.parametrize("name", FORMULAS)
def test_no_name_is_a_formula(tmp_path, name):
    text = table(tmp_path, Book([name]), exporting.export).decode()
    assert not [cell for cell in cells(text) if cell.strip().startswith(tuple("=+-@\uff1d"))]
    rows = list(csv.DictReader(io.StringIO(text, newline="")))
    assert len(rows) == 4 and {row["assignment"] for row in rows} == {"ps1", "ps2"}, "a name has broken a row"
    assert {row["max_score"] for row in rows} == {"0.0"}


def test_points_that_are_negative_are_numbers():
    assert exporting.line([-1.5, None, "-1.5"]) == "-1.5,,'-1.5\n"


@pytest.mark.slow("it grades a class, as others here do")
def test_the_command_writes_it_with_an_older_configuration(tmp_path):
    """No line of nbgrader_config.py asks for it but the one that puts the patches in place."""
    (tmp_path / "nbgrader_config.py").write_text(
        "from autograder.notebooks import nbgrader_patch\nnbgrader_patch.apply()\nc = get_config()\n"
    )
    with Gradebook(f"sqlite:///{tmp_path}/gradebook.db") as book:
        book.add_assignment("ps1")
        book.add_student("=1+1")
    command = [sys.executable, "-m", "nbgrader", "export"]
    subprocess.run(command, cwd=tmp_path, check=True, capture_output=True)
    assert (tmp_path / "grades.csv").read_text().splitlines()[1].split(",")[3] == "'=1+1"
