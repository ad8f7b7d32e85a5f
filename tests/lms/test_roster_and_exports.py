"""The roster from each system's tables, and each layout of grades and feedback read back as its system reads it."""

import csv
import io
import json
import re
import shutil
import zipfile
from dataclasses import replace
from types import SimpleNamespace
from unittest.mock import MagicMock

import pytest
import small_course
from conftest import ASSIGNMENT, ROOT
from nbgrader.api import Gradebook

from autograder import course
from autograder.errors import UsageError
from autograder.grading.store import Store
from autograder.intake import tables
from autograder.intake.people import Student
from autograder.lms import exports, roster
from autograder.report import results_json
from autograder.report.gradebook_marks import Mark, Standing
from autograder.verdict import NOT_TRIED, Check, Diagnosis, Outcome, Verdict

WHO = {"ada": ("Ada", "Lovelace", "ada@example.org")}
HEADINGS = {
    "ours": ("id,first_name,last_name,email,lms_user_id,dropped", "ada,Ada,Lovelace,ada@example.org,123,"),
    "Moodle's grades": (
        "First name,Last name,ID number,Institution,Department,Email address,Assignment: HW (Real)",
        "Ada,Lovelace,123,,,ada@example.org,9",
    ),
    "Moodle's worksheet": (
        "Identifier,Full name,Email address,Status,Grade,ID number",
        "Participant 9,Ada Lovelace,ada@example.org,,,123",
    ),
    "Canvas's gradebook": (
        "Student,ID,SIS User ID,SIS Login ID,Section,HW (4)",
        '    Points Possible,,,,,10\n"Lovelace, Ada",123,s1,ada@example.org,A,\n"Student, Test",9,,'
        + "0a" * 20
        + ",A,",
    ),
    "Gradescope's": (
        "First Name,Last Name,SID,Email,Role",
        "Ada,Lovelace,123,ada@example.org,Student\nT,A,,t@x.org,TA",
    ),
    "with semicolons": ("id;first_name;last_name;email;lms_user_id", "ada;Ada;Lovelace;ada@example.org;123"),
}


@pytest.fixture(scope="module")
def empty(tmp_path_factory):
    """An empty gradebook: making one takes seconds."""
    path = tmp_path_factory.mktemp("empty") / "gradebook.db"
    Gradebook(f"sqlite:///{path}").close()
    return path


@pytest.fixture
def runs(tmp_path, empty):
    shutil.copy(empty, tmp_path)
    return SimpleNamespace(
        gradebook=lambda: Gradebook(f"sqlite:///{tmp_path}/gradebook.db"),
        directory=SimpleNamespace(db_url=f"sqlite:///{tmp_path}/gradebook.db"),
    )


def table(tmp_path, text, encoding="utf-8"):
    path = tmp_path / "table.csv"
    path.write_bytes(text.encode(encoding))
    return tables.read_table(path)


# --- the roster -----------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", HEADINGS)
def test_every_systems_table_is_a_roster(tmp_path, runs, kind):
    taken, _ = roster.take(table(tmp_path, "\n".join(HEADINGS[kind]), "utf-8-sig"), runs, Store(tmp_path))
    assert taken == [Student("ada", *WHO["ada"], "123")]
    assert list(roster.read(runs, Store(tmp_path))) == taken


def test_ids_that_the_gradebook_knows_are_kept(tmp_path, runs):
    with runs.gradebook() as book:
        book.add_student("al")
        book.add_student("mc@x.org")
    said = "First name,Last name,Email address\nAda,Lovelace,al@x.org\nMarie,Curie,mc@x.org\nKim,Lee,kl@x.org\n"
    taken, _ = roster.take(table(tmp_path, said), runs, Store(tmp_path))
    assert [s.id for s in taken] == ["al", "mc@x.org", "kl"]
    taken, _ = roster.take(table(tmp_path, "email\nx@a.org\nx@b.org\n"), runs, Store(tmp_path))
    assert [s.id for s in taken] == ["x", "x@b.org"]
    again, others = roster.take(table(tmp_path, said.replace("Kim,Lee,kl@x.org\n", "")), runs, Store(tmp_path))
    assert [s.id for s in again] == ["al", "mc@x.org"] and [s.id for s in others] == ["kl", "x", "x@b.org"]


def test_a_dropped_student_stays_so_until_taken_back(tmp_path, runs):
    store, said = Store(tmp_path), "id,dropped\nada,\nlee,yes\n"
    roster.take(table(tmp_path, said), runs, store)
    assert store.dropped() == {"lee"} and [s.id for s in roster.read(runs, store)] == ["ada"]
    roster.take(table(tmp_path, "id\nlee\n"), runs, store)
    assert store.dropped() == {"lee"}, "a table without that column drops and takes back nobody"
    roster.change(store, roster.read(runs, store), ["ada"], ["lee"])
    assert store.dropped() == {"ada"}
    with pytest.raises(UsageError, match="No student has the id eve"):
        roster.change(store, roster.read(runs, store), ["eve"], [])


@pytest.mark.parametrize(
    "text, why",
    [
        ("", "not a table with a header"),
        ("a,b\n1,2\n", "is not a roster"),
        ("id\n../x\n", "row 2"),
        ("id\nada\nada\n", "row 3: 'ada' is the id in row 2, too: keep one"),
        ("id\nAda\nada\n", "row 3: the ids 'Ada' and 'ada' differ only in case or form"),
        ("id\nzo\u00eb\nzoe\u0308\n", "row 3: the ids .* differ only in case or form"),
        ("id,dropped\nada,no\nbela,ja\n", "row 3: 'ja' in the column dropped: write yes or no"),
        ("email\nada@x.org\nADA@x.org\n", "row 2: the address ada@x.org is that of another row"),
        ("id,email\nada,ada@x.org; a@home.org\n", "row 2: 'ada@x.org; a@home.org' is not an e-mail address"),
        ("email\nAda <ada@x.org>\n", "row 2: 'Ada <ada@x.org>' is not an e-mail address"),
        ("email\nmailto:ada@x.org\n", "row 2: 'mailto:ada@x.org' is not an e-mail address"),
        ('id\n"ada', "not a table: save it as CSV"),
        ('id,email\n"ada\\",bela@uni.example,\\"",ada@uni.example\n', "row 2.*more cells than the header"),
        ("id,x\n" + "a" * 200_000, "not a table: save it as CSV"),
        ("a" * 200_000, "not a table: save it as CSV"),
    ],
)
def test_a_table_of_no_use_is_one_sentence_and_writes_nothing(tmp_path, runs, text, why):
    with pytest.raises(UsageError, match=why):
        roster.take(table(tmp_path, text), runs, Store(tmp_path))
    assert not list(roster.read(runs, Store(tmp_path)))


@pytest.mark.parametrize(
    "text",
    [
        "Vorname,Name,E-Mail\nBela,Bartok,b@x.example\n",
        "Prénom,Nom,E-mail\nBela,Bartok,b@x.example\n",
        "Nom,Cognoms,E-mail\nBela,Bartok,b@x.example\n",
        "Nom,E-mail\nBela Bartok,b@x.example\n",
        "Name,E-mail\nBela Bartok,b@x.example\n",
    ],
)
def test_a_table_made_by_hand_loses_no_part_of_a_name(tmp_path, runs, text):
    ((bela,), _) = roster.take(table(tmp_path, text), runs, Store(tmp_path))
    assert (bela.first_name, bela.last_name) == ("Bela", "Bartok")


@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16", "cp1252"])
@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
def test_tables_are_read_as_spreadsheets_save_them(tmp_path, encoding, end):
    assert table(tmp_path, f"id\tlast_name{end}zoe\tGödel{end}", encoding).rows == [["zoe", "Gödel"]]


@pytest.mark.parametrize("known, new", [("ada", "Ada"), ("Ada", "ada"), ("zo\u00eb", "zoe\u0308")])
def test_no_id_is_that_of_somebody_known_in_another_case(tmp_path, runs, known, new):
    """A grade would be looked for beside the right row; where case is one, both would have one folder."""
    roster.take(table(tmp_path, f"id,email\n{known},al@x.org\n"), runs, Store(tmp_path))
    with pytest.raises(UsageError, match=f"row 2: the ids '{known}' and '{new}' differ only in case or form"):
        roster.take(table(tmp_path, f"id,email\n{new},mc@x.org\n"), runs, Store(tmp_path))
    roster.take(table(tmp_path, "email\nada@x.org\n"), runs, Store(tmp_path))
    ids = [student.id.casefold() for student in roster.read(runs, Store(tmp_path))]
    assert len(ids) == len(set(ids)) == 2


# --- tables that a spreadsheet has saved, or that are another kind of file --------------------------


def taken(tmp_path, runs, text, encoding="utf-8", said=None, remarks=None):
    """(the students of a table, what is said of its other rows)."""
    left_out = []
    path = tmp_path / "table.csv"
    path.write_bytes(text.encode(encoding) if isinstance(text, str) else text)
    found, _ = roster.take(tables.read_table(path, said), runs, Store(tmp_path), left_out, remarks)
    return found, left_out


@pytest.mark.parametrize("first", ["sep=;", "\ufeffsep=;", '"sep=;"', "SEP=;", "sep=;;;", "sep=\t", "sep=,", "sep=|"])
@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
def test_excels_first_line_says_the_separator(tmp_path, runs, first, end):
    separator = next(c for c in ("\t", ",", "|", ";") if c in first)
    lines = [first, separator.join(["id", "last_name"]), separator.join(["ada", "Lovelace" + ",;"[separator == ","]])]
    found, _ = taken(tmp_path, runs, end.join(lines) + end)
    assert [(s.id, s.last_name[:8]) for s in found] == [("ada", "Lovelace")]
    own = first + end + end.join(HEADINGS["Canvas's gradebook"].__iter__()).replace(",", separator)
    if separator == ";":  # as of a table to be filled in; the row is the one that a spreadsheet shows
        sheet = table(tmp_path, own.replace('"Lovelace; Ada"', '"Lovelace, Ada"').replace('"Student; Test"', "T"))
        assert sheet.has("Student", "ID") and [number for number, _ in sheet.numbered()] == [3, 4, 5]


@pytest.mark.parametrize(
    "encoding, names",
    [
        ("cp1252", "Müller, Jäger"),
        ("cp1250", "Béla, Bartók"),
        ("cp1250", "Łukasz, Żak"),
        ("cp1252", "José, O’Brien, Müller"),
        ("mac_roman", "Béla, Bartók"),
        ("mac_roman", "Hélène, François"),
        ("mac_roman", "MÜLLER, O’Brien"),
        ("cp850", "José, María, Weiß"),
    ],
)
def test_an_encoding_is_found_where_only_one_can_be_meant_and_that_is_said(tmp_path, encoding, names):
    rows = "".join(f"{number};{name}\n" for number, name in enumerate(names.split(", ")))
    found = table(tmp_path, f"id;last_name\n{rows}", encoding)
    assert ", ".join(row[1] for row in found) == names and found.guessed
    assert found.examples == ", ".join([name for name in names.split(", ") if name != "O’Brien"][:2])
    assert table(tmp_path, f"id;last_name\n{rows}").examples == "", "UTF-8 is not worth a word"


@pytest.mark.parametrize(
    "encoding, name, other",
    [
        ("cp1250", "Wiśniewska", "Wiœniewska"),
        ("cp1252", "Hélène", "Hélčne"),
        ("cp1254", "Yıldız", "Yýldýz"),
        ("cp1252", "Søren", "Sřren"),
        ("mac_roman", "Søren", "Sżren"),
        ("cp1251", "Иванов", "Θβΰνξβ"),
        ("gb18030", "张伟", "ΥΕΞ°"),
    ],
)
def test_a_name_that_may_be_another_is_asked_about(tmp_path, runs, encoding, name, other):
    text = f"id,last_name\nx,{name}\n"
    with pytest.raises(UsageError, match="not in UTF-8, and it can be read in several ways") as refused:
        taken(tmp_path, runs, text, encoding)
    assert f"{name} in {encoding}" in str(refused.value) and f"{other} in " in str(refused.value)
    assert f"`--encoding {encoding}`" in str(refused.value)
    ((student,), _) = taken(tmp_path, runs, text, encoding, said=encoding)
    assert student.last_name == name


def test_an_encoding_that_is_named_must_fit(tmp_path):
    path = tmp_path / "table.csv"
    path.write_bytes("id,last_name\nx,Hélène\n".encode("cp1252"))
    for encoding, why in [("utf-8", "is not in utf-8"), ("klingon", "no encoding 'klingon'"), ("hex", "no encoding")]:
        with pytest.raises(UsageError, match=why):
            tables.read_table(path, encoding)
    path.write_bytes("id,last_name\nx,Hélène\n".encode("utf-8-sig"))
    assert tables.read_table(path, "cp1252").rows == [["x", "Hélène"]], "the file itself says that it is in UTF-8"


@pytest.mark.parametrize("encoding", ["utf-16-le", "utf-16-be"])
def test_utf_16_without_its_mark_is_read(tmp_path, encoding):
    assert table(tmp_path, "id\tlast_name\nx\tWałęsa\n", encoding).rows == [["x", "Wałęsa"]]


ADA_ROW = "Ada,Lovelace,ada@x.org,"


@pytest.mark.parametrize(
    "row",
    [
        *("Total,,,9", "Overall average,,,9", "Points,,,5", "Class Average,,,", "Date,,,2026-11-03", "Average,,,1"),
        *("POINTS POSSIBLE:,,,5", ",Durchschnitt,,", ",Moyenne générale,,8", "Media,1,,", "Средний балл,,,4,"[:-3]),
    ],
)
def test_a_row_about_the_class_is_no_student_and_is_named(tmp_path, runs, row):
    found, left_out = taken(tmp_path, runs, f"First name,Last name,Email address,HW\n{row}\n{ADA_ROW}\n")
    assert [s.id for s in found] == ["ada"] and len(left_out) == 1 and left_out[0].startswith("row 2 (")


@pytest.mark.parametrize(
    "text",
    [
        "First name,Last name,Email address\nTotal,,total@x.org\n",
        "First name,Last name,Email address\nDate,Points,\n",
        "First name,Last name,Email address\nMax,,\n",
        "id\ntotal\n",
        "id,first_name\nmean,Ann\n",
        "Student ID,Name\n0012,Total\n",
    ],
)
def test_a_person_with_such_a_name_is_a_student(tmp_path, runs, text):
    found, left_out = taken(tmp_path, runs, text)
    assert len(found) == 1 and left_out == []


def test_each_row_that_is_left_out_is_named(tmp_path, runs):
    canvas = (
        "Student,ID,SIS User ID,SIS Login ID,Section,HW (4)\n,,,,,Manual Posting\n    Points Possible,,,,,10\n"
        '"Lovelace, Ada",123,s1,ada,A,\n"Student, Test",9,,7d0f3c0a2b,A,\n"Student, Test",10,s2,tess,A,\n'
    )
    found, left_out = taken(tmp_path, runs, canvas)
    assert [s.id for s in found] == ["ada", "tess"], "a person may be called so"
    assert left_out == ["row 2 (Manual Posting)", "row 3 (Points Possible)", "row 5 (Student, Test: Canvas's own)"]
    _, left_out = taken(
        tmp_path, runs, "First Name,Last Name,SID,Email,Role\nBo,Ek,1,b@x.org,Student\nT,A,,t@x.org,TA\n"
    )
    assert left_out == ["row 3 (T A: TA)"]
    _, left_out = taken(tmp_path, runs, "\n,,\nid,last_name,note\ncora,,\n , , \n,,sits in row 7\n")
    assert left_out == ["row 6 (sits in row 7: no id, name or address)"]


# --- columns by their headers, and by their content -------------------------------------------------


@pytest.mark.parametrize(
    "text, who",
    [
        ('Student ID,Student Name,HW 1 [10]\njdoe,"Doe, Jane",5\n', ("jdoe", "Jane", "Doe", "")),
        ("学号,姓名,邮箱\n0012,王伟,w@x.cn\n", ("0012", "", "王伟", "w@x.cn")),
        ("学籍番号,氏名,メールアドレス\n0012,山田 太郎,y@x.jp\n", ("0012", "山田", "太郎", "y@x.jp")),
        ("학번,이름,이메일\n0012,김민수,a@x.kr\n", ("0012", "", "김민수", "a@x.kr")),
        ("imię,nazwisko,numer albumu\nAnna,Nowak,0012\n", ("0012", "Anna", "Nowak", "")),
        ("Etunimet;Sukunimi;Sähköposti\nAino;Virtanen;av@x.fi\n", ("av", "Aino", "Virtanen", "av@x.fi")),
        ("Jméno;Příjmení;Osobní číslo\nJan;Novák;R0012\n", ("R0012", "Jan", "Novák", "")),
        ("Ad Soyad;Öğrenci No;E-posta\nAyşe Kaya;0012;a@x.tr\n", ("0012", "Ayşe", "Kaya", "a@x.tr")),
        ("ФИО;Эл. почта\nПётр Иванов;pi@x.ru\n", ("pi", "Пётр", "Иванов", "pi@x.ru")),
        ("الاسم,الرقم الجامعي\nأحمد علي,0012\n", ("0012", "أحمد", "علي", "")),
        ("รหัสนักศึกษา,ชื่อ-นามสกุล\n0012,สมชาย ใจดี\n", ("0012", "สมชาย", "ใจดี", "")),
        ('E-Mail (Universität);"NAME, VORNAME";Ort\nae@x.de;Müller, Änne;\n', ("ae", "Änne", "Müller", "ae@x.de")),
        ("Course 2026,,\n,,\nFirst Name,Surname,Student No.\nAda,Lovelace,0012\n", ("0012", "Ada", "Lovelace", "")),
        ("first name|last name|e-mail\nAda|Lovelace|al@x.org\n", ("al", "Ada", "Lovelace", "al@x.org")),
    ],
)
def test_headers_are_known_in_many_languages(tmp_path, runs, text, who):
    remarks = []
    found, left_out = taken(tmp_path, runs, text, remarks=remarks)
    assert [(s.id, s.first_name, s.last_name, s.email) for s in found] == [who] and not left_out
    assert [remark for remark in remarks if "HW 1" not in remark] == []


def test_columns_with_unknown_headers_are_known_by_their_content_and_that_is_said(tmp_path, runs):
    remarks = []
    text = "№;Слушатель;Ящик;Город\n1;Иванов Иван;ii@x.ru;Омск\n2;Петров Пётр;pp@x.ru;Омск\n;Количество: 2;;\n"
    found, left_out = taken(tmp_path, runs, text, remarks=remarks)
    assert [(s.id, s.name) for s in found] == [("ii", "Иванов Иван"), ("pp", "Петров Пётр")]
    assert left_out == ["row 4 (Количество: 2: no address, login or number, which the others have)"]
    assert remarks[0].endswith("by their content alone: 'Ящик' (addresses), 'Слушатель' (names)")
    assert remarks[1] == "columns that are not used: 'Город'"


@pytest.mark.parametrize(
    "text, names, unused",
    [
        ("id,A,B\n1,Ada,Lovelace\n2,Kim,Lee\n", ["Ada Lovelace", "Kim Lee"], None),
        ("Code,Qui\n100001,Ada Lovelace\n100002,Kim Lee\n", ["Ada Lovelace", "Kim Lee"], None),
        ("id,Subject\n1,Physics\n2,Physics\n3,Physics\n", ["", "", ""], "'Subject'"),
        ("Name,Tutor email\nAda Lovelace,t@x.org\nKim Lee,u@x.org\n", ["Ada Lovelace", "Kim Lee"], "'Tutor email'"),
        ("id,Phone\na,555123456\nb,555123457\n", ["", ""], "'Phone'"),
        ("id,Points\na,5\nb,6.5\n", ["", ""], None),
        ("id,Town\na,London\nb,Paris\n", ["", ""], "'Town'"),
        (
            "\u59d3\u540d Name,\u5b66\u53f7 ID,Vorlesung\nAda Lovelace,1001,A\nKim Lee,1002,A\n",
            ["Ada Lovelace", "Kim Lee"],
            "'Vorlesung'",
        ),
        ("Vorname / First name,Nachname / Last name,id\nAda,Lovelace,1\n", ["Ada Lovelace"], None),
    ],
)
def test_a_column_is_taken_for_what_it_is_or_named(tmp_path, runs, text, names, unused):
    remarks = []
    found, _ = taken(tmp_path, runs, text, remarks=remarks)
    assert [s.name for s in found] == names and not any(s.email for s in found)
    assert [r.partition(": ")[2] for r in remarks if "not used" in r] == ([unused] if unused else [])


def test_a_table_without_headers_is_refused_in_a_sentence(tmp_path, runs):
    with pytest.raises(UsageError, match="its first row is a student's: add a row above it that names the columns"):
        taken(tmp_path, runs, "Ada,Lovelace,ada@x.org\nKim,Lee,kim@x.org\n")


def test_japanese_that_may_be_chinese_is_asked_about(tmp_path, runs):
    text = "学籍番号,氏名,メールアドレス\n0001,山田 太郎,y@x.jp\n"
    with pytest.raises(UsageError, match="氏名 in shift_jis"):
        taken(tmp_path, runs, text, "shift_jis")
    found, _ = taken(tmp_path, runs, text, "shift_jis", said="shift_jis")
    assert found[0].name == "山田 太郎"


@pytest.mark.parametrize(
    "text", ["student_id\njdoe\nkim\n", "Student ID;Points\njdoe;5\nkim;6\n", "id,name\njdoe,\nkim,\n"]
)
def test_a_roster_of_ids_is_a_roster_and_says_that_nobody_has_a_name(tmp_path, runs, text):
    assert roster.read(runs, Store(tmp_path)).is_empty
    remarks = []
    found, _ = taken(tmp_path, runs, text, remarks=remarks)
    assert [s.id for s in found] == ["jdoe", "kim"] and not roster.read(runs, Store(tmp_path)).is_empty
    assert remarks[-1].startswith("no student has a name in it")
    roster.change(Store(tmp_path), roster.read(runs, Store(tmp_path)), ["kim"], [])
    assert not roster.read(runs, Store(tmp_path)).is_empty, "to drop somebody changes nothing in that"


@pytest.mark.parametrize("header", ["id", "Student ID", "ID number", "Matrikelnummer"])
def test_a_number_has_no_fraction(tmp_path, runs, header):
    """As pandas and spreadsheets write numbers of a column in which one is missing."""
    found, _ = taken(tmp_path, runs, f"{header},last_name,email\n12345.0,Doe,doe@x.org\n12346.0,Ek,ek@x.org\n")
    assert {s.lms_user_id or s.id for s in found} == {"12345", "12346"}
    found, _ = taken(tmp_path, runs, "Student ID,name,email\n1001.0,Al Ek,al@x.org\nnan,Bo Ek,bo@x.org\n")
    assert [s.id for s in found] == ["1001", "bo"], "what pandas writes for a number that is missing"
    found, _ = taken(tmp_path, runs, "id,last_name\n1.5,Doe\n2.0,Ek\n")
    assert [s.id for s in found] == ["1.5", "2.0"], "a column with fractions is none of whole numbers"


@pytest.mark.parametrize("mark", ["\u200b", "\u202a", "\u2060", "\u00a0", "\u200f"])
def test_what_does_not_show_is_no_part_of_a_cell(tmp_path, runs, mark):
    found, _ = taken(tmp_path, runs, f"name,{mark}email{mark}\n{mark}Ada Lovelace,{mark}al@x.org{mark}\n")
    assert [(s.id, s.name, s.email) for s in found] == [("al", "Ada Lovelace", "al@x.org")]


@pytest.mark.parametrize(
    "rows",
    [
        *(
            "Mittelwert der Klasse,,",
            "Grand Total,,",
            "Average Score,,",
            "Class,Average,",
            "Std. deviation,,",
            "N = 2,,",
        ),
        *("Total: 2,,", "Total Students: 1,,", "Средний балл по группе,,", "平均,,", "总计,,", "평균,,", "Yhteensä,,"),
        *("Hehe,,", ",Ниҳоят,", "Yhdessä kaikki,,", "Class of 2026,2 people,", "Celkový,,\nMix,,\nXyz 2,,"),
    ],
)
@pytest.mark.parametrize("above", [False, True])
def test_a_row_without_what_the_others_have_is_left_out_and_named(tmp_path, runs, rows, above):
    people = "Ada,Lovelace,ada@x.org\nTotal,Hassan,th@x.org\nMean,Joe,mj@x.org\n"
    text = f"{rows}\n{people}" if above else f"{people}{rows}\n"
    found, left_out = taken(tmp_path, runs, f"first name,last name,email\n{text}")
    assert [s.id for s in found] == ["ada", "th", "mj"] and len(left_out) == len(rows.split("\n"))
    assert all(row.strip(",").replace(",", " ") in said for row, said in zip(rows.split("\n"), left_out, strict=True))


@pytest.mark.parametrize(
    "text, ids",
    [
        ("学籍番号,氏名\nA001,山田 太郎\nA002,佐藤 花子\n合計,2名\n", ["A001", "A002"]),
        ("Matrikelnr.;Name\n1234567;Doe\n1234568;Ek\nAnzahl: 2;\n", ["1234567", "1234568"]),
        ('Student ID,Student Name\njdoe,"Doe, Jane"\nkim,"Lee, Kim"\nAverage,\n', ["jdoe", "kim"]),
        ('Student ID,Student Name\njdoe,"Doe, Jane"\nkim,"Lee, Kim"\nПо группе,\n', ["jdoe", "kim"]),
        ("id\nada\nbob\nTotal\n", ["ada", "bob"]),
        ("id,name\na,Ada\nb,Bob\n=SUM(C2:C3),\n", ["a", "b"]),
        ("name\nAda Lovelace\nMax Mean\nTotal\nClass Average\n", ["ada-lovelace", "max-mean"]),
        (
            '"Last Name","First Name","Username"\n"Doe","Jane","jdoe"\n"Test_PreviewUser","jdoe","jdoe_previewuser"\n',
            ["jdoe"],
        ),
        ("name,login\nAda L,ada\nTest Student,\n", ["ada"]),
        (
            'Student/in,ID,SIS Login ID,Abschnitt\nPoints,,,\n"Doe, Jane",11,jdoe,A\nTest Student,99,'
            + "a" * 40
            + ",A\n",
            ["jdoe"],
        ),
    ],
)
def test_totals_and_test_accounts_are_no_students_in_any_column(tmp_path, runs, text, ids):
    found, left_out = taken(tmp_path, runs, text)
    assert [s.id for s in found] == ids and left_out


def test_people_whose_addresses_are_missing_here_and_there_are_students(tmp_path, runs):
    text = "first_name,last_name,email\nAda,L,ada@x.org\nBob,R,\nCy,Young,cy@x.org\nDi,Ek,\nEl,Fo,el@x.org\n"
    found, left_out = taken(tmp_path, runs, text)
    assert [s.id for s in found] == ["ada", "bob-r", "cy", "di-ek", "el"] and not left_out
    found, _ = roster.take(
        table(tmp_path, "email,name\nal@x.org,Al Ek\n,Total Hassan\n"), runs, Store(tmp_path), are_people=True
    )
    assert len(found) == 2, "a platform's list has people alone"


@pytest.mark.parametrize("value", ["1.23457E+11", "1,23457E+11", "1e+08", "########", "#REF!", "#N/A"])
@pytest.mark.parametrize("header", ["id", "Student ID", "Matrikelnummer", "ID number", "lms_user_id", "Username"])
def test_a_number_that_a_spreadsheet_has_shortened_is_refused(tmp_path, runs, header, value):
    with pytest.raises(UsageError, match="a number that a spreadsheet has shortened") as refused:
        taken(tmp_path, runs, f"{header};last_name;email\n{value};Doe;doe@x.org\n")
    assert f"row 2: '{value}' in the column '{header}'" in str(refused.value) and "add a column" not in str(
        refused.value
    )


@pytest.mark.parametrize("id", ["1e5", "e+1", "12E34", "2026-11"])
def test_an_id_that_looks_a_little_like_one_is_taken(tmp_path, runs, id):
    assert [s.id for s in taken(tmp_path, runs, f"id,last_name\n{id},Doe\n")[0]] == [id]


@pytest.mark.parametrize(
    "header",
    [
        *(
            "Student ID",
            "STUDENT NUMBER",
            "Matrikelnummer",
            "Matrikel-Nr.",
            "identifier",
            "SIS User ID",
            "OrgDefinedId",
        ),
        *("Numéro étudiant", "Matricola", "Número de matrícula", "Studentnummer", "Numer albumu", "学号"),
        *("Username", "Benutzername", "Nom d’utilisateur", "NetID"),
    ],
)
def test_the_universitys_number_or_login_is_the_id(tmp_path, runs, header):
    rows = "Jane;Doe;0012\nKim;Lee;0013\n"
    found, left_out = taken(tmp_path, runs, f"Vorname;Nachname;{header}\n{rows}")
    assert [s.id for s in found] == ["0012", "0013"] and left_out == []
    again, _ = taken(tmp_path, runs, f"Vorname;Nachname;{header}\n{rows.replace('Doe', 'Ek')}")
    assert [(s.id, s.last_name) for s in again] == [("0012", "Ek"), ("0013", "Lee")]
    assert len(list(roster.read(runs, Store(tmp_path)))) == 2, "who was read in before is the same student"


def test_a_number_changes_no_id_that_there_is(tmp_path, runs):
    """Of a class that was read in before, by a login or an address; nor does it come before a login in one table."""
    taken(tmp_path, runs, "first_name,last_name,email\nJane,Doe,jdoe@x.org\n")
    found, _ = taken(
        tmp_path, runs, "Student ID,First Name,Last Name,Email\n0012,Jane,Doe,jdoe@x.org\n,Kim,Lee,kim@x.org\n"
    )
    assert [s.id for s in found] == ["jdoe", "kim"]
    found, _ = taken(tmp_path, runs, "OrgDefinedId,Username,Last Name\n#0014,#cora,Ek\n")
    assert [s.id for s in found] == ["cora"]
    found, _ = taken(tmp_path, runs, '"identifier","github_username","name"\n"bo@x.org","b","Bo Ek"\n"0015","",""\n')
    assert [(s.id, s.email) for s in found] == [("bo", "bo@x.org"), ("0015", "")]


@pytest.mark.parametrize("header", ["id", "Student ID", "Matrikelnummer", "Username"])
def test_the_same_id_twice_names_both_rows(tmp_path, runs, header):
    with pytest.raises(UsageError, match="row 5: '7' is the id in row 2, too: keep one of the rows") as refused:
        taken(tmp_path, runs, f"{header},last_name\n7,Doe\n\n8,Ek\n7,Lee\n")
    assert "add a column" not in str(refused.value)


@pytest.mark.parametrize(
    "name, data, what",
    [
        ("a.xlsx", b"PK\x03\x04" + bytes(100), "an Excel file: save it as"),
        ("a.csv", b"PK\x03\x04" + bytes(26) + b"[Content_Types].xml", "an Excel file: save it as"),
        ("a.xls", b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + bytes(600), "an Excel file: save it as"),
        ("a.ods", b"PK\x03\x04" + bytes(26) + b"mimetypeapplication/vnd.oasis", "an OpenDocument file: save it as"),
        ("a.xls", b"\n<html><table><tr><td>id</td></tr></table></html>", "a web page: open it in a spreadsheet"),
        ("a.xls", b'<?xml version="1.0"?><?mso-application progid="Excel.Sheet"?><Workbook/>', "an Excel file"),
        ("a.pdf", b"%PDF-1.7\n", "a PDF: export"),
        ("class.zip", b"PK\x03\x04" + bytes(26) + b"class.csv", "a zip archive: unpack it"),
    ],
)
def test_another_kind_of_file_is_named(tmp_path, name, data, what):
    (tmp_path / name).write_bytes(data)
    with pytest.raises(UsageError, match=what):
        tables.read_table(tmp_path / name)


def test_a_table_of_text_that_is_called_an_excel_file_is_read(tmp_path):
    """As Blackboard and Moodle call theirs."""
    (tmp_path / "a.xls").write_bytes("id\tlast_name\nx\tÖzil\n".encode("utf-16"))
    assert tables.read_table(tmp_path / "a.xls").rows == [["x", "Özil"]]


@pytest.mark.slow("the command is in the week of test_week.py, too")
def test_the_command_says_what_it_made_of_a_table(tmp_path):
    place = small_course.copy(tmp_path / "course")
    (place / "class.csv").write_bytes("sep=;\r\nid;last_name\r\nx;Müller\r\nTotal;\r\n".encode("cp1252"))
    code, out, _ = small_course.autograder(place, "roster", "class.csv")
    assert code == 0 and "class.csv: 1 student\n  not in UTF-8: read as cp1252, Müller (--encoding, if" in out
    assert "  left out: 1 row that is not about a student: row 4 (Total)\n" in out
    code, out, _ = small_course.autograder(place, "roster", "class.csv", "--encoding", "mac_roman")
    assert code == 0 and "read as" not in out and "M¸ller" in small_course.autograder(place, "roster")[1]
    (place / "class.csv").write_bytes("id;last_name\r\nx;Wiśniewska\r\n".encode("cp1250"))
    code, _, said = small_course.autograder(place, "roster", "class.csv")
    assert code == 2 and "Wiœniewska in cp1252; Wiśniewska in cp1250" in said


# --- grades ---------------------------------------------------------------------------------------

EVIL = '=HYPERLINK("http://example.org")'


def standing(score, waits=False):
    """What the gradebook has of a submission with these points, of ten."""
    answer = (Mark("essay", "", None, None, 0.0, 1.0, True),) if waits else ()
    return Standing((Mark("one", "one", score, None, 0.0, 10.0, False), *answer))


ADA = exports.Grade(
    Student("ada", *WHO["ada"], "123"),
    standing(7.5),
    {
        "system": "canvas",
        "lms_id": "123",
        "entry": f"lovelaceada_123_456_{ASSIGNMENT}.ipynb",
        "participant": "4711",
        "given": "Ada Lovelace_4711_assignsubmission_file_",
        "name": "Ada Lovelace",
    },
)
BAD = exports.Grade(
    Student("bad", EVIL, "+1", "@x", ""), standing(12.0, waits=True), {"participant": "4712", "name": EVIL}
)
EVE = exports.Grade(Student("eve", "Eve", "Ning", "eve@example.org", "125"), None, {})
ALL, TEN = [ADA, BAD, EVE], exports.Settings(10.0)


def rows(text):
    return list(csv.reader(io.StringIO(text)))


def moodle_reads(text):
    """{participant: grade} as mod/assign/feedback/offline/importgradeslib.php and locallib.php read it."""
    header, *lines = rows(text)
    id, grade, _ = (header.index(name) for name in ("Identifier", "Grade", "Last modified (grade)"))
    found = {line[id][len("Participant ") :]: line[grade] for line in lines}
    return {who: float(score) for who, score in found.items() if score != "" and 0 <= float(score) <= 10}


def test_moodles_worksheet_without_and_with_its_own():
    text, remarks = exports.moodle_table(ALL, TEN)
    assert moodle_reads(text) == {"4711": 7.5} and "--fill" in remarks[-1]


def test_moodles_own_worksheet_is_filled_in(tmp_path):
    sheet = table(
        tmp_path,
        "Identifier,Full name,Email address,Status,Grade,Maximum grade,Grade can be changed,"
        "Last modified (submission),Online text,Last modified (grade),Feedback comments\n"
        'Participant 4711,Ada Lovelace,ada@example.org,Submitted,3,"10,00",Yes,x,=1,"Monday, 1 June 2026, 9:00 AM",=2\n'
        "Participant 4712,=Bad,b@x,Submitted,,10.00,Yes,-,,-,\nParticipant 9,Eve,eve@example.org,,,10.00,Yes,-,,-,\n",
    )
    text, remarks = exports.moodle_filled(ALL, TEN, sheet)
    assert moodle_reads(text) == {"4711": 7.5} and remarks == ["bad: 12 is more than 10, so Moodle will ignore it"]
    assert rows(text)[1][-1] == "Monday, 1 June 2026, 9:00 AM" and "Online text" not in text and "'=Bad" in text
    assert moodle_reads(exports.moodle_filled(ALL, exports.Settings(10.0, zeros=True), sheet)[0])["9"] == 0
    with pytest.raises(UsageError, match="The highest grade is 10 in .* and 20 in the course"):
        exports.moodle_filled(ALL, exports.Settings(20.0), sheet)
    scaled, _ = exports.moodle_filled(ALL, exports.Settings(20.0, scale=True), sheet)
    assert moodle_reads(scaled) == {"4711": 3.75, "4712": 6.0}


def canvas_reads(text):
    """(title, id of the assignment, its points, {user id: grade}) as lib/gradebook_importer.rb reads it."""
    header, *lines = rows(text)
    assert "Student" in header[0] and "ID" in header[1] and re.match(r"SIS\s+User\s+ID", header[2])
    assert re.match(r"SIS\s+Login\s+ID", header[3]) and "Section" in header[4] and len(header) == 6
    title, id = re.fullmatch(r"(.*?)(?: \((\d+)\))?", header[5]).groups()
    (points,) = [float(line[5]) for line in lines if "Points Possible" in line[0]]
    return title, id, points, {line[1]: line[5] for line in lines if "Points Possible" not in line[0]}


def test_canvas_gradebook_without_and_with_its_own(tmp_path):
    text, remarks = exports.canvas_table(ALL, TEN, ASSIGNMENT)
    assert canvas_reads(text) == (ASSIGNMENT, None, 10.0, {"123": "7.5", "": "12.0", "125": ""})
    assert "makes one" in remarks[0] and "'=HYPERLINK" in text and not re.search(r"(^|,)[=+@]", text, re.MULTILINE)
    assert canvas_reads(exports.canvas_table(ALL, TEN, ASSIGNMENT, "HW (77)")[0])[:2] == ("HW", "77")
    own = (
        "Student,ID,SIS User ID,SIS Login ID,Section,Notes,HW 1 (76),HW 2 (77),Final Score\n"
        ",,,,,,,Manual Posting,\n    Points Possible,,,,,,5,10,(read only)\n"
        '"Lovelace, Ada",123,s1,al,A,n,5,,\n"Ning, Eve",125,,eve@example.org,A,,1,3,\n"Lee, Kim",9,,kl,A,,4,4,\n'
    )
    text, remarks = exports.canvas_filled(ALL, TEN, ASSIGNMENT, table(tmp_path, own))
    assert canvas_reads(text) == ("HW 2", "77", 10.0, {"123": "7.5", "125": "", "9": ""}), "no grade: as it was"
    assert remarks == [
        "the grades go into the column 'HW 2 (77)', which has the assignment's number: use --column for another",
        f"bad: not in {tmp_path}/table.csv, so no row gets the grade",
    ]
    with pytest.raises(UsageError, match="Which column"):
        exports.canvas_filled(ALL, TEN, "03_x", table(tmp_path, own))
    with pytest.raises(UsageError, match="highest grade"):
        exports.canvas_filled(ALL, TEN, "01_x", table(tmp_path, own))


# --- feedback -------------------------------------------------------------------------------------


def moodle_takes(name):
    """(participant, the file's name) as importziplib.php reads a path in the zip."""
    parts = name.split("/")
    info = (parts[0].split("_", 4) + [""])[:5]
    assert info[1].isdigit() and info[2:4] == ["assignsubmission", "file"]
    return info[1], "/".join([info[4], *parts[1:]]).strip("/")


def canvas_takes(name):
    """(user id, attachment id) as `infer_comment_context_from_filename` reads a name in the zip."""
    return tuple([part for part in name.split("_") if part.isdigit()][:2])


def test_feedback_goes_back_under_the_names_it_came_by(tmp_path, monkeypatch):
    assignment = course.assignments(ROOT)[ASSIGNMENT]
    page = tmp_path / "feedback" / "ada" / ASSIGNMENT / f"{ASSIGNMENT}.html"
    page.parent.mkdir(parents=True)
    page.write_text("<p>right</p>")
    data, remarks = exports.moodle_feedback(tmp_path, ALL, assignment)
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        assert [moodle_takes(n) for n in archive.namelist()] == [("4711", f"{ASSIGNMENT}.html")]
        assert archive.read(archive.namelist()[0]) == b"<p>right</p>"
    assert len(remarks) == 1 and "bad" in remarks[0]

    by_hand = Mark("attention", "attention", 1.5, 9.0, 0.0, 10.0, False)
    ada = replace(ADA, standing=Standing((by_hand, Mark("essay", "", None, 2.0, 0.0, 4.0, False)), penalty=1.0))
    results = Store(tmp_path)
    results.put_latest(ASSIGNMENT, "ada", verdict())
    data, _ = exports.canvas_feedback(tmp_path, [ada, BAD, EVE], assignment, results)
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        (name,) = archive.namelist()
        notebook = json.loads(archive.read(name))
    assert canvas_takes(name) == ("123", "456") and name == ADA.note["entry"]
    text = "\n".join(cell["source"] for cell in notebook["cells"])
    assert (
        "10 of 14 points, 1 deducted because it was late" in text
        and "Changed by hand: 9 of 10" in text
        and "2 of 4 points" in text
    )
    assert "<script>" not in text and "\n\n![" not in text


# --- results.json ---------------------------------------------------------------------------------


def verdict():
    checks = [
        Check("test_a", "values", 1.5, True, "It is right."),
        Check(
            "test_b",
            "masking",
            0.5,
            False,
            "It hides. It does not.\n\n![x](//evil) <script>",
            "It does not.\n\n![x](//evil) <script>",
        ),
    ]
    return Verdict(
        "x.ipynb",
        [
            Outcome("attention", 1.5, 2.0, "graded", checks, [Diagnosis("id", "The mask is late.", "y = 1")]),
            Outcome("Head", 0.0, 3.0, "timeout", message="It ran too long."),
        ],
        seed=1,
        assignment=ASSIGNMENT,
    )


def test_gradescopes_fields():
    """Against https://gradescope-autograders.readthedocs.io/en/latest/specs/."""
    made = json.loads(json.dumps(results_json.gradescope(verdict(), "after_published")))
    top = {
        "score",
        "execution_time",
        "output",
        "output_format",
        "test_output_format",
        "test_name_format",
        "visibility",
        "stdout_visibility",
        "extra_data",
        "tests",
        "leaderboard",
    }
    each = {
        "score",
        "max_score",
        "status",
        "name",
        "name_format",
        "number",
        "output",
        "output_format",
        "tags",
        "visibility",
        "extra_data",
    }
    assert made.keys() <= top and made["score"] == 1.5 and isinstance(made["extra_data"], dict)
    visible = {"hidden", "after_due_date", "after_published", "visible"}
    formats = {"text", "html", "simple_format", "md", "ansi"}
    assert made["visibility"] in visible and made["stdout_visibility"] in visible and made["output_format"] in formats
    for test in made["tests"]:
        assert test.keys() <= each and test["status"] in ("passed", "failed") and test["visibility"] in visible
        assert test["output_format"] == test["name_format"] == "text" and 0 <= test["score"] <= test["max_score"]
        assert isinstance(test["number"], str) and isinstance(test["tags"], list)
    assert [(t["number"], t["name"]) for t in made["tests"]] == [("1", "attention"), ("2", "Head")]
    assert sum(t["max_score"] for t in made["tests"]) == 5 and "The mask is late." in made["tests"][0]["output"]
    assert "test_a" not in json.dumps(made), "names of checks are not for students"


def test_gradescope_shows_the_names_first_and_a_test_for_each_exercise():
    """As docs/containers.md promises: what is wrong and what to do next on top, the checks in the exercise's test."""
    made = results_json.gradescope(verdict())
    assert made["output"] == (
        "1.5 of 5 points\n\nattention: The mask is late. In your line: y = 1\nHead: It ran too long.\n\n"
        "Next step: fix attention. Its test below says more."
    )
    first, second = (test["output"] for test in made["tests"])
    charged = "\N{MINUS SIGN}0.5 of 2 for the failed checks"
    assert first.startswith(f"What went wrong: {charged}: The mask is late.\n  in your line: y = 1\nFAIL")
    assert "It hides. It does not." in first and first.splitlines()[-1].endswith("It is right.")
    assert second == "ran too long: It ran too long."
    assert [test["status"] for test in made["tests"]] == ["failed", "failed"]
    fresh = Verdict("", [Outcome("Head", 0.0, 3.0, "graded", not_started=True), Outcome("x", 1.0, 1.0, "graded")], 1)
    made = results_json.gradescope(fresh)
    assert (
        made["output"] == "1 of 4 points\n\nHead: not started\n\nNext step: begin with Head. Its test below says more."
    )
    assert [test["output"] for test in made["tests"]] == ["not started", "x: 1 of 1 points"]
    rejected = [Outcome(name, 0.0, 1.0, "rejected", message="It is not a notebook.") for name in "ab"]
    assert results_json.gradescope(Verdict("", rejected, 1))["output"] == "0 of 2 points\n\nIt is not a notebook."
    right = Verdict("", [Outcome("x", 1.0, 1.0, "graded", [Check("t", "values", 1.0, True, "Right.")])], 1)
    assert results_json.gradescope(right)["output"] == "1 of 1 points"


def test_exercisms_fields():
    """Against https://exercism.org/docs/building/tooling/test-runners/interface, version 3."""
    made = json.loads(json.dumps(results_json.exercism(verdict())))
    assert made.keys() == {"version", "status", "message", "tests"}
    assert (made["version"], made["status"], made["message"]) == (3, "fail", None)
    assert [(t["status"], t["task_id"]) for t in made["tests"]] == [("pass", 1), ("fail", 1), ("error", 2)]
    assert all(t["message"] is None if t["status"] == "pass" else t["message"] for t in made["tests"])
    assert all(t.keys() <= {"name", "test_code", "status", "message", "output", "task_id"} for t in made["tests"])
    stopped = Verdict("", [Outcome("Head", 0.0, 3.0, "error", message="SyntaxError")], 1)
    assert (
        results_json.exercism(stopped)["status"] == "error"
        and "SyntaxError" in results_json.exercism(stopped)["message"]
    )
    right = Verdict("", [Outcome("Head", 1.0, 1.0, "graded", [Check("t", "values", 1.0, True, "Right.")])], 1)
    assert results_json.exercism(right)["status"] == "pass"


@pytest.mark.parametrize("score", [0.0, 2.0], ids=["check by check", "as a whole"])
def test_exercism_says_once_why_checks_were_not_tried(score):
    names = "abc"
    checks = [
        Check(n, "mode", 1.0, False, f"It is {n}. {NOT_TRIED}It is NaN.", f"{NOT_TRIED}It is NaN.") for n in names
    ]
    made = results_json.exercism(Verdict("", [Outcome("Head", score, 3.0, "graded", checks)], 1))
    text = "\n".join(test["message"] for test in made["tests"])
    assert text.count("It is NaN.") == 1 and text.lower().count("not tried") >= 1


def test_changed_points_still_sum_up():
    """If the checks' points are not the exercise's, the exercise is one test."""
    odd = Verdict("", [Outcome("Head", 7.0, 20.0, "graded", [Check("t", "values", 1.0, True, "Right.")])], 1)
    made = results_json.gradescope(odd)
    assert made["score"] == 7.0 and made["tests"][0]["max_score"] == 20.0


def test_the_instructor_alone_learns_of_a_mistake_of_the_checks():
    outcome = Outcome("Head", 1.0, 3.0, "graded", unjudged="test_b raised KeyError")
    *seen, told = results_json.gradescope(Verdict("", [outcome], 1, sandbox="process"))["tests"]
    assert told["visibility"] == "hidden" and "KeyError" in told["output"] and told["max_score"] == 0.0
    assert "KeyError" not in json.dumps(seen)


def test_the_table_has_a_column_for_what_was_measured_and_leaves_it_empty_where_nothing_was(monkeypatch):
    measured = {"ada": {"loss": 0.01234567, "bytes": 128.0}, "bela": {"bytes": 64.0}, "carl": None}
    verdicts = {
        who: found and Verdict("", [Outcome("MyModel", 10.0, 10.0, "graded", measured=found)], seed=1)
        for who, found in measured.items()
    }
    results = SimpleNamespace(latest_of=lambda name, student: (verdicts[student], None), excused=lambda name: {})

    book = MagicMock()
    nobody_late = SimpleNamespace(spent=lambda student: 0)
    monkeypatch.setattr(exports, "Deadlines", lambda *about: nobody_late)
    monkeypatch.setattr(exports.exporting, "row", lambda book, about, student, is_excused: exports.exporting.COLUMNS)
    students = [SimpleNamespace(id=who) for who in measured]
    text = exports.nbgrader_table(SimpleNamespace(gradebook=book), SimpleNamespace(name="12"), students, results)
    header, *rows = csv.reader(io.StringIO(text))
    assert header[-2:] == ["MyModel bytes", "MyModel loss"]
    assert [one[-2:] for one in rows] == [["128.0", "0.0123"], ["64.0", ""], ["", ""]]
