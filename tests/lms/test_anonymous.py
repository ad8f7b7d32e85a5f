"""Hand-ins without names go all the way: a download of Moodle's in, grades by number in its own worksheet out."""

import csv
import io
import zipfile

import pytest
import small_course

NAME = small_course.NAME
FIELDS = ["Identifier", "Full name", "Status", "Grade", "Maximum Grade", "Grade can be changed"]


@pytest.fixture(scope="module")
def course(tmp_path_factory):
    place = small_course.copy(tmp_path_factory.mktemp("anonymous") / "course")
    assert small_course.autograder(place, "build")[0] == 0
    return place


def blind(*numbers):
    """Moodle's worksheet of an assignment that hides names."""
    rows = io.StringIO()
    writer = csv.DictWriter(rows, [field for field in FIELDS if field != "Full name"])
    writer.writeheader()
    for number in numbers:
        writer.writerow(
            {"Identifier": f"Participant {number}", "Status": "Submitted for grading", "Maximum Grade": "5.00"}
        )
    return rows.getvalue()


@pytest.mark.parametrize("with_roster", [False, True], ids=["without a roster", "with a roster"])
def test_grades_come_back_by_number(course, tmp_path, with_roster):
    if with_roster:
        (tmp_path / "class.csv").write_text("id,first_name,last_name,email\nada,Ada,Lovelace,ada@x.org\n")
        assert small_course.autograder(course, "roster", tmp_path / "class.csv")[0] == 0
    with zipfile.ZipFile(tmp_path / "blind.zip", "w") as archive:
        for number, folder in ((4711, "release"), (4712, "solutions")):
            notebook = (course / folder / NAME / f"{NAME}.ipynb").read_bytes()
            archive.writestr(f"Participant_{number}_assignsubmission_file/{NAME}.ipynb", notebook)
    sheet = tmp_path / "blind.csv"
    sheet.write_text(blind(4711, 4712, 4713))
    code, out, said = small_course.autograder(course, "collect", "01", tmp_path / "blind.zip", sheet)
    assert code == 0 and "anonymous" in out + said
    code, out, said = small_course.autograder(course, "grade", "01")
    assert code == 0 and "0 unreadable" in out and "participant-4712" in out, out + said
    code, out, said = small_course.autograder(course, "export", "01", "moodle", "--fill", sheet)
    assert code == 0, out + said
    (filled,) = (course / "exports" / NAME).glob("*moodle*.csv")
    rows = {row["Identifier"]: row["Grade"] for row in csv.DictReader(filled.read_text().splitlines())}
    assert rows["Participant 4711"].startswith("0") and float(rows["Participant 4712"]) > 0
    assert rows["Participant 4713"] == ""
