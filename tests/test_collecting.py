"""`nbgrader zip_collect` on archives of strangers: what is right comes through, and nothing leaves its folder."""

import io
import os
import shutil
import subprocess
import sys
import tarfile
import zipfile

import pytest
from conftest import ASSIGNMENT, ROOT

from autograder.notebooks import collecting

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
    monkeypatch.setattr(collecting, "Room", lambda files, size: ROOM(files=10, size=100))
    found = extract(tmp_path, many=zipped([(f"f{n}", b"") for n in range(50)]), large=zipped([("a", b"x" * 101)]))
    assert len(found) == 10


ROOM = collecting.Room


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
