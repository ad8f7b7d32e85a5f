"""`configure(c)` sets all that the kit needs, keeps what an instructor has set, and lets nobody open a wall."""

import re
import shutil
import subprocess
import sys
import zipfile

import pytest
import warm
from conftest import ROOT
from nbgrader.preprocessors import ClearHiddenTests, LockCells, NbGraderPreprocessor
from small_course import NAME, autograder, command, copy
from traitlets.config.loader import Config, PyFileConfigLoader

from autograder.doctor import course as looks
from autograder.nbgrader import configure, options
from autograder.nbgrader.configuring import plumbing
from autograder.nbgrader.preprocessors import GradeInSandbox
from autograder.nbgrader.releasing import ReleaseOriginals
from autograder.nbgrader.runs import NbgraderCourse

SHORT = "from autograder.nbgrader import configure\nc = get_config()\n"


class Own(NbGraderPreprocessor):
    """An instructor's own."""


class OwnGrading(GradeInSandbox):
    """Made of the kit's."""


def loaded(folder, text):
    (folder / "nbgrader_config.py").write_text(text)
    return PyFileConfigLoader("nbgrader_config.py", path=str(folder)).load_config()


def test_to_import_it_loads_neither_nbgrader_nor_torch():
    heavy = "import sys; from autograder.nbgrader import configure; print({'nbgrader', 'torch'} & set(sys.modules))"
    done = subprocess.run([sys.executable, "-c", heavy], cwd=ROOT, capture_output=True, text=True, timeout=60)
    assert done.stdout == "set()\n", done.stderr


def test_it_sets_everything_and_nothing_is_wrong_with_it(tmp_path):
    config = loaded(tmp_path, f"{SHORT}configure(c)\nconfigure(c)\n")
    assert config == Config(plumbing()) and not list(options.walls(config))
    wanted = {(wall.section, wall.option) for wall in options.WALLS}
    assert wanted <= {(section, option) for section, given in plumbing().items() for option in given}


def test_what_is_set_before_or_after_wins():
    before = Config()
    before.CourseDirectory.solution_directory = "answers"
    before.GenerateAssignment.preprocessors.append(Own)
    before.Autograde.autograde_preprocessors.insert(0, Own)
    before.GenerateFeedback.preprocessors = [Own]
    before.HTMLExporter.filters = {"shout": str.upper}
    configure(before)
    ours = plumbing()
    assert before.CourseDirectory.solution_directory == "answers"
    assert before.GenerateAssignment.preprocessors == [*ours["GenerateAssignment"]["preprocessors"], Own]
    assert before.Autograde.autograde_preprocessors == [Own, *ours["Autograde"]["autograde_preprocessors"]]
    assert before.GenerateFeedback.preprocessors == [Own] and set(before.HTMLExporter.filters) == {
        "shout",
        "markdown2html",
    }
    after = Config()
    configure(after)
    after.GenerateAssignment.preprocessors.remove(LockCells)
    after.Autograde.autograde_preprocessors[0] = OwnGrading
    assert LockCells in plumbing()["GenerateAssignment"]["preprocessors"], "no course changes another's lists"
    assert not list(options.walls(before)) and not list(options.walls(after))


OPEN = {
    "no sandbox": ("c.Autograde.autograde_preprocessors = []", "lacks GradeInSandbox"),
    "stock exporter": ('c.Autograde.exporter_class = "nbconvert.exporters.NotebookExporter"', "SubmissionExporter"),
    "solutions": ("c.GenerateAssignment.preprocessors = []", "lacks ReleaseOriginals"),
    "hidden tests": (
        "from nbgrader.preprocessors import ClearHiddenTests\n"
        "c.GenerateAssignment.preprocessors = [one for one in (getattr(c.GenerateAssignment, 'preprocessors') or [])"
        " if one is not ClearHiddenTests]",
        "lacks (ClearHiddenTests|ReleaseOriginals)",
    ),
    "in solutions": ("c.GenerateSolution.preprocessors = []", "lacks CleanSolutions"),
    "extractor": ('c.ZipCollectApp.extractor_plugin = "nbgrader.plugins.ExtractorPlugin"', "lacks BoundedExtractor"),
    "collector": ('c.ZipCollectApp.collector_plugin = "nbgrader.plugins.FileNameCollectorPlugin"', "SafeCollector"),
    "switched off": ("c.ClearHiddenTests.enabled = False", "ClearHiddenTests.enabled .* is False"),
    "all switched off": ("c.NbGraderPreprocessor.enabled = False", "so RestoreCells would not work"),
    "within another": ("c.NotebookExporter.SaveVerdict.enabled = False", "c.SaveVerdict.enabled"),
    "other marks": ('c.ClearHiddenTests.begin_test_delimeter = "BEGIN SECRET"', "hidden checks: remove"),
    "marks by a base": ('c.ClearSolutions.end_solution_delimeter = "END"', "so ReleaseOriginals would not work"),
    "a kernel": ('c.Autograde.sanitize_preprocessors.append("nbgrader.preprocessors.Execute")', "(has Execute|lacks)"),
    "any exporter's": (
        'c.Exporter.preprocessors.append("nbconvert.preprocessors.ExecutePreprocessor")',
        "has ExecutePreprocessor, so students' code would run outside of the sandbox",
    ),
    "a kernel's switch": ("c.ExecutePreprocessor.enabled = True", "outside of the sandbox"),
    "raw pages": ("c.HTMLExporter.sanitize_html = False", "students' text could act"),
    "filter": ('c.HTMLExporter.filters = {"markdown2html": str}', "replaces 'markdown2html'"),
}


@pytest.mark.parametrize("when", ["before", "after"])
@pytest.mark.parametrize("name", OPEN)
def test_what_opens_a_wall_is_one_sentence(tmp_path, name, when):
    line, says = OPEN[name]
    if (name, when) == ("hidden tests", "before"):
        line = "c.GenerateAssignment.preprocessors = []"
    lines = [line, "configure(c)"] if when == "before" else ["configure(c)", line]
    found = list(options.walls(loaded(tmp_path, SHORT + "\n".join(lines))))
    assert found and re.search(says, found[0]), found
    assert all("in nbgrader_config.py" in one and "\n" not in one for one in found)


def test_a_class_given_by_its_name_counts():
    config = Config(plumbing())
    config.ZipCollectApp.collector_plugin = "autograder.nbgrader.collecting.SafeCollector"
    config.GenerateAssignment.preprocessors = [
        "autograder.nbgrader.releasing.ReleaseOriginals",
        "nbgrader.preprocessors.ClearHiddenTests",
        "nbgrader.preprocessors.clearmarkingscheme.ClearMarkScheme",
    ]
    assert not list(options.walls(config))
    config.GenerateAssignment.preprocessors = [ReleaseOriginals, ClearHiddenTests, "no.such.ClearMarkScheme"]
    assert len(list(options.walls(config))) == 1


def test_a_configuration_without_it_is_told_the_two_lines(tmp_path, monkeypatch):
    monkeypatch.chdir(ROOT)
    (said,) = options.faults(loaded(tmp_path, "c = get_config()\nc.CourseDirectory.course_id = 'x'\n"))
    assert said == options.UNCONFIGURED and "configure(c)" in said


def test_without_a_configuration_it_ends_the_program():
    """An Exception nbgrader would log, and then grade without a sandbox."""
    with pytest.raises(SystemExit, match="get_config"):
        configure(None)


@pytest.mark.slow("it runs nbgrader's commands")
def test_a_slip_below_the_call_leaves_the_walls_up(tmp_path):
    """nbgrader drops a configuration that raises, with all that it set, and goes on."""
    place = copy(tmp_path / "course")
    assert command(place, "nbgrader", "generate_assignment", NAME)[0] == 0
    (place / "nbgrader_config.py").write_text(f"{SHORT}configure(c)\nc.Exchange.root = no_such_name\n")
    (place / "submitted" / "ada" / NAME).mkdir(parents=True)
    shutil.copy(place / "source" / NAME / f"{NAME}.ipynb", place / "submitted" / "ada" / NAME)
    for step in ("zip_collect", "autograde"):
        done = warm.run(place, "nbgrader", step, NAME)
        assert done.returncode != 0 and "no_such_name" in done.stderr
    said = warm.run(place, "nbgrader", "zip_collect", NAME).stderr
    assert "does not have nbgrader work with this kit: fix the error in it" in said
    assert not (place / "autograded").exists() and not (place / "downloaded").exists()


@pytest.mark.slow("it runs each of nbgrader's commands")
def test_nbgraders_own_commands_work_with_it_and_refuse_an_open_wall(tmp_path):
    place = copy(tmp_path / "course")
    config = place / "nbgrader_config.py"
    short = f"{SHORT}configure(c)\nc.CourseDirectory.course_id = 'averages'\n"
    config.write_text(short)
    for step in ("generate_assignment", "generate_solution"):
        code, _, said = command(place, "nbgrader", step, NAME)
        assert code == 0, said
    released = (place / "release" / NAME / f"{NAME}.ipynb").read_text()
    assert "HIDDEN" not in released and "SOLUTION" not in released
    folder = place / "downloaded" / NAME / "archive"
    folder.mkdir(parents=True)
    with zipfile.ZipFile(folder / "all.zip", "w") as archive:
        archive.write(place / "solutions" / NAME / f"{NAME}.ipynb", f"ada_{NAME}.ipynb")
    named = rf"--FileNameCollectorPlugin.named_regexp=.*?(?P<student_id>ada)_(?P<file_id>{NAME})"
    code, _, said = command(place, "nbgrader", "zip_collect", NAME, named, "--force")
    assert code == 0 and "SafeCollector" in said, said
    for step in ("autograde", "generate_feedback"):
        code, _, said = command(place, "nbgrader", step, NAME)
        assert code == 0, said
    page = (place / "feedback" / "ada" / NAME / f"{NAME}.html").read_text()
    assert "5 of 5" in re.sub("<[^>]+>", "", page)
    refused = {
        "generate_assignment": OPEN["solutions"],
        "generate_solution": OPEN["in solutions"],
        "zip_collect": OPEN["extractor"],
        "autograde": OPEN["no sandbox"],
        "generate_feedback": OPEN["raw pages"],
    }
    for step, (line, says) in refused.items():
        config.write_text(f"{short}{line}\n")
        code, _, said = command(place, "nbgrader", step, NAME, "--force")
        errors = [one for one in said.splitlines() if re.search(says, one)]
        assert code != 0 and len(errors) == 1, (step, said)


def test_the_doctor_says_how_to_shorten_an_older_configuration(tmp_path, monkeypatch):
    """It names the lines to keep; a short one is not spoken of, whatever else it imports."""
    place = copy(tmp_path / "course")
    config = place / "nbgrader_config.py"
    with config.open("a") as file:
        file.write("c.Exercises.credit = 'checks'\n")
    monkeypatch.chdir(place)
    (found,) = looks._of_older_configuration(config.read_bytes())
    assert found.well is None and "\n" not in found.says
    assert found.says.endswith("(c.CourseDirectory.course_id, c.Exercises.credit)"), found.says
    kept = "\n".join(line for line in config.read_text().splitlines() if line.startswith(("c.Exercises", "c.Course")))
    config.write_text(f"{SHORT}configure(c)\n{kept}\nfrom autograder.nbgrader.preprocessors import GradeInSandbox\n")
    assert not list(looks._of_older_configuration(config.read_bytes()))
    assert not list(options.faults(NbgraderCourse(place).config))
    oldest = b"from autograder.notebooks import nbgrader_patch\nnbgrader_patch.apply()\n"
    assert [one.well for one in looks._of_older_configuration(oldest)] == [None]
    assert not list(looks._of_older_configuration(b"c = get_config()\n"))
    assert not list(looks._of_older_configuration(b"c = ("))


def test_a_new_course_has_a_short_one(tmp_path):
    code, said, _ = autograder(tmp_path, "new", "course", "mine")
    text = (tmp_path / "mine" / "nbgrader_config.py").read_text()
    assert code == 0 and "configure(c)" in text and 'course_id = "mine"' in text, said
    assert len([line for line in text.splitlines() if line and not line.startswith("#")]) <= 6
