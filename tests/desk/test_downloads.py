"""A platform's download, dropped on a page: what is in it is shown, file by file, before anything is taken."""

import io
import json
import os
import subprocess
import tempfile
import time
import types
import zipfile

import desk_class
import pytest
from bs4 import BeautifulSoup
from desk_class import built, client, desk, kit, place, record, text_of
from desks import AppClient
from small_course import NAME

from autograder.batch.commands import locked
from autograder.desk import app, downloads
from autograder.desk.visitors import FORM_TOKEN

HERE = f"/instructor/{NAME}/download"
EVIL = "<b onclick=x>Eve"


def archive(place, *names, **more):
    """A zip as Moodle makes it, with a released notebook of each of these people."""
    notebook = json.dumps(desk_class.notebook(place, NAME, {}))
    files = {f"{name}_{n}_assignsubmission_file_/{NAME}.ipynb": notebook for n, name in enumerate(names, 101)}
    written = io.BytesIO()
    with zipfile.ZipFile(written, "w") as made:
        for path, text in {**files, **more}.items():
            made.writestr(path, text)
    return written.getvalue()


@pytest.fixture
def roster(place, kit):
    (place / "roster.csv").write_text("id,name\nada,Ada Lovelace\nbob,Bob Ross\n")
    assert kit(place, "roster", "roster.csv") == 0


def dropped(teacher, data, name="hw.zip", token="yes", **more):
    return teacher.post(HERE, files={"download": (name, data)}, data={FORM_TOKEN: token}, **more)


def kept(place):
    return [path for path in (place / ".autograder").rglob("downloads/*/*")]


def test_nothing_is_taken_before_the_instructor_says_so(place, desk, roster):
    teacher = client(desk, "teacher")
    assert f'href="{HERE}"' in teacher.get(f"/instructor/{NAME}").text
    answer = dropped(teacher, archive(place, "Ada Lovelace", "Eve Nobody"))
    assert answer.status_code == 303
    where = answer.headers["location"]
    page = teacher.get(where)
    said = text_of(page)
    (row,) = BeautifulSoup(page.text, "html.parser").select("tbody tr")
    assert [cell.get_text() for cell in row.select("th, td")] == [
        *("ada", "Ada Lovelace", f"{NAME}.ipynb", "not said", "new", "–")
    ]
    assert "Eve Nobody" in said and "Nothing of it is taken yet" in said and not (place / "submitted").exists()
    assert teacher.post(where, data={"do": "take"}).status_code == 403 and not (place / "submitted").exists()
    said = text_of(teacher.post(where, data={"do": "take", FORM_TOKEN: "yes"}))
    assert "1 hand-in of this assignment lies in submitted/ now" in said and "autograder grade 01" in said
    assert [path.name for path in (place / "submitted").iterdir()] == ["ada"]
    assert kept(place) == [] and teacher.get(where).status_code == 404


def test_names_are_text_and_options_are_those_of_the_command(place, desk, roster):
    teacher = client(desk, "teacher")
    where = dropped(teacher, archive(place, "Bob Ross", EVIL)).headers["location"]
    page = teacher.get(where)
    assert EVIL not in page.text and "<bdi>bob</bdi>" in page.text
    said = text_of(teacher.get(where, params={"pattern": "(", "timezone": "x\0y"}))
    assert "could not be started" in said
    page = teacher.get(where, params={"pattern": "("})
    assert "Traceback" not in page.text and page.text.count('role="alert"') == 1 and str(place) not in page.text
    assert 'name="pattern" value="("' in page.text  # as what is looked at, and taken, is read
    assert teacher.post(where, data={"do": "forget", FORM_TOKEN: "yes"}).headers["location"] == HERE
    assert kept(place) == []


@pytest.mark.parametrize(
    "name, data, status, says",
    [
        ("notes.txt", b"x", 422, "is no download of a platform"),
        ("../../up.zip", b"x", 422, "cannot be kept"),
        (".zip", b"x", 422, "cannot be kept"),
        ("x" * 300 + ".zip", b"x", 422, "cannot be kept"),
        ("", b"x", 422, "No file was chosen"),
        ("large.zip", b"x" * 2_000, 413, "at most"),
    ],
)
def test_what_is_no_download_is_refused_in_a_sentence(place, desk, monkeypatch, name, data, status, says):
    monkeypatch.setattr(downloads, "LARGEST", 1_000)
    answer = dropped(client(desk, "teacher"), data, name)
    assert answer.status_code == status and says in text_of(answer) and kept(place) == []


def test_what_is_no_archive_is_a_sentence_on_its_page(place, desk):
    teacher = client(desk, "teacher")
    page = teacher.get(dropped(teacher, b"no zip").headers["location"])
    assert page.status_code == 200 and "nothing in it can be read" in text_of(page) and str(place) not in page.text


@pytest.mark.parametrize("kind", ["multipart/form-data", "multipart/form-data; boundary=x; charset=nowhere", "text/x"])
def test_a_form_that_cannot_be_read_is_refused(place, desk, kind):
    body = b'--x\r\nContent-Disposition: form-data; name="a"\r\n\r\nb\r\n--x--\r\n'
    answer = client(desk, "teacher").post(HERE, content=body, headers={"content-type": kind})
    assert answer.status_code in (400, 403, 415) and kept(place) == []


def test_students_and_strangers_see_and_do_nothing(place, desk):
    data = archive(place, "Ada Lovelace")
    where = dropped(client(desk, "teacher"), data).headers["location"]
    for who, status in (("ada", 403), ("", 401)):
        other = client(desk, who)
        for path in (HERE, where):
            assert other.get(path).status_code == status
        assert dropped(other, data).status_code == status
        assert other.post(where, data={"do": "take", FORM_TOKEN: "yes"}).status_code == status
    assert dropped(client(desk, "teacher"), data, token="no").status_code == 403
    assert len(kept(place)) == 1 and not (place / "submitted").exists()


@pytest.mark.parametrize("id", ["...", "%2e%2e", "0" * 32, "\N{SUPERSCRIPT TWO}" * 32, "%00" * 32])
def test_another_folder_is_no_download(desk, id):
    assert client(desk, "teacher").get(f"{HERE}/{id}").status_code == 404


def test_what_is_not_taken_in_an_hour_goes(place, desk):
    teacher = client(desk, "teacher")
    data = archive(place, "Ada Lovelace")
    dropped(teacher, data)
    (old,) = kept(place)
    os.utime(old, (time.time() - downloads.KEPT - 1,) * 2)
    dropped(teacher, data)
    assert old not in kept(place) and len(kept(place)) == 1


def test_a_look_keeps_a_download_and_of_many_the_newest_stay(place, desk, monkeypatch):
    monkeypatch.setattr(downloads, "MOST_KEPT", 2)
    teacher = client(desk, "teacher")
    first = dropped(teacher, b"no zip").headers["location"]
    (old,) = kept(place)
    os.utime(old, (time.time() - downloads.KEPT + 60,) * 2)
    teacher.get(first)
    second = dropped(teacher, b"no zip").headers["location"]
    os.utime(old.with_name(second.rpartition("/")[2]), (time.time() - 60,) * 2)
    (place / ".autograder/downloads/other" / "x").mkdir(parents=True)
    (place / ".autograder/downloads/.DS_Store").write_text("no folder")
    os.utime(place / ".autograder/downloads/other" / "x", (0, 0))
    dropped(teacher, b"no zip")
    assert old in kept(place) and len(kept(place)) == 2
    assert teacher.get(second).status_code == 404


def test_a_few_downloads_are_read_at_a_time(place, desk, roster, monkeypatch):
    monkeypatch.setattr(app, "DOWNLOADS", 1)
    teacher, run, nested = client(desk, "teacher"), subprocess.run, []
    other = AppClient(teacher.app, {"who": "teacher"})
    where = dropped(teacher, archive(place, "Ada Lovelace")).headers["location"]

    def looks_again(*args, **how):
        nested.extend(other.get(where).status_code for _ in range(2))
        nested.append(other.post(where, data={"do": "take", FORM_TOKEN: "yes"}).status_code)
        return run(*args, **how)

    monkeypatch.setattr(downloads, "subprocess", types.SimpleNamespace(**{**vars(subprocess), "run": looks_again}))
    assert teacher.get(where).status_code == 200 and nested == [429] * 3 and not (place / "submitted").exists()


def test_a_few_downloads_arrive_at_a_time(place, desk, monkeypatch):
    monkeypatch.setattr(app, "DOWNLOADS", 1)
    teacher, keep, nested = client(desk, "teacher"), downloads._keep, []
    other = AppClient(teacher.app, {"who": "teacher"})

    def drops_another(*about):
        nested.append(dropped(other, b"x").status_code)
        return keep(*about)

    monkeypatch.setattr(downloads, "_keep", drops_another)
    assert dropped(teacher, b"x").status_code == 303 and nested == [429] and len(kept(place)) == 1


def test_what_somebody_else_took_meanwhile_is_gone_in_a_sentence(place, desk, roster, monkeypatch):
    teacher, collected = client(desk, "teacher"), downloads._collected
    where = dropped(teacher, archive(place, "Ada Lovelace")).headers["location"]

    def forgotten_first(*about):
        client(desk, "teacher").post(where, data={"do": "forget", FORM_TOKEN: "yes"})
        return collected(*about)

    monkeypatch.setattr(downloads, "_collected", forgotten_first)
    answer = teacher.get(where)
    assert answer.status_code == 404 and "no longer here" in text_of(answer)


def test_a_folder_that_cannot_be_written_is_a_sentence(place, desk):
    (place / ".autograder/downloads").mkdir(parents=True, exist_ok=True)
    (place / ".autograder/downloads" / NAME).write_text("")
    answer = dropped(client(desk, "teacher"), b"x")
    assert answer.status_code == 507 and "cannot be written" in text_of(answer)


def test_two_files_of_one_name_are_not_kept(place, desk):
    files = [("download", ("hw.zip", b"x"))] * 2
    answer = client(desk, "teacher").post(HERE, files=files, data={FORM_TOKEN: "yes"})
    assert answer.status_code == 422 and "the same name" in text_of(answer) and kept(place) == []


def test_who_takes_too_long_leaves_nothing_behind(place, desk, roster, monkeypatch, tmp_path):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    monkeypatch.setattr(downloads, "READING", 1.0)
    code = "import tempfile, time; tempfile.mkdtemp(); time.sleep(60)"
    monkeypatch.setattr(downloads, "LOOKING", code)
    teacher = client(desk, "teacher")
    where = dropped(teacher, archive(place, "Ada Lovelace")).headers["location"]
    before = {*tmp_path.iterdir()}
    assert "could not be read in 1 s" in text_of(teacher.get(where)) and {*tmp_path.iterdir()} == before


def test_a_look_goes_on_beside_a_run_and_modules_of_the_course_are_none_of_the_kit(place, desk, roster):
    teacher = client(desk, "teacher")
    where = dropped(teacher, archive(place, "Ada Lovelace", "Bob Ross")).headers["location"]
    (place / "json.py").write_text("raise SystemExit(9)")
    with locked(place, NAME):
        assert "2 hand-ins" in text_of(teacher.get(where))
        answer = teacher.post(where, data={"do": "take", FORM_TOKEN: "yes"})
        assert answer.status_code == 422 and "Another run" in text_of(answer)
    assert len(kept(place)) == 1


def test_a_look_ends_with_the_desk(place, desk, roster):
    folder = place / "looked at"
    folder.mkdir()
    (folder / "hw.zip").write_bytes(archive(place, "Ada Lovelace", "Bob Ross"))
    code = f"""import os, sys
from pathlib import Path
from types import SimpleNamespace
from autograder.desk import downloads
os.getpid = lambda: 1  # as if the desk had ended before the look began
about = SimpleNamespace(name={NAME!r})
print(downloads._collected(SimpleNamespace(root={str(place)!r}), about, Path({str(folder)!r}), {{}}, downloads.DRY))
print(downloads._collected(SimpleNamespace(root={str(place)!r}), about, Path({str(folder)!r}), {{}}))"""
    done = subprocess.run([downloads.sys.executable, "-c", code], capture_output=True, text=True)
    look, taken = done.stdout.splitlines()
    assert "ended without a word" in look and "'student': 'bob'" in taken
