"""Reads untrusted archives, one file after another, within bounds of memory and time.

Python's own `tarfile` reads extended headers of any size into memory, and keeps all of them; `zipfile` unpacks bzip2
and LZMA without a bound.
"""

from __future__ import annotations

import contextlib
import gzip
import io
import os
import stat
import tarfile
import zipfile
from collections.abc import Callable, Collection, Iterator
from contextlib import AbstractContextManager
from typing import IO, Protocol, TypeAlias

from ..submission.read import StrPath
from . import zip_names

MAX_ENTRIES = 20_000  # files in one archive; in a tar, folders and all other entries count too
MAX_DIRECTORY = 4 * 2**20  # bytes of a zip's list of files
MAX_HEADER = 2**20  # bytes of a tar's extended header for one file
MAX_STREAM = 2**30  # bytes that a tar may unpack to,
LEAST_STREAM, MAX_RATIO = 2**24, 100  # and the bound by its packed size: skipping takes time, too

ARCHIVES = (".zip", ".gz", ".tar", ".tgz")
MESSAGE = ".eml"  # an e-mail message: its attachments are its files
UNREAD = (".7z", ".rar", ".xz", ".txz", ".bz2", ".tbz", ".tbz2", ".lzma", ".zst", ".z")
SIGNATURES = (b"7z\xbc\xaf\x27\x1c", b"Rar!", b"\xfd7zXZ", b"BZh", b"\x28\xb5\x2f\xfd", b"\x1f\x9d")  # how those begin
ADVICE = "it is packed in a format that is not supported: ask for a .zip or .tar.gz"
TOO_MUCH = "it contains too much"


class Member(Protocol):
    """A file in an archive, opened for reading."""

    def read(self, size: int, /) -> bytes: ...


Opener: TypeAlias = Callable[[], AbstractContextManager[Member]]


class Refused(Exception):
    """A file is not taken; the message says why."""


def is_archive(name: str) -> bool:
    """Whether a file of this name should be unpacked; `unpacked` may still refuse it."""
    return name.lower().endswith((*ARCHIVES, *UNREAD, MESSAGE))


def is_message(name: str) -> bool:
    return name.lower().endswith(MESSAGE)


def unpacked(path: StrPath, known: Collection[str] = ()) -> Zip | Tar:
    """Open an archive; its `regular_files` yields pairs of a name and a function to open the file. Raises Refused.

    `known` are words that names in it may have, beyond ASCII.
    """
    with open(path, "rb") as file:
        start = file.read(512)
    if start.startswith(SIGNATURES) or str(path).lower().endswith(UNREAD):
        raise Refused(ADVICE)
    if start.startswith(b"\x1f\x8b") or start[257:262] == b"ustar" or not zipfile.is_zipfile(path):
        return Tar(path)
    return Zip(path, known)


class Zip:
    """A zip archive with a list of files of bounded size."""

    skipped = 0  # bytes that are unpacked only to be skipped: none

    def __init__(self, path: StrPath, known: Collection[str] = ()) -> None:
        self.file = _ReadInPieces(io.FileIO(path))
        try:
            self.archive = zipfile.ZipFile(self.file)
            infos = self.archive.infolist()
            self.named = dict(zip(map(id, infos), zip_names.decoded(infos, known), strict=True))
        except BaseException:
            self.file.close()
            raise

    def names(self) -> list[str] | None:
        """The names of the files in it (None in a Tar, where only reading it tells)."""
        return [self.named[id(info)] for info in self.archive.infolist() if not info.is_dir()]

    def regular_files(self) -> Iterator[tuple[str, Opener]]:
        """Yield the files, notebooks first: the others may need more room than there is."""
        infos = sorted(self.archive.infolist(), key=lambda info: not info.filename.endswith(".ipynb"))
        for info in infos[:MAX_ENTRIES]:
            kind = stat.S_IFMT(info.external_attr >> 16)
            if not info.is_dir() and kind in (0, stat.S_IFREG):
                yield self.named[id(info)], lambda info=info: self._open(info)
        if len(infos) > MAX_ENTRIES:
            raise Refused(TOO_MUCH)

    def _open(self, info: zipfile.ZipInfo) -> IO[bytes]:
        if info.flag_bits & 1:
            raise Refused("it needs a password: ask for one without")
        if info.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
            raise Refused(ADVICE)
        return self.archive.open(info)

    def close(self) -> None:
        self.archive.close()
        self.file.close()


class _ReadInPieces(io.BufferedReader):
    """A file that refuses to read more at once than a list of files may have."""

    def read(self, size: int | None = -1) -> bytes:
        data = super().read(MAX_DIRECTORY + 1 if size is None or size < 0 else min(size, MAX_DIRECTORY + 1))
        if len(data) > MAX_DIRECTORY:
            raise Refused(TOO_MUCH)
        return data


class Tar:
    """A tar or tar.gz, read once from start to end; of its headers, only the names and sizes of files are used."""

    def __init__(self, path: StrPath) -> None:
        self.file = open(path, "rb")
        packed = self.file.read(2) == b"\x1f\x8b"
        self.file.seek(0)
        self.stream = gzip.GzipFile(fileobj=self.file) if packed else self.file
        self.skipped = 0
        self.left = min(MAX_STREAM, LEAST_STREAM + MAX_RATIO * os.path.getsize(path))

    def names(self) -> None:
        return None

    def regular_files(self) -> Iterator[tuple[str, Opener]]:
        said = {}  # fields from extended headers, which come before a file's own header
        for _ in range(MAX_ENTRIES):
            info = self._next_header()
            if info is None:
                return
            if info.type in (tarfile.XHDTYPE, tarfile.SOLARIS_XHDTYPE):
                said.update(_records(self._header(info)))
            elif info.type == tarfile.GNUTYPE_LONGNAME:
                said["path"] = self._header(info).rstrip(b"\0").decode("utf-8", "surrogateescape")
            elif info.type in (tarfile.GNUTYPE_LONGLINK, tarfile.XGLTYPE):
                self._skip(_padded(info.size))
            else:
                yield from self._member(info, said)
                said = {}
        raise Refused(TOO_MUCH)

    def _member(self, info: tarfile.TarInfo, said: dict[str, str]) -> Iterator[tuple[str, Opener]]:
        if info.type == tarfile.GNUTYPE_SPARSE or any(key.startswith("GNU.sparse.") for key in said):
            raise Refused("it contains a sparse file: ask for a .zip")
        if not info.isreg() and info.type in tarfile.SUPPORTED_TYPES:
            return  # a folder, a link or a special file, which has no data
        size = int(said.get("size", info.size))
        member = _Member(self, size)
        name = said.get("path", info.name)
        if info.isreg() and not name.endswith("/"):
            yield name, lambda: contextlib.nullcontext(member)
        self._skip(member.left + _padded(size) - size)

    def _next_header(self) -> tarfile.TarInfo | None:
        block = self.stream.read(tarfile.BLOCKSIZE)
        self.left -= tarfile.BLOCKSIZE
        try:
            return tarfile.TarInfo.frombuf(block, "utf-8", "surrogateescape") if block.strip(b"\0") else None
        except tarfile.HeaderError:
            raise Refused("it is not an archive, or is broken") from None

    def _header(self, info: tarfile.TarInfo) -> bytes:
        if not 0 <= info.size <= MAX_HEADER:
            raise Refused("its description of a file is too large")
        return self.read(_padded(info.size))[: info.size]

    def _skip(self, size: int) -> None:
        self.skipped += max(size, 0)
        while size > 0:
            size -= len(self.read(min(size, 2**16)))

    def read(self, size: int) -> bytes:
        """Read exactly `size` bytes. Raises Refused."""
        self.left -= size
        if self.left < 0:
            raise Refused(TOO_MUCH)
        data = self.stream.read(size)
        if len(data) < size:
            raise Refused("it ends in the middle")
        return data

    def close(self) -> None:
        self.file.close()


class _Member:
    """A file in a Tar; it must be read before the next file is requested."""

    def __init__(self, archive: Tar, size: int) -> None:
        if size < 0:
            raise Refused("its description of a file is impossible")
        self.archive, self.left = archive, size

    def read(self, size: int) -> bytes:
        data = self.archive.read(min(size, self.left))
        self.left -= len(data)
        return data


def _padded(size: int) -> int:
    return -(-size // tarfile.BLOCKSIZE) * tarfile.BLOCKSIZE


def _records(header: bytes) -> dict[str, str]:
    """The fields of a pax header: each line has its length, a space, a key, `=` and a value."""
    found, at = {}, 0
    while at < len(header):
        space = header.find(b" ", at, at + 20)
        if space < 0 or not header[at:space].isdigit() or (end := at + int(header[at:space])) <= space:
            raise Refused("its description of a file cannot be read")
        key, _, value = header[space + 1 : end].rstrip(b"\n").partition(b"=")
        if key in (b"path", b"size") or key.startswith(b"GNU.sparse."):
            found[key.decode("utf-8", "replace")[:20]] = value.decode("utf-8", "surrogateescape")
        at = end
    return found
