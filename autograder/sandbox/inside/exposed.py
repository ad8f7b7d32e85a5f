"""Searches a sandbox for files that it must not show: any copy of the kit, under any name, and courses."""

import os
import zipfile

# names that lie side by side in a copy of the kit, whatever its version and folder, or in a course
KITS = {"checks", "exercises", "mistakes"}, {"graders", "misconceptions", "reference"}  # now, and in older versions
COURSE = {"nbgrader_config.py", "source"}
ARCHIVES = (".whl", ".egg", ".zip", ".pyz")
NAME, SOURCES = ("attention_course-", "attention-course-"), (".gz", ".tgz", ".bz2", ".xz", ".tar")  # the kit's archives
APART = ("/proc", "/sys", "/dev")  # file systems of the kernel


def find(inodes: set[tuple[int, int]], root: str = "/") -> str | None:
    """The path of something below `root`, or `root` itself, that must not be visible, or None.

    `inodes`: `(device, inode)` of the files and folders of the kit and the course; these identify them under any name.
    """
    numbers = {inode for _, inode in inodes}
    if os.path.lexists(root) and (_inode(root) in inodes or _is_archive(root)):
        return root
    waiting = [root]
    while waiting:
        folder = waiting.pop()
        try:
            with os.scandir(folder) as listed:
                entries = list(listed)
        except OSError:  # it cannot be listed, but code that knows a name may reach what lies in it
            entries, names = (
                [],
                {name for name in set().union(*KITS, COURSE) if os.path.lexists(os.path.join(folder, name))},
            )
        else:
            names = {entry.name for entry in entries}
        if any(marks <= names for marks in (*KITS, COURSE)):
            return folder
        for entry in entries:
            if entry.inode() in numbers and _inode(entry.path) in inodes:
                return entry.path
            if _is_archive(entry.path):
                return entry.path
        folders = [entry.path for entry in entries if entry.is_dir(follow_symlinks=False)]
        waiting += folders if folder != root else [path for path in folders if path not in APART]
    return None


def _inode(path: str) -> tuple[int, int]:
    status = os.lstat(path)
    return status.st_dev, status.st_ino


def _is_archive(path: str) -> bool:
    """Whether a file holds the kit, packed."""
    name = os.path.basename(path)
    return name.endswith(ARCHIVES) and _packs_the_kit(path) or name.startswith(NAME) and name.endswith(SOURCES)


def _packs_the_kit(path: str) -> bool:
    try:
        with zipfile.ZipFile(path) as archive:
            folders = {part for name in archive.namelist() for part in name.split("/")[:-1]}
    except (OSError, zipfile.BadZipFile):
        return False
    return any(kit <= folders for kit in KITS)
