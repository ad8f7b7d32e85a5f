"""Downloads of platforms by the names in them, times in names, and what is handed in beside a notebook."""

import base64
import io
import json
import re
import shutil
import zipfile
from datetime import datetime, timedelta, timezone
from email.message import EmailMessage

import pytest
from conftest import ASSIGNMENT, ROOT
from nbgrader.api import Gradebook

from autograder import course
from autograder.errors import UsageError
from autograder.intake import layouts, shapes, zip_names
from autograder.intake.people import Roster, Student
from autograder.intake.proposing import proposed
from autograder.lms import beside, commands
from autograder.nbgrader import pictures
from autograder.submission import files
from autograder.submission.times import time_of

NOTEBOOK = f"{ASSIGNMENT}.ipynb"
CLASS = (
    "id,first_name,last_name,email,lms_user_id\njdoe,Jane,Doe,jdoe@uni.example,501\nkim,Kim,Lee,kim@uni.example,505\n"
    "amuller,\u00c4nne,M\u00fcller,am@uni.example,502\nmallory,Mallory,Moe,mm@uni.example,506\n"
)
PNG = bytes.fromhex(
    "89504e470d0a1a0a0000000d4948445200000001000000010802000000907753de0000000c49444154789c63606060000000040001f61738550000000049454e44ae426082"
)


def work(text):
    notebook = json.loads((ROOT / "release" / ASSIGNMENT / NOTEBOOK).read_text())
    notebook["cells"].append({"cell_type": "markdown", "id": "mine", "metadata": {}, "source": text})
    return json.dumps(notebook).encode()


JANES, KIMS, OLD = work("Jane's"), work("Kim's"), work("old")


def zipped(files):
    with zipfile.ZipFile(made := io.BytesIO(), "w") as archive:
        for name, content in files.items():
            archive.writestr(name, content)
    return made.getvalue()


@pytest.fixture(scope="module")
def empty(tmp_path_factory):
    path = tmp_path_factory.mktemp("empty") / "gradebook.db"
    Gradebook(f"sqlite:///{path}").close()
    return path


class Place:
    """A course with a class; `collect` gives (exit code, what was said)."""

    def __init__(self, root, capsys):
        self.root, self.capsys = root, capsys

    def roster(self, text=CLASS):
        (self.root / "class.csv").write_text(text, encoding="utf-8")
        commands.roster(self.root, [self.root / "class.csv"], [], [])

    def collect(self, files, *sheets, system=None, pattern=None, zone="UTC", name="download.zip"):
        (self.root / name).write_bytes(files if isinstance(files, bytes) else zipped(files))
        self.capsys.readouterr()
        assignment = course.assignments(self.root)[ASSIGNMENT]
        code = commands.collect(self.root, assignment, [self.root / name, *sheets], system, pattern, zone)
        said = self.capsys.readouterr()
        return code, said.out + said.err

    @property
    def found(self):
        return {p.parent.parent.name: p.read_bytes() for p in (self.root / "submitted").glob(f"*/*/{NOTEBOOK}")}

    def stamp(self, student):
        path = self.root / "submitted" / student / ASSIGNMENT / "timestamp.txt"
        return path.read_text().strip() if path.exists() else None

    def beside(self, student):
        folder = self.root / "submitted" / student / ASSIGNMENT / "beside"
        return {str(p.relative_to(folder)): p.read_bytes() for p in folder.rglob("*") if p.is_file()}


@pytest.fixture
def place(tmp_path, empty, capsys):
    shutil.copy(empty, tmp_path)
    shutil.copy(ROOT / "nbgrader_config.py", tmp_path)
    for folder in ("source", "release"):
        shutil.copytree(ROOT / folder / ASSIGNMENT, tmp_path / folder / ASSIGNMENT)
    return Place(tmp_path, capsys)


LATEST = {
    "blackboard": {
        f"HW 1_jdoe_attempt_2026-11-20-10-11-12_{NOTEBOOK}": JANES,
        "HW 1_jdoe_attempt_2026-11-20-10-11-12.txt": b"Name: Jane Doe (jdoe)\n\nFiles:\n\tx\n",
        f"HW 1_kim_attempt_2026-11-21-09-00-00_{NOTEBOOK}": KIMS,
        "HW 1_kim_attempt_2026-11-19-09-00-00_my old.ipynb": OLD,
    },
    "brightspace": {
        "index.html": b"<html></html>",
        f"12345-67890 - Jane Doe - Nov 20, 2026 1011 AM/{NOTEBOOK}": JANES,
        f"12346-67890 - Kim Lee - Nov 20, 2026 1130 PM/{NOTEBOOK}": OLD,
        f"12346-67890 - Kim Lee - Nov 21, 2026 900 AM/{NOTEBOOK}": KIMS,
    },
    "brightspace, flat": {
        f"1-2 - Jane Doe - 20 November, 2026 10.11 - {NOTEBOOK}": JANES,
        f"1-2 - Kim Lee- Nov 20, 2026 1130 PM - {NOTEBOOK}": OLD,
        f"1-2 - Kim Lee- Nov 21, 2026 900 AM - {NOTEBOOK}": KIMS,
    },
    "sakai": {
        "HW 1/grades.csv": b"x",
        **{
            f"HW 1/{who}/{name}": data
            for who, notebook, stamp in (
                ("Doe, Jane(jdoe)", JANES, b"20261120101112345"),
                ("Lee, Kim(kim)", KIMS, b"20261121090000000"),
            )
            for name, data in {f"Submission attachment(s)/{NOTEBOOK}": notebook, "timestamp.txt": stamp}.items()
        },
    },
    "ilias": {
        f"HW 1/Doe_Jane_jdoe_4711/20261120101112_{NOTEBOOK}": JANES,
        f"HW 1/Lee_Kim_kim_4712/20261121090000_{NOTEBOOK}": KIMS,
        f"HW 1/Lee_Kim_kim_4712/20261120090000_{NOTEBOOK}": OLD,
    },
    "ilias, teams": {
        f"HW 1/Abgaben/Team 3/Doe_Jane_jdoe_4711/20261120101112_{NOTEBOOK}": JANES,
        f"HW 1/Abgaben/Team 4/Lee_Kim_kim_4712/20261121090000_{NOTEBOOK}": KIMS,
    },
}


UNDERSCORED = (
    "id,first_name,last_name\ndoe,John,Doe\nj_doe,Jane,Doe\nlee,Kim,Lee\nberg,Bo,Berg\nvan_der_berg,Jan,Berg\n"
)
ATTEMPT = f"attempt_2026-11-20-10-11-12_{NOTEBOOK}"


@pytest.mark.parametrize("title", ["HW 1", "HW_1", "a_b c_d"])
def test_a_login_with_underscores_is_not_the_login_that_it_ends_with(place, title):
    place.roster(UNDERSCORED)
    logins = {"doe": JANES, "j_doe": KIMS, "van_der_berg": OLD, "k_lee": work("a stranger's")}
    code, said = place.collect({f"{title}_{login}_{ATTEMPT}": data for login, data in logins.items()})
    assert code == 1 and "k_lee" in said
    assert place.found == {"doe": JANES, "j_doe": KIMS, "van_der_berg": OLD}


@pytest.mark.parametrize("alone", ["HW 1_k_lee", "HW 1_der_berg"])
def test_one_name_alone_of_which_only_a_part_is_a_login_is_nobodys(place, alone):
    place.roster(UNDERSCORED)
    code, _ = place.collect({f"{alone}_{ATTEMPT}": JANES}, system="blackboard")
    assert not place.found and code == 1


def test_nor_is_it_in_iliass_folders(place):
    place.roster(UNDERSCORED)
    owners = {"Doe_Jane_j_doe_1": KIMS, "Doe_John_doe_2": JANES, "Lee_Karl_k_lee_3": OLD}
    place.collect({f"HW 1/{owner}/20261120101112_{NOTEBOOK}": data for owner, data in owners.items()})
    assert place.found == {"doe": JANES, "j_doe": KIMS}


@pytest.mark.parametrize("layout", LATEST)
def test_a_platforms_names_tell_who_and_when(place, layout):
    place.roster()
    code, said = place.collect(LATEST[layout])
    assert place.found == {"jdoe": JANES, "kim": KIMS} and code == 0
    assert f"from {layout.split(',')[0]}" in said and "nobody counts as late" not in said
    assert place.stamp("jdoe").startswith("2026-11-20 10:11") and place.stamp("kim") == "2026-11-21 09:00:00 UTC"


@pytest.mark.parametrize(
    "names",
    [
        ["hw1-submissions/hw1-jdoe/{}", "hw1-submissions/hw1-kim/{}"],
        ["the-first-jdoe/{}", "the-first-kim/{}"],
        ["01_self_attention - Jane Doe.ipynb", "01_self_attention - Kim Lee.ipynb"],
        ["hw 1 - final - Jane Doe (1).ipynb", "Copy of hw - Kim Lee.ipynb"],
        ["Section A/jdoe/{}", "Section B/kim/{}"],
        ["class/Section A/Monday/Jane Doe/{}", "class/Section B/Friday/Kim Lee/{}"],
        ["2026/hw1/jdoe/{}", "2026/hw1/kim/{}"],
        ["HW 1/Jane Doe - x.ipynb", "HW 1/Kim Lee - x.ipynb"],
    ],
)
def test_names_that_the_roster_explains(place, names):
    place.roster()
    place.collect({name.format(NOTEBOOK): data for name, data in zip(names, (JANES, KIMS), strict=True)})
    assert place.found == {"jdoe": JANES, "kim": KIMS}


@pytest.mark.parametrize("pattern", [r"hw1-(?P<student_id>\w+)", r"(?P<student_id>[a-z]+)"])
@pytest.mark.parametrize("around", ["hw1-submissions", "x/hw1-submissions"])
def test_a_pattern_is_tried_below_folders_of_no_student(place, pattern, around):
    place.roster()
    before = "hw1-" if "hw1" in pattern else ""
    place.collect(
        {f"{around}/{before}jdoe/{NOTEBOOK}": JANES, f"{around}/{before}kim/{NOTEBOOK}": KIMS}, pattern=pattern
    )
    assert place.found == {"jdoe": JANES, "kim": KIMS}


@pytest.mark.parametrize(
    "files",
    [
        {f"jdoe/{NOTEBOOK}": JANES, f"stranger/kim/{NOTEBOOK}": OLD},
        {f"A/jdoe/{NOTEBOOK}": JANES, f"A/amuller/{NOTEBOOK}": KIMS, f"A/stranger/kim/{NOTEBOOK}": OLD},
        {f"A/jdoe/{NOTEBOOK}": JANES, f"A/amuller/{NOTEBOOK}": KIMS, f"B/stranger/kim/{NOTEBOOK}": OLD},
        {f"jdoe/{NOTEBOOK}": JANES, "stranger.zip": zipped({f"kim/{NOTEBOOK}": OLD, f"mallory/{NOTEBOOK}": OLD})},
    ],
)
def test_a_folder_of_a_stranger_hands_in_for_nobody(place, files):
    place.roster()
    code, _ = place.collect(files)
    assert place.found["jdoe"] == JANES and code == 1 and not place.found.keys() & {"kim", "mallory"}


NUMBERED = (
    "id,first_name,last_name,email\n01,Ada,Lovelace,ada@x.example\n02,Jane,Doe,jd@x.example\n"
    "03,Kim,Lee,kim@x.example\nhw,Hans,Wolf,hw@x.example\ntom,Tom,O'Neil,tom@x.example\n"
)
SAKAI, ATTACHED = "20261120101112345", "Submission attachment(s)"
AROUND = {
    "a folder called as the lesson": ["01_first/Jane Doe/{}", "01_first/Kim Lee/{}"],
    "Sakai's": ["01 first/Doe, Jane(02)/" + ATTACHED + "/{}", "01 first/Lee, Kim(03)/" + ATTACHED + "/{}"],
    "ILIAS's": [f"01 First/Submissions/{who}_4/20261120101112_{{}}" for who in ("Doe_Jane_02", "Lee_Kim_03")],
    "GitHub's": ["01-first-submissions/01-first-02/{}", "01-first-submissions/01-first-03/{}"],
    "Brightspace's": ["01 a/1-2 - Jane Doe - Nov 20, 2026 1011 AM/{}", "01 a/1-3 - Kim Lee - Nov 20, 2026 1011 AM/{}"],
    "a title that is an id": ["HW 1/02/{}", "HW 1/03/{}"],
    "files of a title that is an id": ["HW 1/Jane Doe {}", "HW 1/Kim Lee {}"],
    "a tutor's section": ["Ada Lovelace (Monday)/Jane Doe/{}", "Tom ONeil (Tuesday)/03/{}"],
    "one of two sections is a tutor's": ["Section A/02/{}", "Ada Lovelace - Tue/03/{}"],
    "tutors' sections": ["Ada Lovelace/02/{}", "Ada Lovelace/hw/{}", "Tom O'Neil/03/{}", "Tom O'Neil/01/{}"],
    "a first name": ["Tom/Jane Doe/{}", "Tom/Kim Lee/{}"],
    "tutors' sections, Brightspace's": [
        f"{tutor}/1-{n} - {name} - Nov 20, 2026 1011 AM/{{}}"
        for n, (tutor, name) in enumerate({"Ada Lovelace": "Jane Doe", "Tom O'Neil": "Kim Lee"}.items())
    ],
}


@pytest.mark.parametrize("names", AROUND.values(), ids=AROUND)
def test_a_folder_around_a_class_belongs_to_no_student_with_whose_id_or_name_it_begins(place, names):
    place.roster(NUMBERED)
    students = ("02", "03") if len(names) == 2 else ("02", "hw", "03", "01")
    theirs = {name.format(NOTEBOOK): work(student) for name, student in zip(names, students, strict=True)}
    code, said = place.collect(theirs)
    assert place.found == dict(zip(students, theirs.values(), strict=True)) and code == 0, said


@pytest.mark.parametrize(
    "outside", ["Hans Wolf/{}", "hw/notes.txt", "tom/{}", "Tom O'Neil notes.pdf", "Hans Wolf/a/b/{}"]
)
def test_ones_folder_beside_those_of_sections_loses_nobody(place, outside):
    place.roster(NUMBERED)
    names = {"Section A/02/{}": JANES, "Section A/03/{}": KIMS, "Section B/01/{}": OLD, outside: b"%PDF"}
    if "{" in outside:
        names[outside] = work("outside")
    code, said = place.collect({name.format(NOTEBOOK): data for name, data in names.items()})
    assert {s: place.found.get(s) for s in ("01", "02", "03")} == {"01": OLD, "02": JANES, "03": KIMS}, said
    whose = "tom" if "om" in outside else "hw"
    assert whose in place.found or f"nothing usable: {whose}" in said
    assert "adds students" not in said and code == ("{" not in outside)


def test_ones_folder_beside_a_platforms_in_sections_loses_nobody(place):
    place.roster(NUMBERED)
    names = {f"Mon/Doe, Jane(02)/{ATTACHED}/{NOTEBOOK}": JANES, f"Tue/Lee, Kim(03)/{ATTACHED}/{NOTEBOOK}": KIMS}
    code, said = place.collect({**names, f"hw/{NOTEBOOK}": OLD})
    assert place.found == {"02": JANES, "03": KIMS, "hw": OLD} and code == 0 and "from sakai" in said


@pytest.mark.parametrize("folder", ["Section A", "Mallory Moe (Tue)"])
def test_one_name_alone_in_a_folder_that_is_nobodys_gives_no_false_lead(place, folder):
    place.roster()
    code, said = place.collect({f"{folder}/jdoe/{NOTEBOOK}": JANES})
    assert code == 1 and "adds students" not in said and "collect that folder by itself" in said
    assert not place.found and "nothing usable: jdoe" in said


@pytest.mark.parametrize("folder", ["Section A", "Kim Lee (Monday)", "kim"])
def test_a_folder_that_may_be_one_persons_is_left_out_with_a_true_reason(place, folder):
    """Beside two students, two names inside a third folder may be chosen by whoever handed it in."""
    place.roster(CLASS + "bo,Bo,Berg,bo@x.example,7\n")
    names = {f"jdoe/{NOTEBOOK}": JANES, f"amuller/{NOTEBOOK}": JANES}
    code, said = place.collect({**names, f"{folder}/mallory/{NOTEBOOK}": OLD, f"{folder}/bo/{NOTEBOOK}": OLD})
    assert set(place.found) == {"jdoe", "amuller"} and code == 1 and "adds students" not in said
    assert f"{folder}' holds what is called after bo, mallory" in said and "collect that folder by itself" in said


@pytest.mark.parametrize(
    "name, whose",
    [
        ("Tom Hanks/{}", None),
        ("tom hanks {}", None),
        ("Kim Park hw1.ipynb", None),
        ("kim-maria/{}", None),
        ("Lee Karl.ipynb", None),
        ("kim hw1.ipynb", "kim"),
        ("kim_final.ipynb", "kim"),
        ("Kim Homework 1 (2).ipynb", "kim"),
        ("kim lee.ipynb", "kim"),
        ("Lee Kim notes.ipynb", "kim"),
        ("tom.ipynb", "tom"),
    ],
)
def test_an_id_that_is_a_first_name_alone_is_not_everybodys_of_that_name(place, name, whose):
    place.roster("id,first_name,last_name\nkim,Kim,Lee\ntom,Tom,O'Neil\nlee,Lee,Chang\njdoe,Jane,Doe\n")
    code, said = place.collect({f"jdoe/{NOTEBOOK}": JANES, name.format(NOTEBOOK): OLD})
    assert {s for s, data in place.found.items() if data == OLD} == {whose} - {None}, said
    assert ("goes on with another name" in said and code == 1) if whose is None else "beginning or end" in said


def test_a_students_own_name_of_a_file_is_nobody_elses(place):
    place.roster()
    place.collect(
        {
            f"HW_mallory_attempt_2026-11-20-10-11-12_x_kim_attempt_2026-11-20-10-11-12_{NOTEBOOK}": OLD,
            f"HW_jdoe_attempt_2026-11-20-10-11-12_{NOTEBOOK}": JANES,
        }
    )
    assert place.found == {"mallory": OLD, "jdoe": JANES}


def test_a_login_and_a_name_of_two_students_are_nobody(place):
    place.roster()
    code, said = place.collect(
        {f"H/Doe_Jane_kim_1/20261120101112_{NOTEBOOK}": OLD, f"H/Moe_Mallory_mallory_2/20261120101112_{NOTEBOOK}": OLD}
    )
    assert (
        set(place.found) == {"mallory"} and code == 1 and "Jane Doe is jdoe's" in said.replace("Doe Jane", "Jane Doe")
    )


def test_every_example_is_of_its_system():
    for system, of in shapes.SHAPES.items():
        for shape in of:
            names = shape.example.split("/")
            if system != shapes.GITHUB:
                assert any(shape.match(name) for name in names), shape.example
    assert list(layouts.LAYOUTS)[-1] == "mail"


def test_no_pattern_of_a_layout_takes_long():
    for name in ("_attempt_" * 28, "1-1 - " * 42, "a_" * 127, "(" * 255, " - " * 85, "_1" * 127, "-" * 255):
        for of in shapes.SHAPES.values():
            for shape in of:
                shape.match(name)


def test_a_name_that_fits_no_layout_gets_a_pattern_that_works(place):
    place.roster()
    names = {f"HW 1_x_jdoe_v1_{NOTEBOOK}": JANES, f"HW 1_x_kim_v2_{NOTEBOOK}": KIMS}
    code, said = place.collect(names)
    assert code == 1 and not place.found and "adds students" not in said and "handed in, but nothing usable" in said
    pattern = re.search(r"--pattern '([^']+)'", said)[1]
    place.collect(names, pattern=pattern)
    assert place.found == {"jdoe": JANES, "kim": KIMS}


@pytest.mark.parametrize(
    "names",
    [
        ["a+b (jdoe).ipynb", "a+b (kim).ipynb"],
        ["1-Jane Doe-x.ipynb", "22-Kim Lee-y.ipynb"],
        ["submission of jdoe", "submission of kim"],
    ],
)
def test_a_proposed_pattern_finds_whom_it_was_made_from(names):
    roster = Roster([Student("jdoe", "Jane", "Doe"), Student("kim", "Kim", "Lee")])
    made, fitting, students = proposed(names, roster)
    assert fitting == names and students == ["jdoe", "kim"] and all(re.fullmatch(made, name) for name in names)


# --- names that are hidden ------------------------------------------------------------------------

BLIND = "Identifier,Status,Grade,Maximum Grade,Last modified (submission),Last modified (grade)\n" + "".join(
    f'{{}}{n},Submitted,,29.00,"Friday, 20 November 2026, 10:11 AM",-\n' for n in (4711, 4712)
)


@pytest.mark.parametrize("word", ["Participant", "Participant 4711", "Teilnehmer_in", "Teilnehmerin", "Deltagare", "X"])
@pytest.mark.parametrize("with_roster", [True, False])
def test_moodles_anonymous_numbers(place, word, with_roster):
    if with_roster:
        place.roster()
    elif word == "X":
        return  # nothing tells that this is no name
    second = word.replace("4711", "4712")
    names = {
        f"{word}_4711_assignsubmission_file/{NOTEBOOK}": JANES,
        f"{second}_4712_assignsubmission_file_/{NOTEBOOK}": KIMS,
    }
    code, said = place.collect(names)
    assert place.found == {"participant-4711": JANES, "participant-4712": KIMS} and code == 0
    assert "anonymous" in said and "export 02 moodle --fill" in said and "without a hand-in" not in said
    assert "give Moodle's grading worksheet" in said


def test_anonymous_ones_with_a_worksheet_and_then_with_names(place):
    place.roster()
    sheet = place.root / "blind.csv"
    sheet.write_text(BLIND.replace("{}", "Participant "))
    place.collect({f"Participant_{n}_assignsubmission_file/{NOTEBOOK}": JANES for n in (4711, 4712)}, sheet)
    assert place.stamp("participant-4711") == "2026-11-20 10:11:00 UTC"
    code, _ = place.collect(
        {
            f"Jane Doe_4711_assignsubmission_file/{NOTEBOOK}": JANES,
            f"Kim Lee_4712_assignsubmission_file/{NOTEBOOK}": KIMS,
        }
    )
    assert code == 0 and place.found["jdoe"] == JANES and place.found["kim"] == KIMS


def test_canvas_hides_names_and_puts_groups_under_one_member(place):
    place.roster()
    code, said = place.collect({f"anon_a1B2c_501_9001_{NOTEBOOK}": JANES, f"anon_Zz9Yx_505_9002_{NOTEBOOK}": KIMS})
    assert code == 0 and "anonymous" in said and "jdoe" not in place.found and "adds students" not in said
    _, said = place.collect({f"projectgroup3_501_9001_{NOTEBOOK}": JANES, f"leekim_505_9002_{NOTEBOOK}": KIMS})
    assert "projectgroup3: jdoe" in said and "groups" in said and "leekim" not in said


def test_a_roster_of_ids_alone_brings_no_new_ids(place):
    """Nor does one whose names could not be read: nobody else is in the class."""
    place.roster("Student ID;Points\njdoe;5\nkim;6\n")
    before = "_assignsubmission_file/"
    code, said = place.collect({f"Jane Doe_4711{before}{NOTEBOOK}": JANES, f"Kim Lee_4712{before}{NOTEBOOK}": KIMS})
    assert code == 1 and not place.found and "Jane Doe" in said and "Kim Lee" in said
    code, said = place.collect({f"jdoe/{NOTEBOOK}": JANES, f"kim/{NOTEBOOK}": KIMS})
    assert code == 0 and place.found == {"jdoe": JANES, "kim": KIMS}
    place.roster('Student ID,Student Name\njdoe,"Doe, Jane"\nkim,"Lee, Kim"\n')
    code, said = place.collect({f"Jane Doe_4711{before}{NOTEBOOK}": OLD, f"Kim Lee_4712{before}{NOTEBOOK}": KIMS})
    assert place.found["jdoe"] == OLD


# --- times ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "text, time",
    [
        ("2026-11-20-10-11-12", "2026-11-20 10:11:12"),
        ("2026-11-03-11-25-32", "2026-11-03 11:25:32"),
        ("20261120101112345", "2026-11-20 10:11:12"),
        ("Nov 21, 2026 900 AM", "2026-11-21 09:00:00"),
        ("Nov 3, 2026 1125 PM", "2026-11-03 23:25:00"),
        ("Nov 4, 2026 0026 AM", "2026-11-04 00:26:00"),
        ("Nov 4, 2026 12:26 AM", "2026-11-04 00:26:00"),
        ("3. Nov. 2026 11.25", "2026-11-03 11:25:00"),
        ("3. M\u00e4rz 2026 um 23:25 Uhr", "2026-03-03 23:25:00"),
        ("25-11-2026 11:25 PM", "2026-11-25 23:25:00"),
        ("11/25/2026 11:25", "2026-11-25 11:25:00"),
        ("2026-11-20 10:11:12 CET", "2026-11-20 09:11:12"),
        ("2026-11-20T10:11:12+01:00", "2026-11-20 09:11:12"),
        ("2026-11-20 10:11:12.123456 UTC", "2026-11-20 10:11:12"),
        ("Tuesday, 3 November 2026, 11:25 AM", "2026-11-03 11:25:00"),
        *((text, None) for text in ("03-11-2026 11:25", "11-03-2026 11:25 PM", "3/11/2026", "2026-11-20 10:11 XYZ")),
        ("perjantai, 20. marraskuuta 2026, 21.05", "2026-11-20 21:05:00"),
        ("20. marras 2026", "2026-11-20 00:00:00"),
        ("pi\u0105tek, 20 listopada 2026, 21:05", "2026-11-20 21:05:00"),
        ("utorak, 20. listopada 2026, 21:05", "2026-10-20 21:05:00"),
        ("20. prosince 2026 v 21:05", "2026-12-20 21:05:00"),
        (
            "\u043f\u044f\u0442\u043d\u0438\u0446\u0430, 20 \u043d\u043e\u044f\u0431\u0440\u044f 2026, 21:05",
            "2026-11-20 21:05:00",
        ),
        ("20 eana\u0301ir 2026", "2026-01-20 00:00:00"),
        ("2026. november 20., p\u00e9ntek, 21:05", "2026-11-20 21:05:00"),
        ("2026 m. lapkri\u010dio 20 d., 21:05", "2026-11-20 21:05:00"),
        ("2026\u5e7411\u670820\u65e5 \u661f\u671f\u4e94 21:05", "2026-11-20 21:05:00"),
        ("2026\ub144 11\uc6d4 20\uc77c (\uae08) 21:05", "2026-11-20 21:05:00"),
        ("20 th\u00e1ng 11 2026, 21:05", "2026-11-20 21:05:00"),
        *((text, None) for text in ("20 mares 2026", "20 listopada 2026", "20 Marketing 2026", "20 Juneteenth 2026")),
        *(
            (text, None)
            for text in ("20 septic 2026", "Decade 20, 2026", "2026\u5e7411\u670820\u65e5 \u4e0b\u53489:05")
        ),
        *((text, None) for text in ("2026-11-20 10:11 CST", "2026-13-01", "Nov 20, 2026 1311 AM", "1" * 90, "", "x")),
    ],
)
def test_a_time_is_read_or_not_and_never_guessed(text, time, recwarn):
    assert str(time_of(text)) == str(time and datetime.fromisoformat(time)) and not recwarn.list


def test_a_time_without_a_zone_is_in_the_one_that_is_given():
    berlin = timezone(timedelta(hours=1))
    assert time_of("2026-11-20 10:00", berlin) == datetime(2026, 11, 20, 9)
    assert time_of("2026-11-20 10:00 UTC", berlin) == datetime(2026, 11, 20, 10)


def test_a_time_that_cannot_be_read_is_said(place):
    place.roster()
    pattern = r"(?P<student_id>\w+) (?P<time>.*)\.ipynb"
    code, said = place.collect({"jdoe 03-11-2026 11.25.ipynb": JANES, "kim 2026-11-20.ipynb": KIMS}, pattern=pattern)
    assert code == 1 and "times cannot be read, such as '03-11-2026 11.25'" in said
    assert place.stamp("jdoe") is None and place.stamp("kim") and "no hand-in time is known of 1 (jdoe)" in said


DATED = r"(?P<student_id>[a-z]+)_(?P<time>.+)_.*"


@pytest.mark.parametrize(
    "first, second, proof, stamp",
    [
        ("20-11-2026 21.05", "02-12-2026 21.05", None, "2026-12-02 21:05"),
        ("11-20-2026 21.05", "12-02-2026 21.05", None, "2026-12-02 21:05"),
        ("03-11-2026 10.00", "04-11-2026 09.00", "25-11-2026", "2026-11-04 09:00"),
        ("10-02-2026 10.00", "02-03-2026 09.00", "25-11-2026", "2026-03-02 09:00"),
        ("02-11-2026 10.00", "03-10-2026 09.00", "11-25-2026", "2026-03-10 09:00"),
    ],
)
def test_the_other_dates_of_a_download_tell_which_number_is_the_month(place, first, second, proof, stamp):
    place.roster()
    names = {f"jdoe_{first}_a.ipynb": OLD, f"jdoe_{second}_b.ipynb": JANES}
    code, said = place.collect({**names, **({f"kim_{proof}_x.ipynb": KIMS} if proof else {})}, pattern=DATED)
    assert place.found["jdoe"] == JANES and place.stamp("jdoe").startswith(stamp) and code == 0
    assert f"'jdoe_{second}_b.ipynb' counts, the latest, and not 'jdoe_{first}_a.ipynb'" in said


@pytest.mark.parametrize(
    "one, other",
    [
        ("03-11-2026", "04-10-2026"),
        ("2026-05-05", "03-11-2026"),
        ("2026-05-05", "sometime"),
        ("sometime", "later"),
    ],
)
@pytest.mark.parametrize("proofs", [(), ("25-11-2026", "11-25-2026")])
def test_an_order_that_nothing_tells_is_left_open_for_that_student(place, one, other, proofs):
    place.roster()
    names = {f"jdoe_{one}_a.ipynb": OLD, f"jdoe_{other}_b.ipynb": JANES}
    others = {f"{who}_{time}_x.ipynb": KIMS for who, time in zip(("kim", "amuller"), proofs, strict=False)}
    code, said = place.collect({**names, **others}, pattern=DATED)
    assert (
        "jdoe" not in place.found and code == 1 and "nothing usable: jdoe" in said and len(place.found) == len(proofs)
    )
    assert "nothing tells which is the latest" in said and "a.ipynb'" in said and "b.ipynb'" in said
    assert "counts, the la" not in said


@pytest.mark.parametrize("later", ["20-11-2026", "2026-11-20"])
def test_a_date_that_may_be_two_and_is_earlier_in_both_ways_does_not_count(place, later):
    place.roster()
    names = {"jdoe_03-11-2026_b.ipynb": OLD, f"jdoe_{later}_a.ipynb": JANES, "kim_11-25-2026_x.ipynb": KIMS}
    _, said = place.collect(names, pattern=DATED)
    assert place.found["jdoe"] == JANES and "a.ipynb' counts, the latest, and not" in said


def test_two_hand_ins_of_one_time_are_not_said_to_be_the_latest(place):
    place.roster()
    _, said = place.collect({"jdoe_20.11.2026_a.ipynb": OLD, "jdoe_2026-11-20_b.ipynb": JANES}, pattern=DATED)
    assert place.found["jdoe"] == JANES and "counts, the last by its name" in said


def test_the_dates_of_a_worksheet_prove_which_number_is_the_month(place):
    place.roster()
    sheet = place.root / "sheet.csv"
    sheet.write_text(
        BLIND.replace("{}", "Participant ").replace("Friday, 20 November 2026, 10:11 AM", "03/11/2026 10:11", 1)
    )
    assert "03/11/2026" in sheet.read_text()
    names = {4711: "Jane Doe", 4712: "Kim Lee"}
    files = {f"{name}_{n}_assignsubmission_file/{NOTEBOOK}": JANES for n, name in names.items()}
    place.collect(files, sheet)
    assert place.stamp("jdoe") is None
    sheet.write_text(sheet.read_text().replace("Friday, 20 November 2026, 10:11 AM", "20/11/2026 10:11"))
    place.collect(files, sheet)
    assert place.stamp("jdoe") == "2026-11-03 10:11:00 UTC"


def test_one_line_says_which_of_very_many_counts(place):
    place.roster()
    copies = zipped({f"d{n}/{NOTEBOOK}": work(f"copy {n}") for n in range(30)})
    flat = {f"amuller_{n:03}_x.ipynb": work(f"copy {n}") for n in range(30)}
    _, said = place.collect({"kim/w.zip": copies, f"jdoe/{NOTEBOOK}": JANES, **flat})
    lines = [line for line in said.splitlines() if " counts" in line and "late" not in line]
    assert len(lines) == 2 and all("the 29 others, such as" in line and len(line) < 500 for line in lines), said


@pytest.mark.parametrize(
    "data, says",
    [
        (b"", "x.ipynb is empty: save"),
        (b"%PDF-1.7", "x.ipynb is a PDF"),
        (b'{"cells": [1, 2], "nbformat": 4}', "x.ipynb: Its cell 1 is not a cell"),
        (b'{"cells": ' + b"[" * 5000 + b"]" * 5000 + b', "nbformat": 4}', "x.ipynb is nested too deeply"),
    ],
)
def test_what_is_said_of_a_file_is_a_sentence(place, data, says):
    place.roster()
    _, said = place.collect({"jdoe/x.ipynb": data, f"kim/{NOTEBOOK}": KIMS})
    assert says in said


def test_without_times_it_is_said_that_nobody_is_late(place):
    place.roster()
    _, said = place.collect({f"jdoe/{NOTEBOOK}": JANES, f"kim/{NOTEBOOK}": KIMS})
    assert "no hand-in times are known, so nobody counts as late" in said


def test_two_notebooks_of_one_name_are_told_apart_by_their_folders(place):
    place.roster()
    _, said = place.collect({f"jdoe/a/{NOTEBOOK}": JANES, f"jdoe/b/{NOTEBOOK}": OLD, f"kim/{NOTEBOOK}": KIMS})
    assert f"jdoe/a/{NOTEBOOK}" in said and f"jdoe/b/{NOTEBOOK}" in said


# --- beside the notebook --------------------------------------------------------------------------


def test_what_is_beside_a_notebook_is_kept_and_said(place):
    place.roster()
    before = "Jane Doe_4711_assignsubmission_"
    code, said = place.collect(
        {
            f"{before}file/{NOTEBOOK}": JANES,
            f"{before}file/img/answer.png": PNG,
            f"{before}file/empty.txt": b"",
            f"{before}onlinetext/onlinetext.html": b"<p>My answer",
            f"Kim Lee_4712_assignsubmission_file_{NOTEBOOK}": KIMS,
            "Kim Lee_4712_assignsubmission_file_x.pdf": b"%PDF",
        }
    )
    assert code == 0 and "answer.png" in said and "onlinetext.html" in said and "x.pdf" in said
    assert place.beside("jdoe") == {"img/answer.png": PNG, "onlinetext.html": b"<p>My answer"}
    assert place.beside("kim") == {"x.pdf": b"%PDF"}
    folder = place.root / "submitted" / "jdoe" / ASSIGNMENT
    assert files.may_hold_answers(folder)
    shown = str(pictures.Pictures(place.root, ASSIGNMENT, "jdoe").shown())
    assert "data:image/png;base64," in shown and "My answer" in shown and "<p>My" not in shown
    place.collect({f"{before}file/{NOTEBOOK}": JANES, f"Kim Lee_4712_assignsubmission_file_{NOTEBOOK}": KIMS})
    assert not place.beside("jdoe") and not place.beside("kim")


ANSWER = {"cell_type": "markdown", "metadata": {}, "source": "## Question 2\nBecause it is the largest"}
SECOND = json.dumps({"cells": [ANSWER], "metadata": {}, "nbformat": 4, "nbformat_minor": 5}).encode()


def test_other_notebooks_are_kept_and_said(place):
    """A second one, a broken one, and another copy of the one that counts; not those of other lessons, nor the same."""
    place.roster()
    other = "01_self_attention"
    shutil.copytree(ROOT / "source" / other, place.root / "source" / other)
    lesson = (ROOT / "release" / other / f"{other}.ipynb").read_bytes()
    code, said = place.collect(
        {
            f"jdoe/{NOTEBOOK}": JANES,
            "jdoe/answers.ipynb": SECOND,
            "jdoe/more/broken.IPYNB": b'{"cells": [',
            f"jdoe/{other}.ipynb": lesson,
            f"kim/{NOTEBOOK}": KIMS,
            f"kim/old/{NOTEBOOK}": OLD,
            f"kim/again/{NOTEBOOK}": KIMS,
        }
    )
    assert (
        code == 0 and "jdoe: beside the notebook: " in said and "answers.ipynb" in said and "more/broken.IPYNB" in said
    )
    assert place.beside("jdoe") == {"answers.ipynb": SECOND, "more/broken.IPYNB": b'{"cells": ['}
    assert list(place.beside("kim").values()) in ([OLD], [KIMS]), "the one that does not count"
    assert f"notebooks of other assignments are left out: {other} (from 1)" in said
    folder = place.root / "submitted" / "jdoe" / ASSIGNMENT
    assert files.may_hold_answers(folder)
    shown = str(pictures.Pictures(place.root, ASSIGNMENT, "jdoe").shown())
    assert "Because it is the largest" in shown and "{&#34;cells&#34;: [" in shown and "nbformat" not in shown


@pytest.mark.parametrize(
    "name, waits",
    [
        *((name, True) for name in ("README", "a.rst", "a.m4a", "a.ods", "a.xps", "a.djvu", "a.pages", "a", "a.xyz")),
        *(
            (name, True)
            for name in ("a.ipynb", "a.ipynb.json", "a.IPYNB", "x/y/a.odt", "a.zip", "a.html", "a.txt", "1.5")
        ),
        *((name, False) for name in ("a.py", "a.csv", "A.CSV", "w/model.pt", "requirements.txt", "Makefile", "a.json")),
    ],
)
def test_a_file_that_is_not_known_to_be_code_or_data_may_hold_an_answer(tmp_path, name, waits):
    folder = tmp_path / "submitted" / "jdoe" / ASSIGNMENT
    path = folder / name
    path.parent.mkdir(parents=True)
    (folder / NOTEBOOK).write_bytes(JANES)
    assert not files.may_hold_answers(folder)
    path.write_bytes(b"{}")
    assert files.may_hold_answers(folder) == waits
    released = tmp_path / "release"
    (released / name).parent.mkdir(parents=True)
    (released / name).write_bytes(b"{}")
    assert not files.may_hold_answers(folder, released), "students got it"


def test_a_notebook_that_is_called_json_may_hold_an_answer(tmp_path):
    folder = tmp_path / "submitted" / "jdoe" / ASSIGNMENT
    folder.mkdir(parents=True)
    (folder / "answers.json").write_bytes(SECOND)
    assert files.may_hold_answers(folder)


def test_no_link_is_written_through_or_shown(place):
    place.roster()
    folder = place.root / "submitted" / "jdoe" / ASSIGNMENT
    (elsewhere := place.root / "elsewhere").mkdir()
    (elsewhere / "secret.txt").write_text("secret")
    folder.mkdir(parents=True)
    (folder / "beside").symlink_to(elsewhere)
    (folder / "x.txt").symlink_to(elsewhere / "secret.txt")
    assert "secret" not in str(pictures.Pictures(place.root, ASSIGNMENT, "jdoe").shown())
    place.collect({f"jdoe/{NOTEBOOK}": JANES, "jdoe/a.txt": b"a", f"kim/{NOTEBOOK}": KIMS})
    assert place.beside("jdoe") == {"a.txt": b"a"} and [p.name for p in elsewhere.iterdir()] == ["secret.txt"]


@pytest.mark.parametrize(
    "name", ["CON.txt", "a\x1b[2J.txt", "..", "x" * 300 + ".png", 'a:"b', " . ", "nul", "\udcff.txt"]
)
def test_a_kept_name_is_harmless(name):
    made = beside.safe_name(name)
    assert made and made.isprintable() and "/" not in made and not made.startswith(".") and len(made.encode()) <= 120
    assert not beside.RESERVED.fullmatch(made)


def test_too_many_files_are_named_and_not_kept(tmp_path):
    (path := tmp_path / "x").write_bytes(b"x")
    kept, too_much = beside.chosen([((f"{n}.txt",), path) for n in range(10_000)], tmp_path / "release", ASSIGNMENT)
    assert len(kept) == beside.MOST and len(too_much) == 10_000 - beside.MOST
    kept, _ = beside.chosen(
        [(("A.txt",), path), (("a.txt",), path), (("a.txt", "b"), path)], tmp_path / "r", ASSIGNMENT
    )
    assert len({"/".join(place).casefold() for place in kept}) == 3
    beside.write(tmp_path, kept)


def test_a_picture_of_too_many_pixels_is_not_shown(place):
    bomb = PNG[:16] + (60_000).to_bytes(4, "big") * 2 + PNG[24:]
    folder = place.root / "submitted" / "jdoe" / ASSIGNMENT
    folder.mkdir(parents=True)
    (folder / "bomb.png").write_bytes(bomb)
    (folder / '"><script>.svg').write_text("<svg onload=alert(1)>")
    shown = str(pictures.Pictures(place.root, ASSIGNMENT, "jdoe").shown())
    assert "base64" not in shown and "bomb.png" in shown and "<script" not in shown and "<svg" not in shown


@pytest.mark.parametrize("source", ["![x](attachment:a.png)", "![x](answer.png)", '<img src="img/answer.png">'])
def test_a_picture_that_an_answer_refers_to_is_shown(place, source):
    notebook = json.loads(JANES)
    attached = {"a.png": {"image/png": base64.b64encode(PNG).decode()}}
    notebook["cells"][-1] |= {"source": source, "attachments": attached}
    folder = place.root / "submitted" / "jdoe" / ASSIGNMENT
    (folder / "beside" / "img").mkdir(parents=True)
    (folder / NOTEBOOK).write_text(json.dumps(notebook))
    (folder / "beside" / "img" / "answer.png").write_bytes(PNG)
    found = pictures.Pictures(place.root, ASSIGNMENT, "jdoe")
    assert str(found.of(source)).count('<img src="data:image/png;base64,') == 1
    assert not found.of("![x](https://evil.example/x.png) ![y](../../kim/answer2.png)")


@pytest.mark.parametrize("system", ["mail", "one message"])
def test_what_is_attached_to_a_message_beside_the_notebook_is_kept(place, system):
    place.roster()
    message = EmailMessage()
    message["From"], message["Subject"] = "Kim <kim@uni.example>", "hw"
    message.set_content("Here it is.")
    attached = [
        ("photo.jpg", b"one"),
        ("photo.jpg", b"two"),
        (NOTEBOOK, KIMS),
        ("smime.p7s", b"x"),
        ("notes.pdf", b"%PDF"),
    ]
    attached += [("data.zip", zipped({"answer.docx": b"doc", "x.csv": b"1"})), ("../../evil.png", b"evil")]
    for name, data in attached:
        kind = ("application", "pkcs7-signature") if name.endswith("p7s") else ("application", "octet-stream")
        message.add_attachment(data, maintype=kind[0], subtype=kind[1], filename=name)
    files = {"kim.eml": message.as_bytes(), f"jdoe/{NOTEBOOK}": JANES}
    if system == "mail":
        code, said = place.collect(files)
    else:
        code, said = place.collect(message.as_bytes(), name="kim.eml")
    assert place.found["kim"] == KIMS and code == 0, said
    kept = {"photo.jpg": b"one", "photo (2).jpg": b"two", "notes.pdf": b"%PDF", "evil.png": b"evil"}
    assert place.beside("kim") == kept | {"data/answer.docx": b"doc", "data/x.csv": b"1"}


# --- what cannot be unpacked ----------------------------------------------------------------------

BROKEN = {
    "rar": {"work.rar": b"Rar!\x1a\x07\0" + b"x" * 99},
    "7z": {"work.7z": b"7z\xbc\xaf\x27\x1c"},
    "a broken zip": {"work.zip": b"PK\3\4broken"},
    "an empty zip": {"work.zip": zipped({})},
    "a zip of litter": {"work.zip": zipped({"__MACOSX/x": b"x"})},
    "a large notebook": {NOTEBOOK: b'{"cells": [' + b" " * 70 * 2**20 + b"]}"},
    "a bomb": {"w.zip": zipped({f"{n}.txt": b"0" * 5_000_000 for n in range(60)})},
    "a zip with a rar": {"w.zip": zipped({"w.rar": b"Rar!\x1a\x07\0"})},
}
HOW = {
    "moodle": "{name}_4{n}_assignsubmission_file/{file}",
    "blackboard": "HW 1_{id}_attempt_2026-11-20-10-11-12_{file}",
    "brightspace": "1-{n} - {name} - Nov 20, 2026 1011 AM/{file}",
    "mail": "{id}/{file}",
    "canvas": "{last}{first}_{lms_id}_90{n}_{file}",
}


@pytest.mark.parametrize(
    "kind, system",
    [*((kind, "moodle") for kind in BROKEN), *((kind, s) for s in HOW for kind in ("rar", "an empty zip"))],
)
def test_who_handed_in_what_cannot_be_unpacked_has_handed_in(place, kind, system):
    """With one good hand-in, the download is the class's all the same."""
    place.roster()
    names = {1: ("jdoe", "Jane", "Doe", 501), 2: ("kim", "Kim", "Lee", 505)}
    files = {}
    for n, (id, first, last, lms_id) in names.items():
        for file, data in ({NOTEBOOK: JANES} if n == 1 else BROKEN[kind]).items():
            said = {"id": id, "name": f"{first} {last}", "first": first.lower(), "last": last.lower(), "lms_id": lms_id}
            files[HOW[system].format(n=n, file=file, **said)] = data
    code, said = place.collect(files)
    assert place.found == {"jdoe": JANES} and code == 1, said
    assert "handed in, but nothing usable: kim\n" in said and f"no notebook of {ASSIGNMENT} is in it" in said, said
    assert "without a hand-in: amuller, mallory" in said and f"from {system}" in said


def test_one_line_says_how_much_of_ones_hand_in_could_not_be_unpacked(place):
    place.roster()
    rars = zipped({f"d{n}/w.rar": b"Rar!\x1a\x07\0" for n in range(40)})
    code, said = place.collect({f"jdoe/{NOTEBOOK}": JANES, "kim/w.zip": rars})
    assert code == 1 and said.count("is packed in a format") < 12 and "Skipped 35 more in kim/w" in said


def test_a_message_without_a_notebook_is_its_senders(place):
    place.roster()
    message = b"From: Kim <kim@uni.example>\nSubject: hw\n\nI forgot the file."
    code, said = place.collect(
        {f"jdoe/{NOTEBOOK}": JANES, "x.eml": message, "y.eml": message.replace(b"kim@", b"news@")}
    )
    assert place.found == {"jdoe": JANES} and "nothing usable: kim" in said and code == 1
    assert said.count("y.eml") == 1


# --- names in a zip -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "name, encoding",
    [
        ("\u00c4nne M\u00fcller", "utf-8"),
        ("\u00c4nne M\u00fcller", "cp850"),
        ("Jos\u00e9 N\u00fa\u00f1ez", "cp437"),
        ("\u00c1gnes", "cp850"),
        ("Jos\u00e9 N\u00fa\u00f1ez", "cp1252"),
        ("\u5f20\u4f1f", "gbk"),
        ("\u5c0f\u660e", "gbk"),
        ("\u0410\u043d\u043d\u0430 \u0418\u0432\u0430\u043d\u043e\u0432\u0430", "cp866"),
        ("A\u0308nne", "utf-8"),
        ("H\u00e9l\u00e8ne Dupr\u00e9", "cp1252"),
        ("H\u00e9lio Fran\u00e7ois", "cp1252"),
        ("\u00d8yvind S\u00f8rensen", "cp1252"),
        ("\u00d8yvind S\u00f8rensen", "cp850"),
        ("\u00d3lafur \u0160imon", "cp1252"),
        ("Wa\u0142\u0119sa \u0141ukasz", "cp1250"),
        ("\u00c5se L\u00e6rke", "cp850"),
        ("\u7530\u4e2d \u3055\u304f\u3089", "shift_jis"),
    ],
)
def test_names_of_an_encoding_that_the_zip_does_not_say(name, encoding):
    info = zipfile.ZipInfo()
    info.filename, info.flag_bits = f"{name}_1_x".encode(encoding).decode("cp437"), 0
    assert zip_names.decoded([info]) == [f"{name}_1_x"]


@pytest.mark.parametrize(
    "name, encoding",
    [
        ("\u017diga \u010ceh", "cp1250"),
        ("\u017diga \u010ceh", "cp852"),
        ("\u0160imon Dvo\u0159\u00e1k", "cp1250"),
        ("\u0160imon Dvo\u0159\u00e1k", "cp852"),
        ("\u017diga Al\u00f8s", "cp1252"),
    ],
)
def test_the_roster_says_in_which_encoding_names_of_a_zip_are(name, encoding):
    raw, (first, last) = name.encode(encoding), name.split()
    infos = [zipfile.ZipInfo() for _ in range(2)]
    for info, who in zip(infos, (b"Jane Doe", raw), strict=True):
        info.filename, info.flag_bits = who.decode("cp437"), 0
    roster = Roster([Student("z", first, last), Student("jdoe", "Jane", "Doe")])
    assert zip_names.decoded(infos, roster.odd_words) == ["Jane Doe", name]


def test_a_system_that_is_insisted_on_and_not_there_is_one_sentence(place):
    place.roster()
    with pytest.raises(UsageError, match="as blackboard writes it, such as HW 1_jdoe_attempt"):
        place.collect({f"jdoe/{NOTEBOOK}": JANES}, system="blackboard")


@pytest.mark.parametrize(
    "page", ["<![x[y]]>", "<![ x]>", "<![%x;[", "<a " * 20_000, "<a =" * 20_000, "<!--" * 20_000, "<" * 80_000]
)
def test_no_page_that_was_handed_in_stops_the_page_for_grading(page):
    assert "kept" in pictures.text_of(f"<p>kept</p>{page}")


def test_the_text_of_a_page_has_its_lines_and_no_code():
    page = "<h1>One</h1><p>two &amp; <b>three</b></p><script>alert(1)</script>four<br>five"
    assert [line for line in pictures.text_of(page).splitlines() if line] == ["One", "two & three", "four", "five"]
