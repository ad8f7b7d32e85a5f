"""The names by which an nbgrader_config.py that was written before knows the parts of `autograder.nbgrader`."""

import importlib
import sys

NAMES = {
    "autograde": "preprocessors",
    "collecting": "collecting",
    "nbgrader_patch": "patches",
    "releasing": "releasing",
    "showing": "safe_markdown",
}

__path__ = []  # so that the NAMES can be imported from here
for _before, _now in NAMES.items():
    globals()[_before] = sys.modules[f"{__name__}.{_before}"] = importlib.import_module(f"autograder.nbgrader.{_now}")
