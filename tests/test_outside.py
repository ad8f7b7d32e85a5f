"""What a repository has for those outside: workflows, whose steps are run as far as they can be here, and templates."""

import os
import re
import subprocess
import tomllib

import pytest
import yaml
from conftest import ROOT

from autograder.batch import pins
from autograder.sandbox.jail import SWITCHES

PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
PYTHONS = [kind.split(" :: ")[-1] for kind in PROJECT["classifiers"] if "Python :: 3." in kind]
TEMPLATE = (ROOT / "autograder" / "templates" / "containers" / "workflow.yml").read_text(encoding="utf-8")
WORKFLOWS = {path.stem: path.read_text(encoding="utf-8") for path in (ROOT / ".github" / "workflows").glob("*.yml")}
JOBS = {f"{name}/{job}": body for name, text in WORKFLOWS.items() for job, body in yaml.safe_load(text)["jobs"].items()}
MADE = {
    "push/test": "test",
    "push/site": "site",
    "nightly/test": "everything",
    "nightly/lowest": "lowest",
    "nightly/newest": "newest",
    "nightly/pairs": "pairs",
}  # job: the target of the Makefile
STEPS = [(job, step["name"]) for job, body in JOBS.items() for step in body["steps"] if "run" in step]


@pytest.mark.parametrize("job, step", STEPS)
def test_a_step_does_what_it_says(job, step, tmp_path):
    """Its own script, by GitHub's shell; `make` says what it would run, and `sudo` what it is asked for."""
    (script,) = [found["run"] for found in JOBS[job]["steps"] if found.get("name") == step]
    (tmp_path / "step.sh").write_text(script)
    (tmp_path / "sudo").write_text('#!/bin/sh\necho "asked for: $*"\n')
    (tmp_path / "sudo").chmod(0o755)
    environment = {**os.environ, "PATH": f"{tmp_path}:{os.environ['PATH']}", "MAKEFLAGS": "n"}
    shell = ["bash", "-e", tmp_path / "step.sh"]
    done = subprocess.run(shell, cwd=ROOT, env=environment, capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    if step == "Allow the sandbox":
        path, _, allows = next(switch for switch in SWITCHES if "apparmor" in switch[0])
        assert done.stdout.split()[-1] == f"{path.replace('/', '.')}={allows}"
    else:
        assert script.split()[:2] == ["make", MADE[job]]
        runs = {"site": "-m mkdocs build --strict$", "pairs": "autograder doctor --pairs"}.get(MADE[job], "-m pytest")
        assert re.search(runs, done.stdout, re.MULTILINE)


def test_every_python_that_is_promised_is_tested():
    assert JOBS["nightly/test"]["strategy"]["matrix"]["python"] == PYTHONS
    settings = [step.get("with", {}) for body in JOBS.values() for step in body["steps"]]
    pythons = [each["python-version"] for each in settings if "python-version" in each]
    assert sorted(pythons) == ["${{ matrix.python }}", *4 * [PYTHONS[0]], PYTHONS[-1]]


def test_actions_are_those_of_the_template_by_what_they_hold():
    """The digests were looked up once, and stand in one more place than in the template for students' repositories."""
    for text in WORKFLOWS.values():
        used = re.findall(r"uses: (\S+ # v\S+)", text)
        assert len(used) == text.count("uses:") and all(f"uses: {action}\n" in TEMPLATE for action in used)
        assert "permissions: {contents: read}" in text and "secrets." not in text


def test_the_version_is_one():
    """In the citation as in pyproject.toml, and the change log has a section of it."""
    citation = yaml.safe_load((ROOT / "CITATION.cff").read_text(encoding="utf-8"))
    assert citation["version"] == PROJECT["version"] and citation["license"] == PROJECT["license"]
    changes = re.findall(r"^## (.+)$", (ROOT / "CHANGELOG.md").read_text(encoding="utf-8"), re.MULTILINE)
    assert changes[0] == "Unreleased" and changes[1].split()[0] == PROJECT["version"]


@pytest.mark.parametrize("path", sorted((ROOT / ".github").rglob("*.yml")), ids=lambda path: path.stem)
def test_what_a_site_reads_can_be_read(path):
    """Forms have what GitHub asks of them: a name, a description, and an id for each field."""
    read = yaml.safe_load(path.read_text(encoding="utf-8"))
    assert isinstance(read, dict)
    if path.parent.name == "ISSUE_TEMPLATE" and path.stem != "config":
        assert {"name", "description", "body"} <= read.keys()
        fields = [field for field in read["body"] if field["type"] != "markdown"]
        assert all(field["id"] and field["attributes"]["label"] for field in fields)
        assert len({field["id"] for field in fields}) == len(fields)


def test_triton_is_the_one_that_torch_needs_on_a_gpu():
    """So one version is tested, and `make test` changes no environment that has torch's own."""
    locks = [(ROOT / "locks" / name).read_text(encoding="utf-8") for name in ("kernels.lock", "torch-cuda.lock")]
    ours, torchs = ({pin.name: pin for pin in pins.read(lock)} for lock in locks)
    assert set(ours) == {"triton"} and ours["triton"].hashes == torchs["triton"].hashes
    assert ours["triton"].text.split()[0] == torchs["triton"].text.split()[0]
