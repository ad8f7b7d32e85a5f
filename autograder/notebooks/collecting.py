"""What plugs into `nbgrader zip_collect`: archives of strangers, unpacked within bounds, file by file.

nbgrader's own extractor reads whole files into memory, unpacks archives within archives without end, follows links and
gives up on the class when one archive is broken.
"""

import contextlib
import lzma
import os
import re
import shutil
import stat
import struct
import tarfile
import zipfile
import zlib
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from nbgrader.plugins import ExtractorPlugin, FileNameCollectorPlugin

from .reading import MAX_FILE

MAX_NAME = 200
MAX_FOLDERS = 10
MAX_NESTED = 2  # archives in an archive: that of a whole class holds those of its students
ARCHIVES = (".zip", ".gz", ".tar", ".tgz")
BROKEN = (zipfile.BadZipFile, tarfile.TarError, zlib.error, lzma.LZMAError, struct.error, EOFError, OSError)
BROKEN += (ValueError, RuntimeError, KeyError)


class Refused(Exception):
    """A file is not taken; the message says why."""


@dataclass
class Room:
    """What may still be unpacked of one archive and of those in it."""

    files: int
    size: int

    def take(self, files=0, size=0):
        self.files -= files
        self.size -= size
        if self.files < 0 or self.size < 0:
            raise Refused("there is too much in it")


class BoundedExtractor(ExtractorPlugin):
    """Unpacks regular files of bounded size and number; what it does not take it says, and goes on."""

    def extract(self, archive_path, extracted_path):
        for folder, _, names in os.walk(archive_path):
            for name in sorted(names):
                source = Path(folder) / name
                target = Path(extracted_path) / source.relative_to(archive_path)
                try:
                    self._take(source, target)
                except Refused as problem:
                    self._skip(name, problem)

    def _take(self, source, target):
        if not stat.S_ISREG(source.lstat().st_mode):
            raise Refused("it is no regular file")
        if source.suffix in ARCHIVES:
            self._unpack(source, _without_suffix(target), Room(files=20_000, size=2**31), 0)
        else:
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(source, target)

    def _unpack(self, source, folder, room, depth):
        """Unpack an archive into a folder, and the archives in it into folders beside them. Raises Refused."""
        folder.mkdir(parents=True, exist_ok=True)
        nested = []
        try:
            with contextlib.closing(_opened(source)) as archive:
                for name, open_member in archive.regular_files():
                    room.take(files=1)
                    try:
                        target = folder / safe_path(name)
                        _write(open_member, target, room)
                    except Refused as problem:
                        room.take()  # nothing; but it raises when there is no room left
                        self._skip(f"{source.name}, {name}", problem)
                        continue
                    if target.suffix in ARCHIVES:
                        nested.append(target)
        except BROKEN as error:
            raise Refused(f"it cannot be unpacked ({type(error).__name__})") from None
        for archive in nested:
            try:
                if depth == MAX_NESTED:
                    raise Refused("it is an archive in an archive in an archive")
                self._unpack(archive, _without_suffix(archive), room, depth + 1)
            except Refused as problem:
                self._skip(archive.name, problem)

    def _skip(self, name, problem):
        self.log.warning("Skipped %s: %s", ascii(str(name)[:MAX_NAME])[1:-1], problem)


class SafeCollector(FileNameCollectorPlugin):
    """nbgrader's collector, which takes no name that leads out of the student's folder."""

    def collect(self, submitted_file):
        info = super().collect(submitted_file)
        names = [info.get(key) for key in ("student_id", "file_id")] if info else []
        if any(isinstance(name, str) and not _is_plain(name) for name in names):
            self.log.warning("Skipped %s: its name leads elsewhere", ascii(submitted_file)[1:-1])
            return None
        return info


def safe_path(name):
    """The path within a folder that a member of an archive is written to. Raises Refused."""
    parts = PurePosixPath(name.replace("\\", "/")).parts
    if not parts or len(parts) > MAX_FOLDERS or not all(_is_plain(part) for part in parts):
        raise Refused("its name leads elsewhere, or cannot be one")
    return Path(*parts)


def _is_plain(name):
    """Whether it is the name of something within a folder, and can be shown."""
    return 0 < len(name.encode("utf-8", "replace")) <= MAX_NAME and name.isprintable() and not re.search(r"^\.|/", name)


def _write(open_member, target, room):
    """Copy a member to a new file, counting what really comes. Raises Refused."""
    size = 0
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        with open_member() as source, open(target, "xb") as file:
            while part := source.read(2**20):
                size += len(part)
                room.take(size=len(part))
                if size > MAX_FILE:
                    raise Refused(f"it has more than {MAX_FILE // 2**20} MB")
                file.write(part)
    except FileExistsError:
        raise Refused("there is another of that name") from None
    except NotADirectoryError:
        raise Refused("a file is in the place of its folder") from None
    except Refused:
        target.unlink()
        raise


class _Zip(zipfile.ZipFile):
    def regular_files(self):
        for info in self.infolist():
            kind = stat.S_IFMT(info.external_attr >> 16)
            if not info.is_dir() and kind in (0, stat.S_IFREG):
                yield info.filename, lambda info=info: self.open(info)


class _Tar(tarfile.TarFile):
    def regular_files(self):
        for info in self:
            if info.isreg() and not info.issparse():
                yield info.name, lambda info=info: self.extractfile(info)


def _opened(path):
    return _Zip(path) if zipfile.is_zipfile(path) else _Tar.open(path)


def _without_suffix(path):
    """The folder for an archive: `a.tar.gz` goes into `a`; a name without a suffix would be the archive's own."""
    return path.with_name(re.sub(r"(\.tar)?\.\w+$", "", path.name) or "archive")
