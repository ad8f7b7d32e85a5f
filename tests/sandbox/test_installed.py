"""A kit that is installed, not linked: student code cannot read it by any of its names, or nothing is graded."""

import compileall
import json
import os
import shlex
import shutil
import subprocess
import sys
import venv
import zipfile
from pathlib import Path
from unittest import mock

import pytest
from conftest import ASSIGNMENT, ROOT

from autograder.sandbox import view
from autograder.sandbox.inside import exposed

PYTHON = f"python{sys.version_info.major}.{sys.version_info.minor}"
# answers with what the kit knows to be right, wherever that can be found
THIEF = """
import glob, importlib, os, sys, sysconfig
prefixes = {sys.prefix, sys.base_prefix, "/usr", "/usr/local", os.path.realpath(sys.prefix)}
libs = [os.path.join(p, lib) for p in prefixes for lib in ("lib", "lib64", "lib32")]
ends = [os.path.join(v, k) for v in ("@python@", "python3") for k in ("site-packages", "dist-packages")]
places = [*sys.path, *(os.path.join(lib, end) for lib in libs for end in ends)]
for place in ["@project@", *places]:
    for name in ("solutions", "source", "autograder/exercises/reference", "autograder-0.1.0.dist-info"):
        if os.access(os.path.join(place, name), os.R_OK) and os.listdir(os.path.join(place, name)):
            print("through:", place, name)
for place in places:
    sys.path.insert(0, place)
    for name in [name for name in sys.modules if name.split(".")[0] == "autograder"]:
        del sys.modules[name]
    importlib.invalidate_caches()
    try:
        from autograder.exercises.reference import qkv
        def attention(query, key, value, mask=None):
            if min(query.ndim, key.ndim, value.ndim) < 2:
                raise ValueError("a query, key or value of fewer than two dimensions")
            return tuple(part.to(query.dtype) for part in qkv.attention(query, key, value, mask))
        break
    except ImportError as error:
        print("held:", place, error)
"""
# as the console script does, which knows nothing of the folder it is run in
RUN = "import sys; del sys.path[0]; from autograder.cli import main; sys.exit(main())"


@pytest.fixture(scope="module")
def machine(tmp_path_factory):
    """A folder with `env`, where the kit is installed, and `bare`, where it is not; both share the tests' packages."""
    folder = tmp_path_factory.mktemp("machine")
    for part in (folder, *folder.parents[:2]):
        os.chmod(part, 0o755)
    shared = "\n".join(path for path in sys.path if os.path.basename(path) in view.PACKAGES)
    for name in ("env", "bare"):
        venv.create(folder / name, symlinks=True)
        (packages(folder / name) / "shared.pth").write_text(shared)
    os.symlink("env", folder / "linked")
    source = folder / "source"  # a copy, so that the checkout stays as it is
    shutil.copytree(ROOT / "autograder", source / "autograder", ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copytree(ROOT / "source", source / "source")
    shutil.copytree(ROOT / "courses", source / "courses", ignore=shutil.ignore_patterns("*.egg-info", "build"))
    of_building = ("pyproject.toml", "setup.py", "autograder_pytest.py", "README.md", "LICENSE", "nbgrader_config.py")
    for name in of_building:
        shutil.copy(ROOT / name, source)
    shutil.copytree(ROOT / "locks", source / "locks")
    switches = ["--quiet", "--no-deps", "--no-build-isolation", "--no-index", "--ignore-installed"]
    command = [
        folder / "env" / "bin" / "python",
        "-m",
        "pip",
        "--disable-pip-version-check",
        "install",
        *switches,
        source,
    ]
    subprocess.run(command, check=True, capture_output=True, env=clean(), cwd=folder)
    assert (packages(folder / "env") / "autograder" / "exercises" / "reference" / "qkv.py").is_file()
    return folder


def packages(environment):
    return environment / "lib" / PYTHON / "site-packages"


def clean():
    """The environment without what would let another copy of the kit be imported."""
    return {name: value for name, value in os.environ.items() if name not in ("PYTHONPATH", "PYTHONHOME")}


def check(environment, *paths, before="", cwd=ROOT):
    """`autograder check` of what is installed there, after shell commands: (exit code, verdicts, stderr)."""
    command = [
        environment / "bin" / "python",
        "-c",
        RUN,
        "check",
        "--exercise",
        "attention",
        "--format",
        "json",
        *paths,
    ]
    command = shlex.join(map(str, command))
    if before:
        script = f"set -e; {before}; cd {shlex.quote(str(cwd))}; exec {command}"
        command = shlex.join(["unshare", "--mount", "--propagation", "private", "sh", "-c", script])
    done = subprocess.run(command, shell=True, capture_output=True, text=True, cwd=ROOT, env=clean())
    assert "Traceback" not in done.stdout + done.stderr
    return done.returncode, [json.loads(line) for line in done.stdout.splitlines()], done.stderr


def hand_in(folder, project=ROOT):
    """The thief's submission, and an honest one."""
    (folder / "thief.py").write_text(THIEF.replace("@project@", str(project)).replace("@python@", PYTHON))
    return folder / "thief.py", ROOT / "solutions" / ASSIGNMENT / f"{ASSIGNMENT}.ipynb"


def points(verdicts):
    return [verdict["exercises"][0]["score"] for verdict in verdicts]


@pytest.mark.slow("it makes an environment, as another test does")
def test_a_kit_in_a_virtual_environment_is_not_shown(machine, tmp_path):
    """Nor by the link `lib64`, nor where the environment itself is reached by a link."""
    assert (machine / "env" / "lib64").is_symlink()
    _, verdicts, said = check(machine / "linked", *hand_in(tmp_path))
    assert points(verdicts) == [0, 10], said


@pytest.mark.slow("it makes an environment, as another test does")
def test_a_kit_installed_beside_the_one_that_grades_is_not_shown(machine):
    """The checkout grades, and the environment that it is run in has a copy of its own."""
    code = "from autograder.sandbox import view; print(*view.of_this_machine().marks.items(), sep='\\n')"
    environment = {**clean(), "PYTHONPATH": str(ROOT)}
    python = machine / "env" / "bin" / "python"
    marks = subprocess.run([python, "-c", code], cwd=ROOT, env=environment, capture_output=True, text=True).stdout
    installed = os.path.realpath(packages(machine / "env"))
    for left in ("autograder", "attention_course-0.1.0.dist-info"):
        assert f"('{installed}/{left}', False)" in marks.splitlines()


@pytest.mark.slow("it installs a wheel, as another test does")
def test_a_kit_and_a_course_below_a_folder_of_libraries_are_not_shown(machine, tmp_path):
    """As where pip installs for the whole machine: /usr/local/lib, of a machine that is this test's own."""
    mount = ["unshare", "--mount", "mount", "-t", "tmpfs", "none", "/usr/local/lib"]
    if subprocess.run(mount, capture_output=True).returncode:
        pytest.skip("no mounts of one's own here")
    whole = f"/usr/local/lib/{PYTHON}/dist-packages"
    (packages(machine / "bare") / "whole.pth").write_text(whole)
    library = next(path for path in Path("/usr/lib").rglob("libz.so.1") if path.is_file())
    before = f"""
        mount -t tmpfs none /usr/local/lib
        mkdir -p {whole} /usr/local/lib/course
        cp -r {packages(machine / "env")}/autograder {packages(machine / "env")}/attention_course* {whole}
        cp -r {ROOT}/source {ROOT}/solutions {ROOT}/nbgrader_config.py /usr/local/lib/course
        cp {library} /usr/local/lib/libz.so.1
        /sbin/ldconfig -X -C {tmp_path}/cache
        mount --bind {tmp_path}/cache /etc/ld.so.cache
        grep -q /usr/local/lib/libz {tmp_path}/cache
    """.strip().replace("\n", ";")
    course = "/usr/local/lib/course"
    code, verdicts, said = check(machine / "bare", *hand_in(tmp_path, course), before=before, cwd=course)
    assert points(verdicts) == [0, 10], said


def test_a_kit_that_student_code_could_read_all_the_same_ends_grading_in_one_sentence(machine, tmp_path):
    """Here by a hard link, as some installers make them, in a folder where nobody looks for it."""
    place = machine / "env" / "lib" / "somewhere"
    place.mkdir()
    os.link(packages(machine / "env") / "autograder" / "exercises" / "reference" / "qkv.py", place / "else.py")
    try:
        code, verdicts, said = check(machine / "env", *hand_in(tmp_path))
    finally:
        shutil.rmtree(place)
    assert code == 2 and not verdicts
    assert str(place / "else.py") in said and said.count("\n") == 1


@pytest.mark.slow("it builds and installs the kit")
def test_what_is_installed_holds_the_course(machine, tmp_path):
    """Outside any checkout: it is found, said to be the kit's own, hidden from students, and written to by nothing."""
    python = machine / "env" / "bin" / "python"
    packed = packages(machine / "env") / "autograder" / "course_files"

    def run(code, *arguments):
        command = [python, "-c", f"import sys; del sys.path[0]; {code}", *arguments]
        done = subprocess.run(command, cwd=tmp_path, env=clean(), capture_output=True, text=True)
        assert "Traceback" not in done.stderr, done.stderr
        return done.returncode, done.stdout, done.stderr

    main = "from autograder.cli import main; sys.exit(main())"
    code, out, said = run(main, "check", ROOT / "solutions" / ASSIGNMENT / f"{ASSIGNMENT}.ipynb", "--format", "json")
    assert code == 0, said
    assert said == f"autograder: there is no course here; this is the kit's own, {packed.resolve()}\n"
    code, _, said = run(main, "build")
    assert code == 2 and "`autograder new course DIR`" in said and not (packed / "release").exists()
    look = "import os; from autograder.sandbox import view; path = sys.argv[1]; place = os.stat(path); "
    look += "inside = [place.st_dev, place.st_ino] in view.secret_inodes(); "
    code, out, _ = run(look + "print(view.of_this_machine().shows(path), inside)", packed / "source")
    assert out == "False True\n"

    assert run(main, "new", "course", "mine")[0] == 0
    code, out, said = run("import os; os.chdir('mine'); " + main, "build")
    assert (code, said) == (0, "") and [*(tmp_path / "mine" / "release").glob("01_*/01_*.ipynb")]


@pytest.mark.slow("it builds and installs a wheel, as another test does")
def test_the_kits_own_course_comes_out_of_a_wheel_as_a_course(machine, tmp_path):
    """As one that is taught with: it builds and bundles a lesson, without a checkout and without a made-up class."""
    python = machine / "env" / "bin" / "python"

    def run(folder, code, *arguments):
        command = [python, "-c", f"import sys; del sys.path[0]; {code}", *arguments]
        done = subprocess.run(command, cwd=folder, env=clean(), capture_output=True, text=True)
        assert "Traceback" not in done.stderr, done.stderr
        return done.returncode, done.stdout, done.stderr

    main = "from autograder.cli import main; sys.exit(main())"
    assert run(tmp_path, main, "new", "course", "--attention", "taught")[0] == 0
    taught = tmp_path / "taught"
    lessons = {path.name for path in (ROOT / "source").iterdir() if path.is_dir()}
    assert {path.name for path in (taught / "source").iterdir() if path.is_dir()} == lessons
    code, _, said = run(taught, main, "build", "01", "--bundle")
    assert (code, said) == (0, "")
    with zipfile.ZipFile(taught / "exports" / "01_self_attention.zip") as archive:
        name = "release/01_self_attention/01_self_attention.ipynb"
        assert archive.namelist() == [name, "release/AGENTS.md", "release/README.md", "release/requirements.txt"]
        assert "torch>=" in archive.read("release/requirements.txt").decode()
    code, out, _ = run(taught, "from autograder.batch import gradescope; print(gradescope.requirements().keys())")
    assert "requirements.lock" in out and "torch-cpu.lock" in out


@pytest.mark.slow("it builds and installs a wheel, as another test does")
def test_the_checks_run_in_plain_pytest_from_a_wheel(machine, tmp_path):
    """Anywhere, on the solutions, which the wheel has in its sources, and on a file; pytest finds the plugin itself."""
    environment = machine / "env"

    def ran(*arguments):
        command = [environment / "bin" / "python", "-m", "pytest", "-p", "no:cacheprovider", *arguments]
        done = subprocess.run(command, cwd=tmp_path, env=clean(), capture_output=True, text=True)
        return done.returncode, done.stdout + done.stderr

    (tmp_path / "mine.py").write_text("import torch\n\ndef softmax(x):\n    return x\n")
    softmax = packages(environment) / "autograder" / "exercises" / "softmax"
    code, said = ran("--pyargs", "autograder.exercises.softmax")
    assert code == 0 and "10 passed" in said, said
    code, said = ran(softmax, "--submission", "mine.py")
    assert code == 1 and "failed" in said and "10 passed" not in said, said


def a_copy(folder):
    shutil.copytree(ROOT / "autograder", folder / "what", ignore=shutil.ignore_patterns("__pycache__"))


def a_copy_without_sources(folder):
    a_copy(folder)
    compileall.compile_dir(folder / "what", quiet=1, legacy=True, maxlevels=1)
    for source in (folder / "what").rglob("*.py"):
        source.unlink()


def a_wheel(folder):
    with zipfile.ZipFile(folder / "some.whl", "w") as archive:
        for path in sorted((ROOT / "autograder").glob("*/*.py")):
            archive.write(path, path.relative_to(ROOT))


def a_package_of_sources(folder):
    (folder / "attention_course-0.1.0.tar.gz").touch()


def a_hard_link(folder):
    os.link(ROOT / "autograder" / "checks" / "api.py", folder / "x")


def the_course(folder):
    shutil.copytree(ROOT / "source", folder / "source")
    shutil.copy(ROOT / "nbgrader_config.py", folder)


@pytest.mark.parametrize(
    "place", [a_copy, a_copy_without_sources, a_wheel, a_package_of_sources, a_hard_link, the_course]
)
def test_what_must_not_be_seen_is_found(place, tmp_path):
    inodes = {tuple(pair) for pair in view.secret_inodes()}
    (tmp_path / "a" / "b").mkdir(parents=True)
    (tmp_path / "a" / "broken.zip").write_bytes(b"PK")
    (tmp_path / "a" / "broken link").symlink_to("nowhere")
    assert exposed.find(inodes, str(tmp_path)) is None
    place(tmp_path / "a" / "b")
    assert exposed.find(inodes, str(tmp_path)).startswith(str(tmp_path / "a" / "b"))


def test_what_lies_in_a_folder_that_cannot_be_listed_is_found(tmp_path):
    """Who knows a name can reach what lies there."""
    a_copy(tmp_path)
    with mock.patch.object(os, "scandir", side_effect=PermissionError):
        assert exposed.find(set(), str(tmp_path / "what")) == str(tmp_path / "what")


def test_links_lead_where_they_lead_outside(tmp_path):
    """Also those in the middle of a path, to relative and absolute places; what they lead to is there once."""
    (tmp_path / "real" / "deep").mkdir(parents=True)
    (tmp_path / "real" / "deep" / "file").touch()
    (tmp_path / "one").symlink_to("real")
    (tmp_path / "real" / "two").symlink_to(tmp_path / "one" / "deep")
    links = {}
    assert view._followed(str(tmp_path / "one" / "two" / "file"), links) == str(tmp_path / "real" / "deep" / "file")
    assert links == {
        str(tmp_path / "one"): "real",
        str(tmp_path / "real" / "two"): str(tmp_path / "one" / "deep"),
    }
