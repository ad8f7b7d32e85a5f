"""Mangled notebooks and hostile answers, made by hypothesis: never a crash of the trusted side, always a Verdict.

`make everything` tries some hundreds, the same every time; `make fuzz` tries ten thousand of each, new ones, and counts
them.
"""

import atexit
import copy
import json
import logging
import math
import os
import resource
import shutil
import subprocess
from collections import Counter

import nbformat
import numpy
import pytest
import sample
import torch
from conftest import ASSIGNMENT, ROOT, load
from fuzzing import Line, Mutator, mangled, notebook_mutations, quick, received, reply_mutations, text_mutations
from hypothesis import given
from hypothesis import strategies as st
from nbconvert.exporters import NotebookExporter
from nbgrader.preprocessors import CheckCellMetadata, OverwriteKernelspec
from traitlets.config import Configurable

from autograder import course
from autograder.mistakes.bank import bank
from autograder.nbgrader import preprocessors
from autograder.nbgrader.runs import NbgraderCourse
from autograder.report import outcome_text
from autograder.sandbox import jail
from autograder.sandbox.child import Child
from autograder.sandbox.inside import wire
from autograder.sandbox.inside.handlers import RequestHandler
from autograder.submission import read
from autograder.submission.restore import restore
from autograder.verdict import STATUSES, Verdict

MANY = int(os.environ.get("FUZZ", "0"))
COUNTED = Counter()


def examples(few):
    return quick(MANY or sample.THIS.some(few), stable=not MANY)


@atexit.register
def _tell():
    if MANY:
        print("", *(f"{number:8d} {what}" for what, number in sorted(COUNTED.items())), sep="\n")


@pytest.fixture(autouse=True)
def no_mistake_of_the_kit(caplog):
    """What the kit survives by a last resort is a mistake all the same."""
    yield
    assert not [r.message for r in caplog.records if r.levelno >= logging.ERROR]


@pytest.fixture(autouse=True, scope="module")
def bounded_memory():
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    yield
    grown = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
    assert grown < 2 * 2**20, f"it grew by {grown // 1024} MB"  # ru_maxrss counts kilobytes


def is_a_verdict(verdict, names, statuses=STATUSES):
    """Whether it is whole: each exercise once, points in their bounds, and all of it can be written and shown."""
    again = Verdict.from_dict(json.loads(verdict.to_json()))
    assert again == verdict
    assert [e.exercise for e in verdict.exercises] == names
    for outcome in verdict.exercises:
        assert outcome.status in statuses and math.isfinite(outcome.score)
        assert 0 <= outcome.score <= outcome.max_score and outcome.max_score > 0
        assert outcome.message or outcome.status == "graded"
        assert "\n" not in outcome.message and len(outcome.message) < 4000
        (outcome_text.as_text(outcome) + outcome_text.as_html(outcome)).encode()
    outcome_text.verdict_as_text(verdict).encode()


# --- a trusted stand-in for the sandbox -----------------------------------------------------------


class FakeParent:
    """Forks children that live in this process: workbenches of trusted code, whose answers `mutator` may change."""

    device, level = "cpu", "full"
    lacks = {}  # noqa: RUF012  it can do everything

    def __init__(self, namespace, mutator=None, step=2**20):
        self.namespace = namespace
        self.mutator = mutator or Mutator({})
        self.step = step
        self.limits = jail.Limits()
        self.ended = subprocess.Popen(["true"])  # never waited for: a process to hold on to, and it has ended
        self.ended.poll = lambda: None

    def fork(self):
        bench = RequestHandler(dict(self.namespace))

        def answer(request, tensors):
            if request["op"] == "cell":
                reply, out = {"ok": True, "outputs": OUTPUTS, "seconds": 0.1}, []
            elif request["op"] == "bind":
                reply, out = {"ok": True}, []
            else:
                reply, out = bench.handle(request, tensors)
            return self.mutator({**reply, "n": request["n"]}, out)

        return Child(self, Line(answer, self.step), os.pidfd_open(self.ended.pid))

    def reap(self):
        return {"ok": True, "signal": 9, "exit": None, "cpu": 0.1, "memory": 2**20}

    def close(self):
        self.ended.kill()
        self.ended.wait()


OUTPUTS = [
    {"output_type": "stream", "name": "stdout", "text": "seen\n"},
    {"output_type": "display_data", "data": {"text/plain": "a"}, "metadata": {}},
    {"output_type": "error", "ename": "A", "evalue": "b", "traceback": ["c"]},
]


@pytest.fixture(scope="module")
def graders():
    from autograder.grading.grader import Grader

    with Grader() as grader:
        yield grader


@pytest.fixture
def grader(graders):
    """A Grader whose sandbox answers that nothing is defined."""
    before = graders.parent
    graders.parent = FakeParent({})
    yield graders
    graders.parent.close()
    graders.parent = before


# --- notebooks ------------------------------------------------------------------------------------

BASES = {folder: load(ROOT / folder / ASSIGNMENT / f"{ASSIGNMENT}.ipynb") for folder in ("release", "solutions")}
NAMES = [e.name for e in course.assignments(ROOT)[ASSIGNMENT].exercises]


def test_mangled_notebooks_get_a_verdict(grader, tmp_path):
    """From the file to the Verdict, as `autograder check` and the batch go."""
    path = tmp_path / f"{ASSIGNMENT}.ipynb"

    @examples(400)
    @given(st.sampled_from(sorted(BASES)), notebook_mutations, text_mutations)
    def mangle(base, mutations, of_text):
        path.write_bytes(mangled(BASES[base], mutations, of_text))
        graded = grader.grade_file(path, seed=1)
        is_a_verdict(graded.verdict, NAMES, ("missing", "rejected"))
        if graded.verdict.exercises[0].status != "rejected":
            assert sorted(c.exercise for c in graded.cells if c.exercise) == sorted(NAMES)
        COUNTED[f"mangled notebooks, {graded.verdict.exercises[0].status}"] += 1

    mangle()


class Converter(Configurable):
    """What an exporter asks of `nbgrader autograde`."""

    _sanitizing = True


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    """A course of one assignment, built: its gradebook knows the cells."""
    place = tmp_path_factory.mktemp("fuzzed")
    shutil.copytree(ROOT / "source" / ASSIGNMENT, place / "source" / ASSIGNMENT)
    shutil.copy(ROOT / "nbgrader_config.py", place)
    NbgraderCourse(place).build(ASSIGNMENT)
    return place


def test_mangled_notebooks_go_through_the_parts_of_nbgrader(grader, place, tmp_path, monkeypatch):
    """Sanitised, written, read again, graded and written, as `nbgrader autograde` does."""
    monkeypatch.chdir(place)
    monkeypatch.setattr(preprocessors, "warm_grader", lambda unsafe, device: grader)
    known = preprocessors.cells_of_gradebook(resources_in(place))
    monkeypatch.setattr(preprocessors, "cells_of_gradebook", lambda resources: copy.deepcopy(known))
    path, sanitised = tmp_path / f"{ASSIGNMENT}.ipynb", tmp_path / "sanitised.ipynb"
    cleaning = preprocessors.SubmissionExporter(parent=Converter())
    for preprocessor in (preprocessors.RestoreCells, OverwriteKernelspec, CheckCellMetadata):
        cleaning.register_preprocessor(preprocessor, enabled=True)
    grading = NotebookExporter()
    for preprocessor in (preprocessors.GradeInSandbox, CheckCellMetadata):
        grading.register_preprocessor(preprocessor, enabled=True)

    @examples(60)
    @given(st.sampled_from(sorted(BASES)), notebook_mutations, text_mutations)
    def mangle(base, mutations, of_text):
        path.write_bytes(mangled(BASES[base], mutations, of_text))
        text, _ = cleaning.from_filename(str(path), resources=resources_in(place))
        sanitised.write_bytes(text.encode())
        text, resources = grading.from_filename(str(sanitised), resources=resources_in(place))
        is_a_verdict(resources["autograder"], NAMES, ("missing", "rejected"))
        nbformat.validate(nbformat.reads(text.encode().decode(), as_version=4))
        COUNTED[f"through nbgrader's parts, {resources['autograder'].exercises[0].status}"] += 1

    mangle()


def resources_in(place):
    where = {
        "notebook": ASSIGNMENT,
        "assignment": ASSIGNMENT,
        "student": "ada",
        "db_url": f"sqlite:///{place}/gradebook.db",
    }
    return {"nbgrader": where}


# --- the wire -------------------------------------------------------------------------------------

TREES = [
    None,
    [1, 2.5, "a", True, float("nan")],
    (torch.arange(6.0).reshape(2, 3), torch.zeros(2, dtype=torch.bool), torch.ones(3, dtype=torch.bfloat16)),
    {"a": torch.zeros(2, 0), "b": [torch.float32, wire.Opaque("it")], "c": torch.empty(3, 4, device="meta")},
    [numpy.arange(6.0).reshape(2, 3).T, numpy.zeros((2, 1), complex), numpy.ones(3, bool), numpy.float32(2), 1 + 2j],
]


def test_mangled_frames_are_refused_or_read():
    """Bytes to values: WireError, or what `pack` could have sent."""

    @examples(1500)
    @given(st.sampled_from(range(len(TREES))), reply_mutations, st.booleans())
    def mangle(which, mutation, layout):
        tensors = []
        message = {"n": 1, "ok": True, "value": wire.pack(TREES[which], tensors)}
        data, _ = Mutator({1: mutation})(message, tensors)
        try:
            message, tensors = received(data)
            value = wire.unpack(message.get("value"), tensors, layout=layout)
        except wire.WireError as problem:
            assert len(str(problem)) < 200
            COUNTED["mangled frames, refused"] += 1
            return
        wire.pack(value, again := [])
        assert len(again) <= wire.MAX_NODES
        COUNTED["mangled frames, read"] += 1

    mangle()


def honest(exercise):
    """What a notebook with a right answer holds."""
    namespace = {}
    exec((ROOT / "autograder" / "exercises" / exercise / "answers" / "einsum.py").read_text(), namespace)
    return namespace


CODE = {"right": honest("attention"), "SelfAttention": honest("SelfAttention")}
CODE.update((m.id, m.namespace()) for m in bank("attention").values())


def test_mangled_answers_get_a_verdict(graders):
    """From the request to the Verdict: connection, proxies, graders, diagnosis and the workspace that forks anew."""
    known = course.exercises(ROOT)
    cells = restore(read.read_notebook(json.dumps(BASES["release"]).encode()), (), None)[:3]

    def asked_of(code):
        return known["SelfAttention" if code == "SelfAttention" else "attention"]

    plans = st.dictionaries(st.integers(1, 40), reply_mutations, min_size=1, max_size=4)

    @examples(80)
    @given(st.sampled_from(sorted(CODE)), plans, st.sampled_from([1, 7, 2**20]), st.booleans())
    def answer(code, plan, step, prefetched):
        graders.graders.request_log.known.clear()
        if prefetched:  # then a handful of answers hold everything
            graders.graders.request_log.known.update(known_requests)
            plan = {1 + number % 8: mutation for number, mutation in plan.items()}
        mutator = Mutator(plan)
        graders.parent = FakeParent(CODE[code], mutator, step)
        wanted = asked_of(code)
        graded = graders.grade_cells(cells, [wanted], 1)
        graders.parent.close()
        is_a_verdict(graded.verdict, [wanted.name])
        json.dumps(graded.outputs, allow_nan=False).encode()
        COUNTED["mangled answers"] += mutator.mutated
        COUNTED[f"verdicts on mangled answers, {graded.verdict.exercises[0].status}"] += 1

    graders.learn("02_queries_keys_values", 1)
    parent = graders.parent
    for code in ("right", "SelfAttention"):
        graders.parent = FakeParent(CODE[code])
        assert graders.grade_cells(cells, [asked_of(code)], 1).verdict.full
        graders.parent.close()
    known_requests = dict(graders.graders.request_log.known)
    try:
        answer()
    finally:
        graders.parent = parent


# --- the last resorts, which the fuzzers must never have needed -----------------------------------


@pytest.fixture
def wrong(graders, monkeypatch):
    """Grades a wrong answer, in this process."""
    exercise = course.exercises(ROOT)["attention"]
    monkeypatch.setattr(graders, "parent", FakeParent(bank("attention")["no-scale"].namespace()))

    def grade():
        (outcome,) = graders.grade_cells([], [exercise], 1).verdict.exercises
        return outcome

    yield grade
    graders.parent.close()


def fail(*arguments):
    raise TypeError("a mistake")


def test_a_mistake_in_the_diagnosis_costs_no_points(graders, wrong, monkeypatch, caplog):
    right = wrong()
    assert right.diagnosis and right.score > 0
    monkeypatch.setattr(graders.diagnostician, "diagnose", fail)
    outcome = wrong()
    assert (outcome.score, outcome.status, outcome.diagnosis) == (right.score, "graded", [])
    assert "internal error" in caplog.text
    caplog.clear()


def test_a_mistake_of_the_kit_gives_a_verdict(graders, wrong, monkeypatch, caplog):
    monkeypatch.setattr(graders.graders, "run", fail)
    outcome = wrong()
    assert (outcome.score, outcome.status) == (0, "error") and "tell your instructor" in outcome.message
    caplog.clear()
