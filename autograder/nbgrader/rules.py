"""The rules for students' AI assistants: `source/rules_for_assistants.md`, which students get as `release/AGENTS.md`.

Assistants look for AGENTS.md by that name, and in source/ it would speak to those of the course's authors.
"""

import shutil
from pathlib import Path

SOURCE, RELEASED = "rules_for_assistants.md", "AGENTS.md"


def release(root: Path) -> None:
    """Copy the rules of the course in `root` into its release/, if it has any."""
    rules = root / "source" / SOURCE
    if rules.is_file():
        shutil.copyfile(rules, root / "release" / RELEASED)
