"""The files of this machine that a sandbox sees: the interpreter, its packages and the libraries they load, no kit.

Everything is shown under its real path only, and symbolic links lead there as they do outside. So a hidden file is
hidden under every name.
"""

import glob
import itertools
import os
import re
import site
import sys
import sysconfig
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path, PurePath

from .. import course, installed
from ..errors import CourseError

PACKAGE = os.path.dirname(os.path.dirname(os.path.realpath(__file__)))
INSIDE = os.path.join(PACKAGE, "sandbox", "inside")
# hidden among packages: what pip and setuptools install there for the kit, and nbgrader, which contains a course
AMONG_PACKAGES = ("autograder", "attention?course*", "__editable__*attention?course*", "__pycache__/*attention?course*")
AMONG_PACKAGES += ("nbgrader",)
OF_A_COURSE = (
    "source",
    "exercises",
    "release",
    "solutions",
    "submitted",
    "autograded",
    "feedback",
    "gradebook.db",
    ".autograder",
)
PREFIX_PARTS = ("lib", "lib32", "lib64", "pyvenv.cfg")  # the parts of an environment's folder that it needs to run
SYSTEM_PREFIXES = ("/usr", "/usr/local")  # their `lib` holds much else, so only the paths that Python itself names
PACKAGES = ("site-packages", "dist-packages")
CACHE = "/etc/ld.so.cache"
LIBRARY = re.compile(rb"/[\w/.+-]+/[\w.+-]+\.so[\w.+-]*(?=\0)")


@dataclass(frozen=True)
class View:
    """`marks` maps real paths, folders first, to True if shown, False if hidden (below a path that is shown).

    `links` maps the symbolic links that lead there from paths that are not shown to their targets.
    """

    marks: dict[str, bool]
    links: dict[str, str]

    def shows(self, path: str) -> bool:
        """Whether a real path is visible inside the sandbox."""
        around = (str(folder) for folder in (PurePath(path), *PurePath(path).parents))
        return next((self.marks[folder] for folder in around if folder in self.marks), False)

    @property
    def shown(self) -> list[str]:
        return [path for path, shown in self.marks.items() if shown]


def of_this_machine() -> View:
    """The View of a sandbox for this interpreter."""
    links: dict[str, str] = {}
    wanted = {_followed(path, links) for path in [*_python_paths(), *_library_paths()] if os.path.exists(path)}
    unneeded = {path for folder in wanted for path in _package_folders(folder)} - wanted
    marks = dict.fromkeys(wanted, True) | dict.fromkeys([*unneeded, *_secrets()], False)
    view = View({}, {})
    for path in in_order(marks):
        if marks[path] != view.shows(path):
            view.marks[path] = marks[path]
    view.links.update((path, target) for path, target in links.items() if not view.shows(path))
    return view


def in_order(paths: Iterable[str]) -> list[str]:
    """The paths sorted so that folders come before what lies below them."""
    return sorted(paths, key=lambda path: PurePath(path).parts)


def _followed(path: str, links: dict[str, str]) -> str:
    """The real path of an existing path. Adds every symbolic link on the way to `links`."""
    here, left = "/", list(PurePath(path).parts[1:])
    while left:
        part = left.pop(0)
        there = os.path.dirname(here) if part == ".." else os.path.join(here, part)
        if os.path.islink(there):
            target = links[there] = os.readlink(there)
            left[:0] = PurePath(target).parts[os.path.isabs(target) :]
            here = "/" if os.path.isabs(target) else here
        else:
            here = there
    return here


# --- what is shown --------------------------------------------------------------------------------


def _library_paths() -> list[str]:
    """The paths where the dynamic loader finds shared libraries, and the files that these read."""
    paths = ["/usr/lib/locale", "/usr/share/zoneinfo", "/usr/share/fonts", "/usr/local/nvidia"]
    paths += [CACHE, "/etc/ld.so.conf", "/etc/ld.so.conf.d", "/etc/localtime"]
    paths += glob.glob("/lib*/ld-*")  # the loader itself, under the name that programs use
    if not os.path.exists(CACHE):
        return [*paths, "/lib", "/lib64", "/usr/lib", "/usr/lib64"]
    libraries = {os.fsdecode(path) for path in LIBRARY.findall(Path(CACHE).read_bytes())}
    elsewhere = [path for path in libraries if os.path.islink(path) and "/" in os.readlink(path)]
    return [*paths, *elsewhere, *{os.path.dirname(path) for path in libraries}]


def _python_paths() -> list[str]:
    """The paths of the environment, of its base interpreter, and of each package folder that this interpreter searches.

    A prefix is never shown as a whole: a course may lie in `/usr/local`, and so may a Python.
    """
    prefixes = {sys.prefix, sys.base_prefix} - set(SYSTEM_PREFIXES)
    paths = [os.path.join(prefix, part) for prefix in prefixes for part in PREFIX_PARTS]
    paths += [os.path.abspath(sys.executable), sysconfig.get_path("stdlib"), sysconfig.get_path("platstdlib")]
    user = os.path.realpath(site.getusersitepackages())  # an isolated interpreter does not search it
    return paths + [path for path in sys.path if os.path.basename(path) in PACKAGES and os.path.realpath(path) != user]


def _package_folders(folder: str) -> set[str]:
    """The package folders below the folder of one interpreter, or of several."""
    return {
        os.path.realpath(path)
        for packages in PACKAGES
        for below in ("", "python*")
        for path in glob.glob(os.path.join(glob.escape(folder), below, packages))
    }


# --- what is hidden -------------------------------------------------------------------------------


def course_folders() -> list[str]:
    """A list with the folder of the course; empty if there is none."""
    try:
        return [str(course.root())]
    except (CourseError, OSError):  # there is none here, or the working directory is gone
        return []


def _secrets() -> set[str]:
    """The real paths of the kit, of what its installation put among the packages, and of courses."""
    secrets = [PACKAGE, *course_folders(), *installed.secret_paths()]
    among = {os.path.dirname(PACKAGE), *(path for path in sys.path if os.path.basename(path) in PACKAGES)}
    for folder, name in itertools.product(among, AMONG_PACKAGES):
        secrets += glob.glob(os.path.join(glob.escape(folder), name))
    return {os.path.realpath(path) for path in secrets if os.path.exists(path)}


def secret_inodes() -> list[list[int]]:
    """`[device, inode]` of the hidden files of the kit and of installed courses, and of the parts of the course.

    These identify them under any name.
    """
    paths = [os.path.join(folder, part) for folder in course_folders() for part in ("", *OF_A_COURSE)]
    for top in (PACKAGE, *(one.folder for one in installed.courses())):
        for folder, folders, names in os.walk(top):
            if folder == INSIDE:  # shown on purpose
                folders.clear()
            else:
                paths += [folder, *(os.path.join(folder, name) for name in names)]
    statuses = [os.stat(path) for path in paths if os.path.exists(path)]
    return [[status.st_dev, status.st_ino] for status in statuses]
