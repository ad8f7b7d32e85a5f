"""What mistakes do under the checks is found out once, and kept: a damaged or foreign file costs only time."""

import os
import platform
import shutil
import sqlite3
from collections import namedtuple

import pytest
import torch
from sample import LONG_DIAGNOSES

from autograder.checks.proxies import Counts, Local, Transcript
from autograder.checks.runner import Graders
from autograder.mistakes import behaviour_cache
from autograder.mistakes.bank import bank, namespace_of
from autograder.mistakes.behaviour import Behaviour, Behaviours
from autograder.mistakes.behaviour_cache import CacheFolder, decoded, encoded
from autograder.mistakes.diagnosis import Diagnostician
from autograder.mistakes.evidence import Observation, likeness
from autograder.mistakes.hypotheses import composed, right
from autograder.sandbox.inside import wire

pytestmark = LONG_DIAGNOSES

SEED = 1
BANK = bank("attention")
WRONG = BANK["no-scale"].source
STRANGE = BANK["no-scale"].source.replace("softmax(", "softmax(1.3 * ")  # no known mistake


@pytest.fixture(scope="module")
def graders():
    return Graders()


@pytest.fixture(scope="module")
def filled(graders, tmp_path_factory):
    """A folder in which every single mistake is known."""
    kept = CacheFolder(tmp_path_factory.mktemp("filled"), lambda: "this version").of("attention", SEED)
    behaviours = Behaviours(BANK, graders, SEED, kept)
    for one in [behaviours.right, *behaviours.singles]:
        for check in behaviours.checks:
            one.at(check)
    kept.save()
    return kept.path.parent


@pytest.fixture
def cache(tmp_path):
    return CacheFolder(tmp_path / "learnt", lambda: "this version")


@pytest.fixture
def full(cache, filled):
    shutil.copytree(filled, cache.folder)
    return cache


def diagnosed(graders, source, cache=None):
    """The ids, sentences and lines of an answer's diagnosis, and its fingerprint."""
    run = graders.run("attention", Local(namespace_of("attention", source), source), SEED)
    return Diagnostician(graders, cache).diagnose(run), run.fingerprint


def files(cache):
    return sorted(cache.folder.glob("*.sqlite"))


def an_observation(*entries):
    return Observation(True, Transcript([("called", *entries)]), "# values are wrong", "    return weights @ v")


def without_runs(patch):
    """From now on, no check of a single mistake may run."""
    run = Behaviour._run

    def of_combinations(self, check):
        assert len(self.hypothesis.mistakes) > 1, f"{self.hypothesis.ids} ran {check} once more"
        run(self, check)

    patch.setattr(Behaviour, "_run", of_combinations)


@pytest.mark.parametrize("source", [WRONG, STRANGE])
def test_what_is_learnt_changes_no_diagnosis(graders, tmp_path, full, monkeypatch, source):
    without = diagnosed(graders, source)
    empty = CacheFolder(tmp_path / "empty", lambda: "this version")
    assert diagnosed(graders, source, empty) == without
    assert len(files(empty)) == 1
    without_runs(monkeypatch)
    assert diagnosed(graders, source, full) == without


def test_all_that_a_check_sees_comes_back(graders):
    """Of all mistakes of a bank, and of one whose checks count what chance does."""
    known = Behaviours(BANK, graders, SEED), Behaviours(bank("generate"), graders, SEED)
    chance = 0
    for behaviours in known:
        for one in [behaviours.right, *behaviours.singles[:8]]:
            for check in behaviours.checks:
                seen, right = one.at(check), behaviours.right.at(check).transcript
                again = decoded(encoded(seen))
                assert (again.failed, again.reason, again.line) == (seen.failed, seen.reason, seen.line)
                assert likeness(again.transcript, seen.transcript, right).alike
                chance += again.transcript.by_chance
                assert again.transcript.by_chance == seen.transcript.by_chance
    assert chance > 5


def test_every_kind_of_value_comes_back_as_it_was():
    half = torch.tensor([[1.5, float("nan")], [float("inf"), -0.0]], dtype=torch.bfloat16)
    values = [half, half.T, torch.empty(2, 3, device="meta"), torch.ones(0), torch.tensor(True), None, True, 3, "ä", ()]
    values += [float("-inf"), 0.1, torch.float64, wire.Opaque("set"), {"w": [half, (1, 2.0)]}, Counts(torch.arange(3))]
    (entry,) = decoded(encoded(an_observation(*values))).transcript.entries
    assert type(entry) is tuple and [type(value) for value in entry[1:]] == [type(value) for value in values]
    for got, value in zip(entry[1:], values, strict=True):
        if isinstance(value, torch.Tensor):
            assert (got.dtype, got.shape, got.device) == (value.dtype, value.shape, value.device)
            assert value.is_meta or torch.equal(got.nan_to_num(7), value.nan_to_num(7))
        elif isinstance(value, wire.Opaque):
            assert got.name == value.name
        elif isinstance(value, Counts):
            assert torch.equal(got.seen, value.seen)
        elif isinstance(value, dict):
            assert got.keys() == value.keys() and got["w"][1] == value["w"][1]
        else:
            assert got == value


@pytest.mark.parametrize(
    "value",
    [{1, 2}, torch.ones(2, dtype=torch.complex64), 2**64, {3: 4}, namedtuple("Two", "a b")(1, 2), [b"1"]],
    ids=str,
)
def test_what_would_come_back_as_something_else_is_not_kept(value):
    with pytest.raises(wire.WireError):
        encoded(an_observation(value))


def cut(path):
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2 + 77])


def overwritten(path):
    path.write_bytes(b"no database at all" * 1000)


def no_text(path):
    """The text by which SQLite knows its tables is none any more, and SQLite quotes it in its error."""
    content = path.read_bytes()
    assert b"tableseenseen" in content and b"CREATE TABLE seen" in content
    content = content.replace(b"tableseenseen", b"table\xff\xfe\xfd\xfcseen")
    path.write_bytes(content.replace(b"CREATE TABLE seen", b"CREATE TABLE (een"))


def foreign(path):
    path.unlink()
    with sqlite3.connect(path) as file:
        file.execute("CREATE TABLE seen (of TEXT, content TEXT)")
    file.close()


def changed(path):
    """Each observation says the opposite: it is the content of its hash no more."""
    with sqlite3.connect(path) as file:
        rows = file.execute("SELECT hash, content FROM contents").fetchall()
        for digest, content in rows:
            swapped = content.replace(b'"failed":true', b'"failed":false')
            file.execute("UPDATE contents SET content = ? WHERE hash = ?", [swapped, digest])
    file.close()


def no_bytes(path):
    with sqlite3.connect(path) as file:
        file.execute("UPDATE contents SET content = 'text'")
    file.close()


@pytest.mark.parametrize("damage", [cut, overwritten, no_text, foreign, changed, no_bytes])
def test_a_damaged_file_costs_only_time(graders, full, damage):
    without = diagnosed(graders, WRONG)
    (path,) = files(full)
    damage(path)
    assert diagnosed(graders, WRONG, full) == without


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"\xff" * 9,
        b"\0\0\0\2[]",
        b"\0\0\0\2{}not tensors",
        b'\0\0\0\x35{"failed": 1, "reason": "", "line": "", "seen": [[]]}',
        encoded(Observation(True, Transcript([("error", "ValueError")]), "", "")),
        encoded(Observation(True, Transcript([(1, 2)]), "", "")),
    ],
)
def test_a_row_that_cannot_be_decoded_costs_only_time(graders, full, content):
    """Its hash is right: somebody wrote it who may write there."""
    without = diagnosed(graders, WRONG)
    (path,) = files(full)
    with sqlite3.connect(path) as file:
        file.execute("INSERT INTO contents VALUES (?, ?)", (behaviour_cache.hashed(content), content))
        file.execute("UPDATE seen SET content = ?", (behaviour_cache.hashed(content),))
    file.close()
    assert diagnosed(graders, WRONG, full) == without
    assert diagnosed(graders, WRONG, full) == without


def test_a_file_that_is_no_database_is_begun_anew(graders, full):
    overwritten(files(full)[0])
    assert full.of("attention", SEED).file is None  # this process finds that out
    again = full.of("attention", SEED)
    one = right(BANK)
    again.put(one, "test_weights", an_observation(1))
    again.save()
    assert full.of("attention", SEED).get(one, "test_weights").failed


def test_without_a_folder_to_write_to_nothing_is_kept(graders, tmp_path):
    (tmp_path / "file").write_text("")
    cache = CacheFolder(tmp_path / "file" / "learnt", lambda: "this version")
    assert diagnosed(graders, WRONG, cache) == diagnosed(graders, WRONG)


def test_another_version_exercise_seed_or_arithmetic_has_another_file(cache, monkeypatch):
    cache.of("attention", 1)
    cache.of("attention", 1)
    cache.of("attention", 2)
    cache.of("softmax", 1)
    CacheFolder(cache.folder, lambda: "the next version").of("attention", 1)
    assert len(files(cache)) == 4
    monkeypatch.setattr(torch, "get_num_threads", lambda: 7)
    cache.of("attention", 1)
    assert len(files(cache)) == 5
    monkeypatch.setattr(platform, "python_version", lambda: "3.99.0")
    cache.of("attention", 1)
    assert len(files(cache)) == 6


def test_two_processes_may_write_at_once(cache):
    one, other = cache.of("attention", SEED), cache.of("attention", SEED)
    first, second = (composed(right(BANK), BANK[id]) for id in ("no-scale", "mask-ignored"))
    one.put(first, "test_weights", an_observation(1))
    other.put(second, "test_weights", an_observation(2))
    one.save()
    other.save()
    for reader in (one, other, cache.of("attention", SEED)):
        assert reader.get(first, "test_weights").transcript.entries == [("called", 1)]
        assert reader.get(second, "test_weights").transcript.entries == [("called", 2)]
        assert reader.get(second, "test_device") is None


def test_a_file_that_another_process_does_not_let_go_of_is_done_without(graders, cache, monkeypatch):
    monkeypatch.setattr(behaviour_cache, "PATIENCE", 0.01)
    without = diagnosed(graders, WRONG, cache)
    holding = sqlite3.connect(files(cache)[0])
    holding.execute("BEGIN EXCLUSIVE")
    assert diagnosed(graders, WRONG, cache) == without
    holding.close()
    without_runs(monkeypatch)  # and it is still whole
    assert diagnosed(graders, WRONG, cache) == without


def test_what_was_not_used_for_longest_goes(cache, monkeypatch):
    monkeypatch.setattr(behaviour_cache, "LARGEST", 250_000)
    cache.folder.mkdir()
    for used in (100, 200, 300):
        path = cache.folder / f"{used}.sqlite"
        path.write_bytes(b"." * 100_000)
        os.utime(path, (used, used))
    cache.of("attention", SEED)
    left = [path.stem for path in files(cache)]
    assert len(left) == 3 and "100" not in left


def test_only_single_mistakes_are_kept(graders, cache):
    kept = cache.of("attention", SEED)
    behaviours = Behaviours(BANK, graders, SEED, kept)
    behaviours.of([BANK["no-scale"], BANK["mask-ignored"]]).at("test_weights")
    assert not kept.new
    behaviours.of([BANK["no-scale"]]).at("test_weights")
    behaviours.right.at("test_weights")
    assert len(kept.new) == 2


def test_what_chance_does_to_a_mistake_is_the_same_in_each_process(graders):
    """Names that came by the luck of one process would differ in the next."""
    counts = []
    for before in range(2):
        one = Behaviours(bank("generate"), graders, SEED).right
        torch.manual_seed(before)
        found = [one.at(check).transcript for check in one.behaviours.checks]
        counts.append(
            [str(part.seen) for t in found for entry in t.entries for part in entry if isinstance(part, Counts)]
        )
    assert counts[0] and counts[0] == counts[1]
