"""What lies below `submitted/` and belongs to nobody is named; what is harmless is not."""

import os
import re
import unicodedata

import pytest

from autograder.submission.belonging import strays

FIRST, SECOND = "01_first", "02_second"


@pytest.fixture
def put(tmp_path):
    def put(path):
        made = tmp_path / "submitted" / path
        made.parent.mkdir(parents=True, exist_ok=True)
        made.write_text('{"cells": [], "nbformat": 4}' if "01_first" in made.name or made.name == "notebook " else "{}")

    put(f"ada/{FIRST}/{FIRST}.ipynb")
    return put


@pytest.fixture
def found(tmp_path):
    return lambda **about: list(strays(tmp_path / "submitted", [FIRST, SECOND], {FIRST}, **about))


WRONG = {
    "zoe/1_first/01_first.ipynb": f"zoe: 1_first is not an assignment's folder,.* submitted/zoe/{FIRST}/",
    "zoe/01_FIRST/01_first.ipynb": f"zoe: 01_FIRST .* submitted/zoe/{FIRST}/",
    "zoe/01_first /01_first.ipynb": f"zoe: 01_first  is .* submitted/zoe/{FIRST}/",
    "zoe/1_fir/01_first.ipynb": f"zoe: 1_fir .* submitted/zoe/{FIRST}/",
    "zoe/hw1/01_first.ipynb": f"zoe: hw1 .* submitted/zoe/{FIRST}/",
    "zoe/second/x.ipynb": f"zoe: second .* submitted/zoe/{SECOND}/",
    "zoe/01_first.ipynb": "zoe: 01_first.ipynb is not an assignment's folder",
    "zoe/work.zip": "zoe: work.zip .* submitted/zoe/ASSIGNMENT/",
    "01_first/kim/01_first.ipynb": f"01_first: .* named like the assignment {FIRST}.* submitted/STUDENT/{FIRST}/",
    "1_first/kim.ipynb": "1_first: .* named like the assignment",
    "group/kim/01_first/01_first.ipynb": "group: kim is not an assignment's folder",
    "ada/01_first/other.ipynb": f"ada: 01_first/other.ipynb is not graded: only {FIRST}/{FIRST}.ipynb is",
    "ada/01_first/sub/01_first.ipynb": "ada: 01_first/sub/01_first.ipynb is not graded",
    "ada/01_first/01_FIRST.IPYNB": "ada: 01_first/01_FIRST.IPYNB is not graded",
    "ada/01_first/all.zip": "ada: 01_first/all.zip is not graded",
    "ada/01_first/01_first.ipynb.txt": "ada: 01_first/01_first.ipynb.txt is not graded",
    **{
        f"ada/01_first/{name}": f"ada: 01_first/{name} is not graded: only {FIRST}/{FIRST}.ipynb is"
        for name in ("answer.PDF", "answer.docx", "notes/answer.txt", "photo.jpeg", "solution.py", "x.tar.zst")
    },
    "ada/01_first/01_first.json": "ada: 01_first/01_first.json is not graded",
    "ada/01_first/01_first": "ada: 01_first/01_first is not graded",
    "ada/01_first/notebook ": "ada: 01_first/notebook  is not graded",
    "all.zip": "all.zip: this is in submitted/",
    f"Ada/{FIRST}/{FIRST}.ipynb": "Ada, ada: .* look alike",
    f"ada /{FIRST}/{FIRST}.ipynb": "ada, ada : .* look alike",
    f"аdа/{FIRST}/{FIRST}.ipynb": "ada, аdа: .* look alike",
    f"a\u200bda/{FIRST}/{FIRST}.ipynb": "look alike",
}


@pytest.mark.parametrize("path", WRONG)
def test_what_belongs_to_nobody_is_named(put, found, path):
    put(path)
    (said,) = found()
    assert re.search(WRONG[path], said), said


@pytest.mark.parametrize(
    "path",
    [
        ".DS_Store",
        "ada/.DS_Store",
        "ada/01_first/.DS_Store",
        "ada/01_first/.ipynb_checkpoints/01_first-checkpoint.ipynb",
        "ada/__MACOSX/x",
        "ada/01_first/timestamp.txt",
        "ada/01_first/data/numbers.csv",
        "ada/01_first/plot.png",
        "ada/01_first/settings.json",
        "ada/01_first/LICENSE",
        "ada/01_first/beside/scan.pdf",
        f"ada/{SECOND}/other.ipynb",
        f"bela/{SECOND}/{SECOND}.ipynb",
        f"student01/{FIRST}/{FIRST}.ipynb",
    ],
)
def test_what_is_harmless_or_of_another_assignment_is_not(put, found, path):
    put(path)
    assert found() == []


def test_what_students_got_beside_the_notebook_is_harmless(put, found, tmp_path):
    for place in ("submitted/ada", "release"):
        for name in ("helper.py", "data/about.txt"):
            put(f"../{place}/{FIRST}/{name}")
    assert found(released=tmp_path / "release") == [] and len(found()) == 2


def test_a_dotless_i_looks_like_one_with_a_dot(put, found):
    for name in ("ılka", "ilka"):
        put(f"{name}/{FIRST}/{FIRST}.ipynb")
    assert found() == [
        "ilka, ılka: folders in submitted/ with names that look alike, each taken for a student of its own"
    ]


def test_names_with_other_vowels_do_not_look_alike(put, found):
    for name in ("कमल", "कमला", "หมู", "หมี", "かか", "がが"):
        put(f"{name}/{FIRST}/{FIRST}.ipynb")
    assert found() == []


def test_names_in_two_normal_forms_are_alike(put, found, tmp_path):
    for form in ("NFC", "NFD"):
        put(f"{unicodedata.normalize(form, 'Zoë')}/{FIRST}/{FIRST}.ipynb")
    (said,) = found()
    assert "look alike" in said


def test_who_is_on_no_roster_is_named_where_there_is_one(put, found):
    put(f"mia/{FIRST}/{FIRST}.ipynb")
    put(f"gone/{FIRST}/{FIRST}.ipynb")
    assert found() == []
    (said,) = found(enrolled={"ada"}, dropped={"gone"})
    assert said.startswith("mia: handed in, but is not on the roster")


def test_no_link_is_followed_and_no_folder_is_searched_without_end(put, found, tmp_path):
    put("zoe/01_first/a/b/c/d/e/deep.ipynb")
    os.symlink("/", tmp_path / "submitted" / "zoe" / FIRST / "root")
    assert found() == []


def test_it_looks_at_few_folders(put, found, tmp_path, monkeypatch):
    for number in range(60):
        put(f"s{number:03d}/{FIRST}/{FIRST}.ipynb")
    looked = []
    scan = os.scandir
    monkeypatch.setattr(os, "scandir", lambda folder: looked.append(folder) or scan(folder))
    assert found() == [] and len(looked) <= 2 * 61 + 2


@pytest.mark.parametrize("path", [f"ada/{FIRST}/{{}}.ipynb", "ada/{}.zip", f"ada/{FIRST}/{{}}/x.ipynb"])
def test_one_student_hides_nothing_of_others(put, found, path):
    for number in range(100):
        put(path.format(number))
    put("zoe/work.zip")
    *own, last = found()
    assert len(own) == 4 and own[-1] == "ada: and 97 more files and folders that are not graded"
    assert last.startswith("zoe: work.zip")
