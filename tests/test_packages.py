"""Courses that are installed as packages: found, put together, refused where two clash, and hidden from students."""

import json
import os
import shutil
import subprocess
import sys
import zipfile

import packages
import pytest
from conftest import ROOT, load
from small_course import AVERAGES, NAME

from autograder import cli, course, installed, new
from autograder.batch import gradescope
from autograder.checks.proxies import Local
from autograder.checks.runner import Graders
from autograder.doctor import course as doctor
from autograder.errors import CourseError, UsageError
from autograder.grading import course_faults, store
from autograder.mistakes.bank import bank, right_answer, styles_of
from autograder.new import packaged
from autograder.sandbox import view

OTHER = {"normalise": "standardise", "moving_average": "windowed"}


@pytest.fixture
def site(tmp_path, monkeypatch):
    """An empty folder of packages, searched by Python."""
    place = tmp_path / "lib" / "site-packages"
    place.mkdir(parents=True)
    packages.look(monkeypatch, place)
    yield place
    course.forget()
    for name in [name for name in sys.modules if name.startswith(("exercises_of_", "averages_course", "other_course"))]:
        del sys.modules[name]


@pytest.fixture
def two(site):
    """Two courses without a common exercise, whose lessons have the same number."""
    packages.install(site, "averages")
    packages.renamed(packages.install(site, "other"), "01_spreads", OTHER)
    course.forget()
    return site


def taught(tmp_path, monkeypatch, *names):
    """A course made of installed ones, in which the test works."""
    place = tmp_path / "taught"
    packaged.course_from(names, str(place))
    monkeypatch.chdir(place)
    course.forget()
    return place


def test_an_installed_course_is_found_by_its_entry_point(two):
    found = {one.name: one for one in installed.courses()}
    assert set(found) >= {"averages", "other"} and found["averages"].folder == two / "averages_course"
    assert (found["averages"].package, found["averages"].version) == ("averages-course", "1.2")
    assert installed.named("averages") == installed.named("Averages_Course") == found["averages"]
    assert installed.problems() == () and installed.named("neither") is None


def test_two_packages_make_one_course(two, tmp_path, monkeypatch, capsys):
    """Its lessons are numbered on, their texts say so, and checks, banks and right answers come from the packages."""
    (path,) = (two / "other_course" / "source").glob("*/*.ipynb")
    notebook = load(path)
    notebook["cells"][0]["source"] = "# 01 Spreads\n\n" + "".join(notebook["cells"][0]["source"])
    notebook["cells"][1]["source"] += "\n# 01_spreads.ipynb"
    path.write_text(json.dumps(notebook))
    course.forget()
    switches = [option for name in ("averages", "other-course") for option in ("--from", name)]
    assert cli.main(["new", "course", *switches, str(tmp_path / "taught")]) == 0
    said = capsys.readouterr().out
    assert "averages-course 1.2 and other-course 1.2" in said and "02_spreads, from other (there: 01_spreads)" in said
    monkeypatch.chdir(tmp_path / "taught")
    course.forget()
    assert [*course.assignments()] == [NAME, "02_spreads"]
    assert [*course.exercises()] == ["normalise", "moving_average", "standardise", "windowed"]
    first, second = (part.source for part in course.find_assignment("02").outline[:2])
    assert first.startswith("# 02 Spreads") and second.endswith("# 02_spreads.ipynb")
    assert [one.package for one in course.packages_used()] == ["averages-course", "other-course"]
    assert course.folder_of("windowed") == two / "other_course" / "exercises" / "windowed"
    assert not (tmp_path / "taught" / "exercises").exists()
    graders = Graders()
    for exercise in course.exercises():
        assert bank(exercise)
        for mistake in bank(exercise).values():
            assert graders.run(exercise, mistake.local(), 1).failed()
        for style in styles_of(exercise):
            namespace: dict[str, object] = {}
            exec("import torch\n" + right_answer(exercise, style), namespace)
            assert graders.run(exercise, Local(namespace), 1).failed() == []
    assert 'course_id = "taught"' in (tmp_path / "taught" / "nbgrader_config.py").read_text()
    assert "lessons of averages and other" in (tmp_path / "taught" / "README.md").read_text()


@pytest.mark.slow("it builds and grades")
def test_a_course_of_two_packages_builds_and_grades(two, tmp_path, monkeypatch):
    place = taught(tmp_path, monkeypatch, "averages", "other")
    environment = {**os.environ, "PYTHONPATH": f"{ROOT}{os.pathsep}{two}"}

    def ran(*arguments):
        command = [sys.executable, "-m", "autograder", *arguments]
        done = subprocess.run(command, cwd=place, env=environment, capture_output=True, text=True)
        assert "Traceback" not in done.stdout + done.stderr, done.stderr
        return done.returncode, done.stdout + done.stderr

    assert ran("build")[0] == 0
    thief = f"""
def normalise(x):
    import sys
    sys.path.insert(0, {str(two)!r})
    from averages_course.exercises.normalise.checks import right
    return right(x)
"""
    (place / "thief.py").write_text(thief)
    (place / "mine.py").write_text(f"import torch\n{bank('windowed')['sums'].source}")
    code, said = ran("check", "solutions/02_spreads/02_spreads.ipynb")
    assert code == 0 and "5 of 5 points" in said, said
    code, said = ran("check", "mine.py", "--exercise", "windowed")
    assert code == 1 and bank("windowed")["sums"].says in " ".join(said.split()), said
    code, said = ran("check", "thief.py", "--exercise", "normalise")
    assert code == 1 and "No module named 'averages_course" in " ".join(said.split()), said


# --- what clashes ---------------------------------------------------------------------------------


def test_an_exercise_of_two_packages_is_refused_by_both_names(two, tmp_path, monkeypatch):
    place = taught(tmp_path, monkeypatch, "averages")
    packages.install(two, "third")
    course.forget()
    for ask in (
        lambda: course.folder_of("normalise"),
        lambda: course.file_of("normalise", "checks"),
        lambda: packaged.course_from(
            ["averages", "other"], str(tmp_path / "more")
        ),  # where the third is installed, too
    ):
        with pytest.raises(CourseError, match="'normalise' is in two packages, averages-course and third-course") as no:
            ask()
        assert "\n" not in str(no.value)
    assert not (tmp_path / "more").exists()
    faults = list(course_faults.of_cells(course.find_assignment("01")))
    assert len(faults) == 2 and all("averages-course and third-course" in fault for fault in faults)
    own = place / "exercises" / "normalise"
    own.parent.mkdir()
    (two / "third_course" / "exercises" / "normalise").rename(own)
    packages.install(two, "fourth")
    course.forget()
    assert course.folder_of("normalise") == own, "the course's own settles it"


def test_an_exercise_of_a_package_and_of_the_kit_is_refused(site):
    packages.renamed(packages.install(site, "other"), "01_spreads", {"normalise": "softmax"})
    course.forget()
    with pytest.raises(CourseError, match="attention-course and other-course"):
        course.shared_folder_of("softmax")
    assert course.folder_of("softmax").parent == course.EXERCISES, "in the kit's own course it is the kit's"


def test_one_exercise_in_lessons_of_two_packages_is_refused(two, tmp_path):
    for path in (two / "other_course" / "exercises").iterdir():
        path.rename(path.with_name(f"{path.name}_elsewhere"))
    source = two / "other_course" / "source" / "01_spreads" / "01_spreads.ipynb"
    source.write_text(source.read_text().replace("standardise", "normalise"))
    course.forget()
    with pytest.raises(UsageError, match="'normalise' is in lessons of two packages, averages-course and other-course"):
        packaged.course_from(["averages", "other"], str(tmp_path / "more"))


def test_two_packages_with_one_name_are_told_apart_by_their_own(two):
    entry = two / "other_course-1.2.dist-info" / "entry_points.txt"
    entry.write_text(entry.read_text().replace("other =", "averages ="))
    course.forget()
    with pytest.raises(UsageError, match="name a course 'averages', averages-course .* and other-course .*: uninstall"):
        installed.named("averages")
    assert installed.named("other-course") != installed.named("averages-course")


@pytest.mark.parametrize(
    "sources, sentence",
    [
        (["averages", "."], "is a folder: only installed courses"),
        (["averages", "/"], "is a folder: only installed courses"),
        (["nowhere"], "nowhere is no folder, such as last year's course, and no course of that name is installed, but"),
        (["averages", "nowhere"], "nowhere is no folder"),
        (["averages"], "Name a folder for the course"),
    ],
)
def test_what_makes_no_course_is_a_sentence(two, sources, sentence):
    with pytest.raises(UsageError, match=sentence):
        packaged.course_from(sources)


def test_a_package_without_lessons_makes_no_course_and_its_exercises_can_be_used(two, tmp_path):
    (two / "other_course" / "source" / "01_spreads").rename(tmp_path / "elsewhere")
    course.forget()
    with pytest.raises(UsageError, match="other-course has no lessons"):
        packaged.course_from(["other"], str(tmp_path / "new"))
    assert course.folder_of("windowed").is_relative_to(two)


# --- what is broken -------------------------------------------------------------------------------


def entry(text):
    return lambda site: (site / "other_course-1.2.dist-info" / "entry_points.txt").write_text(text)


def init(text):
    def write(site):
        (site / "other_course" / "__init__.py").write_text(text)
        entry("[autograder.courses]\nother = other_course.inner\n")(site)

    return write


def emptied(site):
    for part in ("source", "exercises"):
        (site / "other_course" / part).rename(site / f"other_{part}")


def unnamed(site):
    (site / "other_course-1.2.dist-info" / "METADATA").unlink()
    entry("[autograder.courses]\nother = gone\n")(site)


BROKEN = {
    "no such package": entry("[autograder.courses]\nother = gone_course\n"),
    "an attribute": entry("[autograder.courses]\nother = other_course:course\n"),
    "a path": entry("[autograder.courses]\nother = ../other_course\n"),
    "nothing": entry("[autograder.courses]\nother =\n"),
    "a line that is none": entry("[autograder.courses]\nother other_course\n"),
    "a module": entry("[autograder.courses]\nother = json.tool\n"),
    "an error": init("1 / 0\n"),
    "an error of two lines": init("raise ValueError('one\\ntwo')\n"),
    "a long error": init("raise ValueError('x' * 10_000)\n"),
    "an end": init("raise SystemExit(3)\n"),
    "no syntax": init("def (\n"),
    "an empty folder": emptied,
}


@pytest.mark.parametrize("kind", BROKEN)
def test_a_broken_package_is_one_sentence_and_the_others_work(two, kind, tmp_path, monkeypatch):
    place = taught(tmp_path, monkeypatch, "averages")
    BROKEN[kind](two)
    course.forget()
    (problem,) = installed.problems()
    assert "The installed package other-course cannot be used" in problem and "\n" not in problem
    assert len(problem) < 500
    assert "averages" in [one.name for one in installed.courses()] and course.folder_of("normalise").is_dir()
    assert any(problem in str(found) for found in doctor.findings([*course.assignments(place).values()][:1]))
    with pytest.raises(UsageError) as refused:
        packaged.course_from(["other"], str(tmp_path / "more"))
    assert problem in str(refused.value) and "\n" not in str(refused.value)
    with pytest.raises(CourseError, match="no checks for the exercise 'windowed'.*package other-course cannot be used"):
        course.folder_of("windowed")


def test_a_package_without_metadata_stops_nobody(two):
    unnamed(two)
    course.forget()
    assert "averages" in [one.name for one in installed.courses()] and len(installed.problems()) == 1


def test_checks_of_a_package_that_cannot_be_imported_name_it(two, tmp_path, monkeypatch):
    taught(tmp_path, monkeypatch, "averages", "other")
    (two / "other_course" / "exercises" / "windowed" / "checks.py").write_text("1 / 0\n")
    with pytest.raises(CourseError, match=r"windowed/checks.py of the installed package other-course cannot be import"):
        course.module_of("windowed", "checks")


# --- what depends on it ---------------------------------------------------------------------------


def test_no_file_of_a_package_is_shown_to_student_code(two):
    hidden = {tuple(pair) for pair in view.secret_inodes()}
    seen = view.of_this_machine()
    assert seen.shows(str(two)), "it is a folder of packages, as any other"
    for path in two.rglob("*"):
        assert not seen.shows(str(path)), path
    for path in (two / "averages_course").rglob("*"):
        assert (path.stat().st_dev, path.stat().st_ino) in hidden, path


@pytest.mark.parametrize("kind", ["no such package", "an attribute", "a line that is none", "an error"])
def test_nor_of_one_that_is_broken(two, kind):
    BROKEN[kind](two)
    course.forget()
    seen = view.of_this_machine()
    assert not any(seen.shows(str(path)) for path in two.rglob("*"))


def without_a_list(site):
    (site / "averages_course-1.2.dist-info" / "RECORD").unlink()


def inside_another_package(site):
    without_a_list(site)
    (site / "uni").mkdir()
    (site / "uni" / "answers.py").write_text("def mean(x): ...\n")
    (site / "averages_course").rename(site / "uni" / "averages")
    (site / "averages_course-1.2.dist-info" / "entry_points.txt").write_text(f"[{installed.GROUP}]\na = uni.averages\n")


def in_another_encoding(site):
    path = site / "averages_course-1.2.dist-info" / "entry_points.txt"
    path.write_bytes(path.read_bytes() + b"# caf\xe9\n")


def with_a_compiled_module(site):
    """As installers leave it that compile nothing: the list has no such file."""
    listed = site / "averages_course-1.2.dist-info" / "RECORD"
    listed.write_text(listed.read_text() + "answers_of.py,,\n../elsewhere/answers.py,,\n")
    for path in ("answers_of.py", "__pycache__/answers_of.cpython-311.pyc", "../elsewhere/answers.py"):
        (site / path).parent.mkdir(exist_ok=True)
        (site / path).touch()


def in_an_archive(site):
    about = site / "averages_course-1.2.dist-info"
    with zipfile.ZipFile(site / "averages-1.2.egg", "w") as archive:
        for path in (site / "averages_course").rglob("*.*"):
            archive.write(path, path.relative_to(site))
        archive.write(about / "METADATA", "EGG-INFO/PKG-INFO")
        archive.write(about / "entry_points.txt", "EGG-INFO/entry_points.txt")
    shutil.rmtree(site / "averages_course")
    shutil.rmtree(about)
    sys.path.append(str(site / "averages-1.2.egg"))


INSTALLERS = (without_a_list, inside_another_package, in_another_encoding, with_a_compiled_module, in_an_archive)


@pytest.mark.parametrize("leave", INSTALLERS)
def test_nor_however_it_was_installed(two, leave):
    leave(two)
    course.forget()
    seen = view.of_this_machine()
    assert not [path for path in two.rglob("*") if path.is_file() and seen.shows(str(path))]
    assert {str(path) for path in two.parent.glob("elsewhere/*")} <= installed.secret_paths()


def test_nor_of_a_second_copy_or_of_what_comes_later(two, tmp_path, monkeypatch):
    more = tmp_path / "more" / "site-packages"
    more.mkdir(parents=True)
    packages.look(monkeypatch, more)
    packages.install(more, "averages")
    seen = view.of_this_machine()  # nothing was forgotten since
    assert not any(seen.shows(str(path)) for path in more.rglob("*"))


def test_a_stored_result_depends_on_the_packages_that_the_course_uses_and_no_others(two, tmp_path, monkeypatch):
    place = taught(tmp_path, monkeypatch, "averages")

    def version():
        store.parts_of.cache_clear()
        course.forget()
        return store.parts_of(place)

    before = version()
    assert [part for part in before if part.startswith("package")] == ["package averages-course"]
    (two / "other_course" / "tools.py").write_text("1")
    assert version() == before
    (two / "averages_course" / "tools.py").write_text("1")
    assert version() != before
    store.parts_of.cache_clear()


def test_the_zip_for_gradescope_has_the_packages_of_the_course(two, tmp_path, monkeypatch):
    taught(tmp_path, monkeypatch, "averages")
    gradescope.bundle(course.find_assignment("01"), tmp_path / "01.zip")
    with zipfile.ZipFile(tmp_path / "01.zip") as archive:
        archive.extractall(tmp_path / "there")
    assert not (tmp_path / "there" / gradescope.PLACE / "other_course").exists()
    monkeypatch.setattr(sys, "path", [path for path in sys.path if path != str(two)])
    packages.look(monkeypatch, tmp_path / "there" / gradescope.PLACE)
    monkeypatch.chdir(tmp_path / "there" / "course")
    course.forget()
    assert [one.package for one in course.packages_used()] == ["averages-course"]
    assert course.folder_of("normalise").is_relative_to(tmp_path / "there" / "course")


@pytest.mark.slow("it starts pytest")
def test_the_checks_of_a_package_run_in_plain_pytest(two, tmp_path, monkeypatch):
    """On the solutions of the course that uses them, or else on the package's own."""
    place = taught(tmp_path, monkeypatch, "averages", "other")
    environment = {**os.environ, "PYTHONPATH": f"{ROOT}{os.pathsep}{two}"}
    for folder in (place, tmp_path):
        command = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", two / "other_course" / "exercises"]
        done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True)
        assert done.returncode == 0 and "4 passed" in done.stdout, done.stdout + done.stderr


def test_a_package_is_a_course_that_its_author_works_in(two, monkeypatch):
    """Its own exercises are those of its folder, whatever else is installed."""
    monkeypatch.chdir(two / "other_course")
    course.forget()
    assert course.here() == two / "other_course" and course.packages_used() == []
    new.exercise("doubled")
    assert (two / "other_course" / "exercises" / "doubled" / "checks.py").is_file()
    assert AVERAGES.is_dir()
