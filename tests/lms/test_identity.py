"""One student's hand-in or grade is never another's, whatever anybody types: by the commands, on a small course.

Mallory attacks; Bela has handed in, or will.
"""

import csv
import io
import json
import re
import shutil
import zipfile
from email.message import EmailMessage

import pytest
from conftest import ASSIGNMENT, ROOT
from nbgrader.api import Gradebook

from autograder import course
from autograder.errors import UsageError
from autograder.grading.store import Store
from autograder.intake import layouts, tables
from autograder.intake.people import Student
from autograder.lms import commands, exports, roster
from autograder.nbgrader.runs import NbgraderCourse
from autograder.report.gradebook_marks import Mark, Standing

NOTEBOOK = f"{ASSIGNMENT}.ipynb"
NBSP = "\N{NO-BREAK SPACE}"
FULL = (
    "id,first_name,last_name,email,lms_user_id\nada,Ada,Lovelace,ada@uni.example,11\n"
    "bela,Bela,Bartok,bela@uni.example,22\nmallory,Mallory,Moe,mallory@uni.example,33\n"
)
NAMES = "id,first_name,last_name\nada,Ada,Lovelace\nbela,Bela,Bartok\nmallory,Mallory,Moe\n"
SHEET = (
    "Identifier,Full name,Email address,Status,Grade,Maximum grade,Last modified (submission),{}Last modified (grade)"
)


def work(text):
    """A notebook of the assignment with somebody's text in it."""
    notebook = json.loads((ROOT / "release" / ASSIGNMENT / NOTEBOOK).read_text())
    notebook["cells"].append({"cell_type": "markdown", "id": "mine", "metadata": {}, "source": text})
    return json.dumps(notebook).encode()


ADAS, BELAS, EVIL = work("Ada's"), work("Bela's"), work("Mallory's")


def zipped(files):
    with zipfile.ZipFile(made := io.BytesIO(), "w") as archive:
        for name, content in files.items():
            archive.writestr(name, content)
    return made.getvalue()


def mailed(sender, data):
    message = EmailMessage()
    message["Received"] = "from a by b for <c@uni.example>; Mon, 23 Nov 2026 09:30:00 +0100"
    message["From"], message["To"], message["Subject"] = sender, "teacher@uni.example", "my work"
    message.add_attachment(data, maintype="application", subtype="octet-stream", filename=NOTEBOOK)
    return message.as_bytes()


def moodle(**files):
    """A download of Moodle's, by NUMBER_name: content; `_` in the name is a space."""
    return {f"{n.partition('_')[2].replace('_', ' ')}_{n.partition('_')[0][1:]}_assignsubmission_file/{NOTEBOOK}": c
            for n, c in files.items()}  # fmt: skip


def gradescope(*people):
    """An export of Gradescope's: (name, sid, email, content) of each."""
    about = "".join(
        f"submission_{n}:\n  :submitters:\n  - :name: {name}\n    :sid: '{sid}'\n    :email: {email}\n"
        for n, (name, sid, email, _) in enumerate(people)
    )
    files = {f"assignment_9_export/submission_{n}/{NOTEBOOK}": person[3] for n, person in enumerate(people)}
    return {"assignment_9_export/submission_metadata.yml": about.encode(), **files}


@pytest.fixture(scope="module")
def empty(tmp_path_factory):
    """An empty gradebook: making one takes seconds."""
    path = tmp_path_factory.mktemp("empty") / "gradebook.db"
    Gradebook(f"sqlite:///{path}").close()
    return path


class Course:
    """A course of one assignment in a folder, and the commands on it."""

    def __init__(self, root, capsys):
        self.root, self.capsys = root, capsys
        self.number = 0
        self.assignment = course.assignments(root)[ASSIGNMENT]

    def roster(self, text):
        path = self.root / "roster.csv"
        path.write_text(text, encoding="utf-8")
        commands.roster(self.root, [path], [], [])

    def sheet(self, text, name="sheet.csv"):
        (self.root / name).write_text(text, encoding="utf-8")
        return self.root / name

    def collect(self, *downloads, name="class.zip", system=None, pattern=None, **options):
        """Collect archives of these files, and tables: (the exit code, all that was said)."""
        paths = []
        for files in downloads:
            if isinstance(files, dict):
                self.number += 1
                (self.root / f"in{self.number}").mkdir()
                paths.append(self.root / f"in{self.number}" / name)
                paths[-1].write_bytes(zipped(files))
            else:
                paths.append(files)
        self.capsys.readouterr()
        code = commands.collect(self.root, self.assignment, paths, system, pattern, **options)
        said = self.capsys.readouterr()
        return code, said.out + said.err

    @property
    def found(self):
        return {p.parent.parent.name: p.read_bytes() for p in (self.root / "submitted").glob("*/*/*.ipynb")}


@pytest.fixture
def place(tmp_path, empty, capsys):
    shutil.copy(empty, tmp_path)
    shutil.copy(ROOT / "nbgrader_config.py", tmp_path)
    for folder in ("source", "release"):
        shutil.copytree(ROOT / folder / ASSIGNMENT, tmp_path / folder / ASSIGNMENT)
    return Course(tmp_path, capsys)


# --- Moodle ---------------------------------------------------------------------------------------

TWO = moodle(n4711_Mallory_Moe=EVIL, n4712_Bela_Bartok=BELAS)
BELAS_ROW = "Participant 4712,Bela Bartok,bela@uni.example,,,20,-,{}-\n"


@pytest.mark.parametrize(
    "header, row",
    [
        ("Online text,", 'Participant 4711,Mallory Moe,mallory@uni.example,,,20,-,"bela@uni.example",-\n'),
        ("", f"Participant 4711,bela@uni.example{NBSP},mallory@uni.example,,,20,-,-\n"),
        ("Online text,", "Participant 4711,Mallory Moe,,,,20,-,bela@uni.example,-\n"),
        ("Online text,", "Participant 4711,Mallory Moe,,,,20,-,Participant 4712,-\n"),
        ("Online text,", 'Participant 4711,Mallory Moe,mallory@uni.example,,,20,-,"Email address",-\n'),
    ],
)
def test_an_address_that_a_student_typed_into_a_worksheet_is_nobodys(place, header, row):
    place.roster(FULL)
    text = "\ufeff" + SHEET.format(header) + "\n" + row + BELAS_ROW.format("," if header else "")
    name = row.split(",")[1].strip()
    files = {f"{name}_4711_assignsubmission_file/{NOTEBOOK}": EVIL, **moodle(n4712_Bela_Bartok=BELAS)}
    place.collect(files, place.sheet(text))
    assert place.found["bela"] == BELAS and EVIL not in [c for s, c in place.found.items() if s != "mallory"]


def test_without_a_column_of_addresses_no_cell_is_one(place):
    place.roster(FULL)
    text = "Identifier,Full name,Status,Grade,Online text,Last modified (grade)\n"
    text += "Participant 4711,Mallory Moe,,,bela@uni.example,-\nParticipant 4712,Bela Bartok,,,,-\n"
    _, said = place.collect(TWO, place.sheet(text))
    assert place.found == {"bela": BELAS, "mallory": EVIL} and "no column 'Email address'" in said


@pytest.mark.parametrize(
    "header",
    [
        "ID,Vollständiger Name,E-Mail-Adresse,Status,Bewertung,Zuletzt geändert (Bewertung)",
        "IDENTIFIANT,Nom complet,Adresse de  courriel,Statut,Note,Dernière modification (note)",
        f'"Identifier","Full{NBSP}name",Email address ,Status,Grade,Last modified (grade)',
    ],
)
def test_columns_are_found_by_their_headers_in_other_languages(place, header):
    place.roster(FULL)
    rows = "Teilnehmer/in4711,X,mallory@uni.example,,,-\nTeilnehmer/in4712,Y,bela@uni.example,,,-\n"
    files = moodle(n4711_X=EVIL, n4712_Y=BELAS)
    place.collect(files, place.sheet(header + "\n" + rows))
    assert place.found == {"bela": BELAS, "mallory": EVIL}


def test_columns_may_stand_in_any_order(place):
    place.roster(FULL)
    text = "Grade,Online text,Email address,Last modified (grade),Full name,Identifier\n"
    text += ",Participant 4712,mallory@uni.example,-,X 4712,Participant 4711\n,,bela@uni.example,-,Y,Participant 4712\n"
    place.collect(moodle(n4711_X_4712=EVIL, n4712_Y=BELAS), place.sheet(text))
    assert place.found == {"bela": BELAS, "mallory": EVIL}


@pytest.mark.parametrize(
    "text, why",
    [
        ("Numer,Imię,E-mail\nUczestnik 4711,Mallory,bela@uni.example\n", "in a language"),
        ("Identifier,Email address,Email address,Grade\nParticipant 1,a@b.c,bela@uni.example,\n", "two columns"),
        ("Identifier,Full name,Grade\nParticipant 1,a,\nParticipant 1,b,\n", "twice"),
        ("Identifier,Full name,Grade\nParticipant,a,\n", "the column for the participant's number has none"),
        ("Identifier,Full name,Grade\nParticipant 4711 4712,a,\n", "the column for the participant's number has none"),
    ],
)
def test_a_worksheet_that_can_mislead_is_refused_in_a_sentence(place, text, why):
    with pytest.raises(UsageError, match=why):
        place.collect(TWO, place.sheet(text))


@pytest.mark.parametrize("text", [FULL, NAMES, ""])
@pytest.mark.parametrize("name", ["Bela_Bartok", "Bartok_Bela", "BELA_BARTOK", "Béla_Bartók"])
def test_two_participants_of_one_name_are_both_left_out(place, text, name):
    if text:
        place.roster(text)
    elif name != "Bela_Bartok":
        return
    code, said = place.collect(moodle(n4712_Bela_Bartok=BELAS, **{f"n4713_{name}": EVIL}, n1_Ada_Lovelace=ADAS))
    assert EVIL not in place.found.values() and BELAS not in place.found.values() and len(place.found) == 1
    assert code == 1 and "4712" in said and "4713" in said and "two people" in said


@pytest.mark.parametrize(
    "one, other",
    [
        ("कमल शर्मा", "कमला शर्मा"),
        ("हिना शर्मा", "हेना शर्मा"),
        ("หมู", "หมี"),
        ("かか", "がが"),
        ("ரவி", "ரவீ"),
    ],
)
@pytest.mark.parametrize("text", ["id,first_name\none,{}\nother,{}\n", "id,first_name\none,{}\nada,Ada\n", ""])
def test_a_vowel_that_is_a_mark_is_a_part_of_a_name(place, text, one, other):
    """In many scripts only the mark tells two names apart."""
    if text:
        place.roster(text.format(one, other))
    place.collect(moodle(**{f"n1_{one.replace(' ', '_')}": ADAS, f"n2_{other.replace(' ', '_')}": BELAS}))
    if not text:
        assert place.found == {one.replace(" ", "-"): ADAS, other.replace(" ", "-"): BELAS}
    else:
        assert place.found == {"one": ADAS, **({"other": BELAS} if "other" in text else {})}


@pytest.mark.parametrize("name", ["علی\u200cرضا", "क्\u200dषमा"])
@pytest.mark.parametrize("text", ["id,first_name\none,{}\n", "id,first_name\none,{}\nother,Bela\n"])
def test_a_name_may_be_spelt_with_joiners(place, text, name):
    """Which show nothing; Persian and Indian names have them, and some programs leave them out."""
    plain = name.translate({0x200C: None, 0x200D: None})
    for known, written in ((name, plain), (plain, name), (name, name)):
        place.roster(text.format(known))
        code, said = place.collect(moodle(**{f"n1_{written}": ADAS, "n2_Zoe": BELAS}))
        assert place.found == {"one": ADAS} and "leads elsewhere" not in said
    assert name in [s.name for s in roster.read(NbgraderCourse(place.root), Store(place.root)).all.values()]


@pytest.mark.parametrize("rest", ["-Bela Bartok", "X-Bela Bartok", "Mallory-bela", "bela"])
def test_nothing_is_cut_from_a_name_to_make_it_anothers(place, rest):
    place.roster(FULL)
    files = {f"{rest}_4713_assignsubmission_file/{NOTEBOOK}": EVIL, **moodle(n1_Ada_Lovelace=ADAS)}
    code, said = place.collect(files)
    assert (place.found == {"ada": ADAS} and code == 1) or rest == "-Bela Bartok", said


def test_a_teams_name_is_cut_where_another_member_has_it(place):
    place.roster(FULL)
    place.collect(moodle(**{"n1_T-1-Ada_Lovelace": ADAS, "n2_T-1-Bela_Bartok": BELAS}))
    assert place.found == {"ada": ADAS, "bela": BELAS}


def test_a_worksheet_of_another_assignment_names_nobody(place):
    place.roster(FULL)
    text = (
        SHEET.format("")
        + "\nParticipant 4712,Mallory Moe,mallory@uni.example,,,20,-,-\n"
        + ("Participant 1,Ada Lovelace,ada@uni.example,,,20,-,-\n")
    )
    code, said = place.collect(moodle(n4712_Bela_Bartok=BELAS, n1_Ada_Lovelace=ADAS), place.sheet(text))
    assert place.found == {"ada": ADAS} and "another assignment" in said and code == 1


# --- Canvas ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("table", [FULL, FULL.replace("33", "")])
@pytest.mark.parametrize(
    "attack",
    [
        "x_22_33_900",
        "bartokbela_22_33_900",
        "x_22_LATE_33_900",
        "x_33_900_LATE_22_901",
        "x_22_44_y_33_900",
        "bartokbela_22_44_y_33_900",
        "bartokbela_22_44_LATE_33_900",
        "moemallory_33_900_22_44",
        "x_1_2_22_44_33_900",
    ],
)
def test_a_number_in_a_name_is_not_the_persons(place, table, attack):
    place.roster(table)
    code, said = place.collect({f"{attack}_{NOTEBOOK}": EVIL, f"bartokbela_22_500_{NOTEBOOK}": BELAS})
    assert place.found.get("bela") == BELAS and place.found.get("mallory", EVIL) == EVIL, said
    assert code == 1 or "mallory" in place.found


def test_a_number_at_a_names_end_and_one_before_a_files_name(place):
    place.roster(FULL)
    evil = {"x_22_33_900_10_work.ipynb": EVIL, f"lovelaceada_11_900_{NOTEBOOK}": ADAS}
    code, said = place.collect(evil)
    assert "bela" not in place.found and code == 1 and "22's or 33's" in said


def test_an_honest_files_name_may_begin_with_a_number(place):
    place.roster(FULL)
    files = {"lovelaceada_11_900_2026_work.ipynb": ADAS, f"bartokbela_22_901_{NOTEBOOK}": BELAS}
    place.collect(files)
    assert place.found == {"ada": ADAS, "bela": BELAS}
    assert layouts.canvas("lovelaceada_11_900_10_last.ipynb", "10_last.ipynb").others == ()
    assert layouts.canvas("lovelaceada_11_900_10_last-2.ipynb", "10_last.ipynb").others == ()


def test_a_date_in_an_honest_files_name_is_nobody(place):
    place.roster(FULL)
    files = {"lovelaceada_11_1_2026_11_23_work.ipynb": ADAS, "bartokbela_LATE_22_2_hw_2_3_last (1).ipynb": BELAS}
    code, said = place.collect(files)
    assert place.found == {"ada": ADAS, "bela": BELAS} and code == 0, said


def test_a_name_in_canvas_is_not_an_anonymous_number(place):
    place.roster("id,first_name,last_name\nab,Anon,Bela\nada,Ada,Lovelace\n")
    place.collect({f"anon_bela_33_900_{NOTEBOOK}": EVIL, f"lovelaceada_11_900_{NOTEBOOK}": ADAS})
    assert "ab" not in place.found or place.found["ab"] == EVIL and place.found["ada"] == ADAS


def test_a_name_alone_is_remarked_on_and_the_next_time_its_number_counts(place):
    place.roster(NAMES)
    first = {f"bartokbela_22_1_{NOTEBOOK}": BELAS, f"lovelaceada_11_2_{NOTEBOOK}": ADAS}
    _, said = place.collect(first)
    assert "matched by name alone" in said and "bela" in said
    evil = {f"bartokbela_33_3_{NOTEBOOK}": EVIL, f"lovelaceada_11_2_{NOTEBOOK}": ADAS}
    code, said = place.collect(evil)
    assert place.found["bela"] == BELAS and code == 1 and "33" in said and "22" in said and "--forget bela" in said
    place.collect(evil, forget=["bela"])
    assert place.found["bela"] == EVIL, "the instructor has said so"
    renamed = {f"zzz_11_9_{NOTEBOOK}": BELAS, f"bartokbela_33_3_{NOTEBOOK}": EVIL}
    place.collect(renamed)
    assert place.found["ada"] == BELAS, "who has married keeps the number"


@pytest.mark.parametrize("before", ["01_x", "99_x"])
def test_what_is_forgotten_is_nobodys_in_any_lesson(place, before):
    """Mallory came in as Bela by his name; the instructor has put that right, and her id is no longer his."""
    place.roster(NAMES)
    Store(place.root).put_handed_in(before, {"bela": {"system": "canvas", "lms_id": "33", "participant": "5"}})
    belas, evil = ({f"{name}_1_{NOTEBOOK}": data, f"x_11_2_{NOTEBOOK}": ADAS} for name, data in
                   (("bartokbela_22", BELAS), ("moemallory_33", EVIL)))  # fmt: skip
    assert place.collect(belas)[0] == 1 and not place.found
    place.collect(belas, forget=["bela"])
    assert place.found == {"bela": BELAS}
    place.collect(evil)
    assert place.found == {"bela": BELAS, "mallory": EVIL}
    place.collect({f"bartokbela_33_1_{NOTEBOOK}": EVIL, f"x_11_2_{NOTEBOOK}": ADAS})
    assert place.found["bela"] == BELAS
    assert Store(place.root).handed_in(before)["bela"]["lms_id"] == "33", "the way back stays"


# --- mail -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("text", [FULL, NAMES, "id,first_name,last_name\nbela,Bela,\n"])
@pytest.mark.parametrize(
    "sender",
    [
        "Bela Bartok <mallory@evil.example>",
        "bela <x@evil.example>",
        "bela@evil.example",
        '"bela@uni.example" <bela@evil.example>',
        "bela+1@uni.example",
        "b\N{CYRILLIC SMALL LETTER IE}la@uni.example",
    ],
)
def test_a_display_name_is_nobody(place, text, sender):
    place.roster(text)
    code, said = place.collect({"bela.eml": mailed(sender, EVIL)})
    assert not place.found and code == 1 and "nobody on the roster" in said


def test_without_a_roster_a_sender_is_the_whole_address(place):
    place.collect({"a.eml": mailed("Bela <Bela@uni.example>", BELAS)})
    place.collect({"b.eml": mailed("Bela <bela@evil.example>", EVIL)})
    assert place.found == {"bela@uni.example": BELAS, "bela@evil.example": EVIL}
    place.collect({"c.eml": mailed("BELA@UNI.example", ADAS)})
    assert place.found["bela@uni.example"] == ADAS, "the same mailbox"
    place.collect({"d.eml": mailed("\N{KELVIN SIGN}im@uni.example", EVIL), "e.eml": mailed("kim@uni.example", ADAS)})
    assert place.found.get("kim@uni.example") in (ADAS, None)


def test_another_sender_replaces_nothing(place):
    place.collect({f"Bela Bartok <bela@uni.example>/{NOTEBOOK}": BELAS})
    place.roster(FULL)
    place.collect({"a.eml": mailed("bela@uni.example", BELAS)})
    place.roster(FULL.replace("bela@uni", "bela@evil"))
    code, said = place.collect({"b.eml": mailed("bela@evil.example", EVIL)})
    assert place.found["bela"] == BELAS and code == 1 and "bela@evil.example" in said and "bela@uni.example" in said


# --- a student's own archive ----------------------------------------------------------------------


@pytest.mark.parametrize(
    "files",
    [
        moodle(n1_Bela_Bartok=EVIL),
        moodle(n1_Bela_Bartok=EVIL, n2_Ada_Lovelace=EVIL),
        gradescope(("Bela", "22", "bela@uni.example", EVIL)),
        gradescope(("Bela", "22", "bela@uni.example", EVIL), ("Ada", "11", "ada@uni.example", EVIL)),
        {f"bartokbela_22_1_{NOTEBOOK}": EVIL, f"lovelaceada_11_2_{NOTEBOOK}": EVIL},
        {f"bela/{NOTEBOOK}": EVIL, f"ada/{NOTEBOOK}": EVIL},
        {"a.eml": mailed("bela@uni.example", EVIL)},
    ],
)
@pytest.mark.parametrize("name", ["mallory.zip", "Mallory Moe hw2.zip", "mallory@uni.example.zip", "MALLORY.tar.zip"])
def test_an_archive_called_after_a_student_is_that_students(place, files, name):
    place.roster(FULL)
    place.collect(files, name=name)
    assert not place.found.keys() - {"mallory"}


TRIO = {
    "canvas": {f"{name}_1_{NOTEBOOK}": data for name, data in (("x_11", ADAS), ("y_22", BELAS), ("z_33", EVIL))},
    "moodle": moodle(n1_Ada_Lovelace=ADAS, n2_Bela_Bartok=BELAS),
    "gradescope": gradescope(("Ada", "11", "ada@uni.example", ADAS), ("Bela", "22", "bela@uni.example", BELAS)),
    "mail": {"1.eml": mailed("ada@uni.example", ADAS), "2.eml": mailed("bela@uni.example", BELAS)},
}


@pytest.mark.parametrize("name", ["submissions.zip", "submissions_2026.zip"])
@pytest.mark.parametrize("system", TRIO)
def test_nobody_is_called_as_the_whole_classs_download_is(place, system, name):
    """Canvas's is always called submissions.zip, Moodle's begins with the course's name: anybody may take that name."""
    place.roster(FULL.replace("Mallory,Moe", "Submissions,").replace("mallory,", "submissions,"))
    code, said = place.collect(TRIO[system], name=name)
    assert not place.found and code == 1 and f"--from {system}" in said
    place.collect(TRIO[system], name=name, system=system)
    assert place.found["ada"] == ADAS and place.found["bela"] == BELAS
    assert place.found.get("submissions", EVIL) == EVIL


@pytest.mark.parametrize(
    "system, files",
    [
        ("canvas", {f"x_11_1_{NOTEBOOK}": ADAS}),
        ("moodle", moodle(n1_Ada_Lovelace=ADAS)),
        ("gradescope", gradescope(("Ada", "11", "ada@uni.example", ADAS))),
        ("mail", {"1.eml": mailed("ada@uni.example", ADAS)}),
        ("mail", {f"ada/{NOTEBOOK}": ADAS}),
    ],
)
def test_nobody_is_called_as_the_first_ones_download_is(place, system, files):
    place.roster(FULL.replace("Mallory,Moe", "Submissions,").replace("mallory,", "submissions,"))
    code, said = place.collect(files, name="submissions.zip")
    assert not place.found and code == 1 and f"--from {system}" in said
    place.collect(files, name="submissions.zip", system=system)
    assert place.found == {"ada": ADAS}


def test_ones_own_archive_may_hold_whatever_is_nobody_elses(place):
    place.roster(FULL)
    files = {f"ada/{NOTEBOOK}": ADAS, "bela.txt": b"x", "data/bela/x.csv": b"x", "src/x.py": b"x"}
    code, _ = place.collect(files, name="Ada Lovelace hw2.zip")
    assert place.found == {"ada": ADAS} and code == 0


def test_an_archive_of_one_hand_in_is_a_systems_only_by_the_instructors_word(place):
    place.roster(FULL)
    for system, files in (
        ("moodle", moodle(n1_Bela_Bartok=EVIL)),
        ("gradescope", gradescope(("Bela", "22", "bela@uni.example", EVIL))),
        ("canvas", {f"bartokbela_22_1_{NOTEBOOK}": EVIL}),
    ):
        code, said = place.collect(files, name="homework.zip")
        assert not place.found and code == 1 and f"--from {system}" in said
    place.collect(files, name="homework.zip", system="canvas")
    assert set(place.found) == {"bela"}


@pytest.mark.parametrize("system", [None, "moodle", "gradescope"])
@pytest.mark.parametrize("name", ["assignment_1_export.zip", "class.zip", "in.zip"])
def test_an_archive_in_a_folder_is_one_persons(place, name, system):
    place.roster(FULL)
    people = ("Bela", "22", "bela@uni.example", EVIL), ("Ada", "11", "ada@uni.example", EVIL)
    folder = place.root / "in"
    for files in (gradescope(*people), moodle(n1_Bela_Bartok=EVIL, n2_Ada_Lovelace=EVIL)):
        folder.mkdir(exist_ok=True)
        (folder / name).write_bytes(zipped(files))
        try:
            code, _ = place.collect(folder, system=system)
            assert code == 1
        except UsageError:
            pass
        assert not place.found


def test_the_second_of_one_name_is_left_out_without_a_roster_too(place):
    code, said = place.collect(moodle(n1_Bela_Bartok=BELAS, n2_X_Y=ADAS), moodle(n3_Bela_Bartok=EVIL, n4_Z_Z=ADAS))
    assert "bela-bartok" not in place.found and code == 1 and "two people" in said
    place.collect(moodle(n1_Bela_Bartok=BELAS, n2_X_Y=ADAS))
    code, said = place.collect(moodle(n3_Bela_Bartok=EVIL, n4_Z_Z=ADAS))
    assert place.found["bela-bartok"] == BELAS and code == 1 and "participant 3" in said and "participant 1" in said


@pytest.mark.parametrize(
    "name, whose",
    [
        ("bela@uni.example", "bela"),
        ("Bela <bela@uni.example> (2)", "bela"),
        ("bela@uni.example.ipynb", "bela"),
        ("BELA@uni.example_hw2.ipynb", "bela"),
        ("bela@uni.example - hw.ipynb", "bela"),
        ("o'bela@uni.example", ""),
        ("x=bela@uni.example", ""),
        ("b!bela@uni.example.ipynb", ""),
        ("bela@uni.example.evil.com", ""),
        ("bela@uni.example-evil", ""),
    ],
)
def test_an_address_in_a_name_is_taken_as_a_whole(place, name, whose):
    place.roster(FULL)
    place.collect({name if name.endswith(".ipynb") else f"{name}/{NOTEBOOK}": BELAS, f"ada/{NOTEBOOK}": ADAS})
    assert place.found == {"ada": ADAS, **({whose: BELAS} if whose else {})}


# --- keys that disagree ---------------------------------------------------------------------------


def test_what_students_may_type_into_gradescope_is_no_proof(place):
    place.roster(FULL)
    ada = ("Ada", "11", "ada@uni.example", ADAS)
    code, said = place.collect(gradescope(("Mallory", "22", "mallory@uni.example", EVIL), ada))
    assert place.found == {"ada": ADAS} and code == 1 and "mallory" in said and "bela" in said
    code, said = place.collect(gradescope(("Bela Bartok", "22", "bela@evil.example", EVIL), ada))
    assert place.found == {"ada": ADAS} and code == 1 and "bela@evil.example" in said
    code, said = place.collect(gradescope(("Bela Bartok", "", "bela@evil.example", EVIL), ada))
    assert place.found == {"ada": ADAS} and code == 1 and "Bela Bartok bela@evil.example (submission_0)" in said


@pytest.mark.parametrize("belas", ["22", ""])
def test_an_id_number_that_a_student_typed_into_moodle_hands_in_for_nobody_else(place, belas):
    place.roster(FULL)
    text = "Identifier,Full name,ID number,Status,Grade,Last modified (grade)\nParticipant 1,Mallory Moe,22,,,-\n"
    sheet = place.sheet(text + f"Participant 2,Bela Bartok,{belas},,,-\nParticipant 3,Ada Lovelace,11,,,-\n")
    place.collect(moodle(n1_Mallory_Moe=EVIL, n3_Ada_Lovelace=ADAS), sheet)
    assert "bela" not in place.found and place.found["ada"] == ADAS


def test_a_name_in_another_system_replaces_nothing_that_came_with_a_key(place):
    place.roster(FULL)
    place.collect({f"bartokbela_22_1_{NOTEBOOK}": BELAS, f"lovelaceada_11_2_{NOTEBOOK}": ADAS})
    again = moodle(n1_Bela_Bartok=EVIL, n3_Ada_Lovelace=ADAS)
    code, said = place.collect(again)
    assert place.found["bela"] == BELAS and code == 1 and "canvas id 22" in said
    place.collect(again, forget=["bela"])
    assert place.found["bela"] == EVIL


BY_KEY = {
    "mail": {"b.eml": mailed("bela@uni.example", BELAS), "a.eml": mailed("ada@uni.example", ADAS)},
    "canvas": {f"bartokbela_22_2_{NOTEBOOK}": BELAS, f"lovelaceada_11_1_{NOTEBOOK}": ADAS},
}


@pytest.mark.parametrize("turn", [1, -1])
@pytest.mark.parametrize("system", BY_KEY)
@pytest.mark.parametrize("text", [FULL, NAMES])
def test_a_name_in_another_system_replaces_nothing_in_the_same_run_either(place, text, system, turn):
    place.roster(text if system == "canvas" else FULL)
    code, said = place.collect(*[BY_KEY[system], moodle(n1_Bela_Bartok=EVIL, n3_Zoe_Zweig=ADAS)][::turn])
    assert place.found == {"ada": ADAS} and code == 1 and "two people (one of them by a name alone)" in said


def test_without_a_roster_no_name_is_anothers_address(place):
    evil = {f"bela@uni.example_9_assignsubmission_file/{NOTEBOOK}": EVIL, **moodle(n3_Zoe_Zweig=ADAS)}
    code, said = place.collect(BY_KEY["mail"], evil)
    assert EVIL not in place.found.values() and code == 1 and "two people" in said
    place.collect(BY_KEY["mail"])
    code, said = place.collect(evil)
    assert EVIL not in place.found.values() and code == 1 and "address bela@uni.example" in said


def test_one_student_in_two_systems_is_one_where_keys_say_so(place):
    place.roster(FULL)
    rows = "Participant 1,Bela Bartok,bela@uni.example,,,20,-,-\nParticipant 3,Ada Lovelace,ada@uni.example,,,20,-,-\n"
    sheet = place.sheet(f"{SHEET.format('')}\n{rows}")
    code, said = place.collect(BY_KEY["mail"], moodle(n1_Bela_Bartok=EVIL, n3_Ada_Lovelace=ADAS), sheet)
    assert place.found == {"ada": ADAS, "bela": EVIL} and code == 0 and "two downloads" in said


def test_a_group_hands_in_for_each_of_its_members(place):
    place.roster(FULL)
    files = gradescope(("Ada", "11", "ada@uni.example", ADAS), ("Mallory", "33", "mallory@uni.example", EVIL))
    member = b"  - :name: Bela\n    :sid: '22'\n    :email: bela@uni.example\nsubmission_1"
    name = "assignment_9_export/submission_metadata.yml"
    files[name] = files[name].replace(b"submission_1", member, 1)
    place.collect(files)
    assert place.found == {"ada": ADAS, "bela": ADAS, "mallory": EVIL}


def test_a_number_with_zeros_before_it_is_another_one(place):
    place.roster(FULL)
    place.collect({f"X_0022_assignsubmission_file/{NOTEBOOK}": EVIL, f"z_022_9_{NOTEBOOK}": EVIL}, system="canvas")
    assert not place.found


def test_a_file_called_after_somebody_does_not_replace_what_a_system_gave_in_silence(place):
    place.roster(FULL)
    place.collect(TWO)
    _, said = place.collect({f"bela/{NOTEBOOK}": EVIL})
    assert "theirs by its name" in said and "Bela Bartok_4712" in said


# --- what is told ---------------------------------------------------------------------------------


@pytest.mark.parametrize("name, remarked", [("BELA", True), ("Bela\u0330", True), ("Bela", False), ("Bela (1)", False)])
def test_another_name_that_makes_the_same_id_is_not_taken_in_silence(place, name, remarked):
    place.collect({f"Bela/{NOTEBOOK}": BELAS, f"ada/{NOTEBOOK}": ADAS})
    code, said = place.collect({f"{name}/{NOTEBOOK}": EVIL, f"ada/{NOTEBOOK}": ADAS})
    assert code == 0 and (f"{name!r}, theirs by its name, replaces 'Bela'" in said) == remarked, said


def test_who_handed_in_nothing_is_told_apart_from_who_handed_in_nothing_of_use(place):
    place.roster(FULL)
    text = SHEET.format("") + "\nParticipant 3,Mallory Moe,mallory@uni.example,,,20,{},-\n".format(
        '"Monday, 20 July 2026, 9:00 PM"'
    )
    files = {f"Bela Bartok_2_assignsubmission_file/{NOTEBOOK[:2]}.py": b"x"}
    files["Eve_9_assignsubmission_file/x.txt"] = b""
    _, said = place.collect(files, place.sheet(text))
    assert "handed in, but nothing usable: bela, mallory" in said and "without a hand-in: ada" in said


def test_a_copy_of_colabs_without_its_marks_is_known_by_its_cells_or_its_title(place):
    place.roster(FULL)
    bare = json.loads(BELAS)
    for cell in bare["cells"]:
        cell["metadata"] = {"id": cell.pop("id")}
    titled = json.loads(ADAS)
    for cell in titled["cells"]:
        cell["metadata"] = {"id": "x"}
        del cell["id"]
    files = {"bela/Copy of 02.ipynb": json.dumps(bare).encode(), "ada/Untitled0.ipynb": json.dumps(titled).encode()}
    titled["cells"] = [{**cell, "source": f"own text {i}"} for i, cell in enumerate(titled["cells"])]
    code, said = place.collect({**files, "mallory/x.ipynb": json.dumps(titled).encode()})
    assert set(place.found) == {"bela", "ada"} and code == 1 and "mallory" in said


def test_a_second_version_without_a_time_keeps_that_of_the_first(place):
    place.roster(FULL)
    row = 'Participant 1,Bela Bartok,bela@uni.example,,,20,"Monday, 23 November 2026, 8:30 AM",-\n'
    place.collect(moodle(n1_Bela_Bartok=BELAS), place.sheet(f"{SHEET.format('')}\n{row}"), zone="UTC")
    stamp = place.root / "submitted" / "bela" / ASSIGNMENT / "timestamp.txt"
    before = stamp.read_text()
    _, said = place.collect(moodle(n1_Bela_Bartok=EVIL, n2_Ada_Lovelace=ADAS))
    assert stamp.read_text() == before and "2026-11-23 08:30:00 UTC" in said and place.found["bela"] == EVIL


# --- the roster -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "rows",
    [
        "Bela,,mallory@uni.example\nBela,Bartok,bbartok@uni.example\n",
        "Bela,,mallory@uni.example\n",
        "Mallory,Moe,bela@evil.example\nBela,Bartok,bbartok@uni.example\n",
    ],
)
@pytest.mark.parametrize("graded", [True, False])
def test_no_id_is_given_away_by_a_name(place, rows, graded):
    place.collect({f"bela/{NOTEBOOK}": BELAS})
    if graded:
        with NbgraderCourse(place.root).gradebook() as book:
            book.add_student("bela")
    with pytest.raises(UsageError, match="'bela'.*column `id`"):
        place.roster("First name,Last name,Email address\n" + rows)
    place.roster("id,First name,Last name,Email address\n" + "".join(f"x{n},{r}\n" for n, r in enumerate(rows.split())))


def test_an_id_number_that_a_student_typed_makes_nobody_another(place):
    place.roster(FULL)
    with pytest.raises(UsageError, match="column `id`"):
        place.roster("First name,Last name,ID number,Email address\nMallory,Moe,22,mallory@uni.example\n")
    with pytest.raises(UsageError, match="column `id`"):
        place.roster("First name,Last name,ID number,Email address\nNew,One,22,new@uni.example\n")


def test_what_was_noted_tells_whose_an_id_is(place):
    place.collect({"a.eml": mailed("ada@uni.example", ADAS)})
    place.collect({f"bartokbela_22_1_{NOTEBOOK}": BELAS, f"x_33_2_{NOTEBOOK}": EVIL})
    place.roster(
        "Student,ID,SIS User ID,SIS Login ID,Section,HW (4)\n    Points Possible,,,,,10\n"
        '"Bartok, Bela",22,,bb,A,\n"X",33,,mm,A,\n"Lovelace, Ada",11,,ada@uni.example,A,\n"Student, Test",44,,tt,A,\n'
    )
    students = roster.read(NbgraderCourse(place.root), Store(place.root)).all
    assert students["bartokbela"].lms_user_id == "22" and students["ada@uni.example"].last_name == "Lovelace"
    assert any(s.name == "Test Student" for s in students.values()), "a student may be called so"


def test_an_address_and_an_id_of_two_students_are_no_row(place):
    place.roster(FULL)
    with pytest.raises(UsageError, match="column `id`"):
        place.roster("Student,ID,SIS User ID,SIS Login ID,Section,HW (4)\nX,22,,ada@uni.example,A,\n")
    place.roster("Student,ID,SIS User ID,SIS Login ID,Section,HW (4)\nX,22,,new@uni.example,A,\n")
    students = roster.read(NbgraderCourse(place.root), Store(place.root)).all
    assert students["bela"].email == "new@uni.example", "Canvas's id is Canvas's own"


# --- grades back ----------------------------------------------------------------------------------

CANVAS = "Student,ID,SIS User ID,SIS Login ID,Section,HW 2 (77)\n"


def grade(student, score, **note):
    return exports.Grade(student, Standing((Mark("one", "one", score, None, 0.0, 28.0, False),)), note)


MALLORY, BELA, ADA = (
    Student("mallory", "Points", "Possible", "m@uni.example", "33"),
    Student("bela", "Bela", "Bartok", "bela@uni.example", "22"),
    Student("ada", "Ada", "Lovelace", "ada@uni.example", "11"),
)
GRADES = [grade(MALLORY, 1.0), grade(BELA, 10.0), grade(ADA, 20.0)]


def filled(tmp_path, rows, scale=False, grades=GRADES, header=CANVAS):
    path = tmp_path / "grades.csv"
    path.write_text(header + rows)
    fill = exports.canvas_filled if "Section" in header else exports.moodle_filled
    how = (ASSIGNMENT,) if "Section" in header else ()
    text, remarks = fill(grades, exports.Settings(28.0, scale), *how, tables.read_table(path))
    return list(csv.reader(io.StringIO(text))), remarks


@pytest.mark.parametrize(
    "name", ["Points Possible", "    Points Possible", "Mallory, Points Possible", "points possible"]
)
@pytest.mark.parametrize("scored", ["", "7", "abc"])
@pytest.mark.parametrize("scale", [False, True])
def test_a_student_called_points_possible_sets_nobodys_points(tmp_path, name, scored, scale):
    pupils = f'"{name}",33,,mm,A,{scored}\n"Bartok, Bela",22,,bb,A,\n"Lovelace, Ada",11,,al,A,\n'
    for rows in (f"    Points Possible,,,,,28\n{pupils}", f",,,,,Manual Posting\n    Points Possible,,,,,28\n{pupils}"):
        table, _ = filled(tmp_path, rows, scale)
        assert {row[1]: float(row[5]) for row in table[1:]} == {"": 28.0, "33": 1.0, "22": 10.0, "11": 20.0}
        assert [row[1] for row in table if "points possible" in row[0].casefold()] == [""], "as Canvas reads it back"
    with pytest.raises(UsageError, match="no row of possible points before its students"):
        filled(tmp_path, pupils + "    Points Possible,,,,,7\n", scale)


def test_a_made_table_has_no_student_called_points_possible(tmp_path):
    nobody = grade(Student("zoe", "Points", "Possible"), 5.0)
    text, remarks = exports.canvas_table([*GRADES, nobody], exports.Settings(28.0), "HW 2 (77)")
    table = list(csv.reader(io.StringIO(text)))
    assert [row[1] for row in table if "Points Possible" in row[0]] == [""] and [r[1] for r in table[2:]] == [
        "33",
        "22",
        "11",
    ]
    assert [remark for remark in remarks if "zoe" in remark] == [
        "not in the table, because neither a Canvas id nor an address is known: zoe"
    ]


def test_one_remark_names_all_who_are_in_no_table():
    everybody, settings = [grade(Student(f"s{n}", "", ""), 5.0) for n in range(30)], exports.Settings(28.0)
    for _, remarks in (exports.moodle_table(everybody, settings), exports.canvas_table(everybody, settings, "HW (7)")):
        (remark,) = [one for one in remarks if one.startswith("not in the table")]
        assert remark.endswith(": " + ", ".join(f"s{n}" for n in range(30)))


def test_first_and_last_names_of_canvas_in_two_columns(tmp_path):
    header = "LastName,FirstName,ID,SIS User ID,SIS Login ID,Section,HW 2 (77)\n"
    rows = "    Points Possible,,,,,,28\nPoints Possible,M,33,,mm,A,7\nBartok,Bela,22,,bb,A,\n"
    table, _ = filled(tmp_path, rows, header=header)
    assert [row[6] for row in table[1:]] == ["28.0", "1.0", "10.0"] and table[2][0] == "Student 33"


def test_no_grade_goes_into_two_rows_and_none_into_a_row_of_two(tmp_path):
    rows = '    Points Possible,,,,,28\n"A",22,,mm,A,\n"B",99,,bela@uni.example,A,\n"C",11,,al,A,\n'
    table, remarks = filled(tmp_path, rows)
    assert [row[5] for row in table[2:]] == ["", "", "20.0"] and any("bela: two rows" in said for said in remarks)
    table, remarks = filled(tmp_path, '    Points Possible,,,,,28\n"A",22,,ada@uni.example,A,\n')
    assert table[2][5] == "" and any("ada or bela" in said for said in remarks)
    grades = [grade(BELA, 10.0, system="moodle", participant="4711"), grade(ADA, 20.0)]
    header = "Identifier,Full name,Email address,Grade,Maximum grade,Last modified (grade)\n"
    rows = "Participant 4711,Mallory Moe,m@uni.example,,28,-\nParticipant 4712,Bela Bartok,bela@uni.example,,28,-\n"
    table, remarks = filled(tmp_path, rows, grades=grades, header=header)
    assert [row[3] for row in table[1:]] == ["", ""] and any("bela: two rows" in said for said in remarks)


def test_a_german_worksheet_keeps_what_moodle_looks_for(tmp_path):
    header = (
        "ID,Vollständiger Name,E-Mail-Adresse,Status,Bewertung,Bestwertung,Online-Text,Zuletzt geändert (Bewertung)\n"
    )
    rows = 'Teilnehmer/in4711,Ada Lovelace,ada@uni.example,x,,"28,00",bela@uni.example,-\n'
    table, _ = filled(tmp_path, rows, header=header)
    assert table[0][-1] == "Zuletzt geändert (Bewertung)" and table[1][4] == "20.0" and "Online-Text" not in table[0]


def test_another_systems_number_is_not_canvas_own(tmp_path):
    theirs = [grade(Student("mallory", "M", "M"), 28.0, system="gradescope", lms_id="22"), GRADES[1]]
    table, _ = filled(tmp_path, '    Points Possible,,,,,28\n"Bartok, Bela",22,,bb,A,\n', grades=theirs)
    assert table[2][5] == "10.0"


POINTS, BELAS_GRADE = "    Points Possible,,,,,28\n", '"Bartok, Bela",22,,bb,A,\n'


@pytest.mark.parametrize("most", ["0", "-28", "nan", "inf", "1e2", "1_0", "1,000", "28%", "\u0662\u0668", "(no)"])
@pytest.mark.parametrize("scale", [False, True])
def test_what_is_no_plain_number_is_no_highest_grade(tmp_path, most, scale):
    with pytest.raises(UsageError, match="should be the highest grade, but is not a number above 0"):
        filled(tmp_path, POINTS.replace("28", f'"{most}"') + BELAS_GRADE, scale)


def test_the_row_of_points_is_known_by_its_place_in_any_language(tmp_path):
    rows = POINTS.replace("Points Possible", "Mögliche Punkte").replace("28", "{}") + BELAS_GRADE
    with pytest.raises(UsageError, match="The highest grade is 100"):
        filled(tmp_path, rows.format(100))
    table, _ = filled(tmp_path, rows.format(56), scale=True)
    assert [row[5] for row in table[1:]] == ["56.0", "20.0"] and table[1][0].strip() == "Mögliche Punkte"


@pytest.mark.parametrize("scale", [False, True])
@pytest.mark.parametrize("name", ["Lovelace, Ada", "    Points Possible"])
def test_a_student_without_an_id_sets_nobodys_points(tmp_path, scale, name):
    with pytest.raises(UsageError, match=r"grades.csv, row 3: .* no ID.*download"):
        filled(tmp_path, POINTS + f'"{name}",,,,,14\n' + BELAS_GRADE, scale)


@pytest.mark.parametrize(
    "header",
    ["HW 2 (77),ID,Student,SIS User ID,Section,SIS Login ID", "Section,HW 2 (77),SIS Login ID,Student,ID,Notes"],
)
def test_canvas_columns_may_stand_in_any_order(tmp_path, header):
    points = {"Student": "    Points Possible", "HW 2 (77)": "28"}
    bela = {"Student": "B", "ID": "22", "Section": "A", "HW 2 (77)": "3", "Notes": "ill"}
    rows = "".join(",".join(row.get(name, "") for name in header.split(",")) + "\n" for row in (points, bela))
    table, _ = filled(tmp_path, rows, header=header + "\n")
    assert [dict(zip(table[0], row, strict=True)) for row in table[1:]] == [
        {name: {**points, "HW 2 (77)": "28.0"}.get(name, "") for name in table[0]},
        {name: {**bela, "HW 2 (77)": "10.0"}.get(name, "") for name in table[0]},
    ]
    assert "Notes" not in table[0], "an instructor's own"


def test_another_assignments_column_is_not_taken_for_its_id(tmp_path):
    with pytest.raises(UsageError, match="Which column is"):
        filled(tmp_path, POINTS + BELAS_GRADE, header=CANVAS.replace("HW 2 (77)", "HW 1 (2)"))
    table, remarks = filled(tmp_path, POINTS + BELAS_GRADE, header=CANVAS.replace("HW 2 (77)", "Week 1.2 (7)"))
    assert any("the grades go into the column 'Week 1.2 (7)'" in said for said in remarks)


SHEETS = "Identifier,Full name,Email address,Grade,Maximum grade,Last modified (grade)\n"
BELAS_SHEET = "Participant 4712,Bela Bartok,bela@uni.example,,28,-\n"


@pytest.mark.parametrize(
    "header, rows, column",
    [(CANVAS, POINTS + BELAS_GRADE, name) for name in ("Student", "ID", "SIS Login ID", "Section")]
    + [(SHEETS, BELAS_SHEET, name) for name in ("Identifier", "Full name", "Maximum grade", "Last modified (grade)")],
)
def test_no_grades_go_where_others_things_stand(tmp_path, header, rows, column):
    path = tmp_path / "grades.csv"
    path.write_text(header + rows)
    fill, how = (exports.canvas_filled, (ASSIGNMENT,)) if header == CANVAS else (exports.moodle_filled, ())
    with pytest.raises(UsageError, match=f"has no grades in its column '{re.escape(column)}'"):
        fill(GRADES, exports.Settings(28.0), *how, tables.read_table(path), column)


@pytest.mark.parametrize("id", ["22.0", "2.2E+01", "#N/A", "x22"])
def test_a_number_that_a_spreadsheet_changed_is_refused_with_its_row(tmp_path, place, id):
    rows = POINTS + BELAS_GRADE.replace("22", id)
    with pytest.raises(UsageError, match=r"row 3: .* is not a Canvas ID"):
        filled(tmp_path, rows)
    with pytest.raises(UsageError, match=r"row 3: .* is not a Canvas ID"):
        place.roster(CANVAS + rows)


def test_the_worksheet_of_another_assignment_gets_no_grades(tmp_path):
    grades = [grade(BELA, 10.0, system="moodle", participant="4711"), grade(ADA, 20.0)]
    rows = BELAS_SHEET + "Participant 4713,Ada Lovelace,ada@uni.example,,28,-\n"
    table, remarks = filled(tmp_path, rows, grades=grades, header=SHEETS)
    assert [row[3] for row in table[1:]] == ["", "20.0"], "Ada came from elsewhere"
    assert any(said.startswith("bela: handed in with another participant number") for said in remarks)
