"""The house as docs/architecture.md draws it: imports go one way, and its map shows every folder."""

import ast
import functools
import re

from conftest import ROOT
from imports import names_imported

KIT = ROOT / "autograder"
ORDER = """errors lazily bounds installed course verdict submission intake groups sandbox checks mistakes exercises
grading report nbgrader batch lms templates watch new doctor demo desk notebooks cli __main__""".split()
EXCEPT = {
    ("exercises/conftest.py", "grading"),  # serves `pytest autograder/exercises`, which grades by hand
    ("verdict.py", "submission"),  # names the type of the cells that a Graded carries along, and imports nothing
}


def parts():
    """The folders and modules at the top of the kit: those that hold code."""
    folders = {path.name for path in KIT.iterdir() if path.is_dir() and any(path.rglob("*.py"))}
    return folders | {path.stem for path in KIT.glob("*.py") if path.stem != "__init__"}


def files_imported():
    """{file: the files that it imports}, as dotted names, of all files of the kit that are run as its modules.

    Each import counts: at the top, inside functions, and for the type checker alone.
    """
    paths = [path for path in KIT.rglob("*.py") if not {"students", "templates"} & set(path.parts)]
    files = {".".join(path.relative_to(KIT).with_suffix("").parts).removesuffix(".__init__"): path for path in paths}
    return {name: {_file_of(other, files) for other in imported(path)} - {name, ""} for name, path in files.items()}


def _file_of(name, files):
    """The file that an imported name lies in: `errors` for `errors.KitError`; "" for the kit itself."""
    while name and name not in files:
        name = name.rpartition(".")[0]
    return name


def circles(imports):
    """The files that import each other, in a roundabout way or at once, as sorted lists."""

    def reached(start):
        found, waiting = set(), set(imports[start])
        while waiting := waiting - found:
            found |= waiting
            waiting = set().union(*(imports[name] for name in waiting))
        return found

    reach = {name: reached(name) for name in imports}
    return {tuple(sorted({other for other in reach[name] if name in reach[other]})) for name in imports} - {()}


@functools.cache
def tree(path):
    return ast.parse(path.read_text(encoding="utf-8"))


def imported(path):
    """The dotted names that a file of the kit imports from it, wherever in the file, as `sandbox.jail`."""
    names = names_imported(ast.walk(tree(path)), path)
    return (name.removeprefix("autograder.") for name in names if name.startswith("autograder."))


def test_imports_go_one_way():
    """A part of the kit imports only those before it, also where it does so late, to start sooner: so no circles."""
    assert parts() <= set(ORDER)
    for path in KIT.rglob("*.py"):
        place = path.relative_to(KIT)
        if place.name == "__init__.py" and place.parent == KIT or place.parts[:2] == ("demo", "students"):
            continue
        part = place.parts[0].removesuffix(".py")
        for name in imported(path):
            other = name.split(".")[0]
            allowed = other == part or (place.as_posix(), other) in EXCEPT
            if part in ORDER and other in ORDER:
                assert allowed or ORDER.index(other) < ORDER.index(part), f"{place} imports {name}"


def test_no_files_import_each_other():
    """Not within a room, inside functions or for a type alone either: so each file can be read after those it needs."""
    assert circles(files_imported()) == set()


def test_circles_are_found():
    around = {"a": {"b"}, "b": {"c"}, "c": {"a", "d"}, "d": set(), "e": {"e", "a"}}
    assert circles(around) == {("a", "b", "c"), ("e",)}


def test_what_is_bound_into_the_sandbox_imports_nothing_else():
    for path in (KIT / "sandbox" / "inside").glob("*.py"):
        assert all(name.startswith("sandbox.inside") for name in imported(path)), path.name


def test_the_map_shows_all():
    """The page's map has a line for every folder of the repository, and for every folder and module of the kit."""
    page = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
    (drawn,) = re.findall(r"^## The map\n(.*?)^## ", page, re.MULTILINE | re.DOTALL)
    shown = set(re.findall(r"^ {4,}([\w.]+)/?(?:, ([\w.]+)/)*  ", drawn, re.MULTILINE))
    names = {name.removesuffix(".py") for pair in shown for name in pair}
    assert parts() - {"__main__"} <= names
    assert {path.parent.name for path in (KIT / "exercises").glob("*/__init__.py")} & {"families", "reference"} <= names
    assert {"source", "release", "solutions", "tests", "benchmarks", "docs"} <= names
