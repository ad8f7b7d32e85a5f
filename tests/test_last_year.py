"""`autograder new course --from LAST`: all that is the instructor's, and nothing of last year's students."""

import json
import os
import shutil
import sqlite3

import pytest
from conftest import ROOT
from small_course import NAME, autograder, copy

from autograder import installed
from autograder.errors import UsageError
from autograder.groups.names import Name, text_of
from autograder.new import last_year, secrets
from autograder.new.people import People, people_of
from autograder.new.settings import settings

NOBODY = People(frozenset(), frozenset(), frozenset())
CLASS = [
    ("ada17", "Ada", "Lovelace", "ada@uni.example"),
    ("bela", "Bela", "Bartok", ""),
    ("cyd", "Cyd", "Ng", "c@uni.example"),
]
CONFIG = """
# for bela: an extension until Friday
c.Exercises.points = {"normalise": 3}  # as last year
c.Exercises.waived = {"normalise": ["test_values"]}
c.CourseDirectory.db_url = "sqlite:////srv/last/gradebook.db"
c.Exchange.root = "/srv/exchange"
c.Desk.address = "https://desk.example"
c.Desk.hub = {"students": {"al": "ada17"}}
c.Desk.lti = [{"issuer": "https://moodle.example", "auth_token_url": "https://moodle.example/t", "student": "email"}]
password = "open sesame"
c.Example.url = f"postgresql://me:{password}@db/x"
c.Example.api_key = "abc"; c.Example.other = 1
# c.Example.token = 'abcdef'
c.ExportPlugin.student = ["Bela"]
"""


@pytest.fixture
def last(tmp_path):
    """A course that was taught: hand-ins, gradebook, keys, logs, and all that must not be copied."""
    place = copy(tmp_path / "averages-2025")
    with (place / "nbgrader_config.py").open("a") as file:
        file.write(CONFIG + f"c.Example.place = {str(place / 'data')!r}\n")
    with sqlite3.connect(place / "gradebook.db") as book:
        book.execute("create table student (id, first_name, last_name, email)")
        book.executemany("insert into student values (?, ?, ?, ?)", CLASS)
    for path in (
        f"submitted/dora/{NAME}/{NAME}.ipynb",
        f"autograded/dora/{NAME}/{NAME}.ipynb",
        f"feedback/dora/{NAME}/{NAME}.html",
        f"reports/{NAME}.html",
        ".autograder/seeds/01.json",
        f".autograder/verdicts/{NAME}/eve.json",
        "desk.log",
        "exports/release.zip",
        "class.csv",
        "source/.env",
        "source/desk.pem",
        f"source/{NAME}/.ipynb_checkpoints/{NAME}.ipynb",
        "exercises/normalise/__pycache__/x.pyc",
    ):
        (place / path).parent.mkdir(parents=True, exist_ok=True)
        (place / path).write_text("dora eve ada17")
    (place / "source" / "roster.csv").write_text("name;mail\nX;c@uni.example\n")
    (place / "source" / "numbers.csv").write_text("a;b\n1;2\n")
    (place / "source" / "notes.md").write_text("Due on 1 December 2025. Thanks to Ada Lovelace.")
    (place / "source" / "key.txt").write_text("-----BEGIN RSA PRIVATE KEY-----\nx")
    with (place / "source" / "film.bin").open("wb") as file:
        file.truncate(21 * 2**20)
    os.mkfifo(place / "source" / "pipe")
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside" / "secret.txt").write_text("x")
    (place / "source" / "linked").symlink_to(tmp_path / "outside")
    (place / "source" / "file.txt").symlink_to(tmp_path / "outside" / "secret.txt")
    names = [
        Name(
            "normalise-0123456789", "Divide by the spread.", (("normalise-solution", "def normalise(x): return x"),), 1
        ),
        Name("normalise-123456789a", "As before.", (("", "author = 'Bela B.'"),)),
    ]
    (place / "names.json").write_text(text_of([Name(n.id[:16], n.says, n.code, n.price) for n in names]))
    return place


def everything(place):
    return {str(path.relative_to(place)): path.read_bytes() for path in place.rglob("*") if path.is_file()}


def test_the_instructors_part_comes_and_no_person_does(last, tmp_path):
    before = sorted(str(path) for path in last.rglob("*"))
    said = last_year.course_from(str(last), str(tmp_path / "next"))
    assert sorted(str(path) for path in last.rglob("*")) == before
    made = everything(tmp_path / "next")
    own = {f"exercises/{path.relative_to(last / 'exercises')}" for path in (last / "exercises").rglob("*.py")}
    texts = {"source/notes.md", "source/numbers.csv", "names.json", "nbgrader_config.py"}
    assert set(made) == own | texts | {f"source/{NAME}/{NAME}.ipynb"}
    whole = b"\n".join(data for path, data in made.items() if path != "source/notes.md").lower()
    for person in (b"ada17", b"bela", b"dora", b"eve ", b"uni.example", b"sesame", b"abcdef", b"me:"):
        assert person not in whole, person
    assert list(json.loads(made["names.json"])) == ["normalise-012345"]
    for line in (
        "source/linked",
        "source/file.txt",
        "larger than 20 MB, or too much in all: source/film.bin",
        "a password or a key: source/desk.pem, source/key.txt",
        "what names last year's students: source/roster.csv",
        "what cannot be read: source/pipe",
        "the sentence normalise-123456",
        "source/notes.md says 1 December 2025",
        "source/notes.md names somebody of last year's class",
        "c.Exchange.root in nbgrader_config.py: is it this year's, too?",
        "names.json (1 sentence of yours)",
        "due dates: they were in last year's gradebook, so none is set",
    ):
        assert line in said, said
    assert len(said.splitlines()) < 50


def test_the_settings_come_without_secrets_people_and_last_years_places(last, tmp_path):
    found = settings((last / "nbgrader_config.py").read_bytes(), last, people_of(last))
    kept = found.text
    for line in (
        'c.Exercises.points = {"normalise": 3}  # as last year',
        "c.Exercises.waived =",
        "c.Desk.address =",
        "c.Desk.lti =",
        "c.Exchange.root =",
        "c.Autograde.autograde_preprocessors = [GradeInSandbox",
    ):
        assert line in kept, kept
    reasons = dict(found.left_out)
    assert reasons["c.CourseDirectory.db_url"] == "it is last year's gradebook"
    assert reasons["c.Desk.hub"] == reasons["c.ExportPlugin.student"] == "it names a student of last year"
    assert reasons["password"] == "it has a password or a key"
    assert reasons["c.Example.url"] in ("it uses what was not taken", "it has a password or a key")
    assert "c.Example.other" not in kept.replace("# c.Example.other:", ""), "it shares a line with a secret"
    assert reasons["c.Example.place"] == "it names last year's folder"
    assert "extension" not in kept and "'abcdef'" not in kept and "sesame" not in kept
    compile(kept, "nbgrader_config.py", "exec")


@pytest.mark.parametrize(
    "text, gone",
    [
        ("import os\nos.environ['PGPASSWORD'] = 'x'\nroot = os.getcwd()\n", "PGPASSWORD"),
        ("if True:\n    c.A.b = dict(token='x')\nc.B.c = 1\n", "token"),
        ("def make():\n    return 'https://me:x@host'\nc.A.b = make()\nc.B.c = make\n", "make()"),
        ("c.A.b = [\n    'ghp_" + 36 * "a" + "',\n]  # a list\nc.B.c = 2\n", "ghp_"),
    ],
)
def test_a_secret_goes_with_all_that_uses_it_and_nothing_else(tmp_path, text, gone):
    found = settings(text.encode(), tmp_path, NOBODY)
    code = "\n".join(line for line in found.text.splitlines() if not line.startswith("#"))
    assert gone not in code and len(found.left_out) >= 1
    assert ("c.B.c" in code) == ("make" not in text and "c.B.c" in text) and ("getcwd" in code) == ("getcwd" in text)
    compile(found.text, "nbgrader_config.py", "exec")


@pytest.mark.parametrize("text", [b"c = (", b"\xff\xfe", b"c = 1\0", b"(" * 10_000])
def test_a_configuration_that_cannot_be_read_is_refused(tmp_path, text):
    with pytest.raises(UsageError, match="cannot be read"):
        settings(text, tmp_path, NOBODY)


@pytest.mark.parametrize(
    "line, is_secret",
    [
        ("password = bytes('hunter2', 'ascii')", True),
        ("c.B.secret = ''.join(['hun', 'ter2'])", True),
        ("c.B.login(password=f'{1}' + str('hunter2'))", True),
        ("print(token := 'hunter2')", True),
        ("api_key = ['hunter2'][0]", True),
        ("password = 'open hunter2'", True),
        ("password = os.environ['hunter2']", False),
        ("c.B.secret = open('hunter2').read()", False),
        ("c.B.token = None", False),
    ],
)
def test_a_secret_goes_however_it_is_made_and_its_place_stays(tmp_path, line, is_secret):
    found = settings(f"import os\n{line}\n".encode(), tmp_path, NOBODY)
    assert bool(found.left_out) is is_secret and ("hunter2" in found.text) is ("hunter2" in line and not is_secret)


def test_no_folder_or_notebook_is_too_odd(last, tmp_path):
    """Folders in each other without end, and cells that are none, are left where they are, or taken as they are."""
    folder = last / "source"
    for _ in range(60):
        folder = folder / "d"
        os.mkdir(folder)
    for number, cells in enumerate(("3", "[5]", '[{"cell_type": "markdown", "source": 3}]', '[{"cell_type": []}]')):
        (last / "source" / f"{number}.ipynb").write_text(f'{{"cells": {cells}}}')
    said = last_year.course_from(str(last), str(tmp_path / "next"))
    assert "what cannot be read" in said and "d/d/d" in said and (tmp_path / "next/source/3.ipynb").is_file()


def test_it_is_never_run(last, tmp_path):
    (last / "nbgrader_config.py").write_text(f"open({str(tmp_path / 'ran')!r}, 'w')\nc = get_config()\n")
    last_year.course_from(str(last), str(tmp_path / "next"))
    assert not (tmp_path / "ran").exists()


@pytest.mark.parametrize(
    "name, after",
    [
        ("averages-2025", "averages-2026"),
        ("2025-26", "2026-27"),
        ("ws2025_2026", "ws2026_2027"),
        ("1999-2099", "1999-2100"),
        ("2098-99", "2099-00"),
    ],
)
def test_the_next_years_name(tmp_path, name, after):
    assert str(last_year._next_name(tmp_path / name)) == after


def test_a_name_without_a_year_gets_this_one(tmp_path):
    assert last_year.YEAR.search(str(last_year._next_name(tmp_path / "attention")))


@pytest.mark.parametrize("where", ["itself", "inside", "around", "missing", "no course", "full", "a link", "a file"])
def test_what_cannot_be_is_one_sentence_and_nothing_is_written(tmp_path, where):
    last = copy(tmp_path / "up" / "last")
    (tmp_path / "bare").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "bare")
    (tmp_path / "text").write_text("x")
    given = {
        "itself": (last, last / "source" / ".."),
        "inside": (last, last / "new"),
        "around": (last, tmp_path / "up"),
        "missing": (tmp_path / "none", tmp_path / "new"),
        "no course": (tmp_path / "bare", tmp_path / "new"),
        "full": (last, copy(tmp_path / "other")),
        "a link": (last, tmp_path / "link"),
        "a file": (tmp_path / "text", tmp_path / "new"),
    }
    before = everything(tmp_path)
    with pytest.raises(UsageError) as problem:
        last_year.course_from(*map(str, given[where]))
    assert "\n" not in str(problem.value) and everything(tmp_path) == before and not (tmp_path / "new").exists()


def test_a_source_that_is_a_link_is_not_followed(last, tmp_path):
    shutil.move(last / "source", tmp_path / "elsewhere")
    (last / "source").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(UsageError, match="no notebook in source/ that could be taken: links: source"):
        last_year.course_from(str(last), str(tmp_path / "next"))


def test_a_write_that_fails_leaves_nothing(last, tmp_path, monkeypatch):
    monkeypatch.setattr(last_year.Path, "write_bytes", lambda *given: (_ for _ in ()).throw(OSError(28, "full")))
    with pytest.raises(OSError):
        last_year.course_from(str(last), str(tmp_path / "next"))
    assert not (tmp_path / "next").exists()


def test_names_that_cannot_be_read_are_left_and_said(last, tmp_path):
    (last / "names.json").write_text("{")
    assert "all of names.json, since it cannot be used" in last_year.course_from(str(last), str(tmp_path / "next"))


def test_a_name_is_printed_without_its_escapes(last, tmp_path):
    (last / "source" / "a\x1b[2Jb\n.pem").write_text("x")
    (last / "source" / os.fsdecode(b"\xff.pem")).write_text("x")
    said = last_year.course_from(str(last), str(tmp_path / "next"))
    assert "\x1b" not in said and said.encode()


@pytest.mark.parametrize(
    "text", ["skip_connection_of_a_long_name", "https://x.example/a:b", "def tokens(a): ...", "sk-learn", "a" * 500]
)
def test_ordinary_texts_are_no_secrets(text):
    assert not secrets.is_secret(text) and not secrets.gives_a_secret(f"# {text}")


@pytest.mark.slow("it builds the new course")
def test_the_new_course_builds_and_grades(last):
    shutil.copy(ROOT / "nbgrader_config.py", last)
    code, said, problem = autograder(last.parent, "new", "course", "--from", last.name)
    assert code == 0 and "cd averages-2026" in said, problem
    code, said, problem = autograder(last.parent / "averages-2026", "build")
    assert code == 0 and "01_averages" in said, problem


def test_the_command_wants_a_folder_or_last_years(tmp_path):
    code, _, said = autograder(tmp_path, "new", "course")
    assert code == 2 and "Name a folder" in said
    code, _, said = autograder(tmp_path, "new", "course", "--from", "gone")
    assert code == 2 and said == (
        "autograder: gone is no folder, such as last year's course, and no course of that name is installed, but"
        f" {', '.join(one.name for one in installed.courses()) or 'none'}.\n"
    )
