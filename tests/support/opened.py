"""A pytest plugin that writes down which files of the repository the tests used: `-p opened`, into the file $OPENED.

They are those whose code ran, and those that were opened, once the tests began.
"""

import os
import sys
from pathlib import Path

from conftest import ROOT

used: set[str] = set()


def pytest_collection_finish():
    sys.addaudithook(lambda event, given: used.add(str(given[0])) if event == "open" else None)
    sys.setprofile(lambda frame, event, _: used.add(frame.f_code.co_filename) if event == "call" else None)


def pytest_sessionfinish():
    sys.setprofile(None)
    paths = {Path(name).relative_to(ROOT) for name in used if name.startswith(f"{ROOT}/") and Path(name).is_file()}
    made = {path for path in paths if "__pycache__" in path.parts or len(path.parts) > 1 and path.parts[0][0] == "."}
    ours = {path.as_posix() for path in paths - made}
    Path(os.environ["OPENED"]).write_text("\n".join(sorted(ours)), encoding="utf-8")
