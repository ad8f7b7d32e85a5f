"""Deprecated calls: those of the kit's own fail `make newest`, those inside a package don't, and no file makes one."""

import subprocess
import sys
import warnings

import pytest
from conftest import ROOT

pytestmark = pytest.mark.slow("it starts pytest, for `make newest`")

# who calls what is deprecated, and how it ends: a call of a test's, of a helper's and of the kit's own
CALLS = {
    "of a test": ("import package; package.old({kind})", False),
    "of a helper": ("import tiny; exec('import package; package.old({kind})', vars(tiny))", False),
    "of the kit": ("import autograder.new as kit; exec('import package; package.old({kind})', vars(kit))", False),
    "as it is imported": ("import package.gone", False),
    "of a package's own": ("import package; package.inside({kind})", True),
    "of no deprecation": ("import package; package.old(UserWarning)", True),
}
OWN = ("autograder", "benchmarks", "docs", "storyteller", "tests")  # folders with code; others' code in them is theirs
PACKAGE = {
    "__init__.py": "import warnings\n\ndef old(kind):\n    warnings.warn('it is old', kind, stacklevel=2)\n\n"
    "def inside(kind):\n    old(kind)\n",
    "gone.py": "import warnings\nwarnings.warn('it is gone', DeprecationWarning, stacklevel=2)\n",
}


@pytest.fixture
def ends(tmp_path):
    """Whether a test with this body passes in a run with the plugin, as `make newest` starts it."""
    (tmp_path / "package").mkdir()
    for name, text in PACKAGE.items():
        (tmp_path / "package" / name).write_text(text)

    def ends(body, *options):
        (tmp_path / "test_it.py").write_text(f"def test_it():\n    {body}\n")
        (tmp_path / "pytest.ini").write_text(
            f"[pytest]\npythonpath = . {ROOT} {ROOT / 'tests'} {ROOT / 'tests' / 'support'}\n"
        )
        command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *options, "test_it.py"]
        environment = {"PYTHONPATH": str(ROOT / "tests" / "support"), "PATH": "/usr/bin:/bin"}
        done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, env=environment)
        assert done.returncode in (0, 1) and ("it is" in done.stdout or done.returncode == 0), done.stdout + done.stderr
        return done.returncode == 0

    return ends


@pytest.mark.parametrize("kind", ["DeprecationWarning", "PendingDeprecationWarning", "FutureWarning"])
@pytest.mark.parametrize("call", CALLS)
def test_a_deprecated_call_of_our_own_fails(call, kind, ends):
    body, passes = CALLS[call]
    assert ends(body.format(kind=kind), "-p", "deprecations") is passes


def test_it_fails_in_a_worker_too_and_in_no_other_run(ends):
    body = CALLS["of a test"][0].format(kind="FutureWarning")
    assert not ends(body, "-p", "deprecations", "-n", "2")
    assert ends(body)


def test_no_file_is_written_as_a_later_python_will_refuse():
    """Python says so as it compiles a file, which it does once, so that no test would see it."""
    others = (ROOT / "autograder" / "demo" / "students", ROOT / "tests" / "hostile", ROOT / "tests" / "strangers")
    files = [path for folder in OWN for path in (ROOT / folder).rglob("*.py") if not {*path.parents} & {*others}]
    assert len(files) > 500
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        for path in files:
            compile(path.read_bytes(), str(path.relative_to(ROOT)), "exec", dont_inherit=True)
    assert [f"{one.filename}:{one.lineno}: {one.message}" for one in said] == []
