"""The lock files: every file that setup, the image or Gradescope installs is known by its hash."""

import os
import re
import subprocess
import sys
import tomllib
import zipfile
from pathlib import Path

import pytest
from conftest import ROOT
from moved import installed, moved, pinned
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from packaging.version import Version

from autograder.batch import gradescope, pins

TORCH = ["torch-cpu.lock", "torch-cuda.lock"]
ALONE = ["requirements.lock", "cluster.lock", "desk.lock", "dev.lock"]  # without torch
LOCKS = [*ALONE, *TORCH]
KERNELS = "kernels.lock"  # Triton, where torch does not bring it
LOWEST = Path(sys.prefix, "lowest.lock")  # which `make lowest` makes, for the first Python alone
SITE = "site.lock"  # for `make site` alone
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
WANTED = [
    Requirement(line)
    for lines in (PROJECT["dependencies"], *PROJECT["optional-dependencies"].values())
    for line in lines
]
EXTRAS = set(PROJECT["optional-dependencies"])
FAKE_UV = """
given = sys.argv[1:]
for option, value in zip(given, given[1:]):
    assert option not in ("--constraint", "--override") or pathlib.Path(value).is_file(), value
pathlib.Path(given[given.index("--output-file") + 1]).write_text("\\n".join(given))
"""
PYTHONS = [kind.split(" :: ")[-1] for kind in PROJECT["classifiers"] if "Python :: 3." in kind]


def read(*names):
    return [pin for name in names for pin in pins.read((ROOT / "locks" / name).read_text(encoding="utf-8"))]


def is_lowest():
    """Whether this is the environment of `make lowest`."""
    return LOWEST.is_file()


def is_newest():
    """Whether this is the environment of `make newest`, which has no lock."""
    return Path(sys.prefix).name == ".venv-newest"


def test_the_lock_files_are_in_a_folder_of_their_own():
    assert sorted(path.name for path in (ROOT / "locks").iterdir()) == sorted([*LOCKS, KERNELS, SITE])
    assert not [path.name for path in ROOT.glob("*.lock")]


@pytest.mark.parametrize("name", [*LOCKS, KERNELS, SITE])
def test_every_pin_has_hashes_and_no_file_names_an_index(name):
    text = (ROOT / "locks" / name).read_text(encoding="utf-8")
    found = read(name)
    assert found and all(pin.hashes for pin in found)
    assert len(found) == len(re.findall("^[^ #\n]", text, re.MULTILINE)), "a line that is no pin"
    assert not re.search("^ *--(?!hash)|://| -c ", text, re.MULTILINE), "an index, or a file of who made it"


@pytest.mark.parametrize("torch", TORCH)
@pytest.mark.parametrize("python", PYTHONS)
def test_the_pins_are_what_the_project_asks_for(python, torch):
    """On each Python that is promised, and nothing is pinned in two files."""
    assert PYTHONS == ["3.11", "3.12", "3.13", "3.14"]
    versions = pinned([*ALONE, torch, *([KERNELS] if torch == TORCH[0] else [])], python)
    for requirement in WANTED:
        assert requirement.specifier.contains(versions[canonicalize_name(requirement.name)]), str(requirement)


def test_the_lowest_versions_are_asked_for_with_the_tools_that_are_pinned(tmp_path):
    """`make lowest` has uv find them: here a uv that notes how it was called, with files that are there."""
    uv = tmp_path / "uv"
    uv.write_text(f"#!{sys.executable}\nimport pathlib, sys\n{FAKE_UV}")
    uv.chmod(0o755)
    environment = {**os.environ, "PATH": f"{tmp_path}:{os.environ['PATH']}", "PYTHONPATH": str(ROOT)}
    command = [sys.executable, ROOT / "tests" / "support" / "lock.py", "--lowest", tmp_path / "lowest.lock"]
    subprocess.run(command, env=environment, check=True, cwd=tmp_path)
    given = (tmp_path / "lowest.lock").read_text().split("\n")
    assert "lowest-direct" in given and {"--generate-hashes", "pyproject.toml"} <= set(given)
    assert {given[place + 1] for place, word in enumerate(given) if word == "--extra"} == EXTRAS - {"kernels"}
    assert [given[place + 1] for place, word in enumerate(given) if word == "--constraint"] == [
        "locks/desk.lock",
        "locks/dev.lock",
    ]


@pytest.mark.skipif(not is_lowest(), reason="`make lowest` finds the lowest versions")
def test_the_lowest_versions_are_those_that_are_promised():
    """`make lowest` would else test others: what an index has no more, or another package does not take, is higher."""
    versions = pinned([LOWEST], PYTHONS[0])
    for requirement in WANTED:
        version = versions[canonicalize_name(requirement.name)]
        assert requirement.specifier.contains(version), str(requirement)
        if requirement.name in ("torch", "numpy", "nbgrader", "pytest"):
            (low,) = [part.version for part in requirement.specifier if part.operator == ">="]
            assert Version(version) == Version(low), str(requirement)


@pytest.mark.skipif(is_newest(), reason="`make newest` takes what no lock file has")
def test_the_packages_of_this_environment_are_among_those_pinned():
    """What the tests run with is what is pinned, so that a pin is never one that nobody has tried."""
    there = installed()
    versions = pinned(
        [LOWEST] if is_lowest() else [*ALONE, TORCH[0]], f"{sys.version_info.major}.{sys.version_info.minor}"
    )
    for name, version in versions.items():
        assert there[name].split("+")[0] == version.split("+")[0], name


def test_what_has_moved_is_said_of_each_package():
    before = {"gone": "1.0", "kept": "1.0", "padded": "2.0", "torch": "2.13.0", "triton": "3.7.1"}
    now = {"kept": "1.0", "new": "5", "padded": "2.0.0", "torch": "2.13.0+cpu", "triton": "3.8.0"}
    assert moved(before, now) == ["triton 3.7.1 -> 3.8.0", "new 5 is new", "gone 1.0 is gone"]


@pytest.mark.skipif(is_lowest() or is_newest(), reason="packages of other versions need others than Gradescope gets")
def test_gradescope_gets_what_its_packages_need_and_nothing_of_jupyterlab():
    from importlib import metadata

    chosen = {pin.name for pin in pins.read(gradescope.requirements()["requirements.lock"])} | {"torch"}
    assert not {"nbgrader", "jupyterlab", "dask", "ruff"} & chosen
    for name in chosen & {canonicalize_name(d.metadata["Name"]) for d in metadata.distributions()}:
        for line in metadata.requires(name) or ():
            needed = Requirement(line)
            if needed.marker is None or needed.marker.evaluate({"extra": ""}):
                assert canonicalize_name(needed.name) in chosen, f"{name} needs {needed.name}"


def test_make_installs_by_hash_alone():
    text = (ROOT / "Makefile").read_text(encoding="utf-8")
    assert "--no-deps --only-binary :all: --require-hashes" in re.search("^LOCKED := (.*)", text, re.MULTILINE)[1]
    installs = re.findall(r"^\t.*(?:pip install|\$\(LOCKED\)).*", text, re.MULTILINE)
    # which are there to find what no lock file has
    installs = [line for line in installs if not re.search(r"\$\((NEWEST|LOWEST)\)", line)]
    assert len(installs) == 8 and "extra-index" not in text and "$(CPU_TORCH)" in text
    assert re.search(r"^CPU_TORCH := \$\(LOCKED\) ", text, re.MULTILINE)
    own = re.compile(r"--no-deps --no-build-isolation --editable (\.|courses/linalg)$")
    assert all("$(LOCKED)" in line or own.search(line) for line in installs)


def installed_by(target, venv):
    """The lock files that `make TARGET` would install into an environment, in order, as it is now."""
    environment = {key: value for key, value in os.environ.items() if not key.startswith("MAKE") and key != "MFLAGS"}
    command = ["make", "--dry-run", "--no-print-directory", target, f"VENV={venv}"]
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=True)
    return re.findall(r"--requirement locks/([\w-]+\.lock)", done.stdout), f"rm -rf {venv}\n" in done.stdout


def test_each_command_installs_what_it_needs_and_nothing_twice(tmp_path):
    """`make demo` and `make test` work on a fresh clone in either order: none makes what another has made again."""
    demo, desk, more = ["requirements.lock", *TORCH], ["desk.lock"], ["cluster.lock", "dev.lock"]
    assert installed_by("demo", tmp_path) == (demo, True)
    assert installed_by("desk", tmp_path) == (demo + desk, True)
    assert installed_by("setup", tmp_path) == (demo + desk + more, True)
    assert installed_by("test", tmp_path) == (demo + desk + more + [KERNELS], True)
    (tmp_path / ".ready").touch()  # after `make demo`
    assert installed_by("demo", tmp_path) == ([], False)
    assert installed_by("setup", tmp_path) == (desk + more, False)
    (tmp_path / ".desk").touch()
    assert installed_by("desk", tmp_path) == ([], False)
    assert installed_by("setup", tmp_path) == (more, False)
    (tmp_path / ".tools").touch()  # after `make test`
    for target in ("setup", "demo", "desk"):
        assert installed_by(target, tmp_path) == ([], False)


def test_what_the_demo_installs_is_needed_by_the_kit_itself():
    """Nothing is there for tests, the desk, clusters or PostgreSQL alone."""
    own = {canonicalize_name(Requirement(line).name) for line in PROJECT["dependencies"]}
    found = read("requirements.lock")
    assert {pin.name for pin in found} == {pin.name for pin in pins.needed(found, own)}


@pytest.mark.parametrize("name", ["six", "torch"])
def test_a_file_of_another_content_is_refused(name, tmp_path):
    """As a changed index, or one that serves a package of the same name and version, would have it installed."""
    pin = next(pin for pin in reversed(read(*LOCKS)) if pin.name == name)
    version = re.match(r"[\w-]+==([\w.]+)", pin.text)[1]
    about = f"{name}-{version}.dist-info"
    with zipfile.ZipFile(tmp_path / f"{name}-{version}-py3-none-any.whl", "w") as wheel:
        wheel.writestr(f"{name}.py", "raise SystemExit('taken')")
        wheel.writestr(f"{about}/METADATA", f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n")
        wheel.writestr(f"{about}/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
        wheel.writestr(f"{about}/RECORD", "")
    (tmp_path / "one.lock").write_text(pin.text)
    (tmp_path / "loose.txt").write_text(f"{name}=={version}\n")

    def install(lock, *options):
        command = [sys.executable, "-m", "pip", "--isolated", "--disable-pip-version-check", "install", "--no-index"]
        command += ["--no-deps", "--only-binary", ":all:", "--find-links", tmp_path, "--target", tmp_path / "there"]
        environment = {key: value for key, value in os.environ.items() if not key.startswith("PIP_")}
        command += [*options, "--requirement", tmp_path / lock]
        done = subprocess.run(command, capture_output=True, text=True, env=environment)
        return done.returncode, done.stderr

    code, said = install("one.lock", "--require-hashes")
    assert code != 0 and "DO NOT MATCH THE HASHES" in said and not (tmp_path / "there").exists()
    assert install("loose.txt")[0] == 0, "the file itself can be installed: only its hash is wrong"


def test_torch_for_cpus_is_a_version_of_one_index():
    """PyPI takes no file of a version with a +, so no other index than PyTorch's is asked for it."""
    (cpu,), cuda = read("torch-cpu.lock"), next(pin for pin in read("torch-cuda.lock") if pin.name == "torch")
    version = cpu.text.split()[0]
    assert version.endswith("+cpu") and version.removesuffix("+cpu") == cuda.text.split()[0]
    assert len(cpu.hashes) == 2 * len(PYTHONS) and not cpu.hashes & cuda.hashes
