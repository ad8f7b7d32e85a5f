"""What of last year's nbgrader_config.py goes into the next one: all but secrets, people and last year's places.

The file is read as text and never run.
"""

from __future__ import annotations

import ast
import io
import tokenize
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from ..errors import UsageError
from . import secrets
from .people import People

FILE = "nbgrader_config.py"
OF_A_YEAR = {  # options that lead to last year's class, whatever their value
    "CourseDirectory.db_url": "it is last year's gradebook",
    "NbGrader.db_url": "it is last year's gradebook",
    "CourseDirectory.root": "it is last year's folder",
    "NbGrader.course_directory": "it is last year's folder",
}
SECRET, PERSON, FOLDER = "it has a password or a key", "it names a student of last year", "it names last year's folder"
COMMENT = "it may have a secret or a student's name"
USES = "it uses what was not taken"
ASKED = ("environ", "getenv", "getpass", "open", "read_text")  # what gives a secret that is kept elsewhere
TO_CHECK = ("Desk.address", "Desk.lti", "Desk.hub", "Exchange.root", "Release.colab")  # places that may be another now


@dataclass(frozen=True)
class Settings:
    """The `text` of the next configuration; `left_out` are (what was set, why it was not taken)."""

    text: str
    left_out: tuple[tuple[str, str], ...]
    to_check: tuple[str, ...]


def settings(data: bytes, root: Path, people: People) -> Settings:
    """What to take of the configuration of the course in `root`. Raises UsageError if it cannot be read."""
    try:
        text = data.decode("utf-8-sig").replace("\r\n", "\n")
        tree = ast.parse(text)
        comments = list(_comments(text))
    except (SyntaxError, ValueError, RecursionError, MemoryError, tokenize.TokenError) as problem:
        said = " ".join(str(problem).split())
        raise UsageError(f"{FILE} in {root} cannot be read ({said}): fix it there first.") from None
    reasons = _reasons(tree.body, root, people)
    lines = text.split("\n")
    left_out = [(_what(node), reason) for node, reason in reasons.items()]
    for row, column, comment in comments:
        if secrets.gives_a_secret(comment) or people.are_in(comment) or str(root) in comment:
            lines[row - 1] = lines[row - 1][:column].rstrip()
            left_out.append((f"the comment in line {row}", COMMENT))
    for node in reversed(tree.body):
        if node in reasons:
            first, last = _lines(node)
            lines[first - 1 : last] = [f"# {_what(node)}: not taken from last year, since {reasons[node]}"]
    kept = {name for node in tree.body if node not in reasons for name in _set_by(node)}
    to_check = tuple(f"c.{name}" for name in TO_CHECK if f"c.{name}" in kept)
    return Settings("\n".join(lines), tuple(left_out), to_check)


def _comments(text: str) -> Iterator[tuple[int, int, str]]:
    """(line, column, text) of each comment."""
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type == tokenize.COMMENT:
            yield *token.start, token.string


def _reasons(body: list[ast.stmt], root: Path, people: People) -> dict[ast.stmt, str]:
    """Why each statement that is not taken is not; neither is what uses one, or shares a line with it."""
    found = {node: reason for node in body if (reason := _reason(node, root, people))}
    while True:
        gone = {name for node in found for name in _made_by(node)} - {"c"}
        rows = {row for node in found for row in range(_lines(node)[0], _lines(node)[1] + 1)}
        more = {
            node: USES for node in body if node not in found and (gone & _used_in(node) or rows & set(_lines(node)))
        }
        if not more:
            return {node: found[node] for node in body if node in found}
        found |= more


def _reason(node: ast.stmt, root: Path, people: People) -> str | None:
    """Why a statement is not taken, or None."""
    for name in _set_by(node):
        if reason := OF_A_YEAR.get(name.removeprefix("c.")):
            return reason
    texts = [one.value for one in ast.walk(node) if isinstance(one, ast.Constant) and isinstance(one.value, str)]
    if any(map(secrets.is_secret, texts)) or any(map(secrets.names_a_secret, _named_texts(node))):
        return SECRET
    if any(map(people.has, texts)):
        return PERSON
    return FOLDER if any(str(root) in text for text in texts) else None


def _set_by(node: ast.stmt) -> set[str]:
    """The options that a statement sets or adds to, such as `c.Exercises.points`, at any depth."""
    found = set[str]()
    for one in ast.walk(node):
        if isinstance(one, ast.Attribute) and isinstance(one.ctx, ast.Store):
            found.add(ast.unparse(one))
        elif isinstance(one, ast.Subscript) and isinstance(one.ctx, ast.Store):
            found.add(ast.unparse(one.value))
        elif isinstance(one, ast.Call) and isinstance(one.func, ast.Attribute):
            found.add(ast.unparse(one.func.value))
    return {name for name in found if name.startswith("c.")}


def _made_by(node: ast.stmt) -> set[str]:
    """The names that a statement makes."""
    found = {one.id for one in ast.walk(node) if isinstance(one, ast.Name) and isinstance(one.ctx, ast.Store)}
    found |= {one.name for one in ast.walk(node) if isinstance(one, (ast.FunctionDef, ast.ClassDef))}
    return found | {one.asname or one.name.split(".")[0] for one in ast.walk(node) if isinstance(one, ast.alias)}


def _used_in(node: ast.stmt) -> set[str]:
    return {one.id for one in ast.walk(node) if isinstance(one, ast.Name) and isinstance(one.ctx, ast.Load)}


def _named_texts(node: ast.stmt) -> Iterator[str]:
    """The names under which a statement gives texts: variables, options, keys and parameters."""
    for one in ast.walk(node):
        pairs: Iterable[tuple[ast.AST | str | None, ast.expr | None]] = ()
        if isinstance(one, ast.Assign):
            pairs = [(target, one.value) for target in one.targets]
        elif isinstance(one, ast.AnnAssign):
            pairs = [(one.target, one.value)]
        elif isinstance(one, ast.Dict):
            pairs = list(zip(one.keys, one.values, strict=True))
        elif isinstance(one, ast.keyword):
            pairs = [(one.arg, one.value)]
        elif isinstance(one, ast.NamedExpr):
            pairs = [(one.target, one.value)]
        yield from (_name(key) for key, value in pairs if _has_text(value))


def _has_text(value: ast.expr | None) -> bool:
    """Whether a value is made of a text in it, by whatever it calls; what it reads from elsewhere is none."""
    parts = list(ast.walk(value)) if value else []
    if any(isinstance(one, (ast.Name, ast.Attribute)) and _name(one) in ASKED for one in parts):
        return False
    return any(isinstance(one, ast.Constant) and isinstance(one.value, (str, bytes)) for one in parts)


def _name(key: ast.AST | str | None) -> str:
    """The last part of what a value is given to."""
    if isinstance(key, ast.Subscript):
        key = key.slice
    if isinstance(key, ast.Constant):
        return str(key.value)
    return key.attr if isinstance(key, ast.Attribute) else key.id if isinstance(key, ast.Name) else str(key or "")


def _lines(node: ast.stmt) -> tuple[int, int]:
    """The first and the last line of a statement."""
    above = [one.lineno for one in getattr(node, "decorator_list", [])]
    return min([node.lineno, *above]), node.end_lineno or node.lineno


def _what(node: ast.stmt) -> str:
    """What a statement is about, in a few words that give nothing away."""
    return next(iter(sorted(_set_by(node)) or sorted(_made_by(node))), "a line")
