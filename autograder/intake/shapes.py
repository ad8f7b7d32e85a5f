"""How learning platforms name what they let an instructor download, as data: a pattern and an example for each layout.

A pattern's groups are those of `collect --pattern`, and `login` (the name of the account), `file` (the student's own
name of a file) and `page` (a page that the system itself writes). The names were looked up in programs that read such
downloads: Blackboard (kwurst/bb-file-cleanup), Brightspace (StoneyJackson/d2l), Sakai (Nava2/sakai-git-marking-helper,
erictleung/format-sakai-upload), ILIAS (ilifau/ExerciseStatusFile, nbgrader#796), and in what Google and GitHub write.
"""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeAlias

Place: TypeAlias = tuple[str, ...]  # the parts of a path


@dataclass(frozen=True)
class Shape:
    """One way in which a system names hand-ins: `pattern` is that of the whole name of a folder or file.

    `inside` is the pattern of a file in the folder, where its own name has a time before it. `stamp` is the name of a
    file with the time, `own` the pattern of what the system puts beside a hand-in. A name that anything may have counts
    as a system's with a `mark`, a pattern for a name in the folder; or if its student is on the roster (`of_roster`:
    only then).
    """

    pattern: str
    example: str
    inside: str = ""
    stamp: str = ""
    own: str = ""
    mark: str = ""
    of_roster: bool = False

    def match(self, name: str) -> dict[str, str] | None:
        """What the pattern finds in a name, without groups that are not there; None if it is none of this shape."""
        found = re.fullmatch(self.pattern, name)
        return {key: text for key, text in found.groupdict().items() if text} if found else None


# logins with more and more underscores, each with a pattern of its own
LOGINS = {
    r"[^_]+": "jdoe",
    r"[^_]+_[^_]+": "j_doe",
    r"[^_]+(?:_[^_]+){2}": "j_x_doe",
    r"[^_]+(?:_[^_]+){3}": "j_x_y_doe",
}
SUFFIX = r"(?: ?\(\d+\))?(?:\.[A-Za-z0-9]{1,5}){1,2}"
ATTEMPT = r"_attempt_(?P<time>\d{4}(?:-\d\d){5})(?:_(?P<file>.+)|(?P<page>\.txt))"
D2L = r"\d+-\d+ ?- (?P<name>.+?) ?- (?P<time>(?:(?! - ).)*?(?<!\d)\d{4}(?!\d)(?:(?! - ).)*)"
# by system; where several shapes fit a name, layouts.py tells which one counts
SHAPES: dict[str, tuple[Shape, ...]] = {
    "blackboard": tuple(
        Shape(rf".+?_(?P<login>{login}){ATTEMPT}", f"HW 1_{example}_attempt_2026-11-20-10-11-12_hw1.ipynb")
        for login, example in LOGINS.items()
    ),
    "brightspace": (
        Shape(D2L, "12345-67890 - Jane Doe - Nov 20, 2026 1011 AM/hw1.ipynb", own=r"index\.html"),
        Shape(
            rf"{D2L} - (?P<file>.+)", "12345-67890 - Jane Doe - Nov 20, 2026 1011 AM - hw1.ipynb", own=r"index\.html"
        ),
    ),
    "sakai": (
        Shape(
            r"(?P<name>[^()]+?)\((?P<login>[^()]+)\)",
            "Doe, Jane(jdoe)/Submission attachment(s)/hw1.ipynb",
            stamp="timestamp.txt",
            own=r"timestamp\.txt|comments\.txt|feedbackText\.html|Feedback [Aa]ttachment\(s\)|grades\.(?:csv|xlsx?)",
            mark=r"Submission [Aa]ttachment\(s\)|timestamp\.txt|.*_?submissionText\.html",
        ),
    ),
    "ilias": tuple(
        Shape(
            rf"(?P<name>.+)_(?P<login>{login})_\d+",
            f"HW 1/Doe_Jane_{example}_4711/20261120101112_hw1.ipynb",
            inside=r"(?P<time>\d{14})_(?P<file>.+)",
            own=r"status\.(?:csv|xlsx?)",
            mark=r"\d{14}_.+",
        )
        for login, example in LOGINS.items()
    ),
    "google-forms": (Shape(rf"(?P<file>.+) - (?P<name>.+?){SUFFIX}", "hw1 - Jane Doe.ipynb", of_roster=True),),
    "google-classroom": (Shape(r"(?P<name>.+?) - (?P<file>.+)", "Jane Doe - hw1.ipynb", of_roster=True),),
    "github-classroom": (Shape(r"(?P<login>.+)", "hw1-submissions/hw1-jdoe/hw1.ipynb", of_roster=True),),
}
AROUND = "-submissions"  # how GitHub Classroom ends the name of the folder around the repositories
GITHUB = "github-classroom"


def prefixes(names: Sequence[str], around: str) -> list[str]:
    """What GitHub Classroom may have put before each login: the name of the assignment, and a hyphen.

    `around` is the name of the folder that holds the repositories.
    """
    if around.endswith(AROUND):
        said = around.removesuffix(AROUND) + "-"
        return [said] if names and all(name.startswith(said) for name in names) else []
    if len(names) < 2:
        return []
    same = os.path.commonprefix(list(names))
    return [same[: at + 1] for at in range(len(same) - 1, -1, -1) if same[at] == "-"]
