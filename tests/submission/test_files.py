"""What lies below `submitted/`, whatever it is: everybody has a row, and nobody gets what is another's."""

import hashlib
import json
import os
import shutil
import socket

import pytest
from conftest import ASSIGNMENT, hand_in
from stand_ins import Engine, Writer, run

from autograder.batch import run as batch
from autograder.errors import Unreadable
from autograder.submission import files, read

NAME = f"{ASSIGNMENT}.ipynb"


@pytest.fixture
def place(tmp_path, release):
    """A course in which zoe has handed something in, with a time and a file beside it."""
    folder = tmp_path / "submitted" / "zoe" / ASSIGNMENT
    release["cells"][-1]["source"] = ["graded"]
    hand_in(release, folder)
    (folder / "timestamp.txt").write_text("2026-03-01 11:00:00 UTC")
    (folder / "notes.csv").write_text("zoe's notes")
    tmp_path.chmod(0o755)
    return tmp_path


def problem_with(path):
    """Why a notebook cannot be read, or ""."""
    try:
        return "" if files.read_submission(path).cells else "It has no cells."
    except Unreadable as problem:
        return str(problem)


def link_student(submitted):
    (submitted / "linker").symlink_to("zoe")


def link_student_elsewhere(submitted):
    (submitted / "zoe").rename(submitted.parent / "zoe")
    (submitted / "linker").symlink_to(submitted.parent / "zoe")
    (submitted.parent / "zoe").rename(submitted / "zoe")
    (submitted.parent / "zoe").symlink_to(submitted / "zoe")


def link_to_a_link(submitted):
    (submitted / "linker").mkdir()
    (submitted / "linker" / "there").symlink_to("../../submitted/zoe")
    (submitted / "linker" / ASSIGNMENT).symlink_to(f"there/{ASSIGNMENT}")


def link_assignment(submitted):
    (submitted / "linker").mkdir()
    (submitted / "linker" / ASSIGNMENT).symlink_to(f"../zoe/{ASSIGNMENT}")


def link_notebook(submitted):
    (submitted / "linker" / ASSIGNMENT).mkdir(parents=True)
    (submitted / "linker" / ASSIGNMENT / NAME).symlink_to(f"../../zoe/{ASSIGNMENT}/{NAME}")


def link_to_nowhere(submitted):
    (submitted / "linker").symlink_to("nowhere")


def link_to_itself(submitted):
    (submitted / "linker").symlink_to("linker")


def link_assignment_to_nowhere(submitted):
    (submitted / "linker").mkdir()
    (submitted / "linker" / ASSIGNMENT).symlink_to("nowhere")


def file_for_folder(submitted):
    (submitted / "linker").mkdir()
    (submitted / "linker" / ASSIGNMENT).write_text("{}")


def pipe_for_folder(submitted):
    (submitted / "linker").mkdir()
    os.mkfifo(submitted / "linker" / ASSIGNMENT)


def socket_for_folder(submitted):
    (submitted / "linker").mkdir()
    os.chdir(submitted / "linker")
    with socket.socket(socket.AF_UNIX) as made:
        made.bind(ASSIGNMENT)


ODD = {
    link_student: "Its folder linker is a link, which is not followed",
    link_student_elsewhere: "Its folder linker is a link",
    link_to_a_link: f"Its folder linker/{ASSIGNMENT} is a link",
    link_assignment: f"Its folder linker/{ASSIGNMENT} is a link",
    link_notebook: "It is a symbolic link",
    link_to_nowhere: "Its folder linker is a link",
    link_to_itself: "Its folder linker is a link",
    link_assignment_to_nowhere: "is a link",
    file_for_folder: f"Its folder linker/{ASSIGNMENT} is not a folder",
    pipe_for_folder: "is not a folder",
    socket_for_folder: "is not a folder",
}


@pytest.mark.parametrize("make", ODD, ids=lambda make: make.__name__)
def test_what_is_not_ones_own_folder_gets_a_row_no_points_and_a_sentence(place, make):
    make(place / "submitted")
    engine = Engine()
    _, done = run(place, engine, Writer())
    done = dict(done)
    assert engine.tasks == ["zoe"] and done.keys() == {"linker", "zoe"} and done["zoe"].full
    (said,) = {outcome.message for outcome in done["linker"].exercises}
    assert done["linker"].score == 0 and ODD[make] in said and "\n" not in said
    folder = place / "submitted" / "linker" / ASSIGNMENT
    files.copy(folder, place / "copied", [])
    assert not list(place.glob("copied/**/notes.csv")) and "notes.csv" not in files.names(folder)
    with pytest.raises(Unreadable):
        files.read_bytes(folder / "timestamp.txt")


def test_the_course_and_submitted_may_be_links(place):
    (place / "elsewhere").mkdir()
    (place / "submitted").rename(place / "elsewhere" / "kept")
    (place / "submitted").symlink_to("elsewhere/kept")
    (place / "course").symlink_to(place)
    _, done = run(place / "course", Engine(), Writer())
    assert [(student, verdict.full) for student, verdict in done] == [("zoe", True)]
    assert files.read_bytes(place / "course" / "submitted" / "zoe" / ASSIGNMENT / "notes.csv") == b"zoe's notes"


def test_hard_links_are_told_and_cost_nobody_anything(place):
    """Two names of one file: nothing tells whose it is, and a copy of it would be graded as well."""
    (place / "submitted" / "linker" / ASSIGNMENT).mkdir(parents=True)
    os.link(place / "submitted" / "zoe" / ASSIGNMENT / NAME, place / "submitted" / "linker" / ASSIGNMENT / NAME)
    _, done = run(place, Engine(), Writer())
    assert {student: verdict.full for student, verdict in done} == {"linker": True, "zoe": True}
    (remark,) = batch.remarks(place, ASSIGNMENT, ["linker", "zoe"])
    assert remark.startswith("linker, zoe: their notebooks are one and the same file")
    shutil.copytree(place / "submitted", place / "backup", copy_function=os.link)
    os.unlink(place / "submitted" / "linker" / ASSIGNMENT / NAME)
    assert not list(batch.remarks(place, ASSIGNMENT, ["linker", "zoe"])), "a backup by hard links is nobody's fault"


def test_strays_are_told(place):
    for name in ("notes.csv", ".hidden"):
        (place / "submitted" / name).write_text("")
    os.mkfifo(place / "submitted" / "pipe")
    (place / "submitted" / "text").symlink_to("notes.csv")
    assert batch.students(place, ASSIGNMENT) == ["zoe"]
    assert [remark.split(":")[0] for remark in batch.remarks(place, ASSIGNMENT, [])] == ["notes.csv", "pipe", "text"]


# --- as an ordinary user, whom rights keep out ----------------------------------------------------


def as_ordinary_user(place, function):
    """What a function without arguments gives, which is run by nobody in the folder `place` (if this is root)."""
    if os.geteuid() != 0:
        os.chdir(place)
        return function()
    came, goes = os.pipe()
    if (process := os.fork()) == 0:
        try:
            os.chdir(place)
            os.setgroups([])
            os.setgid(65534)
            os.setuid(65534)
        except OSError:
            os._exit(77)
        try:
            os.write(goes, json.dumps(function()).encode())
            os._exit(0)
        finally:
            os._exit(1)
    os.close(goes)
    with os.fdopen(came, "rb") as said:
        answer = said.read()
    code = os.waitstatus_to_exitcode(os.waitpid(process, 0)[1])
    if code == 77:
        pytest.skip("this machine lets root be no other user")
    assert code == 0, "it ended with an exception; see above"
    return json.loads(answer)


CLOSED = {
    "no_student": ("no_student", 0o000),
    "no_assignment": (f"no_assignment/{ASSIGNMENT}", 0o000),
    "no_search": ("no_search", 0o444),
    "names_only": (f"names_only/{ASSIGNMENT}", 0o444),
    "no_notebook": (f"no_notebook/{ASSIGNMENT}/{NAME}", 0o000),
}


def test_a_folder_without_rights_gets_a_row_no_points_and_a_sentence(place):
    submitted = place / "submitted"
    for student, (path, mode) in CLOSED.items():
        shutil.copytree(submitted / "zoe", submitted / student)
        (submitted / path).chmod(mode)
    shutil.copytree(submitted / "zoe", submitted / "unlisted")
    (submitted / "unlisted" / ASSIGNMENT).chmod(0o111)
    (submitted / "unlisted and empty" / ASSIGNMENT).mkdir(parents=True)
    (submitted / "unlisted and empty" / ASSIGNMENT).chmod(0o111)
    (place / "out").mkdir()
    (place / "out").chmod(0o777)

    def look():
        who = batch.students(".", ASSIGNMENT)
        path = "submitted/{}/" + ASSIGNMENT
        for student in who:
            files.copy(path.format(student), f"out/{student}", [])
        said = {s: problem_with(f"{path.format(s)}/{NAME}") for s in who}
        return said, {s: sorted(files.names(path.format(s))) for s in who}

    try:
        said, names = as_ordinary_user(place, look)
    finally:
        for path, _ in CLOSED.values():
            (submitted / path).chmod(0o755)
        for student in ("unlisted", "unlisted and empty"):
            (submitted / student / ASSIGNMENT).chmod(0o755)
    assert said.keys() == {*CLOSED, "unlisted", "unlisted and empty", "zoe"} == names.keys()
    assert said.pop("unlisted and empty") == f"There is no such file. It should be called {NAME}."
    assert said.pop("zoe") == "" == said.pop("unlisted"), "its notebook may be read, though not listed"
    assert all("cannot be opened (Permission denied)" in sentence for sentence in said.values()), said
    assert not any(names[student] for student in CLOSED if student not in ("names_only", "no_notebook"))
    assert {p.parent.name for p in (place / "out").rglob("notes.csv")} == {"zoe", "no_notebook"}


# --- what lies beside it --------------------------------------------------------------------------


def test_what_lies_beside_is_copied_within_bounds(place, monkeypatch):
    monkeypatch.setattr(files, "MAX_NAMES", 50)
    monkeypatch.setattr(files, "MAX_COPIED", 1000)
    folder = place / "submitted" / "zoe" / ASSIGNMENT
    (folder / "a" / "b").mkdir(parents=True)
    (folder / "a" / "b" / "deep.txt").write_text("deep")
    (folder / "a" / "cache.pyc").write_text("")
    (folder / "large").write_bytes(b"x" * 2000)
    (folder / "outside").symlink_to("/etc")
    (folder / "passwd").symlink_to("/etc/passwd")
    (folder / "z" / "many").mkdir(parents=True)
    for number in range(200):
        (folder / "z" / "many" / f"{number:03d}").write_text("")
    files.copy(folder, place / "copied", ["*.ipynb", "*.pyc"])
    copied = {str(p.relative_to(place / "copied")) for p in (place / "copied").rglob("*") if p.is_file()}
    assert {path for path in copied if path[0] != "z"} == {"a/b/deep.txt", "notes.csv", "timestamp.txt"}
    assert len([path for path in copied if path[0] == "z"]) <= 50


def test_what_is_too_much_is_said(place, monkeypatch):
    """Nothing is left out in silence: too many names in one folder or in several, too deep, too large, in all."""
    folder = place / "submitted" / "zoe" / ASSIGNMENT
    assert files.left_out(folder) == "" == files.left_out(place / "submitted" / "nobody" / ASSIGNMENT)
    for number in range(30):
        (folder / f"d{number % 3}").mkdir(exist_ok=True)
        (folder / f"d{number % 3}" / f"{number:03d}").write_text("x" * 100)
    assert files.left_out(folder) == ""
    for limit, value, says in (
        ("MAX_NAMES", 30, "more than 30 files and folders"),
        ("MAX_FOLDERS", 0, "folders more than 0 deep"),
        ("MAX_COPIED", 2500, "of which not all is copied"),
    ):
        with monkeypatch.context() as patched:
            patched.setattr(files, limit, value)
            assert says in files.left_out(folder)
            files.copy(folder, place / limit, [])
            assert len([p for p in (place / limit).rglob("*") if p.is_file()]) < 30
    monkeypatch.setattr(files.read, "MAX_FILE", 50)
    assert "files of more than" in files.left_out(folder)


def test_folders_without_end_are_copied_no_deeper_than_can_be(place):
    """Python's own walk ends with a RecursionError in them."""
    folder = place / "submitted" / "zoe" / ASSIGNMENT
    os.chdir(folder)
    for _ in range(1500):
        os.mkdir("d")
        os.chdir("d")
    try:
        files.copy(folder, place / "copied", ["*.ipynb"])
        assert (place / "copied" / "notes.csv").exists() and not (place / "copied" / "/".join("d" * 30)).exists()
    finally:
        for _ in range(1500):
            os.chdir("..")
            os.rmdir("d")


def test_nothing_of_a_students_stands_in_the_way_of_the_courses_files(place):
    folder = place / "submitted" / "zoe" / ASSIGNMENT
    (folder / "data.txt").mkdir()
    (folder / "data.txt" / "mine").write_text("")
    (folder / "pictures").write_text("a file where the course has a folder")
    files.copy(folder, place / "copied", ["*.ipynb"], [("data.txt",), ("pictures", "one.png")])
    assert sorted(os.listdir(place / "copied")) == ["notes.csv", "timestamp.txt"]


@pytest.mark.parametrize("name", [f"{NAME}.txt", f"{NAME}.json", "work.json", "work", f"{NAME} "])
def test_a_notebook_that_is_called_otherwise_is_named(tmp_path, name):
    folder = tmp_path / "submitted" / "zoe" / ASSIGNMENT
    folder.mkdir(parents=True)
    (folder / name).write_text('{"cells": [], "nbformat": 4}')
    (folder / "settings.json").write_text("{}")
    said = f"There is no such file. It should be called {NAME}. The folder holds {name} instead."
    assert problem_with(folder / NAME) == said


def test_a_file_is_read_once_whatever_it_becomes(place):
    path = place / "submitted" / "zoe" / ASSIGNMENT / NAME
    file, data = files.read_submission(path), path.read_bytes()
    path.write_text("{}")
    assert (file.path, file.data, file.digest) == (str(path), data, hashlib.sha256(data).hexdigest())
    assert list(file.cells) == read.read_notebook(data)


def test_a_large_notebook_is_read_without_what_nobody_reads(tmp_path):
    path = tmp_path / "submitted" / "zoe" / ASSIGNMENT / NAME
    path.parent.mkdir(parents=True)
    state = '"metadata": {"widgets": {"state": {"a": "' + "x" * 26 * 2**20 + '"}}}'
    path.write_text('{"cells": [{"cell_type": "code", "source": "x = 1"}], "nbformat": 4, ' + state + "}")
    file = files.read_submission(path)
    assert [cell.source for cell in file.cells] == ["x = 1"] and len(file.data) < 1000
    assert file.digest == hashlib.sha256(file.data).hexdigest()
