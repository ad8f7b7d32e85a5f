"""The attacks of `tests/hostile`: reads their folders, writes their submissions, and plants their targets.

`world()` plants secrets, listeners and a process. After every attack, `World.harm()` says which of them were touched.
"""

import contextlib
import importlib.util
import json
import os
import re
import secrets
import socket
import subprocess
import sys
import tempfile
from dataclasses import dataclass, replace
from pathlib import Path

from conftest import ROOT, cell_of, load

from autograder import course
from autograder.sandbox import jail

FOLDER = ROOT / "tests" / "hostile"
KEYS = {
    "tries",
    "assignment",
    "exercise",
    "score",
    "status",
    "others",
    "seen",
    "unseen",
    "control",
    "limits",
    "memory",
    "process",
    "cuda",
}
# Small, so that attacks which fill something up end soon. An attack's own deadlines are in its "limits".
LIMITS = jail.Limits(memory=2 * 2**30, file_bytes=4 * 2**20, disk=16 * 2**20, cpu_seconds=60, notebook=120.0)
DEADLINES = {"cell", "call", "exercise", "notebook", "submission"}
LEVEL = os.environ.get("HOSTILE_LEVEL", "full")  # of the sandbox in which the suite is run
DEVICE = os.environ.get("HOSTILE_DEVICE", "cpu")  # that this sandbox lets its children use
# MiB by which the trusted process may grow, unless an attack says otherwise. It tries mistakes on a GPU, too, and the
# first wrong answer brings CUDA and its kernels along: 500 to 900 MiB on an H200
MEMORY = 1536 if os.path.exists("/dev/nvidiactl") else 512


@dataclass(frozen=True)
class Attack:
    """One folder of `tests/hostile`: `expect` is its expect.json."""

    folder: Path
    expect: dict

    @property
    def name(self):
        return f"{self.folder.parent.name}/{self.folder.name}"

    @property
    def assignment(self):
        """The name of the assignment as which it is handed in."""
        return course.find_assignment(self.expect.get("assignment", "02")).name

    @property
    def expected(self):
        """What is expected at the level LEVEL with DEVICE: its `expect`, with what is special about these."""
        return {**self.expect, **self.expect.get(LEVEL, {}), **self.expect.get(DEVICE, {})}

    @property
    def limits(self):
        return replace(LIMITS, **self.expected.get("limits", {}))

    def code(self, world):
        """The attacking Python code with its placeholders filled in; None where there is none."""
        for name in ("submission.py", "cell.py", "added.py"):
            if (self.folder / name).exists():
                return world.fill((self.folder / name).read_text(encoding="utf-8"))
        return None

    def hand_in(self, place, world):
        """Write the submission below the empty folder `place`; returns its path."""
        assignment = self.assignment
        solution = ROOT / "solutions" / assignment / f"{assignment}.ipynb"
        if (self.folder / "make.py").exists():
            spec = importlib.util.spec_from_file_location("make", self.folder / "make.py")
            module = importlib.util.module_from_spec(spec)
            spec.loader.exec_module(module)
            return module.make(place, load(solution))
        code = self.code(world)
        if (self.folder / "cell.py").exists() or (self.folder / "added.py").exists():
            notebook = load(solution)
            cell = cell_of(notebook, f"{self.expect['exercise']}-solution")
            right = f"{''.join(cell['source'])}\n\n\n" if (self.folder / "added.py").exists() else ""
            cell["source"] = right + code
            code = json.dumps(notebook)
        elif code is None:
            code = (self.folder / "submission.ipynb").read_text(encoding="utf-8")
        path = place / ("submission.py" if (self.folder / "submission.py").exists() else f"{assignment}.ipynb")
        path.write_text(code, encoding="utf-8")
        return path


def attacks():
    """All attacks, by family and name. Raises ValueError for an expect.json with missing or unknown keys."""
    found = []
    for path in sorted(FOLDER.glob("*/*/expect.json")):
        expect = json.loads(path.read_text(encoding="utf-8"))
        if not {"tries", "exercise", "score", "status"} <= expect.keys() <= KEYS:
            raise ValueError(f"{path}: the keys must be among {sorted(KEYS)}")
        if not {*expect.get("limits", {}), *expect.get("cuda", {}).get("limits", {})} <= DEADLINES:
            raise ValueError(f"{path}: an attack may change deadlines only, so that all share one warm sandbox")
        for special in ("process", "cuda"):
            if not expect.get(special, {}).keys() <= {"status", "seen", "through", "limits"}:
                raise ValueError(f"{path}: with {special}, only status, seen, through and limits may differ")
        found.append(Attack(path.parent, expect))
    return found


def met(outcome, expect):
    """How an exercise's outcome differs from what is expected: a list of sentences."""
    low, high = expect["score"] if isinstance(expect["score"], list) else [expect["score"]] * 2
    problems = []
    if not low <= outcome.score <= high:
        passed = [c.name for c in outcome.checks if c.passed]
        problems.append(f"{outcome.exercise} got {outcome.score} points, not {expect['score']}: {passed}")
    if outcome.status not in expect["status"]:
        problems.append(f"{outcome.exercise} is {outcome.status!r}, not {expect['status']}: {outcome.message}")
    return problems


def shown(graded):
    """All text that comes out of grading: the verdict and the cells' outputs."""
    return json.dumps([graded.verdict.to_dict(), graded.outputs], ensure_ascii=False)


# --- the targets of attacks -----------------------------------------------------------------------


class World:
    """Targets to steal, break and call, outside the sandbox. `places` has the values for `@name@` in submissions."""

    def __init__(self, folder):
        self.token = secrets.token_hex(16)
        self.secret = folder / "gradebook.db"
        self.secret.write_text(self.token)
        self.precious = folder / "submitted" / "somebody.ipynb"
        self.precious.parent.mkdir()
        self.descriptor = os.open(self.secret, os.O_RDONLY)
        os.set_inheritable(self.descriptor, True)
        self.tcp, self.udp = socket.socket(), socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self.unix, self.abstract = socket.socket(socket.AF_UNIX), socket.socket(socket.AF_UNIX)
        name = f"hostile-{self.token[:8]}"
        self.address = tempfile.mktemp(prefix="hostile-", suffix=".socket")
        for listener, address in (
            (self.tcp, ("127.0.0.1", 0)),
            (self.udp, ("127.0.0.1", 0)),
            (self.unix, self.address),
            (self.abstract, f"\0{name}"),
        ):
            listener.bind(address)
            listener.setblocking(False)
            if listener is not self.udp:
                listener.listen()
        os.chmod(self.address, 0o777)
        self.places = {
            "secret": str(self.secret),
            "precious": str(self.precious),
            "project": str(ROOT),
            "home": os.path.expanduser("~"),
            "host_tmp": tempfile.gettempdir(),
            "descriptor": self.descriptor,
            "grader": os.getpid(),
            "tcp": self.tcp.getsockname()[1],
            "udp": self.udp.getsockname()[1],
            "unix": self.address,
            "abstract": name,
        }
        os.environ["HOSTILE_SECRET"] = self.token
        self.victim = None
        self.mend()

    def mend(self):
        """Repair what an attack has broken when run without a sandbox."""
        for stray in [*self.precious.parent.iterdir(), Path(f"{self.address}.txt")]:
            stray.unlink(missing_ok=True)
        self.precious.write_text("what somebody else handed in")
        os.chmod(self.precious.parent, 0o777)  # so that running as another user is no protection by itself
        os.chmod(self.precious, 0o666)
        if self.victim is None or self.victim.poll() is not None:
            self.victim = subprocess.Popen([sys.executable, "-S", "-c", "import time; time.sleep(3600)"])
        self.places["victim"] = self.victim.pid
        self.callers()

    def fill(self, text):
        """The text of a submission with every `@name@` replaced by the place of that target."""
        return re.sub(r"@(\w+)@", lambda found: str(self.places[found[1]]), text)

    def callers(self):
        """The names of the listeners that were called since the last time."""
        called = []
        for name in ("tcp", "unix", "abstract"):
            with contextlib.suppress(BlockingIOError):
                getattr(self, name).accept()[0].close()
                called.append(name)
        with contextlib.suppress(BlockingIOError):
            self.udp.recv(100)
            called.append("udp")
        return called

    def harm(self, text):
        """What was stolen (found in `text`), broken or called: a list of sentences."""
        problems = [f"{name} was called" for name in self.callers()]
        if self.token in text:
            problems.append("the secret is out")
        if self.precious.read_text() != "what somebody else handed in" or len(list(self.precious.parent.iterdir())) > 1:
            problems.append("another submission was changed")
        if os.path.exists(f"{self.address}.txt"):
            problems.append("there is a file in /tmp")
        if self.victim.poll() is not None:
            problems.append("a process outside was ended")
        return problems

    def close(self):
        self.victim.kill()
        self.victim.wait()
        os.close(self.descriptor)
        for listener in (self.tcp, self.udp, self.unix, self.abstract):
            listener.close()
        os.unlink(self.address)
        del os.environ["HOSTILE_SECRET"]


@contextlib.contextmanager
def world():
    """A World inside the project itself, where gradebooks and submissions are; removed afterwards."""
    (ROOT / ".autograder").mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="hostile-", dir=ROOT / ".autograder") as folder:
        os.chmod(folder, 0o755)
        made = World(Path(folder))
        try:
            yield made
        finally:
            made.close()
