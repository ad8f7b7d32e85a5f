"""docs/desk.md says what the code does: the settings with their defaults, and all levels."""

import dataclasses
import re

from conftest import ROOT

from autograder.desk.overview import STUCK
from autograder.desk.settings import COUNTING, LEVELS, WHO, Settings

PAGE = (ROOT / "docs" / "desk.md").read_text(encoding="utf-8")


def test_each_setting_is_there_with_its_default():
    rows = re.findall(r"^\| ((?:`\w+`(?:, )?)+) \| (.*) \| ([^|]*) \|$", PAGE, re.MULTILINE)
    found = {}
    for names, _, defaults in rows:
        found.update(zip(re.findall(r"\w+", names), re.findall(r"`([^`]+)`", defaults), strict=False))
    shown = {field.name: str(field.default).replace("'", '"') for field in dataclasses.fields(Settings)}
    shown = {name: f'"{value}"' if value in (*LEVELS, *COUNTING, *WHO) else value for name, value in shown.items()}
    assert shown.items() <= found.items()


def test_each_choice_is_there():
    for choice in (*COUNTING, *WHO):
        assert f'`"{choice}"`' in PAGE
    assert re.findall(r'^\| `"(\w+)"` \|', PAGE, re.MULTILINE) == list(LEVELS)
    assert STUCK == 3 and "three tries one after another" in PAGE
