"""Caches on disk what the mistakes of an exercise do under its checks: found out once, not in every process and run.

It depends on the course, the kit, torch, the machine's arithmetic and the inputs, and nothing of a student's enters it.
Each exercise and seed has a SQLite file of its own, named by a hash of all of these. So several processes may read and
write at once, and any file may be removed at any time. If there is too much, what was not used for longest goes.

What is read is data, never code: JSON and tensors, as on the wire. Each row is found by hashes, of a mistake's text and
of the content itself, so a damaged row is not found, and what it held is found out again. So is all of a file that
SQLite cannot use.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import platform
import sqlite3
import struct
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from safetensors import SafetensorError

from ..checks.proxies import Counts, Transcript
from ..sandbox.inside import arrays, wire
from ..sandbox.inside.later import is_loaded, torch
from .evidence import Observation

if TYPE_CHECKING:
    from .hypotheses import Hypothesis

SUFFIX = ".sqlite"
LARGEST = 256 * 2**20  # bytes of all files together; one has at most about 10 MB
PATIENCE = 1.0  # seconds for another process to finish writing
HASH = 16  # bytes of a hash
LENGTH = struct.Struct("!I")  # of the JSON at the beginning of a content
COUNTS = "counts of what chance did"  # the key of a dict that stands for Counts
PLAIN = (  # types that the wire carries
    *(np.ndarray, bool, int, float, complex, str, type(None)),
)
UNUSABLE = (sqlite3.Error, UnicodeDecodeError)  # the latter, if SQLite quotes what it found and it is no text
UNDECODABLE = (  # what decoding raises of a content that `encoded` did not make
    *(struct.error, wire.WireError, SafetensorError, RecursionError, MemoryError),
    *(ValueError, TypeError, LookupError, AttributeError, RuntimeError),
)
TABLES = """
CREATE TABLE IF NOT EXISTS seen (of BLOB PRIMARY KEY, content BLOB) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS contents (hash BLOB PRIMARY KEY, content BLOB);
"""
SEEN = (
    "SELECT contents.hash, contents.content FROM seen JOIN contents ON contents.hash = seen.content WHERE seen.of = ?"
)


class CacheFolder:
    """The files in a `folder`. `version` gives a hash of all of the course and the kit that results depend on."""

    def __init__(self, folder: Path, version: Callable[[], str]) -> None:
        self.folder = folder
        self.version = version

    def of(self, exercise: str, seed: int) -> CacheFile:
        """What is known of an exercise on the inputs of a seed. Files used long ago go, if there are too many."""
        about = [self.version(), arithmetic(), exercise, seed]
        path = self.folder / f"{hashlib.sha256(json.dumps(about).encode()).hexdigest()}{SUFFIX}"
        with contextlib.suppress(OSError):  # without a folder to write to, nothing is kept
            self.folder.mkdir(parents=True, exist_ok=True)
            path.touch()  # it is the one used last
            self._make_room()
        return CacheFile(path)

    def _make_room(self) -> None:
        found = [(path.stat(), path) for path in self.folder.glob(f"*{SUFFIX}")]
        total = sum(about.st_size for about, _ in found)
        for about, path in sorted(found, key=lambda one: one[0].st_mtime):
            if total > LARGEST:
                remove(path)
                total -= about.st_size


def arithmetic() -> list[Any]:
    """What decides how sums are rounded here, how Python words an error, and on which devices checks run."""
    here = platform.python_version(), platform.machine()
    if not is_loaded():
        return [*here, np.__version__]
    cpu = *here, torch.backends.cpu.get_cpu_capability(), torch.get_num_threads()
    return [*cpu, torch.cuda.get_device_name() if torch.cuda.is_available() else ""]


class CacheFile:
    """One file, which need not be there, be whole, or be a database: then nothing is known, and nothing is kept."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.new: dict[bytes, bytes] = {}  # contents that `save` will write, by what they are of
        self.read: dict[bytes, Observation] = {}  # by the hash of the content: mistakes often do the same
        self.file: sqlite3.Connection | None = None
        try:
            self.file = sqlite3.connect(path, timeout=PATIENCE)
            self.file.execute("PRAGMA synchronous = OFF")  # a power cut may damage it
            self.file.executescript(TABLES)
        except UNUSABLE as problem:
            self._give_up(problem)

    def get(self, hypothesis: Hypothesis, check: str) -> Observation | None:
        """What this check sees of an answer, if that is known."""
        if self.file is None:
            return None
        try:
            found = self.file.execute(SEEN, [key(hypothesis, check)]).fetchone()
        except UNUSABLE as problem:
            self._give_up(problem)
            return None
        if found is None:
            return None
        digest, content = found
        if digest not in self.read:
            if not isinstance(content, bytes) or hashed(content) != digest:
                return None
            try:
                self.read[digest] = decoded(content)
            except UNDECODABLE:  # written by something else: what this check sees is found out again
                return None
        return self.read[digest]

    def put(self, hypothesis: Hypothesis, check: str, seen: Observation) -> None:
        """Remember what a check saw, to be written by `save`; what cannot be written exactly is not."""
        if self.file is not None:
            with contextlib.suppress(wire.WireError):
                self.new[key(hypothesis, check)] = encoded(seen)

    def save(self) -> None:
        """Write all that is new."""
        new, self.new = self.new, {}
        if self.file is None or not new:
            return
        rows = [(of, hashed(content), content) for of, content in new.items()]
        try:
            with self.file:
                self.file.executemany("INSERT OR REPLACE INTO contents VALUES (?, ?)", [row[1:] for row in rows])
                self.file.executemany("INSERT OR REPLACE INTO seen VALUES (?, ?)", [row[:2] for row in rows])
        except UNUSABLE as problem:
            self._give_up(problem)

    def _give_up(self, problem: Exception) -> None:
        """Do without the file from now on; one that is damaged goes, so that the next process begins a new one."""
        if self.file is not None:
            self.file.close()
        self.file = None
        if not isinstance(problem, sqlite3.OperationalError):  # such as one that is locked, or a full disk
            remove(self.path)


def remove(path: Path) -> None:
    """Remove a file and what SQLite may have left beside it."""
    for one in (path, Path(f"{path}-journal")):
        with contextlib.suppress(OSError):
            os.unlink(one)


def key(hypothesis: Hypothesis, check: str) -> bytes:
    """What an observation is found by: a hash of the answer's text and the check's name."""
    return hashed(json.dumps([hypothesis.beside, hypothesis.source, check]).encode())


def hashed(content: bytes) -> bytes:
    return hashlib.sha256(content).digest()[:HASH]


def encoded(seen: Observation) -> bytes:
    """An Observation as bytes. Raises WireError if they could not stand for all of it."""
    tensors: wire.Tensors = []
    entries = wire.pack([_plain(entry) for entry in seen.transcript.entries], tensors)
    made = wire.encoded({"failed": seen.failed, "reason": seen.reason, "line": seen.line, "seen": entries}, tensors)
    return LENGTH.pack(len(made.text)) + made.text + made.blob


def decoded(content: bytes) -> Observation:
    """The Observation that `encoded` made this of. Raises one of UNDECODABLE if it made it of none."""
    (length,) = LENGTH.unpack_from(content)
    start, end = LENGTH.size, LENGTH.size + length
    message = json.loads(content[start:end])
    by_name = wire.loaded(content[end:]) if content[end:] else {}
    entries = wire.unpack(message["seen"], [by_name[str(number)] for number in range(len(by_name))])
    failed, reason, line = message["failed"], message["reason"], message["line"]
    seen = [_original(entry) for entry in entries]
    if [*map(type, (failed, reason, line))] != [bool, str, str] or not all(map(_is_entry, seen)):
        raise ValueError("it is no observation")
    return Observation(failed, Transcript(seen), reason, line)


def _is_entry(value: Any) -> bool:
    """Whether it may be an entry of a transcript: its kind, then what was seen; of an error, its type and message."""
    if not isinstance(value, tuple) or not value or not isinstance(value[0], str):
        return False
    return value[0] != "error" or (len(value) > 2 and isinstance(value[1], str))


def _plain(value: Any) -> Any:
    """A value as the wire carries it without a loss. Raises WireError if there is no such form."""
    if isinstance(value, Counts):
        return {COUNTS: value.seen}
    if type(value) in (list, tuple):
        return type(value)(map(_plain, value))
    if type(value) is dict and all(type(name) is str for name in value):
        return {name: _plain(part) for name, part in value.items()}
    is_plain = type(value) in (*PLAIN, torch.Tensor, torch.dtype)
    is_plain = is_plain or (isinstance(value, np.generic) and arrays.travels(value))
    if isinstance(value, wire.Opaque) or (is_plain and "opaque" not in wire.pack(value, [])):
        return value
    raise wire.WireError(f"a {type(value).__name__} would not come back as it was")


def _original(value: Any) -> Any:
    """What `_plain` made this of."""
    if isinstance(value, dict):
        return Counts(value[COUNTS]) if value.keys() == {COUNTS} else {name: _original(v) for name, v in value.items()}
    return type(value)(map(_original, value)) if isinstance(value, (list, tuple)) else value
