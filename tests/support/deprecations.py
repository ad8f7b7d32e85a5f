"""Makes an error of a deprecated call that the kit or its tests make: `pytest -p deprecations`, as `make newest` does.

A warning counts against the module that Python attributes it to, the caller's. What a package does inside is its own.
"""

from pathlib import Path

TESTS = Path(__file__).resolve().parents[1]
KINDS = ("DeprecationWarning", "PendingDeprecationWarning", "FutureWarning")


def pytest_configure(config):
    helpers = {path.stem for path in TESTS.glob("*/*.py")} | {"conftest"}
    ours = rf"(autograder\..*|test_\w+|{'|'.join(sorted(helpers))})\Z"
    for kind in KINDS:
        config.addinivalue_line("filterwarnings", f"error::{kind}:{ours}")
