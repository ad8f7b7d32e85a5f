"""Reading and restoring submissions: whatever they are, one sentence or cells in order."""

import json
import os
from dataclasses import replace

import pytest
from conftest import ASSIGNMENT, hand_in

from autograder import course
from autograder.errors import Unreadable
from autograder.submission import read as reading
from autograder.submission.read import SubmittedCell
from autograder.submission.restore import restore

NOTEBOOK = {"nbformat": 4, "nbformat_minor": 5, "metadata": {}, "cells": []}


def code(source, grade_id=None, **extra):
    metadata = {"nbgrader": {"grade_id": grade_id}} if grade_id else {}
    return {"cell_type": "code", "id": "x", "metadata": metadata, "source": source, "outputs": [], **extra}


def read(cells):
    return reading.read_notebook(json.dumps({**NOTEBOOK, "cells": cells}).encode())


@pytest.mark.drawn(12, "files that are no notebook")
@pytest.mark.parametrize(
    "data, says",
    [
        (b"", "is empty"),
        (b"\xff\xfe\x00\xd8", "UTF-8"),
        (b"PK\x03\x04", "a zip archive"),
        (b"[]", "no list of cells"),
        (b"{}", "no list of cells"),
        (b'{"cells": 3, "nbformat": 4}', "no list of cells"),
        (b'{"cells": []}', "which format"),
        (b'{"cells": [], "nbformat": 3}', "format 3"),
        (b'{"worksheets": [{"cells": []}], "nbformat": 3}', "format 3"),
        (b'{"nbformat": 4,\n<<<<<<< HEAD\n"cells": [],\n=======\n>>>>>>> mine\n}', "line 2 is the mark of a merge"),
        (b'{"nbformat": 4,\r\n<<<<<<<\r\n', "line 2 is the mark of a merge"),
        (
            b"version https://git-lfs.github.com/spec/v1\noid sha256:4d7a\nsize 12345\n",
            "what Git LFS leaves in its place",
        ),
        (b'{"cells": [], "nbformat": 5}', "format 5"),
        (b'{"cells": [], "nbformat": "4\\n\\ud800"}', "format '4"),
        (b'{"cells": [3], "nbformat": 4}', "cell 1"),
        (b'{"cells": [{"source": {"a": 1}}], "nbformat": 4}', "cell 1"),
        (b"[" * 100_000, "nested"),
        *(
            (b'{"nbformat":4,"cells":[],"x":[' + part * (4 * 2**20 // len(part) * 2) + b"0]}", "parts")
            for part in (b"[[]],", b'{"":0},', b'"ab",', b'{"a":{}},', b"1,", b'"\\"\\\\",')
        ),
        (json.dumps({**NOTEBOOK, "cells": [{}] * 3000}).encode(), "3000 cells"),
        (json.dumps({**NOTEBOOK, "cells": [code("x" * 2_000_000)]}).encode(), "characters"),
    ],
)
def test_what_is_no_notebook_is_refused_in_a_sentence(data, says):
    with pytest.raises(Unreadable) as problem:
        reading.read_notebook(data)
    assert says in str(problem.value) and "\n" not in str(problem.value)


def test_a_merge_conflict_that_is_text_in_a_cell_is_no_conflict_of_the_notebook():
    assert [cell.source for cell in read([code("<<<<<<< HEAD\nx = 1\n")])] == ["<<<<<<< HEAD\nx = 1\n"]


def test_the_outputs_of_an_honest_notebook_of_the_largest_size_are_read():
    line = 'tensor([[0.12, 0.34], [0.56, 0.78]]) {\'epoch\': 1, "loss": 0.1234} \\n, path\\\\, \\"\n'
    outputs = [{"output_type": "stream", "name": "stdout", "text": [line] * 200_000}]
    data = json.dumps({**NOTEBOOK, "cells": [code("x = 1", outputs=outputs)]}, indent=1).encode()
    assert reading.MAX_FILE * 0.9 < len(data) < reading.MAX_FILE
    assert [cell.source for cell in reading.read_notebook(data)] == ["x = 1"]


def test_odd_cells_are_taken_as_far_as_they_go():
    cells = read(
        [
            {"source": ["a\n", "b"]},
            {"cell_type": "code", "metadata": None, "source": "c"},
            {"cell_type": "code", "metadata": {"nbgrader": {"grade_id": ["x"]}}, "source": "\ud800"},
            {"cell_type": "weird", "id": "not an id!", "source": ""},
        ]
    )
    assert [c.source for c in cells] == ["a\nb", "c", "?", ""]
    assert [c.cell_type for c in cells] == ["raw", "code", "code", "raw"]
    assert {c.grade_id for c in cells} == {None} and {c.id for c in cells} == {""}


@pytest.mark.parametrize("kind", ["missing", "folder", "link", "fifo", "huge"])
def test_what_is_no_file_is_refused_in_a_sentence(tmp_path, kind):
    path = tmp_path / "it.ipynb"
    if kind == "folder":
        path.mkdir()
    elif kind == "link":
        (tmp_path / "secret").write_text("{}")
        path.symlink_to(tmp_path / "secret")
    elif kind == "fifo":
        os.mkfifo(path)
    elif kind == "huge":
        path.write_bytes(b"")
        os.truncate(path, 2**31)
    with pytest.raises(Unreadable) as problem:
        reading.read_bytes(path)
    assert str(problem.value).count("\n") == 0


class TestRestoring:
    """The cells of assignment 02, mangled in the ways that editors mangle them."""

    @pytest.fixture
    def assignment(self):
        return course.assignments()[ASSIGNMENT]

    @pytest.fixture
    def cells(self, release):
        return reading.read_notebook(json.dumps(release).encode())

    def restored(self, cells, assignment):
        return restore(cells, assignment.cells, assignment)

    def edited(self, cells, grade_id, **edits):
        return [replace(cell, **edits) if cell.grade_id == grade_id else cell for cell in cells]

    def graded(self, cells):
        return [c.exercise for c in cells if c.exercise]

    def test_untouched(self, cells, assignment):
        restored = self.restored(cells, assignment)
        assert len(restored) == len(cells)
        assert self.graded(restored) == [e.name for e in assignment.exercises]
        assert not any(c.added for c in restored)

    def unmarked(self, cells):
        return [replace(cell, grade_id=None, id="") for cell in cells]

    def places(self, restored):
        """The text before each check cell, by exercise."""
        return {c.exercise: restored[i - 1].source.strip() for i, c in enumerate(restored) if c.exercise}

    def test_a_copy_without_marks_has_its_checks_where_they_are(self, cells, assignment):
        restored = self.restored([*self.unmarked(cells), SubmittedCell("code", "", "")], assignment)
        checks = [c for c in restored if c.exercise]
        assert self.graded(restored) == [e.name for e in assignment.exercises]
        assert not any(c.added for c in checks) and not any(c.runs for c in checks)
        assert self.places(restored) == self.places(self.restored(cells, assignment))

    def test_where_some_marks_are_left_the_other_checks_are_known_by_their_texts(self, cells, assignment):
        first, *_, last = (e.name for e in assignment.exercises)
        some = [cell if cell.grade_id == first else replace(cell, grade_id=None, id="") for cell in cells]
        again = replace(next(c for c in cells if c.grade_id == last), grade_id=None, id="")
        restored = self.restored([*some, again], assignment)
        assert not any(c.added for c in restored if c.exercise)
        assert self.places(restored) == self.places(self.restored(cells, assignment))
        assert restored[-1].known is None  # a second copy is the student's own

    @pytest.mark.parametrize("how", ["longer", "deleted"])
    def test_a_check_without_mark_that_was_changed_is_put_behind_its_copy_or_the_answer(self, cells, assignment, how):
        names = {e.name for e in assignment.exercises}
        changed = []
        for cell in cells:
            if cell.grade_id not in names or cell.cell_type != "code" or how == "longer":
                more = "\nprint('mine')" if cell.grade_id in names else ""
                changed.append(replace(cell, grade_id=None, id="", source=cell.source + more))
        restored = self.restored([*changed, SubmittedCell("code", "F = 5", "")], assignment)
        by_name = self.places(restored)
        for name in by_name.keys() & names:
            sign = "print('mine')" if how == "longer" else f" {name}("
            assert sign in by_name[name], name
        assert restored[-1].source == "F = 5"

    def test_cells_are_numbered_as_jupyterlab_counts_them(self, cells, assignment):
        """Among the code cells of what was handed in, with those that are dropped, without those that are added."""
        code_cells = [c for c in cells if c.cell_type == "code"]
        numbers = [c.number for c in self.restored(cells, assignment) if c.cell_type == "code"]
        assert numbers == list(range(1, len(code_cells) + 1))
        setup = next(c for c in cells if c.grade_id == "setup")
        solution = next(c for c in cells if c.grade_id == "attention-solution")
        restored = self.restored([setup, setup, solution], assignment)
        assert {c.known.grade_id: c.number for c in restored if c.number} == {"setup": 1, "attention-solution": 3}
        assert not next(c.number for c in restored if c.exercise == "attention")

    def test_lessons_and_tests_are_not_run(self, cells, assignment):
        restored = self.restored(cells, assignment)
        assert sum(c.lesson for c in restored) == len(assignment.lesson_ids)
        assert [c.known.grade_id for c in restored if c.runs and c.known] == [
            c.grade_id for c in assignment.cells if c.cell_type == "code" and not c.grade
        ]

    def test_a_lesson_without_its_id_is_still_known(self, cells, assignment):
        cells = [replace(cell, id="") for cell in cells]
        assert sum(c.lesson for c in self.restored(cells, assignment)) == len(assignment.lesson_ids)

    def test_a_solution_put_into_a_lesson_cell_is_run(self, cells, assignment):
        lesson = next(c for c in cells if c.id in assignment.lesson_ids)
        solved = replace(lesson, source="def attention(query, key, value, mask=None):\n    return 1")
        cells = [solved if cell is lesson else cell for cell in cells]
        restored = self.restored(cells, assignment)
        assert next(c for c in restored if c.source == solved.source).runs

    def test_a_tag_of_the_student_skips_nothing(self, release, assignment):
        for cell in release["cells"]:
            cell["metadata"]["tags"] = ["lesson"]
        cells = reading.read_notebook(json.dumps(release).encode())
        assert sum(c.lesson for c in self.restored(cells, assignment)) == len(assignment.lesson_ids)

    def test_deleted_tests_come_back(self, cells, assignment):
        names = {e.grade_id for e in assignment.exercises}
        restored = self.restored([c for c in cells if c.grade_id not in names], assignment)
        assert self.graded(restored) == [e.name for e in assignment.exercises]
        places = [i for i, c in enumerate(restored) if c.exercise]
        assert all(restored[i - 1].known.grade_id == f"{restored[i].exercise}-solution" for i in places)

    def test_solution_and_test_deleted(self, cells, assignment):
        kept = [c for c in cells if not (c.grade_id or "").startswith("SelfAttention")]
        assert self.graded(self.restored(kept, assignment)) == [e.name for e in assignment.exercises]

    def test_everything_deleted(self, assignment):
        restored = self.restored([], assignment)
        assert self.graded(restored) == [e.name for e in assignment.exercises]
        assert "SOLUTION" not in "".join(c.source for c in restored if not c.known.locked)

    def test_doubled_cells(self, cells, assignment):
        doubled = [c for cell in cells for c in (cell, cell)]
        restored = self.restored(doubled, assignment)
        assert self.graded(restored) == [e.name for e in assignment.exercises]
        ids = [c.known.grade_id for c in restored if c.known]
        assert len(ids) == len(set(ids)) == len(assignment.cells)

    def test_a_deleted_test_comes_back_below_the_last_copy(self, cells, assignment):
        doubled = [c for cell in cells for c in (cell, cell) if c.grade_id != "SelfAttention"]
        restored = self.restored(doubled, assignment)
        (test,) = [i for i, c in enumerate(restored) if c.exercise == "SelfAttention"]
        assert restored[test - 1].copy_of == "SelfAttention-solution"

    def test_edited_tests_are_as_released(self, cells, assignment):
        edited = self.edited(cells, "attention", source="assert True", cell_type="markdown")
        test = next(c for c in self.restored(edited, assignment) if c.exercise == "attention")
        assert test.cell_type == "code" and "assert True" not in test.source

    def test_a_solution_cell_turned_into_text_is_code_again(self, cells, assignment):
        turned = self.edited(cells, "attention-solution", cell_type="markdown")
        restored = self.restored(turned, assignment)
        one = next(c for c in restored if c.known and c.known.grade_id == "attention-solution")
        assert one.runs and one.turned and [c for c in restored if c.turned] == [one]


def test_an_assignment_is_known_by_its_name_or_its_cells(grader, release, tmp_path):
    from autograder.grading.grader import assignment_of

    cells = reading.read_notebook(json.dumps(release).encode())
    assert assignment_of(cells, "x (1).ipynb").name == ASSIGNMENT
    assert assignment_of([], f"/a/{ASSIGNMENT}.ipynb").name == ASSIGNMENT
    assert assignment_of([], "other.ipynb") is None
    verdict = grader.grade_file(hand_in(NOTEBOOK, tmp_path, "other.ipynb")).verdict
    assert {e.status for e in verdict.exercises} == {"rejected"} and verdict.max_score > 0
