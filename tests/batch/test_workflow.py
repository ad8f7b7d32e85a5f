"""The workflow for students' repositories: its own steps, as they stand in the template, on repositories made here."""

import os
import re
import socket
import subprocess
import sys

import pytest
import yaml
from conftest import ASSIGNMENT, ROOT

TEMPLATES = ROOT / "autograder" / "templates" / "containers"
WORKFLOW = yaml.safe_load((TEMPLATES / "workflow.yml").read_text(encoding="utf-8"))
STEPS = {step.get("name", step.get("uses")): step for step in WORKFLOW["jobs"]["grade"]["steps"]}
SHELLS = {None: ["bash", "-e"], "bash": ["bash", "--noprofile", "--norc", "-eo", "pipefail"]}  # as GitHub runs them
NOTEBOOK = f"{ASSIGNMENT}.ipynb"
MINE = '{"cells": []}\n'


def git(folder, *arguments, text=None):
    command = ["git", "-C", folder, "-c", "user.name=a", "-c", "user.email=a@b", *arguments]
    return subprocess.run(command, input=text, capture_output=True, text=True, check=True).stdout.strip()


class Hub:
    """What students pushed, and the instructor's checkout, in which steps run."""

    def __init__(self, folder):
        self.folder, self.course = folder, folder / "course"
        (self.course / "source" / ASSIGNMENT).mkdir(parents=True)
        self.config = folder / "gitconfig"
        self.config.write_text(
            f'[url "file://{folder}/repositories/"]\n insteadOf = https://github.com/\n'
            '[protocol "file"]\n allow = always\n[uploadpack]\n allowFilter = true\n[safe]\n directory = *\n'
            "[init]\n defaultBranch = main\n"
        )
        self.lines = []

    def repository(self, student, files=(), entries=()):
        """A repository: files by path, and lines of `git update-index --index-info` for what is no plain file."""
        place = self.folder / "repositories" / "class" / student
        place.mkdir(parents=True)
        git(place, "init", "--quiet")
        for path, data in dict(files).items():
            (place / path).parent.mkdir(parents=True, exist_ok=True)
            (place / path).write_bytes(data if isinstance(data, bytes) else data.encode())
            git(place, "add", "--force", "--", path)
        git(place, "update-index", "--index-info", text="".join(f"{entry}\n" for entry in entries))
        if files or entries:
            git(place, "commit", "--quiet", "--message", "x")
        self.lines.append(f"{student},class/{student}")
        return place

    def run(self, step, shell=None, **changed):
        """A step's own script, as GitHub runs it: (exit code, what it printed)."""
        step = STEPS[step]
        script = self.folder / "step.sh"
        script.write_text(step["run"])
        home = self.folder / "home"
        home.mkdir(exist_ok=True)
        wanted = {name: value for name, value in step.get("env", {}).items() if "${{" not in value}
        environment = {
            **{name: value for name, value in os.environ.items() if not name.startswith("GIT")},
            **wanted,
            **{
                "TOKEN": "secret",
                "ASSIGNMENT": "02",
                "GIT_CONFIG_GLOBAL": str(self.config),
                "GIT_CONFIG_NOSYSTEM": "1",
            },
            **{"HOME": str(home), "RUNNER_TEMP": str(self.folder), "GITHUB_ENV": str(self.folder / "env")},
            **{"name": ASSIGNMENT, **changed},
        }
        command = [*SHELLS[step.get("shell", shell)], script]
        done = subprocess.run(command, cwd=self.course, env=environment, capture_output=True, text=True, timeout=300)
        return done.returncode, done.stdout + done.stderr

    def fetch(self, lines=None, **changed):
        (self.course / "students.csv").write_text("student,repository\r\n" + "\r\n".join(lines or self.lines))
        code, said = self.run("Fetch what students pushed", **changed)
        assert not list((self.folder / "clones").glob("*")), "a clone is left"
        assert "secret" not in said
        return code, said

    def taken(self):
        found = [path for path in (self.course / "submitted").rglob("*") if not path.is_dir()]
        assert all(path.name == NOTEBOOK and path.parent.name == ASSIGNMENT and not path.is_symlink() for path in found)
        return {path.parents[1].name: path.read_text() for path in found}


@pytest.fixture
def hub(tmp_path):
    return Hub(tmp_path)


@pytest.mark.parametrize("shell", SHELLS)
def test_one_repository_stops_nobody(hub, shell):
    """Each of these costs its own student the hand-in, and is named; those before and after it are fetched."""
    hub.repository("ada", {NOTEBOOK: MINE})
    commit = "1" * 40
    hub.repository("below", {f"{ASSIGNMENT}/{NOTEBOOK}": MINE})
    hub.repository("submodule", entries=[f"160000 {commit}\t{NOTEBOOK}"])
    hub.repository("submodule-below", entries=[f"160000 {commit}\t{ASSIGNMENT}"])
    hub.repository("folder", {f"{NOTEBOOK}/x": MINE})
    (hub.repository("link", {"x": MINE}) / NOTEBOOK).symlink_to("/etc/passwd")
    git(hub.folder / "repositories/class/link", "add", NOTEBOOK)
    git(hub.folder / "repositories/class/link", "commit", "--quiet", "--message", "y")
    hub.repository("empty")
    git(hub.repository("branchless", {NOTEBOOK: MINE}), "symbolic-ref", "HEAD", "refs/heads/nowhere")
    hub.repository("large", {NOTEBOOK: b"\n" * 21_000_000})
    hub.repository("middling", {NOTEBOOK: b"\n" * 20_500_000})
    broken = hub.repository("broken", {NOTEBOOK: MINE})
    for path in (broken / ".git" / "objects").rglob("*"):
        if path.is_file():
            path.chmod(0o644)
            path.write_bytes(b"no object")
    hub.repository("odd", {"$(touch owned).ipynb": "x", "a\nb;touch owned": "x", "-c": "x", NOTEBOOK: MINE})
    hub.repository("filters", {NOTEBOOK: MINE, ".gitattributes": "* filter=x\n", ".gitmodules": '[submodule "x"]\n'})
    hub.repository("both", {NOTEBOOK: MINE, f"{ASSIGNMENT}/{NOTEBOOK}": "{}"})
    hub.repository("same", {NOTEBOOK: MINE, f"{ASSIGNMENT}/{NOTEBOOK}": MINE})
    hub.repository("zoe", {NOTEBOOK: MINE})
    lines = [*hub.lines, "ada,class/zoe", "nobody,class/nobody", "x;touch owned,class/zoe", "$(id),class/zoe"]
    lines += ["../up,class/zoe", "two,class/zoe,class/ada", "", ",class/zoe", "none,", "-q,class/zoe", "eva,class/zoe"]
    code, said = hub.fetch(lines, shell=shell)
    assert code == 0, said
    assert hub.taken() == dict.fromkeys(("ada", "below", "odd", "filters", "both", "same", "zoe", "eva"), MINE)
    warned = re.findall(r"^::warning::([\w-]+): ", said, re.MULTILINE)
    kinds = ["submodule", "submodule-below", "folder", "link", "empty", "branchless", "large", "middling", "broken"]
    assert warned == [*kinds, "both", "ada", "nobody"]
    assert said.count("a bad line") == 8 and said.count("\n") == len(warned) + 8
    assert not list(hub.folder.rglob("owned"))


def test_a_repository_that_is_too_large_or_never_ends_is_given_up(hub):
    """What may be fetched has a size, and a time: here 1 MB, and 2 s from a server that accepts and says nothing."""
    hub.repository("flood", {NOTEBOOK: MINE, **{f"{n}.bin": os.urandom(1_000_000) for n in range(3)}})
    hub.repository("small", {NOTEBOOK: MINE})
    code, said = hub.fetch(MEGABYTES_EACH="1")
    assert code == 0 and list(hub.taken()) == ["small"] and "::warning::flood: not fetched" in said
    with socket.create_server(("127.0.0.1", 0)) as silent:
        address = f"http://127.0.0.1:{silent.getsockname()[1]}/"
        slow = f'[url "{address}"]\n insteadOf = https://github.com/slow/\n[protocol "http"]\n allow = always\n'
        hub.config.write_text(hub.config.read_text() + slow)
        code, said = hub.fetch(["slow,slow/slow", "none,class/none"], SECONDS_EACH="2")
    assert code == 0 and "::warning::slow: not fetched" in said and "::warning::none: not fetched" in said


def test_what_the_instructor_forgot_is_an_error(hub):
    code, said = hub.run("Fetch what students pushed")
    assert code == 1 and "::error::there is no students.csv" in said
    code, said = hub.run("Fetch what students pushed", ASSIGNMENT="99")
    assert code == 1 and "::error::source/ has no assignment 99" in said
    for text in ("ada,class/ada\nzoe,class/zoe\n", "student;repository\n", "\n"):
        (hub.course / "students.csv").write_text(text)
        code, said = hub.run("Fetch what students pushed")
        assert code == 1 and "::error::students.csv must begin with the line student,repository" in said
    (hub.course / "students.csv").write_bytes(b"\xef\xbb\xbfstudent,repository\r\n")
    assert hub.run("Fetch what students pushed") == (0, ""), "as a spreadsheet saves it"


@pytest.mark.parametrize("shell", SHELLS)
@pytest.mark.parametrize("fails", ["grade", "report", "export", "build", ""])
def test_one_submission_that_waits_stops_no_report(hub, shell, fails):
    """`autograder grade` ends with 2 for one submission that waits for a person: all the others get their pages."""
    programs = hub.folder / "home" / "kit" / "bin"
    programs.mkdir(parents=True)
    for name in ("autograder", "nbgrader"):
        (programs / name).write_text(
            f'#!/bin/sh\necho "ran $1"\necho "::error::student"\n[ "$1" != "{fails}" ] || exit 2\n'
        )
        (programs / name).chmod(0o755)
    code, said = hub.run("Grade", shell=shell)
    ran = ["build"] if fails == "build" else ["build", "grade", "report", "export"]
    assert code == (2 if fails else 0) and re.findall("^ran (.*)", said, re.MULTILINE) == ran
    token = re.match(r"::stop-commands::([0-9a-f]{40})\n", said)[1]
    assert said.endswith(f"\n::{token}::\n")


# --- what comes from elsewhere --------------------------------------------------------------------


def test_the_kit_is_installed_by_its_hash(hub):
    code, said = hub.run("Install the kit", KIT="attention-course")
    assert code == 1 and "#sha256=" in said


def test_actions_and_the_image_are_named_by_what_they_hold():
    for step in STEPS.values():
        assert re.fullmatch(r"[\w/-]+@[0-9a-f]{40}", step.get("uses", f"x@{'0' * 40}"))
    dockerfile = (TEMPLATES / "Dockerfile").read_text(encoding="utf-8")
    assert re.findall(r"^FROM (.*)", dockerfile, re.MULTILINE)
    assert all(
        re.fullmatch(r"[\w:.-]+@sha256:[0-9a-f]{64}", name) for name in re.findall(r"^FROM (.*)", dockerfile, re.M)
    )


@pytest.mark.parametrize("name", ["Dockerfile", "workflow.yml", "setup.sh"])
def test_no_file_of_a_package_is_taken_unseen(name):
    """Every `pip install` has a hash for each file, takes no source to be run, and looks at one index."""
    text = (TEMPLATES / name).read_text(encoding="utf-8").replace("\\\n", " ")
    assert "--extra-index-url" not in text
    for line in re.findall(r"pip install.*", text):
        assert "--require-hashes" in line or '"$KIT"' in line or "/opt/kit" in line.split()[-1], line


def test_the_lock_files_that_are_named_are_there():
    """In the image, and where the workflow asks the installed kit for them; setup.sh has its own beside it."""
    dockerfile = (TEMPLATES / "Dockerfile").read_text(encoding="utf-8")
    named = re.findall(r"--requirement /opt/kit/(\S+)", dockerfile)
    assert len(named) == 2 and all((ROOT / name).is_file() for name in named)
    assert all(name.startswith("locks/") for name in named) and "COPY locks /opt/kit/locks\n" in dockerfile
    step = STEPS["Install the kit"]["run"]
    (code,) = re.findall(r"locks=\$\(~/kit/bin/python -c '(.*)'\)", step)
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    named = re.findall(r'"\$locks/(\S+)"', step)
    assert len(named) == 2 and all(os.path.isfile(os.path.join(done.stdout.strip(), name)) for name in named)
