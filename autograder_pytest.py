"""Tells pytest of `--submission PATH` before it reads its arguments, where the checks of a course are asked for.

pytest loads this module in every run on a machine that has the kit, so it imports nothing of the kit (whose `__init__`
changes the process) and adds no option to a run of anything else. `autograder/grading/by_hand.py` is the plugin.
"""

from __future__ import annotations

import copy
import importlib
import importlib.util
import os
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

PLUGIN = "autograder.grading.by_hand"
OPTIONS = {"--submission": True, "--seed": True, "--unsafe": False}  # of the plugin, and whether a value follows each
CHECKS = "autograder.exercises"  # for --pyargs


@pytest.hookimpl(tryfirst=True)  # before the conftest.py files, which are looked for at what is no option's value
def pytest_load_initial_conftests(early_config: pytest.Config, parser: pytest.Parser, args: Sequence[str]) -> None:
    """Register the plugin, and have pytest read its arguments again with the options of it, if checks are asked for."""
    others = list(_without_ours(args))
    known = parser.parse_known_args(others, namespace=copy.copy(early_config.option))
    places = known.file_or_dir or [str(early_config.invocation_params.dir)]
    if not any(_are_checks(place, known.pyargs, len(others) < len(args)) for place in places):
        return
    early_config.pluginmanager.register(importlib.import_module(PLUGIN), PLUGIN)
    confcutdir = early_config.known_args_namespace.confcutdir
    early_config.known_args_namespace = parser.parse_known_args(args, namespace=copy.copy(early_config.option))
    early_config.known_args_namespace.confcutdir = confcutdir


def _without_ours(args: Sequence[str]) -> Iterator[str]:
    """The arguments without the plugin's options and their values."""
    rest = iter(args)
    for arg in rest:
        option, _, _ = arg.partition("=")
        if option not in OPTIONS:
            yield arg
        elif OPTIONS[option] and option == arg:
            next(rest, None)


def _are_checks(place: str, is_module: bool, with_options: bool) -> bool:
    """Whether an argument asks for the checks of a course: a place in its exercises or, with the options, anywhere."""
    if is_module and (place == CHECKS or place.startswith(f"{CHECKS}.")):
        return True
    path = Path(os.path.realpath(place.partition("::")[0]))
    kit = importlib.util.find_spec(CHECKS.partition(".")[0])
    kits = {Path(os.path.realpath(folder)) for folder in (kit and kit.submodule_search_locations) or ()}
    for folder in (path, *path.parents):
        if folder in kits or (folder / "nbgrader_config.py").is_file() and (folder / "source").is_dir():
            below = path.relative_to(folder).parts
            in_exercises = below[:1] == ("exercises",) and any(folder.glob("exercises/*/checks.py"))
            return in_exercises or with_options
    return False
