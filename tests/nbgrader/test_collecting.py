"""`nbgrader zip_collect` on archives of strangers: what is right comes through, and nothing leaves its folder."""

import errno
import gzip
import io
import logging
import os
import shutil
import struct
import subprocess
import sys
import tarfile
import tracemalloc
import unicodedata
import zipfile

import pytest
from conftest import ASSIGNMENT, ROOT
from nbgrader.apps import ZipCollectApp
from nbgrader.coursedir import CourseDirectory
from traitlets.config import Config

from autograder.intake import owners as whose
from autograder.nbgrader import collecting, configure
from autograder.submission import times

NOTEBOOK = f"{ASSIGNMENT}.ipynb"


def zipped(members):
    """The bytes of a zip of (name, content) pairs; a ZipInfo may stand for a name."""
    with zipfile.ZipFile(made := io.BytesIO(), "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in members:
            archive.writestr(name, content)
    return made.getvalue()


def tarred(*members):
    """The bytes of a tar.gz; each member is a TarInfo, with its content or None."""
    with tarfile.open(fileobj=(made := io.BytesIO()), mode="w:gz") as archive:
        for info, content in members:
            info.size = len(content or b"")
            archive.addfile(info, io.BytesIO(content or b""))
    return made.getvalue()


def member(name, kind=tarfile.REGTYPE, linkname=""):
    info = tarfile.TarInfo(name)
    info.type, info.linkname = kind, linkname
    return info


def link(name):
    info = zipfile.ZipInfo(name)
    info.external_attr = 0o120777 << 16
    return info


def extract(tmp_path, **archives):
    """Extract archives, by name without suffix; returns what is there afterwards, by path."""
    (tmp_path / "archive").mkdir()
    (tmp_path / "extracted").mkdir()
    for name, content in archives.items():
        suffix = ".zip" if content[:2] == b"PK" else ".tar.gz"
        (tmp_path / "archive" / f"{name}{suffix}").write_bytes(content)
    (tmp_path / "archive" / "linked.ipynb").symlink_to("/etc/passwd")
    before = set(tmp_path.rglob("*"))
    collecting.BoundedExtractor().extract(str(tmp_path / "archive"), str(tmp_path / "extracted"))
    new = set(tmp_path.rglob("*")) - before
    assert all(p.is_relative_to(tmp_path / "extracted") and not p.is_symlink() for p in new)
    return {str(p.relative_to(tmp_path / "extracted")): p.read_bytes() for p in new if p.is_file()}


def test_what_is_right_comes_through(tmp_path):
    inner = zipped([(NOTEBOOK, b"ada's")])
    found = extract(
        tmp_path,
        ada=zipped([(NOTEBOOK, b"ada's"), ("folder/data.txt", b"1")]),
        bela=tarred((member(NOTEBOOK), b"bela's")),
        everybody=zipped([("carl.zip", inner)]),
    )
    assert {n: c for n, c in found.items() if not n.endswith(".zip")} == {
        f"ada/{NOTEBOOK}": b"ada's",
        "ada/folder/data.txt": b"1",
        f"bela/{NOTEBOOK}": b"bela's",
        f"everybody/carl/{NOTEBOOK}": b"ada's",
    }


@pytest.mark.parametrize(
    "name",
    [
        "../out",
        "/etc/out",
        "a/../../out",
        "..\\out",
        "a\nb",
        "\x1b[2J",
        ".hidden",
        "x" * 300,
        "/".join("deepdeepdeep"),
    ],
)
def test_names_that_lead_elsewhere_are_left_out(tmp_path, name):
    archive = zipped([(NOTEBOOK, b"right"), (name, b"evil")])
    tar = tarred((member(NOTEBOOK), b"right"), (member(name), b"evil"))
    assert extract(tmp_path, zip=archive, tar=tar) == {f"{a}/{NOTEBOOK}": b"right" for a in ("zip", "tar")}


def test_links_and_special_files_are_left_out(tmp_path):
    links = [(member("s", tarfile.SYMTYPE, "/etc"), None), (member("h", tarfile.LNKTYPE, "/etc/passwd"), None)]
    special = [(member("p", tarfile.FIFOTYPE), None), (member("c", tarfile.CHRTYPE), None), (member("s/x"), b"through")]
    found = extract(tmp_path, tar=tarred(*links, *special), zip=zipped([(link("s"), "/etc"), ("s/x", b"through")]))
    assert found == {"tar/s/x": b"through", "zip/s/x": b"through"}  # in a folder of their own, not in /etc


def test_two_of_one_name_and_a_file_in_the_place_of_a_folder(tmp_path):
    with pytest.warns(UserWarning):
        archive = zipped([(NOTEBOOK, b"first"), (NOTEBOOK, b"second"), (f"{NOTEBOOK}/x", b"third")])
    assert extract(tmp_path, ada=archive) == {f"ada/{NOTEBOOK}": b"first"}


def test_bombs_end(tmp_path, monkeypatch):
    monkeypatch.setattr(collecting, "MAX_FILE", 2**20)
    bomb = zipped([("big", b"\0" * 2**21), (NOTEBOOK, b"right")])
    nested = zipped([(NOTEBOOK, b"deepest")])
    for _ in range(6):
        nested = zipped([("more.zip", nested)])
    found = extract(tmp_path, bomb=bomb, nested=nested, broken=b"PK\3\4 nothing")
    assert found[f"bomb/{NOTEBOOK}"] == b"right" and "bomb/big" not in found
    assert not any(NOTEBOOK in name for name in found if name.startswith("nested"))


def test_an_archive_of_too_many_files_is_given_up(tmp_path, monkeypatch):
    monkeypatch.setattr(collecting, "Allowance", lambda files, size: ROOM(files, size=100))
    monkeypatch.setattr(collecting.unpacking, "MAX_ENTRIES", 10)
    found = extract(tmp_path, many=zipped([(f"f{n}", b"") for n in range(50)]), large=zipped([("a", b"x" * 101)]))
    assert len(found) == 10


ROOM = collecting.Allowance


@pytest.mark.slow("it grades a class, as others here do")
def test_the_command_uses_it(tmp_path):
    shutil.copy(ROOT / "nbgrader_config.py", tmp_path)
    for folder in (f"source/{ASSIGNMENT}", f"release/{ASSIGNMENT}", f"downloaded/{ASSIGNMENT}/archive"):
        (tmp_path / folder).mkdir(parents=True)
    shutil.copy(ROOT / "release" / ASSIGNMENT / NOTEBOOK, tmp_path / "release" / ASSIGNMENT)
    archive = tmp_path / "downloaded" / ASSIGNMENT / "archive"
    (archive / "class.zip").write_bytes(zipped([(f"ada_{NOTEBOOK}", b"{}"), (f"../../evil_{NOTEBOOK}", b"{}")]))
    (archive / "broken.zip").write_bytes(b"PK")
    command = [os.path.join(os.path.dirname(sys.executable), "nbgrader"), "zip_collect", ASSIGNMENT]
    command += [r"--FileNameCollectorPlugin.named_regexp=.*/(?P<student_id>[^_]+)_(?P<file_id>.+)\.ipynb"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    submitted = [str(p.relative_to(tmp_path)) for p in tmp_path.rglob("*.ipynb") if "submitted" in p.parts]
    assert submitted == [f"submitted/ada/{ASSIGNMENT}/{NOTEBOOK}"] and "BoundedExtractor" in done.stderr + done.stdout


@pytest.mark.parametrize("student", ["..", "a/b", ".", "a\x1b"])
def test_students_names_that_lead_elsewhere_are_not_collected(student):
    collector = collecting.SafeCollector(named_regexp=r"in/(?P<student_id>.*)_(?P<file_id>.+)\.ipynb")
    assert collector.collect(f"in/{student}_x.ipynb") is None
    assert collector.collect("in/ada_x.ipynb") == {"student_id": "ada", "file_id": "x"}


# --- a class, through nbgrader's own command ------------------------------------------------------

BY_NAME = r".*/(?P<student_id>[^_]+)_(?P<file_id>.+)\.ipynb"
BY_FOLDER = r".*/(?P<student_id>[^/]+)/(?P<file_id>[^/]+)\.ipynb"
MOODLE = r".*/(?P<student_id>[^/_]+)_\d+_assignsubmission_file_?/(?P<file_id>[^/]+)\.ipynb"
CANVAS = r".*/(?P<student_id>[a-z]+)_\d+_\d+_(?P<file_id>[^/]+)\.ipynb"
TIMED = r".*/(?P<student_id>[a-z]+)_at_(?P<timestamp>[^_]+)_(?P<file_id>[^/]+)\.ipynb"


def collected(place, pattern, files, force=False, **options):
    archive = place / "downloaded" / ASSIGNMENT / "archive"
    for name, content in files.items():
        (archive / name).parent.mkdir(parents=True, exist_ok=True)
        (archive / name).write_bytes(content)
    shutil.copytree(ROOT / "release" / ASSIGNMENT, place / "release" / ASSIGNMENT, dirs_exist_ok=True)
    config = Config()
    configure(config)
    config.FileNameCollectorPlugin.named_regexp = pattern
    config.SafeCollector.update(options)
    app = ZipCollectApp(force=force, config=config)
    app.coursedir = CourseDirectory(root=str(place), assignment_id=ASSIGNMENT)
    app.log = logging.Logger("collecting")
    app.log.addHandler(handler := logging.StreamHandler(said := io.StringIO()))
    app.init_plugins()
    app.extract_archive_files()
    app.process_extracted_files()
    handler.close()
    submitted = place / "submitted"
    found = {str(p.relative_to(submitted)): p.read_bytes() for p in submitted.rglob("*") if p.is_file()}
    return {path.replace(f"/{ASSIGNMENT}/", "/"): content for path, content in found.items()}, said.getvalue()


HONEST = f"bela/{NOTEBOOK}"
MINE = (NOTEBOOK, b"bela's")
BELA = [(f"bela_{NOTEBOOK}", b"bela's")]
CANVAS_BELA = (f"bela_3_4_{NOTEBOOK}", b"bela's")
MOODLE_BELA = (f"bela_2_assignsubmission_file/{NOTEBOOK}", b"bela's")
TIMED_BELA = (f"bela_at_20260102_{NOTEBOOK}", b"bela's")
TIMED_EVIL = f"bela_at_20270101_{NOTEBOOK}"
EVIL = [(f"bela_{NOTEBOOK}", b"evil")]


@pytest.mark.parametrize(
    "pattern, files",
    [
        # archives one per student, with the students' names inside
        (BY_NAME, {"ada.zip": [(f"ada_{NOTEBOOK}", b"ada's"), (f"bela_{NOTEBOOK}", b"evil")], "bela.zip": BELA}),
        (BY_NAME, {"a.zip": [(f"bela_{NOTEBOOK}", b"evil")], "bela.zip": BELA}),
        (BY_NAME, {"z.zip": [(f"bela_{NOTEBOOK}", b"evil")], "bela.zip": BELA}),
        # and with their names outside
        (BY_FOLDER, {"ada.zip": [(NOTEBOOK, b"ada's"), (f"bela/{NOTEBOOK}", b"evil")], "bela.zip": [MINE]}),
        (BY_FOLDER, {"ada.zip": [(f"carl/{NOTEBOOK}", b"1"), (f"bela/{NOTEBOOK}", b"evil")], "bela.zip": [MINE]}),
        (CANVAS, {"ada_1_2_work.zip": [(f"bela_3_4_{NOTEBOOK}", b"evil")], f"bela_3_4_{NOTEBOOK}": b"bela's"}),
        # archives in that of a class
        (CANVAS, {"all.zip": [("ada_1_2_w.zip", zipped([(f"bela_3_4_{NOTEBOOK}", b"evil")])), CANVAS_BELA]}),
        (CANVAS, {"all.zip": [CANVAS_BELA, ("ada_1_2_w.tar", zipped([(f"bela_3_4_{NOTEBOOK}", b"evil")]))]}),
        (MOODLE, {"all.zip": [("ada_1_assignsubmission_file/" + MOODLE_BELA[0], b"evil"), MOODLE_BELA]}),
        (BY_NAME, {"all.zip": [(f"ada_1_file/bela_{NOTEBOOK}", b"evil"), (f"bela_2_file/{NOTEBOOK}", b"bela's")]}),
        (
            BY_NAME,
            {"all.zip": [("ada_x.zip", zipped([(f"bela_{NOTEBOOK}", b"evil")])), (f"bela_{NOTEBOOK}", b"bela's")]},
        ),
        # a later time, made up
        (
            TIMED,
            {"all.zip": [("ada_at_20260101_w.zip", zipped([(f"bela_at_20270101_{NOTEBOOK}", b"evil")])), TIMED_BELA]},
        ),
    ],
)
def test_no_name_within_a_students_archive_replaces_anothers_submission(tmp_path, pattern, files):
    made = {name: c if isinstance(c, bytes) else zipped(c) for name, c in files.items()}
    found, said = collected(tmp_path, pattern, made)
    assert found[HONEST] == b"bela's" and not any(n.startswith("bela/") and c == b"evil" for n, c in found.items()), (
        said
    )


@pytest.mark.parametrize(
    "pattern, files",
    [
        (BY_NAME, {f"ada_{NOTEBOOK}": b"ada's", f"bela_{NOTEBOOK}": b"bela's"}),
        (BY_NAME, {"all.zip": [(f"ada_{NOTEBOOK}", b"ada's"), *BELA]}),
        (BY_NAME, {"class_2026.zip": [(f"ada_{NOTEBOOK}", b"ada's"), *BELA]}),
        (
            BY_NAME,
            {"all.zip": [(f"Assignment_2/ada_{NOTEBOOK}", b"ada's"), (f"Assignment_2/bela_{NOTEBOOK}", b"bela's")]},
        ),
        (BY_NAME, {"ada_x.zip": [(NOTEBOOK, b"ada's")], "bela_x.zip": [("my/work/" + NOTEBOOK, b"bela's")]}),
        (BY_NAME, {"ada.zip": [(f"ada_{NOTEBOOK}", b"ada's")], "bela.zip": BELA}),
        (BY_FOLDER, {"ada.zip": [(NOTEBOOK, b"ada's")], "bela.zip": [MINE]}),
        (BY_FOLDER, {"all.zip": [(f"ada/{NOTEBOOK}", b"ada's"), (HONEST, b"bela's")]}),
        (BY_FOLDER, {"all.zip": [("ada.zip", zipped([(NOTEBOOK, b"ada's")])), ("bela.zip", zipped([MINE]))]}),
        (
            CANVAS,
            {
                "all.zip": [
                    (f"ada_1_2_{NOTEBOOK}", b"ada's"),
                    ("bela_3_4_work.zip", zipped([("x/" + NOTEBOOK, b"bela's")])),
                ]
            },
        ),
        (MOODLE, {"all.zip": [(f"ada_1_assignsubmission_file/{NOTEBOOK}", b"ada's"), MOODLE_BELA]}),
        (
            MOODLE,
            {"all.zip": [("ada_1_assignsubmission_file/w.zip", zipped([("a/" + NOTEBOOK, b"ada's")])), MOODLE_BELA]},
        ),
        (MOODLE, {f"ada_1_assignsubmission_file/{NOTEBOOK}": b"ada's", MOODLE_BELA[0]: b"bela's"}),
    ],
)
def test_everybody_is_collected_however_the_class_is_packed(tmp_path, pattern, files):
    made = {name: c if isinstance(c, bytes) else zipped(c) for name, c in files.items()}
    found, said = collected(tmp_path, pattern, made)
    assert found == {f"ada/{NOTEBOOK}": b"ada's", HONEST: b"bela's"}, said


def test_archives_of_two_sections_are_told_by_an_option(tmp_path):
    sections = {"section_1.zip": [(f"ada_{NOTEBOOK}", b"ada's"), (f"carl_{NOTEBOOK}", b"c")], "section_2.zip": BELA}
    made = {name: zipped(members) for name, members in sections.items()}
    found, said = collected(tmp_path / "untold", BY_NAME, made)
    assert HONEST not in found and "section_1 is taken for" in said and "class_archives" in said
    found, _ = collected(tmp_path / "told", BY_NAME, made, class_archives=["section_*"])
    assert found == {f"ada/{NOTEBOOK}": b"ada's", f"carl/{NOTEBOOK}": b"c", HONEST: b"bela's"}


def test_where_nothing_tells_whose_it_is_neither_is_taken_and_both_are_named(tmp_path):
    made = {"123.zip": zipped([(f"bela_{NOTEBOOK}", b"evil")]), "456.zip": zipped([*BELA, (f"carl_{NOTEBOOK}", b"c")])}
    found, said = collected(tmp_path, BY_NAME, made)
    assert found == {f"carl/{NOTEBOOK}": b"c"} and said.count("123 and 456 both hold something of bela") == 2


@pytest.mark.parametrize(
    "time",
    [
        "never",
        "99999999999999999999",
        "2026-13-45",
        "0001-01-01 00:00 +23",
        "1" * 90,
        "9999999-1",
        "2026-01-01 10:00 -99999999999",
        "٣",
    ],
)
def test_a_time_that_is_none_costs_nobody_anything(tmp_path, time):
    pattern = TIMED.replace("[^_]+", "[^_]*")
    found, said = collected(
        tmp_path, pattern, {"all.zip": zipped([(f"ada_at_{time}_{NOTEBOOK}", b"ada's"), TIMED_BELA])}
    )
    assert found[f"ada/{NOTEBOOK}"] == b"ada's" and found[HONEST] == b"bela's"
    assert found["bela/timestamp.txt"] == b"2026-01-02 00:00:00"
    assert "ada/timestamp.txt" in found or "without a time" in said


def test_of_two_files_the_later_counts_and_without_times_the_outermost(tmp_path):
    again = (f"bela_at_20260103_{NOTEBOOK}", b"later")
    found, said = collected(tmp_path / "times", TIMED, {"all.zip": zipped([again, TIMED_BELA])})
    assert found[HONEST] == b"later" and found["bela/timestamp.txt"] == b"2026-01-03 00:00:00" and "another" in said
    both = {"bela.zip": zipped([("1/" + NOTEBOOK, b"older"), MINE]), "carl.zip": zipped([(NOTEBOOK, b"carl's")])}
    found, said = collected(tmp_path / "none", BY_FOLDER, both)
    assert found == {HONEST: b"bela's", f"carl/{NOTEBOOK}": b"carl's"} and "has another of that name" in said


def test_a_file_beside_an_archive_of_its_name(tmp_path):
    """`a` and `a.zip` want one place, and so do `a.tar` and `a.tar.gz`, and a nested one and a folder."""
    files = {"a": b"no suffix", "a.zip": zipped(BELA), "a.tar.gz": tarred((member(f"carl_{NOTEBOOK}"), b"c"))}
    files["z.zip"] = zipped([("x/dora_" + NOTEBOOK, b"d"), ("x.zip", zipped([(f"eva_{NOTEBOOK}", b"e")]))])
    found, _ = collected(tmp_path, BY_NAME, files)
    assert sorted(found) == [f"{name}/{NOTEBOOK}" for name in ("bela", "carl", "dora", "eva")]


# --- what students name, and what they do not ------------------------------------------------------

NBGRADERS = r".*_(?P<student_id>\w+)_attempt_(?P<timestamp>[0-9\-]+)_(?P<file_id>\w+)"
BY_LAST = r".*/(?P<student_id>[^_/]+)_(?P<file_id>0\d_.+)\.ipynb"
BY_DASH = r".*/(?P<student_id>[a-z]+)-(?P<file_id>[^/]+)\.ipynb"
ADA = f"ada/{NOTEBOOK}"


def of(*names, content=None):
    """The bytes of a zip of notebooks, each with what a class gave it: its student's name, or what is told."""
    return zipped([(f"{name}_{NOTEBOOK}", content or f"{name}'s".encode()) for name in names])


@pytest.mark.parametrize("rest", ["x_bela_attempt_2027-01-01", "bela_attempt_2027-01-01"])
def test_a_greedy_pattern_does_not_find_what_a_student_wrote_behind_the_name(tmp_path, rest):
    files = {
        f"ps1_bela_attempt_2026-01-02_{NOTEBOOK}": b"bela's",
        f"ps1_ada_attempt_2026-01-01_{rest}_{NOTEBOOK}": b"evil",
    }
    found, said = collected(tmp_path, NBGRADERS, files)
    assert found == {HONEST: b"bela's", "bela/timestamp.txt": b"2026-01-02 00:00:00"}
    assert "names two students, ada and bela" in said


def test_a_greedy_pattern_does_not_find_a_time_that_a_student_wrote(tmp_path):
    files = {
        f"ps1_ada_attempt_2026-01-05_ada_attempt_2025-01-01_{NOTEBOOK}": b"late",
        f"ps1_bela_attempt_2026-01-02_{NOTEBOOK}": b"b",
    }
    found, said = collected(tmp_path, NBGRADERS, files)
    assert not any(name.startswith("ada/") for name in found) and found[HONEST] == b"b" and "two students" in said


@pytest.mark.parametrize(
    "pattern, files",
    [
        (BY_LAST, {"a-bela.zip": [(f"a-bela_{NOTEBOOK}", b"li's"), (f"bela_{NOTEBOOK}", b"evil")], "bela.zip": BELA}),
        (
            BY_DASH,
            {
                "ada_1_2_bela.zip": [(f"ada-{NOTEBOOK}", b"ada's"), (f"bela-{NOTEBOOK}", b"evil")],
                "bela_3_4_w.zip": [(f"bela-{NOTEBOOK}", b"bela's")],
            },
        ),
        (
            BY_DASH,
            {"ada_1_2_bela.zip": [(f"bela-{NOTEBOOK}", b"evil")], "bela_3_4.zip": [(f"bela-{NOTEBOOK}", b"bela's")]},
        ),
        (BY_NAME, {"Bela.zip": BELA, "ada.zip": EVIL}),
        (BY_NAME, {"BELA late.zip": BELA, "ada bela.zip": EVIL}),
        # a student's archive in that of a class
        (BY_NAME, {"all.zip": [("ada.zip", zipped(EVIL)), ("bela.zip", zipped(BELA))]}),
        (TIMED, {"all.zip": [("ada.zip", zipped([(TIMED_EVIL, b"evil")])), TIMED_BELA]}),
        # and of one of several classes
        (
            TIMED,
            {
                "1.zip": [("ada.zip", zipped([(TIMED_EVIL, b"evil")])), TIMED_BELA],
                "2.zip": [(f"zoe_at_20260102_{NOTEBOOK}", b"z")],
            },
        ),
    ],
)
def test_an_archive_is_its_students_and_of_no_other_whom_its_name_names(tmp_path, pattern, files):
    made = {name: zipped(members) for name, members in files.items()}
    found, said = collected(tmp_path, pattern, made)
    assert found[HONEST] == b"bela's" and b"evil" not in found.values(), said


def test_in_archives_that_may_be_classes_no_student_replaces_another(tmp_path):
    section = zipped([("ada.zip", of("ada", "bela", content=b"evil")), ("bela.zip", of("bela"))])
    files = {"section_1.zip": section, "section_2.zip": of("carl", "zoe")}
    found, said = collected(tmp_path / "untold", BY_LAST, files)
    assert HONEST not in found and "section_1/ada and section_1/bela both hold" in said
    found, said = collected(tmp_path / "told", BY_LAST, files, class_archives=["section_*"])
    assert found[HONEST] == b"bela's", said


def test_no_students_archive_passes_for_a_classs_by_naming_a_student_like_the_classs_archive(tmp_path):
    evil = of("all", "bela", "carl", "x", "y", content=b"evil")
    found, said = collected(tmp_path, BY_NAME, {"all.zip": of("ada", "bela", "carl"), "ada.zip": evil})
    assert HONEST not in found and found[ADA] == b"ada's" and "ada and all both hold something of bela" in said


@pytest.mark.parametrize("form", ["NFC", "NFD"])
def test_a_students_name_is_one_however_it_is_written(tmp_path, form):
    name, other = (unicodedata.normalize(f, "jos\u00e9") for f in (form, {"NFC": "NFD", "NFD": "NFC"}[form]))
    found, said = collected(tmp_path, BY_NAME, {f"{other}.zip": of(name), "ada.zip": of(name, content=b"evil")})
    assert found == {f"{name}/{NOTEBOOK}": f"{name}'s".encode()}, said


@pytest.mark.parametrize(
    "pattern, files",
    [
        (
            MOODLE,
            {
                "all.zip": [
                    (f"ada_1_assignsubmission_file/{NOTEBOOK}", b"ada's"),
                    (f"ada_1_assignsubmission_file/bela_2_assignsubmission_file/{NOTEBOOK}", b"evil"),
                ]
            },
        ),
        (
            MOODLE,
            {
                "all.zip": [
                    (f"ada_1_assignsubmission_file/{n}_2_assignsubmission_file/{NOTEBOOK}", b"evil")
                    for n in ("bela", "carl")
                ]
            },
        ),
        (BY_NAME, {"ada.zip": [(f"sub/ada_{NOTEBOOK}", b"ada's"), *EVIL, (f"carl_{NOTEBOOK}", b"evil")]}),
        (BY_NAME, {"ada.zip": EVIL}),
        (BY_NAME, {"ada.zip": [*EVIL, (f"carl_{NOTEBOOK}", b"evil")]}),
        (BY_NAME, {"ada.zip": EVIL, "carl.zip": [(f"carl_{NOTEBOOK}", b"carl's")]}),
        (BY_NAME, {"ada-bela.zip": EVIL, "zoe.zip": [(f"zoe_{NOTEBOOK}", b"zoe's")]}),
        (BY_FOLDER, {"ada.zip": [(HONEST, b"evil"), (f"carl/{NOTEBOOK}", b"evil")]}),
    ],
)
@pytest.mark.parametrize("force", [True, False])
def test_what_was_collected_before_is_replaced_by_nothing_unsure(tmp_path, pattern, files, force):
    earlier = tmp_path / "submitted" / "bela" / ASSIGNMENT / NOTEBOOK
    earlier.parent.mkdir(parents=True)
    earlier.write_bytes(b"bela's")
    made = {name: zipped(members) for name, members in files.items()}
    found, said = collected(tmp_path, pattern, made, force=force)
    assert found[HONEST] == b"bela's", said


def test_what_is_surely_a_students_replaces_what_was_collected_before(tmp_path):
    collected(tmp_path, BY_NAME, {"ada.zip": of("ada", content=b"first"), "bela.zip": of("bela")})
    found, said = collected(tmp_path, BY_NAME, {"ada.zip": of("ada"), "all.zip": of("carl")}, force=True)
    assert found == {ADA: b"ada's", HONEST: b"bela's", f"carl/{NOTEBOOK}": b"carl's"}, said


def test_a_class_is_collected_again_where_the_instructor_names_its_archive(tmp_path):
    collected(tmp_path, BY_NAME, {"all.zip": of("ada", "bela", content=b"first")})
    found, said = collected(tmp_path, BY_NAME, {"all.zip": of("ada", "bela")}, force=True)
    assert set(found.values()) == {b"first"} and "name it in SafeCollector.class_archives" in said
    found, said = collected(tmp_path, BY_NAME, {}, force=True, class_archives=["all.zip"])
    assert found == {ADA: b"ada's", HONEST: b"bela's"}, said


@pytest.mark.parametrize("name", ["section_*", "section_1.zip", "section_?.ZIP"])
def test_an_archive_of_a_class_is_named_with_its_suffix_or_without(tmp_path, name):
    files = {"section_1.zip": of("ada", "bela"), "zoe_x.zip": zipped([(NOTEBOOK, b"zoe's")])}
    found, said = collected(tmp_path, BY_NAME, files, class_archives=[name])
    assert found == {ADA: b"ada's", HONEST: b"bela's", f"zoe/{NOTEBOOK}": b"zoe's"}, said


def test_what_is_passed_over_as_a_class_is_said(tmp_path):
    _, said = collected(tmp_path, BY_FOLDER, {"ada.zip": zipped([(HONEST, b"b"), (f"carl/{NOTEBOOK}", b"c")])})
    assert "ada is taken for a whole class's, not for the hand-in of the student ada" in said


@pytest.mark.parametrize("name", ["mallory_at_20260105_x.zip", "mallory_at_20260105_hw.tar.zip"])
def test_an_archive_whose_name_names_its_student_is_no_classs(tmp_path, name):
    inside = [(f"{who}_at_20270101_{NOTEBOOK}", b"evil") for who in ("bela", "carl")]
    found, said = collected(tmp_path, TIMED, {name: zipped(inside)})
    assert not [path for path in found if path.startswith(("bela/", "carl/"))], said
    assert "is taken for the hand-in of the student mallory" in said


def test_an_archive_called_after_somebody_known_is_theirs(tmp_path):
    (tmp_path / "submitted" / "mallory" / "01").mkdir(parents=True)
    evil = zipped([(f"{who}/{NOTEBOOK}", b"evil") for who in ("bela", "carl")])
    found, said = collected(tmp_path, BY_FOLDER, {"mallory.zip": evil})
    assert not [path for path in found if path.startswith(("bela/", "carl/"))], said


KEYED = r".*/(?P<student_id>[a-z]+)_(?P<participant>\d+)_assignsubmission_file_?/(?P<file_id>[^/]+)\.ipynb"


def test_another_participants_number_is_another_person(tmp_path):
    folder = "bela_{}_assignsubmission_file/" + NOTEBOOK
    found, said = collected(tmp_path / "both", KEYED, {folder.format(1): b"bela's", folder.format(2): b"evil"})
    assert not found and said.count("may be of two people (participant 1 and participant 2)") == 2
    once = tmp_path / "once"
    collected(once, KEYED, {folder.format(1): b"bela's"})
    shutil.rmtree(once / "downloaded")
    found, said = collected(once, KEYED, {folder.format(2): b"evil"}, force=True)
    assert found == {HONEST: b"bela's"} and "participant 2, and before it was participant 1" in said
    found, _ = collected(once, KEYED, {folder.format(1): b"new"}, force=True)
    assert found == {HONEST: b"new"}


def test_a_name_alone_replaces_nothing_that_came_with_a_key(tmp_path):
    """A participant may take another's name: a pattern that tells the name alone can't see that."""
    by_name = KEYED.replace("(?P<participant>\\d+)", "\\d+")
    folder = "bela_{}_assignsubmission_file/" + NOTEBOOK
    collected(tmp_path, KEYED, {folder.format(1): b"bela's"})
    shutil.rmtree(tmp_path / "downloaded")
    found, said = collected(
        tmp_path, by_name, {folder.format(2): b"evil", folder.format(3).replace("bela", "ada"): b"ada's"}, force=True
    )
    assert found == {HONEST: b"bela's", ADA: b"ada's"} and "by its name alone" in said and "participant 1" in said


def test_two_items_of_one_student_without_times_are_both_named(tmp_path):
    files = {"bela.zip": of("bela"), "bela_2.zip": of("bela", content=b"other"), "ada.zip": of("ada")}
    found, said = collected(tmp_path, BY_LAST, files)
    assert found == {ADA: b"ada's"} and said.count("bela and bela_2 both hold") == 2


def test_several_notebooks_of_a_student_come_from_several_archives(tmp_path):
    files = {"bela.zip": of("bela"), "bela_more.zip": zipped([("bela_03_x.ipynb", b"more")])}
    found, said = collected(tmp_path, BY_LAST, files)
    assert found == {HONEST: b"bela's", "bela/03_x.ipynb": b"more"}, said


# --- bounds ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("wrapper", ["", "Assignment 2/"])
@pytest.mark.parametrize("folder", ["ada_1_assignsubmission_file/{}.ipynb", "ada_1_assignsubmission_file/{}/x.ipynb"])
def test_a_bomb_in_a_classs_archive_leaves_room_for_the_others(tmp_path, monkeypatch, wrapper, folder):
    monkeypatch.setattr(collecting, "LARGEST", 2**24)
    monkeypatch.setattr(collecting, "RATIO", 0)
    bomb = [(wrapper + folder.format(n), b"\0" * 2**20) for n in range(20)]
    last = (wrapper + f"zoe_2_assignsubmission_file/{NOTEBOOK}", b"zoe's")
    found, said = collected(tmp_path, MOODLE, {"all.zip": zipped([*bomb, last])})
    assert found[f"zoe/{NOTEBOOK}"] == b"zoe's" and said.count("it contains too much") == 1
    assert sum(p.stat().st_size for p in (tmp_path / "downloaded").rglob("*.ipynb")) <= 2**23 + 2**20


def test_students_archives_share_the_disk(tmp_path, monkeypatch):
    monkeypatch.setattr(collecting, "SHARED", 2**22)
    monkeypatch.setattr(collecting, "RATIO", 0)
    bomb = zipped([(f"{n}", b"\0" * 2**19) for n in range(8)])
    tar = tarred(*((member(f"{n}"), b"\0" * 2**19) for n in range(8)))
    found = extract(tmp_path, ada=bomb, carl=tar, dora=bomb, zoe=zipped([(NOTEBOOK, b"zoe's")]))
    assert found.pop(f"zoe/{NOTEBOOK}") == b"zoe's" and sum(map(len, found.values())) <= 3 * 2**20


def test_what_a_tar_passes_over_is_bounded_by_its_size(tmp_path, monkeypatch):
    read = []
    skip = collecting.unpacking.Tar._skip
    monkeypatch.setattr(collecting.unpacking.Tar, "_skip", lambda tar, size: (skip(tar, size), read.append(size)))
    monkeypatch.setattr(collecting.unpacking, "LEAST_STREAM", 2**20)
    monkeypatch.setattr(collecting.unpacking, "MAX_RATIO", 1)
    bomb = packed_tar(*[(header(tarfile.XGLTYPE, 2**20), 2**20)] * 8)
    assert extract(tmp_path, ada=bomb, bela=zipped([MINE])) == {HONEST: b"bela's"} and sum(read) <= 2**21


def test_what_tars_in_an_archive_pass_over_is_charged_to_their_student(tmp_path, monkeypatch):
    opened = []
    make = collecting.archives.opened

    def note(path, *given):
        opened.append(path.name)
        return make(path, *given)

    monkeypatch.setattr(collecting.archives, "opened", note)
    monkeypatch.setattr(collecting, "SIZE", 2**22)
    bomb = packed_tar(*[(header(tarfile.XGLTYPE, 2**20), 2**20)] * 3)
    files = [*((f"ada_1_assignsubmission_file/{n}.tar.gz", bomb) for n in range(9)), MOODLE_BELA]
    found, said = collected(tmp_path, MOODLE, {"all.zip": zipped(files)})
    assert found == {HONEST: b"bela's"} and len(opened) == 3 and "it contains too much" in said


@pytest.mark.parametrize("length", [201, 250, 255])
def test_a_long_name_is_a_name(tmp_path, length):
    name = "a" * (length - len(".ipynb")) + ".ipynb"
    assert extract(tmp_path, ada=zipped([(name, b"1")])) == {f"ada/{name}": b"1"}


def test_a_name_that_is_too_long_is_said_to_be(tmp_path):
    name = "a" * 250 + ".ipynb"
    _, said = collected(tmp_path, BY_FOLDER, {"ada.zip": zipped([(name, b"1"), (NOTEBOOK, b"2")])})
    assert "too long: at most 255 bytes are allowed" in said and "leads elsewhere" not in said


@pytest.mark.parametrize("inside", [0, 1])
def test_whose_it_is_is_found_in_a_time_that_grows_with_what_there_is(inside, monkeypatch):
    """Names are taken apart a few times each; once for every pair of an archive's students was once too often."""
    calls = []
    words = whose._words
    monkeypatch.setattr(whose, "_words", lambda name: calls.append(name) or words(name))
    count = 400
    names = [f"s{n}_{NOTEBOOK}" for n in range(count)]
    found = {n: whose.Origin(("ada", n) if inside else (n,), 1) for n in [*names, f"bela_{NOTEBOOK}"]}
    found[f"zoe_{NOTEBOOK}"] = whose.Origin(("zoe", f"zoe_{NOTEBOOK}"), 1)
    found |= {f"x{n}": whose.Origin((f"x{n}", f"carl_{NOTEBOOK}"), 1) for n in range(count)}
    owners = whose.Owners(whose.Pattern(BY_NAME, ASSIGNMENT), "root", found)
    assert len(owners.infos) == count + 2 and len(calls) <= 10 * count


def test_a_nested_bomb_leaves_room_for_those_after_it(tmp_path, monkeypatch):
    monkeypatch.setattr(collecting, "SIZE", 2**22)
    monkeypatch.setattr(collecting, "RATIO", 0)
    bomb = zipped([(f"{n}.zip", zipped([(f"{n}", b"\0" * 2**20) for n in range(8)])) for n in range(8)])
    members = [(f"{name}_{NOTEBOOK}".replace(".ipynb", ".zip"), bomb) for name in ("ada", "carl")]
    work = zipped([(NOTEBOOK, b"bela's"), ("data", b"1" * 2**21)])
    extracted = tmp_path / "downloaded" / ASSIGNMENT / "extracted"
    found, said = collected(tmp_path, BY_NAME, {"all.zip": zipped([*members, ("zoe_work.zip", work)])})
    assert found == {f"zoe/{NOTEBOOK}": b"bela's"} and said.count("too much") >= 2
    unpacked = sum(p.stat().st_size for p in extracted.rglob("*") if p.is_file() and not p.suffix)
    assert unpacked <= 2 * 2**22 + 2**21


def packed_tar(*pieces, fill=b"x"):
    """The bytes of a tar.gz of blocks: pairs of a header and data, which are not kept in memory twice."""
    with gzip.GzipFile(fileobj=(made := io.BytesIO()), mode="wb", compresslevel=1) as file:
        for info, size in pieces:
            file.write(info.tobuf(tarfile.GNU_FORMAT))
            for _ in range(size // 2**20):
                file.write(fill * 2**20)
        file.write(b"\0" * 1024)
    return made.getvalue()


def header(kind, size, name="x"):
    info = member(name, kind)
    info.size = size
    return info


def memory(tmp_path, **archives):
    """(what is found, the most MiB that Python held at once while it was extracted)."""
    tracemalloc.start()
    try:
        found = extract(tmp_path, **archives)
        return found, tracemalloc.get_traced_memory()[1] / 2**20
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize("kind", [tarfile.XHDTYPE, tarfile.XGLTYPE, tarfile.GNUTYPE_LONGNAME, tarfile.GNUTYPE_LONGLINK])
def test_a_header_of_a_tar_is_not_read_whole(tmp_path, kind):
    bomb = packed_tar((header(kind, 2**26), 2**26))
    found, used = memory(tmp_path, ada=bomb, bela=zipped([MINE]))
    assert found == {HONEST: b"bela's"} and used < 16


def test_headers_of_a_tar_are_not_all_kept(tmp_path):
    """Folders take no room, and a million of them are packed into a few kB."""
    bomb = packed_tar(*[(header(tarfile.DIRTYPE, 0), 0)] * 60_000, (header(tarfile.REGTYPE, 0, "late"), 0))
    found, used = memory(tmp_path, ada=bomb, bela=zipped([MINE]))
    assert found == {HONEST: b"bela's"} and used < 16


def test_the_digits_of_a_header_are_looked_at_once(tmp_path):
    """Python's own tarfile (3.11.7) looks for hours at a megabyte of digits."""
    found = extract(tmp_path, ada=packed_tar((header(tarfile.XHDTYPE, 2**20), 2**20), fill=b"1"), bela=zipped([MINE]))
    assert found == {HONEST: b"bela's"}


@pytest.mark.parametrize("size", [-1, 2**62, -(2**62)])
def test_sizes_that_cannot_be(tmp_path, size):
    bomb = packed_tar((header(tarfile.REGTYPE, size), 2**20))
    assert extract(tmp_path, ada=bomb, bela=zipped([MINE])) == {HONEST: b"bela's"}


@pytest.mark.parametrize("text", ["/etc/localtime", ":/etc/localtime", "../../etc/localtime", "~/x"])
def test_no_file_is_read_for_a_time(text, monkeypatch):
    """dateutil takes what follows a time for a zone, and a zone for the path of a file."""
    monkeypatch.setattr("builtins.open", lambda *_, **__: pytest.fail(f"{text} was looked up"))
    assert times.time_of(f"2026-01-01 10:00:00 {text}") is None


@pytest.mark.parametrize("format", [tarfile.PAX_FORMAT, tarfile.GNU_FORMAT, tarfile.USTAR_FORMAT])
@pytest.mark.parametrize("mode", ["w", "w:gz"])
def test_honest_tars_of_every_kind_are_read(tmp_path, format, mode):
    names = ["a" * 90 + "/" + "b" * 95, "short", "\u00e4/\u00f6" if format != tarfile.USTAR_FORMAT else "o"]
    with tarfile.open(fileobj=(made := io.BytesIO()), mode=mode, format=format) as archive:
        for name in names:
            info = tarfile.TarInfo(name)
            info.size, info.mtime = len(name), 1.5
            archive.addfile(info, io.BytesIO(b"1" * len(name)))
    assert extract(tmp_path, ada=made.getvalue()) == {f"ada/{n}": b"1" * len(n) for n in names}


def test_a_zip_that_only_bzip2_or_lzma_can_read_is_refused(tmp_path):
    with zipfile.ZipFile(made := io.BytesIO(), "w") as archive:
        archive.writestr("bomb", b"\0" * 2**26, zipfile.ZIP_BZIP2)
        archive.writestr("other", b"\0" * 2**24, zipfile.ZIP_LZMA)
        archive.writestr(NOTEBOOK, b"ada's", zipfile.ZIP_DEFLATED)
    found, used = memory(tmp_path, ada=made.getvalue())
    assert found == {f"ada/{NOTEBOOK}": b"ada's"} and used < 16


def test_a_list_of_files_without_end_is_not_read(tmp_path):
    """The end of a zip says that the list before it has 64 MB."""
    entry = zipped([("x" * 180, b"")]).split(b"PK\1\2")[1].split(b"PK\5\6")[0]
    count = 2**26 // (len(entry) + 4)
    listed = (b"PK\1\2" + entry) * count
    end = struct.pack("<4s4H2LH", b"PK\5\6", 0, 0, count & 0xFFFF, count & 0xFFFF, len(listed), 0, 0)
    found, used = memory(tmp_path, ada=listed + end, bela=zipped([MINE]))
    assert found == {HONEST: b"bela's"} and used < 80


def test_files_that_overlap_count_each(tmp_path, monkeypatch):
    """A bomb without nesting: every entry of the list is one and the same file."""
    monkeypatch.setattr(collecting, "RATIO", 0)
    monkeypatch.setattr(collecting, "Allowance", lambda files, size: ROOM(files, 2**22))
    whole = zipped([("0000", b"\0" * 2**20)])
    start, entry, end = (at := whole.index(b"PK\1\2")), whole[at : whole.index(b"PK\5\6")], whole[-22:]
    entries = b"".join(entry.replace(b"0000", b"%04d" % n) for n in range(100))
    data = whole[:start] + entries + struct.pack("<4s4H2LH", end[:4], 0, 0, 100, 100, len(entries), start, 0)
    found = extract(tmp_path, ada=data, bela=zipped([MINE]))
    assert found.pop(HONEST) == b"bela's" and sum(map(len, found.values())) <= 2**22


def test_a_damaged_file_costs_itself_and_leaves_nothing_behind(tmp_path):
    whole = zipped([("a.ipynb", os.urandom(2**21)), (NOTEBOOK, b"ada's")])
    damaged = whole[: 2**20] + b"damage" + whole[2**20 + 6 :]
    assert extract(tmp_path, ada=damaged) == {f"ada/{NOTEBOOK}": b"ada's"}


def test_what_comes_before_a_broken_place_is_taken(tmp_path):
    inner = zipped([MINE])
    whole = tarred(
        (member(f"ada_{NOTEBOOK}"), b"ada's"), (member("bela_w.zip"), inner), (member("x"), os.urandom(2**16))
    )
    found, said = collected(tmp_path, BY_NAME, {"all.tar.gz": whole[: len(whole) // 2]})
    assert found == {f"ada/{NOTEBOOK}": b"ada's", HONEST: b"bela's"} and "Skipped all.tar.gz" in said


@pytest.mark.parametrize(
    "name, start",
    [
        ("ada.7z", b"7z\xbc\xaf\x27\x1c"),
        ("ada.rar", b"Rar!\x1a\x07"),
        ("ada.tar.xz", b"\xfd7zXZ"),
        ("ada.tbz2", b"BZh9"),
    ]
    + [("ada.zip", b"Rar!\x1a\x07"), ("ada.ZIP", b"7z\xbc\xaf\x27\x1c"), ("ada.tar.gz", b"BZh9")],
)
def test_what_is_packed_otherwise_is_said(tmp_path, name, start):
    found, said = collected(tmp_path, BY_NAME, {name: start + b"\0" * 600, f"bela_{NOTEBOOK}": b"bela's"})
    assert found == {HONEST: b"bela's"} and f"Skipped {name}: it is packed in a format that is not supported" in said


def test_an_archive_with_a_password_is_said(tmp_path):
    locked = bytearray(zipped([(NOTEBOOK, b"ada's")]))
    locked[6] |= 1
    locked[locked.index(b"PK\1\2") + 8] |= 1
    found, said = collected(tmp_path, BY_NAME, {"ada_x.zip": bytes(locked), f"bela_{NOTEBOOK}": b"bela's"})
    assert found == {HONEST: b"bela's"} and "it needs a password" in said


@pytest.mark.parametrize("error", [MemoryError, RecursionError, NotImplementedError, AttributeError, UnicodeError])
def test_whatever_an_archive_makes_fail_is_said_of_it(tmp_path, monkeypatch, error):
    """Which errors the readers of archives know is theirs; that the next archive's turn comes is ours."""
    opened = collecting.archives.opened

    def fail(path, *given):
        if path.name == "ada_x.zip":
            raise error("so")
        return opened(path, *given)

    monkeypatch.setattr(collecting.archives, "opened", fail)
    files = {"ada_x.zip": zipped([MINE]), "bela_x.zip": zipped([MINE])}
    found, said = collected(tmp_path, BY_NAME, files)
    assert found == {HONEST: b"bela's"} and f"Skipped ada_x.zip: it cannot be unpacked ({error.__name__})" in said


def test_a_full_disk_is_said_once_for_all(tmp_path, monkeypatch):
    def fail(*arguments, **options):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(collecting.shutil, "copy", fail)
    with pytest.raises(SystemExit, match="The disk is full"):
        collected(tmp_path, BY_NAME, {f"ada_{NOTEBOOK}": b"ada's", f"bela_{NOTEBOOK}": b"bela's"})


@pytest.mark.parametrize("name", ["%2e%2e", "a?path=submitted%2Fmallory", "a#b", ".hidden", "%2E."])
def test_a_name_that_leads_elsewhere_in_an_address_makes_no_student(tmp_path, name):
    said = collected(
        tmp_path, BY_NAME, {"class.zip": zipped([(f"{name}_{NOTEBOOK}", b"x"), (f"zoe_{NOTEBOOK}", b"z")])}
    )
    folder = tmp_path / "submitted"
    assert [student.name for student in folder.iterdir()] == ["zoe"], said
