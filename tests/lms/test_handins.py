"""Hand-ins from each system's layout: whose they are, which notebook counts, and what strangers' names cannot do."""

import io
import json
import zipfile
from datetime import datetime

import pytest
from conftest import ASSIGNMENT, ROOT

from autograder import course
from autograder.errors import UsageError
from autograder.grading.store import Store
from autograder.lms import handins, layouts, tables
from autograder.lms.roster import Roster, Student

NOTEBOOK = f"{ASSIGNMENT}.ipynb"
OTHERS = "03_causal_attention"
ADA = Student("ada", "Ada", "Lovelace", "ada@example.org", "123")
LEE = Student("lee", "Kim", "Lee", "lee@example.org", "124")
LEE2 = Student("lee2", "Kim", "Lee", "kim@example.org", "125")
GRADESCOPE = """\
submission_1:
  :submitters:
  - :name: Ada Lovelace
    :sid: '123'
    :email: ADA@example.org
  :created_at: 2026-04-26 17:34:00.861687000 Z
  :score: 2.0
  :results: !ruby/hash:ActiveSupport::HashWithIndifferentAccess
    score: 2.0
    output: "x"
submission_2:
  :submitters:
  - :name: Ada Lovelace
    :email: ada@example.org
  :created_at: 2026-04-27 17:34:00.861687000 Z
submission_3:
  :submitters: []
"""


def mine(text="", name=ASSIGNMENT):
    """A released notebook with a text of the student's, as bytes."""
    notebook = json.loads((ROOT / "release" / name / f"{name}.ipynb").read_text())
    notebook["cells"].append({"cell_type": "markdown", "id": "mine", "metadata": {}, "source": text})
    return json.dumps(notebook).encode()


A, B, OTHER = mine("a"), mine("b"), mine("c", OTHERS)


def zipped(files):
    with zipfile.ZipFile(made := io.BytesIO(), "w") as archive:
        for name, content in files.items():
            archive.writestr(name, content)
    return made.getvalue()


def collect(tmp_path, files, students=(), dropped=(), system=None, pattern=None, sheet=None, zone=None):
    """Collect a zip of these files; returns (the files in submitted/ by student, what was told, the notes)."""
    path = tmp_path / "class.zip"
    path.write_bytes(files if isinstance(files, bytes) else zipped(files))
    assignment, results = course.assignments(ROOT)[ASSIGNMENT], Store(tmp_path)
    roster = Roster(students, dropped)
    collector = handins.Collector(ROOT, assignment, roster, results, sheet, zone)
    collector.root = tmp_path
    with handins.unpacked(path) as (download, problems):
        collector.told.problems += problems
        collector.system = collector.add(download, system, pattern)
    told = collector.write()
    found = {p.parent.parent.name: p.read_bytes() for p in (tmp_path / "submitted").rglob("*.ipynb")}
    assert not [p for p in tmp_path.rglob("*") if p.is_symlink()]
    return found, told, results.handed_in(ASSIGNMENT), collector.system


@pytest.mark.parametrize(
    "system, files",
    [
        ("moodle", {f"Ada Lovelace_4711_assignsubmission_file/{NOTEBOOK}": A}),
        ("moodle", {f"Ada Lovelace_4711_assignsubmission_file_/{NOTEBOOK}": A}),
        ("moodle", {f"Lovelace Ada_4711_assignsubmission_file_{NOTEBOOK}": A}),
        ("moodle", {f"Group 1-Ada Lovelace_4711_assignsubmission_file_{NOTEBOOK}": A}),
        ("moodle", {f"class/Ada Lovelace_4711_assignsubmission_file/a/b/{NOTEBOOK}": A, "__MACOSX/x": b""}),
        ("moodle", {"Ada Lovelace_4711_assignsubmission_file/w.zip": zipped({f"w/{NOTEBOOK}": A})}),
        ("canvas", {f"lovelaceada_123_456_{NOTEBOOK}": A}),
        ("canvas", {f"lovelaceada_LATE_123_456_{NOTEBOOK}": A}),
        ("canvas", {"lovelaceada_123_456_work.zip": zipped({NOTEBOOK: A})}),
        (
            "gradescope",
            {
                "assignment_9_export/submission_metadata.yml": GRADESCOPE.encode(),
                f"assignment_9_export/submission_1/{NOTEBOOK}": A,
            },
        ),
        ("mail", {f"ada/{NOTEBOOK}": A}),
        ("mail", {f"Ada Lovelace <ada@example.org>/{NOTEBOOK}": A}),
        ("mail", {f"class/Lovelace, Ada (2)/{NOTEBOOK}": A, "class/readme.txt": b"x"}),
        ("mail", {f"ada_{NOTEBOOK}": A}),
        ("mail", {"Ada Lovelace hw2.ipynb": A}),
    ],
)
def test_every_layout_is_recognised_and_belongs_to_its_student(tmp_path, system, files):
    found, told, notes, recognised = collect(tmp_path, files, [ADA, LEE])
    assert recognised == system and found == {"ada": A} and told.new == ["ada"]
    assert notes["ada"]["system"] == system and notes["ada"]["late"] == any("LATE" in name for name in files)


def test_without_a_roster_ids_are_made_from_names(tmp_path):
    files = {f"Zoë O'Neill_1_assignsubmission_file/{NOTEBOOK}": A, f"Participant_2_assignsubmission_file/{NOTEBOOK}": B}
    found, told, _, _ = collect(tmp_path, files)
    assert found == {"zoë-o-neill": A, "participant-2": B} and not told.problems


def test_canvas_own_numbers_are_kept_for_the_way_back(tmp_path):
    name = f"lovelaceada_LATE_123_456_{ASSIGNMENT}-2.ipynb"
    _, told, notes, _ = collect(tmp_path, {name: A}, [ADA])
    assert notes["ada"]["entry"] == name and notes["ada"]["lms_id"] == "123" and told.late == ["ada"]
    assert layouts.canvas("leekim_LATE_125_text.html").lms_id == "125", "typed in, so without a file"
    assert layouts.canvas("LATE_anon_a1B2c_456_x.ipynb").late and layouts.canvas("notes_2026.ipynb") is None


@pytest.mark.parametrize(
    "files",
    [
        # names that a student chose, below or behind those that the system gave
        {f"Kim Lee_2_assignsubmission_file/Ada Lovelace_1_assignsubmission_file/{NOTEBOOK}": B},
        {f"Kim Lee_2_assignsubmission_file_Ada Lovelace_1_assignsubmission_file_{NOTEBOOK}": B},
        {"Kim Lee_2_assignsubmission_file/w.zip": zipped({f"Ada Lovelace_1_assignsubmission_file/{NOTEBOOK}": B})},
        {f"leekim_124_456_lovelaceada_123_457_{NOTEBOOK}": B},
        {"leekim_124_456_w.zip": zipped({f"lovelaceada_123_457_{NOTEBOOK}": B})},
    ],
)
def test_a_students_own_names_hand_in_for_nobody_else(tmp_path, files):
    found, told, _, _ = collect(tmp_path, {**files, "zz_1_assignsubmission_file/x.txt": b""}, [ADA, LEE])
    assert found == {"lee": B} or (not found and told.problems), told


@pytest.mark.parametrize(
    "files",
    [
        {f"lee/ada/{NOTEBOOK}": B},
        {f"lee/ada/{NOTEBOOK}": B, f"lee/kim/{NOTEBOOK}": A},
        {f"lee/Ada Lovelace_1_assignsubmission_file/{NOTEBOOK}": B},
        {f"lee/lovelaceada_123_456_{NOTEBOOK}": B},
        {"lee/submission_metadata.yml": GRADESCOPE.encode(), f"lee/submission_1/{NOTEBOOK}": B},
    ],
)
def test_whoever_is_alone_in_a_download_is_nobody_else_either(tmp_path, files):
    found, _, _, system = collect(tmp_path, files, [ADA, LEE])
    assert system == "mail" and set(found) == {"lee"}


def test_a_folder_around_all_is_passed_over_if_the_system_is_told(tmp_path):
    files = {f"unpacked/Ada Lovelace_1_assignsubmission_file/{NOTEBOOK}": A}
    assert not collect(tmp_path, files, [ADA])[0]
    assert collect(tmp_path, files, [ADA], system="moodle")[0] == {"ada": A}


@pytest.mark.parametrize("evil", ["../../kim", "/etc", "..", "a\x1b[2J"])
def test_names_lead_nowhere(tmp_path, evil):
    files = {f"{evil}_1_assignsubmission_file/{NOTEBOOK}": A, f"Ada Lovelace_2_assignsubmission_file/{NOTEBOOK}": B}
    found, told, _, _ = collect(tmp_path, files)
    assert found == {"ada-lovelace": B} and told.problems
    assert all(p.relative_to(tmp_path).parts[0] == "submitted" for p in tmp_path.rglob("*.ipynb"))


def test_another_name_is_taken_and_another_assignment_is_not(tmp_path):
    folder = "Ada Lovelace_1_assignsubmission_file"
    found, told, _, _ = collect(tmp_path, {f"{folder}/hw (1).ipynb": A, f"{folder}/x.ipynb": OTHER}, [ADA])
    assert found == {"ada": A} and "'hw (1).ipynb' is taken" in told.remarks[0]
    (again := tmp_path / "again").mkdir()
    found, told, _, _ = collect(again, {f"{folder}/{NOTEBOOK}": OTHER}, [ADA])
    assert not found and f"is {OTHERS}" in told.problems[0]
    found, _, _, _ = collect(again, {f"{folder}/{NOTEBOOK}": b"no notebook"}, [ADA])
    assert found == {"ada": b"no notebook"}, "the right name: grading tells the student what is wrong with it"


def test_of_several_the_latest_counts_and_it_is_said(tmp_path):
    folder = "Ada Lovelace_1_assignsubmission_file"
    found, told, _, _ = collect(tmp_path, {f"{folder}/{NOTEBOOK}": A, f"{folder}/{ASSIGNMENT} (1).ipynb": B}, [ADA])
    assert found == {"ada": B} and "has several" in told.remarks[0]
    files = {
        "submission_metadata.yml": GRADESCOPE.encode(),
        f"submission_2/{NOTEBOOK}": A,
        f"submission_1/{NOTEBOOK}": B,
        f"submission_3/{NOTEBOOK}": B,
    }
    found, told, _, _ = collect(tmp_path, files, [ADA])
    assert found == {"ada": A} and told.changed == ["ada"] and "the latest" in told.remarks[0]
    assert "submission_3" in told.problems[0]
    stamp = tmp_path / "submitted" / "ada" / ASSIGNMENT / "timestamp.txt"
    assert stamp.read_text() == "2026-04-27 17:34:00 UTC\n"
    del files[f"submission_2/{NOTEBOOK}"]
    found, told, _, _ = collect(tmp_path, files, [ADA])
    assert found == {"ada": A} and "stays" in told.remarks[0], "an older download replaces nothing"


def test_who_may_be_two_is_nobody(tmp_path):
    files = {f"Kim Lee_{n}_assignsubmission_file/{NOTEBOOK}": data for n, data in ((1, A), (2, B))}
    found, told, _, _ = collect(tmp_path, files)
    assert not found and "may be two people" in told.problems[0]
    found, told, _, _ = collect(tmp_path, files, [LEE, LEE2])
    assert not found and len(told.problems) == 2 and "lee or lee2" in told.problems[0]
    path = tmp_path / "sheet.csv"
    path.write_text(
        "Identifier,Full name,Email address,Grade\nParticipant 1,Kim Lee,lee@example.org,\n"
        "Participant 2,Kim Lee,kim@example.org,\n"
    )
    found, told, _, _ = collect(tmp_path, files, [LEE, LEE2], sheet=tables.read_table(path))
    assert found == {"lee": A, "lee2": B} and not told.problems


def test_strangers_and_the_dropped_are_told(tmp_path):
    files = {
        f"{name}_{n}_assignsubmission_file/{NOTEBOOK}": A for n, name in enumerate(("Ada Lovelace", "Kim Lee", "Eve"))
    }
    found, told, _, _ = collect(tmp_path, {**files, "notes.txt": b""}, [ADA, LEE], dropped=["lee"])
    assert found == {"ada": A} and len(told.problems) == 3
    assert any("lee was dropped" in p for p in told.problems) and any("'Eve" in p or "Eve_" in p for p in told.problems)


def test_a_pattern_of_ones_own(tmp_path):
    files = {f"hw2-lee/{NOTEBOOK}": A, f"hw2-ada/hw2-lee/{NOTEBOOK}": B}
    found, _, _, _ = collect(tmp_path, files, pattern=r"hw2-(?P<student_id>\w+)")
    assert found == {"lee": A, "ada": B}
    for wrong in ("(", r"hw2-(\w+)", r"(?P<late>x)"):
        with pytest.raises(UsageError, match="--pattern"):
            collect(tmp_path, files, pattern=wrong)


def test_a_link_in_submitted_is_not_written_through(tmp_path):
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "submitted").mkdir()
    link = tmp_path / "submitted" / "ada"
    link.symlink_to(tmp_path / "elsewhere")
    collector = handins.Collector(ROOT, course.assignments(ROOT)[ASSIGNMENT], Roster([ADA]), Store(tmp_path))
    collector.root = tmp_path
    (tmp_path / "class.zip").write_bytes(zipped({f"ada/{NOTEBOOK}": A}))
    with handins.unpacked(tmp_path / "class.zip") as (download, _):
        collector.add(download)
    told = collector.write()
    assert "link" in told.problems[0] and not list((tmp_path / "elsewhere").iterdir())


@pytest.mark.parametrize("data", [b"", b"PK\3\4 nothing", b"\x1f\x8b"])
def test_what_is_no_archive_is_one_sentence(tmp_path, data):
    with pytest.raises(UsageError, match="nothing can be read in it"):
        collect(tmp_path, data)
    with pytest.raises(UsageError, match="neither a folder nor"), handins.unpacked(ROOT / "LICENSE"):
        pass


@pytest.mark.parametrize("text", ["a: [", "- x", "!!python/object/apply:os.system ['true']", "x: 1", "[" * 5000])
def test_metadata_of_no_use_is_one_sentence(tmp_path, text):
    files = {"submission_metadata.yml": text.encode(), f"submission_1/{NOTEBOOK}": A}
    try:
        found, told, _, _ = collect(tmp_path, files)
        assert not found and "submission_1" in told.problems[0]
    except UsageError as problem:
        assert "submission_metadata.yml" in str(problem)


def test_a_worksheets_times_are_of_its_zone(tmp_path):
    from zoneinfo import ZoneInfo

    path = tmp_path / "sheet.csv"
    path.write_text(
        "Identifier,Full name,Email address,Status,Grade,Last modified (submission)\n"
        'Participant 7,Ada Lovelace,ada@example.org,2 days late,,"Monday, 20 July 2026, 9:00 PM"\n'
        "Participant 8,Kim Lee,lee@example.org,No submission,,-\n"
    )
    told = handins.participants(tables.read_table(path), ZoneInfo("Europe/Berlin"))
    assert not handins._times_untold(tables.read_table(path), told)
    assert told["7"].time == datetime(2026, 7, 20, 19, 0) and told["7"].late and told["8"].time is None


def test_a_worksheet_in_another_language_says_what_it_does_not_tell(tmp_path):
    path = tmp_path / "sheet.csv"
    path.write_text("ID,Vollst\u00e4ndiger Name,E-Mail-Adresse,Bewertung\nTeilnehmer/in7,A L,ada@example.org,\n")
    files = {f"A L_7_assignsubmission_file/{NOTEBOOK}": A}
    found, told, _, _ = collect(tmp_path, files, [ADA], sheet=tables.read_table(path))
    assert found == {"ada": A} and "export it in English" in told.remarks[0]
