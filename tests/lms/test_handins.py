"""Hand-ins from each system's layout: whose they are, which notebook counts, and what strangers' names cannot do."""

import io
import json
import re
import zipfile
from datetime import datetime
from email.message import EmailMessage
from zoneinfo import ZoneInfo

import pytest
import small_course
from conftest import ASSIGNMENT, ROOT

from autograder import cli, course
from autograder.errors import UsageError
from autograder.grading.store import Store
from autograder.intake import layouts, messages, tables, worksheet
from autograder.intake.people import Roster, Student
from autograder.intake.unpacking import Refused
from autograder.lms import handins

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


def mailed(sender="Ada Lovelace <ada@example.org>", attached=((NOTEBOOK, A),), subject="my work", text="Here it is."):
    """A message with attachments, as a mail program saves it; its own time is made up, the server's is not."""
    message = EmailMessage()
    message["Received"] = "from a by b for <c@example.org>; Mon, 23 Nov 2026 09:30:00 +0100"
    message["Received"] = "from ada by a; Thu, 1 Jan 1970 00:00:00 +0000"
    message["From"], message["To"], message["Subject"] = sender, "teacher@example.org", subject
    message["Date"] = "Thu, 01 Jan 1970 00:00:00 +0000"
    message.set_content(text)
    message.add_alternative(f"<p>{text}</p>", subtype="html")
    for name, content in attached:
        message.add_attachment(content, maintype="application", subtype="octet-stream", filename=name)
    return message.as_bytes()


def collect(tmp_path, files, students=(), dropped=(), system=None, pattern=None, sheet=None, zone=None):
    """Collect a zip of these files; returns (the files in submitted/ by student, what was told, the notes)."""
    path = tmp_path / "class.zip"
    path.write_bytes(files if isinstance(files, bytes) else zipped(files))
    assignment, results = course.assignments(ROOT)[ASSIGNMENT], Store(tmp_path)
    roster = Roster(students, dropped)
    tried, collector = (
        handins.Collector(ROOT, assignment, roster, results, sheet, zone, writes=writes) for writes in (False, True)
    )
    tried.root = collector.root = tmp_path
    with handins.unpacked(path) as (download, problems):
        for one in (tried, collector):
            one.result.problems += problems
            one.system = one.add(download, system, pattern)
    before = {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()}
    would = tried.write()
    assert {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()} == before
    told = collector.write()
    assert would == told and tried.notes == collector.notes
    found = {p.parent.parent.name: p.read_bytes() for p in (tmp_path / "submitted").glob("*/*/*.ipynb")}
    assert not [p for p in tmp_path.rglob("*") if p.is_symlink()]
    return found, told, results.handed_in(ASSIGNMENT), collector.system


@pytest.mark.parametrize(
    "system, files",
    [
        ("moodle", {f"Ada Lovelace_4711_assignsubmission_file/{NOTEBOOK}": A}),
        ("moodle", {f"Ada Lovelace_4711_assignsubmission_file_/{NOTEBOOK}": A}),
        ("moodle", {f"Lovelace Ada_4711_assignsubmission_file_{NOTEBOOK}": A}),
        (
            "moodle",
            {f"T 1-{name}_{n}_assignsubmission_file_{NOTEBOOK}": A for n, name in enumerate(["Ada Lovelace", "Eve"])},
        ),
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
        ("mail", {"Re_ hw2.eml": mailed()}),
        ("mail", {"class/my work.EML": mailed("ADA@example.org", [("w.zip", zipped({NOTEBOOK: A})), ("a.png", b"")])}),
        ("mail", {"ada/any.eml": mailed("teacher@example.org")}),
    ],
)
def test_every_layout_belongs_to_its_student(tmp_path, system, files):
    found, told, notes, _ = collect(tmp_path, files, [ADA, LEE], system=system)
    assert found == {"ada": A} and [(one.student, one.what) for one in told.taken] == [("ada", handins.NEW)]
    assert notes["ada"]["system"] == system and notes["ada"]["late"] == any("LATE" in name for name in files)


@pytest.mark.parametrize(
    "system, files",
    [
        ("moodle", {f"{name}_{n}_assignsubmission_file/{NOTEBOOK}": A for n, name in ((1, "Ada X"), (2, "Kim Lee"))}),
        ("canvas", {f"{name}_{n}_456_{NOTEBOOK}": A for n, name in ((123, "lovelaceada"), (124, "leekim"))}),
        (
            "gradescope",
            {
                "assignment_9_export/submission_metadata.yml": GRADESCOPE.replace("ada@", "kim@", 1).encode(),
                f"assignment_9_export/submission_1/{NOTEBOOK}": A,
                f"assignment_9_export/submission_2/{NOTEBOOK}": A,
            },
        ),
        ("mail", {f"{name}/{NOTEBOOK}": A for name in ("ada", "lee")}),
        ("mail", {"1.eml": mailed(), "2.eml": mailed("lee@example.org")}),
    ],
)
def test_every_layout_of_several_is_recognised(tmp_path, system, files):
    assert collect(tmp_path, files)[3] == system


def test_mail_which_takes_any_name_comes_last_and_no_other_system_is_known(capsys):
    assert list(layouts.LAYOUTS)[-1] == "mail"
    with pytest.raises(SystemExit):
        cli.main(["collect", "02", "x.zip", "--from", "moodel"])
    assert f"--from: 'moodel' is none of {', '.join(layouts.LAYOUTS)}" in capsys.readouterr().err


def test_a_download_is_from_the_system_that_knows_most_of_its_names(tmp_path, monkeypatch):
    """Whoever hands in two files by names of another system's has the class not taken for that system's."""

    def lamp(name):
        found = re.match(r"lamp-(\d+)-([^~]+)~", name)
        return found and layouts.Owner(found[2], lms_id=found[1], given=found[0])

    monkeypatch.setitem(layouts.LAYOUTS, "lamp", layouts.Layout(lamp, has_ids=True))
    typed = {"lamp-124-Kim Lee~x_123_456_y.ipynb": B, "lamp-124-Kim Lee~x_124_457_z.ipynb": B}
    *_, system = collect(tmp_path, {**typed, "lamp-123-Ada Lovelace~y.ipynb": A}, [ADA, LEE])
    assert system == "lamp"
    with pytest.raises(UsageError, match="This may be a download of canvas or of lamp: say which with --from"):
        collect(tmp_path, typed, [ADA, LEE])


def test_without_a_roster_ids_are_made_from_names(tmp_path):
    files = {f"Zoë O'Neill_1_assignsubmission_file/{NOTEBOOK}": A, f"Participant_2_assignsubmission_file/{NOTEBOOK}": B}
    found, told, _, _ = collect(tmp_path, files)
    assert found == {"zoë-o-neill": A, "participant-2": B} and not told.problems


def test_canvas_own_numbers_are_kept_for_the_way_back(tmp_path):
    name = f"lovelaceada_LATE_123_456_{ASSIGNMENT}-2.ipynb"
    _, told, notes, _ = collect(tmp_path, {name: A}, [ADA], system="canvas")
    assert notes["ada"]["entry"] == name and notes["ada"]["lms_id"] == "123" and told.late == ["ada"]
    assert layouts.canvas("leekim_LATE_125_text.html").lms_id == "125", "typed in, so without a file"
    assert layouts.canvas_anonymous("LATE_anon_a1B2c_456_x.ipynb").late and layouts.canvas("notes_2026.ipynb") is None


# an entry of another student, by which a download is known as the system's
BESIDE = {"moodle": "zz_1_assignsubmission_file/x.txt", "canvas": "zz_9_9_x.txt"}


@pytest.mark.parametrize("said", [True, False], ids=["from", "by its names"])
@pytest.mark.parametrize(
    "system, files",
    [
        # names that a student chose, below or behind those that the system gave
        ("moodle", {f"Kim Lee_2_assignsubmission_file/Ada Lovelace_1_assignsubmission_file/{NOTEBOOK}": B}),
        ("moodle", {f"Kim Lee_2_assignsubmission_file_Ada Lovelace_1_assignsubmission_file_{NOTEBOOK}": B}),
        (
            "moodle",
            {"Kim Lee_2_assignsubmission_file/w.zip": zipped({f"Ada Lovelace_1_assignsubmission_file/{NOTEBOOK}": B})},
        ),
        ("canvas", {f"leekim_124_456_lovelaceada_123_457_{NOTEBOOK}": B}),
        ("canvas", {"leekim_124_456_w.zip": zipped({f"lovelaceada_123_457_{NOTEBOOK}": B})}),
    ],
)
def test_a_students_own_names_hand_in_for_nobody_else(tmp_path, system, files, said):
    """Beside an entry of another student."""
    files = {**files, BESIDE[system]: b""}
    found, told, _, used = collect(tmp_path, files, [ADA, LEE], system=system if said else None)
    assert used == system
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
    found, told, _, _ = collect(tmp_path, files, system="moodle")
    assert found == {"ada-lovelace": B} and told.problems
    assert all(p.relative_to(tmp_path).parts[0] == "submitted" for p in tmp_path.rglob("*.ipynb"))


@pytest.mark.parametrize("packed", [True, False])
def test_what_programs_hide_beside_a_notebook_is_passed_over(tmp_path, packed):
    """One student's `.git` would hide what is said of others, and a checkpoint is not what was handed in."""
    hidden = [".git/objects/ab/x", ".ipynb_checkpoints/hw2 (9).ipynb", ".venv/x.py", ".DS_Store"]
    files = {"w/hw2.ipynb": A, **{f"w/{name}": B for name in hidden}}
    if packed:
        files = {"w.zip": zipped(files)}
    for name, content in files.items():
        path = tmp_path / "in" / "Ada Lovelace_1_assignsubmission_file" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
    collector = handins.Collector(ROOT, course.assignments(ROOT)[ASSIGNMENT], Roster([ADA]), Store(tmp_path))
    collector.root = tmp_path
    with handins.unpacked(tmp_path / "in") as (download, problems):
        collector.add(download, "moodle")
    written = collector.write()
    assert problems == written.problems == [] and written.remarks == [
        "ada: 'hw2.ipynb' is taken, since its cells are this assignment's"
    ]
    assert (tmp_path / "submitted" / "ada" / ASSIGNMENT / NOTEBOOK).read_bytes() == A


def unmarked(data):
    """The notebook as a service saves it that keeps no marks."""
    made = json.loads(data)
    made["cells"] = [{"cell_type": c["cell_type"], "metadata": {}, "source": c["source"]} for c in made["cells"]]
    return json.dumps(made).encode()


@pytest.mark.parametrize(
    "name, data",
    [
        ("hw.ipynb.json", A),
        ("hw.ipynb.txt", A),
        ("hw.json", A),
        ("hw", A),
        ("hw.ipynb ", A),
        ("hw.IPYNB", A),
        ("hw.html", A),
        ("Copy of hw.ipynb", unmarked(A)),
        ("hw.ipynb", json.dumps({"type": "notebook", "content": json.loads(A)}).encode()),
        ("hw.ipynb", A.decode().encode("utf-16")),
        ("hw.ipynb", A + b"\0" * 4096),
    ],
)
def test_a_notebook_is_taken_by_its_content(tmp_path, name, data):
    files = {f"Ada Lovelace_1_assignsubmission_file/{name}": data}
    found, told, _, _ = collect(tmp_path, files, [ADA], system="moodle")
    assert found == {"ada": data} and told.problems == [] and "is taken, since its cells" in told.remarks[0]


@pytest.mark.parametrize("attached", ["hw.ipynb.txt", "hw.json", "hw", "hw.ipynb"])
def test_a_notebook_is_taken_by_its_content_from_mail(tmp_path, attached):
    found, told, _, _ = collect(tmp_path, {"a.eml": mailed(attached=[(attached, A)])}, [ADA], system="mail")
    assert found == {"ada": A} and told.problems == []


def test_a_script_is_taken_if_a_notebook_was_exported_to_it(tmp_path):
    title = next(line for line in json.loads(A)["cells"][0]["source"] if line.startswith("# ")).strip()
    script = f"# %% [markdown]\n# {title}\n\n# %%\nimport torch\n".encode()
    files = {"Ada Lovelace_1_assignsubmission_file/hw.py": script}
    assert collect(tmp_path, files, [ADA], system="moodle")[0] == {"ada": script}


@pytest.mark.parametrize(
    "name, data, says",
    [
        ("hw.pdf", b"%PDF-1.7", "hw.pdf is a PDF, not the notebook"),
        ("hw.html", b"<!DOCTYPE html><html>", "hw.html is a web page"),
        ("hw.ipynb", b"<html><title>Log in</title>", "hw.ipynb is a sign-in page"),
        ("hw.txt", b"https://colab.research.google.com/drive/1", "hw.txt is a link to Colab"),
        ("hw.py", b"import torch\n", "hw.py is a program in Python without cells"),
        ("hw.docx", b"PK\3\4" + b"\0" * 26 + b"word/document.xml", "hw.docx is a Word file"),
        ("hw.json", b'{"a": 1}', "hw.json is"),
    ],
)
def test_what_else_was_handed_in_is_named(tmp_path, name, data, says):
    files = {f"Ada Lovelace_1_assignsubmission_file/{name}": data}
    found, told, _, _ = collect(tmp_path, files, [ADA], system="moodle")
    assert not found and says in told.problems[0] and told.unusable == {"ada"}


def test_the_state_of_widgets_is_not_kept(tmp_path):
    made = json.loads(A)
    made["metadata"]["widgets"] = {"state": "x" * 26 * 2**20}
    files = {f"Ada Lovelace_1_assignsubmission_file/{NOTEBOOK}": json.dumps(made).encode()}
    found, told, _, _ = collect(tmp_path, files, [ADA], system="moodle")
    assert told.problems == [] and len(found["ada"]) < 2**20
    sources = [[cell["source"] for cell in json.loads(data)["cells"]] for data in (found["ada"], A)]
    assert sources[0] == sources[1]


def test_another_name_is_taken_and_another_assignment_is_not(tmp_path):
    folder = "Ada Lovelace_1_assignsubmission_file"
    files = {f"{folder}/hw (1).ipynb": A, f"{folder}/x.ipynb": OTHER}
    found, told, _, _ = collect(tmp_path, files, [ADA], system="moodle")
    assert found == {"ada": A} and "'hw (1).ipynb' is taken" in told.remarks[0]
    (again := tmp_path / "again").mkdir()
    found, told, _, _ = collect(again, {f"{folder}/{NOTEBOOK}": OTHER}, [ADA], system="moodle")
    assert not found and f"is {OTHERS}" in told.problems[0] and told.unusable == {"ada"}
    found, _, _, _ = collect(again, {f"{folder}/{NOTEBOOK}": b"no notebook"}, [ADA], system="moodle")
    assert found == {"ada": b"no notebook"}, "the right name: grading tells the student what is wrong with it"


def test_of_several_the_latest_counts_and_it_is_said(tmp_path):
    folder = "Ada Lovelace_1_assignsubmission_file"
    files = {f"{folder}/{NOTEBOOK}": A, f"{folder}/{ASSIGNMENT} (1).ipynb": B}
    found, told, _, _ = collect(tmp_path, files, [ADA], system="moodle")
    assert found == {"ada": B} and "has several" in told.remarks[0]
    files = {
        "submission_metadata.yml": GRADESCOPE.encode(),
        f"submission_2/{NOTEBOOK}": A,
        f"submission_1/{NOTEBOOK}": B,
        f"submission_3/{NOTEBOOK}": B,
    }
    found, told, _, _ = collect(tmp_path, files, [ADA], system="gradescope")
    assert (
        found == {"ada": A}
        and [(one.student, one.what) for one in told.taken] == [("ada", handins.CHANGED)]
        and "the latest" in told.remarks[0]
    )
    assert "submission_3" in told.problems[0]
    stamp = tmp_path / "submitted" / "ada" / ASSIGNMENT / "timestamp.txt"
    assert stamp.read_text() == "2026-04-27 17:34:00 UTC\n"
    del files[f"submission_2/{NOTEBOOK}"]
    found, told, _, _ = collect(tmp_path, files, [ADA], system="gradescope")
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
    with pytest.raises(UsageError, match="nothing in it can be read"):
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
    path = tmp_path / "sheet.csv"
    path.write_text(
        "Identifier,Full name,Email address,Status,Grade,Last modified (submission)\n"
        'Participant 7,Ada Lovelace,ada@example.org,2 days late,,"Monday, 20 July 2026, 9:00 PM"\n'
        "Participant 8,Kim Lee,lee@example.org,No submission,,-\n"
    )
    sheet = worksheet.Worksheet(tables.read_table(path))
    told = sheet.participants(ZoneInfo("Europe/Berlin"))
    assert not sheet.time_warning(told)
    assert told["7"].time == datetime(2026, 7, 20, 19, 0) and told["7"].late and told["8"].time is None


@pytest.mark.parametrize("time", ["0001-01-01 00:00", "9999-12-31 23:59"])
@pytest.mark.parametrize("zone", ["America/New_York", "Asia/Tokyo"])
def test_a_time_at_an_end_of_the_calendar_stops_nobody(tmp_path, time, zone):
    """One of the two zones leads out of it."""
    path = tmp_path / "sheet.csv"
    header = "Identifier,Full name,Email address,Status,Grade,Last modified (submission)\n"
    path.write_text(f"{header}Participant 7,Ada Lovelace,ada@example.org,,,{time}\n")
    files = {f"Ada Lovelace_7_assignsubmission_file/{NOTEBOOK}": A}
    found, _, _, _ = collect(tmp_path, files, [ADA], sheet=tables.read_table(path), zone=ZoneInfo(zone))
    assert found == {"ada": A}
    hours = {"America/New_York": "-05:00", "Asia/Tokyo": "+09:00"}[zone]
    metadata = GRADESCOPE.replace("2026-04-27 17:34:00.861687000 Z", f"{time}:00 {hours}")
    files = {"submission_metadata.yml": metadata.encode(), f"submission_2/{NOTEBOOK}": B}
    (again := tmp_path / "again").mkdir()
    found, _, _, _ = collect(again, files, [ADA], system="gradescope")
    assert found == {"ada": B}


def test_a_worksheet_in_another_language_says_what_it_does_not_tell(tmp_path):
    path = tmp_path / "sheet.csv"
    path.write_text("ID,Vollst\u00e4ndiger Name,E-Mail-Adresse,Bewertung\nTeilnehmer/in7,A L,ada@example.org,\n")
    files = {f"A L_7_assignsubmission_file/{NOTEBOOK}": A}
    found, told, _, _ = collect(tmp_path, files, [ADA], sheet=tables.read_table(path))
    assert found == {"ada": A} and "export the worksheet in English" in told.remarks[0]


def test_a_worksheet_says_of_whom_it_cannot_read_a_time(tmp_path):
    path = tmp_path / "sheet.csv"
    path.write_text(
        "Identifier,Full name,Email address,Status,Grade,Last modified (submission)\n"
        'Participant 7,Ada L,ada@example.org,,,"Friday, 20 November 2026, 9:05 PM"\n'
        'Participant 8,Kim Lee,lee@example.org,,,"perjantai, 20. mysteerikuuta 2026, 21.05"\n'
        "Participant 9,Tom Ek,ek@example.org,,,03/11/2026\n"
        "Participant 10,Bo Ek,bo@example.org,,,-\n"
    )
    files = {f"{name}_{number}_assignsubmission_file/{NOTEBOOK}": A for name, number in (("Ada L", 7), ("Kim Lee", 8))}
    _, told, _, _ = collect(tmp_path, files, [ADA], sheet=tables.read_table(path))
    (said,) = [remark for remark in told.remarks if "export the worksheet in English" in remark]
    assert "2 of the times cannot be read, such as 'perjantai, 20. mysteerikuuta 2026, 21.05'" in said
    assert "so these do not count as late (Kim Lee, Tom Ek)" in said


# --- saved messages -------------------------------------------------------------------------------


def test_messages_are_their_senders_and_of_several_the_one_that_came_last_counts(tmp_path):
    late = mailed(attached=[("hw (1).ipynb", B)]).replace(b"23 Nov 2026 09:30", b"24 Nov 2026 09:30")
    files = {"b.eml": mailed(), "a.eml": late, "c.eml": mailed("lee@example.org", subject="Ada Lovelace")}
    found, told, notes, system = collect(tmp_path, files, [ADA, LEE])
    assert (system, found) == ("mail", {"ada": B, "lee": A}) and not told.problems
    assert any("counts, the latest" in said for said in told.remarks)
    assert notes["ada"]["time"] == "2026-11-24 08:30:00" and notes["ada"]["entry"] == "a.eml"
    assert (tmp_path / "submitted" / "lee" / ASSIGNMENT / "timestamp.txt").read_text() == "2026-11-23 08:30:00 UTC\n"
    path = tmp_path / "one.eml"
    path.write_bytes(mailed())
    with handins.unpacked(path) as (download, problems):
        assert layouts.hand_ins(download, "mail")[0][0].owner.email == "ada@example.org" and not problems


@pytest.mark.parametrize(
    "sender, subject",
    [
        ("Ada Lovelace <eve@example.org>", "ada"),
        ("ada@evil.org", "Ada Lovelace"),
        ('"ada@example.org" <eve@example.org>', "ada@example.org"),
        ("ada@example.org, eve@example.org", "ada"),
        ("eve@example.org", "Ada Lovelace_1_assignsubmission_file_"),
        ("", "ada"),
    ],
)
def test_a_name_or_subject_that_a_sender_chose_hands_in_for_nobody(tmp_path, sender, subject):
    files = {f"{subject}.eml": mailed(sender, subject=subject)}
    found, told, _, _ = collect(tmp_path, files, [ADA])
    assert not found and len(told.problems) == 1 and "nobody on the roster" in told.problems[0], told


def test_a_pattern_finds_the_student_in_the_subject(tmp_path):
    files = {"1.eml": mailed("eve@example.org", subject="hw2 of ada"), "2.eml": mailed("lee@example.org", [], "hi")}
    found, told, _, _ = collect(tmp_path, files, [ADA, LEE], pattern=r"hw2 of (?P<student_id>\w+)")
    assert found == {"ada": A} and told.problems == ["Skipped 2.eml: it has no notebook attached"]


def within(data):
    """A message that holds another one."""
    outer = EmailMessage()
    outer["From"] = "lee@example.org"
    outer.set_content("Look:")
    inner = EmailMessage()
    inner["From"] = "ada@example.org"
    inner.add_attachment(data, maintype="application", subtype="octet-stream", filename=NOTEBOOK)
    outer.add_attachment(inner)
    return outer.as_bytes()


NESTED = b"".join(b"Content-Type: multipart/mixed; boundary=%d\n\n--%d\n" % (n, n) for n in range(500))
HOSTILE = {
    "not a message": (b"\0\xff" * 999, "it has no notebook attached"),
    "empty": (b"", "it has no notebook attached"),
    "a message within": (within(A), "it has no notebook attached"),
    "nothing attached": (mailed(attached=[("cv.pdf", b"x")]), "it has no notebook attached"),
    "no name": (mailed(attached=[("..", A), ("a/..", A)]), "it has no notebook attached"),
    "many parts": (b"Content-Type: multipart/mixed; boundary=a\n\n" + b"--a\n\n" * 10**5, "too many parts"),
    "many lines": (b"\r" * 2 * 10**6, "too many parts"),
    "nested parts": (NESTED, "too many parts"),
    "a long header": (b"Content-Type: a/b; " + b'";' * 10**6 + b"\n\n", "too many parts"),
    "a folded header": (b"Content-Type: a/b" + b";\n a=b" * 10**5 + b"\n\n", "too many parts"),
    "large": (b"x" * (messages.MAX_MESSAGE + 1), "more than 40 MB"),
}


@pytest.mark.parametrize("kind", HOSTILE)
def test_a_hostile_message_is_refused_in_a_sentence(tmp_path, kind):
    data, says = HOSTILE[kind]
    path = tmp_path / "a.eml"
    path.write_bytes(data)
    with pytest.raises(Refused, match=says):
        messages.Message(path)
    messages.sender(path)


@pytest.mark.parametrize("value", ["(" * 1900, '"' * 1999, "<" * 1000, "a@b," * 400, "=?utf-8?q?=FF?=" * 99, "\udcff"])
def test_a_hostile_header_tells_nothing_and_stops_nothing(tmp_path, value):
    path = tmp_path / "a.eml"
    said = f"From: {value}\nSubject: {value}\nReceived: {value};{value}\n\n"
    path.write_bytes(said.encode("utf-8", "surrogateescape"))
    assert messages.sender(path).time is None


@pytest.mark.parametrize(
    "header",
    [
        b"From: ada@example.org\nFrom: eve@evil.org",
        b"Subject: x\rFrom: ada@example.org\nFrom: eve@evil.org",
        b"Subject: x\n \nFrom: ada@example.org\nFrom: eve@evil.org",
        b"From: " + b"x" * 3000 + b" <eve@evil.org>\nFrom: ada@example.org",
        b"From: ada@example.org <eve@evil.org>",
        b"From: ada@example.org\n <eve@evil.org>",
        b"From: ada@example.org, <eve@evil.org>",
        b"From: Friends: ada@example.org;",
        b"From: ada@example.org:eve@evil.org;",
        b"From: nobody:;, ada@example.org",
        b"From: <ada@example.org> <eve@evil.org>",
        b"From: <ada@example.org>eve@evil.org",
        b"From: <ada@example.org:eve@evil.org>",
        b"From: ada@example.org eve@evil.org",
        b"From: ada@example.org; eve@evil.org",
        b"From: ada@example.org(x)@evil.org",
        b"From: ada@example.org\0@evil.org",
        b"From: =?utf-8?q?ada?=@example.org",
        b"From: ada@=?utf-8?q?example.org?=",
        b"From: =?utf-8?q?ada=40example.org=3E?= eve@evil.org",
        b'From: "ada@example.org"@evil.org',
        b"From : eve@evil.org\nFrom: ada@example.org",
        b"From: ada@example.org\nfrom\t: eve@evil.org",
        b"Resent-From: ada@example.org\nSender: ada@example.org\nReply-To: ada@example.org\nFrom: eve@evil.org",
    ],
)
def test_a_sender_is_the_one_address_that_everybody_reads(tmp_path, header):
    (tmp_path / "a.eml").write_bytes(header + b"\nTo: ada@example.org\n\nx")
    assert messages.sender(tmp_path / "a.eml").address != "ada@example.org"


@pytest.mark.parametrize(
    "value",
    [
        "ada@example.org",
        "<ada@example.org>",
        "Ada Lovelace <ada@example.org>",
        '"Lovelace, Ada" <ada@example.org>',
        "Ada B. Lovelace <ada@example.org>",
        "O'Ada [x] (eve@evil.org) <ada@example.org> (Ada)",
        "ada@example.org (Ada Lovelace)",
        "ada@example.org <ada@example.org>",
        '"eve@evil.org" <ada@example.org>',
        '"=?UTF-8?Q?B=C3=A9la?=" <ada@example.org>',
        "=?UTF-8?Q?B=C3=A9la?=\n =?UTF-8?Q?B=C3=A9la?=\n <ada@example.org>",
        "B\N{LATIN SMALL LETTER E WITH ACUTE}la \N{SNOWMAN} <ada@example.org>",
    ],
)
def test_an_honest_sender_is_known_however_the_program_writes_it(tmp_path, value):
    (tmp_path / "a.eml").write_bytes(f"From: {value}\r\nTo: x@y.z\r\n\r\nx".encode())
    assert messages.sender(tmp_path / "a.eml").address == "ada@example.org"


def test_an_attachments_name_leads_nowhere(tmp_path):
    files = {"a.eml": mailed(attached=[("../../../evil.ipynb", A)])}
    found, told, _, _ = collect(tmp_path, files, [ADA])
    assert found == {"ada": A} and not list(tmp_path.parent.glob("evil*")) and "'evil.ipynb' is taken" in str(told)


@pytest.mark.parametrize("form", ["text", "json"])
def test_a_dry_run_says_whose_each_file_would_be_and_writes_nothing(tmp_path, form):
    place, name = small_course.copy(tmp_path / "course"), small_course.NAME
    source = (place / "source" / name / f"{name}.ipynb").read_bytes()
    files = {f"ada/{name}.ipynb": source, f"Eve \x1b[31m/{name}.ipynb": source, "bob/notes.txt": b"x"}
    (place / "hw.zip").write_bytes(zipped(files))
    code, out, err = small_course.autograder(place, "collect", "01", "hw.zip", "--dry-run", "--format", form)
    assert code == 1 and not (place / "submitted").exists()
    if form == "text":
        assert re.search(rf"^ada +'{name}.ipynb' of 'ada': new, no time$", out, re.M)
        assert "\x1b" not in out and "nothing is written yet" in err
        return
    told = json.loads(out)
    (ada,) = told["taken"]
    assert (ada["student"], ada["what"], ada["file"]) == ("ada", "new", f"{name}.ipynb")
    assert told["written"] is False and any("bob" in one for one in told["problems"]) and err == ""


@pytest.mark.parametrize("there", ["", "ada", "ada/NAME", "ada/NAME/NAME.ipynb/x", "ada/NAME/timestamp.txt/x"])
def test_a_dry_run_finds_in_the_way_what_is_in_the_way(tmp_path, there):
    place, name = small_course.copy(tmp_path / "course"), small_course.NAME
    source = (place / "source" / name / f"{name}.ipynb").read_bytes()
    (place / "hw.eml").write_bytes(mailed(attached=[(f"{name}.ipynb", source)]))
    (place / "roster.csv").write_text("id,name,email\nada,Ada Lovelace,ada@example.org\n")
    small_course.autograder(place, "roster", "roster.csv")
    in_the_way = place / "submitted" / there.replace("NAME", name)
    in_the_way.parent.mkdir(parents=True, exist_ok=True)
    in_the_way.write_text("")
    before = sorted((place / "submitted").rglob("*")) if there else []
    told = []
    for more in (["--dry-run"], []):
        code, out, _ = small_course.autograder(place, "collect", "01", "hw.eml", "--format", "json", *more)
        said = json.loads(out)
        told.append([code, said["taken"], said["problems"]])
    assert told[0] == told[1] and told[0][:2] == [1, []] and "something else is in the place" in str(told)
    assert (sorted((place / "submitted").rglob("*")) if there else []) == before
