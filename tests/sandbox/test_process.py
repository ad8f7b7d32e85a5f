"""The level `process`: what holds without namespaces, and that it is refused where it would not hold."""

import ast
import json
import os
import select
import subprocess
import sys

import attacks
import layers
import pytest
from conftest import ASSIGNMENT, ROOT

from autograder import cli
from autograder.errors import ChildGone, SandboxError
from autograder.sandbox import jail, process, view
from autograder.sandbox.inside import lockdown
from autograder.sandbox.parent import WarmParent
from autograder.verdict import FULL, LEVELS, PROCESS

CONTAINER = [sys.executable, str(ROOT / "tests" / "support" / "container.py")]


@pytest.fixture(scope="module")
def parent():
    with WarmParent(attacks.LIMITS, level=PROCESS) as parent:
        yield parent


@pytest.fixture(scope="module")
def world():
    with attacks.world() as world:
        yield world


def run(parent, source, seconds=30):
    """(what a cell prints, its errors) in a fresh child."""
    child = parent.fork()
    try:
        reply, _ = child.request({"op": "cell", "source": source, "name": "cell 1"}, seconds=seconds)
    finally:
        child.kill()
    texts = [o.get("text", "") for o in reply["outputs"] if o.get("name") != "stderr"]
    return "".join(texts), reply.get("error")


def test_a_container_has_this_level_and_not_the_full_one():
    """A solution is graded in a process that may make no namespaces, and the verdict names the level."""
    path = f"solutions/{ASSIGNMENT}/{ASSIGNMENT}.ipynb"
    command = [*CONTAINER, sys.executable, "-m", "autograder", "check", path, "--exercise", "attention", "--format"]
    done = subprocess.run([*command, "json", "--sandbox", PROCESS], capture_output=True, text=True, cwd=ROOT)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["sandbox"] == PROCESS
    done = subprocess.run([*command, "json"], capture_output=True, text=True, cwd=ROOT)
    assert done.returncode == 2 and "--sandbox process" in done.stderr and not done.stdout


def test_all_that_namespaces_hold_is_held_without_them(parent, world):
    """Every probe of the table of layers, but for the disk, which the warm parent watches."""
    world.mend()
    before, disk = world.fill(layers.PROBES).split('@probe("more of the disk")')
    after = disk[disk.index("@probe(") :]
    printed, error = run(parent, f"{before}\n{after}\nprint(results)")
    results = ast.literal_eval(printed)
    results["UDP to the machine"] = "through" if "udp" in world.callers() else "held"
    assert error is None and results == dict.fromkeys(results, "held") and len(results) > 15
    assert not world.harm(printed)


@pytest.mark.parametrize(
    "source",
    [
        "for n in range(40): open(f'{n}', 'wb').write(bytes(2**20))",
        "for n in range(20_000): open(f'{n}', 'w').close()",
        "import os\nos.mkdir('d', 0o300)",  # what lies in it could not be counted
        "import os\nfor n in range(5000): os.mkdir('d'); os.chdir('d')",
    ],
    ids=["bytes", "files", "unlisted", "deep"],
)
def test_a_folder_that_grows_too_large_ends_its_child(parent, source):
    if "0o300" in source and os.geteuid() == 0 and process.must_keep_reading():
        pytest.skip("here the right to list any folder is kept, and what lies in it is counted")
    child = parent.fork()
    with pytest.raises(ChildGone, match="MiB of files, or too many"):
        message = {"op": "cell", "source": f"{source}\nimport time; time.sleep(20)", "name": "cell 1"}
        child.request(message, seconds=20)
    assert child.kill()["over"] == "disk" and not child.unexplained
    assert run(parent, "import os; print(os.listdir())")[0].strip() == "[]"


def test_no_child_outlives_the_sandbox_and_nothing_stays(world):
    """Not even one that waits for ever, with every signal blocked: the kernel ends it along with its parent."""
    with WarmParent(attacks.LIMITS, level=PROCESS) as parent:
        child = parent.fork()
        inside = f"import os; os.symlink({str(world.secret.parent)!r}, 'link'); os.makedirs('a/b')"
        child.request({"op": "cell", "source": inside, "name": "cell 1"})
        watched, folder = os.dup(child.pidfd), parent.folder
        assert os.path.isdir(folder)
        parent.close()
        assert select.select([watched], [], [], 0.1)[0], "it is still there"
        os.close(watched)
    assert not os.path.exists(folder) and world.secret.exists()


def test_what_is_hidden_is_below_nothing_that_may_be_read():
    seen = view.of_this_machine()
    whole, listed = process.readable(seen)
    hidden = [path for path, shown in seen.marks.items() if not shown]
    for path in hidden:
        assert not any(path == folder or path.startswith(folder + "/") for folder in whole), path
    assert not any(os.path.islink(path) for path in whole)
    assert all(os.path.isdir(path) for path in listed)
    import torch

    assert any(torch.__file__.startswith(folder + "/") for folder in whole)


def test_it_is_refused_where_it_would_not_hold(monkeypatch):
    uid = jail.user_of_its_own()
    assert jail.refusal(PROCESS) is None
    with monkeypatch.context() as without:
        without.setattr(lockdown, "landlock_version", lambda: 0)
        assert "needs Landlock" in jail.refusal(PROCESS)
        with pytest.raises(SandboxError, match="needs Landlock"):
            WarmParent(level=PROCESS).launch()
    if uid is None:
        return
    assert "no other users" in process.refusal(None) or "needs other users" in process.refusal(None)
    with monkeypatch.context() as without:
        without.setattr(process, "_is_capable", lambda number: number != 5)
        assert "capability KILL" in process.refusal(uid)
    with monkeypatch.context() as without:
        without.setattr(process, "_is_capable", lambda number: number != lockdown.CAP_DAC_READ_SEARCH)
        without.setattr(process, "first_unreadable", lambda seen: "/root")
        assert "cannot read /root" in process.refusal(uid)


def test_a_gpu_and_this_level_do_not_go_together(capsys):
    assert cli.main(["check", "x.py", "--sandbox", "process", "--device", "cuda"]) == 2
    assert "cannot grade on a GPU" in capsys.readouterr().err


def test_the_older_name_of_the_lowest_level_still_works():
    options = cli.parser().parse_args(["check", "x.py", "--unsafe"])
    assert options.sandbox == "unsafe" in LEVELS
    assert cli.parser().parse_args(["check", "x.py"]).sandbox == FULL


@pytest.mark.parametrize("device", ["cpu", "cuda"])
def test_memory_is_a_share_of_the_containers(monkeypatch, device):
    monkeypatch.setattr(process, "_memory_limits", lambda: [768 * 2**20, 8 * 2**30])
    assert jail.settings(jail.Limits(), device, PROCESS)["memory"] == 256 * 2**20
    assert jail.settings(jail.Limits(memory=2**20), device, PROCESS)["memory"] == 2**20
    assert jail.settings(jail.Limits(), device, FULL)["memory"] == jail.Limits().memory
    monkeypatch.setattr(process, "_memory_limits", lambda: [])
    assert jail.settings(jail.Limits(), device, PROCESS)["memory"] == jail.Limits().memory


def test_a_users_other_threads_do_not_count_as_its_own():
    """Where there is no other user, the limit stands above what that user has already."""
    code = "from autograder.sandbox.inside import parent; "
    if os.geteuid() == 0:
        code += "import os; os.setgid(61000); os.setuid(61000); "
    code += "print(parent._processes_of_this_user())"
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    assert 1 <= int(done.stdout) < 2**20
